"""The language server, driven as an editor drives it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from cuts import datasets
from editor.lsp_client import LSP, ROOT, Client

PROGRAM = """SYNTHESIZE: adult;
    ENFORCE: agee > 35;
    ENFORCE: sex == "😀" AND raec == White;
    ENFORCE: E[age | sex == Female] == 40;
END;
"""


def at(path: Path, line: int, character: int) -> Any:
    return {"textDocument": {"uri": path.as_uri()}, "position": {"line": line, "character": character}}


def test_an_editor_gets_problems_completions_hovers_and_the_canonical_form(tmp_path: Path) -> None:
    path = tmp_path / "p.cuts"
    with Client(folder=tmp_path) as client:
        abilities = client.start(tmp_path)
        assert abilities["positionEncoding"] == "utf-16"
        assert abilities["hoverProvider"]
        assert abilities["documentFormattingProvider"]
        assert abilities["documentSymbolProvider"]

        found = client.open(path, PROGRAM)
        assert [(problem["code"], problem["range"]["start"]) for problem in found] == [
            ("unknown-column", {"line": 1, "character": 13}),
            ("unknown-category", {"line": 2, "character": 20}),
            ("unknown-column", {"line": 2, "character": 29}),  # the face before it counts as two characters
        ]
        assert found[0]["message"] == (
            "there is no column `agee` in `adult` (not in the schema)\nhelp: did you mean `age`?"
        )
        assert {problem["severity"] for problem in found} == {1}
        page = found[0]["codeDescription"]["href"].removeprefix("file://")
        assert Path(page).read_text().startswith("# unknown-column")

        shown = client.ask("textDocument/hover", at(path, 3, 13))
        rows = datasets.load(datasets.DATASETS[0]).arrow.to_pandas()
        mean = rows.loc[rows["sex"] == "Female", "age"].mean()
        assert f"is **{mean:.4f}** in the 30,162 real rows" in shown["contents"]["value"]

        items = client.ask("textDocument/completion", at(path, 3, 27))["items"]
        assert [item["label"] for item in items] == ["Female", "Male"]

        here = {"start": {"line": 1, "character": 14}, "end": {"line": 1, "character": 14}}
        question = {"textDocument": {"uri": path.as_uri()}, "range": here, "context": {"diagnostics": []}}
        (action,) = client.ask("textDocument/codeAction", question)
        assert action["title"] == "Write `age`"
        assert action["edit"]["changes"][path.as_uri()][0]["newText"] == "age"

        names = client.ask("textDocument/documentSymbol", {"textDocument": {"uri": path.as_uri()}})
        assert [symbol["name"] for symbol in names][:2] == ["SYNTHESIZE: adult", "ENFORCE: agee > 35"]

        client.change(path, "synthesize: adult; enforce: age>35; end;", 2)
        assert client.problems(path) == []
        how = {"textDocument": {"uri": path.as_uri()}, "options": {"tabSize": 4, "insertSpaces": True}}
        (edit,) = client.ask("textDocument/formatting", how)
        assert edit["newText"] == "SYNTHESIZE: adult;\n\n    ENFORCE: age > 35;\n\nEND;\n"

        assert client.leave() == 0


def test_the_server_stays_for_any_text_and_answers_quickly(tmp_path: Path) -> None:
    path = tmp_path / "p.cuts"
    with Client(folder=tmp_path) as client:
        client.start(tmp_path)
        client.open(path, PROGRAM)
        for version, text in enumerate(("", "\0", "((((", "SYNTHESIZE: \ud7ff; ENFORCE", "`" * 999, PROGRAM[:60]), 2):
            client.change(path, text, version)
            client.problems(path)
            client.ask("textDocument/completion", at(path, 0, len(text)))
            client.ask("textDocument/hover", at(path, 0, 2))
        client.change(path, PROGRAM, 99)
        assert len(client.problems(path)) == 3
        begun = time.monotonic()
        for _ in range(20):
            client.ask("textDocument/completion", at(path, 3, 27))
        assert time.monotonic() - begun < 20  # a bound for any machine; it takes a few milliseconds each
        assert client.leave() == 0


def test_a_private_program_shows_no_number_of_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "p.cuts"
    with Client(folder=tmp_path) as client:
        client.start(tmp_path)
        text = PROGRAM.replace("agee > 35", "age > 35").replace('sex == "😀" AND raec == White', "race == White")
        private = text.replace("END;", "ENSURE: DIFFERENTIAL PRIVACY: EPSILON=1, DELTA=1e-9;\nEND;")
        client.open(path, private)
        value = client.ask("textDocument/hover", at(path, 3, 13))["contents"]["value"]
        assert value == "**E[x | condition]**: The mean."
        client.leave()


def test_without_pygls_the_command_says_what_to_install(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden" / "pygls"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ModuleNotFoundError('no pygls', name='pygls')\n")
    path = os.pathsep.join([str(hidden.parent), str(LSP), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, "-m", "cuts", "lsp"],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr == 'error[missing-extra]: the language server needs pygls\n  = help: pip install "cuts[lsp]"\n'

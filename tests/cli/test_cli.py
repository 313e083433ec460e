"""The command line: exit codes, JSON, files that are no programs, no torch, no traceback."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import pytest
import typer
from typer.testing import CliRunner

from console import run
from cuts.cli.options import flatten_options
from cuts.flow import inputs

PROGRAM = "SYNTHESIZE: adult; ENFORCE: sex == Male; ENFORCE: E[age] == 39 WITHIN 1; END;\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.cuts").write_text(PROGRAM)
    (tmp_path / "empty.cuts").write_text("")
    (tmp_path / "binary.cuts").write_bytes(bytes(range(256)))
    (tmp_path / "bom.cuts").write_bytes("\ufeff".encode() + PROGRAM.replace("\n", "\r\n").encode())
    (tmp_path / "dir").mkdir()
    (tmp_path / "people.csv").write_text("age,sex\n20,Male\n30,\n")
    (tmp_path / "empty.csv").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "check nowhere.cuts",
        "check dir",
        "check empty.cuts",
        "check binary.cuts",
        "fmt nowhere.cuts",
        "plan dir",
        "verify p.cuts nowhere.csv",
        "verify p.cuts dir",
        "verify p.cuts empty.csv",
        "verify p.cuts binary.cuts",
        "check p.cuts --schema nowhere.toml",
        "check p.cuts --schema people.csv",
        "check p.cuts --data nowhere.csv",
        "check p.cuts --set tol",
        "schema infer nowhere.csv",
        "schema infer people.csv -o nowhere/s.toml",
        "schema infer people.csv -o dir",
        "datasets foo",
        "schema check p.cuts people.csv",
        "datasets adult -o nowhere/a.csv",
        "datasets adult -o a.xls",
        "datasets foo -o a.csv",
        "explain nonsense",
        "check",
        "nonsense",
        "check p.cuts --format xml",
    ],
)
def test_a_call_that_cannot_be_served_is_one_message_and_exit_2(folder: Path, command: str) -> None:
    output, code = run(["cuts", *command.split()], folder)
    assert code == 2
    assert "Traceback" not in output
    assert output.count("error[") == 1 or "Error:" in output


def test_windows_line_ends_and_a_byte_order_mark_are_fine(folder: Path) -> None:
    assert run(["cuts", "check", "bom.cuts"], folder) == ("ok: 2 commands, no warnings\n", 0)


def test_check_as_json_holds_the_same_facts(folder: Path) -> None:
    (folder / "bad.cuts").write_text("SYNTHESIZE: adult;\nENFORCE: agee > 3;\nEND;")
    output, code = run(["cuts", "check", "bad.cuts", "--format", "json"], folder)
    assert code == 1
    data = json.loads(output)
    assert data["ok"] is False
    (found,) = data["diagnostics"]
    assert found["code"] == "unknown-column"
    assert found["place"] == {"file": "bad.cuts", "line": 2, "column": 10, "end_line": 2, "end_column": 14}
    (folder / "worse.cuts").write_text("SYNTHESIZE: adult; ENFORCE: age >;")
    output, code = run(["cuts", "check", "worse.cuts", "--format", "json"], folder)
    assert (code, len(json.loads(output)["diagnostics"])) == (1, 2)
    output, code = run(["cuts", "check", "nowhere.cuts", "--format", "json"], folder)
    assert code == 2
    assert '"code": "unreadable-file"' in output


def test_check_exits_3_for_contradictions_and_5_for_privacy(folder: Path) -> None:
    (folder / "c.cuts").write_text("SYNTHESIZE: adult; ENFORCE: sex == Male; ENFORCE: sex == Female; END;")
    assert run(["cuts", "check", "c.cuts"], folder)[1] == 3
    (folder / "s.cuts").write_text("SYNTHESIZE: adult; ENFORCE: age > 35; ENFORCE: E[age] == 30; END;")
    assert run(["cuts", "check", "s.cuts"], folder)[1] == 3
    (folder / "d.cuts").write_text('SYNTHESIZE: "people.csv"; ENSURE: EPSILON=1, DELTA=1e-9; END;')
    assert run(["cuts", "check", "d.cuts"], folder)[1] == 5


def test_verify_gives_a_verdict_a_line_in_text_and_json(folder: Path) -> None:
    output, code = run(["cuts", "verify", "p.cuts", "adult", "--format", "json"], folder)
    assert code == 1
    data = json.loads(output)
    rule, mean = data["verdicts"]
    assert (rule["holds"], mean["holds"], data["rows"]) == (False, True, 30162)
    assert rule["rows"]["satisfied"] == 20380
    assert mean["facts"][0]["value"] == pytest.approx(38.4379, abs=1e-4)
    assert run(["cuts", "verify", "p.cuts", "adult:test"], folder)[1] == 1


def test_verify_names_a_column_the_table_lacks(folder: Path) -> None:
    (folder / "other.csv").write_text("sexx,age\nMale,3\n")
    output, code = run(["cuts", "verify", "p.cuts", "other.csv"], folder)
    assert code == 1
    assert "error[missing-column]: the table has no column `sex`" in output


def test_rows_of_a_private_program_are_not_printed(folder: Path) -> None:
    (folder / "q.cuts").write_text("SYNTHESIZE: adult; ENSURE: EPSILON=1, DELTA=1e-9; ENFORCE: age > 40; END;")
    output, code = run(["cuts", "verify", "q.cuts", "adult"], folder)
    assert code == 1
    assert "the first rows that break it are" in output
    assert "age=" not in output


@pytest.mark.parametrize("form", [[], ["--format", "json"]])
@pytest.mark.parametrize("command", ["check", "plan"])
def test_a_private_program_without_a_public_schema_shows_nothing_of_the_rows(
    folder: Path, command: str, form: list[str]
) -> None:
    (folder / "names.csv").write_text("name,age\n" + "".join(f"Alice{i % 3},{33 + i}\n" for i in range(60)))
    (folder / "q.cuts").write_text(
        'SYNTHESIZE: "names.csv"; ENSURE: EPSILON=1, DELTA=1e-9; ENFORCE: name == Zed; ENFORCE: age > 120; END;'
    )
    output, code = run(["cuts", command, "q.cuts", *form], folder)
    assert code == 5
    assert "private-schema" in output
    assert "Alice" not in output
    assert "33" not in output
    output, code = run(["cuts", command, "q.cuts", "--data", "names.csv", *form], folder)
    assert code == 5
    assert "Alice" not in output


def test_an_infinite_cell_is_shown(folder: Path) -> None:
    (folder / "r.csv").write_text("r\n1.5\ninf\n")
    (folder / "r.toml").write_text('[columns.r]\nkind = "real"\nrange = [0, 9]\n')
    (folder / "r.cuts").write_text("SYNTHESIZE: r; ENFORCE: r <= 5; END;")
    output, code = run(["cuts", "verify", "r.cuts", "r.csv", "--schema", "r.toml"], folder)
    assert code == 1
    assert "r=inf" in output


def test_delimiter_quote_and_encoding_can_be_given(folder: Path) -> None:
    (folder / "odd.csv").write_bytes("name~note\n'a~b'~1\nGröße~2\n".encode("latin-1"))
    words = ["schema", "infer", "odd.csv", "--delimiter", "~", "--quote", "'", "--encoding", "latin-1"]
    output, code = run(["cuts", *words], folder)
    assert (code, tomllib.loads(output)["columns"]["name"]["categories"]) == (0, ["Größe", "a~b"])


def test_check_with_a_table_tells_how_many_rows_satisfy_the_rules(folder: Path) -> None:
    (folder / "rules.cuts").write_text("SYNTHESIZE: adult; ENFORCE: age > 35 AND age < 55; END;")
    output, _ = run(["cuts", "check", "rules.cuts", "--data", "adult"], folder)
    assert "41.77 % of the real rows satisfy all row rules" in output


def test_fmt_rewrites_in_place_and_is_then_content(folder: Path) -> None:
    assert run(["cuts", "fmt", "p.cuts", "--check"], folder)[1] == 1
    assert (folder / "p.cuts").read_text() == PROGRAM
    assert run(["cuts", "fmt", "p.cuts"], folder)[1] == 0
    assert run(["cuts", "fmt", "p.cuts", "--check"], folder)[1] == 0
    before = (folder / "p.cuts").read_text()
    (folder / "p.cuts").write_text(before.replace("sex ==", "sex =="))
    assert [p.name for p in folder.iterdir() if p.name.startswith(".")] == []


def test_a_program_that_does_not_parse_is_never_rewritten(folder: Path) -> None:
    (folder / "bad.cuts").write_text("SYNTHESIZE: adult; ENFORCE: age >; END;")
    assert run(["cuts", "fmt", "bad.cuts"], folder)[1] == 1
    assert (folder / "bad.cuts").read_text() == "SYNTHESIZE: adult; ENFORCE: age >; END;"


def test_plan_and_schema_have_machine_readable_forms(folder: Path) -> None:
    output, code = run(["cuts", "plan", "p.cuts", "--format", "json"], folder)
    assert (code, [s["level"] for s in json.loads(output)["steps"]]) == (0, ["ROW", "TABLE"])
    output, _ = run(["cuts", "schema", "infer", "people.csv", "--format", "json", "--label", "sex"], folder)
    assert json.loads(output)["columns"]["sex"] == {"kind": "category", "categories": ["Male"], "missing": True}
    output, _ = run(["cuts", "schema", "infer", "people.csv"], folder)
    assert tomllib.loads(output)["columns"]["age"]["range"] == [20, 30]


def test_a_program_beside_its_table_finds_it(folder: Path) -> None:
    (folder / "own.cuts").write_text('SYNTHESIZE: "people.csv"; ENFORCE: sex IS NULL IMPLIES age >= 25; END;')
    assert run(["cuts", "check", "own.cuts"], folder) == ("ok: 1 command, no warnings\n", 0)
    assert run(["cuts", "verify", "own.cuts", "people.csv"], folder)[1] == 0


COMMANDS = ["run", "fit", "sample", "tune", "check", "fmt", "plan", "explain", "verify", "evaluate", "datasets"]
COMMANDS += ["schema infer", "schema show", "schema check", "ledger show", "ledger list", "ledger transcript"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_short_and_has_one_example(tmp_path: Path, command: str) -> None:
    output, code = run(["cuts", *command.split(), "--help"], tmp_path)
    assert code == 0
    assert output.count("Example: cuts ") == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    width: Annotated[int, typer.Option("--width", help="Width in cm.")]
    unit: Annotated[Literal["cm", "mm"], typer.Option("--unit", help="Unit.")] = "cm"


def test_a_group_of_options_is_one_value_and_one_option_per_field() -> None:
    app, seen = typer.Typer(), []

    @app.command()
    @flatten_options
    def draw(
        shape: Annotated[str, typer.Argument(help="Shape.")],
        *,
        bold: Annotated[bool, typer.Option("--bold")] = False,
        size: Size,
        quiet: Annotated[bool, typer.Option("--quiet")] = False,
    ) -> None:
        """Draw a shape."""
        seen.append((shape, bold, size, quiet))

    runner = CliRunner()
    assert runner.invoke(app, ["box", "--width", "3", "--bold"]).exit_code == 0
    assert runner.invoke(app, ["box", "--width", "3", "--unit", "mm", "--quiet"]).exit_code == 0
    assert seen == [("box", True, Size(width=3), False), ("box", False, Size(width=3, unit="mm"), True)]
    assert runner.invoke(app, ["box"]).exit_code == 2  # a field without a default is a required option
    assert runner.invoke(app, ["box", "--width", "3", "--unit", "km"]).exit_code == 2
    help = runner.invoke(app, ["--help"]).output
    places = [help.index(word) for word in ("Draw a shape.", "--bold", "--width", "--unit", "--quiet")]
    assert places == sorted(places)


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None                      # any import of it now fails, as if it were not installed
import cuts
from cuts.cli import main
for command in sys.argv[1:]:
    sys.argv = ["cuts", *command.split()]
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = stop.code or 0
    print(f"exit code {code} of {command}")
"""


def test_commands_run_without_torch(folder: Path) -> None:
    commands = ["check p.cuts", "fmt p.cuts", "plan p.cuts", "verify p.cuts adult"]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_TORCH, *commands], cwd=folder, capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr
    codes = [line for line in done.stdout.splitlines() if line.startswith("exit code ")]
    assert codes == [f"exit code {int(command.startswith('verify'))} of {command}" for command in commands]


def test_our_own_bug_is_not_hidden_as_an_error_of_the_user(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(inputs, "read_program", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        run(["cuts", "check", "p.cuts"], folder)


def test_a_line_break_in_a_name_does_not_break_the_table_of_columns(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('"net\npay",city\n1,x\n2,y\n3,x\n')
    output, code = run(["cuts", "schema", "show", "t.csv"], tmp_path)
    assert (code, len(output.splitlines())) == (0, 3)
    assert output.splitlines()[1].startswith("net\\npay  integer ")

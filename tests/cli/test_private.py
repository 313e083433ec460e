"""Private programs on the command line: what is written, told and spent, and that nothing else of the rows is.

Noise has no seed, so every bound on a noisy number here is many times its standard error.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from console import run
from cuts.flow import private
from cuts.model import store
from cuts.privacy.ledger import Event
from cuts.privacy.ledger_file import Entry, LedgerFile
from cuts.privacy.transcript import load, render
from models import quick_releases

ROWS = 1_737
TERMS = "ENSURE: DIFFERENTIAL PRIVACY: EPSILON=3, DELTA=1e-6"
RULE = "ENFORCE: ward == surgery IMPLIES age >= 40"
SCHEMA = """name = "people"
provenance = "declared"
label = "smokes"

[columns.age]
kind = "integer"
range = [18, 90]
bins = 12

[columns.ward]
kind = "category"
categories = ["surgery", "cardiology", "eye"]

[columns.smokes]
kind = "category"
categories = ["no", "yes"]
"""
FAST = "steps = 30\ncomponents = 10\nthreads = 1\n"


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    with quick_releases():
        yield


def people(rows: int = ROWS, seed: int = 0) -> str:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 91, rows)
    smokes = np.where(rng.random(rows) < np.where(age > 55, 0.8, 0.2), "yes", "no")
    ward = rng.choice(["surgery", "cardiology", "eye"], rows, p=[0.5, 0.3, 0.2])
    lines = zip(age, ward, smokes, strict=True)
    return "age,ward,smokes\n" + "".join(",".join(map(str, line)) + "\n" for line in lines)


def asked(*commands: str, terms: str | None = TERMS) -> str:
    said = [*([] if terms is None else [terms]), *commands]
    return f'SYNTHESIZE: "people.csv"; {"".join(f"{command}; " for command in said)}END;\n'


def lay_out(folder: Path) -> Path:
    (folder / "people.csv").write_text(people())
    (folder / "p.cuts").write_text(asked(RULE))
    (folder / "s.toml").write_text(SCHEMA)
    (folder / "fast.toml").write_text(FAST)
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUTS_LEDGER", str(tmp_path / "ledger.jsonl"))
    return lay_out(tmp_path)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a private model `m.synth`, made with seed 3, and its transcript `t.json`; not to be changed."""
    shelf = lay_out(tmp_path_factory.mktemp("shelf"))
    fitted = "fit p.cuts -o m.synth --schema s.toml --config fast.toml --seed 3 --ledger ledger.jsonl -q"
    for command in (fitted, "ledger transcript m.synth -o t.json"):
        output, code = cuts(command, shelf)
        assert code == 0, output
    return shelf


def cuts(command: str, folder: Path) -> tuple[str, int]:
    return run(["cuts", *command.split()], folder)


def fit(folder: Path, more: str = "", program: str = "p.cuts", output: str = "m.synth") -> tuple[str, int]:
    return cuts(f"fit {program} -o {output} --schema s.toml --config fast.toml {more}", folder)


def rows_in(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def spent_in(folder: Path) -> dict[str, dict[str, Any]]:
    """What was spent, by data; of a release that read nothing, nothing was."""
    output, code = cuts(f"ledger list --ledger {folder / 'ledger.jsonl'} --format json", folder)
    assert code == 0
    return {each["data"]: each["total"] for each in json.loads(output)["data"]}


# --- run and fit


def test_run_writes_rows_gives_verdicts_and_tells_what_was_spent(folder: Path) -> None:
    output, code = cuts("run p.cuts --schema s.toml --config fast.toml -o a.csv --report r.json", folder)
    assert code == 0, output
    rows = rows_in(folder / "a.csv")
    assert abs(len(rows) - ROWS) < 200
    assert list(rows[0]) == ["age", "ward", "smokes"]
    assert all(int(row["age"]) >= 40 for row in rows if row["ward"] == "surgery")
    assert "1 hold, 0 fail" in output
    assert "differentially private with epsilon 3 and delta 1e-06" in output
    assert re.search(r"privacy budget spent on `people`: epsilon [23](\.\d+)? at delta 1e-06 for one row,", output)
    assert re.search(r", over 1 release \(ledger: .*ledger\.jsonl\)", output)
    report = json.loads((folder / "r.json").read_text())
    assert "differential privacy" in report["privacy"]["promise"]
    assert 2.9 < report["privacy"]["epsilon_spent"] <= 3.0
    assert report["run"]["seconds"] == []  # a running time may depend on the rows


def test_no_number_of_real_rows_is_told_or_written(folder: Path) -> None:
    (folder / "p.cuts").write_text(asked(RULE, "ENFORCE: E[age] == 50 WITHIN 1"))
    output, code = cuts("run p.cuts --schema s.toml --config fast.toml -o a.csv --report r.json --format json", folder)
    assert code == 0, output
    told = output + (folder / "r.json").read_text() + (folder / "ledger.jsonl").read_text()
    if len(rows_in(folder / "a.csv")) != ROWS:  # by chance it can be
        assert not re.search(r"\b1,?737\b", told)
    mean = np.mean([int(row["age"]) for row in rows_in(folder / "people.csv")])
    assert f"{mean:.3f}" not in told
    report = json.loads((folder / "r.json").read_text())
    assert (report["likeness"], report["memory"], report["classifiers"]) == (None, None, None)
    assert all(number["real"] is None for command in report["commands"] for number in command["numbers"])
    assert (report["run"]["fit_error_floor"], report["run"]["fit_failed"]) == (None, False)
    text, code = cuts("run p.cuts --schema s.toml --config fast.toml -o a.csv --report r.txt", folder)
    assert code == 0, text
    assert "discriminator" not in text + (folder / "r.txt").read_text()
    assert "comparing with real rows" not in text


def test_progress_is_told_in_stages_and_shares_never_in_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cuts.cli import progress

    monkeypatch.setattr(progress, "LINE_INTERVAL", 0.0)  # everything there is to tell
    output, code = fit(folder)
    assert code == 0, output
    lines = output.splitlines()
    assert lines[:2] == ["counting in the trusted core", "measuring noisy counts"]
    rounds = [line for line in lines if line.startswith("  round")]
    assert len(rounds) > 3
    assert all(re.fullmatch(r"  round \d+: \d+ % of the privacy budget spent(, \d+ s left)?", line) for line in rounds)
    assert " 100 % of the privacy budget spent" in rounds[-1]
    assert not [line for line in lines if re.search(r"\brows\b", line) and "about" not in line]


def test_quiet_says_nothing(folder: Path) -> None:
    output, code = fit(folder, "-q")
    assert code == 0
    assert output.endswith("; written to m.synth\n")
    assert output.count("\n") == 1
    assert re.search(r"fitted to \d+ noisy tables of about [\d,]+ rows, differentially private", output)


def test_fit_as_json_tells_promise_and_cost(folder: Path) -> None:
    output, code = fit(folder, "-q --format json")
    data = json.loads(output)
    assert (code, data["output"]) == (0, "m.synth")
    assert abs(data["fit"]["rows"] - ROWS) < 200
    assert data["privacy"]["spent"]["delta"] == 1e-6


def test_a_sample_of_a_private_model_needs_no_rows(shelf: Path, tmp_path: Path) -> None:
    words = ["cuts", "sample", str(shelf / "m.synth"), "-n", "300", "-o", "a.csv", "--where", "age > 47"]
    output, code = run(words, tmp_path)
    assert (output.splitlines()[-1], code) == ("300 rows written to a.csv", 0)
    assert "Only row rules" not in output
    assert min(int(row["age"]) for row in rows_in(tmp_path / "a.csv")) > 47


def test_an_embedded_table_can_be_private(folder: Path) -> None:
    (folder / "g.cuts").write_text("SYNTHESIZE: german; ENSURE: EPSILON=1, DELTA=1e-6; ENFORCE: A13 >= 21; END;")
    output, code = cuts("run g.cuts -n 50 -o g.csv --config fast.toml -q", folder)
    assert code == 0, output
    assert all(int(row["A13"]) >= 21 for row in rows_in(folder / "g.csv"))
    assert list(spent_in(folder)) == ["german"]


# --- refused before anything is read


def test_an_inferred_schema_is_refused_with_names_and_kinds_alone(folder: Path) -> None:
    rng = np.random.default_rng(7)
    cells = [
        (f"Zo\u00eb-{rng.integers(10**6)}", f"{rng.uniform(1e5, 9e5):.3f}", int(rng.integers(7_000, 7_400)))
        for _ in range(60)
    ]
    lines = [f"{cells[i % 20][0]},{cells[i][1]},{cells[i][2]}" for i in range(60)]
    (folder / "people.csv").write_text("name,fortune,code\n" + "\n".join(lines) + "\n")
    assert cuts("schema infer people.csv -o inferred.toml", folder)[1] == 0
    assert cells[0][0] in (folder / "inferred.toml").read_text()
    (folder / "p.cuts").write_text(asked("ENFORCE: name == Zoe", "ENFORCE: fortune > 1e12"))
    for form in ("", "--format json"):
        for command in (
            "run p.cuts -o a.csv",
            "run p.cuts -o a.csv --schema inferred.toml",
            "run p.cuts -o a.csv --data people.csv --schema inferred.toml",
            "fit p.cuts -o m.synth --schema inferred.toml",
            "check p.cuts",
            "check p.cuts --schema inferred.toml",
            "plan p.cuts",
            "plan p.cuts --schema inferred.toml",
        ):
            output, code = cuts(f"{command} {form}", folder)
            assert (code, "private-schema" in output) == (5, True), output
            shown = [cell for row in cells for cell in map(str, row) if cell in output]
            assert shown == []
            assert "Zoë" not in output
            if "--schema" in command:
                assert all(name in output for name in ("name", "fortune", "code"))
    assert not (folder / "a.csv").exists()
    assert not (folder / "ledger.jsonl").exists() or spent_in(folder) == {}


def test_a_domain_is_found_on_the_command_line(folder: Path) -> None:
    assert cuts("schema infer people.csv --label smokes -o s.toml", folder)[1] == 0
    (folder / "p.cuts").write_text(asked(RULE, terms=f"{TERMS} WITH domain_budget=30%"))
    output, code = fit(folder)
    assert code == 0, output
    assert output.startswith("discovering categories and ranges\n")
    shown = cuts("ledger show m.synth", folder)[0]
    assert len(re.findall(r"^ +\d+  discover ", shown, re.MULTILINE)) == 4  # two categories, and a range in two looks
    assert "schema        discovered" in shown
    assert "discovered with part of the budget" in shown


def test_more_than_allowed_is_refused_before_anything_is_read(folder: Path) -> None:
    for data in ("nowhere.csv", "people.csv"):
        output, code = fit(folder, f"--max-epsilon 2.5 --data {data}")
        assert (code, "error[budget-spent]" in output) == (5, True), output
        assert "`people` would reach a total epsilon of 3 at delta 1e-06 for one row, above the limit of 2.5" in output
        assert "counting" not in output
    assert spent_in(folder) == {}
    assert fit(folder, "--max-epsilon 3 -q")[1] == 0
    output, code = fit(folder, "--max-epsilon 3.5", output="n.synth")
    assert (code, "1 release already spent" in output) == (5, True)
    assert "--from-transcript" in output
    assert not (folder / "n.synth").exists()
    assert spent_in(folder)["people"]["releases"] == 1


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("run bad.cuts --schema s.toml", 1, "unknown-column"),
        ("run never.cuts --schema s.toml", 3, "contradiction"),
        ("run p.cuts --schema nowhere.toml", 2, "unreadable-file"),
        ("run p.cuts --schema s.toml --data nowhere.csv", 2, "unreadable-table"),
        ("run p.cuts --schema s.toml --label wards", 1, "unknown-column"),
        ("run p.cuts --schema s.toml -o people.csv", 2, "people.csv is read by this command"),
        ("run p.cuts --schema s.toml --config wrong.toml", 2, "bad-config"),
        ("run p.cuts --schema s.toml --max-epsilon -1", 2, "Error:"),
        ("run p.cuts --schema s.toml --ledger people.csv", 2, "bad-ledger"),
        ("run p.cuts --schema s.toml --ledger fast.toml/l.jsonl", 2, "unwritable-file"),
        ("run zero.cuts --schema s.toml", 1, "bad-epsilon"),
        ("run person.cuts --schema s.toml", 1, "type-mismatch"),
        ("tune weighed.cuts --grid w=1,2 --schema s.toml", 5, "reads-private-data"),
        ("verify p.cuts people.csv --schema s.toml --real people.csv", 5, "reads-private-data"),
        ("verify p.cuts people.csv --schema s.toml --real nowhere.csv", 5, "reads-private-data"),
    ],
)
def test_a_mistake_is_told_and_costs_nothing(folder: Path, command: str, code: int, message: str) -> None:
    (folder / "bad.cuts").write_text(asked("ENFORCE: agee > 3"))
    (folder / "never.cuts").write_text(asked("ENFORCE: age > 50", "ENFORCE: age < 40"))
    (folder / "zero.cuts").write_text(asked(terms=TERMS.replace("EPSILON=3", "EPSILON=0")))
    (folder / "person.cuts").write_text(asked(terms=f"{TERMS} WITH person=ward"))
    (folder / "weighed.cuts").write_text(asked("ENFORCE: PARAM <w>: E[age] == 50 WITHIN 1"))
    (folder / "wrong.toml").write_text("step = 5\n")
    output, found = cuts(command, folder)
    assert (found, message in output) == (code, True), output
    assert "Traceback" not in output
    assert "measuring" not in output
    assert not (folder / "p_synthetic.csv").exists()
    assert spent_in(folder) == {}


READERS = [
    "check p.cuts --schema s.toml --data people.csv",
    "check p.cuts --schema s.toml --data people.csv --format json",
    "check p.cuts --data people.csv",
    "check p.cuts",
    "plan p.cuts --schema s.toml --data people.csv",
    "plan p.cuts --schema s.toml --data people.csv --format json",
    "plan p.cuts --data people.csv",
    "plan p.cuts",
    "fmt p.cuts --check",
    "verify p.cuts other.csv --schema s.toml --real people.csv",
    "verify p.cuts other.csv",
    "tune p.cuts --grid w=1,2 --schema s.toml --data people.csv",
    "tune p.cuts --frontier --schema s.toml --data people.csv",
    "run p.cuts --data people.csv",
    "fit p.cuts --data people.csv -o m.synth",
    "fit p.cuts --schema s.toml --data people.csv -o m.synth --max-epsilon 0.1",
    "run bad.cuts --schema s.toml --data people.csv",
]


@pytest.mark.parametrize("command", READERS)
def test_no_command_opens_the_rows_of_a_private_program_outside_the_core(folder: Path, command: str) -> None:
    (folder / "other.csv").write_text(people(50))
    (folder / "bad.cuts").write_text(asked("ENFORCE: agee > 3"))
    said = cuts(command, folder)
    assert "Traceback" not in said[0]
    for change in (_one_short_line_more, _no_table, _not_readable, _gone):
        change(folder / "people.csv")
        assert cuts(command, folder) == said, f"{change.__name__} changes what is said"


def _one_short_line_more(path: Path) -> None:
    path.write_text(path.read_text() + "44,eye\n")


def _no_table(path: Path) -> None:
    path.write_bytes(b'\xff\x00"\n')


def _not_readable(path: Path) -> None:
    """A file whose first byte cannot be read: a link to itself, because the permissions of a file do not stop root."""
    path.unlink()
    path.symlink_to(path)


def _gone(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("rows", [0, 1])
def test_a_table_of_json_lines_without_rows_is_read_like_one_with_a_row(folder: Path, rows: int) -> None:
    (folder / "people.jsonl").write_text('{"age": 33, "ward": "eye", "smokes": "no"}\n' * rows)
    output, code = fit(folder, "--data people.jsonl -q")
    assert code == 0, output


def test_a_schema_that_does_not_say_where_it_comes_from_is_refused(folder: Path) -> None:
    (folder / "s.toml").write_text(SCHEMA.replace('provenance = "declared"\n', ""))
    for command in ("check p.cuts --schema s.toml", "fit p.cuts --schema s.toml -o m.synth"):
        output, code = cuts(command, folder)
        assert (code, "error[private-schema]" in output) == (5, True), output
        assert 'provenance = "declared"' in output
    assert spent_in(folder) == {}
    (folder / "open.cuts").write_text(asked(RULE, terms=None))
    assert cuts("check open.cuts --schema s.toml", folder)[1] == 0


def test_releases_of_different_units_are_added_up_for_the_larger_one(folder: Path) -> None:
    (folder / "three.cuts").write_text(asked(terms=f"{TERMS} WITH max_rows_per_person=3"))
    assert fit(folder, "-q")[1] == 0
    limited, code = fit(folder, "-q --max-epsilon 6", program="three.cuts", output="n.synth")
    assert (code, "one person with at most 3 rows (assumed, not enforced)" in limited) == (5, True), limited
    assert fit(folder, "-q", program="three.cuts", output="n.synth")[1] == 0
    total = spent_in(folder)["people"]
    assert total["epsilon"] > 10
    assert total["unit"] == "one person with at most 3 rows (assumed, not enforced)"
    shown = cuts("ledger show n.synth", folder)[0]
    listed = cuts(f"ledger list --ledger {folder / 'ledger.jsonl'}", folder)[0]
    assert f"all releases  epsilon {total['epsilon']:.4g}" in shown
    assert f"{total['epsilon']:.4g}" in listed
    assert total["unit"] in shown
    assert total["unit"] in listed


def test_a_limit_names_its_delta(folder: Path) -> None:
    assert fit(folder, "-q --max-epsilon 3 --at-delta 1e-6")[1] == 0
    output, code = fit(folder, "-q --max-epsilon 4 --at-delta 1e-9", output="n.synth")
    assert (code, "at delta 1e-09" in output) == (5, True), output
    output, code = fit(folder, "-q --at-delta 1e-9", output="n.synth")
    assert (code, "`--at-delta` has no effect without `--max-epsilon`" in output) == (2, True), output


def test_the_plan_says_how_well_columns_will_be_known(folder: Path) -> None:
    output, code = cuts("plan p.cuts --schema s.toml --rows 500", folder)
    assert code == 0, output
    assert re.search(r"^column +bins +standard error of +500 rows$", output, re.MULTILINE), output
    assert re.search(r"^age +\d+ +the mean +± [\d.]+$", output, re.MULTILINE), output
    assert re.search(r"^ward +3 +a share +± [\d.]+ %$", output, re.MULTILINE), output
    data = json.loads(cuts("plan p.cuts --schema s.toml --format json", folder)[0])
    assert [each["rows"] for each in data["expected"]] == [1_000, 10_000, 100_000]
    (folder / "open.cuts").write_text(asked(RULE, terms=None))
    assert json.loads(cuts("plan open.cuts --schema s.toml --format json", folder)[0])["expected"] == []


def test_columns_that_are_not_known_well_are_named(folder: Path) -> None:
    (folder / "people.csv").write_text(people(60))
    (folder / "s.toml").write_text(SCHEMA.replace("range = [18, 90]\nbins = 12", "range = [0, 100000]"))
    for command in ("run p.cuts -o a.csv --report r.json", "fit p.cuts -o m.synth"):
        output, code = cuts(f"{command} --schema s.toml --config fast.toml -q", folder)
        assert code == 0, output
        assert "Not known well: `age`" in output, output
        assert "a narrower range" in output
    columns = json.loads((folder / "r.json").read_text())["privacy"]["known"]
    assert {each["column"]: each["is_good"] for each in columns}["age"] is False


def test_a_forged_promise_is_not_shown(shelf: Path, tmp_path: Path) -> None:
    text = (shelf / "t.json").read_text()
    for old, new in (('"epsilon": 3.0', '"epsilon": 0.1'), ('"delta": 1e-06', '"delta": 1e-12')):
        assert old in text
        (tmp_path / "forged.json").write_text(text.replace(old, new, 1))
        output, code = cuts("ledger show forged.json", tmp_path)
        assert (code, "error[bad-transcript]" in output, "satisfies" in output) == (2, True, False), output


def test_a_missing_column_is_named_and_what_is_there_is_not(folder: Path) -> None:
    (folder / "people.csv").write_text("Alice-771,33,yes\nBob-772,44,no\n")
    output, code = fit(folder)
    assert code == 1, output
    assert output.count("error[missing-column]") == 3
    assert not re.search(r"Alice|771|Bob|33", output)
    assert spent_in(folder) == {}


# --- whatever the rows hold


def masked(output: str) -> str:
    """What was said, without the numbers, which are noisy."""
    lines = [line for line in output.splitlines() if not line.startswith("  ")]
    return re.sub(r"[\d,.]+(e-?\d+)?", "#", "\n".join(lines))


GARBAGE = [
    "Quasimodo-51x,nowhere-52x,maybe-53x",
    "nan,eye,yes",
    "inf,eye,yes",
    "-1e308,eye,yes",
    "99999999999999999999999999,surgery,no",
    ",,",
    '"51x,eye',
    "51x",
    "51x,52x,53x,54x,55x",
    '51x,"a ""b"" c\t",53x',
]


@pytest.fixture(scope="module")
def of_clean_rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder in which a model of 200 clean rows was fitted, and what was told."""
    folder = lay_out(tmp_path_factory.mktemp("clean"))
    (folder / "people.csv").write_text(people(200))
    output, code = fit(folder, "--ledger ledger.jsonl", output="a.synth")
    assert code == 0, output
    return folder, output


def told(output: str) -> str:
    """What was said, without the numbers and without the columns that noise, of which there is a lot, hides."""
    return masked(re.sub(r"Not known well: .*?\n\n", "", output, flags=re.DOTALL))


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_garbage_row_changes_nothing_that_is_told(of_clean_rows: tuple[Path, str], garbage: str) -> None:
    folder, output = of_clean_rows
    (folder / "people.csv").write_text(people(200) + garbage + "\n")
    again, code = fit(folder, "--ledger ledger.jsonl", output="a.synth")
    assert code == 0, again
    assert told(again).replace("releases", "release") == told(output)
    assert not re.search(r"\b5[1-5]x|Quasimodo|nowhere|maybe", again)


@pytest.mark.parametrize(
    "rows", ["", "33,eye,yes\n", "33,eye,yes\n" * 500, "\x00\n" * 30, "33,nowhere,yes\n" * 300, "\n\n\n"]
)
def test_an_empty_or_uniform_table_is_a_release_like_any_other(folder: Path, rows: str) -> None:
    (folder / "people.csv").write_text("age,ward,smokes\n" + rows)
    output, code = fit(folder)
    assert code == 0, output
    assert "Traceback" not in output
    data = json.loads(cuts("ledger show m.synth --format json", folder)[0])
    assert [event["clique"] for event in data["events"][:3]] == [["age"], ["ward"], ["smokes"]]
    assert 2.9 < data["spent"]["epsilon"] <= 3.0
    output, code = cuts("sample m.synth -n 20 -o a.csv", folder)
    assert (output.splitlines()[-1], code) == ("20 rows written to a.csv", 0)


def test_a_file_without_a_header_is_the_only_thing_that_is_wrong(folder: Path) -> None:
    (folder / "people.csv").write_text("")
    output, code = fit(folder)
    assert (code, output.count("error[unreadable-table]")) == (2, 1), output
    (folder / "people.csv").write_text("\n \n")
    output, code = fit(folder)
    assert (code, "has no header" in output) == (2, True), output
    assert spent_in(folder) == {}


# --- the ledger


def test_ledger_show_tells_every_read_and_the_promise(shelf: Path) -> None:
    for file in ("m.synth", "t.json"):
        output, code = cuts(f"ledger show {file}", shelf)
        assert code == 0
        head, *lines = output.splitlines()
        assert head.split() == ["query", "kind", "columns", "noise", "scale", "rho", "rho", "in", "total"]
        reads = lines[: lines.index("")]
        assert [int(line.split()[0]) for line in reads] == list(range(1, len(reads) + 1))
        assert {line.split()[1] for line in reads} <= {"measure", "select"}
        for said in (
            "guarantee",
            "epsilon 3, delta 1e-06",
            "one row",
            "add/remove",
            "declared, sha256",
            ", release 1",
        ):
            assert said in output
        assert "the joint distribution of the transcript, the model, every sample" in output


def test_ledger_show_as_json_adds_up_exactly(shelf: Path) -> None:
    from fractions import Fraction

    output, code = cuts("ledger show m.synth --format json", shelf)
    data = json.loads(output)
    assert code == 0
    assert data == json.loads(cuts("ledger show t.json --format json", shelf)[0])
    total = sum((Fraction(event["rho"]) for event in data["events"]), Fraction(0))
    assert total == Fraction(data["spent"]["rho"]) <= Fraction(data["rho"])
    assert total > Fraction(999, 1000) * Fraction(data["rho"])
    assert data["spent"]["epsilon"] <= data["epsilon"] == 3.0
    assert (data["unit"], data["relation"], data["max_rows_per_person"]) == ("one row", "add/remove", 1)
    assert data["schema"]["provenance"] == "declared"
    assert data["all_releases"]["releases"] == 1
    assert "people" not in data["history"]["data"]


def test_releases_of_one_data_id_add_up_whatever_their_files(folder: Path) -> None:
    (folder / "other.csv").write_text(people(300, seed=4))
    assert cuts("ledger list", folder) == (f"{folder / 'ledger.jsonl'}: no releases yet\n", 0)
    for more in ("--data-id patients", "--data-id patients --data other.csv", "--data other.csv"):
        output, code = fit(folder, more)
        assert code == 0, output
    assert "over 1 release (ledger" in output
    spent = spent_in(folder)
    assert {name: each["releases"] for name, each in spent.items()} == {"patients": 2, "people": 1}
    assert 3.5 < spent["patients"]["epsilon"] < 6
    output, code = cuts("ledger list", folder)
    head, first, second = output.splitlines()
    assert head.split() == ["data", "set", "releases", "unit", "rho", "(zCDP)", "epsilon", "at", "delta"]
    assert (first.split()[:2], second.split()[:2]) == (["patients", "2"], ["people", "1"])
    assert fit(folder, "--data-id patients --max-epsilon 5")[1] == 5


def test_the_book_is_where_the_option_or_the_variable_says(folder: Path) -> None:
    assert fit(folder, "--ledger books/mine.jsonl -q")[1] == 0
    assert (folder / "books" / "mine.jsonl").exists()
    assert not (folder / "ledger.jsonl").exists()
    assert fit(folder, "-q")[1] == 0
    assert list(spent_in(folder)) == ["people"]
    output, _ = cuts("ledger list --ledger books/mine.jsonl", folder)
    assert "people" in output


def test_replacing_and_persons_are_told(folder: Path) -> None:
    (folder / "s.toml").write_text(SCHEMA + '\n[columns.who]\nkind = "id"\n')
    header, *lines = people(300).splitlines()
    (folder / "people.csv").write_text(
        "\n".join([f"{header},who", *(f"{line},{i % 100}" for i, line in enumerate(lines))])
    )
    (folder / "p.cuts").write_text(asked(terms=f"{TERMS} WITH max_rows_per_person=2, relation=replace"))
    output, code = fit(folder)
    assert code == 0, output
    shown, _ = cuts("ledger show m.synth", folder)
    assert "one person (`who`) with at most 2 rows" in shown
    assert "neighbours    replace" in shown
    assert "differ in the values of one person (`who`)" in shown


@pytest.mark.parametrize(
    "command",
    ["ledger show m.txt", "ledger transcript m.txt -o t.json", "fit p.cuts -o n.synth --from-transcript m.txt"],
)
@pytest.mark.parametrize("edit", ["cut", "value", "cost", "text", "list"])
def test_a_damaged_transcript_is_a_clear_error(folder: Path, shelf: Path, command: str, edit: str) -> None:
    text = (shelf / "t.json").read_text()
    data = json.loads(text)
    data["answers"][0]["values"] = data["answers"][0]["values"][:-1]
    cheap = json.loads(text)
    cheap["ledger"]["events"][0]["rho"] = "1/10000000"
    edits = {"cut": text[:-50], "value": json.dumps(data), "cost": json.dumps(cheap), "text": "hello", "list": "[]"}
    (folder / "m.txt").write_text(edits[edit])
    output, code = cuts(command, folder)
    assert (code, output.count("error[bad-transcript]")) == (2, 1), output
    assert "Traceback" not in output


def test_a_damaged_ledger_is_a_clear_error_and_stops_a_release(folder: Path) -> None:
    assert fit(folder, "-q")[1] == 0
    book = folder / "ledger.jsonl"
    lines = book.read_text().splitlines(keepends=True)
    for damaged in (
        "".join(lines[:2] + lines[3:]),
        "".join(lines).replace('"epsilon": 3.0', '"epsilon": 0.1'),
        "what?\n",
    ):
        book.write_text(damaged)
        for command in ("ledger list", "fit p.cuts -o n.synth --schema s.toml --config fast.toml"):
            output, code = cuts(command, folder)
            assert (code, "error[bad-ledger]" in output) == (2, True), output
            assert "measuring" not in output
        assert book.read_text() == damaged
    assert not (folder / "n.synth").exists()


def test_a_damaged_or_open_model_has_no_ledger(folder: Path, shelf: Path) -> None:
    (folder / "broken.synth").write_bytes((shelf / "m.synth").read_bytes()[:-400])
    output, code = cuts("ledger show broken.synth", folder)
    assert (code, "error[bad-model]" in output) == (1, True)
    (folder / "open.cuts").write_text(asked(RULE, terms=None))
    assert cuts("fit open.cuts -o open.synth --config fast.toml -q", folder)[1] == 0
    for command in ("ledger show open.synth", "fit p.cuts -o n.synth --from-transcript open.synth"):
        output, code = cuts(command, folder)
        assert (code, "error[bad-transcript]" in output) == (2, True), output
    assert cuts("ledger show nowhere.synth", folder)[1] == 2
    assert cuts("ledger show nowhere.json", folder)[1] == 2


@pytest.mark.parametrize("command", ["ledger show", "ledger list", "ledger transcript"])
def test_help_is_short_and_has_one_example(tmp_path: Path, command: str) -> None:
    output, code = cuts(f"{command} --help", tmp_path)
    assert (code, output.count("Example: cuts ")) == (0, 1)


WITHOUT = """
import sys
from cuts.cli import main
for command in sys.argv[1:]:
    sys.argv = ["cuts", *command.split()]
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = stop.code or 0
    loaded = [name for name in ("torch", "sklearn", "pandas") if name in sys.modules]
    print(command, code, loaded, file=sys.stderr)
"""


def test_the_ledger_is_shown_without_loading_torch(shelf: Path) -> None:
    commands = ["ledger list", "ledger show t.json", "ledger show t.json --format json", "check p.cuts --schema s.toml"]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT, *commands], cwd=shelf, capture_output=True, text=True
    )
    assert done.stderr.splitlines() == [f"{command} 0 []" for command in commands]
    assert done.returncode == 0


# --- from a transcript


def test_a_model_is_made_from_model_or_transcript_bit_for_bit(shelf: Path, tmp_path: Path) -> None:
    (tmp_path / "p.cuts").write_text(asked(RULE))  # no rows and no schema beside it
    (tmp_path / "fast.toml").write_text(FAST)
    for name in ("m.synth", "t.json"):
        output, code = cuts(
            f"fit p.cuts -o again.synth --from-transcript {shelf / name} --config fast.toml --seed 3 -q", tmp_path
        )
        assert code == 0, output
        assert (tmp_path / "again.synth").read_bytes() == (shelf / "m.synth").read_bytes()
    assert cuts("ledger transcript again.synth -o again.json", tmp_path)[1] == 0
    assert (tmp_path / "again.json").read_bytes() == (shelf / "t.json").read_bytes()
    assert render(load(tmp_path / "again.json")) == (tmp_path / "again.json").read_text()
    cuts(f"fit p.cuts -o other.synth --from-transcript {shelf / 'm.synth'} --config fast.toml --seed 4 -q", tmp_path)
    assert (tmp_path / "other.synth").read_bytes() != (shelf / "m.synth").read_bytes()


def test_other_programs_run_on_a_transcript_and_cost_nothing(shelf: Path, folder: Path) -> None:
    (folder / "q.cuts").write_text(asked("ENFORCE: age > 33", "ENFORCE: E[age] == 60 WITHIN 1", terms=None))
    output, code = cuts(f"run q.cuts --from-transcript {shelf / 't.json'} --config fast.toml -n 500 -o a.csv", folder)
    assert code == 0, output
    assert "2 hold, 0 fail" in output
    ages = [int(row["age"]) for row in rows_in(folder / "a.csv")]
    assert (len(ages), min(ages) > 33, abs(np.mean(ages) - 60) <= 1) == (500, True, True)
    assert not (folder / "ledger.jsonl").exists()
    assert "measuring" not in output


def test_the_report_of_a_transcript_is_the_same_beside_other_rows(shelf: Path, folder: Path) -> None:
    reports = []
    for rows in (200, 90):
        (folder / "people.csv").write_text(people(rows))
        command = f"run p.cuts --from-transcript {shelf / 't.json'} --config fast.toml -n 300 -o a.csv --report r.json"
        output, code = cuts(command, folder)
        assert code == 0, output
        reports.append(json.loads((folder / "r.json").read_text()))
        del reports[-1]["created"]
    assert reports[0] == reports[1]
    assert sum("the program is private" in reason for reason in reports[0]["left_out"]) == 3


def test_test_rows_of_a_private_program_are_refused_before_anything_is_read(shelf: Path, folder: Path) -> None:
    for more in ("--schema s.toml", f"--from-transcript {shelf / 't.json'}"):
        output, code = cuts(f"run p.cuts {more} -o a.csv --report r.html --test people.csv", folder)
        assert (code, "error[reads-private-data]" in output) == (5, True), output
        assert not (folder / "ledger.jsonl").exists()


@pytest.mark.parametrize("more", ["--data people.csv", "--schema s.toml", "--label ward"])
def test_with_a_transcript_no_rows_can_be_given(shelf: Path, folder: Path, more: str) -> None:
    output, code = cuts(f"fit p.cuts -o n.synth --from-transcript {shelf / 't.json'} {more}", folder)
    assert (code, "error[bad-setting]" in output) == (2, True), output
    assert "no rows are read" in output


def test_the_transcript_a_command_reads_is_not_overwritten(shelf: Path, folder: Path) -> None:
    (folder / "m.synth").write_bytes((shelf / "m.synth").read_bytes())
    for command in ("fit p.cuts -o m.synth --from-transcript m.synth", "ledger transcript m.synth -o m.synth"):
        output, code = cuts(command, folder)
        assert (code, "m.synth is read by this command" in output) == (2, True), output
    assert (folder / "m.synth").read_bytes() == (shelf / "m.synth").read_bytes()


def test_other_terms_than_those_of_the_transcript_are_refused(shelf: Path, folder: Path) -> None:
    (folder / "p.cuts").write_text(asked(RULE, terms=TERMS.replace("EPSILON=3", "EPSILON=1")))
    output, code = cuts(f"fit p.cuts -o n.synth --from-transcript {shelf / 't.json'} --config fast.toml", folder)
    assert (code, "error[other-terms]" in output) == (5, True), output
    assert "EPSILON=1" in output


def test_a_program_is_tuned_on_rows_of_the_private_model(shelf: Path, folder: Path) -> None:
    (folder / "p.cuts").write_text(asked("ENFORCE: PARAM <w>: E[age] == 58 WITHIN 1"))
    (folder / "people.csv").unlink()
    words = "tune p.cuts --grid w=0.001,0.1 --folds 2 --workers 1 --config fast.toml -q"
    refused, code = cuts(words, folder)
    assert (code, "error[reads-private-data]" in refused) == (5, True)
    assert "--from-transcript" in refused
    output, code = cuts(f"{words} --from-transcript {shelf / 't.json'}", folder)
    assert code == 0, output
    assert "in 2 folds" in output
    found = re.search(r"^cuts run p\.cuts .*", output, re.MULTILINE)
    assert found is not None
    assert f"--from-transcript {shelf / 't.json'}" in found[0]
    again, code = cuts(f"{found[0].removeprefix('cuts ')} -n 50 -o a.csv -q", folder)
    assert code in (0, 1), again  # its verdict is another matter
    assert len(rows_in(folder / "a.csv")) == 50
    assert not (folder / "ledger.jsonl").exists()


# --- runs that do not end


def test_an_interrupted_run_keeps_its_charges(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, seen = Entry.record, list[Event]()

    def stopping(self: Entry, event: Event) -> None:
        record(self, event)
        seen.append(event)
        if len(seen) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(Entry, "record", stopping)
    output, code = fit(folder)
    monkeypatch.undo()
    monkeypatch.setenv("CUTS_LEDGER", str(folder / "ledger.jsonl"))
    assert (code, "error[interrupted]" in output) == (130, True), output
    assert "stays charged in the ledger" in output
    assert not (folder / "m.synth").exists()
    spent = spent_in(folder)["people"]
    assert (spent["releases"], spent["rho"]) == (1, str(sum(event.cost for event in seen)))
    assert spent["epsilon"] > 0


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_was_released_is_kept_when_the_fit_fails(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(private, "fit_release", failing)
        if error is KeyboardInterrupt:
            output, code = fit(folder)
            assert code == 130
            assert "--from-transcript p_transcript.json" in output
        else:
            with pytest.raises(error):
                fit(folder)
    assert not (folder / "m.synth").exists()
    output, code = cuts("fit p.cuts -o m.synth --config fast.toml --from-transcript p_transcript.json -q", folder)
    assert code == 0, output
    assert spent_in(folder)["people"]["releases"] == 1
    kept = store.load(folder / "m.synth").transcript
    assert kept is not None
    assert LedgerFile(folder / "ledger.jsonl").spent()[0].by_unit == (kept.ledger.spending,)

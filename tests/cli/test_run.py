"""The commands that make rows: what they write, print and return, and that nothing is left when they fail."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from console import run
from cuts import cli, read_table

RULES = 'SYNTHESIZE: "people.csv";\n\n    ENFORCE: ward == surgery IMPLIES age >= 40;\n\nEND;\n'
FAST = "steps = 20\ncomponents = 10\nsmoothing = 0.0\n"


def people(rows: int = 120) -> str:
    rng = np.random.default_rng(0)
    ages = rng.integers(18, 90, rows)
    wards = rng.choice(["surgery", "cardiology", "eye"], rows)
    smokes = rng.choice(["yes", "no"], rows)
    lines = [f"{age},{ward},{smoke}" for age, ward, smoke in zip(ages, wards, smokes, strict=True)]
    return "age,ward,smokes\n" + "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(people())
    (tmp_path / "p.cuts").write_text(RULES)
    (tmp_path / "fast.toml").write_text(FAST)
    (tmp_path / "german.cuts").write_text("SYNTHESIZE: german; ENFORCE: A13 >= 21; END;\n")
    (tmp_path / "dir.csv").mkdir()
    return tmp_path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the people."""
    folder = tmp_path_factory.mktemp("model")
    (folder / "people.csv").write_text(people())
    (folder / "p.cuts").write_text(RULES)
    (folder / "fast.toml").write_text(FAST)
    assert apart("fit p.cuts -o p.synth --config fast.toml -q", folder)[2] == 0
    return folder / "p.synth"


def apart(command: str, folder: Path) -> tuple[str, str, int]:
    """What a command prints, what it says, and its exit code."""
    out, err = io.StringIO(), io.StringIO()
    words = ["cuts", *command.split()]
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        patch.object(sys, "argv", words),
    ):
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
    return out.getvalue(), err.getvalue(), code


def rows_in(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def assert_rules_hold(rows: list[dict[str, str]]) -> None:
    assert all(int(row["age"]) >= 40 for row in rows if row["ward"] == "surgery")


# --- run


def test_run_writes_as_many_rows_as_there_were_and_gives_verdicts(folder: Path) -> None:
    out, err, code = apart("run p.cuts --config fast.toml", folder)
    rows = rows_in(folder / "p_synthetic.csv")
    assert (code, len(rows)) == (0, 120)
    assert list(rows[0]) == ["age", "ward", "smokes"]
    assert_rules_hold(rows)
    assert "1 hold, 0 fail" in out
    nearness, model = out.splitlines()[-3::2]
    assert re.match(
        r"A discriminator \(XGBoost, 5 folds, 120 rows of each table\) .* with an AUC of \d\.\d\d ", nearness
    )
    assert "the commands of the program also move the table" in nearness
    noise = r"\(0 is perfect; sampling noise alone gives 0\.\d+\)"
    assert re.fullmatch(
        rf"model: \d+ components, fit error 0\.\d+ {noise}; 120 rows written to p_synthetic\.csv", model
    )
    said = [line for line in err.splitlines() if not line.startswith(" ")]
    assert said[:2] == ["reading a sample of the rows", "counting"]
    assert "fitting" in said


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.parquet", "out.feather", "out.jsonl", "out.csv.gz"])
def test_the_table_is_of_the_kind_its_ending_tells(folder: Path, name: str) -> None:
    assert apart(f"run p.cuts -n 33 -o {name} --config fast.toml -q", folder)[2] == 0
    table = read_table(folder / name)
    assert (table.rows, table.names) == (33, ("age", "ward", "smokes"))


def test_a_folder_gets_parts_and_is_continued(folder: Path) -> None:
    output, _, code = apart("run p.cuts -n 300 -o out/ -q --config fast.toml", folder)
    assert code == 0
    assert "300 rows written to out/ (1 part)" in output
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["_manifest.json", "part-00000.parquet"]
    assert_rules_hold(read_table(folder / "out" / "part-00000.parquet").arrow.to_pylist())
    output, _, code = apart("run p.cuts -n 300 -o out -q --config fast.toml --format json", folder)
    assert code == 0
    found = json.loads(output)
    assert (found["output"], found["rows"], found["parts"], found["kept_parts"]) == ("out/", 300, 1, 1)
    _, errors, code = apart("run p.cuts -n 301 -o out/ -q --config fast.toml", folder)
    assert code == 2
    assert "error[other-draw]: out/ holds a table of another draw (rows: 300 there, 301 now" in errors


def test_quiet_says_nothing_and_the_result_is_the_same(folder: Path) -> None:
    (folder / "warned.cuts").write_text(
        RULES.replace("END;", "    ENFORCE: age >= 10;\n    ENFORCE: E[age] == 50 WITHIN 50;\n\nEND;")
    )
    out, err, code = apart("run warned.cuts -o a.csv --config fast.toml --report r.txt", folder)
    assert code == 0
    assert "warning[redundant-command]" in err
    assert "r.txt written" in err
    again, silence, code = apart("run warned.cuts -o a.csv --config fast.toml --report r.txt --quiet", folder)
    assert (again, silence, code) == (out, "", 0)


def test_the_same_seed_gives_the_same_file(folder: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        apart(f"run p.cuts -o {name}.csv --seed {seed} --config fast.toml -q", folder)
    first, again, other = ((folder / f"{name}.csv").read_bytes() for name in "abc")
    assert first == again
    assert first != other


def test_run_as_json_and_as_a_report(folder: Path) -> None:
    out, err, code = apart("run p.cuts -n 50 -o a.csv --config fast.toml --format json --report r.json -q", folder)
    data = json.loads(out)
    assert (code, err) == (0, "")
    assert (data["holds"], data["output"], data["rows"]) == (True, "a.csv", 50)
    fitted = data["fit"]
    assert (fitted["rows"], fitted["steps"], fitted["backbone"], fitted["seed"]) == (120, 20, "table", 0)
    assert [verdict["holds"] for verdict in data["verdicts"]] == [True]
    assert (fitted["failed"], fitted["furthest"]) == (False, [])
    assert 0 < fitted["error_floor"] < 1
    assert (data["discriminator"]["rows"], data["discriminator"]["folds"]) == (50, 5)
    assert 0 <= data["discriminator"]["auc"] <= 1
    written = json.loads((folder / "r.json").read_text())
    assert (written["schema_version"], written["holds"], written["run"]["output"]) == (1, True, "a.csv")
    assert (written["rows"], written["real_rows"]) == (50, 120)
    assert written["likeness"]["discriminator"]["auc"] == data["discriminator"]["auc"]
    apart("run p.cuts -n 50 -o a.csv --config fast.toml --report r.txt -q", folder)
    report = (folder / "r.txt").read_text()
    assert "1 hold, 0 fail" in report
    assert "A discriminator" in report
    assert "fit error" in report


def test_a_page_has_its_json_twin_beside_it(folder: Path) -> None:
    out, err, code = apart("run p.cuts -o a.csv --config fast.toml --report r.html", folder)
    assert code == 0
    first, *_, last = out.splitlines()
    assert first.startswith("line  verdict")
    assert last == "report: r.html"
    assert len(out.splitlines()) <= 10, "details are in the report"
    assert "1 hold, 0 fail" in out
    assert "<" in (folder / "r.html").read_text()
    assert json.loads((folder / "r.json").read_text())["commands"][0]["outcome"] == "holds"
    said = [line for line in err.splitlines() if not line.startswith(" ")]
    assert said[-3:] == ["building the report", "r.html written", "r.json written"]


def test_test_rows_are_for_the_report_only(folder: Path) -> None:
    (folder / "unseen.csv").write_text("\n".join(people(160).splitlines()[:1] + people(160).splitlines()[121:]) + "\n")
    fast = "--label smokes --config fast.toml -q"
    plain, _, _ = apart(f"run p.cuts -o a.csv {fast} --report a.json", folder)
    with_test, _, code = apart(f"run p.cuts -o b.csv {fast} --report b.json --test unseen.csv", folder)
    assert code == 0
    assert with_test == plain.replace("a.csv", "b.csv")
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()
    without, report = (json.loads((folder / name).read_text()) for name in ("a.json", "b.json"))
    assert report["classifiers"]["tested_on"] == "40 real rows, to which the model was not fitted."
    assert report["memory"]["leakage"]["copies"]["real_rows"] == 40
    assert without["memory"]["leakage"] is None
    assert report["run"]["fingerprints"] == without["run"]["fingerprints"]


def test_test_rows_that_do_not_fit_are_refused_before_the_fit(folder: Path) -> None:
    (folder / "unseen.csv").write_text("age,ward\n40,eye\n")
    out, err, code = apart("run p.cuts -o a.csv --report r.json --test unseen.csv", folder)
    assert (out, code) == ("", 1)
    assert "error[missing-column]" in err
    assert "fitting" not in err
    assert not (folder / "a.csv").exists()


@pytest.mark.parametrize("more", ["", "--report r.txt"])
def test_test_rows_without_a_report_are_refused(folder: Path, more: str) -> None:
    _, err, code = apart(f"run p.cuts --test people.csv {more}", folder)
    assert code == 2
    assert "`--test` has no effect without a report" in err


@pytest.mark.parametrize(
    ("report", "why"),
    [
        ("no/r.html", "no/r.html cannot be written"),
        ("twin.html", "twin.json cannot be written"),
        ("unseen.json", "is read by this command"),
    ],
)
def test_a_report_that_could_not_be_written_is_refused_before_the_fit(folder: Path, report: str, why: str) -> None:
    (folder / "twin.json").mkdir()
    (folder / "unseen.json").write_text('{"age": 30, "ward": "eye", "smokes": "no"}\n')
    _, err, code = apart(f"run p.cuts -o a.csv --report {report} --test unseen.json", folder)
    assert code == 2
    assert why in err
    assert "fitting" not in err


@pytest.fixture
def failing(folder: Path) -> Path:
    """A program whose fit has one step for columns that determine each other."""
    rows = "".join(f"{age},{paid}\n" for age, paid in [("20", "no"), ("30", "yes"), ("40", "no"), ("50", "yes")] * 50)
    (folder / "paid.csv").write_text("age,paid\n" + rows)
    (folder / "paid.cuts").write_text('SYNTHESIZE: "paid.csv"; END;\n')
    (folder / "one.toml").write_text("steps = 1\nsmoothing = 0.0\n")
    return folder


def test_a_failed_fit_is_told_and_an_exit_code(failing: Path) -> None:
    out, err, code = apart("run paid.cuts --config one.toml -o a.csv", failing)
    assert code == 1
    assert "warning[failed-fit]: the fit failed: its error is 0." in err
    assert "more than 1 `steps`" in err
    assert "the fit FAILED; 200 rows written to a.csv" in out
    assert len(rows_in(failing / "a.csv")) == 200
    out, err, code = apart("run paid.cuts --config one.toml -o a.csv --format json -q", failing)
    assert (code, err) == (1, "")
    data = json.loads(out)
    assert (data["holds"], data["fit"]["failed"], {*data["fit"]["furthest"]}) == (True, True, {"age", "paid"})
    (failing / "more.toml").write_text("steps = 200\nsmoothing = 0.0\n")
    assert apart("run paid.cuts --config more.toml -o a.csv -q", failing)[2] == 0


def test_a_model_whose_fit_failed_is_written_with_an_exit_code(failing: Path) -> None:
    out, _, code = apart("fit paid.cuts --config one.toml -o a.synth -q", failing)
    assert code == 1
    assert "the fit FAILED; written to a.synth" in out
    out, _, code = apart("fit paid.cuts --config one.toml -o a.synth -q --format json", failing)
    assert (code, json.loads(out)["fit"]["failed"]) == (1, True)
    assert apart("sample a.synth -n 10 -o b.csv", failing)[2] == 0


def test_a_table_of_one_row_is_refused(folder: Path) -> None:
    (folder / "people.csv").write_text(people(1))
    out, err, code = apart("run p.cuts -q", folder)
    assert (out, code) == ("", 1)
    assert err.startswith("error[few-rows]: one row cannot be synthesised without copying it\n")
    assert not (folder / "p_synthetic.csv").exists()


def test_a_statistic_is_made_to_hold_and_told_with_all_its_numbers(folder: Path) -> None:
    (folder / "mean.cuts").write_text(RULES.replace("END;", "    ENFORCE: E[age] == 40 WITHIN 1;\nEND;"))
    output, _, code = apart("run mean.cuts -o a.csv --config fast.toml", folder)
    rows = rows_in(folder / "a.csv")
    assert (code, len(rows)) == (0, 120)
    assert "2 hold, 0 fail" in output
    assert "real" in output
    assert "95 % range of a new sample" in output
    assert "Selected from 480 candidate rows" in output
    assert_rules_hold(rows)
    assert abs(sum(int(row["age"]) for row in rows) / 120 - 40) <= 1


def test_a_statistic_that_is_not_met_is_the_exit_code(folder: Path) -> None:
    # With a weight of next to nothing the mean stays where it was.
    (folder / "mean.cuts").write_text(RULES.replace("END;", "    ENFORCE: PARAM 1e-12: E[age] == 20 WITHIN 1;\nEND;"))
    output, _, code = apart("run mean.cuts -o a.csv --config fast.toml", folder)
    assert code == 1
    assert "1 hold, 1 fail" in output
    assert len(rows_in(folder / "a.csv")) == 120  # the table is there to be looked at
    assert_rules_hold(rows_in(folder / "a.csv"))


def test_a_preview_of_an_embedded_table(folder: Path) -> None:
    (folder / "small.toml").write_text("components = 10\nsmoothing = 0.0\nsteps = 9\nslices = 0\n")
    out, _, code = apart("run german.cuts -n 40 -o g.csv --config small.toml --preview -q --format json", folder)
    assert code == 0
    assert json.loads(out)["fit"]["steps"] == 200
    assert all(int(row["A13"]) >= 21 for row in rows_in(folder / "g.csv"))


def test_placeholders_and_other_tables_can_be_given(folder: Path) -> None:
    (folder / "hole.cuts").write_text("SYNTHESIZE: anything; ENFORCE: age >= <least>; END;")
    words = "run hole.cuts --data people.csv --label smokes --set least=60 -o a.csv --config fast.toml -q"
    assert apart(words, folder)[2] == 0
    assert min(int(row["age"]) for row in rows_in(folder / "a.csv")) >= 60


# --- nothing is done before, and nothing is left after, a mistake


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("run nowhere.cuts", 2, "unreadable-file"),
        ("run bad.cuts", 1, "unknown-column"),
        ("run broken.cuts", 1, "missing-end"),
        ("run never.cuts", 3, "contradiction"),
        ("run private.cuts", 5, "private-schema"),
        ("run nothing.cuts", 1, "unknown-data"),
        ("run p.cuts --data nowhere.csv", 2, "unreadable-table"),
        ("run p.cuts --data ragged.csv", 2, "unreadable-table"),
        ("run german.cuts --data people.csv", 1, "missing-column"),
        ("run p.cuts --schema nowhere.toml", 2, "unreadable-file"),
        ("run p.cuts --label wards", 1, "unknown-column"),
        ("run p.cuts --set x", 2, "bad-setting"),
        ("run p.cuts --set x=1", 1, "unknown-placeholder"),
        ("run p.cuts -o table.xlsx", 2, "unwritable-file"),
        ("run p.cuts -o nowhere/table.csv", 2, "unwritable-file"),
        ("run p.cuts -o dir.csv", 2, "unwritable-file"),
        ("run p.cuts -o /proc/table.csv", 2, "unwritable-file"),
        ("run p.cuts --report nowhere/r.json", 2, "unwritable-file"),
        ("run p.cuts -o people.csv", 2, "people.csv is read by this command"),
        ("run p.cuts --report p.cuts", 2, "p.cuts is read by this command"),
        ("run p.cuts --data ./people.csv -o people.csv", 2, "people.csv is read by this command"),
        ("run p.cuts --config nowhere.toml", 2, "unreadable-file"),
        ("run p.cuts --config wrong.toml", 2, "bad-config"),
        ("run p.cuts --config p.cuts", 2, "bad-config"),
        ("run p.cuts --device tpu", 2, "bad-config"),
        ("run p.cuts -n 0", 2, "Error:"),
        ("run p.cuts --threads 0", 2, "Error:"),
        ("run p.cuts --seed -1", 2, "Error:"),
        ("run p.cuts --seed 99999999999999999999999", 2, "Error:"),
        ("fit p.cuts", 2, "Error:"),
        ("fit p.cuts -o model.zip", 2, "unknown-format"),
        ("fit p.cuts -o nowhere/m.synth", 2, "unwritable-file"),
        ("fit never.cuts -o m.synth", 3, "contradiction"),
        ("sample nowhere.synth -o a.csv", 2, "unreadable-file"),
        ("sample people.csv -o a.csv", 1, "bad-model"),
    ],
)
def test_a_mistake_is_told_before_any_training_and_leaves_nothing(
    folder: Path, command: str, code: int, message: str
) -> None:
    (folder / "bad.cuts").write_text(RULES.replace("age", "agee"))
    (folder / "broken.cuts").write_text(RULES.replace("END;", ""))
    (folder / "never.cuts").write_text(RULES.replace("END;", "ENFORCE: age > 50; ENFORCE: age < 40; END;"))
    (folder / "private.cuts").write_text(RULES.replace("END;", "ENSURE: EPSILON=1, DELTA=1e-9; END;"))
    (folder / "nothing.cuts").write_text("SYNTHESIZE: nothing; END;")
    (folder / "ragged.csv").write_text("age,ward\n1,eye\n2,eye,3,4\n")
    (folder / "wrong.toml").write_text("step = 5\ncomponents = 0\n")
    before = sorted(path.name for path in folder.iterdir())
    out, err, found = apart(command, folder)
    assert found == code, err
    assert message in err
    assert out == ""
    assert "Traceback" not in err
    assert "fitting" not in err
    assert sorted(path.name for path in folder.iterdir()) == before


def test_all_that_is_wrong_in_the_settings_is_said_at_once(folder: Path) -> None:
    (folder / "wrong.toml").write_text('step = 5\ncomponents = 0\nbinning = "even"\n')
    _, output, code = apart("run p.cuts --config wrong.toml", folder)
    assert (code, output.count("error[bad-config]")) == (2, 3)
    assert "did you mean `steps`?" in output
    assert "`components` must be a whole number from 1 to 100,000" in output


@pytest.mark.parametrize("text", ["steps = ", "[[[[", "steps = " + "9" * 5_000, "a = " + "[" * 3_000])
def test_settings_that_are_no_toml_are_told(folder: Path, text: str) -> None:
    (folder / "odd.toml").write_text(text)
    _, err, code = apart("run p.cuts --config odd.toml", folder)
    assert (code, err.count("error[bad-config]")) == (2, 1)


def test_errors_are_json_too_when_json_is_wanted(folder: Path) -> None:
    (folder / "never.cuts").write_text(RULES.replace("END;", "ENFORCE: age > 50; ENFORCE: age < 40; END;"))
    out, _, code = apart("run never.cuts --format json", folder)
    assert code == 3
    assert [d["code"] for d in json.loads(out)["diagnostics"]] == ["contradiction"]


def test_a_private_file_is_not_even_looked_at(folder: Path) -> None:
    (folder / "people.csv").write_text("name,age\nAlice,33\nBob,34,extra,cells\n")  # would be an error if it were read
    (folder / "q.cuts").write_text('SYNTHESIZE: "people.csv"; ENSURE: EPSILON=1, DELTA=1e-9; END;')
    for command in ("run q.cuts", "fit q.cuts -o q.synth", "run q.cuts --data people.csv"):
        output, code = run(["cuts", *command.split()], folder)
        assert code == 5, output
        assert "Alice" not in output


def test_a_table_that_is_there_stays_when_the_command_fails(folder: Path) -> None:
    (folder / "a.csv").write_text("precious\n")
    assert apart("run p.cuts -o a.csv --config nowhere.toml", folder)[2] == 2
    assert apart("sample people.csv -o a.csv", folder)[2] == 1
    assert (folder / "a.csv").read_text() == "precious\n"


# --- fit and sample


def test_a_model_is_fitted_once_and_sampled_often(model: Path, tmp_path: Path) -> None:
    for name, options in (("a", "--seed 1"), ("b", "--seed 1 --workers 3"), ("c", "--seed 2")):
        output, code = run(["cuts", "sample", str(model), "-n", "500", "-o", f"{name}.csv", *options.split()], tmp_path)
        assert (output.splitlines()[-1], code) == (f"500 rows written to {name}.csv", 0)
    first, again, other = ((tmp_path / f"{name}.csv").read_bytes() for name in "abc")
    assert first == again
    assert first != other
    assert_rules_hold(rows_in(tmp_path / "a.csv"))
    output, code = run(["cuts", "sample", str(model), "-o", "all.csv"], tmp_path)
    assert (output.splitlines()[-3:], code) == (["1 hold, 0 fail", "", "120 rows written to all.csv"], 0)


def test_fit_and_sample_as_json(folder: Path) -> None:
    out, _, code = apart("fit p.cuts -o p.synth --config fast.toml --format json -q", folder)
    data = json.loads(out)
    assert (code, data["output"], data["fit"]["rows"], data["fit"]["steps"]) == (0, "p.synth", 120, 20)
    out, _, code = apart("sample p.synth -n 7 -o a.csv --format json", folder)
    data = json.loads(out)
    assert (code, data["holds"], data["output"], data["rows"]) == (0, True, "a.csv", 7)
    assert [verdict["line"] for verdict in data["verdicts"]] == [3]


STATISTIC = (
    'SYNTHESIZE: "people.csv"; ENFORCE: age >= 18; ENFORCE: E[age] == 40; ENFORCE: P[smokes == yes] == 1/3; END;'
)


@pytest.fixture(scope="module")
def statistical(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a share that few numbers of rows can have."""
    folder = tmp_path_factory.mktemp("statistical")
    (folder / "people.csv").write_text(people())
    (folder / "s.cuts").write_text(STATISTIC.replace("; ", ";\n"))
    (folder / "fast.toml").write_text(FAST)
    assert apart("fit s.cuts -o s.synth --config fast.toml -q", folder)[2] == 0
    return folder / "s.synth"


def test_sample_gives_the_verdicts_of_run(statistical: Path, tmp_path: Path) -> None:
    out, _, code = apart(f"sample {statistical} -n 300 -o a.csv", tmp_path)
    assert code == 0
    assert re.search(r"4  holds +\S+, target == 40 within 0\.\d+ \(from the rows\) +E\[age\] == 40", out)
    assert "3 hold, 0 fail\n\n300 rows written to a.csv\n" in out


def test_a_statistic_that_so_few_rows_cannot_have_fails(statistical: Path, tmp_path: Path) -> None:
    out, _, code = apart(f"sample {statistical} -n 2 -o a.csv", tmp_path)
    assert code == 1
    assert re.search(r"5  FAILS .* target == 0\.333333 within 0\.005", out)
    data = json.loads(apart(f"sample {statistical} -n 2 -o a.csv --format json", tmp_path)[0])
    assert (data["holds"], data["verdicts"][2]["holds"], data["rows"]) == (False, False, 2)


@pytest.mark.parametrize("option", ["--where", "--seed-rows"])
def test_only_row_rules_are_verified_for_rows_that_are_not_selected(
    statistical: Path, tmp_path: Path, option: str
) -> None:
    (tmp_path / "given.csv").write_text("age,ward\n50,eye\n")
    given = {"--where": ["age > 60"], "--seed-rows": ["given.csv"]}[option]
    output, code = run(["cuts", "sample", str(statistical), "-o", "a.csv", option, *given], tmp_path)
    assert code == 0
    assert "1 hold, 0 fail" in output
    assert f"Only row rules were verified: with {option}, rows are not selected for the other commands." in output


def test_sample_and_run_draw_the_same_rows(folder: Path) -> None:
    apart("run p.cuts -n 99 --seed 3 -o a.csv --config fast.toml -q", folder)
    apart("fit p.cuts --seed 3 -o p.synth --config fast.toml -q", folder)
    apart("sample p.synth -n 99 --seed 3 -o b.csv", folder)
    assert rows_in(folder / "a.csv") == rows_in(folder / "b.csv")


@pytest.mark.parametrize(("written", "rows"), [("1e2", 100), ("1_0_0", 100), ("2.5e1", 25), ("7", 7)])
def test_numbers_of_rows_are_read_as_people_write_them(model: Path, tmp_path: Path, written: str, rows: int) -> None:
    assert run(["cuts", "sample", str(model), "-n", written, "-o", "a.csv"], tmp_path)[1] == 0
    assert len(rows_in(tmp_path / "a.csv")) == rows


@pytest.mark.parametrize("written", ["0", "-5", "1.5", "many", "inf", "nan", "1e400", ""])
def test_other_numbers_of_rows_are_refused(model: Path, tmp_path: Path, written: str) -> None:
    output, code = run(["cuts", "sample", str(model), f"--rows={written}", "-o", "a.csv"], tmp_path)
    assert code == 2
    assert "Invalid value for '-n' / '--rows'" in output


def test_where_holds_in_every_row(model: Path, tmp_path: Path) -> None:
    words = ["cuts", "sample", str(model), "-n", "200", "-o", "a.csv", "--where", "age > 71 AND smokes == yes"]
    assert run(words, tmp_path)[1] == 0
    rows = rows_in(tmp_path / "a.csv")
    assert len(rows) == 200
    assert all(int(row["age"]) > 71 and row["smokes"] == "yes" for row in rows)


@pytest.mark.parametrize(
    ("where", "code", "messages"),
    [
        ("agee > 60", 1, ["error[unknown-column]", "agee > 60", "^^^^", "did you mean `age`?"]),
        ("ward == surgry", 1, ["error[unknown-category]", "did you mean `surgery`?"]),
        ("age >", 1, ["error["]),
        ("E[age] == 3", 1, ["error["]),
        ("ward == surgery AND age < 30", 3, ["error[empty-support]"]),
    ],
)
def test_a_wrong_where_is_told_with_its_place(
    model: Path, tmp_path: Path, where: str, code: int, messages: list[str]
) -> None:
    output, found = run(["cuts", "sample", str(model), "-n", "9", "-o", "a.csv", "--where", where], tmp_path)
    assert found == code, output
    assert all(message in output for message in messages)
    assert list(tmp_path.iterdir()) == []


def test_seed_rows_are_completed(model: Path, tmp_path: Path) -> None:
    (tmp_path / "given.csv").write_text("ward,age\nsurgery,\n,33\neye,50\n")
    words = ["cuts", "sample", str(model), "--seed-rows", "given.csv", "-o", "a.csv"]
    output, code = run(words, tmp_path)
    assert (output.splitlines()[-3:], code) == (["1 hold, 0 fail", "", "3 rows written to a.csv"], 0)
    rows = rows_in(tmp_path / "a.csv")
    assert (rows[0]["ward"], rows[1]["age"], rows[2]["ward"], rows[2]["age"]) == ("surgery", "33", "eye", "50")
    assert all(cell for row in rows for cell in row.values())
    assert_rules_hold(rows)
    assert run([*words, "-n", "3"], tmp_path)[1] == 2
    assert "given.csv is read by this command" in run([*words[:-1], "given.csv"], tmp_path)[0]
    (tmp_path / "given.csv").write_text("ward,age\neye,33\nsurgery,20\n")
    output, code = run([*words[:-1], "b.csv"], tmp_path)
    assert code == 3
    assert "error[impossible-row]: the given cells of row 2 contradict the rules" in output
    (tmp_path / "given.csv").write_text("wards\neye\n")
    assert "error[unknown-column]" in run([*words[:-1], "b.csv"], tmp_path)[0]
    assert not (tmp_path / "b.csv").exists()


# --- stopping


@pytest.mark.parametrize("command", ["run p.cuts -o out.csv", "fit p.cuts -o out.synth"])
def test_ctrl_c_stops_a_fit_with_a_message_and_leaves_no_file(folder: Path, command: str) -> None:
    (folder / "long.toml").write_text("steps = 1000000\ncomponents = 20\nsmoothing = 0.0\n")
    before = sorted(path.name for path in folder.iterdir())
    started = subprocess.Popen(
        [sys.executable, "-m", "cuts", *command.split(), "--config", "long.toml"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert started.stderr is not None
    said = []
    for line in started.stderr:
        said.append(line)
        if line == "fitting\n":
            break
    started.send_signal(signal.SIGINT)
    try:
        out, err = started.communicate(timeout=60)
    finally:
        started.kill()  # if it did not stop by itself
    assert started.returncode == 130
    assert "error[interrupted]: stopped while fitting" in err
    assert "Traceback" not in "".join(said) + err
    assert out == ""
    assert sorted(path.name for path in folder.iterdir()) == before


def test_ctrl_c_while_rows_are_written_leaves_no_file(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cuts.model import draw

    drawn = draw.draw

    def stopped(*given: object, **more: object) -> object:
        if more["chunk"] == 1:
            raise KeyboardInterrupt
        return drawn(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(draw, "CHUNK", 100)
    monkeypatch.setattr(draw, "draw", stopped)
    output, code = run(["cuts", "sample", str(model), "-n", "1000", "-o", "a.csv"], tmp_path)
    assert code == 130
    assert output.startswith("error[interrupted]: stopped before the rows were written\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["run", "fit", "sample"])
def test_help_is_one_sentence_and_one_example(tmp_path: Path, command: str) -> None:
    output, code = run(["cuts", command, "--help"], tmp_path)
    assert (code, output.count("Example: cuts ")) == (0, 1)

"""Every example is run, and its result is checked: programs by `cuts check` and `cuts run`, scripts by their output."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import runpy
import shutil
import sys
from pathlib import Path

import pytest

from console import run

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(path.name for path in EXAMPLES.glob("*.cuts"))
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py"))
OPTIONS = {"orders.cuts": ["--schema", "orders.toml"], "target.cuts": ["--set", "share=50%"]}
WARNINGS = {"paper_rules.cuts": "5 commands, 1 warning"}  # the paper's rules together: one of them follows from another
# Programs that no script runs. `make figures` runs adult.cuts, whose classifiers take longer than a test should.
RUN_BY_TEST = ["paper_rules.cuts", "statistics.cuts"]
RUN_BY_FIGURES = ["adult.cuts"]
QUICK = 'steps = 50\nsmoothing = 0\nboxes = false\nfine = "none"\nthreads = 1\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the examples, with the tables that `tables.py` writes."""
    copy = tmp_path_factory.mktemp("examples") / "examples"
    shutil.copytree(EXAMPLES, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "quick.toml").write_text(QUICK)
    assert printed_by("tables.py", copy) == [
        "stays.csv: 1,500 rows, ward, age, sex, admission, discharge, died",
        "survey.csv: 1,500 rows, age, smokes, cigarettes, employed, hours, health",
    ]
    return copy


def printed_by(script: str, folder: Path) -> list[str]:
    """The lines that a script prints; a warning would end it. It runs in this process, which has loaded torch."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        patch.delitem(sys.modules, "tables", raising=False)
        runpy.run_path(str(folder / script), run_name="__main__")
    sys.modules.pop("tables", None)
    return printed.getvalue().splitlines()


def numbers(line: str) -> list[float]:
    """The numbers in a line."""
    return [float(text.replace(",", "")) for text in re.findall(r"-?\d[\d,]*(?:\.\d+)?", line)]


# --- programs


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_is_free_of_mistakes(folder: Path, program: str) -> None:
    output, code = run(["cuts", "check", program, *OPTIONS.get(program, [])], folder)
    assert code == 0, output
    assert WARNINGS.get(program, "no warnings") in output


@pytest.mark.parametrize("program", RUN_BY_TEST)
def test_a_program_that_no_script_runs_is_run(folder: Path, program: str) -> None:
    words = ["cuts", "run", program, "--config", "quick.toml", "-q", "-n", "2000", "-o", "synthetic.csv"]
    output, code = run(words, folder)
    assert code == 0, output
    assert " 0 fail" in output
    assert len((folder / "synthetic.csv").read_text().splitlines()) == 2_001


def test_every_program_is_run_somewhere() -> None:
    named = "".join((EXAMPLES / script).read_text() for script in SCRIPTS)
    page = (EXAMPLES.parent / "docs/how-to/fairness.md").read_text()
    assert len(PROGRAMS) >= 8
    assert all(f'figures="cuts run examples/{program}' in page for program in RUN_BY_FIGURES)
    by_scripts = {program for program in PROGRAMS if f'"{program}"' in named}
    assert by_scripts | {*RUN_BY_TEST, *RUN_BY_FIGURES} == set(PROGRAMS)


# --- scripts, in the order of their names


def test_a_program_built_in_python_prints_as_text_and_holds(folder: Path) -> None:
    lines = printed_by("build_program.py", folder)
    assert lines[0] == "SYNTHESIZE: stays;"
    assert '    ENFORCE: ward == "maternity" IMPLIES age >= 15;' in lines
    verdicts = lines[lines.index("END;") + 1 :]
    assert [line.split()[0] for line in verdicts if line] == ["holds"] * 5


def test_synthetic_stays_have_plausible_dates(folder: Path) -> None:
    real, synthetic, *verdicts = printed_by("clinical_stays.py", folder)
    rows, shortest, longest, _ = numbers(real)
    assert (rows, longest) == (1_500, 120)
    assert shortest < 0
    rows, shortest, longest, mean = numbers(synthetic)
    assert rows == 1_500
    assert 0 <= shortest < longest <= 90
    assert mean == pytest.approx(6.2, abs=0.1)
    assert [line.split()[0] for line in verdicts] == ["holds"] * 4


def test_rows_are_sampled_under_a_condition_and_completed(folder: Path) -> None:
    young, *completed = printed_by("complete_rows.py", folder)
    assert re.fullmatch(r"200 rows under a condition: age \d\d to (19|2[0-4]), purpose \{'car_new'\}", young)
    first, second, third = (ast.literal_eval(line) for line in completed)
    assert (first["amount"], first["risk"], first["age"]) == (500, "good", 30)
    assert (second["amount"], second["risk"]) == (15_000, "bad")
    assert (third["amount"], third["age"]) == (15_000, 60)
    assert all(value is not None for row in (first, second, third) for value in row.values())


def test_the_parity_gap_of_credit_falls(folder: Path) -> None:
    gap, accuracy, _, *rules = printed_by("fair_credit.py", folder)
    before, after = numbers(gap)
    assert after < before
    assert after < 0.06
    before, after = numbers(accuracy)
    assert after > before - 0.05
    assert [line.split()[0] for line in rules] == ["holds"] * 3


def test_the_sex_of_borrowers_becomes_unpredictable_and_risk_does_not(folder: Path) -> None:
    before, *learners, risk = printed_by("hidden_column.py", folder)
    assert numbers(before)[-1] > 0.7
    assert len(learners) == 3
    assert all(numbers(line)[-1] < 0.6 for line in learners)
    before, after = numbers(risk)
    assert after >= 0.95 * before


def test_a_target_far_from_the_real_rows_costs_fidelity(folder: Path) -> None:
    _, *lines = printed_by("price_of_a_target.py", folder)
    found = [numbers(line) for line in lines]
    assert [share for share, _ in found] == pytest.approx([30, 50, 70, 90], abs=0.5)
    assert found[-1][1] > found[0][1] + 0.1


def test_a_private_release_is_paid_for_once(folder: Path) -> None:
    people, verdicts, youngest, second = printed_by("private_census.py", folder)
    rows, epsilon = numbers(people)
    assert rows == 1_000
    assert 0.99 < epsilon <= 1
    assert verdicts.startswith("verdicts: [None, True]")
    assert numbers(youngest)[0] >= 60
    assert second == "a second release: budget-spent"


def test_skipped_questions_have_no_answers(folder: Path) -> None:
    no, yes, share, mean, last = printed_by("questionnaire.py", folder)
    assert re.fullmatch(r"smokes no: \d+ skipped the question about cigarettes", no)
    assert re.fullmatch(r"smokes yes: \d+ answered the question about cigarettes", yes)
    assert numbers(no)[0] + numbers(yes)[0] == 1_500
    assert numbers(share) == pytest.approx([0.25, 0.25], abs=0.005)
    assert numbers(mean) == pytest.approx([12, 12], abs=0.2)
    assert last == "every command holds: True"


def test_rows_from_a_schema_alone_satisfy_the_program(folder: Path) -> None:
    lines = printed_by("rows_from_schema.py", folder)
    verdicts, rows = lines[:7], lines[7:]
    assert all(line.startswith("fails -> holds  ") for line in verdicts)
    assert [row.split(", ")[0] for row in rows] == ["O-00001", "O-00002", "O-00003"]


def test_the_stress_test_has_half_of_its_loans_bad_and_large(folder: Path) -> None:
    real, stressed, last = printed_by("stress.py", folder)
    share, amount, retraining, rows = numbers(real)
    assert (share, rows) == (30, 800)
    assert amount < 5_000
    assert retraining < 10
    share, amount, retraining, _ = numbers(stressed)
    assert share == 50
    assert amount >= 8_000
    assert retraining > 70
    assert last == "every command holds: True"


# --- form


@pytest.mark.parametrize("name", [*PROGRAMS, *SCRIPTS])
def test_an_example_is_short_says_what_it_shows_and_is_listed(name: str) -> None:
    text = (EXAMPLES / name).read_text()
    assert len(text.splitlines()) < 60
    opening = ast.get_docstring(ast.parse(text)) if name.endswith(".py") else text.splitlines()[0].removeprefix("# ")
    assert opening
    assert opening.partition("\n")[0].endswith(".")
    rows = [line for line in (EXAMPLES / "README.md").read_text().splitlines() if f"`{name}`" in line]
    assert len(rows) == 1, "one line of examples/README.md per example"
    assert f" {name}" in rows[0], "the line has the command"


def test_every_script_has_a_test() -> None:
    here = Path(__file__).read_text()
    assert len(SCRIPTS) >= 6
    assert all(f'printed_by("{script}"' in here for script in SCRIPTS)

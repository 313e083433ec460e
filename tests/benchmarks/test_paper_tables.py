"""The paper's tables: every program is valid, a shared fit is a fit, and cells are judged as the page says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.paper_cells import Cell, Measured, Printed, find_cell
from benchmarks.paper_tables import Predictions, load_table, predict_gaps
from benchmarks.programs import PROGRAMS, program_of
from benchmarks.records import Records
from benchmarks.shared_fit import SharedFit
from benchmarks.tables.paper import STUDIES
from cuts.config import Config
from cuts.flow.checks import check
from cuts.flow.run import fit, make_request
from cuts.lang.parser import parse
from cuts.model.sampling import sample_table

SHORT = Config(steps=30, components=20, smoothing=0.0, threads=1)


@pytest.mark.parametrize("rows", ["adult", "german"])
@pytest.mark.parametrize("setting", ["uniform", "default"])
def test_every_program_is_valid_for_its_rows(rows: str, setting: str) -> None:
    schema = load_table(None, rows, setting).schema
    for name in PROGRAMS[rows]:
        checked = check(parse(program_of(rows, name)), schema)
        assert [each for each in checked.diagnostics if each.severity == "error"] == [], name


def test_every_program_of_a_study_exists() -> None:
    for kinds in STUDIES.values():
        for kind in kinds.values():
            assert set(kind.programs) <= set(PROGRAMS[kind.rows])
            assert set(kind.private) <= set(kind.programs)


def test_a_shared_fit_gives_the_rows_of_a_fit_of_its_own() -> None:
    real = load_table(None, "german", "uniform")
    shared = SharedFit(real, SHORT, seed=3)
    shared.shaped(program_of("german", "free"))
    program = program_of("german", "I2")
    model, _, _ = shared.shaped(program)
    alone = fit(make_request(program, real.train, schema=real.schema, config=SHORT, seed=3)).model
    assert sample_table(model, 200, seed=1).arrow.equals(sample_table(alone, 200, seed=1).arrow)


def test_programs_share_a_free_model_unless_their_bins_differ() -> None:
    shared = SharedFit(load_table(None, "german", "uniform"), SHORT, seed=0)
    for name in ("free", "I2", "RC2", "RC1"):
        shared.shaped(program_of("german", name))
    assert len(shared._fitted) == 2  # `RC1` compares an age with 30 and 50


def test_gaps_are_those_of_the_definition() -> None:
    real = load_table(None, "adult", "uniform")
    sex = real.unseen.values["sex"].astype(int)
    truth = real.unseen.values["salary"].astype(int)
    found = predict_gaps(Predictions(np.where(sex == 1, 0, 1), truth), real)  # men and nobody else are chosen
    assert found["parity"] == found["opportunity"] == found["odds"] == found["odds_mean"] == 1.0
    right = predict_gaps(Predictions(truth, truth), real)
    assert right["odds"] == 0.0
    men, women = (float((truth[sex == group] == 0).mean()) for group in (1, 0))
    assert right["signed_parity"] == pytest.approx(men - women)


def measured(**draws: list[float]) -> Measured:
    names = list(draws)
    return Measured(1, tuple(dict(zip(names, each, strict=True)) for each in zip(*draws.values(), strict=True)), 1.0)


@pytest.mark.parametrize(
    ("ours", "problem"),
    [
        (measured(accuracy=[82.0, 82.1], parity=[0.01, 0.012]), None),
        (measured(accuracy=[81.9, 82.0], parity=[0.01, 0.01]), "accuracy 0.15 lower"),
        (measured(accuracy=[83.0], parity=[0.03]), "gap 0.03 instead of 0.01"),
        (measured(accuracy=[83.0], parity=[0.0], satisfied=[99.9]), "a row breaks a rule"),
        (measured(accuracy=[83.0], parity=[0.0], off=[1.5]), "a statistic is 1.5 tolerances off in a sample"),
    ],
)
def test_a_cell_is_matched_within_the_printed_standard_error(ours: Measured, problem: str | None) -> None:
    printed = {"accuracy": Printed(82.1, 0.3), "gap": Printed(0.01, 0.01)}
    assert Cell("adult", "parity", False, printed, ours).problems == ([] if problem is None else [problem])


def test_of_two_accuracies_of_a_rule_the_better_one_is_to_be_matched(tmp_path: Path) -> None:
    cell = find_cell(Records(tmp_path), "adult", "adult", "RC1", is_private=False)
    assert cell is not None
    assert cell.printed["accuracy"].mean == 84.7
    assert cell.ours is None

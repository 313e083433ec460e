"""Default tolerances: from how far the rows are spread, so that outliers and wide declared ranges do not matter."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuts.data.middles import middle_half, with_middles
from cuts.data.schema import Category, Integer, Real, Schema
from cuts.data.table import Table
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import Relation, TableGoal
from cuts.lang.targets import Target, targets_of

SCHEMA = Schema("t", (Integer("x", -3, 800), Real("y", 0.0, 10.0), Category("g", ("a", "b"))))


def relation(comparison: str, schema: Schema) -> Relation:
    (command,) = bind(parse(f"SYNTHESIZE: t; ENFORCE: {comparison}; END;"), schema).commands
    assert isinstance(command, TableGoal)
    assert isinstance(command.goal, Relation)
    return command.goal


def rows(x: list[int]) -> Table:
    return Table(pa.table({"x": x, "y": np.linspace(0.0, 10.0, len(x)), "g": ["a", "b"] * (len(x) // 2)}))


def test_one_outlier_does_not_widen_a_tolerance() -> None:
    usual, outlier = [*range(100)], [*range(99), 800]
    plain, wide = (relation("E[x] == 3", with_middles(SCHEMA, rows(x))) for x in (usual, outlier))
    assert plain.tolerance == wide.tolerance == 0.49
    assert plain.basis == "rows"


def test_without_rows_a_tolerance_comes_from_the_declared_range() -> None:
    declared = relation("E[x] == 3", SCHEMA)
    assert (declared.tolerance, declared.basis) == (pytest.approx(0.005 * 803), "range")


@pytest.mark.parametrize("comparison", ["E[y] == 3", "MEDIAN[y] == 3", "STD[y] == 3", "VAR[y] == 3", "COV[y, y] == 3"])
def test_evenly_spread_rows_have_the_tolerance_of_their_range(comparison: str) -> None:
    known, declared = relation(comparison, with_middles(SCHEMA, rows([0, 1] * 500))), relation(comparison, SCHEMA)
    assert known.tolerance == pytest.approx(declared.tolerance, rel=0.02)


@given(st.lists(st.integers(-3, 800), min_size=2, max_size=30).filter(lambda x: len(x) % 2 == 0))
def test_rows_never_widen_a_tolerance(x: list[int]) -> None:
    schema = with_middles(SCHEMA, rows(x))
    for comparison in ("E[x] == 3", "VAR[x] == 3", "E[x * y] == 3", "2 * E[x] - E[y] == 3"):
        tolerance, declared = relation(comparison, schema).tolerance, relation(comparison, SCHEMA).tolerance
        assert 0 < tolerance <= declared * 1.01  # rounded to two digits


@pytest.mark.parametrize("comparison", ["P[g == a] == 50%", "CORR[x, y] == 0", "H[g] == 0.5", "E[g] == 0.5"])
def test_shares_correlations_and_categories_do_not_depend_on_rows(comparison: str) -> None:
    assert (
        relation(comparison, with_middles(SCHEMA, rows([*range(100)]))).tolerance
        == relation(comparison, SCHEMA).tolerance
    )


def test_a_stated_tolerance_decides_the_verdict_but_not_how_near_a_number_is_brought() -> None:
    schema = with_middles(SCHEMA, rows([*range(100)]))
    wide, narrow = (relation(f"E[x] == 40 WITHIN {t}", schema) for t in (20, 0.1))
    assert (wide.tolerance, wide.basis) == (20.0, "stated")
    aimed, finer = targets_of(wide, schema), targets_of(narrow, schema)
    assert isinstance(aimed, Target)
    assert isinstance(finer, Target)
    assert (aimed.low, aimed.high, aimed.aim) == (20.0, 60.0, (40.0, 40.0))
    assert aimed.unit == relation("E[x] == 40", schema).tolerance
    assert finer.unit == 0.1


@given(st.lists(st.floats(-1e6, 1e6), min_size=4), st.floats(1e3, 1e6))
def test_the_middle_half_contains_half_of_the_values(values: list[float], far: float) -> None:
    middle = middle_half(np.array(values))
    if middle is None:
        assert np.ptp(values) == pytest.approx(0.0, abs=1e-6)
    elif len({*values}) == len(values):
        inside = sum(middle.low <= value <= middle.high for value in values)
        assert inside >= len(values) / 2 - 1

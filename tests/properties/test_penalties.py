"""The losses of fine-tuning, read on certain rows, are what is checked: no violation exactly where a command holds."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.data.binning import fit_codec
from cuts.data.codec import build_codec, encode
from cuts.data.conform import conform
from cuts.data.schema import Category, Integer, Schema
from cuts.data.table import Table
from cuts.effects.penalties import rule_violation, statistic_violation
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import Pred, Quantity, TableAim, TableGoal
from cuts.lang.walks import statistics_of
from cuts.logic.core import comparisons, find_cuts
from cuts.logic.layout import conditions
from cuts.model.cells import Statistics
from cuts.model.penalty import SUMMED_ROWS
from cuts.read import exact
from mixtures import row_mixture
from strategies import predicates, quantities, schemas, tables

SINGLE_VALUES = Schema(  # every value has a bin of its own, so that certain rows are certain of their values
    "t",
    (
        Category("sex", ("Female", "Male")),
        Category("kind", ("a", "b", "c"), ordered=True),
        Integer("age", 0, 4, bins=(1.0, 2.0, 3.0, 4.0)),
        Integer("size", 1, 3, bins=(2.0, 3.0), missing=True),
    ),
)


@st.composite
def rules(draw: st.DrawFn) -> tuple[Schema, Table, Pred]:
    schema = draw(schemas())
    return schema, draw(tables(schema)), draw(predicates(schema))


@settings(max_examples=60, deadline=None)
@given(rules())
def test_the_violation_of_a_rule_counts_the_rows_that_break_it(case: tuple[Schema, Table, Pred]) -> None:
    schema, table, pred = case
    if any(len(leaf.form.terms) > 1 for leaf in comparisons(pred)):
        return  # no bin decides it: such a rule is only rejected
    cuts = find_cuts([pred], schema)
    codec = fit_codec(table, schema, cuts.columns, cuts.sets)
    found = rule_violation(pred, codec)(row_mixture(encode(table, codec), codec.sizes))
    broken = ~exact.mask(pred, conform(table, schema))
    assert float(found) == pytest.approx(SUMMED_ROWS * broken.mean(), abs=1e-6)
    assert (abs(float(found)) < 1e-6) == (not broken.any())


@st.composite
def statistics(draw: st.DrawFn) -> tuple[Table, Quantity]:
    return draw(tables(SINGLE_VALUES)), draw(quantities(SINGLE_VALUES))


@settings(max_examples=60, deadline=None)
@given(statistics())
def test_a_statistic_of_certain_rows_is_that_of_the_table(case: tuple[Table, Quantity]) -> None:
    table, quantity = case
    preds = [pred for stat in statistics_of(quantity) for pred in conditions(stat)]
    codec = build_codec(SINGLE_VALUES, find_cuts(preds, SINGLE_VALUES).columns)
    stats = Statistics(codec, table.rows)
    rows = row_mixture(encode(table, codec), codec.sizes)
    expected = exact.value(quantity, conform(table, SINGLE_VALUES), SINGLE_VALUES)
    found = float(stats.value(quantity, rows))
    if isnan(expected):
        assert not np.isfinite(found)
    else:
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)


GOALS = (
    "E[age] == 2",
    "E[age] <= 2",
    "E[age | sex == Male] >= E[age | sex == Female]",
    "P[kind == a] == 0.5 AND STD[age] < 1",
    "P[kind == a] >= 0.5 OR E[age] >= 3",
    "H[kind] >= 0.7",
)


@settings(max_examples=50, deadline=None)
@given(tables(SINGLE_VALUES), st.sampled_from(GOALS))
def test_the_violation_of_a_goal_is_squared_for_an_equality_and_the_excess_of_an_inequality(
    table: Table, goal: str
) -> None:
    spec = bind(parse(f"SYNTHESIZE: t; ENFORCE: {goal} WITHIN 0; END;"), SINGLE_VALUES)
    (command,) = spec.commands
    assert isinstance(command, TableGoal)
    codec = build_codec(SINGLE_VALUES, {})
    found = statistic_violation(command, Statistics(codec, table.rows))(row_mixture(encode(table, codec), codec.sizes))
    typed = conform(table, SINGLE_VALUES)

    def off(text: str) -> float:
        (inner,) = bind(parse(f"SYNTHESIZE: t; MINIMIZE: {text}; END;"), SINGLE_VALUES).commands
        assert isinstance(inner, TableAim)
        return exact.value(inner.value, typed, SINGLE_VALUES)

    expected = {
        GOALS[0]: lambda: (off("E[age]") - 2) ** 2,
        GOALS[1]: lambda: max(off("E[age]") - 2, 0.0),
        GOALS[2]: lambda: max(off("E[age | sex == Female] - E[age | sex == Male]"), 0.0),
        GOALS[3]: lambda: (off("P[kind == a]") - 0.5) ** 2 + max(off("STD[age]") - 1, 0.0),
        GOALS[4]: lambda: max(0.5 - off("P[kind == a]"), 0.0) * max(3 - off("E[age]"), 0.0),
        GOALS[5]: lambda: max(0.7 - off("H[kind]"), 0.0),
    }[goal]()
    if isnan(expected):
        assert not torch.isfinite(found)
    else:
        assert float(found) == pytest.approx(expected, abs=1e-6)


def test_a_number_to_be_maximised_is_its_negative() -> None:
    (command,) = bind(parse("SYNTHESIZE: t; MAXIMIZE: E[age]; END;"), SINGLE_VALUES).commands
    assert isinstance(command, TableAim)
    codec = build_codec(SINGLE_VALUES, {})
    codes = {name: np.array([0, size - 1]) for name, size in codec.sizes.items()}
    found = statistic_violation(command, Statistics(codec, 2))(row_mixture(codes, codec.sizes))
    assert float(found) == pytest.approx(-2.0)

"""Predicates on tied columns hold on the same rows once they are about what is modelled."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cuts.data.binning import fit_codec
from cuts.data.codec import build_codec
from cuts.data.columns import Category, Integer, Numeric, Real, Temporal
from cuts.data.computed import parse_formula
from cuts.data.conform import conform
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.data.ties import Sign, Tie, coordinates, make_tie, with_hidden
from cuts.lang.binder import bind, bind_predicate
from cuts.lang.parser import parse, parse_expression
from cuts.lang.spec import ColumnValue, Pred, Relation, Statistic, TableGoal
from cuts.logic.core import comparisons
from cuts.logic.tie_choice import keeps_exact, rule_ties
from cuts.logic.ties import range_rules, substitute, substitute_statistic
from cuts.plan import plan
from cuts.read import exact
from strategies import predicates, tables

KINDS: tuple[tuple[Numeric, ...], ...] = (
    (Integer("a", -9, 9), Integer("b", -12, 12, missing=True), Integer("c", 0, 9, missing=True)),
    (
        Real("a", -0.9, 0.9, decimals=1),
        Real("b", -1.2, 1.2, decimals=1, missing=True),
        Real("c", 0.0, 0.9, decimals=1),
    ),
    (Temporal("a", "date", 0.0, 9.0), Temporal("b", "date", 0.0, 12.0, missing=True), Integer("c", 0, 9)),
    (Temporal("a", "date", 0.0, 2.0), Temporal("b", "timestamp", 0.0, 200_000.0, missing=True), Integer("c", 0, 9)),
)
Case = tuple[Schema, tuple[Tie, ...], Table, Pred]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    schema = Schema("t", (*draw(st.sampled_from(KINDS)), Category("k", ("x", "y"))))
    signs: st.SearchStrategy[Sign] = st.sampled_from([1, -1])
    tie = make_tie("b", "a", draw(signs), schema)
    return schema, (tie,), draw(tables(schema, most=20)), draw(predicates(schema))


def holds(pred: Pred, table: Table, schema: Schema, ties: tuple[Tie, ...]) -> list[bool]:
    typed = conform(table, schema)
    inner = with_hidden(typed, typed, ties)
    return exact.mask(substitute(pred, schema, ties), inner).tolist()


@settings(max_examples=400, deadline=None)
@given(cases())
def test_a_substituted_predicate_holds_on_the_same_rows(case: Case) -> None:
    schema, ties, table, pred = case
    assume(keeps_exact([pred], ties[0], schema))
    assert holds(pred, table, schema, ties) == exact.mask(pred, conform(table, schema)).tolist()


def two_columns(a: Any, b: Any) -> Table:
    return Table(pa.table({"a": a, "b": b}))


@pytest.mark.parametrize("op", ["==", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("text", ["b {} 0.3", "b {} 0.25", "a {} b", "b {} a", "b - a {} 0"])
def test_decimals_that_float64_rounds_are_decided_as_written(text: str, op: str) -> None:
    schema = Schema("t", (Real("a", 0.0, 1.0, decimals=1), Real("b", 0.0, 2.0, decimals=1)))
    a, b = (np.round(part.ravel(), 1) for part in np.meshgrid(np.arange(11) / 10, np.arange(21) / 10))
    table = two_columns(a, b)
    pred = bind_predicate(parse_expression(text.format(op), "where"), schema)
    ties = (make_tie("b", "a", 1, schema),)
    assert keeps_exact([pred], ties[0], schema)
    assert holds(pred, table, schema, ties) == exact.mask(pred, table).tolist()


def bound(text: str, schema: Schema) -> tuple[Tie, ...]:
    return rule_ties([bind(parse(f"SYNTHESIZE: t; {text} END;"), schema)], schema)


STAYS = Schema(
    "stays",
    (
        Temporal("born", "date", 0.0, 15_000.0),
        Temporal("admitted", "date", 18_000.0, 19_000.0),
        Temporal("discharged", "date", 18_000.0, 19_100.0, missing=True),
        Temporal("seen", "timestamp", 18_000.0 * 86_400, 19_000.0 * 86_400),
        Temporal("gone", "timestamp", 18_000.0 * 86_400, 19_100.0 * 86_400),
        Integer("x", 0, 99),
        Integer("y", 0, 99),
        Integer("z", 0, 99),
        Real("p", 0.0, 9.0, decimals=2),
        Real("q", 0.0, 9.0, decimals=2),
        Category("ward", ("a", "b")),
    ),
    label="ward",
)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("ENFORCE: admitted <= discharged;", [("discharged", "admitted", 1)]),
        ("ENFORCE: discharged IS NULL OR admitted <= discharged;", [("discharged", "admitted", 1)]),
        ('ENFORCE: ward == a IMPLIES discharged - admitted <= "30 days";', [("discharged", "admitted", 1)]),
        ('ENFORCE: discharged > admitted; ENFORCE: discharged - admitted < "P60D";', [("discharged", "admitted", 1)]),
        ("ENFORCE: admitted <= seen;", [("seen", "admitted", 1)]),
        (
            'ENFORCE: seen - admitted <= "36 h"; ENFORCE: seen <= gone; ENFORCE: E[gone - seen] == "3 days";',
            [("seen", "admitted", 1), ("gone", "seen", 1)],
        ),
        ('ENFORCE: admitted <= seen; ENFORCE: E[seen] == "2021-01-01";', []),
        ("ENFORCE: x <= y; ENFORCE: y <= z;", [("y", "x", 1), ("z", "y", 1)]),
        ("ENFORCE: x + y <= 100;", [("y", "x", -1)]),
        ("ENFORCE: x <= y; ENFORCE: y > 5;", [("x", "y", 1)]),  # `y` is compared alone, so it keeps its own bins
        ("ENFORCE: p <= q;", [("q", "p", 1)]),
        ("ENFORCE: p + q <= 5;", []),  # float64 sums of decimals are not exact
        ("ENFORCE: x <= 2 * y;", []),
        ("ENFORCE: x <= y + z;", []),
        ("ENFORCE: x <= 5;", []),
        ("ENFORCE: x <= y; ENFORCE: E[y] == 50;", [("x", "y", 1)]),  # a statistic is about `y`
        ("ENFORCE: x <= y; ENFORCE: E[y] == 50; ENFORCE: E[x] == 40;", []),
        ("ENFORCE: x <= y; ENFORCE: E[y - x] == 5; ENFORCE: P[y - x > 9 | ward == a] == 0.1;", [("y", "x", 1)]),
        ("ENFORCE: admitted <= discharged; ENFORCE: P[discharged IS NULL] == 0.1;", [("discharged", "admitted", 1)]),
        ("ENFORCE: x <= y; ENFORCE: CORR[x, y] >= 0.5;", [("y", "x", 1)]),
        ("ENFORCE: x <= y; MAXIMIZE: DOWNSTREAM_ACCURACY(features=all, target=ward);", [("y", "x", 1)]),
        ("ENFORCE: x <= y; MAXIMIZE: DOWNSTREAM_ACCURACY(features=[y, p], target=ward);", [("x", "y", 1)]),
        ("ENFORCE: x <= y; ENSURE: DIFFERENTIAL PRIVACY: EPSILON=3, DELTA=1e-6;", []),
    ],
)
def test_rules_that_compare_two_columns_tie_them(program: str, expected: list[tuple[str, str, Sign]]) -> None:
    assert [(tie.column, tie.anchor, tie.sign) for tie in bound(program, STAYS)] == expected


def test_a_tied_rule_is_about_one_column_and_repaired() -> None:
    spec = bind(parse("SYNTHESIZE: t; ENFORCE: discharged IS NULL OR admitted <= discharged; END;"), STAYS)
    ties = rule_ties([spec], STAYS)
    (leaf,) = comparisons(substitute(spec.rules[0].pred, STAYS, ties))
    assert leaf.form.columns == ("discharged - admitted",)
    assert (leaf.op, leaf.bound) == (">=", 0.0)
    assert [step.way for step in plan(spec).steps] == ["diagram + repair"]


def test_a_rule_on_a_timestamp_and_its_day_is_one_on_the_seconds_between() -> None:
    commands = 'ENFORCE: seen - admitted <= "36 h"; ENFORCE: E[seen - admitted] == "12 h";'
    spec = bind(parse(f"SYNTHESIZE: t; {commands} END;"), STAYS)
    ties = rule_ties([spec], STAYS)
    (leaf,) = comparisons(substitute(spec.rules[0].pred, STAYS, ties))
    assert leaf.form.columns == ("seen - admitted",)
    assert (leaf.op, leaf.bound) == ("<=", 129_600.0)
    goal = spec.commands[1]
    assert isinstance(goal, TableGoal)
    assert isinstance(goal.goal, Relation)
    assert isinstance(goal.goal.left, Statistic)
    assert substitute_statistic(goal.goal.left, STAYS, ties).args == (ColumnValue("seen - admitted"),)


def test_ranges_of_tied_and_computed_columns_become_rules() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 90, 500)
    table = two_columns(x, x + rng.integers(0, 10, 500))
    schema = Schema("t", (Integer("a", 0, 99), Integer("b", 0, 99)))
    ties = (make_tie("b", "a", 1, schema),)
    inner = coordinates(schema, ties)
    codec = replace(fit_codec(with_hidden(table, table, ties), inner), schema=schema, ties=ties)
    (rule,) = range_rules(codec, [])
    for a, b, inside in ((89.0, 99.0, True), (89.0, 100.0, False), (0.0, -1.0, False)):
        row = two_columns([a], [b])
        assert exact.mask(rule, with_hidden(row, row, ties)).tolist() == [inside]
    wide = Schema("t", (Integer("a", 0, 99), Integer("b", -500, 500)))
    assert range_rules(replace(codec, schema=wide), []) == ()
    formula = Schema("t", (*schema, Integer("c", 0, 150)), formulas=(("c", parse_formula("a + b")),))
    (rule,) = range_rules(build_codec(formula, {}), [])
    row = two_columns([75.0, 75.0], [75.0, 76.0])
    assert exact.mask(rule, row).tolist() == [True, False]


def test_ranges_link_no_more_columns_than_can_be_drawn() -> None:
    parts = [Integer(f"x{i}", 0, 99) for i in range(8)]
    sums = [(f"s{i}", parse_formula(f"x0 + x{i}")) for i in range(1, 8)]
    schema = Schema("t", (*parts, *(Integer(name, 0, 150) for name, _ in sums)), formulas=tuple(sums))
    rules = range_rules(build_codec(schema, {}), [])
    assert 1 <= len(rules) < 7

"""Which commands exclude each other: certain, no larger than needed, and never said of a table that exists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cuts.data.conform import conform
from cuts.data.schema import Category, Integer, Real, Schema
from cuts.data.table import Table
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import (
    And,
    Apply,
    ColumnValue,
    Const,
    Distribution,
    Goal,
    InSet,
    Linear,
    LinearCompare,
    Missing,
    Not,
    Origin,
    Quantity,
    Relation,
    Statistic,
    TableGoal,
)
from cuts.logic.conflict import DEFAULT, ConflictSettings, find_conflicts
from cuts.logic.reach import check_statistics
from cuts.read import exact
from cuts.text.diagnostic import INFEASIBLE, Diagnostic
from cuts.text.source import Span
from reference import ADULT
from strategies import predicates, tables


def check(*commands: str, settings: ConflictSettings = DEFAULT) -> tuple[Diagnostic, ...]:
    return check_statistics(bind(parse(program(*commands)), ADULT), settings=settings)


def program(*commands: str) -> str:
    return "SYNTHESIZE: adult; " + " ".join(f"ENFORCE: {command};" for command in commands) + " END;"


def sets(*commands: str, settings: ConflictSettings = DEFAULT) -> list[list[int]]:
    """The commands each conflict names, by their number from 0."""
    text = program(*commands)
    found = []
    for diagnostic in check(*commands, settings=settings):
        assert diagnostic.code == "conflicting-statistics"
        assert diagnostic.exit_code == INFEASIBLE
        spans = [diagnostic.span, *(note.span for note in diagnostic.notes)]
        found.append([commands.index(text[span.start : span.end]) for span in spans if span is not None])
    return found


@pytest.mark.parametrize(
    "commands",
    [
        ("E[age] == 30", "E[age] == 40"),
        ("E[age] - 10 == 20", "2 * E[age] >= 80"),
        ("E[age + hours_per_week] == 60", "E[age] + E[hours_per_week] >= 70"),
        ("P[sex == Male] >= 0.7", "P[sex == Female] >= 0.4"),
        ("DIST[sex] == {Male: 50%, Female: 50%}", "P[sex == Male] >= 0.6"),
        ("DIST[race] == {White: 60%, *: proportional}", "P[race in {White, Black}] <= 0.5"),
        ("DIST[race | sex == Male] == {White: 90%, *: proportional}", "P[race == Black | sex == Male] >= 0.2"),
        ("MEDIAN[age] == 60", "E[age] <= 20"),
        ("Q(0.9)[age] <= 30", "E[age] >= 60"),
        ("MEDIAN[age | sex == Male] >= 60", "E[age | sex == Male] <= 20"),
        ("Q(0.25)[age] >= 40", "P[age < 30] >= 0.5"),
        ("P[age > 50] >= 0.8", "E[age] <= 30"),
        ("E[age | sex == Male] == 50", "E[age | sex == Male] - E[hours_per_week | sex == Male] >= 52"),
        ("E[age * hours_per_week] <= 400", "P[age > 50 AND hours_per_week > 40] >= 0.5"),
        ("E[sex] == 0.9", "P[sex == Female] == 0.5"),  # a category counts as its position
        ("P[age > 40 | sex == Male] >= 0.9", "P[age <= 40 AND sex == Male] >= 0.2"),
    ],
)
def test_two_commands_exclude_each_other(commands: tuple[str, str]) -> None:
    assert sets(*commands) == [[0, 1]]


THREE = ("P[sex == Male] == 0.9", "E[age | sex == Male] == 50", "E[age] <= 30")


def test_three_commands_exclude_each_other_and_no_other_is_named() -> None:
    assert sets(*THREE) == [[0, 1, 2]]
    assert sets("E[hours_per_week] == 40", *THREE, "P[race == White | sex == Male] >= 0.5") == [[1, 2, 3]]
    for left_out in range(3):
        assert sets(*(command for place, command in enumerate(THREE) if place != left_out)) == []


def test_what_is_said_of_three_commands() -> None:
    (found,) = check(*THREE)
    assert found.title == "no table can meet all of these commands"
    assert [note.label for note in found.notes] == ["this", "and this"]
    assert found.help == "leave one of them out, or widen their tolerances with `WITHIN`"


def test_rules_take_part() -> None:
    rule = "sex == Male IMPLIES race == White"
    shares = ("P[sex == Male] >= 0.6", "P[race == White] <= 0.5")
    assert check(*shares) == ()
    (found,) = check(rule, *shares)
    assert found.title == "no table can meet both of these commands"
    assert found.help == "keep one of them, widen their tolerances with `WITHIN`, or relax the row rules"


def test_rules_link_statistics_through_columns_of_their_own() -> None:
    rules = ("sex == Male IMPLIES relationship == Husband", "relationship == Husband IMPLIES age > 50")
    assert len(check(*rules, "P[sex == Male] >= 0.6", "E[age] <= 30")) == 1
    assert check(rules[0], "P[sex == Male] >= 0.6", "E[age] <= 30") == ()


def test_rules_that_take_no_part_are_not_mentioned() -> None:
    (found,) = check("age > 20", "sex == Male IMPLIES age > 21", *THREE)
    assert found.help is not None
    assert "row rules" not in found.help


def test_one_command_whose_parts_exclude_each_other() -> None:
    (found,) = check("P[sex == Male] >= 0.7 AND P[sex == Female] >= 0.7")
    assert (found.code, found.title) == ("conflicting-statistics", "no table can meet all of this command")
    assert found.notes == ()


def test_one_target_that_no_mix_of_rows_reaches() -> None:
    (found,) = check("age < 30 OR hours_per_week > 60", "E[age] - E[hours_per_week] >= 40")
    assert (found.code, found.label) == ("unreachable-target", "no mix of allowed rows reaches it")


def test_conflicts_about_other_columns_are_all_found() -> None:
    others = ("P[race == White] >= 0.7", "P[race == Black] >= 0.4")
    assert sets(*THREE, *others) == [[0, 1, 2], [3, 4]]


def test_statistics_that_are_not_linear_are_compared_in_pairs() -> None:
    assert sets("STD[age] == 3", "STD[age] >= 8") == [[0, 1]]
    assert sets("H[race] <= 0.1", "H[race] >= 0.9") == [[0, 1]]


@pytest.mark.parametrize(
    "commands",
    [
        ("E[age] == 30 OR E[age] == 80", "E[age] == 50"),
        ("E[age | sex == Male] == 60", "E[age] <= 20"),  # few men
        ("P[sex == Male] == 0.5", "P[sex == Female] == 0.5"),
        ("DIST[sex] == {Male: 50%, Female: 50%} WITHIN 0", "P[sex == Male] == 0.5 WITHIN 0"),
        ("age == 30", "E[0.1 * age] == 3 WITHIN 0", "E[age] == 30 WITHIN 0", "MEDIAN[age] == 30 WITHIN 0"),
        ("MEDIAN[age] == 60", "E[age] == 39"),
        ("E[log(capital_gain)] >= 11", "E[capital_gain] <= 10"),  # the logarithm of 0 is missing
        ("E[age | sex == Male] == E[age | sex == Female]", "P[sex == Male] == 0.5"),
        ("COUNT[sex == Male] >= 1000", "P[sex == Male] == 0.01"),
        ("age - hours_per_week >= 0", "E[age] <= 20", "E[hours_per_week] >= 40"),  # sums are left out
    ],
)
def test_silence(commands: tuple[str, ...]) -> None:
    assert check(*commands) == ()


LARGE = (
    *THREE,
    "DIST[education | sex == Male] == {Bachelors: 20%, Masters: 10%, Doctorate: 5%, *: proportional}",
    "DIST[occupation] == {Sales: 10%, Tech_support: 10%, Craft_repair: 10%, Farming_fishing: 10%, *: proportional}",
    "P[occupation == Sales | education == Masters] >= 0.3",
    "DIST[marital_status | sex == Female] == {Divorced: 30%, Widowed: 10%, *: proportional}",
    "DIST[workclass | age > 60] == {Private: 50%, State_gov: 10%, *: proportional}",
    "P[relationship == Wife | workclass == Private] <= 0.2",
    "P[hours_per_week > 50 | race == White AND age > 40] <= 0.2",
    "DIST[race] == {White: 70%, Black: 10%, *: proportional}",
    "MEDIAN[hours_per_week | native_country == Mexico] == 45",
)


def test_where_everything_is_too_much_a_few_columns_at_a_time_are_looked_at() -> None:
    assert sets(*LARGE) == [[0, 1, 2]]
    assert sets(*LARGE[1:]) == []


def test_where_even_that_is_too_much_pairs_are_left() -> None:
    few = ConflictSettings(max_unknowns=1, max_unknowns_of_scope=0)
    assert sets(*THREE, settings=few) == []
    assert sets(*THREE, "E[age] >= 40", settings=few) == [[2, 3]]


# --- what a table shows is never refused

SMALL = Schema(
    "small",
    (
        Category("kind", ("a", "b", "c"), True, missing=True),
        Integer("age", 17, 90),
        Real("score", -2.0, 3.0, missing=True),
        Real("price", 0.0, 10.0, decimals=1),
    ),
)
NUMBERS = st.sampled_from(
    [
        ColumnValue("age"),
        ColumnValue("score"),
        ColumnValue("price"),
        ColumnValue("kind"),
        Apply("+", (ColumnValue("age"), ColumnValue("score"))),
        Apply("-", (Apply("*", (Const(2.0), ColumnValue("price"))), Const(3.0))),
        Apply("*", (ColumnValue("age"), ColumnValue("price"))),
        Apply("log", (ColumnValue("price"),)),
        Apply("sqrt", (ColumnValue("score"),)),
        Apply("/", (ColumnValue("age"), ColumnValue("price"))),
        Apply("max", (ColumnValue("score"), Const(0.5))),
    ]
)
CONDITIONS = st.sampled_from(
    [
        InSet("kind", frozenset({"a"})),
        InSet("kind", frozenset({"a", "b"}), negated=True),
        LinearCompare(Linear((("age", 1.0),)), ">", 40.0),
        LinearCompare(Linear((("score", 1.0),)), "<=", 0.5),
        LinearCompare(Linear((("price", 1.0),)), "==", 2.0),
        LinearCompare(Linear((("age", 1.0), ("price", -1.0))), ">=", 30.0),
        Missing("score"),
    ]
)
GIVEN = st.none() | CONDITIONS


@st.composite
def quantities(draw: st.DrawFn) -> Quantity:
    """A mean, a share or a quantile, or a sum of two."""
    number, held, given = draw(NUMBERS), draw(CONDITIONS), draw(GIVEN)
    several = [
        Statistic("E", (number,), given),
        Statistic("P", (held,), given),
        Statistic("MEDIAN", (number,), given),
        Statistic("Q", (number,), given, (draw(st.sampled_from([0.1, 0.25, 0.9])),)),
        Apply("-", (Statistic("E", (number,), given), Statistic("P", (held,), given))),
        Apply("+", (Apply("*", (Const(0.5), Statistic("E", (number,), given))), Const(2.0))),
    ]
    return draw(st.sampled_from(several))


@st.composite
def met_goals(draw: st.DrawFn, table: Table) -> Goal | None:
    """A goal that the table meets, by no more than its tolerance."""
    tolerance = draw(st.sampled_from([0.0, 0.001, 0.1]))
    if draw(st.integers(0, 4)) == 0:
        given = draw(GIVEN)
        present = Not(Missing("kind"))
        among = present if given is None else And((given, present))
        names = draw(st.sampled_from([("a",), ("a", "c"), ("a", "b", "c")]))
        stats = [Statistic("P", (InSet("kind", frozenset({name})),), among) for name in names]
        shares = [(name, exact.value(stat, table, SMALL)) for name, stat in zip(names, stats, strict=True)]
        if np.isnan(shares[0][1]):
            return None
        return Distribution("kind", tuple(shares), len(names) < 3, given, tolerance)
    quantity = draw(quantities())
    value = exact.value(quantity, table, SMALL)
    if not np.isfinite(value):
        return None
    op = draw(st.sampled_from(["==", "<=", ">="]))
    off = {"==": 0.0, "<=": -tolerance, ">=": tolerance}[op]
    return Relation(quantity, op, Const(value + off), tolerance)


def command(goal: Goal, number: int) -> TableGoal:
    return TableGoal(goal, Origin(number, number, Span(0, 0), Span(0, 0), "", ""))


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(st.data())
def test_what_a_table_shows_is_never_refused(data: st.DataObject) -> None:
    table = conform(data.draw(tables(SMALL)), SMALL)
    made = [data.draw(met_goals(table)) for _ in range(data.draw(st.integers(2, 6)))]
    goals = [command(goal, number) for number, goal in enumerate(made) if goal is not None]
    drawn = data.draw(st.lists(predicates(SMALL, 4), max_size=3))
    rules = [rule for rule in drawn if exact.mask(rule, table).all()]
    assume(goals)
    assert list(find_conflicts(goals, rules, SMALL)) == []

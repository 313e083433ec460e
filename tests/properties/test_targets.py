"""Laws of targets: nothing is violated exactly when a goal is verified; the nearest alternative is chosen."""

from __future__ import annotations

from math import inf, isfinite, nan

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.assess.verify import verify
from cuts.data.conform import conform
from cuts.data.schema import Category, Integer, Real, Schema
from cuts.data.table import Table
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import Spec, Statistic, TableGoal
from cuts.lang.targets import (
    AllTargets,
    AnyTarget,
    Target,
    Targets,
    all_targets,
    nearest_targets,
    targets_of,
    violation,
)
from cuts.lang.walks import statistics_of
from cuts.read import exact

SCHEMA = Schema(
    "t",
    (
        Integer("n", 0, 30, missing=True),
        Real("x", -5.0, 5.0, missing=True),
        Category("c", ("u", "v", "w"), missing=True),
        Integer("one", 7, 7),
    ),
)
NUMBERS = [
    "E[n]",
    "E[x | c == u]",
    "VAR[x]",
    "STD[n | x > 0]",
    "COV[n, x]",
    "CORR[n, x]",
    "H[c]",
    "MI[c, n]",
    "P[n > 12 | c != v]",
    "COUNT[c == w]",
    "E[n | c == u] - E[n | c == v]",
    "2 * E[x] + 1",
    "max(E[x], E[n] / 10)",
    "MEDIAN[c]",
]


def rows(seed: int, missing: float = 0.3) -> Table:
    rng = np.random.default_rng(seed)
    count = 40
    n = rng.integers(0, 31, count)
    return Table(
        pa.table(
            {
                "n": pa.array(n, mask=rng.random(count) < missing),
                "x": pa.array(np.clip(n / 10 + rng.normal(-1, 1.5, count), -5, 5), mask=rng.random(count) < missing),
                "c": pa.array(rng.choice(["u", "v", "w"], count), mask=rng.random(count) < missing),
                "one": np.full(count, 7),
            }
        )
    )


def bound(body: str) -> Spec:
    return bind(parse(f"SYNTHESIZE: t; ENFORCE: {body}; END;"), SCHEMA)


def goal_targets(spec: Spec) -> Targets:
    (goal,) = spec.commands
    assert isinstance(goal, TableGoal)
    return targets_of(goal.goal, SCHEMA)


def value_of(text: str, table: Table) -> float:
    (fact,) = verify(bound(f"{text} == 0"), table, interval=False)[0].facts
    return fact.value


def is_met(target: Targets, table: Table) -> bool:
    typed = conform(table, SCHEMA)
    match target:
        case Target():
            return violation(target, exact.value(target.value, typed, SCHEMA)) == 0.0
        case AllTargets(parts):
            return all(is_met(part, table) for part in parts)
        case AnyTarget(parts):
            return any(is_met(part, table) for part in parts)


def is_verified(spec: Spec, table: Table) -> bool:
    (verdict,) = verify(spec, table, interval=False)
    return verdict.holds is True


OPS = st.sampled_from(["==", "<=", ">=", "<", ">"])
AWAY = st.sampled_from([-4.0, -1.7, -0.6, 0.4, 1.3, 2.8])  # tolerances from the target, at no edge
TOLERANCES = st.sampled_from([0.01, 0.2, 3.0])
SEEDS = st.integers(0, 50)


@settings(max_examples=60)
@given(SEEDS, st.sampled_from(NUMBERS), OPS, AWAY, TOLERANCES)
def test_nothing_is_violated_exactly_when_the_comparison_holds(
    seed: int, text: str, op: str, away: float, tolerance: float
) -> None:
    table = rows(seed)
    target = value_of(text, table) + away * tolerance
    spec = bound(f"{text} {op} {target!r} WITHIN {tolerance}")
    assert is_met(goal_targets(spec), table) == is_verified(spec, table)


@settings(max_examples=60)
@given(SEEDS, st.sampled_from(NUMBERS), st.sampled_from([-4.0, -1.5, -0.6, 0.4, 1.5, 2.8]), TOLERANCES)
def test_a_difference_is_aimed_twice_as_far_as_needed(seed: int, text: str, away: float, tolerance: float) -> None:
    table = rows(seed)
    spec = bound(f"{text} != {value_of(text, table) + away * tolerance!r} WITHIN {tolerance}")
    assert is_met(goal_targets(spec), table) == (abs(away) > 2)
    assert is_verified(spec, table) == (abs(away) > 1)


@settings(max_examples=60)
@given(SEEDS, st.lists(st.tuples(st.sampled_from(NUMBERS), OPS, AWAY), min_size=2, max_size=3), st.data())
def test_goals_are_joined_as_they_are_verified(
    seed: int, parts: list[tuple[str, str, float]], data: st.DataObject
) -> None:
    table = rows(seed)
    words = [data.draw(st.sampled_from(["AND", "OR"])) for _ in parts[1:]]
    texts = [f"({text} {op} {value_of(text, table) + 0.3 * away!r})" for text, op, away in parts]
    body = " ".join([texts[0], *(f"{word} {text}" for word, text in zip(words, texts[1:], strict=True))])
    spec = bound(f"{'NOT ' if data.draw(st.booleans()) else ''}({body}) WITHIN 0.3")
    if "!=" not in str(spec.commands[0]):
        assert is_met(goal_targets(spec), table) == is_verified(spec, table)
    elif is_met(goal_targets(spec), table):
        assert is_verified(spec, table)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("condition", ["", "n > 15"])
@pytest.mark.parametrize("away", [0.0, 0.004, 0.006])
def test_a_distribution_has_one_target_per_share(seed: int, condition: str, away: float) -> None:
    table = rows(seed)
    share = value_of(f"P[c == u | c IS NOT NULL{' AND ' + condition if condition else ''}]", table)
    percent = f"{100 * (share + away):.10f}%"
    spec = bound(f"DIST[c{' | ' + condition if condition else ''}] == {{u: {percent}, *: proportional}}")
    targets = goal_targets(spec)
    assert isinstance(targets, AllTargets)
    assert len(list(all_targets(targets))) == 2
    assert is_met(targets, table) == is_verified(spec, table) == (away < 0.005)


# --- quantiles


@settings(max_examples=60)
@given(
    SEEDS,
    st.sampled_from(["n", "x"]),
    st.sampled_from([0.2, 0.5, 0.8]),
    OPS,
    AWAY,
    st.sampled_from(["", " | c == u", " | x > 0"]),
)
def test_shares_that_stand_for_a_quantile_imply_it(
    seed: int, column: str, level: float, op: str, away: float, given: str
) -> None:
    """A quantile leaves rows with a missing value out."""
    table = rows(seed)
    text = f"Q({level})[{column}{given}]" if level != 0.5 else f"MEDIAN[{column}{given}]"
    target = value_of(text, table) + away
    spec = bound(f"{text} {op} {target!r} WITHIN 0.5")
    targets = goal_targets(spec)
    assert all(isinstance(one.value, Statistic) and one.value.name == "P" for one in all_targets(targets))
    if is_met(targets, table):
        assert is_verified(spec, table)
    # What holds for the quantiles around, too, is nowhere near an edge: nothing may be violated then.
    around = [bound(f"Q({level + by})[{column}{given}] {op} {target!r} WITHIN 0.5") for by in (-0.01, 0.01)]
    if all(is_verified(one, table) for one in [spec, *around]):
        assert is_met(targets, table)


@pytest.mark.parametrize(
    "text", ["MEDIAN[n | c == u] == MEDIAN[n | c == v]", "MEDIAN[n + one] == 9", "MEDIAN[n] != 4", "MEDIAN[c] == 1"]
)
def test_a_quantile_that_is_no_share_of_one_column_stays_one(text: str) -> None:
    found = {
        stat.name
        for target in all_targets(goal_targets(bound(f"{text} WITHIN 1")))
        for stat in statistics_of(target.value)
    }
    assert found == {"MEDIAN"}


# --- units and aims


@pytest.mark.parametrize("text", [*NUMBERS, "E[one]", "E[n / x]", "E[exp(n * n)]", "E[n / (n - one)]", "MEDIAN[n]"])
@pytest.mark.parametrize("op", ["<=", ">=", "!="])
def test_a_violation_is_counted_in_a_unit_that_is_some_finite_number(text: str, op: str) -> None:
    """Also of what has no range, or an unbounded one."""
    for target in all_targets(goal_targets(bound(f"{text} {op} 3"))):
        assert 0 < target.unit < inf
        assert all(0 < violation(target, end + side * 4 * target.unit) < inf for end, side in _ends(target))
        low, high = target.aim
        assert target.low <= low <= high <= target.high
        assert isfinite(low) or isfinite(high)


def _ends(target: Target) -> list[tuple[float, int]]:
    return [(end, side) for end, side in ((target.low, -1), (target.high, 1)) if isfinite(end)]


@given(st.floats(-5, 5), st.floats(0.1, 3), st.floats(0.01, 2), st.floats(0, 10))
def test_violations_grow_with_the_distance_in_units(low: float, width: float, unit: float, off: float) -> None:
    target = Target(Statistic("E", ()), low, low + width, unit)
    assert violation(target, low + width / 2) == 0.0
    assert violation(target, low - off * unit) == pytest.approx(off, abs=1e-6)
    assert violation(target, low + width + off * unit) == pytest.approx(off, abs=1e-6)
    assert violation(target, nan) == inf
    assert target.aim == pytest.approx((low + width / 2, low + width / 2))


def test_an_inequality_is_aimed_a_little_inside() -> None:
    at_most, at_least = (Target(Statistic("E", ()), low, high, 2.0) for low, high in ((-inf, 5.0), (5.0, inf)))
    assert at_most.aim == (-inf, pytest.approx(4.8))
    assert at_least.aim == (pytest.approx(5.2), inf)
    assert violation(at_most, at_most.aim[1]) == violation(at_least, at_least.aim[0]) == 0.0


# --- several


def join(inner: st.SearchStrategy[Targets]) -> st.SearchStrategy[Targets]:
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return several.map(AllTargets) | several.map(AnyTarget)


def numbered(number: int) -> Target:
    """A target known by its number."""
    return Target(Statistic("Q", (), None, (float(number),)), 0.0, 0.0, 1.0)


trees = st.recursive(st.integers(0, 9).map(numbered), join, max_leaves=8)


@given(trees, st.lists(st.floats(0, 5), min_size=10, max_size=10))
def test_of_alternatives_the_nearest_is_chosen_and_all_of_it(tree: Targets, far: list[float]) -> None:
    def off(target: Target) -> float:
        assert isinstance(target.value, Statistic)
        return far[int(target.value.levels[0])]

    def cheapest(target: Targets) -> float:
        match target:
            case Target():
                return off(target)
            case AllTargets(parts):
                return sum(map(cheapest, parts))
            case AnyTarget(parts):
                return min(map(cheapest, parts))

    chosen = list(nearest_targets(tree, off))
    assert sum(map(off, chosen)) == pytest.approx(cheapest(tree))
    everything = list(all_targets(tree))
    assert all(target in everything for target in chosen)
    if "AnyTarget" not in str(tree):
        assert chosen == everything


def test_an_undefined_number_is_never_the_nearest() -> None:
    known, unknown = numbered(1), numbered(2)
    values = {known.value: 50.0, unknown.value: nan}
    assert list(
        nearest_targets(AnyTarget((unknown, known)), lambda target: violation(target, values[target.value]))
    ) == [known]

"""Rows chosen from a pool: its rows, as many as asked for, none too often, with the statistics wanted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from cuts.assess.verify import verify
from cuts.data.conform import conform
from cuts.data.schema import Category, Integer, Real, Schema
from cuts.data.table import Table
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import Spec, TableGoal
from cuts.lang.targets import Targets, targets_of
from cuts.model.calibrate import CALIBRATION_SETTINGS, Calibration, CalibrationSettings, calibrate

LETTERS = tuple("abcdefgh")
SCHEMA = Schema(
    "t",
    (
        Integer("age", 18, 80),
        Real("hours", 0.0, 80.0, missing=True),
        Category("kind", ("a", "b", "c"), missing=True),
        Category("sex", ("f", "m")),
        Category("left", LETTERS),
        Category("right", LETTERS),
    ),
)
ROWS = 500


def pool(rows: int = 4 * ROWS, seed: int = 1) -> Table:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows)
    age = rng.integers(18, 81, rows)
    hours = np.clip(rng.normal(38, 9, rows) + 4 * (sex == "m"), 0, 80)
    made = {
        "age": age,
        "hours": pa.array(hours, mask=rng.random(rows) < 0.1),
        "kind": pa.array(rng.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2]), mask=rng.random(rows) < 0.1),
        "sex": sex,
        "left": rng.choice(LETTERS, rows),
        "right": rng.choice(LETTERS, rows),
    }
    return conform(Table(pa.table(made)), SCHEMA)


def bound(*goals: str) -> tuple[Spec, list[Targets]]:
    spec = bind(parse(f"SYNTHESIZE: t; {' '.join(f'ENFORCE: {goal};' for goal in goals)} END;"), SCHEMA)
    return spec, [targets_of(each.goal, SCHEMA) for each in spec.commands if isinstance(each, TableGoal)]


def chosen(
    table: Table,
    goals: tuple[str, ...],
    rows: int = ROWS,
    *,
    total: int | None = None,
    seed: int = 0,
    settings: CalibrationSettings = CALIBRATION_SETTINGS,
) -> tuple[NDArray[np.int64], Calibration, list[bool | None]]:
    """The rows taken, how, and for every goal whether they have it."""
    spec, wants = bound(*goals)
    taken, facts = calibrate(table, wants, SCHEMA, rows, total=total or rows, seed=seed, settings=settings)
    made = Table(table.arrow.take(pa.array(taken)))
    return taken, facts, [verdict.holds for verdict in verify(spec, made, interval=False)]


def assert_sound(taken: NDArray[np.int64], facts: Calibration, size: int, rows: int) -> None:
    assert len(taken) == rows == facts.rows
    assert facts.pool == size
    assert taken.min() >= 0
    assert taken.max() < size
    assert np.bincount(taken).max() == facts.most_taken <= CALIBRATION_SETTINGS.max_copies
    assert 0 < facts.effective <= size * (1 + 1e-9)


TEN = (
    "E[age] == 45",
    "E[hours] >= 41",
    "E[hours | sex == m] - E[hours | sex == f] == 0",
    "CORR[age, hours] == 0.2",
    "H[kind] >= 1.05",
    "MEDIAN[hours] == 43",
    "COUNT[sex == m AND age > 60] == 60",
    "DIST[kind] == {a: 40%, *: proportional}",
    "STD[age] <= 16",
    "E[age | kind == c] > E[age | kind == a] OR P[sex == m] == 0",
)


@pytest.mark.parametrize("seed", range(2))
def test_ten_statistics_hold_in_the_rows_themselves(seed: int) -> None:
    table = pool(seed=seed)
    taken, facts, held = chosen(table, TEN, seed=seed)
    assert held == [True] * 10
    assert facts.off == 0.0
    assert_sound(taken, facts, table.rows, ROWS)


@pytest.mark.parametrize(
    "goal",
    [
        "E[age] == 40",
        "VAR[hours] == 60",
        "COV[age, hours] == 30",
        "MI[sex, kind] == 0.05",
        "H[kind, sex] <= 1.5",
        "P[hours > 40 | sex == f] == 0.5",
        "Q(0.9)[age] == 70",
        "Q(0.25)[hours | kind == a] > 36",
        "E[age] != 49",
        "E[hours] / E[age] == 0.9",
        "MEDIAN[age | sex == f] == MEDIAN[age | sex == m] WITHIN 0.5",
        "DIST[kind | sex == f] == {a: 30%, b: 30%, c: 40%}",
        "COUNT[hours IS NULL] == 20",
    ],
)
def test_each_statistic_holds_in_the_rows_themselves(goal: str) -> None:
    table = pool()
    taken, facts, held = chosen(table, (goal,))
    assert held == [True]
    assert facts.off == 0.0
    assert_sound(taken, facts, table.rows, ROWS)


def test_a_seed_gives_the_same_rows_and_another_one_others() -> None:
    table = pool(800)
    one, again, other = (chosen(table, TEN[:2], 200, seed=seed)[0] for seed in (3, 3, 4))
    assert one.tolist() == again.tolist()
    assert sorted(one.tolist()) != sorted(other.tolist())


def test_rows_are_in_random_order() -> None:
    taken, _, _ = chosen(pool(), ("E[age] == 45",))
    assert abs(np.corrcoef(np.arange(ROWS), taken)[0, 1]) < 0.2


# --- weights


@pytest.mark.parametrize("goals", [(), ("E[age] <= 70", "P[sex == f] >= 0.1", "CORR[age, hours] < 0.5")])
def test_what_holds_already_leaves_the_whole_pool_effective(goals: tuple[str, ...]) -> None:
    table = pool()
    taken, facts, _ = chosen(table, goals)
    assert facts.effective == pytest.approx(table.rows)
    assert facts.most_taken == 1
    assert_sound(taken, facts, table.rows, ROWS)


def test_the_further_away_the_fewer_rows_are_effective() -> None:
    table = pool()
    effective = [chosen(table, (f"E[age] == {age}",))[1].effective for age in (49, 42, 36, 31)]
    assert effective == sorted(effective, reverse=True)
    assert effective[-1] < 0.7 * table.rows


def test_rows_are_chosen_by_nothing_but_what_is_wanted() -> None:
    """Given what a statistic is about, the chosen rows are a fair draw of the pool."""
    table = pool(40_000)
    taken, _, _ = chosen(table, ("E[age] == 40",), 10_000)
    age, women = table.numbers("age"), np.array(table.column("sex").to_pylist()) == "f"
    for low in range(18, 78, 12):
        inside = (age >= low) & (age < low + 12)
        there = taken[inside[taken]]
        assert women[there].mean() == pytest.approx(women[inside].mean(), abs=5 * 0.5 / np.sqrt(len(there)))


# --- what is scarce or impossible


def test_a_scarce_row_is_taken_a_few_times_at_most() -> None:
    sex = np.array(["m"] * 30 + ["f"] * 770)
    table = Table(pool(800).arrow.set_column(3, "sex", pa.array(sex)))
    taken, facts, held = chosen(table, ("P[sex == m] == 0.4",), 200)  # 80 of at most 90
    assert held == [True]
    assert facts.most_taken == 3
    assert_sound(taken, facts, 800, 200)
    once = CalibrationSettings(max_copies=1)
    taken, facts, held = chosen(table, ("P[sex == m] == 0.4",), 200, settings=once)  # 80 of at most 30
    assert (held, facts.most_taken) == ([False], 1)
    taken, facts, held = chosen(table, ("P[sex == m] == 0.6",), 200)  # 120
    assert held == [False]
    assert facts.off > 0
    assert_sound(taken, facts, 800, 200)


@pytest.mark.parametrize(
    "goals",
    [
        ("E[age] == 95",),
        ("E[age] >= 80",),
        ("E[age] == 30", "E[age] == 60"),
        ("P[sex == f] == 1 WITHIN 0", "P[sex == m] == 1 WITHIN 0"),
        ("CORR[age, hours] == 1 WITHIN 0",),
        ("COUNT[sex == f] == 2000",),
    ],
)
def test_what_cannot_be_met_gives_rows_and_says_how_far_they_are(goals: tuple[str, ...]) -> None:
    table = pool(400)
    quick = CalibrationSettings(corrections=2, exchange_rounds=10)
    taken, facts, held = chosen(table, goals, 100, settings=quick)
    assert False in held
    assert facts.off > 0
    assert_sound(taken, facts, 400, 100)


def by_sex(men: int, men_with_b: int, women_with_b: int, rows: int = 400) -> Table:
    """A pool in which so many men and women are of kind b, all others of kind a."""
    women = rows - men
    sex = ["m"] * men + ["f"] * women
    kind = ["b"] * men_with_b + ["a"] * (men - men_with_b) + ["b"] * women_with_b + ["a"] * (women - women_with_b)
    arrow = pool(rows).arrow.set_column(2, "kind", pa.array(kind)).set_column(3, "sex", pa.array(sex))
    return Table(arrow.combine_chunks())


@pytest.mark.parametrize(
    ("men", "men_with_b", "women_with_b", "gap"), [(8, 1, 118, 0.4), (30, 3, 111, 0.4), (30, 25, 111, 0.1)]
)
def test_a_statistic_of_a_small_group_leaves_its_size(men: int, men_with_b: int, women_with_b: int, gap: float) -> None:
    table = by_sex(men, men_with_b, women_with_b)
    goal = f"P[kind == b | sex == m] - P[kind == b | sex == f] == {gap} WITHIN 0.05"
    taken, facts, held = chosen(table, (goal,), 200)
    assert held == [True]
    assert facts.effective > 250
    assert np.mean(taken < men) == pytest.approx(men / 400, abs=0.03)


@pytest.mark.parametrize("others", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("men", [1, 2, 3])
def test_a_group_with_one_outcome_only_leaves_the_rest_of_the_pool_in_use(men: int, others: float) -> None:
    table = by_sex(men, men, round(others * (400 - men)))
    goal = "P[kind == b | sex == m] - P[kind == b | sex == f] == -0.6 WITHIN 0.02"  # 0 at best
    taken, facts, held = chosen(table, (goal,), 100)
    assert held == [False]
    assert_sound(taken, facts, 400, 100)
    assert facts.effective > 20  # and not all weight on the men


def test_what_the_pool_does_not_know_leaves_the_other_statistics_met() -> None:
    table = pool()
    arrow = table.arrow.filter(pa.compute.not_equal(pa.compute.fill_null(table.column("kind"), "none"), "c"))
    _, facts, held = chosen(Table(arrow), ("E[age | kind == c] == 40", "E[hours] == 42", "E[age] == 45"))
    assert held == [False, True, True]
    assert facts.off == float("inf")


# --- few rows


@pytest.mark.parametrize("goal", ["MI[left, right] == 0.2 WITHIN 0.01", "MI[left, right] <= 0.12"])
def test_information_that_few_rows_only_seem_to_have_is_allowed_for(goal: str) -> None:
    """Two columns of eight values each seem to share 49 / 2n nats: 0.12 of 200 rows, 0.03 of the pool."""
    _, facts, held = chosen(pool(800), (goal,), 200)
    assert held == [True]
    assert facts.off == 0.0


def test_a_part_of_a_table_counts_as_its_share_of_all_rows() -> None:
    table = pool()
    taken, facts, _ = chosen(table, ("COUNT[sex == f] == 300 WITHIN 2",), ROWS, total=2 * ROWS)
    women = np.array(table.column("sex").to_pylist())[taken] == "f"
    assert facts.off == 0.0
    assert abs(2 * women.sum() - 300) <= 2


def test_one_row_can_be_chosen() -> None:
    table = pool(4)
    taken, facts, _ = chosen(table, ("E[age] <= 80",), 1)
    assert_sound(taken, facts, 4, 1)


def test_choices_are_joined_by_their_worst() -> None:
    one, other = Calibration(10, 40, 30.0, 1, 0.0), Calibration(20, 80, 50.0, 3, 0.5)
    assert one.joined(other) == Calibration(30, 120, 80.0, 3, 0.5)

"""Coarse classes: a statistic of many classes is met, by a function of the row alone that is nearly the best."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cuts.data.codec import build_codec
from cuts.data.schema import Category, Integer, Schema
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import Statistic, TableGoal
from cuts.lang.targets import Target, nearest_targets, targets_of, violation
from cuts.lang.walks import statistics_of
from cuts.logic.splits import MAX_CLASSES, MAX_COARSE_CLASSES, Classes, find_coarse_splits, find_splits
from cuts.model.cells import Statistics
from cuts.model.coarse import _cut, additive, group_bins, is_exact
from cuts.model.mixture import Mixture, marginal
from cuts.model.tilt import COARSE_SETTINGS, TILT_SETTINGS, Tilted, tilt

BINS = 20
NUMBERS = tuple("abcd")
SCHEMA = Schema(
    "t",
    (
        *(Integer(name, 0, BINS - 1, tuple(map(float, range(1, BINS)))) for name in NUMBERS),
        Category("sex", ("f", "m")),
        Category("y", ("no", "yes")),
    ),
)
CODEC = build_codec(SCHEMA, {})
STATS = Statistics(CODEC, 1000)


def wide_mixture(seed: int, components: int = 12, zeros: float = 0.0) -> Mixture:
    """A mixture in which `a` and `b` move together, and `y` with both."""
    rng = np.random.default_rng(seed)
    place = rng.random((components, 1))
    bins = np.arange(BINS)[None, :] / BINS
    P = []
    for bias in (1.0, 1.0, 0.3, 0.0):
        centre = bias * place + (1 - bias) * rng.random((components, 1))
        table = np.exp(-(((bins - centre) / 0.25) ** 2)) * (rng.random((components, BINS)) >= zeros)
        P.append(table)
    P.append(rng.random((components, 2)) + 0.2)
    P.append(np.hstack([1 - 0.8 * place, 0.1 + 0.8 * place]))
    w = rng.random(components) + 0.2
    tables = tuple(torch.as_tensor(table / table.sum(1, keepdims=True)) for table in P)
    return Mixture((*NUMBERS, "sex", "y"), torch.as_tensor(w / w.sum()), tables)


def targets(commands: str, mix: Mixture) -> list[list[Target]]:
    spec = bind(parse(f"SYNTHESIZE: t; {commands} END;"), SCHEMA)
    goals = [command.goal for command in spec.commands if isinstance(command, TableGoal)]
    return [
        list(nearest_targets(targets_of(goal, SCHEMA), lambda one: violation(one, STATS.known(one.value, mix))))
        for goal in goals
    ]


def asked(commands: str, mix: Mixture) -> list[list[Statistic]]:
    return [[stat for one in some for stat in statistics_of(one.value)] for some in targets(commands, mix)]


def coarse_classes(commands: str, mix: Mixture) -> Classes:
    counts, possible = find_coarse_splits(asked(commands, mix), STATS.layout, {})
    assert all(possible)
    return group_bins(counts, [one for some in targets(commands, mix) for one in some], mix, STATS, None)


def tilted(commands: str, mix: Mixture) -> Tilted:
    wanted = [one for some in targets(commands, mix) for one in some]
    return tilt(mix, wanted, STATS, coarse_classes(commands, mix), settings=COARSE_SETTINGS)


# --- tilting


@pytest.mark.parametrize(
    "text",
    [
        "CORR[a, b] == 0.1",
        "CORR[a, b] == -0.6",
        "CORR[a, b] == 0.9",
        "COV[a, b] == 2",
        "CORR[a, b | sex == m] == 0",
        "CORR[a, b | sex == m] - CORR[a, b | sex == f] == 0.4",
        "E[a * b] == 60",
        "MI[a, b] == 0.1",
        "CORR[a, b] >= 0.8",
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_number_of_many_classes_is_met(text: str, seed: int) -> None:
    mix = wide_mixture(seed)
    _, possible = find_splits(asked(f"ENFORCE: {text};", mix), STATS.layout)
    assert possible == [False]
    found = tilted(f"ENFORCE: {text};", mix)
    assert all(abs(off) <= TILT_SETTINGS.accuracy for off in found.off)
    for table in (found.mixture.w[None], *found.mixture.P):
        assert bool((table >= 0).all())
        torch.testing.assert_close(table.sum(1), torch.ones_like(table[:, 0]), atol=1e-9, rtol=0)


@pytest.mark.parametrize("text", ["CORR[a, b] == 0", "CORR[a, b | sex == m] == 0.1", "MI[a, b] == 0.2"])
def test_the_label_of_a_given_row_stays_as_it_was(text: str) -> None:
    mix = wide_mixture(3)
    moved = tilted(f"ENFORCE: {text};", mix).mixture
    before, after = (marginal(each, ("a", "b", "sex", "y")) for each in (mix, moved))
    assert float((before - after).abs().max()) > 1e-5
    given_row = [each / each.sum(-1, keepdim=True) for each in (before, after)]
    torch.testing.assert_close(given_row[1], given_row[0], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("text", ["CORR[a, b] == 0.2", "MI[a, b] == 0.5"])
def test_cells_without_probability_get_none(text: str) -> None:
    mix = wide_mixture(5, components=4, zeros=0.5)
    found = tilted(f"ENFORCE: {text};", mix)
    assert all(abs(off) <= TILT_SETTINGS.accuracy for off in found.off)
    before, after = (marginal(each, ("a", "b")) for each in (mix, found.mixture))
    assert int((before == 0).sum()) > 10
    assert bool((after[before == 0] == 0).all())


def test_more_classes_lead_to_a_nearer_distribution() -> None:
    mix = wide_mixture(2)
    p = marginal(mix, ("a", "b"))
    ((target,),) = targets("ENFORCE: CORR[a, b] == -0.3;", mix)
    nats = []
    for count in (2, 4, 8, BINS):
        classes = group_bins({"b": count}, [target], mix, STATS, None)
        found = tilt(mix, [target], STATS, classes, settings=COARSE_SETTINGS)
        q = marginal(found.mixture, ("a", "b"))
        nats.append(float((q * (q / p).log()).sum()))
        assert found.nats == pytest.approx(nats[-1], rel=1e-6)  # the tilt is about these columns alone
    assert all(later < earlier * 1.001 for earlier, later in pairwise(nats))
    assert nats[2] < 1.1 * nats[3]  # the last one is exact


def test_a_step_too_far_is_halved() -> None:
    """A column that is zero in most rows and has a long tail: full steps of Newton's method lead away."""
    rng = np.random.default_rng(0)
    mix = wide_mixture(0, components=30)
    tail = np.exp(-np.arange(BINS) * rng.uniform(1.0, 3.0, (30, 1)))
    tail[:, -1] = rng.uniform(0.001, 0.003, 30)
    P = (torch.as_tensor(tail / tail.sum(1, keepdims=True)), *mix.P[1:])
    heavy = Mixture(mix.columns, mix.w, P)
    held = "".join(
        f"ENFORCE: {stat} == {STATS.known(asked(f'ENFORCE: {stat} == 1;', heavy)[0][0], heavy)};"
        for stat in ("E[a]", "STD[a]", "E[b]", "STD[b]")
    )
    found = tilted(f"ENFORCE: CORR[a, b] == 0.3; {held}", heavy)
    assert all(abs(off) <= TILT_SETTINGS.accuracy for off in found.off)


# --- the approximation by sums


def test_a_sum_of_functions_of_one_column_is_its_own_approximation() -> None:
    rng = np.random.default_rng(0)
    mix = wide_mixture(1)
    member = np.repeat(np.arange(4), BINS // 4)
    of_a, of_b = rng.normal(size=BINS), rng.normal(size=(4, BINS))
    by_bin = torch.as_tensor(of_a[:, None] + of_b[member])
    bins = torch.tensor([2, 7, 11, 19])  # one in each class
    sums = additive(by_bin, ("a", "b"), "b", mix, {"a": member}, {"a": bins})
    for part in range(4):
        for bin_of_a in np.flatnonzero(member == part):
            total = sums["a"].expand(4, BINS)[part, bin_of_a] + sums["b"][part]
            torch.testing.assert_close(total, by_bin[bin_of_a], rtol=0, atol=0.05)


def test_what_the_classes_distinguish_needs_no_approximation() -> None:
    mix = wide_mixture(1)
    ((stat,),) = asked("ENFORCE: CORR[a, b] == 0;", mix)
    layout = STATS.layout(stat)
    (name,) = {"a", "b"} - {layout.columns[layout.free_axis(None)]}
    assert is_exact(layout, {name: np.arange(BINS)}, None)
    assert not is_exact(layout, {name: np.arange(BINS) // 2}, None)
    assert not is_exact(layout, {}, None)


# --- classes


@pytest.mark.parametrize("count", [2, 5])
def test_the_classes_of_a_covariance_are_ranges_of_the_column(count: int) -> None:
    mix = wide_mixture(4)
    wanted = [one for some in targets("ENFORCE: COV[a, b] == 1;", mix) for one in some]
    (member,) = group_bins({"b": count}, wanted, mix, STATS, None).values()
    assert member.max() + 1 == count
    assert int((np.diff(member) != 0).sum()) == count - 1


def test_a_column_with_few_classes_keeps_them() -> None:
    mix = wide_mixture(4)
    classes = coarse_classes("ENFORCE: CORR[a, b | sex == m] == 0;", mix)
    assert set(classes["sex"].tolist()) == {0, 1}
    assert sorted(int(member.max()) + 1 for member in classes.values()) == [2, MAX_COARSE_CLASSES]


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 4)), min_size=4, max_size=8), st.integers(2, 3))
def test_cuts_leave_the_smallest_variance_within_classes(pairs: list[tuple[int, int]], count: int) -> None:
    score, mass = (np.array(each, dtype=float) for each in zip(*sorted(pairs), strict=True))

    def variance(member: np.ndarray) -> float:  # type: ignore[type-arg]
        total = 0.0
        for number in range(count):
            s, m = score[member == number], mass[member == number]
            if m.sum() > 0:
                total += float((m * (s - (m * s).sum() / m.sum()) ** 2).sum())
        return total

    places = np.arange(len(score))
    best = min(
        variance(np.searchsorted(ends, places, side="right")) for ends in combinations(range(1, len(score)), count - 1)
    )
    assert variance(_cut(score, mass, count)) == pytest.approx(best, abs=1e-9)


def test_an_undefined_number_groups_nothing() -> None:
    mix = wide_mixture(0)
    P = list(mix.P)
    P[4] = torch.tensor([[1.0, 0.0]], dtype=torch.float64).expand(len(mix.w), 2)
    nobody = Mixture(mix.columns, mix.w, tuple(P))
    classes = coarse_classes("ENFORCE: CORR[a, b | sex == m] == 0;", nobody)
    assert all(member.max() == 0 for member in classes.values())
    assert not np.isfinite(tilted("ENFORCE: CORR[a, b | sex == m] == 0;", nobody).off[0])


# --- how many classes


def test_more_commands_share_the_classes_there_are() -> None:
    mix = wide_mixture(0)
    one, two = "ENFORCE: CORR[a, b] == 0;", "ENFORCE: CORR[a, b] == 0; ENFORCE: CORR[c, d] == 0;"
    alone, _ = find_coarse_splits(asked(one, mix), STATS.layout, {})
    both, possible = find_coarse_splits(asked(two, mix), STATS.layout, {})
    assert possible == [True, True]
    assert list(alone.values()) == [MAX_COARSE_CLASSES]
    assert len(both) == 2
    assert max(both.values()) < MAX_COARSE_CLASSES
    assert np.prod(list(both.values())) <= MAX_CLASSES


def test_classes_taken_by_others_are_not_there_any_more() -> None:
    mix = wide_mixture(0)
    full = {"c": np.arange(BINS) % MAX_CLASSES}
    counts, possible = find_coarse_splits(asked("ENFORCE: CORR[a, b] == 0;", mix), STATS.layout, full)
    assert (counts, possible) == ({}, [False])

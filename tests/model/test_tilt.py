"""Tilting against enumeration: what is wanted is met, by the nearest distribution that has it."""

from __future__ import annotations

from math import isfinite

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from cuts.data.codec import build_codec
from cuts.data.schema import Category, Integer, Schema
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import TableGoal
from cuts.lang.targets import Target, nearest_targets, targets_of, violation
from cuts.lang.walks import statistics_of
from cuts.logic.splits import MAX_CLASSES, find_splits
from cuts.model.cells import Statistics
from cuts.model.mixture import Mixture
from cuts.model.tilt import TILT_SETTINGS, Tilted, TiltSettings, tilt

Array = NDArray[np.float64]
NEAR = TILT_SETTINGS.accuracy

SCHEMA = Schema(
    "t",
    (
        Integer("n", 0, 4, (1.0, 2.0, 3.0, 4.0)),
        Integer("m", 0, 3, (1.0, 2.0, 3.0), missing=True),
        Category("c", ("u", "v", "w")),
    ),
)
CODEC = build_codec(SCHEMA, {})
SIZES = {bins.column.name: bins.size for bins in CODEC.columns}
ROWS = 1000
n, m, c = (axis.astype(float) for axis in np.meshgrid(np.arange(5), np.arange(5), np.arange(3), indexing="ij"))
present = m < 4  # the last bin of `m` is for missing values


def random_mixture(seed: int, components: int = 5, zeros: float = 0.0) -> Mixture:
    rng = np.random.default_rng(seed)

    def simplex(*shape: int) -> torch.Tensor:
        raw = rng.gamma(1.0, 1.0, shape) * (rng.random(shape) >= zeros)
        raw[..., 0] += raw.sum(-1) == 0
        return torch.as_tensor(raw / raw.sum(-1, keepdims=True))

    return Mixture(tuple(SIZES), simplex(1, components)[0], tuple(simplex(components, size) for size in SIZES.values()))


def joint(mix: Mixture) -> Array:
    """The probability of all cells, in plain numpy."""
    found: Array = np.einsum("k,kn,km,kc->nmc", mix.w.numpy(), *(p.numpy() for p in mix.P))
    return found


def wants_of(commands: str, mix: Mixture, stats: Statistics) -> list[Target]:
    """What goals want of a mixture, one number after the other."""
    spec = bind(parse(f"SYNTHESIZE: t; {commands} END;"), SCHEMA)
    goals = [command.goal for command in spec.commands if isinstance(command, TableGoal)]
    return [
        want
        for goal in goals
        for want in nearest_targets(targets_of(goal, SCHEMA), lambda one: violation(one, stats.known(one.value, mix)))
    ]


def tilted(
    commands: str, mix: Mixture, label: str | None = None, settings: TiltSettings = TILT_SETTINGS
) -> tuple[Tilted, list[Target], Statistics]:
    stats = Statistics(CODEC, ROWS)
    wants = wants_of(commands, mix, stats)
    groups = [list(statistics_of(want.value)) for want in wants]
    classes, possible = find_splits(groups, stats.layout, label)
    assert all(possible)
    return tilt(mix, wants, stats, classes, label, settings=settings), wants, stats


def assert_sound(mix: Mixture) -> None:
    for table in (mix.w[None], *mix.P):
        assert bool(torch.isfinite(table).all())
        assert bool((table >= 0).all())
        torch.testing.assert_close(table.sum(1), torch.ones_like(table[:, 0]), atol=1e-9, rtol=0)


def projection(p: Array, measures: list[Array], targets: list[float]) -> Array:
    """The distribution nearest to `p` with these means: `p exp(sum_j d_j f_j) / Z`, by Newton's method on `log Z`."""
    F = np.stack([f.ravel() for f in measures])
    d = np.zeros(len(F))
    base = p.ravel()
    for _ in range(200):
        q = base * np.exp(d @ F - (d @ F).max())
        q /= q.sum()
        slope = F @ q - targets
        curve = (F * q) @ F.T - np.outer(F @ q, F @ q)
        step = np.linalg.solve(curve, slope)
        d -= step / max(1.0, np.abs(step).max())
    assert np.abs(slope).max() < 1e-9
    return q.reshape(p.shape)


def divergence(q: Array, p: Array) -> float:
    kept = q > 0
    return float((q[kept] * np.log(q[kept] / p[kept])).sum())


# --- linear numbers: the nearest distribution exactly

LINEAR: dict[str, tuple[str, list[Array], list[float]]] = {
    "mean": ("E[n] == 1.2", [n], [1.2]),
    "mean far away": ("E[n] == 3.7", [n], [3.7]),
    "share": ("P[c == u] == 0.6", [(c == 0) * 1.0], [0.6]),
    "share of a sum": ("P[n + m > 4] == 0.5", [((n + m > 4) & present) * 1.0], [0.5]),
    "count": ("COUNT[n > 2] == 700", [(n > 2) * 1.0], [0.7]),
    "product of two columns": ("E[n * n] == 9", [n * n], [9.0]),
    "number of two columns": ("E[max(n, 2) * (n + 1)] == 12", [np.maximum(n, 2) * (n + 1)], [12.0]),
    "joint share": ("P[c == u AND n > 2] == 0.3", [((c == 0) & (n > 2)) * 1.0], [0.3]),
    "of three columns": (
        "P[c == u IMPLIES n > 1 AND m < 2] == 0.8",
        [((c != 0) | ((n > 1) & (m < 2))) * 1.0],
        [0.8],
    ),
    "distribution": ("DIST[c] == {u: 20%, v: 70%, w: 10%}", [(c == 0) * 1.0, (c == 1) * 1.0], [0.2, 0.7]),
    "several": (
        "E[n] == 2.5 WITHIN 0.000001; ENFORCE: P[c == w AND n < 3] == 0.1",
        [n, ((c == 2) & (n < 3)) * 1.0],
        [2.5, 0.1],
    ),
}


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_linear_number_is_met_by_the_nearest_distribution(name: str, seed: int) -> None:
    text, measures, targets = LINEAR[name]
    mix = random_mixture(seed)
    found, wants, _ = tilted(f"ENFORCE: {text} WITHIN 0.000001;", mix)
    assert len(found.off) == len(wants)
    assert all(abs(off) <= NEAR for off in found.off)
    assert_sound(found.mixture)
    np.testing.assert_allclose(joint(found.mixture), projection(joint(mix), measures, targets), rtol=1e-4, atol=1e-9)


# --- other numbers: met, changing nothing but what they measure

IS_U = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])  # (classes, values of `c`)
OTHERS: dict[str, tuple[str, str]] = {  # and the columns a number is about
    "missing values": ("E[m] == 2", "m"),
    "condition": ("E[n | c == u] == 3", "nu"),
    "two conditions": ("E[n | c == u] - E[n | c == v] == 0", "nc"),
    "variance": ("VAR[n] == 1", "n"),
    "deviation": ("STD[n | c == w] <= 0.8", "nc"),
    "covariance": ("COV[n, m] == 0.7", "nm"),
    "correlation": ("CORR[n, m] == -0.5", "nm"),
    "entropy": ("H[n] == 1.2", "n"),
    "information": ("MI[n, c] == 0.2", "nc"),
    "median": ("MEDIAN[n] == 3", "n"),
    "quantile": ("Q(0.8)[m] == 1", "m"),
    "arithmetic": ("max(E[n], E[m]) * 2 == 5", "nm"),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_number_is_met_and_what_it_does_not_measure_is_kept(name: str, seed: int) -> None:
    text, columns = OTHERS[name]
    mix = random_mixture(seed)
    found, wants, stats = tilted(f"ENFORCE: {text};", mix)
    assert all(abs(off) <= NEAR for off in found.off)
    assert all(violation(want, stats.known(want.value, found.mixture)) == 0.0 for want in wants)
    assert_sound(found.mixture)
    p, q = joint(mix), joint(found.mixture)
    assert np.abs(p - q).max() > 1e-3
    before, after = (np.einsum(f"nmc,uc->{columns}", each, IS_U) for each in (p, q))
    expected = np.einsum(f"nmc,{columns},uc->nmc", p, after / before, IS_U)  # all else as it was, given these
    np.testing.assert_allclose(q, expected, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_a_conditional_mean_a_little_away_is_met_by_nearly_the_nearest_distribution(seed: int) -> None:
    mix = random_mixture(seed)
    p = joint(mix)
    start = (p * n)[:, :, 0].sum() / p[:, :, 0].sum()
    found, _, _ = tilted(f"ENFORCE: E[n | c == u] == {start + 0.2} WITHIN 0.000001;", mix)
    nearest = projection(p, [(n - start - 0.2) * (c == 0)], [0.0])
    assert divergence(joint(found.mixture), p) == pytest.approx(divergence(nearest, p), rel=0.03)
    np.testing.assert_allclose(joint(found.mixture), nearest, atol=2e-3)


def test_a_conditional_mean_far_away_is_met_by_the_nearest_distribution() -> None:
    mix = random_mixture(2)
    found, _, _ = tilted("ENFORCE: E[n | c == u] == 1 WITHIN 0.000001;", mix)
    p, q = joint(mix), joint(found.mixture)
    nearest = projection(p, [(n - 1.0) * (c == 0)], [0.0])
    assert divergence(q, p) == pytest.approx(divergence(nearest, p), rel=0.05)


@pytest.mark.parametrize("seed", range(2))
def test_ten_numbers_are_met_together(seed: int) -> None:
    commands = """
        ENFORCE: E[n] == 2.2; ENFORCE: VAR[n] >= 1.5; ENFORCE: P[c == u] == 0.4; ENFORCE: E[m] <= 1.4;
        ENFORCE: E[n | c == u] == E[n | c == v]; ENFORCE: CORR[n, m] == 0.2; ENFORCE: H[m] >= 1.25;
        ENFORCE: MEDIAN[n] == 2; ENFORCE: COUNT[n == 4] == 200; ENFORCE: P[m IS NULL] == 0.15;"""
    found, wants, stats = tilted(commands, random_mixture(seed, components=6))
    assert all(abs(off) <= NEAR for off in found.off)
    assert all(violation(want, stats.known(want.value, found.mixture)) == 0.0 for want in wants)
    assert_sound(found.mixture)


@pytest.mark.parametrize("text", ["P[c == v] == 0.7", "E[n | c == u] - E[n | c == v] == 0.5", "CORR[n, c] == 0.3"])
def test_numbers_of_the_label_are_met_too(text: str) -> None:
    mix = random_mixture(3, components=8)
    found, _, _ = tilted(f"ENFORCE: {text};", mix, label="c")
    assert all(abs(off) <= NEAR for off in found.off)
    assert_sound(found.mixture)


# --- what stays


@pytest.mark.parametrize("text", ["E[n] == 2.9", "E[n | c != u] == 1", "CORR[n, m] == 0.4", "H[n] <= 0.9"])
def test_cells_without_probability_get_none(text: str) -> None:
    mix = random_mixture(5, components=3, zeros=0.45)
    p = joint(mix)
    assert (p == 0).sum() > 10
    found, _, _ = tilted(f"ENFORCE: {text};", mix)
    assert all(abs(off) <= NEAR for off in found.off)
    assert (joint(found.mixture)[p == 0] == 0).all()


def test_what_holds_already_is_left_alone() -> None:
    mix = random_mixture(1)
    p = joint(mix)
    mean, share = (p * n).sum(), p[:, :, 0].sum()
    held = [
        f"E[n] <= {mean + 0.5}",
        f"E[n] >= {mean - 0.5}",
        f"P[c == u] == {share}",
        "CORR[n, m] < 0.9",
        f"E[n] != {mean + 1}",
        f"E[n] == 1 OR E[n] == {mean}",
    ]
    found, _, _ = tilted(" ".join(f"ENFORCE: {each};" for each in held), mix)
    assert all(abs(off) <= NEAR for off in found.off)
    np.testing.assert_allclose(joint(found.mixture), p, rtol=1e-9, atol=1e-15)


def test_an_inequality_that_holds_does_not_pull_at_another_number() -> None:
    mix = random_mixture(1)
    alone, _, _ = tilted("ENFORCE: E[n] == 2.6 WITHIN 0.001;", mix)
    beside, _, _ = tilted("ENFORCE: E[n] == 2.6 WITHIN 0.001; ENFORCE: P[c == u] <= 0.99;", mix)
    np.testing.assert_allclose(joint(beside.mixture), joint(alone.mixture), rtol=1e-9)


# --- what cannot be met


@pytest.mark.parametrize(
    "commands",
    [
        "ENFORCE: E[n] == 9;",
        "ENFORCE: E[n] >= 4;",
        "ENFORCE: CORR[n, m] >= 1;",
        "ENFORCE: P[c == u] == 1 WITHIN 0; ENFORCE: P[c == v] == 1 WITHIN 0;",
        "ENFORCE: E[n] == 1; ENFORCE: E[n] == 3;",
        "ENFORCE: E[n] <= 1; ENFORCE: P[n > 2] >= 0.8; ENFORCE: E[n | c == u] == 4;",
        "ENFORCE: H[n] == 0; ENFORCE: VAR[n] == 4;",
    ],
)
@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_what_cannot_be_met_ends_as_a_sound_mixture(commands: str, zeros: float) -> None:
    quick = TiltSettings(max_steps=10)
    found, wants, stats = tilted(commands, random_mixture(4, zeros=zeros), settings=quick)
    assert_sound(found.mixture)
    assert np.isfinite(joint(found.mixture)).all()
    assert max(abs(off) for off in found.off) > NEAR
    assert all(isfinite(stats.known(want.value, found.mixture)) for want in wants)


@pytest.mark.parametrize(
    ("commands", "seed"),
    [
        (
            "ENFORCE: VAR[n | c == u] == 0.0001 WITHIN 0.00001; "
            "ENFORCE: P[n == 0 | c == u] - P[n == 0 | c != u] == -0.95 WITHIN 0.001;",
            6,
        ),
        ("ENFORCE: E[n | c == u] - E[n | c != u] == 3.9 WITHIN 0.01; ENFORCE: CORR[n, m] == 0.9 WITHIN 0.001;", 2),
    ],
)
def test_a_number_at_the_end_of_its_range_has_no_slope_and_stops_no_search(commands: str, seed: int) -> None:
    found, _, _ = tilted(commands, random_mixture(seed, zeros=0.3))
    assert_sound(found.mixture)


def test_a_number_out_of_reach_is_brought_as_near_as_possible() -> None:
    mix = random_mixture(0)
    found, _, _ = tilted("ENFORCE: E[n] == 9;", mix)
    assert (joint(found.mixture) * n).sum() > 3.9


def test_an_undefined_number_does_not_keep_the_others_from_being_met() -> None:
    mix = random_mixture(0)
    P = list(mix.P)
    P[2] = P[2] * torch.tensor([0.0, 1.0, 1.0])
    P[2] = P[2] / P[2].sum(1, keepdim=True)
    never_u = Mixture(mix.columns, mix.w, tuple(P))
    found, _, _ = tilted("ENFORCE: E[n | c == u] == 2; ENFORCE: E[m] == 1.1;", never_u)
    assert not isfinite(found.off[0])
    assert abs(found.off[1]) <= NEAR
    assert_sound(found.mixture)


# --- splits


def test_what_needs_too_many_classes_has_no_closed_form_and_costs_others_none() -> None:
    schema = Schema("t", tuple(Integer(name, 0, 19, tuple(map(float, range(1, 20)))) for name in "abc"))
    codec = build_codec(schema, {})
    stats = Statistics(codec, ROWS)
    spec = bind(
        parse("SYNTHESIZE: t; ENFORCE: E[a] == 3; ENFORCE: MI[a, b] == 0.5; ENFORCE: E[a | b > 9] == 4; END;"), schema
    )
    groups = [list(statistics_of(goal.goal)) for goal in spec.commands if isinstance(goal, TableGoal)]
    cut = build_codec(schema, {"b": [10.0]})
    classes, possible = find_splits(groups, Statistics(cut, ROWS).layout)
    assert possible == [True, False, True]
    assert set(classes) == {"b"}
    assert np.prod([member.max() + 1 for member in classes.values()]) == 2 <= MAX_CLASSES
    assert stats.layout(groups[0][0]).columns == ("a",)

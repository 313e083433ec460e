"""Mixtures fitted to noisy tables: the likelihood and the prior as they are defined, and what a fit recovers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import ArrayLike, NDArray

from cuts.config import Config
from cuts.count.marginals import Clique
from cuts.data.codec import build_codec
from cuts.data.schema import Category, Schema
from cuts.model.fit import Fitted
from cuts.model.mixture import Mixture, marginal
from cuts.model.noisy import (
    NoisyLearner,
    NoisyObjective,
    TargetTables,
    _Misfit,
    descend,
    fit_noisy,
    knows_label,
    own_shares,
)
from cuts.privacy.ledger import ReleaseLedger, Terms
from cuts.privacy.query import Owners, Query, fine
from cuts.privacy.transcript import Measurement, Transcript, count_estimate, groups_of
from cuts.progress import FitStep

SIZES = {"a": 4, "b": 3, "c": 2}
ROWS = 10_000
SMALL = Config(components=30, steps=200, threads=1)


def joint(seed: int = 0) -> NDArray[np.int64]:
    """How many rows are in each cell of three columns that depend on each other."""
    rng = np.random.default_rng(seed)
    parts = [
        reduce(np.multiply.outer, [rng.dirichlet(np.full(size, 0.7)) for size in SIZES.values()]) for _ in range(3)
    ]
    return rng.multinomial(ROWS, np.mean(parts, axis=0).ravel()).reshape(tuple(SIZES.values()))


def table(counts: NDArray[np.int64], clique: Clique) -> NDArray[np.int64]:
    """The histogram of some columns, in their order."""
    found: NDArray[np.int64] = np.einsum(counts, [0, 1, 2], ["abc".index(name) for name in clique])
    return found


def measured(
    clique: Clique, values: ArrayLike, sigma: float = 1e-3, owners: Sequence[Owners] | None = None
) -> Measurement:
    query = fine(clique, SIZES) if owners is None else Query(clique, tuple(owners))
    return Measurement(query, sigma, np.asarray(values, dtype=np.int64).reshape(query.shape))


def transcript(measurements: Sequence[Measurement], sizes: Mapping[str, int] = SIZES) -> Transcript:
    columns = tuple(Category(name, tuple(map(str, range(size)))) for name, size in sizes.items())
    return Transcript(
        build_codec(Schema("t", columns), {}), ReleaseLedger(Terms(99.0, 1e-9), Fraction(1)), tuple(measurements)
    )


def singles(counts: NDArray[np.int64], sigma: float = 1e-3) -> list[Measurement]:
    return [measured((name,), table(counts, (name,)), sigma) for name in SIZES]


def own_groups(sizes: Mapping[str, int] = SIZES) -> dict[str, Owners]:
    return {name: tuple(range(size)) for name, size in sizes.items()}


def random_mixture(rng: np.random.Generator, components: int = 5, dtype: torch.dtype = torch.float64) -> Mixture:
    def simplex(rows: int, size: int) -> torch.Tensor:
        return torch.as_tensor(rng.dirichlet(np.ones(size), rows), dtype=dtype)

    return Mixture(tuple(SIZES), simplex(1, components)[0], tuple(simplex(components, size) for size in SIZES.values()))


def distance(fitted: Fitted, counts: NDArray[np.int64], clique: Clique) -> float:
    """Total variation between a table of the model and that of the rows."""
    truth = table(counts, clique) / counts.sum()
    return float(0.5 * np.abs(marginal(fitted.mixture, clique).numpy() - truth).sum())


def assert_sound(mixture: Mixture, sizes: Mapping[str, int] = SIZES) -> None:
    assert mixture.columns == tuple(sizes)
    assert [p.shape[1] for p in mixture.P] == list(sizes.values())
    for found in (mixture.w[None], *mixture.P):
        assert found.dtype == torch.float64
        assert (found >= 0).all()
        torch.testing.assert_close(found.sum(1), torch.ones_like(found[:, 0]), atol=1e-9, rtol=0)


# --- the loss


CLIQUES: list[Clique] = [("a",), ("c",), ("a", "b"), ("c", "a"), ("a", "b", "c"), ("b", "c", "a")]

# The columns that tables have in common, and the last column of each.
TABLES: list[tuple[Clique, Clique]] = [
    ((), ("a",)),
    ((), ("c", "b")),
    (("a",), ("b",)),
    (("c",), ("b", "a")),
    (("a", "b"), ("c",)),
    (("c", "b"), ("a", "a")),
]


def target(first: Clique, last: Clique, rng: np.random.Generator) -> TargetTables:
    """Measured shares, some of them negative, and precisions."""
    shape = (int(np.prod([SIZES[name] for name in first], dtype=np.int64)), sum(SIZES[name] for name in last))
    return TargetTables(
        first, last, torch.as_tensor(rng.normal(0, 0.3, shape)), torch.as_tensor(0.1 + rng.random(shape))
    )


def plain_misfit(targets: Sequence[TargetTables], mix: Mixture) -> torch.Tensor:
    """The definition, by the mixture's own algebra."""
    total = torch.zeros(())
    for each in targets:
        tables = [marginal(mix, (*each.first, name)).reshape(len(each.shares), -1) for name in each.last]
        total = total + (each.precision * (torch.cat(tables, 1) - each.shares) ** 2).sum() / 2
    return total


@settings(max_examples=40)
@given(st.lists(st.sampled_from(TABLES), min_size=1, max_size=5), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_misfit_and_its_gradient_are_those_of_the_definition(
    tables: list[tuple[Clique, Clique]], components: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    mix = random_mixture(rng, components)
    targets = [target(first, last, rng) for first, last in tables]
    found, plain = (
        [each.clone().requires_grad_() for each in (mix.w, *mix.P)] for _ in range(2)
    )  # a gradient for each of them
    value = _Misfit.apply(targets, mix.columns, *found)
    expected = plain_misfit(targets, Mixture(mix.columns, plain[0], tuple(plain[1:])))
    torch.testing.assert_close(value, expected.to(value.dtype), rtol=1e-12, atol=1e-12)
    (3.0 * value).backward()  # not of one alone: the gradient that comes from above counts
    (3.0 * expected).backward()
    for mine, theirs in zip(found, plain, strict=True):
        torch.testing.assert_close(mine.grad, torch.zeros_like(mine) if theirs.grad is None else theirs.grad)


def test_gradients_agree_with_small_differences() -> None:
    rng = np.random.default_rng(3)
    mix = random_mixture(rng, 3)
    targets = [target(first, last, rng) for first, last in TABLES]
    given_ = tuple(each.requires_grad_() for each in (mix.w, *mix.P))
    assert torch.autograd.gradcheck(lambda *each: _Misfit.apply(targets, mix.columns, *each), given_)


def test_the_loss_is_the_likelihood_of_counts_and_a_prior_by_rows() -> None:
    rng = np.random.default_rng(4)
    counts = joint()
    measurements = [*singles(counts, 30.0), measured(("a", "b"), table(counts, ("a", "b")) - 50, 20.0)]
    mix = random_mixture(rng, dtype=torch.float32)
    rows = count_estimate(measurements)
    likelihood = 0.0
    for each in measurements:
        model = rows * marginal(mix, each.query.clique).double().numpy()
        likelihood += float(((model - each.values) ** 2).sum() / (2 * each.sigma**2))
    own = own_shares(measurements, own_groups())
    apart = {
        name: float(
            (mix.w.double() * (mix[name].double() * (mix[name].double() / torch.as_tensor(p)).log()).sum(1)).sum()
        )
        for name, p in own.items()
    }
    for exempt in (None, "b"):
        objective = NoisyObjective(measurements, own_groups(), prior=0.015, exempt=exempt)
        loss, error = objective.loss(mix)
        prior = 0.015 * rows * sum(part for name, part in apart.items() if name != exempt)
        assert float(loss) == pytest.approx(likelihood + prior, rel=1e-4)
        assert float(error) == pytest.approx(np.sqrt(2 * likelihood / (4 + 3 + 2 + 12)), rel=1e-4)


def test_two_measurements_of_a_table_are_their_mean_by_exactness() -> None:
    counts = joint()
    rng = np.random.default_rng(5)
    more = [rng.integers(-40, 40, (4, 3)) for _ in range(2)]
    pairs = [table(counts, ("a", "b")) + off for off in more]
    apart = [*singles(counts, 10.0), measured(("a", "b"), pairs[0], 6.0), measured(("a", "b"), pairs[1], 3.0)]
    # By inverse variance the second counts four times: five times the mean is whole, so that it can be written down.
    five = [*singles(counts * 5, 50.0), measured(("a", "b"), pairs[0] + 4 * pairs[1], 5 / (1 / 36 + 1 / 9) ** 0.5)]
    first, second = (NoisyObjective(each, own_groups(), prior=0.0) for each in (apart, five))
    here, there = random_mixture(rng, dtype=torch.float32), random_mixture(rng, dtype=torch.float32)
    moved = [float(objective.loss(here)[0] - objective.loss(there)[0]) for objective in (first, second)]
    assert moved[0] == pytest.approx(moved[1], rel=1e-4)


def test_about_one_is_left_where_only_noise_is() -> None:
    rng = np.random.default_rng(6)
    truth = random_mixture(rng, dtype=torch.float32)

    def noisy(clique: Clique) -> Measurement:
        exact = 1e6 * marginal(truth, clique).double().numpy()
        return measured(clique, np.rint(exact + rng.normal(0, 300, exact.shape)), 300.0)

    objective = NoisyObjective([noisy(clique) for clique in CLIQUES], own_groups(), prior=0.0)
    assert 0.7 < float(objective.loss(truth)[1]) < 1.3  # of 66 cells: one, give or take three times 0.09
    assert float(objective.loss(random_mixture(rng, dtype=torch.float32))[1]) > 20


# --- the fit


@pytest.mark.parametrize("label", [None, "c"])
def test_exact_tables_are_recovered(label: str | None) -> None:
    counts = joint()
    told: list[FitStep] = []
    found = fit_noisy(
        transcript([*singles(counts), measured(("a", "b", "c"), counts)]), label, SMALL, seed=0, seen=told.append
    )
    assert_sound(found.mixture)
    for clique in CLIQUES:
        assert distance(found, counts, clique) < 0.02
    assert told[-1].error < 0.5 * told[0].error
    assert (told[-1].step, found.steps) == (200, 200)


def test_what_was_not_measured_stays_independent() -> None:
    counts = joint(7)
    found = fit_noisy(
        transcript([*singles(counts), measured(("a", "b"), table(counts, ("a", "b")))]), None, SMALL, seed=0
    )
    assert distance(found, counts, ("a", "b")) < 0.02
    alone = np.multiply.outer(table(counts, ("b",)), table(counts, ("c",))) / ROWS**2
    assert_allclose(marginal(found.mixture, ("b", "c")).numpy(), alone, atol=0.01)


def test_the_more_exact_of_two_measurements_wins() -> None:
    counts = joint()
    wrong = np.roll(table(counts, ("a", "b")), 1, axis=0)
    right = measured(("a", "b"), table(counts, ("a", "b")), 1.0)
    found = fit_noisy(
        transcript([*singles(counts, 1.0), measured(("a", "b"), wrong, 1000.0), right]), None, SMALL, seed=0
    )
    assert distance(found, counts, ("a", "b")) < 0.03


def test_negative_cells_are_taken_as_they_are() -> None:
    counts = joint()
    pair = table(counts, ("a", "b"))
    pair[0], pair[1] = pair[0] + pair[1] + 300, -300
    found = fit_noisy(
        transcript(
            [*singles(counts, 500.0), measured(("a", "b"), pair, 20.0), measured(("c",), [-30, ROWS + 30], 5.0)]
        ),
        None,
        SMALL,
        seed=0,
    )
    assert_sound(found.mixture)
    assert np.isfinite(found.error)
    assert float(marginal(found.mixture, ("a",))[1]) < 0.05
    assert float(marginal(found.mixture, ("c",))[0]) < 0.02


@pytest.mark.parametrize("level", [-5, 0, 1])
def test_tables_that_hold_nothing_but_noise_make_a_sound_mixture(level: int) -> None:
    empty = [measured((name,), np.full(size, level), 20.0) for name, size in SIZES.items()]
    empty.append(measured(("a", "b"), np.full(12, level), 40.0))
    found = fit_noisy(transcript(empty), None, Config(components=5, steps=20, threads=1), seed=0)
    assert_sound(found.mixture)
    assert np.isfinite(found.error)


@settings(max_examples=30)
@given(st.lists(st.integers(-1000, 1000), min_size=4, max_size=4), st.floats(0.1, 1000.0))
def test_the_own_distribution_of_a_column_has_no_empty_bin_and_sums_to_one(values: list[int], sigma: float) -> None:
    (own,) = own_shares([measured(("a",), values, sigma)], own_groups()).values()
    assert own.sum() == pytest.approx(1.0)
    assert (own > 0).all()
    falling = np.argsort(values, kind="stable")
    assert (np.diff(own[falling]) >= -1e-12).all()


# --- groups


OWNERS = (0, 0, 1, 1, 1, 2)
GROUPED = {"x": 6, "y": 2}
FINE = [90, 10, 5, 0, 15, 880]


def grouped_transcript(one_way: Sequence[int] = FINE) -> Transcript:
    pair = [[80, 20], [10, 10], [300, 580]]
    measurements = [
        Measurement(fine(("x",), GROUPED), 2.0, np.array(one_way)),
        Measurement(fine(("y",), GROUPED), 2.0, np.array([390, 610])),
        Measurement(Query(("x", "y"), (OWNERS, (0, 1))), 2.0, np.array(pair)),
    ]
    return transcript(measurements, GROUPED)


def test_groups_are_those_of_tables_of_several_columns() -> None:
    assert groups_of(grouped_transcript()) == {"x": OWNERS, "y": (0, 1)}
    assert groups_of(transcript(singles(joint()))) == own_groups()


def test_inside_a_group_bins_follow_the_own_table() -> None:
    found = fit_noisy(grouped_transcript(), None, SMALL, seed=0)
    assert_sound(found.mixture, GROUPED)
    assert_allclose(marginal(found.mixture, ("y",)).numpy(), [0.39, 0.61], atol=0.01)
    p = found.mixture["x"].numpy()
    held = np.stack([p[:, np.array(OWNERS) == group].sum(1) for group in range(3)], axis=1)
    own = own_shares(grouped_transcript().measurements[:1], {"x": tuple(range(6))})["x"]
    share = own / np.bincount(OWNERS, own)[list(OWNERS)]
    assert_allclose(p, held[:, list(OWNERS)] * share, atol=1e-12)  # of every component
    whole = marginal(found.mixture, ("x",)).numpy()
    assert whole[0] / whole[1] == pytest.approx(9.0, rel=1e-6)


def test_a_table_over_bins_counts_for_their_groups_with_the_noise_of_all() -> None:
    one_way = Measurement(fine(("x",), GROUPED), 2.0, np.array(FINE))
    other = Measurement(fine(("y",), GROUPED), 2.0, np.array([400, 600]))
    groups = {"x": OWNERS, "y": (0, 1)}
    objective = NoisyObjective([one_way, other], groups, prior=0.0)
    mix = Mixture(("x", "y"), torch.ones(1), (torch.tensor([[0.2, 0.1, 0.7]]), torch.tensor([[0.4, 0.6]])))
    rows = count_estimate([one_way, other])
    off = rows * np.array([0.2, 0.1, 0.7]) - np.array([100, 20, 880])
    expected = (off**2 / (2 * 4.0 * np.array([2, 3, 1]))).sum()
    expected += ((rows * np.array([0.4, 0.6]) - np.array([400, 600])) ** 2 / 8).sum()
    assert float(objective.loss(mix)[0]) == pytest.approx(expected, rel=1e-4)


# --- seeds and backbones


@pytest.mark.parametrize("backbone", ["table", "neural"])
def test_the_same_seed_gives_the_same_mixture_to_the_last_bit(backbone: str) -> None:
    counts = joint()
    config = Config(
        backbone=backbone,
        components=10,
        backbone_options={"batch": 20} if backbone == "neural" else {},
        steps=15,
        threads=1,
    )
    made = transcript([*singles(counts), measured(("a", "b"), table(counts, ("a", "b")), 10.0)])
    first, again, other = (fit_noisy(made, None, config, seed=seed).mixture for seed in (1, 1, 2))
    assert_sound(first)
    assert all(torch.equal(x, y) for x, y in zip((first.w, *first.P), (again.w, *again.P), strict=True))
    assert not all(torch.equal(x, y) for x, y in zip((first.w, *first.P), (other.w, *other.P), strict=True))


@pytest.mark.parametrize("backbone", ["table", "neural"])
def test_a_learner_goes_on_from_its_last_guess(backbone: str) -> None:
    counts = joint()
    learn = NoisyLearner(
        Config(
            backbone=backbone, components=10, backbone_options={"batch": 20} if backbone == "neural" else {}, threads=1
        ),
        seed=0,
    )
    first = learn(singles(counts, 5.0), own_groups(), None)
    alone = np.multiply.outer(table(counts, ("a",)), table(counts, ("b",))) / ROWS**2
    query = fine(("a", "b"), SIZES)
    assert np.abs(first.shares(query) - alone).sum() < 0.1
    truth = table(counts, ("a", "b")) / ROWS
    pair = measured(("a", "b"), table(counts, ("a", "b")), 5.0)
    before, guess = np.abs(first.shares(query) - truth).sum(), first
    for _ in range(3):
        guess = learn([*singles(counts, 5.0), pair], own_groups(), guess)
    assert np.abs(guess.shares(query) - truth).sum() < 0.5 * before
    assert guess.shares(query).sum() == pytest.approx(1.0)


def test_descending_lowers_the_loss() -> None:
    counts = joint()
    learn = NoisyLearner(Config(components=10, threads=1), seed=0)
    backbone = learn(singles(counts, 5.0), own_groups(), None).backbone
    pair = measured(("a", "c"), table(counts, ("a", "c")), 5.0)
    objective = NoisyObjective([*singles(counts, 5.0), pair], own_groups(), prior=0.0)
    before = objective.loss(backbone.mixture())[1].item()
    assert descend(backbone, objective, 40, 0.05, cosine=True) < 0.5 * before


def test_the_label_is_known_once_most_of_its_tables_with_two_columns_were_measured() -> None:
    def table(clique: Clique) -> Measurement:
        return Measurement(fine(clique, dict.fromkeys("abcl", 2)), 1.0, np.zeros((2,) * len(clique), dtype=np.int64))

    tables = [table(clique) for clique in (("a", "b", "l"), ("a", "c", "l"), ("a", "b", "c"), ("a", "l"))]
    assert knows_label(tables, "abcl", "l")
    assert not knows_label(tables[1:], "abcl", "l")
    assert not knows_label([tables[1], tables[1]], "abcl", "l")
    assert not knows_label(tables, "abcl", None)

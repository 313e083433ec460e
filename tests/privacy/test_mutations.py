"""Every injected bug is caught by a check that the real code passes: what a check is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from cuts.count.marginals import Marginals
from cuts.data.codec import Codes
from cuts.data.table import Floats, IntArray
from cuts.privacy import adaptive
from cuts.privacy.adaptive import DEFAULT_SETTINGS, MEAN_ABSOLUTE_NOISE, AdaptiveSettings, release
from cuts.privacy.core import Core
from cuts.privacy.curator import Curator
from cuts.privacy.ledger import Event, ReleaseLedger
from cuts.privacy.query import Owners, Query, grouped
from cuts.privacy.transcript import Measurement, Transcript
from privacy import checks
from privacy.people import (
    PEOPLE,
    Independent,
    Open,
    counts_of,
    draw_people,
    independent,
    open_core,
    open_twin,
    opened,
    workload_of,
)
from privacy.twin import Twin


class HalfTheNoise(Twin):
    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> IntArray:
        return super().gaussian(sigma / 2, shape)


class ContinuousNoise(Twin):
    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> IntArray:
        return np.trunc(self.rng.normal(scale=sigma, size=shape)).astype(np.int64)


class SameNoiseInEveryCell(Twin):
    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> IntArray:
        return np.full(shape, super().gaussian(sigma, (1,))[0])


class NoRootTwo(Twin):
    def moves(self) -> float:
        return 1.0


class RowsOfAPersonForgotten(Twin):
    def charge(self, paid: Event) -> None:
        rows = self.ledger.terms.max_rows_per_person
        cheap = Event(paid.kind, paid.clique, paid.scale, paid.sensitivity / rows, paid.cost / rows**2)
        super().charge(cheap)


class ScoresSaidToMoveLess(Twin):
    def shifts(self) -> float:
        return 0.1 * super().shifts()


class LessNoiseOnScores(Twin):
    def gumbel(self, scale: float, size: int) -> Floats:
        return super().gumbel(0.1 * scale, size)


class ALittleLessNoiseOnScores(Twin):
    def gumbel(self, scale: float, size: int) -> Floats:
        return super().gumbel(0.75 * scale, size)


class SinglesForFree(Twin):
    def charge(self, paid: Event) -> None:
        if len(paid.clique) != 1:
            super().charge(paid)


def with_one_seed(counts: Marginals, ledger: ReleaseLedger) -> Curator:
    return Twin(counts, ledger, seed=0)


def honest(curator: Curator, rows: Codes, settings: AdaptiveSettings = DEFAULT_SETTINGS) -> Transcript:
    return release(curator, PEOPLE, workload_of(PEOPLE), independent, settings=settings)


def annealing_by_true_tables(curator: Curator, rows: Codes, settings: AdaptiveSettings) -> Transcript:
    """As published: the noise follows how far the model is from the true table."""

    counts = cache(lambda: counts_of(rows))

    def annealing(model: Any, before: Any, query: Query, sigma: float, known: float, _: object) -> float:
        true = grouped(counts().table(query.clique), query)
        off = float(np.abs(true.sum() * model.shares(query) - true).sum())
        return min(max(off / (MEAN_ABSOLUTE_NOISE * sigma * query.cells), math.sqrt(0.5)), math.sqrt(2))

    with patch.object(adaptive, "_annealing", annealing):
        return release(curator, PEOPLE, workload_of(PEOPLE), prejudiced, settings=settings)


def prejudiced(measurements: object, groups: Mapping[str, Owners], before: object) -> Independent:
    """A model that was made up beforehand: it adds no noise of its own to what depends on it."""
    columns = {}
    for name, owner in groups.items():
        share = np.ones(max(owner) + 1)
        share[-1] = 0.02
        columns[name] = share / share.sum()
    return Independent(columns)


def counting_true_rows(curator: Curator, rows: Codes, settings: AdaptiveSettings) -> Transcript:
    """`len(X)` in the place of what noisy tables say."""

    def estimate(measurements: Sequence[Measurement]) -> float:
        return float(len(rows["a"]))

    with patch.object(adaptive, "count_estimate", estimate):
        return release(curator, PEOPLE, workload_of(PEOPLE), independent, settings=settings)


def bins_by_the_rows(codes: Codes) -> Marginals:
    """Bins counted from the highest value there is."""
    return counts_of({name: values.max(initial=0) - values for name, values in codes.items()})


# --- each check, of the real thing


def test_the_real_thing_passes_every_check() -> None:
    # The noise, the odds of selection and the audit of the core have tests of their own, for they take long.
    checks.check_noise(checks.noise_of(open_core, 5.78, 20), 5.78)
    checks.check_unseeded(lambda: open_core)
    checks.check_selection_odds(open_core, 500)
    checks.check_selection_pays(open_core, tables=2, seed=0)
    checks.check_counting(counts_of, tables=20, seed=0)
    checks.check_costs(open_core, seed=0)
    checks.check_blind(honest, open_core, draw_people(200, 1), draw_people(77, 2))
    checks.check_all_paid(honest(open_core(counts_of(draw_people(200, 1)), opened()), {}))


def test_the_twin_without_a_bug_passes_every_check() -> None:
    checks.check_noise(checks.noise_of(open_twin(), 5.78, 20), 5.78)
    seeds = iter(range(2))
    checks.check_unseeded(lambda: lambda counts, ledger: Twin(counts, ledger, next(seeds)))
    checks.check_selection_odds(open_twin(), 2_000)
    checks.check_selection_pays(open_twin(), tables=2, seed=0)
    checks.check_costs(open_twin(), seed=0)
    checks.check_blind(honest, open_twin(), draw_people(200, 1), draw_people(77, 2))
    checks.check_all_paid(honest(open_twin()(counts_of(draw_people(200, 1)), opened()), {}))


# --- each bug


@pytest.mark.parametrize("bug", [HalfTheNoise, ContinuousNoise, SameNoiseInEveryCell])
def test_wrong_noise_is_seen_in_draws(bug: type[Twin]) -> None:
    with pytest.raises(AssertionError):
        checks.check_noise(checks.noise_of(open_twin(bug), 5.78, 20), 5.78)


@pytest.mark.parametrize(("runs", "epsilon"), [(300, 2.0), (150, 3.0)])  # as the twin and the core are audited
def test_half_the_noise_is_seen_by_the_audit(runs: int, epsilon: float) -> None:
    found = checks.audit(honest, open_twin(HalfTheNoise), runs, opened(epsilon, 0.01))
    print(f"half the noise, {runs} releases a side: {found}")
    with pytest.raises(AssertionError, match="more is learnt than promised"):
        checks.check_audit(found)


def test_seeded_noise_is_seen() -> None:
    with pytest.raises(AssertionError, match="came again"):
        checks.check_unseeded(lambda: with_one_seed)


@pytest.mark.parametrize("bug", [NoRootTwo, RowsOfAPersonForgotten])
def test_a_price_that_is_too_low_is_seen(bug: type[Twin]) -> None:
    with pytest.raises(AssertionError, match="too cheap"):
        checks.check_costs(open_twin(bug), seed=0)


@pytest.mark.parametrize("bug", [ScoresSaidToMoveLess, RowsOfAPersonForgotten])
def test_a_selection_sold_below_its_price_is_seen(bug: type[Twin]) -> None:
    with pytest.raises(AssertionError, match="log-ratio"):
        checks.check_selection_pays(open_twin(bug), tables=2, seed=0)


@pytest.mark.parametrize(("bug", "draws"), [(LessNoiseOnScores, 500), (ALittleLessNoiseOnScores, 3_000)])
def test_too_little_noise_on_scores_is_seen(bug: type[Twin], draws: int) -> None:
    with pytest.raises(AssertionError, match="odds"):
        checks.check_selection_odds(open_twin(bug), draws)


@pytest.mark.parametrize("open_", [open_core, open_twin()])
@pytest.mark.parametrize("bug", [annealing_by_true_tables, counting_true_rows])
def test_a_look_at_the_rows_is_seen_when_answers_are_replayed(bug: checks.Run, open_: Open) -> None:
    with pytest.raises(AssertionError, match="the rows"):
        checks.check_blind(bug, open_, draw_people(200, 1), draw_people(77, 2))


def test_annealing_by_true_tables_is_seen_in_the_noise_levels_by_the_audit() -> None:
    found = checks.audit(annealing_by_true_tables, open_twin(), 200, opened(1.0, 0.01), rows=200)
    print(f"annealing by true tables, 200 releases a side: {found}")
    with pytest.raises(AssertionError, match="noise levels"):
        checks.check_audit(found)


def test_bins_by_the_rows_are_seen() -> None:
    with pytest.raises(AssertionError, match="too far"):
        checks.check_counting(bins_by_the_rows, tables=20, seed=0)


def test_tables_of_single_columns_that_nobody_pays_for_are_seen() -> None:
    transcript = honest(open_twin(SinglesForFree)(counts_of(draw_people(200, 1)), opened()), {})
    with pytest.raises(AssertionError, match="nobody paid for"):
        checks.check_all_paid(transcript)


def test_what_opendp_would_charge_for_too_little_is_refused_by_the_ledger() -> None:
    core = open_core(counts_of(draw_people(50, 1)), opened())
    assert isinstance(core, Core)
    with patch.object(core, "_shifts", 0), pytest.raises(ValueError, match="at least"):
        core._charged("measure", ("a",), 20.0, 1.0, _Cheap())


class _Cheap:
    """A measurement that says it costs nothing."""

    def map(self, _: int) -> float:
        return 0.0

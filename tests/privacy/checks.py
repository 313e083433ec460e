"""What must hold of whoever answers about private rows, as functions: real code passes them, every known bug fails one.

Noise comes from the operating system and has no seed, so these checks are tests of hypotheses. `RARELY` is how often
one statistic of correct code may be called wrong; a run of the suite looks at some hundred of them.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import torch
from scipy import stats

from cuts.count.marginals import Marginals
from cuts.data.codec import Codes
from cuts.data.table import Floats, IntArray
from cuts.privacy.adaptive import AdaptiveSettings
from cuts.privacy.core import score
from cuts.privacy.curator import GRID, Candidate, Curator
from cuts.privacy.ledger import ReleaseLedger
from cuts.privacy.query import fine
from cuts.privacy.transcript import Choice, Replay, Transcript, count_estimate, render
from privacy.people import LEVELS, Open, counts_of, draw_people, empty_table, opened, plentiful, with_row
from privacy.twin import discrete_gaussian

Run: TypeAlias = Callable[[Curator, Codes, AdaptiveSettings], Transcript]  # a release; it should ignore the rows

RARELY = 1e-7
CELLS = 1_000
CANARY = len(LEVELS) - 1  # a level nobody else has
ROOT2 = math.nextafter(math.sqrt(2.0), 2.0)
FEW_ROUNDS = AdaptiveSettings(min_round_share=0.02)  # a bug could make many rounds of next to nothing
# Fewer and dearer rounds than usual take less time; what may be learnt from them is the same.
DEAR_ROUNDS = AdaptiveSettings(planned_rounds=5, max_round_share=0.25, min_round_share=0.03)
VARIANTS = ({}, {"max_rows_per_person": 3}, {"relation": "replace"}, {"max_rows_per_person": 3, "relation": "replace"})


# --- T1: the noise


def noise_of(open_: Open, sigma: float, calls: int, level: int = 0) -> IntArray:
    """What is added to counts of `level` rows in every cell, a line for each call."""
    counts, query = empty_table(CELLS, level), fine(("x",), {"x": CELLS})
    return np.stack([open_(counts, plentiful()).measure(query, sigma) - level for _ in range(calls)])


def check_noise(noise: IntArray, sigma: float) -> None:
    """The noise is the discrete Gaussian of that scale, and the cells have nothing to do with each other."""
    assert noise.dtype == np.int64
    values, p = discrete_gaussian(sigma)
    assert _fits(noise.ravel(), values, p) > RARELY, "another distribution"
    variance = float((p * values**2).sum())
    quartic = float((p * values**4).sum())
    assert _usual(noise.mean() / math.sqrt(variance / noise.size)), "another mean"
    assert _usual(((noise**2).mean() - variance) / math.sqrt((quartic - variance**2) / noise.size)), "another variance"
    for one, other in ((noise[:, 1:], noise[:, :-1]), (noise[1:], noise[:-1]), (noise[:, 500:], noise[:, :500])):
        assert _usual((one * other).mean() / variance * math.sqrt(one.size)), "cells are not independent"


def check_noise_ignores_counts(low: IntArray, high: IntArray) -> None:
    """The noise of both is of one distribution."""
    edges = np.unique(np.quantile(low, np.linspace(0, 1, 41)[1:-1]))
    table = np.stack(
        [np.bincount(np.searchsorted(edges, part.ravel()), minlength=len(edges) + 1) for part in (low, high)]
    )
    assert stats.chi2_contingency(table[:, table.sum(0) > 0]).pvalue > RARELY, "the noise depends on the counts"


def check_unseeded(open_: Callable[[], Open]) -> None:
    """No seed of any library, nor starting again, brings the same noise back."""

    def again() -> IntArray:
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)
        return noise_of(open_(), 5.78, 1)[0]

    one, other = again(), again()
    assert (one != other).any(), "the noise came again"
    assert _usual((one * other).mean() / 5.78**2 * math.sqrt(CELLS)), "the noise is much as it was"


def _fits(found: IntArray, values: IntArray, p: Floats) -> float:
    """The p-value of draws against a distribution; cells of fewer than 20 expected draws are put together."""
    expected = len(found) * p
    ends = np.flatnonzero(expected >= 20)[[0, -1]]
    observed = np.bincount(np.clip(found - values[0], *ends) - ends[0], minlength=ends[1] - ends[0] + 1)
    middle = expected[ends[0] : ends[1] + 1].copy()
    middle[0] += expected[: ends[0]].sum()
    middle[-1] += expected[ends[1] + 1 :].sum()
    return float(stats.chisquare(observed, middle * observed.sum() / middle.sum()).pvalue)


def _usual(z: float) -> bool:
    return bool(2 * stats.norm.sf(abs(z)) > RARELY)


# --- T2: the selection


def check_selection_odds(open_: Open, draws: int) -> None:
    """The chances of the candidates are in proportion to `exp(score / scale)`."""
    counts = empty_table(4, 50)
    query, scale = fine(("x",), {"x": 4}), 4.0 * GRID
    candidates = [Candidate(query, np.full(4, GRID * (50 - off)), weight, 0) for off, weight in RANKED]
    scores = np.array([score(counts.table(("x",)), each) for each in candidates], dtype=np.float64)
    chances = np.exp((scores - scores.max()) / scale)
    found = np.zeros(len(RANKED))
    for _ in range(draws // 5):  # OpenDP's filter goes through all earlier reads at every read
        curator = open_(counts, plentiful())
        found += np.bincount([curator.select(candidates, scale) for _ in range(5)], minlength=len(RANKED))
    assert stats.chisquare(found, draws * chances / chances.sum()).pvalue > RARELY, f"odds {found}, not {chances}"


RANKED = ((1, 1), (2, 1), (1, 3), (0, 1), (3, 1))  # how far the model is off in each cell, and the weight


def check_selection_pays(open_: Open, *, tables: int, seed: int) -> None:
    """What is charged covers how far the chances of candidates can move between neighbours, exactly."""
    rng = np.random.default_rng(seed)
    for terms in VARIANTS:
        for _ in range(tables):
            one, other = neighbours(rng, **terms)
            candidates = _candidates(one, rng)
            scale = float(rng.integers(1, 9)) * GRID
            curator = open_(one, plentiful(**terms))
            curator.select(candidates, scale)
            cost = curator.ledger.spent
            before, after = (_scores(counts, candidates) for counts in (one, other))
            moved = [b - a for a, b in zip(before, after, strict=True)]
            spread = Fraction(max(moved) - min(moved)) / Fraction(scale)
            assert spread**2 <= 8 * cost, "the log-ratio of chances ranges further than epsilon, sqrt(8 rho)"


def _candidates(one: Marginals, rng: np.random.Generator) -> list[Candidate]:
    """Some tables; the model is a little wrong about some of them, and far too high or too low in others."""
    found = []
    for clique in one.tables:
        shape = one.table(clique).shape
        near = GRID * one.table(clique) + rng.integers(-3 * GRID, 3 * GRID, shape)
        models = (near, np.zeros(shape, dtype=np.int64), np.full(shape, 10**6 * GRID))
        found += [
            Candidate(fine(clique, one.sizes), expected, int(rng.integers(1, 5)), int(rng.integers(9_999)))
            for expected in models
        ]
    return found


def _scores(counts: Marginals, candidates: Sequence[Candidate]) -> list[int]:
    return [score(counts.table(candidate.query.clique), candidate) for candidate in candidates]


# --- T3: the sensitivities


def neighbours(
    rng: np.random.Generator, *, max_rows_per_person: int = 1, relation: str = "add/remove"
) -> tuple[Marginals, Marginals]:
    """Counts of two tables that differ in a unit as much as they can: all its rows fall in one cell."""
    one = other = draw_people(int(rng.integers(1, 60)), int(rng.integers(2**31)))
    was, becomes = rng.permutation(len(LEVELS))[:2].tolist()
    for _ in range(max_rows_per_person):
        one = with_row(one, [was] * 4) if relation == "replace" else one
        other = with_row(other, [becomes] * 4)
    return counts_of(one), counts_of(other)


def check_distance(one: IntArray, other: IntArray, *, l1: float, l2: float, linf: float) -> None:
    """Two histograms are near in all three distances."""
    off = (one - other).ravel()
    assert np.abs(off).sum() <= l1, "too far in L1"
    assert int((off**2).sum()) <= l2**2 + 1e-9, "too far in L2"
    assert np.abs(off).max(initial=0) <= linf, "too far in one cell"


def check_counting(count: Callable[[Codes], Marginals], *, tables: int, seed: int) -> None:
    """One row more, whatever it is, moves every histogram by one at most."""
    rng = np.random.default_rng(seed)
    for _ in range(tables):
        rows = draw_people(int(rng.integers(1, 40)), int(rng.integers(2**31)))
        one, other = count(rows), count(with_row(rows, [int(code) for code in rng.integers(0, len(LEVELS), 4)]))
        for clique in one.tables:
            check_distance(one.table(clique), other.table(clique), l1=1, l2=1, linf=1)


# --- T4: what is charged


def check_costs(open_: Open, *, seed: int) -> None:
    """A read costs what the distance of neighbours says: the L2 of their histograms, the range of their scores."""
    rng = np.random.default_rng(seed)
    for terms in VARIANTS:
        one, other = neighbours(rng, **terms)
        for clique in (("a",), ("a", "b"), ("b", "c", "d")):
            off = one.table(clique) - other.table(clique)
            curator = open_(one, plentiful(**terms))
            curator.measure(fine(clique, one.sizes), 20.0)
            assert curator.ledger.spent >= Fraction(int((off**2).sum()), 800), f"too cheap: {terms}"
            rows, replaces = terms.get("max_rows_per_person", 1), terms.get("relation") == "replace"
            assert math.isclose(curator.ledger.spent, (2 if replaces else 1) * rows**2 / 800, rel_tol=1e-12)


def check_all_paid(transcript: Transcript) -> None:
    """Every answer is in the ledger at what its noise costs, and together they are within the budget, exactly."""
    ledger = transcript.ledger
    terms = ledger.terms
    replaces = terms.relation == "replace"
    exact = Fraction(0)
    for answer in transcript.answers:
        moves = Fraction(terms.max_rows_per_person)
        if isinstance(answer, Choice):  # the weight of what was chosen is the least that the heaviest candidate has
            moves *= (2 if replaces else 1) * GRID * len(answer.clique) * weight_of_a_column(transcript)
            exact += moves**2 / (2 * Fraction(answer.scale) ** 2)
        else:
            exact += (2 if replaces else 1) * moves**2 / (2 * Fraction(answer.sigma) ** 2)
    assert len(ledger.events) == len(transcript.answers), "an answer nobody paid for"
    assert exact <= ledger.spent, "answers cost more than was charged"
    assert ledger.spent <= ledger.rho, "more was spent than there is"


def weight_of_a_column(transcript: Transcript) -> int:
    """In how many triples a column is."""
    others = len(transcript.codec.columns) - 1
    return math.comb(others, 2) if others > 1 else 1


# --- T5: blindness


def check_blind(run: Run, open_: Open, rows: Codes, others: Codes) -> None:
    """A release is a function of the answers alone: given them again it asks the same, whatever rows there are."""
    transcript = run(open_(counts_of(rows), opened()), rows, FEW_ROUNDS)
    for told in (rows, others, untouchable()):
        try:
            again = run(Replay(transcript), told, FEW_ROUNDS)
        except ValueError as error:  # a question the core was not asked
            raise AssertionError("the rows decided what was asked") from error
        assert render(again) == render(transcript), "the rows decided what was told"


class Untouchable(dict[str, IntArray]):
    """Rows that nobody may look at."""

    def _refuse(self, *_: object) -> None:
        raise AssertionError("the rows were looked at")

    __getitem__ = __iter__ = __len__ = __contains__ = keys = values = items = get = _refuse  # type: ignore[assignment]


def untouchable() -> Codes:
    return Untouchable()


# --- T6: the audit


@dataclass(frozen=True)
class Gap:
    """How far a statistic tells two sides apart: the mean gap in standard deviations."""

    mu: float
    error: float  # its standard error

    @property
    def within(self) -> tuple[float, float]:
        """Where it is with 99 % confidence."""
        return self.mu - 2.576 * self.error, self.mu + 2.576 * self.error

    @property
    def surely(self) -> float:
        """What it exceeds but for one in a million."""
        return self.mu - 4.75 * self.error


@dataclass(frozen=True)
class Audit:
    """What an adversary who knows everything but one row learns from releases."""

    ledger: ReleaseLedger
    canary: Gap
    others: dict[str, Gap]
    epsilon: float  # at least that much was learnt, with 99 % confidence
    epsilon_surely: float  # but for one in a million
    traces: float  # the same of the noise levels alone
    cliques: float  # and of the tables that were chosen

    @property
    def bound(self) -> float:
        """What `canary` can be: a Gaussian of rho-zCDP moves by sqrt(2 rho) standard deviations."""
        return math.sqrt(2 * self.ledger.rho)

    def __str__(self) -> str:
        low, high = self.canary.within
        others = ", ".join(f"{name} {gap.mu:.2f}±{gap.error:.2f}" for name, gap in self.others.items())
        return (
            f"mu {self.canary.mu:.3f} in [{low:.3f}, {high:.3f}], implied {self.bound:.3f}; "
            f"epsilon >= {self.epsilon:.2f} of {self.ledger.terms.epsilon:g}, by traces >= {self.traces:.2f}, "
            f"by cliques >= {self.cliques:.2f}; {others}"
        )


def audit(run: Run, open_: Open, runs: int, ledger: ReleaseLedger, *, rows: int = 1_000) -> Audit:
    """Releases of a table with and without a row that has the level nobody else has, in every column."""
    sides: list[list[Transcript]] = []
    for codes in (draw_people(rows, 1), with_row(draw_people(rows, 1), [CANARY] * 4)):
        counts = counts_of(codes)
        sides.append([run(open_(counts, ledger), codes, DEAR_ROUNDS) for _ in range(runs)])
    canary = [[_canary_score(each) for each in side] for side in sides]
    numbers: dict[str, Callable[[Transcript], float]] = {
        "log sigma": lambda t: sum(math.log(each.sigma) for each in t.measurements),
        "rounds": lambda t: len(t.answers),
        "rows": lambda t: count_estimate(t.measurements),
        "columns chosen": lambda t: sum(len(each.query.clique) for each in t.measurements),
    }
    return Audit(
        ledger,
        _gap(*canary),
        {name: _gap(*([number(each) for each in side] for side in sides)) for name, number in numbers.items()},
        epsilon_seen(*canary, delta=ledger.terms.delta, wrong=0.01),
        epsilon_seen(*canary, delta=ledger.terms.delta, wrong=1e-6),
        _epsilon_of_tokens(sides, lambda t: {each.sigma for each in t.measurements}),
        _epsilon_of_tokens(sides, lambda t: set(Counter(each.query.clique for each in t.measurements).items())),
    )


def check_audit(found: Audit) -> None:
    """The audit finds no more than was promised; a false alarm is one in a million for each statistic.

    Whatever the statistic of a rho-zCDP release, its mean moves by sqrt(exp(2 rho) - 1) standard deviations at most
    (Hammersley, Chapman and Robbins, with the Rényi divergence of order 2); what is Gaussian by sqrt(2 rho).
    """
    assert found.canary.surely <= found.bound, f"more is learnt than promised: {found}"
    for name, gap in found.others.items():
        assert gap.surely <= math.sqrt(math.expm1(2 * found.ledger.rho)), f"{name} tells too much: {found}"
    assert found.epsilon_surely <= found.ledger.terms.epsilon, f"epsilon is exceeded: {found}"
    assert found.traces <= found.ledger.terms.epsilon, f"the noise levels tell rows apart: {found}"
    assert found.cliques <= found.ledger.terms.epsilon, f"the chosen tables tell rows apart: {found}"


def _canary_score(transcript: Transcript) -> float:
    """`sum (y - 1/2) / sigma^2` over the canary's cells: the log-likelihood ratio of its being there."""
    found = 0.0
    for each in transcript.measurements:
        cell = tuple(owner[CANARY] for owner in each.query.owners)
        found += (float(each.values[cell]) - 0.5) / each.sigma**2
    return found


def _gap(without: Sequence[float], with_: Sequence[float]) -> Gap:
    one, other = np.array(without), np.array(with_)
    spread = math.sqrt((one.var(ddof=1) + other.var(ddof=1)) / 2)
    if spread == 0.0:
        return Gap(0.0 if one[0] == other[0] else math.inf, 0.0)
    mu = float(abs(other.mean() - one.mean())) / spread
    return Gap(mu, math.sqrt(2 / len(one) + mu**2 / (4 * len(one))))


def epsilon_seen(without: Sequence[float], with_: Sequence[float], *, delta: float, wrong: float) -> float:
    """The epsilon that a threshold on a score shows there is at least, but for a chance of `wrong`.

    The threshold is chosen on one half of the runs and tried on the other, by Clopper and Pearson's bounds.
    """
    half = len(without) // 2
    one, other = np.array(without), np.array(with_)
    known = np.unique(np.concatenate([one[:half], other[:half]]))
    cuts = np.unique(known[np.linspace(0, len(known) - 1, 50).astype(int)])
    best = max(cuts, key=lambda cut: _shown(one[:half] >= cut, other[:half] >= cut, delta, wrong))
    return max(0.0, _shown(one[half:] >= best, other[half:] >= best, delta, wrong))


def _shown(false: Sequence[bool], true: Sequence[bool], delta: float, wrong: float) -> float:
    """By `P(true) <= exp(epsilon) P(false) + delta`, and the same of what is not said."""
    found = []
    for hit, miss in ((np.array(true), np.array(false)), (~np.array(false), ~np.array(true))):
        k, m, n = int(hit.sum()), int(miss.sum()), len(hit)
        low = stats.beta.ppf(wrong / 4, k, n - k + 1) if k else 0.0
        high = stats.beta.ppf(1 - wrong / 4, m + 1, n - m) if m < n else 1.0
        found.append(math.log((low - delta) / high) if low > delta else -math.inf)
    return max(found)


def _epsilon_of_tokens(sides: Sequence[Sequence[Transcript]], tokens: Callable[[Transcript], set[Hashable]]) -> float:
    """The epsilon shown by things that occur in a release or not; how telling each is follows from the first half."""
    without, with_ = ([tokens(each) for each in side] for side in sides)
    half = len(without) // 2
    seen = [Counter(token for each in side[:half] for token in each) for side in (without, with_)]
    often = {token for token in seen[0] | seen[1] if seen[0][token] + seen[1][token] >= 3}
    worth = {token: math.log((seen[1][token] + 0.5) / (seen[0][token] + 0.5)) for token in often}
    scores = [[sum(worth.get(token, 0.0) for token in each) for each in side] for side in (without, with_)]
    return epsilon_seen(*scores, delta=0.01, wrong=1e-6)

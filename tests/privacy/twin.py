"""The core once more, plainly in numpy: with a seed, so for tests only. Injected bugs are small changes of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from cuts.count.marginals import Marginals
from cuts.data.table import Floats, IntArray
from cuts.privacy.core import score
from cuts.privacy.curator import GRID, Candidate
from cuts.privacy.ledger import Event, ReleaseLedger
from cuts.privacy.query import Query, grouped


class Twin:
    """Answers as `Core` does, at the exact costs, with noise that follows from a seed."""

    def __init__(self, counts: Marginals, ledger: ReleaseLedger, seed: int) -> None:
        self.counts, self.rng = counts, np.random.default_rng(seed)
        self._ledger = ledger

    @property
    def ledger(self) -> ReleaseLedger:
        return self._ledger

    def measure(self, query: Query, sigma: float) -> IntArray:
        rows = self._ledger.terms.max_rows_per_person
        self.charge(event("measure", sigma, self.moves() * rows, query.clique))
        return self.histogram(query) + self.gaussian(sigma, query.shape)

    def select(self, candidates: Sequence[Candidate], scale: float) -> int:
        moves = self.shifts() * GRID * max(candidate.weight for candidate in candidates)
        self.charge(event("select", scale, float(moves * self._ledger.terms.max_rows_per_person), of=len(candidates)))
        scores = np.array([score(self.histogram(each.query), each) for each in candidates], dtype=np.float64)
        return int(np.argmax(scores + self.gumbel(scale, len(scores))))

    # --- what a bug could change

    def moves(self) -> float:
        """How far one row moves a histogram, L2."""
        return math.nextafter(math.sqrt(2.0), 2.0) if self._ledger.terms.relation == "replace" else 1.0

    def shifts(self) -> float:
        """How far one row moves a histogram, L1."""
        return 2 if self._ledger.terms.relation == "replace" else 1

    def charge(self, paid: Event) -> None:
        self._ledger = self._ledger.charged(paid)

    def histogram(self, query: Query) -> IntArray:
        return grouped(self.counts.table(query.clique), query)

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> IntArray:
        values, p = discrete_gaussian(sigma)
        places = np.searchsorted(np.cumsum(p), self.rng.random(shape))
        found: IntArray = values[np.minimum(places, len(values) - 1)]
        return found

    def gumbel(self, scale: float, size: int) -> Floats:
        return self.rng.gumbel(scale=scale, size=size)


def event(kind: str, scale: float, sensitivity: float, clique: tuple[str, ...] = (), of: int = 0) -> Event:
    """A read at its exact cost."""
    cost = Fraction(sensitivity) ** 2 / (2 * Fraction(scale) ** 2)
    return Event(kind, clique, scale, sensitivity, cost, candidates=of)  # type: ignore[arg-type]


@lru_cache(maxsize=64)
def discrete_gaussian(sigma: float) -> tuple[IntArray, Floats]:
    """The whole numbers that matter and their probabilities, `exp(-x^2 / 2 sigma^2)` in proportion."""
    reach = math.ceil(12 * sigma) + 3  # what is beyond has probability 1e-31
    values = np.arange(-reach, reach + 1)
    p = np.exp(-(values**2) / (2 * sigma**2))
    return values, p / p.sum()

"""The two questions about private rows, and the interface of whoever answers them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cuts.data.table import IntArray
from cuts.privacy.ledger import ReleaseLedger
from cuts.privacy.query import Query

GRID = 1024  # scores are whole numbers of 1/GRID count: rounding floats could exceed the sensitivity


class Curator(Protocol):
    """Answers questions about private rows: the core, or a replay of its answers."""

    @property
    def ledger(self) -> ReleaseLedger:
        """The ledger with every charge so far."""

    def measure(self, query: Query, sigma: float) -> IntArray:
        """The histogram with Gaussian noise of that scale on every cell."""

    def select(self, candidates: Sequence[Candidate], scale: float) -> int:
        """The index of the candidate with the highest noisy score, with Gumbel noise of that scale."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A histogram that could be measured, and what the model predicts for it, in units of 1/GRID count."""

    query: Query
    expected: IntArray  # counts predicted by the model, in the shape of the histogram
    weight: int
    penalty: int  # subtracted from the score: part of the expected error of a measurement

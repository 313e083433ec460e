"""Who answers about private rows, and what is asked: the two questions, without the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cuts.data.table import IntArray
from cuts.privacy.ledger import ReleaseLedger
from cuts.privacy.query import Query

GRID = 1024  # scores are whole numbers of 1/GRID count: floats could break the sensitivity by rounding


class Curator(Protocol):
    """Who answers about private rows: the core, or a transcript of its answers."""

    @property
    def ledger(self) -> ReleaseLedger:
        """What has been spent so far."""

    def measure(self, query: Query, sigma: float) -> IntArray:
        """The histogram with Gaussian noise of that scale on every cell."""

    def select(self, candidates: Sequence[Candidate], scale: float) -> int:
        """The place of the candidate with about the highest score, by Gumbel noise of that scale on scores."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A histogram that could be measured, and what is publicly expected of it, in units of 1/GRID count."""

    query: Query
    expected: IntArray  # by the model, same shape as the histogram
    weight: int
    penalty: int  # the error a measurement would have

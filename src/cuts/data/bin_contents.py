"""What the bins of a column hold: the values a code can be decoded to, and how often.

A numeric bin is made of pieces: points, or stretches on which values are even; on a lattice a stretch is its lattice
points, otherwise all numbers between its ends. A bin of a category column is made of its members. The draw and the
moments are of the same distribution, so statistics computed from codes are those of the decoded values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cuts.data.table import Floats, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """The pieces of all bins of a numeric column, in order of bins.

    `low` and `high` are numbers, or lattice numbers `k` when `per_unit` is given; `owner` is the bin of a piece and
    `until` its bin plus the share of the bin's rows in this piece and the ones before it.
    """

    low: Floats
    high: Floats
    owner: IntArray
    until: Floats
    per_unit: int | None

    def draw(self, codes: IntArray, rng: np.random.Generator) -> Floats:
        """A value for every code."""
        piece = _drawn(self.until, codes, rng)
        share = rng.random(len(codes))
        low, high = self.low[piece], self.high[piece]
        if self.per_unit is None:
            return np.clip(low + share * (high - low), low, high)
        return np.minimum(low + np.floor(share * (high - low + 1.0)), high) / self.per_unit

    def weights(self) -> Floats:
        """The share of its bin's rows in every piece."""
        shares: Floats = np.diff(self.until, prepend=0.0)  # every bin ends where the next begins
        return shares


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """The members of all bins of a category column; `until` as in `Pieces`."""

    places: IntArray  # positions in the column's categories
    owner: IntArray
    until: Floats

    def draw(self, codes: IntArray, rng: np.random.Generator) -> IntArray:
        """A category's position for every code."""
        if len(self.places) == int(self.owner[-1]) + 1:  # every bin has one member
            return self.places[codes]
        return self.places[_drawn(self.until, codes, rng)]

    def weights(self) -> Floats:
        """The share of its bin's rows in every member."""
        shares: Floats = np.diff(self.until, prepend=0.0)  # every bin ends where the next begins
        return shares


def join_pieces(bins: list[tuple[Floats, Floats, Floats]], per_unit: int | None) -> Pieces:
    """The pieces of a column from those of each bin: their ends and their weights."""
    low, high = (np.concatenate([b[i] for b in bins]) for i in range(2))
    owner, until = _divided([b[2] for b in bins])
    return Pieces(low, high, owner, until, per_unit)


def join_members(bins: list[tuple[IntArray, Floats]]) -> Members:
    """The members of a column from those of each bin: their positions and their weights."""
    places = np.concatenate([b[0] for b in bins]).astype(np.int64)
    return Members(places, *_divided([b[1] for b in bins]))


def _divided(bins: list[Floats]) -> tuple[IntArray, Floats]:
    """The owner and the `until` of every piece, from the weights in each bin."""
    owner = np.repeat(np.arange(len(bins)), [len(weights) for weights in bins])
    running = [np.cumsum(weights) for weights in bins]
    # A piece without weight ends where it begins, and the last one with weight ends its bin exactly.
    return owner, owner + np.concatenate([total / total[-1] for total in running])


def _drawn(until: Floats, codes: IntArray, rng: np.random.Generator) -> IntArray:
    """A piece of each code's bin, as often as its share says."""
    place = np.minimum(codes + rng.random(len(codes)), np.nextafter(codes + 1.0, 0.0))  # a sum may round up
    found: IntArray = np.searchsorted(until, place, side="right").astype(np.int64)
    return found

"""The contents of the bins of a column: the values a code can be decoded to, and their frequencies.

A numeric bin consists of pieces: points, or intervals on which values are uniform; on a lattice an interval is its
lattice points, otherwise all numbers between its ends. A bin of a category column consists of its members. `slots.py`
computes statistics from the same distribution that is sampled here, so they agree with the decoded values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cuts.data.table import Floats, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """The pieces of all bins of a numeric column, in order of bins.

    `low` and `high` are numbers, or lattice numbers `k` if `per_unit` is not None; `owner` is the bin of a piece and
    `until` its bin plus the cumulative share of the bin's rows up to and including this piece.
    """

    low: Floats
    high: Floats
    owner: IntArray
    until: Floats
    per_unit: int | None

    def draw(self, codes: IntArray, rng: np.random.Generator) -> Floats:
        """One value per code, sampled from its bin."""
        return self.at(codes, rng.random(len(codes)))

    def at(self, codes: IntArray, rank: Floats) -> Floats:
        """The value at a rank, from 0 to 1, of each code's bin: the inverse of its cumulative distribution."""
        level = np.minimum(codes + rank, np.nextafter(codes + 1.0, 0.0))  # a sum may round up
        piece = np.searchsorted(self.until, level, side="right")
        begin = np.where(piece > 0, self.until[piece - 1], 0.0)
        share = np.clip((level - begin) / (self.until[piece] - begin), 0.0, 1.0)
        low, high = self.low[piece], self.high[piece]
        values: Floats
        if self.per_unit is None:
            values = np.clip(low + share * (high - low), low, high)
        else:
            values = np.minimum(low + np.floor(share * (high - low + 1.0)), high) / self.per_unit
        return values

    def rank(self, codes: IntArray, values: Floats) -> Floats:
        """The rank of each value in its code's bin, from 0 to 1: the middle of the ranks at which `at` returns it."""
        place = values if self.per_unit is None else np.rint(values * self.per_unit)
        first, last = np.searchsorted(self.owner, codes), np.searchsorted(self.owner, codes, side="right") - 1
        first = np.clip(np.searchsorted(self.high, place), first, last)  # pieces are in order of their values
        last = np.clip(np.searchsorted(self.low, place, side="right") - 1, first, last)
        return (self._below(first, place, 0.0) + self._below(last, place, 1.0)) / 2 - codes

    def _below(self, piece: IntArray, place: Floats, at_point: float) -> Floats:
        """The cumulative share up to a value in a piece; up to its start or end where the piece is that value alone."""
        begin = np.where(piece > 0, self.until[piece - 1], 0.0)
        on_lattice = self.per_unit is not None
        width = self.high[piece] - self.low[piece] + on_lattice
        inner = (place - self.low[piece] + at_point * on_lattice) / np.where(width > 0, width, 1.0)
        share = np.clip(np.where(width > 0, inner, at_point), 0.0, 1.0)
        return begin + share * (self.until[piece] - begin)

    @property
    def varies(self) -> bool:
        """Whether any bin has more than one value."""
        return bool((self.high > self.low).any() or len(self.owner) > int(self.owner[-1]) + 1)

    def weights(self) -> Floats:
        """One share per piece: its part of its bin's rows."""
        shares: Floats = np.diff(self.until, prepend=0.0)  # every bin ends where the next begins
        return shares


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """The members of all bins of a category column; `until` as in `Pieces`."""

    places: IntArray  # positions in the column's categories
    owner: IntArray
    until: Floats

    def draw(self, codes: IntArray, rng: np.random.Generator) -> IntArray:
        """One category per code, as its position, sampled from its bin."""
        if len(self.places) == int(self.owner[-1]) + 1:  # every bin has one member
            return self.places[codes]
        return self.places[_sample_pieces(self.until, codes, rng)]

    def weights(self) -> Floats:
        """One share per member: its part of its bin's rows."""
        shares: Floats = np.diff(self.until, prepend=0.0)  # every bin ends where the next begins
        return shares


def join_pieces(bins: list[tuple[Floats, Floats, Floats]], per_unit: int | None) -> Pieces:
    """The pieces of a column, from the ends and weights of the pieces of each bin."""
    low, high = (np.concatenate([b[i] for b in bins]) for i in range(2))
    owner, until = _cumulative_shares([b[2] for b in bins])
    return Pieces(low, high, owner, until, per_unit)


def join_members(bins: list[tuple[IntArray, Floats]]) -> Members:
    """The members of a column, from the positions and weights of the members of each bin."""
    places = np.concatenate([b[0] for b in bins]).astype(np.int64)
    return Members(places, *_cumulative_shares([b[1] for b in bins]))


def _cumulative_shares(bins: list[Floats]) -> tuple[IntArray, Floats]:
    """The owner and the `until` of every piece, from the weights in each bin."""
    owner = np.repeat(np.arange(len(bins)), [len(weights) for weights in bins])
    running = [np.cumsum(weights) for weights in bins]
    # A piece without weight ends where it begins, and the last one with weight ends its bin exactly.
    return owner, owner + np.concatenate([total / total[-1] for total in running])


def _sample_pieces(until: Floats, codes: IntArray, rng: np.random.Generator) -> IntArray:
    """One piece of each code's bin, sampled by its share (inverse of the cumulative distribution)."""
    level = np.minimum(codes + rng.random(len(codes)), np.nextafter(codes + 1.0, 0.0))  # a sum may round up
    pieces: IntArray = np.searchsorted(until, level, side="right").astype(np.int64)
    return pieces

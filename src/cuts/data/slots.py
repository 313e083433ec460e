"""Slots: the numbers that represent the bins of a column in a statistic, with their probabilities within the bin.

If a column has few values, the slots of a bin are its values. Otherwise they are two numbers that match the first three
moments of the bin's values (two-point Gauss quadrature), so means, variances and covariances of a model are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cuts.data.bin_contents import Pieces
from cuts.data.codec import CategoryBins, ColumnBins, NumericBins
from cuts.data.table import Floats, IntArray

MAX_VALUES = 512  # values of a column up to which every value is a slot
POINTS_PER_INTERVAL = 8  # slots, where a statistic depends on the order of values


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """For every slot its bin, its share of that bin, and its number (NaN for a text or a missing value)."""

    owner: IntArray
    share: Floats
    value: Floats

    def spread(self, bins: int) -> Floats:
        """The share of each bin's probability on each slot: shape (bins, slots)."""
        shares = np.zeros((bins, len(self.owner)))
        shares[self.owner, np.arange(len(self.owner))] = self.share
        return shares


def number_slots(bins: ColumnBins, *, ordered: bool) -> Slots:
    """The slots of a column; `ordered` keeps the order of values, not only moments. A category is its position."""
    if isinstance(bins, CategoryBins):
        contents = bins.contents
        return _with_missing(bins, contents.owner, contents.weights(), contents.places.astype(np.float64))
    lattice = _values(bins)
    if lattice is not None:
        return _with_missing(bins, *lattice)
    return _with_missing(bins, *(_points(bins.contents) if ordered else _moments(bins.contents)))


def value_slots(bins: ColumnBins) -> Slots:
    """One slot per value of a column with at most `MAX_VALUES` values, else one per bin."""
    if isinstance(bins, CategoryBins):
        return number_slots(bins, ordered=True)
    lattice = _values(bins)
    if lattice is not None:
        return _with_missing(bins, *lattice)
    count = len(bins.edges)
    return _with_missing(bins, np.arange(count), np.ones(count), np.arange(count, dtype=np.float64))


def _with_missing(bins: ColumnBins, owner: IntArray, share: Floats, value: Floats) -> Slots:
    others = np.arange(bins.numbers, bins.size)
    owner, share = np.append(owner, others), np.append(share, np.ones(len(others)))
    value = np.append(value, np.full(len(others), np.nan))
    is_kept = share > 0
    return Slots(owner[is_kept], share[is_kept], value[is_kept])


def _values(bins: NumericBins) -> tuple[IntArray, Floats, Floats] | None:
    """One slot per value of a column, or None if there are more than `MAX_VALUES`."""
    contents = bins.contents
    points = contents.low == contents.high
    if contents.per_unit is None and not points.all():
        return None
    counts = (np.ones(len(points)) if contents.per_unit is None else contents.high - contents.low + 1.0).astype(
        np.int64
    )
    if counts.sum() > MAX_VALUES:
        return None
    piece = np.repeat(np.arange(len(counts)), counts)
    step = np.arange(len(piece)) - np.repeat(np.cumsum(counts) - counts, counts)
    unit = 1.0 if contents.per_unit is None else float(contents.per_unit)
    share = (contents.weights() / counts)[piece]
    return _merged(contents.owner[piece], share, (contents.low[piece] + step) / unit)


def _merged(owner: IntArray, share: Floats, value: Floats) -> tuple[IntArray, Floats, Floats]:
    """The slots with equal values of a bin merged."""
    keys, index = np.unique(np.stack([owner.astype(np.float64), value]), axis=1, return_inverse=True)
    total = np.bincount(index.ravel(), share).astype(np.float64)
    return keys[0].astype(np.int64), total, keys[1]


def _points(contents: Pieces) -> tuple[IntArray, Floats, Floats]:
    """`POINTS_PER_INTERVAL` evenly spaced slots per interval."""
    unit = 1.0 if contents.per_unit is None else float(contents.per_unit)
    counts = np.where(contents.low == contents.high, 1, POINTS_PER_INTERVAL)
    piece = np.repeat(np.arange(len(counts)), counts)
    step = np.arange(len(piece)) - np.repeat(np.cumsum(counts) - counts, counts)
    point = contents.low[piece] + (step + 0.5) / counts[piece] * (contents.high - contents.low)[piece]
    return contents.owner[piece], (contents.weights() / counts)[piece], point / unit


def _moments(contents: Pieces) -> tuple[IntArray, Floats, Floats]:
    """Two slots per bin with the first three moments of its values, or one slot if all values are equal.

    With mean m, standard deviation s and skewness g the numbers are m + s (g/2 -+ sqrt(1 + g^2/4)).
    """
    unit = 1.0 if contents.per_unit is None else float(contents.per_unit)
    bins = int(contents.owner[-1]) + 1
    weight = contents.weights()

    def total(x: Floats) -> Floats:
        return np.bincount(contents.owner, weight * x, minlength=bins).astype(np.float64)

    middle = (contents.low + contents.high) / 2 / unit
    width = (contents.high - contents.low) / unit
    even = (
        width**2 / 12 if contents.per_unit is None else ((contents.high - contents.low + 1.0) ** 2 - 1.0) / 12 / unit**2
    )
    mean = total(middle)
    apart = middle - mean[contents.owner]
    variance, third = total(apart**2 + even), total(apart**3 + 3 * apart * even)
    spread = np.sqrt(variance)
    flat = spread <= 1e-12 * (1.0 + np.abs(mean))
    skew = np.where(flat, 0.0, third / np.where(flat, 1.0, spread**3))
    reach = np.sqrt(1.0 + skew**2 / 4)
    low, high = skew / 2 - reach, skew / 2 + reach
    chance = high / (high - low)  # of the lower number
    owner = np.concatenate([np.arange(bins), np.flatnonzero(~flat)])
    share = np.concatenate([np.where(flat, 1.0, chance), (1.0 - chance)[~flat]])
    value = np.concatenate([np.where(flat, mean, mean + spread * low), (mean + spread * high)[~flat]])
    return owner, share, value

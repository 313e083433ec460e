"""Pairs of columns in the real rows and in a synthetic table: joint distributions, dependence and correlations.

Dependence is Cramér's V with the correction of Bergsma (Journal of the Korean Statistical Society 2013), which takes
off what chance adds to it in few rows: 0 for independent columns, 1 if each column determines the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite, sqrt

import numpy as np

from cuts.assess.distance import variation
from cuts.assess.histograms import SharedBins, resampled_distance
from cuts.assess.table_arrays import Sample
from cuts.data.columns import Numeric
from cuts.data.table import Floats, IntArray

MAX_PAIRS = 20  # shown
PAIR_RESAMPLES = 3  # of a floor
MIN_ROWS = 3  # of a correlation


@dataclass(frozen=True, slots=True)
class PairDifference:
    """The total variation of the joint distribution of two columns, and its floor."""

    columns: tuple[str, str]
    distance: float
    floor: float


@dataclass(frozen=True, slots=True)
class Matrix:
    """A number for every pair of columns in both tables; None where it is undefined."""

    columns: tuple[str, ...]
    real: tuple[tuple[float | None, ...], ...]
    synthetic: tuple[tuple[float | None, ...], ...]


def pair_differences(columns: Sequence[SharedBins], *, seed: int) -> tuple[PairDifference, ...]:
    """The pairs of columns whose joint distributions differ most, the one furthest above its floor first."""
    rng = np.random.default_rng(seed)
    found = []
    for first, second in combinations(columns, 2):
        real, synthetic = (counts / counts.sum() for counts in _joint(first, second))
        floor = resampled_distance(real.ravel(), len(first.synthetic), rng, PAIR_RESAMPLES)
        names = (first.column.name, second.column.name)
        found.append(PairDifference(names, variation(real, synthetic), floor))
    return tuple(sorted(found, key=lambda pair: pair.floor - pair.distance)[:MAX_PAIRS])


def dependence(columns: Sequence[SharedBins]) -> Matrix:
    """How strongly each pair of columns depends on each other in both tables."""
    names = tuple(bins.column.name for bins in columns)
    tables: list[list[list[float | None]]] = [[[None] * len(names) for _ in names] for _ in range(2)]
    for i, j in _triangle(len(names)):
        for table, counts in zip(tables, _joint(columns[i], columns[j]), strict=True):
            table[i][j] = table[j][i] = cramers_v(counts)
    return Matrix(names, _frozen(tables[0]), _frozen(tables[1]))


def correlations(real: Sample, synthetic: Sample, names: Sequence[str]) -> Matrix | None:
    """Pearson's correlation of the numeric columns among `names`, on rows in which both have a number."""
    chosen = tuple(c.name for c in real.columns if c.name in names and isinstance(c, Numeric))
    if len(chosen) < 2:
        return None
    ours, theirs = (_correlated([sample.values[name] for name in chosen]) for sample in (real, synthetic))
    return Matrix(chosen, ours, theirs)


def cramers_v(counts: IntArray) -> float | None:
    """The bias-corrected dependence in a table of counts; None if a column has one value, or there are too few rows.

    >>> cramers_v(np.array([[50, 0], [0, 50]])), cramers_v(np.array([[25, 25], [25, 25]]))
    (1.0, 0.0)
    """
    counts = counts[counts.sum(1) > 0][:, counts.sum(0) > 0]
    rows = int(counts.sum())
    if min(counts.shape) < 2 or rows < 2:
        return None
    expected = counts.sum(1, keepdims=True) * counts.sum(0, keepdims=True) / rows
    phi = float(((counts - expected) ** 2 / expected).sum()) / rows
    height, width = counts.shape
    corrected = max(0.0, phi - (height - 1) * (width - 1) / (rows - 1))
    sides = [size - (size - 1) ** 2 / (rows - 1) - 1 for size in (height, width)]
    if min(sides) <= 0:
        return None
    return min(1.0, round(sqrt(corrected / min(sides)), 12))


def _joint(first: SharedBins, second: SharedBins) -> tuple[IntArray, IntArray]:
    """How many rows of each table have each pair of bins."""
    shape = len(first.labels), len(second.labels)
    pairs = ((first.real, second.real), (first.synthetic, second.synthetic))
    real, synthetic = (
        np.bincount(a * shape[1] + b, minlength=shape[0] * shape[1]).astype(np.int64).reshape(shape) for a, b in pairs
    )
    return real, synthetic


def _correlated(columns: Sequence[Floats | IntArray]) -> tuple[tuple[float | None, ...], ...]:
    table: list[list[float | None]] = [[None] * len(columns) for _ in columns]
    for i, j in _triangle(len(columns)):
        table[i][j] = table[j][i] = _correlation(columns[i].astype(np.float64), columns[j].astype(np.float64))
    return _frozen(table)


def _correlation(one: Floats, other: Floats) -> float | None:
    both = ~(np.isnan(one) | np.isnan(other))
    if both.sum() < MIN_ROWS:
        return None
    x, y = one[both] - one[both].mean(), other[both] - other[both].mean()
    spread = sqrt(float((x**2).sum())) * sqrt(float((y**2).sum()))
    value = float((x * y).sum()) / spread if spread > 0 and isfinite(spread) else None
    return None if value is None else round(max(-1.0, min(1.0, value)), 12)


def _triangle(size: int) -> Iterator[tuple[int, int]]:
    """All pairs of positions in order, each with itself too."""
    return ((i, j) for i in range(size) for j in range(i, size))


def _frozen(table: list[list[float | None]]) -> tuple[tuple[float | None, ...], ...]:
    return tuple(tuple(row) for row in table)

"""How well a release knows its columns: standard errors that follow from bins and noise alone, so they are public.

Before a release they are predicted from the schema, the budget and a number of rows; afterwards they follow from the
noise that was added. Noise of scale s on every bin gives the mean of n rows a standard error of
`s / n * sqrt(sum (x - m)^2)` over the middles x of the bins, where m is the mean: a wide range costs as much as many
bins. The same noise is expected to move `sqrt(2 / pi) * s * bins / (2 n)` of the rows to another bin, or less where
bins are joined into groups, whose noise grows with the root of their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from cuts.data.codec import Codec, ColumnBins, NumericBins
from cuts.data.table import Floats
from cuts.privacy.adaptive import MEAN_ABSOLUTE_NOISE
from cuts.privacy.transcript import Measurement, Transcript, groups_of

MAX_MOVED = 0.1  # of the rows, in the bins of a column that is known well
CHANCE = 0.001  # that noise alone makes any bin of a column look as if it had rows
MAX_MEAN_ERROR = 0.25  # of the standard deviation of a numeric column that is known well


@dataclass(frozen=True, slots=True)
class Precision:
    """How well a column is known from noisy counts of its bins.

    `error` is the standard error of the mean of a numeric column, in its unit (days of a date, seconds of a time), else
    that of the share of a category. `moved` is the share of the rows that the noise is expected to move to other bins.
    `deviation` is the standard deviation of a numeric column by the counts that are clearly above the noise; None if
    there are none, as before a release.
    """

    column: str
    is_numeric: bool
    bins: int
    error: float
    moved: float
    deviation: float | None = None

    @property
    def is_good(self) -> bool:
        """Whether the column is known well."""
        return self.moved <= MAX_MOVED and not (
            self.deviation is not None and self.error > MAX_MEAN_ERROR * self.deviation
        )


def predicted(codec: Codec, scale: float, rows: float, groups: Mapping[str, int]) -> tuple[Precision, ...]:
    """How well every column will be known, given the scale of the noise on its bins and the number of rows.

    Numeric means are taken to be in the middle of their range. `groups` is into how many groups the bins of a column
    are joined at most; they are taken to be of one size.
    """
    found = []
    for bins in codec.columns:
        number = min(bins.size, groups.get(bins.column.name, bins.size))
        found.append(_precision(bins, scale, rows, number * sqrt(bins.size / number), None))
    return tuple(found)


def known(transcript: Transcript) -> tuple[Precision, ...]:
    """How well every column is known by the tables of single columns that were measured."""
    found, groups = [], groups_of(transcript)
    for bins in transcript.codec.columns:
        tables = [each for each in transcript.measurements if each.query.clique == (bins.column.name,)]
        tables = [each for each in tables if each.query.cells == bins.size]
        cells = float(np.sqrt(np.bincount(groups[bins.column.name])).sum())
        scale = _joint_scale(tables)
        found.append(_precision(bins, scale, float(transcript.rows), cells, _clear_counts(tables, scale)))
    return tuple(found)


def _precision(bins: ColumnBins, scale: float, rows: float, cells: float, counts: Floats | None) -> Precision:
    """The precision of a column; the noise on a group of bins counts as the root of their number, `cells` in total."""
    moved = MEAN_ABSOLUTE_NOISE * scale * cells / (2 * rows)
    if not isinstance(bins, NumericBins):
        return Precision(bins.column.name, False, bins.size, scale / rows, moved)
    edges = np.array([*bins.edges, float(bins.column.high)])
    middles = (edges[:-1] + edges[1:]) / 2
    mean, deviation = float(edges[0] + edges[-1]) / 2, None
    if counts is not None and counts[: len(middles)].any():
        mean, deviation = _moments(edges, counts[: len(middles)])
    error = scale / rows * sqrt(float(((middles - mean) ** 2).sum()))
    return Precision(bins.column.name, True, bins.size, error, moved, deviation)


def _moments(edges: Floats, counts: Floats) -> tuple[float, float]:
    """Mean and standard deviation of values that are evenly spread in their bins."""
    shares, middles, widths = counts / counts.sum(), (edges[:-1] + edges[1:]) / 2, np.diff(edges)
    mean = float((shares * middles).sum())
    return mean, sqrt(float((shares * ((middles - mean) ** 2 + widths**2 / 12)).sum()))


def _joint_scale(tables: Sequence[Measurement]) -> float:
    """The scale of the noise on the inverse-variance weighted mean of several tables."""
    return 1.0 / sqrt(sum(table.sigma**-2 for table in tables))


def _clear_counts(tables: Sequence[Measurement], scale: float) -> Floats:
    """The mean of the tables, by inverse variance, without counts that may be noise: those below twice its scale."""
    weighted = [table.values.ravel() * (scale / table.sigma) ** 2 for table in tables]
    mean = np.sum(weighted, axis=0, dtype=np.float64)
    counts: Floats = np.where(mean > sqrt(2 * log(mean.size / CHANCE)) * scale, mean, 0.0)
    return counts

"""The range of a statistic in a new sample of as many rows: percentile bootstrap intervals (Efron 1979).

Rows are resampled with replacement, and every statistic is computed on the same resamples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import TypeAlias

import numpy as np

from cuts.data.schema import Schema
from cuts.data.table import Floats, Table
from cuts.lang.spec import Quantity, Statistic
from cuts.lang.walks import statistics_of
from cuts.read import exact

RESAMPLES = 200  # bootstrap samples of an interval
MAX_ROWS = 100_000  # rows that are resampled; larger tables are thinned evenly
_PERCENTILES = (2.5, 97.5)

Range: TypeAlias = tuple[float, float]


def intervals(
    quantities: Sequence[Quantity],
    table: Table,
    schema: Schema,
    *,
    seed: int = 0,
    draws: int = RESAMPLES,
    max_rows: int = MAX_ROWS,
    whole: tuple[int, Sequence[float]] | None = None,
) -> tuple[Range | None, ...]:
    """One 95 % interval per quantity: the range of its value in new samples of as many rows as the conformed table.

    This is where the value of a new sample would lie if its source had the distribution of this table: the bootstrap
    distribution from its 2.5th to its 97.5th percentile. Two samples of the same source differ by more, since both
    vary: the value of one lies in the interval of the other about 83 % of the time.

    A quantity that is undefined has no interval, and resamples in which it is undefined are left out. If the table has
    more than `max_rows` rows, that many, evenly spaced, are resampled; the interval is then shifted to the value of the
    whole table and narrowed around it by sqrt(max_rows / rows). `whole` has the number of rows and the values of a
    larger table that this one is a part of: the intervals are then about that one.

    >>> import pyarrow as pa
    >>> from cuts.data.schema import Real
    >>> from cuts.lang.spec import ColumnValue
    >>> schema = Schema("t", (Real("x", 0.0, 1.0),))
    >>> table = Table(pa.table({"x": [0.0, 1.0] * 50}))
    >>> [(low, high)] = intervals([Statistic("E", (ColumnValue("x"),))], table, schema)
    >>> 0.38 < low < 0.42 < 0.58 < high < 0.62
    True
    """
    if not quantities or table.rows == 0:
        return (None,) * len(quantities)
    part = _thinned(table, max_rows)
    rows = table.rows if whole is None else whole[0]
    drawn = _drawn(quantities, part, schema, rows, np.random.default_rng(seed), draws)
    middles = [
        _middle(np.broadcast_to(exact.combine(quantity, drawn.__getitem__), draws + 1)) for quantity in quantities
    ]
    values = [exact.value(quantity, table, schema) for quantity in quantities] if whole is None else whole[1]
    if part.rows < rows:
        narrowing = sqrt(part.rows / rows)
        middles = [middle and middle.moved(value, narrowing) for middle, value in zip(middles, values, strict=True)]
    return tuple(
        (middle.low, middle.high) if middle is not None and isfinite(value) else None
        for middle, value in zip(middles, values, strict=True)
    )


def _thinned(table: Table, max_rows: int) -> Table:
    """The table, or `max_rows` of its rows evenly spaced."""
    if table.rows <= max_rows:
        return table
    if not table.names:
        return Table(table.arrow.slice(0, max_rows))  # rows without columns are all equal
    return Table(table.arrow.take(np.arange(max_rows) * table.rows // max_rows))


def _drawn(
    quantities: Sequence[Quantity], part: Table, schema: Schema, rows: int, rng: np.random.Generator, draws: int
) -> dict[Statistic, Floats]:
    """The values of every statistic: first in the part itself, then in each resample. Weights sum to `rows`."""
    statistics = dict.fromkeys(stat for quantity in quantities for stat in statistics_of(quantity))
    prepared = [exact.merged(exact.prepare(stat, part, schema)) for stat in statistics]
    values = np.empty((len(prepared), draws + 1))
    for draw in range(draws + 1):
        chosen = np.arange(part.rows) if draw == 0 else rng.integers(part.rows, size=part.rows)
        weights = np.bincount(chosen, minlength=part.rows).astype(np.float64) * (rows / part.rows)
        values[:, draw] = [exact.weighted(statistic, weights) for statistic in prepared]
    return {statistic.stat: row for statistic, row in zip(prepared, values, strict=True)}


@dataclass(frozen=True, slots=True)
class _Middle:
    """A value and the middle 95 % of its resamples."""

    value: float
    low: float
    high: float

    def moved(self, value: float, narrowing: float) -> _Middle:
        """The interval around another value, its distances multiplied by `narrowing`."""
        return _Middle(value, value + narrowing * (self.low - self.value), value + narrowing * (self.high - self.value))


def _middle(values: Floats) -> _Middle | None:
    """The middle 95 % of the defined resamples; `values` starts with the value of the rows themselves."""
    defined = values[1:][np.isfinite(values[1:])]
    if not isfinite(values[0]) or not len(defined):
        return None
    low, high = np.percentile(defined, _PERCENTILES)
    return _Middle(float(values[0]), float(low), float(high))

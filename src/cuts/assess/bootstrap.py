"""How much a number of a table would differ in another draw of as many rows: bootstrap intervals.

The rows are drawn again with replacement, all numbers from the same rows, and each number is computed anew.
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

DRAWS = 200
MAX_ROWS = 100_000  # drawn again; of larger tables an evenly spread part
_ENDS = (2.5, 97.5)  # percent

Range: TypeAlias = tuple[float, float]


def intervals(
    quantities: Sequence[Quantity], table: Table, schema: Schema, *, seed: int = 0, draws: int = DRAWS
) -> tuple[Range | None, ...]:
    """For each quantity the middle 95 % of its values in tables of as many rows drawn from the rows of a conformed one.

    This is where a fresh draw would lie if the rows were drawn from a source with the shares of this table: the
    bootstrap distribution, from its 2.5th to its 97.5th percentile. Two tables drawn from one source differ by more,
    since both vary: about 83 % of the time one lies in the interval of the other.

    A quantity that is undefined has none, and draws in which it is undefined are left out. Of more than 100,000 rows
    so many, evenly spread, are drawn again; the interval is then moved to the value of the whole table and narrowed
    by sqrt(100,000 / rows) around it.

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
    part = _thinned(table)
    drawn = _drawn(quantities, part, schema, table.rows, np.random.default_rng(seed), draws)
    found = [_middle(np.broadcast_to(exact.combine(quantity, drawn.__getitem__), draws + 1)) for quantity in quantities]
    values = [exact.value(quantity, table, schema) for quantity in quantities]
    if part is not table:
        narrowing = sqrt(part.rows / table.rows)
        found = [middle and middle.moved(value, narrowing) for middle, value in zip(found, values, strict=True)]
    return tuple(
        (middle.low, middle.high) if middle is not None and isfinite(value) else None
        for middle, value in zip(found, values, strict=True)
    )


def _thinned(table: Table) -> Table:
    """The table, or `MAX_ROWS` of its rows evenly spread."""
    if table.rows <= MAX_ROWS:
        return table
    if not table.names:
        return Table(table.arrow.slice(0, MAX_ROWS))  # rows without columns, all alike
    return Table(table.arrow.take(np.arange(MAX_ROWS) * table.rows // MAX_ROWS))


def _drawn(
    quantities: Sequence[Quantity], part: Table, schema: Schema, rows: int, rng: np.random.Generator, draws: int
) -> dict[Statistic, Floats]:
    """The values of every statistic: first on the part as it is, then in each draw. Weights sum to `rows`."""
    known = dict.fromkeys(stat for quantity in quantities for stat in statistics_of(quantity))
    prepared = [exact.merged(exact.prepare(stat, part, schema)) for stat in known]
    values = np.empty((len(prepared), draws + 1))
    for draw in range(draws + 1):
        chosen = np.arange(part.rows) if draw == 0 else rng.integers(part.rows, size=part.rows)
        weights = np.bincount(chosen, minlength=part.rows).astype(np.float64) * (rows / part.rows)
        values[:, draw] = [exact.weighted(one, weights) for one in prepared]
    return {one.stat: row for one, row in zip(prepared, values, strict=True)}


@dataclass(frozen=True, slots=True)
class _Middle:
    """A value and the middle 95 % of its draws."""

    value: float
    low: float
    high: float

    def moved(self, value: float, narrowing: float) -> _Middle:
        """As far from another value, times `narrowing`."""
        return _Middle(value, value + narrowing * (self.low - self.value), value + narrowing * (self.high - self.value))


def _middle(values: Floats) -> _Middle | None:
    """The middle of the draws that are defined; the first value is that of the rows as they are."""
    defined = values[1:][np.isfinite(values[1:])]
    if not isfinite(values[0]) or not len(defined):
        return None
    low, high = np.percentile(defined, _ENDS)
    return _Middle(float(values[0]), float(low), float(high))

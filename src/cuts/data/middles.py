"""The middle half of the values of each numeric column: how far rows are spread, whatever a few outliers do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cuts.data.columns import Numeric
from cuts.data.conform import conform
from cuts.data.schema import Schema
from cuts.data.table import Floats, Table
from cuts.text.diagnostic import CutsError
from cuts.vocab.interval import Interval


def with_middles(schema: Schema, table: Table) -> Schema:
    """The schema with the middle half of every numeric column's values in a table; default tolerances follow from it.

    Columns that are absent, of another type or constant have none.
    """
    middles = [
        (column.name, middle)
        for column in schema.modelled
        if isinstance(column, Numeric) and (middle := _middle(table, schema, column.name)) is not None
    ]
    return replace(schema, middles=tuple(middles))


def _middle(table: Table, schema: Schema, name: str) -> Interval | None:
    try:
        values = conform(table, schema, [name]).numbers(name)
    except CutsError:
        return None
    return middle_half(values[np.isfinite(values)])


def middle_half(values: Floats) -> Interval | None:
    """From the lower to the upper quartile; one standard deviation around the mean where those are equal.

    None if the values are all the same. Both are differences of values, so a standard deviation serves as well.

    >>> middle_half(np.array([1.0, 2.0, 3.0, 4.0, 800.0]))
    Interval(low=2.0, high=4.0)
    >>> middle_half(np.array([0.0, 0.0, 0.0, 0.0, 5.0]))
    Interval(low=0.0, high=2.0)
    """
    if not len(values):
        return None
    low, high = np.quantile(values, [0.25, 0.75]).tolist()
    if low == high:
        mean, deviation = float(values.mean()), float(values.std())
        low, high = mean - deviation / 2, mean + deviation / 2
    return Interval(low, high) if low < high else None

"""A table as arrays: categories as indices of the schema's list, numbers clipped to its range.

Values outside the schema are counted and are not an error: evaluation takes the rows as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.conform import conform, outside_domain
from cuts.data.schema import Category, Empty, Identifier, Modelled, Numeric, Schema
from cuts.data.table import Floats, IntArray, Table

Role = Literal["synthetic", "train", "test"]
Values: TypeAlias = Floats | IntArray


@dataclass(frozen=True, slots=True)
class Outside:
    """The number of values outside the schema: numbers out of range, unknown texts, unexpected missing values."""

    table: Role
    column: str
    beyond: int
    unknown: int
    missing: int


@dataclass(frozen=True, slots=True)
class Sample:
    """The rows of a table. A category is its index in the schema's list; two more indices mean missing and unknown."""

    role: Role
    columns: tuple[Modelled, ...]
    table: Table  # with the schema's types, values as written
    values: dict[str, Values]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.table.rows

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(column.name for column in self.columns)

    def take(self, rows: IntArray) -> Sample:
        """The rows with these indices, in that order."""
        chosen = Table(self.table.arrow.take(pa.array(rows)))
        return Sample(self.role, self.columns, chosen, {name: values[rows] for name, values in self.values.items()})


def comparable(schema: Schema) -> tuple[Modelled, ...]:
    """The columns that can be compared: all but identifiers and empty columns."""
    return tuple(column for column in schema if not isinstance(column, Identifier | Empty))


def read_sample(table: Table, schema: Schema, role: Role) -> Sample:
    """The comparable columns of a table; raises `CutsError` when a column is absent or of another type."""
    columns = comparable(schema)
    typed = conform(table, schema, [column.name for column in columns])
    return Sample(role, columns, typed, {column.name: _values(typed, column) for column in columns})


def outside(samples: Sequence[Sample]) -> tuple[Outside, ...]:
    """The counts of values outside the schema, one per column and table that has any."""
    counts = [_outside(sample, column) for sample in samples for column in sample.columns]
    return tuple(count for count in counts if count.beyond or count.unknown or count.missing)


def thin(sample: Sample, max_rows: int, rng: np.random.Generator) -> Sample:
    """At most `max_rows` of the rows, sampled without replacement."""
    if sample.rows <= max_rows:
        return sample
    return sample.take(np.sort(rng.choice(sample.rows, max_rows, replace=False)))


def text_codes(sample: Sample, column: Numeric) -> IntArray:
    """For every row the position of its text beside the numbers, from 1; 0 for numbers, missing and unknown texts."""
    if not column.texts:
        return np.zeros(sample.rows, dtype=np.int64)
    indices = pc.index_in(sample.table.texts(column.name), value_set=pa.array(column.texts, pa.string()))
    codes: IntArray = indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) + 1
    return codes


def _values(typed: Table, column: Modelled) -> Values:
    missing = typed.missing(column.name)
    if not isinstance(column, Category):
        return np.clip(typed.numbers(column.name), column.low, column.high)
    categories = pa.array(column.categories, pa.string())
    indices = pc.index_in(typed.column(column.name), value_set=categories).combine_chunks()
    unknown = len(column.categories) + 1
    codes: IntArray = indices.fill_null(unknown).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.where(missing, len(column.categories), codes)


def _outside(sample: Sample, column: Modelled) -> Outside:
    values = sample.values[column.name]
    missing = 0 if column.missing else int(sample.table.missing(column.name).sum())
    if isinstance(column, Category):
        unknown = int((values == len(column.categories) + 1).sum())
        return Outside(sample.role, column.name, 0, unknown, missing)
    written = sample.table.numbers(column.name)
    beyond = int(((written < column.low) | (written > column.high)).sum())  # false where missing
    unknown = int((outside_domain(sample.table, column) & np.isnan(written)).sum())
    return Outside(sample.role, column.name, beyond, unknown, missing)

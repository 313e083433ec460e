"""Values to bins and back.

A category column has one bin a category, a numeric column half-open bins `[edge, next edge)` of float64 values, and a
column that may be missing one bin more, the last. Every cut the program asks for is an edge, so no bin straddles a
comparison: `x > c` begins at the next float64 after `c`, or at the next whole number for integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, floor, inf, nextafter
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cuts.data.conform import conform, outside_domain, outside_schema, unexpected_missing
from cuts.data.schema import Category, Integer, Numeric, Schema
from cuts.data.table import Table
from cuts.text.diagnostic import CutsError, Diagnostic

IntArray = NDArray[np.int64]
Codes: TypeAlias = dict[str, IntArray]


@dataclass(frozen=True, slots=True)
class CategoryBins:
    """One bin a category."""

    column: Category

    @property
    def size(self) -> int:
        """Number of bins, the one for missing values included."""
        return len(self.column.categories) + self.column.missing


@dataclass(frozen=True, slots=True)
class NumericBins:
    """Bins from each lower edge to the next; the first edge is the column's lowest value, the last bin ends at its
    highest."""

    column: Numeric
    edges: tuple[float, ...]

    @property
    def size(self) -> int:
        """Number of bins, the one for missing values included."""
        return len(self.edges) + self.column.missing


ColumnBins: TypeAlias = CategoryBins | NumericBins


@dataclass(frozen=True, slots=True)
class Codec:
    """The bins of every column of a schema."""

    schema: Schema
    columns: tuple[ColumnBins, ...]

    def __getitem__(self, name: str) -> ColumnBins:
        return self.columns[self.schema.position(name)]


def build_codec(schema: Schema, cuts: Mapping[str, Iterable[float]], *, coarse: bool = False) -> Codec:
    """The codec of a schema with `cuts` as further edges; `coarse` keeps only those."""
    bins: list[ColumnBins] = []
    for column in schema:
        if isinstance(column, Category):
            bins.append(CategoryBins(column))
        else:
            own = () if coarse else _own_edges(column)
            bins.append(NumericBins(column, _edges(column, (*own, *cuts.get(column.name, ())))))
    return Codec(schema, tuple(bins))


def after(value: float, *, whole: bool) -> float:
    """The least number above `value`: the next whole one, or the next float64.

    >>> after(35.0, whole=True), after(35.5, whole=True), after(1.0, whole=False) > 1.0
    (36.0, 36.0, True)
    """
    return floor(value) + 1.0 if whole else nextafter(value, inf)


def encode(table: Table, codec: Codec) -> Codes:
    """The bin of every value; raises `CutsError` when a value lies outside the schema."""
    typed = conform(table, codec.schema)
    codes: Codes = {}
    problems: list[Diagnostic] = []
    for bins in codec.columns:
        column = bins.column
        missing, outside = typed.missing(column.name), outside_domain(typed, column)
        if missing.any() and not column.missing:
            problems.append(unexpected_missing(column, int(missing.sum()), int(missing.argmax())))
        elif outside.any():
            row = int(outside.argmax())
            value = typed.first([row], [column.name])[0][column.name]
            problems.append(outside_schema(column, int(outside.sum()), row, value))
        else:
            codes[column.name] = np.where(missing, bins.size - 1, _bin(typed, bins))
    if problems:
        raise CutsError(problems)
    return codes


def decode(codes: Codes, codec: Codec, *, seed: int) -> Table:
    """A value for every code, drawn evenly from its bin."""
    streams = np.random.SeedSequence(seed).spawn(len(codec.columns))
    arrays = {
        bins.column.name: _values(codes[bins.column.name], bins, np.random.Generator(np.random.Philox(stream)))
        for bins, stream in zip(codec.columns, streams, strict=True)
    }
    return Table(pa.table(arrays))


def _own_edges(column: Numeric) -> tuple[float, ...]:
    if isinstance(column.bins, tuple):
        return column.bins
    step = (column.high - column.low) / column.bins
    return tuple(column.low + k * step for k in range(1, column.bins))


def _edges(column: Numeric, cuts: Iterable[float]) -> tuple[float, ...]:
    whole = isinstance(column, Integer)
    inner = {float(ceil(cut)) if whole else float(cut) for cut in cuts}
    return (float(column.low), *sorted(cut for cut in inner if column.low < cut <= column.high))


def _bin(typed: Table, bins: ColumnBins) -> IntArray:
    name = bins.column.name
    if isinstance(bins, CategoryBins):
        places = pc.index_in(typed.column(name), value_set=pa.array(bins.column.categories, pa.string()))
        return np.asarray(places.combine_chunks().fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
    return np.searchsorted(np.array(bins.edges), typed.numbers(name), side="right").astype(np.int64) - 1


def _values(codes: IntArray, bins: ColumnBins, rng: np.random.Generator) -> pa.Array:
    last = bins.size - 1 if bins.column.missing else bins.size
    missing = codes == last
    if isinstance(bins, CategoryBins):
        places = pa.array(np.where(missing, 0, codes), mask=missing)
        return pa.array(bins.column.categories, pa.string()).take(places)
    column, lower = bins.column, np.array(bins.edges)
    at = np.where(missing, 0, codes)
    share = rng.random(len(codes))
    if isinstance(column, Integer):
        upper = np.append(lower[1:], column.high + 1.0)
        values = lower[at] + np.floor(share * (upper[at] - lower[at]))
        return pa.array(values.astype(np.int64), mask=missing)
    upper = np.append(np.nextafter(lower[1:], -inf), column.high)
    return pa.array(np.clip(lower[at] + share * (upper[at] - lower[at]), lower[at], upper[at]), mask=missing)

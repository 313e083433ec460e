"""Values to bins and back.

A category column has one bin per category, or per group of rarer ones; a numeric column has half-open bins
`[edge, next edge)`, and after them one bin per text beside its numbers, or per group of rarer ones; a column that may
be missing has one more bin, the last. Every constant the program compares with
is an edge, so no bin straddles a comparison: `x > c` begins at the next value the column can have. `data/binning.py`
chooses bins from rows; without rows they are of equal width. Some columns are not modelled but follow from others when
rows are decoded: derived columns are looked up, tied columns (`data/ties.py`) and computed columns (`data/computed.py`)
are sums and formulas of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.bin_contents import Members, Pieces, join_members, join_pieces
from cuts.data.columns import Category, Modelled, Numeric, is_written_as_text
from cuts.data.computed import rounded
from cuts.data.conform import column_problems, conform, formula_problems
from cuts.data.edges import edges_up_to
from cuts.data.identifiers import make_identifiers
from cuts.data.lattice import at_least, before
from cuts.data.number_texts import write_cells
from cuts.data.physical import as_arrow, as_numbers
from cuts.data.schema import Empty, Identifier, Schema
from cuts.data.table import Floats, IntArray, Table
from cuts.data.ties import Tie, coordinates, tied_numbers, with_hidden
from cuts.text.diagnostic import CutsError

Codes: TypeAlias = dict[str, IntArray]


@dataclass(frozen=True, slots=True)
class CategoryBins:
    """The categories in each bin, and their frequencies within it."""

    column: Category
    groups: tuple[tuple[str, ...], ...]
    contents: Members

    @property
    def numbers(self) -> int:
        """Number of bins that count as a number in arithmetic: all but the one for missing values."""
        return len(self.groups)

    @property
    def size(self) -> int:
        """Number of bins, the one for missing values included."""
        return len(self.groups) + self.column.missing


@dataclass(frozen=True, slots=True)
class NumericBins:
    """The lower edge of each bin of numbers, the column's lowest value first, and the contents of each.

    Behind them are the bins of texts: `texts` has the texts in each, of which the first is written for all of them.
    """

    column: Numeric
    edges: tuple[float, ...]
    contents: Pieces
    texts: tuple[tuple[str, ...], ...] = ()

    @property
    def numbers(self) -> int:
        """Number of bins of numbers; those of texts and of missing values follow."""
        return len(self.edges)

    @property
    def size(self) -> int:
        """Number of bins, those for texts and for missing values included."""
        return len(self.edges) + len(self.texts) + self.column.missing


ColumnBins: TypeAlias = CategoryBins | NumericBins
Follows: TypeAlias = tuple[
    str, str, dict[str, str | float | None]
]  # column, its determinant, and the values of the column by value of the determinant


@dataclass(frozen=True, slots=True)
class Codec:
    """The bins of every modelled column of a schema, and the values of derived columns.

    A tied column is not among the modelled ones: the hidden column that it is computed from is there in its place.
    """

    schema: Schema
    columns: tuple[ColumnBins, ...]
    derived: tuple[Follows, ...] = ()
    ties: tuple[Tie, ...] = ()

    @property
    def inner(self) -> Schema:
        """The schema with hidden columns in the place of tied ones: the bins, and predicates on them, are about it."""
        return coordinates(self.schema, self.ties)

    def modelled(self, names: Iterable[str]) -> tuple[str, ...]:
        """The columns with hidden ones in the place of tied ones: those that a model has bins for."""
        hidden = {tie.column: tie.hidden.name for tie in self.ties}
        return tuple(hidden.get(name, name) for name in names)

    @property
    def sizes(self) -> dict[str, int]:
        """The number of bins of every modelled column, in order, the bin for missing values included."""
        return {bins.column.name: bins.size for bins in self.columns}

    def __getitem__(self, name: str) -> ColumnBins:
        for bins in self.columns:
            if bins.column.name == name:
                return bins
        raise KeyError(name)


def build_codec(schema: Schema, cuts: Mapping[str, Iterable[float]], *, coarse: bool = False) -> Codec:
    """The codec of a schema without rows, with `cuts` as additional edges, or with `cuts` alone if `coarse`."""
    bins: list[ColumnBins] = []
    for column in schema.modelled:
        if isinstance(column, Category):
            bins.append(single_categories(column))
        else:
            own = () if coarse else even_edges(column)
            bins.append(even_bins(column, clean_edges(column, (*own, *cuts.get(column.name, ())))))
    return Codec(schema, tuple(bins))


def encode(table: Table, codec: Codec) -> Codes:
    """The bin of every value; raises `CutsError` when a value lies outside the schema or breaks one of its formulas."""
    tied = {tie.hidden.name: tie.column for tie in codec.ties}
    modelled = [tied.get(bins.column.name, bins.column.name) for bins in codec.columns]
    formulas = [(codec.schema.number(name), formula) for name, formula in codec.schema.formulas if name in table.names]
    typed = conform(table, codec.schema, [*modelled, *(column.name for column, _ in formulas)])
    problems = [problem for name in modelled for problem in column_problems(typed, codec.schema.learned(name))]
    if not problems:
        problems = [problem for column, formula in formulas for problem in formula_problems(typed, column, formula)]
    if problems:
        raise CutsError(problems)
    typed = with_hidden(typed, typed, codec.ties)
    return {
        bins.column.name: np.where(typed.missing(bins.column.name), bins.size - 1, bin_of(typed, bins))
        for bins in codec.columns
    }


def decode(
    codes: Codes, codec: Codec, *, seed: int, first: int = 0, values: Mapping[str, Floats] | None = None
) -> Table:
    """One value per code, sampled from its bin; identifiers are generated, columns that follow from others computed.

    `values` are values of numeric columns that were drawn elsewhere (NaN means missing). A table too large to decode at
    once is decoded in blocks; `first` is the number of rows before the block. Every block has its own random numbers,
    determined by `seed` and `first`, and identifiers continue counting.
    """
    rows = len(next(iter(codes.values())))
    streams = iter(np.random.SeedSequence([seed, first]).spawn(len(codec.columns)))
    arrays: dict[str, pa.Array] = {}
    numbers: dict[str, Floats] = dict(values or {})
    for bins in codec.columns:
        rng, name = np.random.Generator(np.random.Philox(next(streams))), bins.column.name
        if isinstance(bins, CategoryBins):
            arrays[name] = _categories(codes[name], bins, rng)
            continue
        if name not in numbers:
            numbers[name] = _numbers(codes[name], bins, rng)
        if is_written_as_text(bins.column):
            arrays[name] = write_cells(numbers.pop(name), _texts(codes[name], bins), bins.column)
    arrays.update(compute(numbers, codec))
    values_by_key = {name: values for name, _, values in codec.derived}
    for name, determinant in codec.schema.derived:
        arrays[name] = follow(arrays[determinant], values_by_key.get(name, {}), codec.schema.learned(name))
    for column in codec.schema:
        if isinstance(column, Identifier):
            arrays[column.name] = make_identifiers(column, rows, seed, first)
        elif isinstance(column, Empty):
            arrays[column.name] = pa.nulls(rows)
    return Table(pa.table({name: arrays[name] for name in codec.schema.names}))


def compute(numbers: Mapping[str, Floats], codec: Codec) -> dict[str, pa.Array]:
    """The numeric columns of a schema, tied and computed ones included, from the values of the modelled ones."""
    known = dict(numbers)
    for tie in codec.ties:
        known[tie.column] = tied_numbers(known[tie.hidden.name], known[tie.anchor], tie)
    for name, formula in codec.schema.formulas:
        known[name] = rounded(formula.numbers(known), codec.schema.number(name))
    return {
        column.name: _as_array(known[column.name], column)
        for column in codec.schema
        if isinstance(column, Numeric) and column.name in known
    }


def with_identifiers(table: Table, codec: Codec, *, seed: int, first: int) -> Table:
    """The table with new identifiers, starting after the first `first` ones."""
    arrow = table.arrow
    for index, column in enumerate(codec.schema):
        if isinstance(column, Identifier):
            arrow = arrow.set_column(index, column.name, make_identifiers(column, table.rows, seed, first))
    return Table(arrow)


def follow(determinant: pa.Array, values_by_key: dict[str, str | float | None], column: Modelled) -> pa.Array:
    """One derived value per value of the determinant; missing where `values_by_key` does not have it."""
    keys = determinant if pa.types.is_string(determinant.type) else as_numbers(determinant)
    assert keys is not None, determinant.type
    indices = pc.index_in(keys.cast(pa.string()), value_set=pa.array(list(values_by_key), pa.string()))
    if isinstance(column, Category):
        return pa.array(list(values_by_key.values()), pa.string()).take(indices)
    values = pa.array(list(values_by_key.values()), pa.float64()).take(indices)
    return as_arrow(values.fill_null(0.0).to_numpy(), column, ~np.asarray(values.is_valid()))


# --- bins without rows


def single_categories(column: Category) -> CategoryBins:
    """One bin per category."""
    alone = [(np.array([i]), np.ones(1)) for i in range(len(column.categories))]
    return CategoryBins(column, tuple((c,) for c in column.categories), join_members(alone))


def single_texts(column: Numeric) -> tuple[tuple[str, ...], ...]:
    """One bin per text."""
    return tuple((text,) for text in column.texts)


def even_edges(column: Numeric) -> tuple[float, ...]:
    """The edges declared in the schema, else the edges of bins of equal width."""
    if isinstance(column.bins, tuple):
        return column.bins
    step = (column.high - column.low) / column.bins
    return tuple(column.low + k * step for k in range(1, column.bins))


def clean_edges(column: Numeric, cuts: Iterable[float]) -> tuple[float, ...]:
    """The column's lowest value, then the cuts inside its range, moved up to its lattice."""
    inner = {at_least(float(cut), column.per_unit) for cut in cuts}
    return (float(column.low), *sorted(cut for cut in inner if column.low < cut <= column.high))


def even_bins(column: Numeric, edges: tuple[float, ...]) -> NumericBins:
    """Bins whose values are all equally likely."""
    pieces = [even_piece(column, low, high) for low, high in bin_limits(column, edges)]
    return NumericBins(column, edges, join_pieces(pieces, column.per_unit), single_texts(column))


def bin_limits(column: Numeric, edges: tuple[float, ...]) -> list[tuple[float, float]]:
    """The lowest and highest value of each bin."""
    ends = [*(before(edge, column.per_unit) for edge in edges[1:]), float(column.high)]
    return list(zip(edges, ends, strict=True))


def even_piece(column: Numeric, low: float, high: float) -> tuple[Floats, Floats, Floats]:
    """One piece from `low` to `high`, in lattice numbers if the column has a lattice."""
    unit = 1.0 if column.per_unit is None else column.per_unit
    ends = [low, high] if column.per_unit is None else [round(low * unit), round(high * unit)]
    return np.array(ends[:1], dtype=float), np.array(ends[1:], dtype=float), np.ones(1)


# --- values


def bin_of(typed: Table, bins: ColumnBins) -> IntArray:
    """The bin of every value of a conformed column; arbitrary where it is missing."""
    name = bins.column.name
    if isinstance(bins, CategoryBins):
        owner = {category: i for i, group in enumerate(bins.groups) for category in group}
        categories = pa.array(bins.column.categories, pa.string())
        indices = pc.index_in(typed.column(name), value_set=categories).combine_chunks().fill_null(0)
        bin_by_index = np.array([owner.get(category, 0) for category in bins.column.categories], dtype=np.int64)
        bin_numbers: IntArray = bin_by_index[indices.to_numpy(zero_copy_only=False)]
        return bin_numbers
    of_number = edges_up_to(typed.numbers(name), np.array(bins.edges)) - 1
    if not bins.texts:
        return of_number
    texts = [text for group in bins.texts for text in group]
    group_of = np.repeat(np.arange(len(bins.texts)), [len(group) for group in bins.texts])
    index = pc.index_in(typed.texts(name), value_set=pa.array(texts, pa.string()))
    of_text = bins.numbers + group_of[index.fill_null(0).to_numpy(zero_copy_only=False)]
    return np.where(index.is_valid().to_numpy(zero_copy_only=False), of_text, of_number)


def _categories(codes: IntArray, bins: CategoryBins, rng: np.random.Generator) -> pa.Array:
    missing = codes == len(bins.groups)
    indices = pa.array(bins.contents.draw(np.where(missing, 0, codes), rng), mask=missing)
    return pa.array(bins.column.categories, pa.string()).take(indices)


def _numbers(codes: IntArray, bins: NumericBins, rng: np.random.Generator) -> Floats:
    """One value per code, NaN where it is a text or missing."""
    absent = codes >= bins.numbers
    return np.where(absent, np.nan, bins.contents.draw(np.where(absent, 0, codes), rng))


def _texts(codes: IntArray, bins: NumericBins) -> pa.Array:
    """The text of every code, null where it is a number or missing."""
    place = codes - bins.numbers
    is_text = (place >= 0) & (place < len(bins.texts))
    written = pa.array([group[0] for group in bins.texts], pa.string())
    return written.take(pa.array(np.where(is_text, place, 0), mask=~is_text))


def _as_array(numbers: Floats, column: Numeric) -> pa.Array:
    missing = np.isnan(numbers)
    return as_arrow(np.where(missing, column.low, numbers), column, missing)

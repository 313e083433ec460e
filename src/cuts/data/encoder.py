"""Encoding of many blocks of one table, faster than block by block.

A column that has few different values needs few decisions: `encode` decides once what each of them is, and every row
looks its own up. The values are the entries of an Arrow dictionary, the categories of a column of texts, or all whole
numbers in the range of a column. Other columns are converted, checked and binned on their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cuts.data.codec import Codec, Codes, ColumnBins, bin_of, encode
from cuts.data.columns import LARGEST_WHOLE, Category, Modelled, Temporal
from cuts.data.conform import conform, formula_problems, outside_domain, typed_values
from cuts.data.table import Bools, IntArray, Table
from cuts.data.ties import Tie, with_hidden
from cuts.text.diagnostic import CutsError

SmallCodes: TypeAlias = dict[str, NDArray[np.integer[Any]]]  # each of any integer type that fits
_Small: TypeAlias = NDArray[np.unsignedinteger[Any]]

MAX_WHOLE_NUMBERS = 1 << 21  # in the range of a column whose values are looked up,
MAX_ALL_WHOLE_NUMBERS = 1 << 26  # and of all columns together
_BUILD_ROWS = 1 << 16  # entries decided at once
_WHOLE = re.compile(r"-?[0-9]{1,15}")


class Encoder:
    """`encode` for the blocks of one table: the same codes, in small types, and the same errors.

    It remembers what it has decided about values, so it must not be used by two threads at once.
    """

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        ties = {tie.hidden.name: tie for tie in codec.ties}
        room = min(MAX_WHOLE_NUMBERS, MAX_ALL_WHOLE_NUMBERS // max(1, len(codec.columns)))
        self._columns: dict[str, _Column | _Tied] = {}
        for bins in codec.columns:
            name = bins.column.name
            self._columns[name] = _Tied(bins, ties[name], codec) if name in ties else _Column(bins, room)

    def codes(self, table: Table) -> SmallCodes:
        """The bin of every value; raises `CutsError` when a value lies outside the schema or breaks a formula."""
        found: SmallCodes = {}
        for name, column in self._columns.items():
            codes = column.codes(table)
            if codes is None:
                return {**encode(table, self._codec)}  # which says all that is wrong
            found[name] = codes
        return found if self._formulas_hold(table) else {**encode(table, self._codec)}

    def _formulas_hold(self, table: Table) -> bool:
        schema = self._codec.schema
        formulas = [(schema.number(name), formula) for name, formula in schema.formulas if name in table.names]
        if not formulas:
            return True
        needed = [name for column, formula in formulas for name in (column.name, *formula.columns)]
        try:
            typed = conform(table, schema, needed)
        except CutsError:
            return False
        return not any(formula_problems(typed, column, formula) for column, formula in formulas)


def widened(codes: SmallCodes) -> Codes:
    """The codes as int64, for computing with them."""
    return {name: values.astype(np.int64, copy=False) for name, values in codes.items()}


def columns_to_encode(codec: Codec) -> tuple[str, ...]:
    """The columns that a table needs for being encoded."""
    tied = {tie.hidden.name: tie.column for tie in codec.ties}
    modelled = [tied.get(bins.column.name, bins.column.name) for bins in codec.columns]
    anchors = [tie.anchor for tie in codec.ties]
    computed = [name for column, formula in codec.schema.formulas for name in (column, *formula.columns)]
    return tuple(dict.fromkeys([*modelled, *anchors, *computed]))


def holding(size: int) -> type[np.unsignedinteger[Any]]:
    """The smallest type for whole numbers below `size`.

    >>> holding(256).__name__, holding(257).__name__
    ('uint8', 'uint16')
    """
    return next(kind for kind in (np.uint8, np.uint16, np.uint32) if size <= 1 << 8 * kind().itemsize)


@dataclass(frozen=True, slots=True, eq=False)
class _Decided:
    """The codes of some values, and where a value is not allowed; None if all are."""

    codes: _Small
    wrong: Bools | None

    def allowed(self) -> _Small | None:
        """The codes, unless a value is not allowed."""
        return self.codes if self.wrong is None else None

    def at(self, places: IntArray) -> _Small | None:
        """The codes of the values at these places, unless one of those is not allowed."""
        if self.wrong is not None and self.wrong.take(places).any():
            return None
        return self.codes.take(places)


class _Column:
    """The codes of one column. They are None where something is wrong."""

    def __init__(self, bins: ColumnBins, room: int) -> None:
        self._bins, self._room = bins, room
        self._dictionary: tuple[pa.Array, _Decided | None] | None = None  # the last one, decided
        self._texts: tuple[pa.Array, _Decided] | None = None  # the categories, decided
        self._whole: dict[pa.DataType, tuple[int, _Decided]] = {}  # the lowest number, and all from it on
        self._rows = 0

    def codes(self, table: Table) -> _Small | None:
        name = self._bins.column.name
        if name not in table.names:
            return None
        values = table.column(name).combine_chunks()
        self._rows += len(values)
        if pa.types.is_dictionary(values.type):
            return self._of_dictionary(values)
        if isinstance(self._bins.column, Category) and pa.types.is_string(values.type):
            return self._of_texts(values)
        numbers = _whole_numbers(values)
        codes = None if numbers is None else self._of_whole(numbers, values.type)
        return self._plainly(values) if codes is None else codes

    def _of_dictionary(self, values: pa.DictionaryArray) -> _Small | None:
        if isinstance(self._bins.column, Category) and pa.types.is_floating(values.type.value_type):
            return self._plainly(values)  # how a number is written as a category depends on the others
        entries = values.dictionary
        if self._dictionary is None or not self._dictionary[0].equals(entries):
            with_missing = pa.concat_arrays([entries, pa.nulls(1, entries.type)])
            self._dictionary = entries, _decided(with_missing, self._bins)
        decided = self._dictionary[1]
        if decided is None:  # perhaps because of an entry that no row has
            return self._plainly(values)
        return decided.at(_places(values.indices, missing=len(entries)))

    def _of_texts(self, values: pa.Array) -> _Small | None:
        if self._texts is None:
            assert isinstance(self._bins.column, Category)
            texts = pa.array([*self._bins.column.categories, None], pa.string())
            decided = _decided(texts, self._bins)
            assert decided is not None
            self._texts = texts.slice(0, len(texts) - 1), decided
        categories, decided = self._texts
        places = pc.index_in(values, value_set=categories)
        if places.null_count > values.null_count:
            return None
        return decided.at(_places(places, missing=len(categories)))

    def _of_whole(self, numbers: pa.Array, kind: pa.DataType) -> _Small | None:
        """The codes of whole numbers by look-up, which pays when there are more rows than possible numbers."""
        if kind not in self._whole:
            low, high = _whole_range(self._bins.column, kind)
            if not 0 <= high - low < min(self._room, self._rows):
                return None
            self._whole[kind] = low, _all_decided(low, high, kind, self._bins)
        low, decided = self._whole[kind]
        behind = low + len(decided.codes) - 1  # where the missing value is
        lowest, highest = pc.min_max(numbers).as_py().values()
        if lowest is not None and not low <= lowest <= highest < behind:
            return None
        return decided.at(_places(numbers, missing=behind) - low)

    def _plainly(self, values: pa.Array) -> _Small | None:
        decided = _decided(values, self._bins)
        return None if decided is None else decided.allowed()


class _Tied:
    """The codes of a hidden column, which is computed from a tied column and its anchor."""

    def __init__(self, bins: ColumnBins, tie: Tie, codec: Codec) -> None:
        self._bins, self._tie = bins, tie
        self._column, self._anchor = codec.schema.learned(tie.column), codec.schema.learned(tie.anchor)

    def codes(self, table: Table) -> _Small | None:
        typed: dict[str, pa.Array] = {}
        for column in (self._column, self._anchor):
            if column.name not in table.names:
                return None
            values = typed_values(table.column(column.name).combine_chunks(), column)
            if values is None:
                return None
            typed[column.name] = values
        both = Table(pa.table(typed))
        hidden = with_hidden(both, both, [self._tie])
        return _in_bins(hidden, self._bins, outside_domain(both, self._column)).allowed()


def _decided(values: pa.Array, bins: ColumnBins) -> _Decided | None:
    """The codes of values as `encode` decides them; None if they are of the wrong type."""
    typed_array = typed_values(values, bins.column)
    if typed_array is None:
        return None
    typed = Table(pa.table({bins.column.name: typed_array}))
    return _in_bins(typed, bins, outside_domain(typed, bins.column))


def _in_bins(typed: Table, bins: ColumnBins, outside: Bools) -> _Decided:
    """The codes of a conformed column, some values of which may be outside its domain."""
    small = holding(bins.size)
    missing = typed.missing(bins.column.name)
    wrong = outside if bins.column.missing else outside | missing
    codes = np.where(missing, bins.size - 1, bin_of(typed, bins))
    if not wrong.any() and (len(codes) == 0 or 0 <= codes.min() <= codes.max() < bins.size):
        return _Decided(codes.astype(small), None)
    wrong = wrong | (codes < 0) | (codes >= bins.size)
    return _Decided(np.where(wrong, 0, codes).astype(small), wrong)


# --- whole numbers


def _whole_numbers(values: pa.Array) -> pa.Array | None:
    """The values as whole numbers that stand for them, without a copy if possible; None if they are not whole."""
    if pa.types.is_integer(values.type):
        return values
    if pa.types.is_boolean(values.type):
        return values.cast(pa.uint8())
    return values.cast(pa.int32()) if pa.types.is_date32(values.type) else None


def _whole_range(column: Modelled, kind: pa.DataType) -> tuple[int, int]:
    """The lowest and highest whole number in the column if its values are of this type; in reverse if none is."""
    if pa.types.is_boolean(kind):
        return (0, 1) if isinstance(column, Category) else (0, -1)
    if isinstance(column, Category):
        numbers = [int(text) for text in column.categories if _WHOLE.fullmatch(text)]
        return (min(numbers), max(numbers)) if numbers else (0, -1)
    if pa.types.is_date32(kind) != isinstance(column, Temporal) or max(-column.low, column.high) >= LARGEST_WHOLE:
        return 0, -1
    return ceil(column.low), floor(column.high)


def _all_decided(low: int, high: int, kind: pa.DataType, bins: ColumnBins) -> _Decided:
    """All whole numbers of a range, which stand for values of this type, and behind them a missing value."""
    parts = [_decided(part, bins) for part in _all_values(low, high, kind)]
    decided = [part for part in parts if part is not None]
    assert len(decided) == len(parts), kind
    wrong = [np.zeros(len(part.codes), np.bool_) if part.wrong is None else part.wrong for part in decided]
    joined = np.concatenate(wrong)
    return _Decided(np.concatenate([part.codes for part in decided]), joined if joined.any() else None)


def _all_values(low: int, high: int, kind: pa.DataType) -> Iterable[pa.Array]:
    wide = pa.int64() if pa.types.is_integer(kind) else kind  # the range may exceed that of the type
    for start in range(low, high + 1, _BUILD_ROWS):
        numbers = np.arange(start, min(start + _BUILD_ROWS, high + 1))
        yield (
            pa.array(numbers).cast(pa.int32()).cast(wide) if pa.types.is_date32(kind) else pa.array(numbers).cast(wide)
        )
    yield pa.nulls(1, wide)


def _places(indices: pa.Array, *, missing: int) -> IntArray:
    """The indices as numpy takes them, with one for missing values."""
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(missing)
    places: IntArray = indices.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return places

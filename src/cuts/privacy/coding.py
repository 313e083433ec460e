"""The bins of private cells. The bin of a cell depends on that cell and the schema alone, and no cell raises an error.

A cell that fits no bin is missing, or the category `other`, or removes its row; a number outside of its range counts at
the nearest end. Columns of any Arrow type are accepted. A typed cell means what its text would mean, so the type that
other rows gave a column does not matter; lists and structs are missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.codec import CategoryBins, Codec, Codes, ColumnBins
from cuts.data.columns import LARGEST_WHOLE, MomentKind, Numeric, Temporal
from cuts.data.physical import as_numbers
from cuts.data.table import Bools, Floats, IntArray, Table
from cuts.data.temporal import parse_moment, show_moment

NO_BIN = -1  # of a cell that removes its row
_DAY_SECONDS = 86_400
_TEXTS = (
    *(pa.string(), pa.large_string(), pa.string_view()),
    *(pa.binary(), pa.large_binary(), pa.binary_view()),
)
TRUTHS = {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")  # 007 is a name
_SPAN = re.compile(r"(-?[0-9]{1,9}) days \+?([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)")


def encode_cells(block: Table, codec: Codec) -> tuple[Codes, Bools]:
    """The bin of every cell, and which rows are kept; codes of the other rows are 0.

    >>> from cuts.data.codec import build_codec
    >>> from cuts.data.schema import Category, Integer, Schema
    >>> codec = build_codec(Schema("t", (Integer("age", 0, 99, 2), Category("sex", ("f", "m")))), {})
    >>> codes, kept = encode_cells(Table(pa.table({"age": ["7", "1e9", "8"], "sex": ["f", " m", "?"]})), codec)
    >>> {name: column.tolist() for name, column in codes.items()}, kept.tolist()
    ({'age': [0, 1, 0], 'sex': [0, 1, 0]}, [True, True, False])
    """
    kept = np.ones(block.rows, dtype=np.bool_)
    codes: Codes = {}
    for bins in codec.columns:
        chunks = [cell_bins(chunk, bins) for chunk in block.column(bins.column.name).chunks]
        codes[bins.column.name] = np.concatenate([np.zeros(0, dtype=np.int64), *chunks])
        kept &= codes[bins.column.name] != NO_BIN
    return {name: np.where(kept, column, 0) for name, column in codes.items()}, kept


def cell_texts(column: pa.ChunkedArray) -> list[str | None]:
    """The text of every cell, which identifies categories and persons; a list or a struct has none.

    >>> cell_texts(pa.chunked_array([pa.array([1.0, 2.5, None, float("nan")])]))
    ['1', '2.5', None, None]
    """
    return [text for chunk in column.chunks for text in _decoded(_texts(chunk))]


def float_text(number: float) -> str | None:
    """The number as text, a whole one without a decimal point; None for NaN.

    >>> float_text(3.0), float_text(0.1), float_text(float("inf"))
    ('3', '0.1', 'inf')
    """
    if math.isnan(number):
        return None
    return str(int(number)) if abs(number) < LARGEST_WHOLE and number == int(number) else repr(number)


def cell_bins(values: pa.Array, bins: ColumnBins) -> IntArray:
    """The bin of every cell, `NO_BIN` where its row is removed."""
    values = _unwrapped(values)
    if pa.types.is_dictionary(values.type):
        by_index: IntArray = np.append(cell_bins(values.dictionary, bins), missing_bin(bins))
        return by_index[_indices(values)]
    if isinstance(bins, CategoryBins):
        coded = _texts(values).dictionary_encode()
        bin_of = _category_bin(bins)
        by_text = [missing_bin(bins) if text is None else bin_of(text) for text in _decoded(coded.dictionary)]
        return np.array([*by_text, missing_bin(bins)], dtype=np.int64)[_indices(coded)]
    numbers = np.clip(_numbers(values, bins.column), bins.column.low, bins.column.high)
    codes = np.searchsorted(np.array(bins.edges), numbers, side="right").astype(np.int64) - 1
    return np.where(np.isnan(numbers), missing_bin(bins), codes)


def _indices(coded: pa.DictionaryArray) -> IntArray:
    """The dictionary index of every cell, -1 where it is missing."""
    indices: IntArray = coded.indices.cast(pa.int64(), safe=False).fill_null(-1).to_numpy(zero_copy_only=False)
    return indices


def _unwrapped(values: pa.Array) -> pa.Array:
    """The values without extension types and run-end encoding."""
    while isinstance(values.type, pa.BaseExtensionType) or pa.types.is_run_end_encoded(values.type):
        values = values.storage if isinstance(values.type, pa.BaseExtensionType) else pc.run_end_decode(values)
    return values


# --- categories


def named_bins(bins: CategoryBins) -> dict[str, int]:
    """The bin of every category, by its name."""
    owner = {category: i for i, group in enumerate(bins.groups) for category in group}
    return {category: owner.get(category, 0) for category in bins.column.categories}


def number_bins(bins: CategoryBins) -> dict[float, int]:
    """The bin of every category that spells a number, by that number; the first one if several spell the same."""
    bin_by_name = named_bins(bins)
    numeric = [category for category in bin_by_name if NUMBER.fullmatch(category)]
    return {float(category): bin_by_name[category] for category in reversed(numeric)}


def _category_bin(bins: CategoryBins) -> Callable[[str], int]:
    """The bin of a text: as written, without surrounding blanks, or as the truth value or number it spells."""
    bin_by_name, numbers = named_bins(bins), number_bins(bins)
    missing, unknown = missing_bin(bins), unknown_bin(bins)

    def bin_of(text: str) -> int:
        bare = text.strip()
        for written in (text, bare, TRUTHS.get(bare, bare)):
            if written in bin_by_name:
                return bin_by_name[written]
        if not bare:
            return missing
        return numbers.get(float(bare), unknown) if NUMBER.fullmatch(bare) else unknown

    return bin_of


def missing_bin(bins: ColumnBins) -> int:
    """The bin of a missing cell."""
    if bins.column.missing:
        return bins.size - 1
    return _other_bin(bins) if isinstance(bins, CategoryBins) else NO_BIN


def unknown_bin(bins: CategoryBins) -> int:
    """The bin of a text that is not a category."""
    other = _other_bin(bins)
    return bins.size - 1 if other == NO_BIN and bins.column.missing else other


def _other_bin(bins: CategoryBins) -> int:
    """The bin of the category that stands for all others, if the schema lists one."""
    for is_other in (lambda name: name == "__other__", lambda name: name.casefold() == "other"):
        for index, group in enumerate(bins.groups):
            if any(map(is_other, group)):
                return index
    return NO_BIN


def _texts(values: pa.Array) -> pa.Array:
    """The cells as unchecked UTF-8, each by itself, whatever the rest of the column holds."""
    values = _unwrapped(values)
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _texts(values.dictionary).take(values.indices)
    if _is_text(kind):
        return values.cast(pa.large_binary())
    if pa.types.is_floating(kind):
        return _shown(values.cast(pa.float64()), float_text)
    if pa.types.is_duration(kind):
        return _shown(as_numbers(values), partial(show_moment, "duration"))
    if pa.types.is_nested(kind):
        return pa.nulls(len(values), pa.large_binary())
    try:
        return values.cast(pa.string()).cast(pa.large_binary())
    except pa.ArrowException:  # by its type, such as an unknown time zone
        return pa.nulls(len(values), pa.large_binary())


def _shown(numbers: pa.Array, show: Callable[[float], str | None]) -> pa.Array:
    coded = numbers.dictionary_encode()
    shown = [None if number is None else show(number) for number in coded.dictionary.to_pylist()]
    return pa.array(shown, pa.string()).cast(pa.large_binary()).take(coded.indices)


def _decoded(texts: pa.Array) -> list[str | None]:
    return [None if text is None else text.decode("utf-8", "replace") for text in texts.to_pylist()]


def _is_text(kind: pa.DataType) -> bool:
    return kind in _TEXTS or pa.types.is_fixed_size_binary(kind)


# --- numbers


def _numbers(values: pa.Array, column: Numeric) -> Floats:
    """The number of every cell: its own, or the one that its text means; NaN where it is missing or not a number."""
    typed = _typed_moments(values, column.kind) if isinstance(column, Temporal) else _as_floats(values)
    if typed is not None:
        return np.asarray(typed.to_numpy(zero_copy_only=False), dtype=np.float64)
    coded = _texts(values).dictionary_encode()
    numbers = [math.nan if text is None else _number(text, column) for text in _decoded(coded.dictionary)]
    return np.array([*numbers, math.nan], dtype=np.float64)[_indices(coded)]


def _as_floats(values: pa.Array) -> pa.Array | None:
    is_number = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
    return values.cast(pa.float64(), safe=False) if is_number else None


def _typed_moments(values: pa.Array, kind: MomentKind) -> pa.Array | None:
    """The numbers of an array whose type is this kind of date or time; None for other types."""
    is_kind = {
        "date": pa.types.is_date32,  # the others can hold part of a day
        "time": pa.types.is_time,
        "timestamp": pa.types.is_timestamp,
        "duration": pa.types.is_duration,
    }
    return as_numbers(values) if is_kind[kind](values.type) else None


def _number(text: str, column: Numeric) -> float:
    """The number that a text means for a column, NaN if none."""
    bare = text.strip()
    if isinstance(column, Temporal):
        moment = _moment(bare, column.kind)
        return math.nan if moment is None else moment
    try:
        return float(bare)
    except ValueError:
        return math.nan


def _moment(text: str, kind: MomentKind) -> float | None:
    """What `parse_moment` reads, the day of a timestamp, and durations as pandas writes them: `2 days 01:30:00`."""
    moment = parse_moment(kind, text)
    if moment is None and kind == "date":
        day = re.match(r"[0-9-]{8,10}(?=[T ])", text)
        timestamp = parse_moment("timestamp", text)
        return parse_moment("date", day[0]) if day and timestamp is not None else None
    if moment is None and kind == "duration" and (span := _SPAN.fullmatch(text)):
        clock = parse_moment("time", span[2])
        return None if clock is None else (int(span[1]) * _DAY_SECONDS * 10**6 + round(clock * 1e6)) / 1e6
    return moment

"""Columns of canonical types converted back to their original Arrow types.

The canonical types are string for categories, int64 and float64 for numbers, date32, time64, timestamp and duration for
moments, and null for a column without values. Numbers are rounded to the precision of the type; NaN becomes missing if
the type has no NaN. A value outside the type raises `ArrowInvalid`: the caller produced a wrong value.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc


def recast(table: pa.Table, schema: pa.Schema, dictionaries: Mapping[str, pa.Array]) -> pa.Table:
    """The schema's columns of the table, in its order and types; `dictionaries` is a result of `dictionaries_of`.

    >>> recast(pa.table({"a": ["true", "false"]}), pa.schema({"a": pa.bool_()}), {}).column("a").to_pylist()
    [True, False]
    """
    columns = [recast_column(table.column(field.name), field.type, dictionaries.get(field.name)) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def dictionaries_of(table: pa.Table) -> dict[str, pa.Array]:
    """The categories of every dictionary column, in their order."""
    coded = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]
    if not coded:
        return {}
    unified = computable(table.select(coded)).unify_dictionaries()
    return {name: unified.column(name).chunk(0).dictionary for name in coded if unified.column(name).num_chunks}


def joined(dictionary: pa.Array, other: pa.Array) -> pa.Array:
    """The categories of both dictionaries; those of the first keep their positions."""
    if other.equals(dictionary):
        return dictionary
    categories, others = (plain_values(pa.chunked_array([values])).combine_chunks() for values in (dictionary, other))
    added = others.filter(pc.invert(pc.is_in(others, value_set=categories)))
    return pa.concat_arrays([categories, added]).cast(dictionary.type)


def recoded(table: pa.Table, dictionaries: Mapping[str, pa.Array]) -> pa.Table:
    """The table with its dictionary columns encoded by these dictionaries, which must contain all values."""
    for index, field in enumerate(table.schema):
        dictionary = dictionaries.get(field.name)
        chunks = table.column(index).chunks
        if dictionary is not None and not all(chunk.dictionary.equals(dictionary) for chunk in chunks):
            coded = _coded(plain_values(table.column(index)), field.type, dictionary)
            table = table.set_column(index, field, coded)
    return table


def recast_column(values: pa.ChunkedArray, kind: pa.DataType, dictionary: pa.Array | None = None) -> pa.ChunkedArray:
    """The values as `kind`; a dictionary type is encoded by `dictionary`, or in order of appearance if that is None."""
    if values.type == kind:
        return values
    if pa.types.is_null(values.type):
        return pa.chunked_array([pa.nulls(len(values), kind)])
    plain = plain_values(values)
    if pa.types.is_dictionary(kind):
        return _coded(plain, kind, dictionary)
    if pa.types.is_floating(plain.type) and not pa.types.is_floating(kind):
        plain = pc.if_else(pc.is_nan(plain), None, plain)
    if pa.types.is_integer(kind):
        return (pc.round(plain) if pa.types.is_floating(plain.type) else plain).cast(kind)
    if pa.types.is_decimal(kind):
        return _as_decimals(plain, kind)
    if pa.types.is_float16(kind):
        return plain.cast(pa.float64(), safe=False).cast(kind, safe=False)
    if pa.types.is_temporal(kind) and is_text(plain.type):
        return _from_texts(plain, kind)
    return plain.cast(kind, safe=False)


def plain_values(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values without a dictionary; texts in a layout that Arrow can compute with."""
    if pa.types.is_dictionary(values.type):
        return plain_values(values.cast(values.type.value_type))
    return values.cast(pa.string()) if pa.types.is_string_view(values.type) else values


def computable(table: pa.Table) -> pa.Table:
    """The table without layouts that Arrow cannot take rows from or join: views, and missing values in a dictionary."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(pa.string()))
        elif pa.types.is_dictionary(field.type):
            chunks = table.column(place).chunks
            is_view = pa.types.is_string_view(field.type.value_type)
            if is_view or any(chunk.dictionary.is_null(nan_is_null=True).true_count for chunk in chunks):
                value_type = pa.string() if is_view else field.type.value_type
                kind = pa.dictionary(field.type.index_type, value_type, field.type.ordered)
                values = pa.chunked_array([_decoded(chunk, value_type) for chunk in chunks], value_type)
                table = table.set_column(place, field.name, _coded(values, kind, None))
    return table


def _decoded(chunk: pa.DictionaryArray, kind: pa.DataType) -> pa.Array:
    entries = chunk.dictionary.cast(kind)
    missing = entries.is_null(nan_is_null=True)
    return pc.if_else(missing, None, entries).take(chunk.indices)


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds texts, in any of Arrow's layouts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _coded(values: pa.ChunkedArray, kind: pa.DictionaryType, dictionary: pa.Array | None) -> pa.ChunkedArray:
    value_type = pa.string() if pa.types.is_string_view(kind.value_type) else kind.value_type
    typed = recast_column(values, value_type)
    categories = pc.unique(typed.drop_null()) if dictionary is None else dictionary.cast(value_type)
    codes = pc.index_in(typed, value_set=categories).combine_chunks().cast(kind.index_type)
    assert codes.null_count <= typed.null_count, "a value outside the categories"
    coded = pa.DictionaryArray.from_arrays(codes, categories.cast(kind.value_type), ordered=kind.ordered)
    return pa.chunked_array([coded])


def _as_decimals(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_floating(values.type):
        return pc.round(values.cast(pa.float64()), kind.scale).cast(kind)
    if is_text(values.type):
        return values.cast(kind)
    # First wide enough for all digits of a whole number; the second cast checks that it fits.
    return values.cast(pa.decimal256(76, kind.scale)).cast(kind)


def _from_texts(texts: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_duration(kind):  # Arrow writes a duration as its count of units
        return texts.cast(pa.int64()).cast(kind)
    if pa.types.is_time(kind):  # Arrow reads times only as part of a timestamp
        return times_from(texts).cast(kind, safe=False)
    return texts.cast(kind)


def times_from(texts: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Texts such as 10:30 or 10:30:05.5 as time64 of nanoseconds."""
    day = pa.scalar("1970-01-01 ", texts.type)
    return (
        pc.binary_join_element_wise(day, texts, pa.scalar("", texts.type))
        .cast(pa.timestamp("ns"))
        .cast(pa.time64("ns"))
    )

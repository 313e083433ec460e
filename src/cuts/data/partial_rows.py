"""Partial rows: the given cells are encoded, the others are sampled, and the given cells are then restored exactly.

A missing cell is not given. Cells of modelled columns and identifiers can be given; empty columns and derived columns
are computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.codec import Codec, Codes, bin_of, follow
from cuts.data.columns import Category, Identifier, Modelled
from cuts.data.conform import column_problems, conform
from cuts.data.identifiers import start_after
from cuts.data.physical import as_arrow
from cuts.data.schema import Schema
from cuts.data.table import Bools, Floats, Table
from cuts.text import names
from cuts.text.diagnostic import CutsError, Diagnostic


def encode_partial(table: Table, codec: Codec) -> tuple[Codes, dict[str, Bools]]:
    """The bins of the given cells, and masks of the given cells, for every modelled column of the table.

    A code is 0 where the cell is not given. Raises `CutsError` with every problem: columns that cannot be given, values
    outside the schema.
    """
    problems = [unknown_column(name, codec.schema) for name in table.names if name not in codec.schema]
    declared = [name for name in table.names if name in codec.schema]
    problems += [computed_column(n, codec) for n in declared if _is_computed(n, codec) and not table.missing(n).all()]
    codes: Codes = {}
    masks: dict[str, Bools] = {}
    for bins in codec.columns:
        name = bins.column.name
        if name not in table.names:
            continue
        try:
            typed = _typed(table, bins.column, codec.schema)
        except CutsError as error:
            problems += error.diagnostics
            continue
        column_diagnostics = column_problems(typed, replace(bins.column, missing=True))
        problems += column_diagnostics
        if not column_diagnostics:
            masks[name] = ~typed.missing(name)
            codes[name] = np.where(masks[name], bin_of(typed, bins), 0)
    if problems:
        raise CutsError(problems)
    return codes, masks


def overwrite(decoded: Table, partial: Table, codec: Codec) -> Table:
    """The decoded table with the given cells of `partial`, and with derived columns computed from them.

    `partial` has as many rows as `decoded` and was accepted by `encode_partial`. A column of numeric identifiers
    becomes text if given identifiers are not numbers; `apart_from` keeps new identifiers from repeating given ones.
    """
    if decoded.rows != partial.rows:
        raise ValueError(f"there are {partial.rows} partial rows but {decoded.rows} decoded rows")
    arrays: dict[str, pa.Array] = {name: decoded.column(name).combine_chunks() for name in decoded.names}
    for name in partial.names:
        if isinstance(codec.schema[name], Identifier):
            arrays[name] = _with_identifiers(arrays[name], _identifiers(partial, name))
        elif not _is_computed(name, codec):
            cells = _cells(partial, codec.schema.learned(name), codec.schema)
            arrays[name] = pc.if_else(cells.is_valid(), cells, arrays[name])
    for name, source, values_by_key in codec.derived:
        if source in partial.names:
            arrays[name] = follow(arrays[source], values_by_key, codec.schema.learned(name))
    return Table(pa.table(arrays))


def apart_from(codec: Codec, partial: Table) -> Codec:
    """The codec with identifiers that start after the given ones, so that no new identifier repeats a given one."""
    starts = {
        column.name: start_after(column, _identifiers(partial, column.name).drop_null().to_pylist())
        for column in codec.schema
        if isinstance(column, Identifier) and column.name in partial.names
    }
    return replace(codec, schema=_started(codec.schema, starts)) if starts else codec


def _started(schema: Schema, starts: Mapping[str, int]) -> Schema:
    columns = [
        replace(column, start=starts[column.name])
        if isinstance(column, Identifier) and column.name in starts
        else column
        for column in schema
    ]
    return replace(schema, columns=tuple(columns))


def _typed(table: Table, column: Modelled, schema: Schema) -> Table:
    """One conformed column; a column without values fits every kind."""
    if table.missing(column.name).all():
        kind = pa.string() if isinstance(column, Category) else pa.float64()
        return Table(pa.table({column.name: pa.nulls(table.rows, kind)}))
    return conform(table, schema, [column.name])


def _cells(partial: Table, column: Modelled, schema: Schema) -> pa.Array:
    """The given cells of a column in its Arrow type."""
    typed = _typed(partial, column, schema)
    if isinstance(column, Category):
        return typed.column(column.name).combine_chunks()
    missing = typed.missing(column.name)
    return as_arrow(np.where(missing, 0.0, typed.numbers(column.name)), column, missing)


def _identifiers(partial: Table, name: str) -> pa.Array:
    """The given identifiers; whole numbers as integers, even if missing cells made the column float."""
    values = partial.column(name).combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if not pa.types.is_floating(values.type):
        return values
    values = pc.if_else(pc.is_nan(values), None, values)
    whole = pc.all(pc.equal(values, pc.floor(values)), min_count=0).as_py()
    return values.cast(pa.int64()) if whole else values


def _with_identifiers(fresh: pa.Array, identifiers: pa.Array) -> pa.Array:
    try:
        typed = identifiers.cast(fresh.type)
    except pa.ArrowException:  # the given identifiers are texts, the new ones numbers
        typed, fresh = identifiers.cast(pa.string()), fresh.cast(pa.string())
    return pc.if_else(typed.is_valid(), typed, fresh)


def _is_computed(name: str, codec: Codec) -> bool:
    modelled = any(bins.column.name == name for bins in codec.columns)
    return not modelled and not isinstance(codec.schema[name], Identifier)


# --- what is wrong


def unknown_column(name: str, schema: Schema) -> Diagnostic:
    """A given column the schema does not have."""
    return names.unknown_column(name, schema.name, schema.names)


def computed_column(name: str, codec: Codec) -> Diagnostic:
    """A given column that is neither modelled nor an identifier."""
    source = dict(codec.schema.derived).get(name)
    if source is None:
        return Diagnostic(
            "not-modelled", f"the column `{name}` is always empty and cannot be given", help="leave it out"
        )
    return Diagnostic(
        "not-modelled", f"the column `{name}` follows from `{source}` and cannot be given", help=f"give `{source}`"
    )


def put_values(table: Table, values: Mapping[str, Floats], codec: Codec) -> Table:
    """The table with these values in numeric columns (NaN means missing), and with derived columns updated."""
    arrow = table.arrow
    for name, numbers in values.items():
        column = codec[name].column
        assert not isinstance(column, Category)
        missing = np.isnan(numbers)
        array = as_arrow(np.where(missing, column.low, numbers), column, missing)
        arrow = arrow.set_column(arrow.schema.get_field_index(name), name, array)
    for name, determinant, values_by_key in codec.derived:
        if determinant in values:
            array = follow(arrow.column(determinant).combine_chunks(), values_by_key, codec.schema.learned(name))
            arrow = arrow.set_column(arrow.schema.get_field_index(name), name, array)
    return Table(arrow)

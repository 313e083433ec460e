"""Partial rows: the given cells are encoded, the others are sampled, and the given cells are then restored exactly.

A missing cell is not given. Cells of modelled columns and identifiers can be given; empty, derived and computed columns
cannot. A cell of a tied column can be given together with the cell it is tied to: their difference is then known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.codec import Codec, Codes, bin_of, compute, follow
from cuts.data.columns import Category, Identifier, Modelled, Numeric, is_written_as_text
from cuts.data.conform import column_problems, conform, outside_domain
from cuts.data.identifiers import identifiers_in, start_after
from cuts.data.number_texts import write_cells
from cuts.data.physical import as_arrow, as_numbers
from cuts.data.schema import Schema
from cuts.data.table import NUMBER_OR_TEXT, Bools, Floats, Table
from cuts.data.ties import Tie, hidden_numbers, with_hidden
from cuts.text import names
from cuts.text.diagnostic import CutsError, Diagnostic, listed


def encode_partial(table: Table, codec: Codec) -> tuple[Codes, dict[str, Bools]]:
    """The bins of the given cells, and masks of the given cells, for every modelled column of the table.

    A code is 0 where the cell is not given. Raises `CutsError` with every problem: columns that cannot be given, values
    outside the schema.
    """
    problems = [unknown_column(name, codec.schema) for name in table.names if name not in codec.schema]
    declared = [name for name in table.names if name in codec.schema]
    problems += [computed_column(n, codec) for n in declared if _is_computed(n, codec) and not table.missing(n).all()]
    typed, more = _given(table, codec)
    problems += more
    problems += [_tied_alone(tie) for tie in codec.ties if tie.column in typed and not _has_anchor(typed, tie)]
    if problems:
        raise CutsError(problems)
    for tie in codec.ties:
        if tie.column in typed and tie.anchor in typed:
            both = Table(pa.table({name: typed[name].column(name) for name in (tie.column, tie.anchor)}))
            typed[tie.hidden.name] = with_hidden(both, both, [tie])
    codes: Codes = {}
    masks: dict[str, Bools] = {}
    for bins in codec.columns:
        name = bins.column.name
        if name in typed:
            masks[name] = ~typed[name].missing(name)
            codes[name] = np.where(masks[name], bin_of(typed[name], bins), 0)
    return codes, masks


def _given(table: Table, codec: Codec) -> tuple[dict[str, Table], list[Diagnostic]]:
    """The given columns of a schema that are modelled or tied, each conformed; and what is wrong with them."""
    typed: dict[str, Table] = {}
    problems: list[Diagnostic] = []
    for column in codec.schema.modelled:
        if column.name not in table.names:
            continue
        try:
            cells = _typed(table, column, codec.schema)
        except CutsError as error:
            problems += error.diagnostics
            continue
        problems += column_problems(cells, replace(column, missing=True))
        typed[column.name] = cells
    return typed, problems


def _has_anchor(typed: Mapping[str, Table], tie: Tie) -> bool:
    """Whether every given cell of the tied column has the cell of its anchor beside it."""
    given = ~typed[tie.column].missing(tie.column)
    anchored = tie.anchor in typed and bool((~typed[tie.anchor].missing(tie.anchor))[given].all())
    return anchored or not given.any()


def overwrite(decoded: Table, partial: Table, codec: Codec) -> Table:
    """The decoded table with the given cells of `partial`, and with derived columns computed from them.

    `partial` has as many rows as `decoded` and was accepted by `encode_partial`. A column of numeric identifiers
    becomes text if given identifiers are not numbers; `apart_from` keeps new identifiers from repeating given ones.
    """
    if decoded.rows != partial.rows:
        raise ValueError(f"there are {partial.rows} partial rows but {decoded.rows} decoded rows")
    arrays: dict[str, pa.Array] = {name: decoded.column(name).combine_chunks() for name in decoded.names}
    numeric = [c for c in codec.schema if isinstance(c, Numeric) and not is_written_as_text(c)]
    before = {column.name: _numbers(arrays[column.name]) for column in numeric}
    for name in partial.names:
        if isinstance(codec.schema[name], Identifier):
            arrays[name] = _with_identifiers(arrays[name], identifiers_in(partial, name))
        elif not _is_computed(name, codec):
            cells = _cells(partial, codec.schema.learned(name), codec.schema)
            arrays[name] = pc.if_else(cells.is_valid(), cells, arrays[name])
    arrays.update(_recomputed(arrays, before, partial, codec))
    for name, source, values_by_key in codec.derived:
        if source in partial.names:
            arrays[name] = follow(arrays[source], values_by_key, codec.schema.learned(name))
    return Table(pa.table(arrays))


def _recomputed(
    arrays: Mapping[str, pa.Array], before: Mapping[str, Floats], partial: Table, codec: Codec
) -> dict[str, pa.Array]:
    """The tied and computed columns for given cells: a tied column keeps its difference to its anchor."""
    if not codec.ties and not codec.schema.formulas:
        return {}
    numbers = {name: _numbers(arrays[name]) for name in before}
    for tie in codec.ties:
        given = ~partial.missing(tie.column) if tie.column in partial.names else np.zeros(partial.rows, dtype=np.bool_)
        hidden = np.where(
            given,
            hidden_numbers(numbers[tie.column], numbers[tie.anchor], tie),
            hidden_numbers(before[tie.column], before[tie.anchor], tie),
        )
        numbers[tie.hidden.name] = hidden
    return compute(numbers, codec)


def _numbers(array: pa.Array) -> Floats:
    """The numbers of a column in its own Arrow type, NaN where they are missing."""
    numbers = as_numbers(array)
    assert numbers is not None, array.type
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


def outside_ranges(typed: Table, codec: Codec) -> Bools:
    """The rows of a conformed table in which a tied column, or a computed one that is a sum, is outside its range."""
    sums = [name for name, _ in codec.schema.formulas if codec.schema.sum_of(name) is not None]
    outside = np.zeros(typed.rows, dtype=np.bool_)
    for name in (*(tie.column for tie in codec.ties), *sums):
        outside |= outside_domain(typed, codec.schema.learned(name))
    return outside


def apart_from(codec: Codec, partial: Table) -> Codec:
    """The codec with identifiers that start after the given ones, so that no new identifier repeats a given one."""
    starts = {
        column.name: start_after(column, identifiers_in(partial, column.name).drop_null().to_pylist())
        for column in codec.schema
        if isinstance(column, Identifier) and column.name in partial.names
    }
    return replace(codec, schema=_started(codec.schema, starts)) if starts else codec


def _started(schema: Schema, starts: Mapping[str, int | None]) -> Schema:
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
        is_mixed = is_written_as_text(column)
        kind = pa.string() if isinstance(column, Category) else NUMBER_OR_TEXT if is_mixed else pa.float64()
        return Table(pa.table({column.name: pa.nulls(table.rows, kind)}))
    return conform(table, schema, [column.name])


def _cells(partial: Table, column: Modelled, schema: Schema) -> pa.Array:
    """The given cells of a column in its Arrow type."""
    typed = _typed(partial, column, schema)
    if isinstance(column, Category):
        return typed.column(column.name).combine_chunks()
    if is_written_as_text(column):
        return write_cells(typed.numbers(column.name), typed.texts(column.name), column)
    missing = typed.missing(column.name)
    return as_arrow(np.where(missing, 0.0, typed.numbers(column.name)), column, missing)


def _with_identifiers(fresh: pa.Array, identifiers: pa.Array) -> pa.Array:
    try:
        typed = identifiers.cast(fresh.type)
    except pa.ArrowException:  # the given identifiers are texts, the new ones numbers
        typed, fresh = identifiers.cast(pa.string()), fresh.cast(pa.string())
    return pc.if_else(typed.is_valid(), typed, fresh)


def _is_computed(name: str, codec: Codec) -> bool:
    modelled = any(column.name == name for column in codec.schema.modelled)
    return not modelled and not isinstance(codec.schema[name], Identifier)


# --- what is wrong


def unknown_column(name: str, schema: Schema) -> Diagnostic:
    """A given column the schema does not have."""
    return names.unknown_column(name, schema.name, schema.names)


def computed_column(name: str, codec: Codec) -> Diagnostic:
    """A given column that is neither modelled nor an identifier."""
    source = dict(codec.schema.derived).get(name)
    formula = dict(codec.schema.formulas).get(name)
    if formula is not None:
        help = f"give {listed(formula.columns)}"
        return Diagnostic(
            "not-modelled", f"the column `{name}` is computed as `{formula.text}` and cannot be given", help=help
        )
    if source is None:
        return Diagnostic(
            "not-modelled", f"the column `{name}` is always empty and cannot be given", help="leave it out"
        )
    return Diagnostic(
        "not-modelled", f"the column `{name}` follows from `{source}` and cannot be given", help=f"give `{source}`"
    )


def _tied_alone(tie: Tie) -> Diagnostic:
    """Given cells of a tied column without the column that it is computed from."""
    return Diagnostic(
        "not-supported",
        f"cells of `{tie.column}` can only be given together with `{tie.anchor}`: the model has `{tie.hidden.name}`",
        help=f"give `{tie.anchor}` in these rows too, or fit the model with `ties = false` in the configuration",
    )

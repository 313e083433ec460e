"""A schema inferred from the rows of a table, and marked as such."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from shlex import quote
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.columns import LARGEST_NUMBER, LARGEST_WHOLE, MomentKind
from cuts.data.exchange.tables import from_frame
from cuts.data.identifiers import quoted, recognise
from cuts.data.number_texts import Recognised
from cuts.data.number_texts import recognise as recognise_numbers
from cuts.data.personal import free_text, is_free_text, is_phone_number, look_of
from cuts.data.physical import as_numbers
from cuts.data.schema import Category, Column, Empty, Identifier, Integer, Real, Schema, Temporal
from cuts.data.table import Floats, Table
from cuts.data.temporal import is_in_calendar
from cuts.text.diagnostic import CutsError, Diagnostic
from cuts.text.names import unknown_column

MAX_DECIMALS = 9  # coordinates have so many; with more, a real column is of any precision
MIN_UNIQUE_ROWS = 20  # with fewer rows, values may be unique by chance
_ID_NAME = re.compile(r"(^|[\W_])(id|key|uuid|guid|nr|no)$", re.IGNORECASE)


def infer_schema(
    table: Any,
    name: str,
    label: str | None = None,
    protected: tuple[str, ...] = (),
    *,
    drop: Sequence[str] = (),
    ids: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> Schema:
    """The narrowest schema that fits a table or frame, without the columns in `drop`.

    Text columns become numbers with `texts` if they are numbers with a few texts, otherwise categories in alphabetical
    order, unless they look like personal data (`data/personal.py`) and are not in `keep`. Raises `CutsError` naming
    every column that fits no kind.

    >>> infer_schema(Table(pa.table({"age": [30, 40]})), "people").columns[0].range
    Interval(low=30.0, high=40.0)
    """
    schema, refused = infer_most(table, name, label, protected, drop=drop, ids=ids, keep=keep)
    if refused:
        raise CutsError(list(refused.values()))
    return schema


def infer_most(
    table: Any,
    name: str,
    label: str | None = None,
    protected: tuple[str, ...] = (),
    *,
    drop: Sequence[str] = (),
    ids: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> tuple[Schema, dict[str, Diagnostic]]:
    """The schema of all columns that fit a kind, and what is wrong with each of the others, which it leaves out."""
    table = from_frame(table)
    special = (*protected, *drop, *ids, *keep, *(() if label is None else (label,)))
    problems = [unknown_column(column, name, table.names) for column in special if column not in table.names]
    columns: list[Column] = []
    refused: dict[str, Diagnostic] = {}
    for column in (c for c in table.names if c not in drop):
        inferred = _column(table, column, declared_id=column in ids, kept=column in keep)
        if isinstance(inferred, Diagnostic):
            refused[column] = inferred
        else:
            columns.append(inferred)
    if problems or (refused and (not columns or {label, *protected} & set(refused))):
        raise CutsError([*problems, *refused.values()])
    return Schema(name, tuple(columns), label, protected, "inferred", dropped=(*drop, *refused)), refused


def _column(table: Table, name: str, *, declared_id: bool, kept: bool) -> Column | Diagnostic:
    values = table.column(name).combine_chunks()
    missing = bool(table.missing(name).any())
    if table.missing(name).all():
        return Empty(name)
    kind = values.type
    is_coded = pa.types.is_dictionary(kind)
    if is_coded:
        if kind.ordered:
            categories = [str(v) for v in values.dictionary.to_pylist()]
            return Category(name, tuple(categories), ordered=True, missing=missing)
        values = values.dictionary_decode()
        kind = values.type
    if pa.types.is_boolean(kind):
        return Category(name, ("false", "true"), missing=missing)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _text(name, values, missing, declared_id, kept, is_coded)
    if pa.types.is_temporal(kind):
        return _temporal(name, values, missing)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _number(name, values, missing, declared_id, kept)
    return unsupported_column(name, f"is of type {kind}")


def _text(
    name: str, values: pa.Array, missing: bool, declared_id: bool, kept: bool, is_coded: bool
) -> Column | Diagnostic:
    if pa.types.is_string_view(values.type):  # here Arrow takes a missing value for the empty string
        values = values.cast(pa.string())
    rows_by_text = {str(e["values"]): e["counts"] for e in pc.value_counts(values.drop_null()).to_pylist()}
    distinct = sorted(rows_by_text)
    if kept and not declared_id:
        return Category(name, tuple(distinct), missing=missing)
    look = look_of(name, distinct)
    if look is not None:
        return Identifier(name, look.pattern, missing=missing, regex=look.regex)
    numbers = None if declared_id or is_coded else recognise_numbers(distinct)
    if numbers is not None:
        return _with_texts(_numeric(name, numbers.numbers, missing), numbers)
    count = len(values) - values.null_count
    if declared_id or len(distinct) == count >= MIN_UNIQUE_ROWS:
        pattern = recognise(distinct)
        if pattern is not None:
            return Identifier(name, pattern, missing=missing)
    if declared_id:
        return Identifier(name, f"{quoted(name)}-######", missing=missing)
    if is_free_text(distinct, sum(rows == 1 for rows in rows_by_text.values()), count):
        return free_text(name, len(distinct))
    return Category(name, tuple(distinct), missing=missing)


def _with_texts(column: Integer | Real | Diagnostic, numbers: Recognised) -> Column | Diagnostic:
    """The column of recognised numbers with their pattern and the texts beside them."""
    if isinstance(column, Diagnostic):
        return column
    return replace(column, texts=numbers.texts, format=numbers.pattern)


def _number(name: str, values: pa.Array, missing: bool, declared_id: bool, kept: bool) -> Column | Diagnostic:
    numbers = _floats(values)
    low, high = float(numbers.min()), float(numbers.max())
    has_decimals = pa.types.is_decimal(values.type) and values.type.scale != 0
    is_whole = not has_decimals and max(-low, high) <= LARGEST_NUMBER and bool((np.floor(numbers) == numbers).all())
    unique = len(np.unique(numbers)) == len(numbers) >= MIN_UNIQUE_ROWS
    dense = high - low + 1 <= 2 * len(numbers)
    numbered = unique and (dense or _ID_NAME.search(name) is not None)
    if is_whole and (declared_id or (not kept and (numbered or is_phone_number(name, low, high)))):
        return Identifier(name, missing=missing)
    return _numeric(name, values, missing)


def _numeric(name: str, values: pa.Array, missing: bool) -> Integer | Real | Diagnostic:
    numbers = _floats(values)
    if np.isinf(numbers).any():
        return unsupported_column(name, "contains infinite values")
    if np.abs(numbers).max() > LARGEST_NUMBER:
        return unsupported_column(name, f"contains numbers beyond {LARGEST_NUMBER:g}")
    low, high = float(numbers.min()), float(numbers.max())
    decimals = values.type.scale if pa.types.is_decimal(values.type) else _decimals(numbers)
    if decimals != 0:
        return Real(name, low, high, missing=missing, decimals=decimals)
    if max(abs(low), abs(high)) > LARGEST_WHOLE:
        return unsupported_column(name, "contains whole numbers beyond 2^53")
    return Integer(name, int(low), int(high), missing=missing)


def _floats(values: pa.Array) -> Floats:
    """The numbers of a column that are not missing."""
    converted = as_numbers(values)
    assert converted is not None
    return np.asarray(converted.drop_null().to_numpy(zero_copy_only=False), dtype=np.float64)


def _decimals(values: Floats) -> int | None:
    """The largest number of decimals of the values, or None if it exceeds `MAX_DECIMALS`."""
    sample = values[:: max(1, len(values) // 1000)]
    for decimals in range(MAX_DECIMALS + 1):
        if all((np.round(part, decimals) == part).all() for part in (sample, values)):
            return decimals
    return None


def _temporal(name: str, values: pa.Array, missing: bool) -> Column | Diagnostic:
    kind: MomentKind
    if pa.types.is_date(values.type):
        kind = "date"
    elif pa.types.is_time(values.type):
        kind = "time"
    elif pa.types.is_duration(values.type):
        kind = "duration"
    elif pa.types.is_timestamp(values.type):
        kind = "timestamp"
    else:
        return unsupported_column(name, f"is of type {values.type}")
    converted = as_numbers(values)
    assert converted is not None
    numbers = np.asarray(converted.drop_null().to_numpy(zero_copy_only=False), dtype=np.float64)
    low, high = float(numbers.min()), float(numbers.max())
    if not is_in_calendar(kind, low) or not is_in_calendar(kind, high):
        return unsupported_column(name, f"contains {kind}s outside the years 1 to 9999")
    needed = next((d for d in (0, 3) if (np.round(numbers, d) == numbers).all()), 6)
    zone = values.type.tz if kind == "timestamp" else None
    return Temporal(name, kind, low, high, missing=missing, decimals=needed, zone=zone)


# --- what is wrong


def unsupported_column(name: str, what: str) -> Diagnostic:
    """A column that no kind of column can describe."""
    return Diagnostic(
        "unsupported-column",
        f"the column `{name}` {what}",
        help=f"leave it out with `--drop {quote(name)}`, or convert it to numbers or categories first",
    )

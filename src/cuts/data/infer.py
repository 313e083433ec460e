"""A schema inferred from the rows of a table, and marked as such."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.columns import LARGEST_NUMBER, LARGEST_WHOLE, MomentKind
from cuts.data.exchange.tables import from_frame
from cuts.data.identifiers import recognise
from cuts.data.number_texts import recognise as recognise_numbers
from cuts.data.physical import as_numbers
from cuts.data.schema import Category, Column, Empty, Identifier, Integer, Real, Schema, Temporal
from cuts.data.table import Floats, Table
from cuts.text.diagnostic import CutsError, Diagnostic
from cuts.text.names import unknown_column

MAX_DECIMALS = 6  # with more, a real column is of any precision
MIN_UNIQUE_ROWS = 20  # with fewer rows, values may be unique by chance
MIN_TEXT_WORDS = 4  # mean words per value; values with as many that hardly repeat are free text
_ID_NAME = re.compile(r"(^|[\W_])(id|key|uuid|guid|nr|no)$", re.IGNORECASE)


def infer_schema(
    table: Any,
    name: str,
    label: str | None = None,
    protected: tuple[str, ...] = (),
    *,
    drop: Sequence[str] = (),
    ids: Sequence[str] = (),
) -> Schema:
    """The narrowest schema that fits a table or frame, without the columns in `drop`.

    Text columns become categories in alphabetical order, or numbers with `texts` if they are numbers with a few texts.
    Raises `CutsError` naming every column that fits no kind.

    >>> infer_schema(Table(pa.table({"age": [30, 40]})), "people").columns[0].range
    Interval(low=30.0, high=40.0)
    """
    table = from_frame(table)
    special = (*protected, *drop, *ids, *(() if label is None else (label,)))
    problems = [unknown_column(column, name, table.names) for column in special if column not in table.names]
    columns: list[Column] = []
    for column in (c for c in table.names if c not in drop):
        inferred = _column(table, column, declared_id=column in ids)
        if isinstance(inferred, Diagnostic):
            problems.append(inferred)
        else:
            columns.append(inferred)
    if problems:
        raise CutsError(problems)
    return Schema(name, tuple(columns), label, protected, "inferred", dropped=tuple(drop))


def _column(table: Table, name: str, *, declared_id: bool) -> Column | Diagnostic:
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
        numbers = None if declared_id or is_coded else _number_with_texts(name, values, missing)
        return numbers or _text(name, values, missing, declared_id)
    if pa.types.is_temporal(kind):
        return _temporal(name, values, missing)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _number(name, values, missing, declared_id)
    return unsupported_column(name, f"is of type {kind}")


def _text(name: str, values: pa.Array, missing: bool, declared_id: bool) -> Column | Diagnostic:
    distinct = _distinct(values)
    count = len(values) - values.null_count
    unique = len(distinct) == count and count >= MIN_UNIQUE_ROWS
    if declared_id or unique:
        pattern = recognise(distinct)
        if pattern is not None:
            return Identifier(name, *pattern, missing=missing)
        if declared_id:
            return Identifier(name, f"{name}-######", 1, missing)
    words = sum(text.count(" ") + 1 for text in distinct[:1000]) / len(distinct[:1000])
    if unique or (len(distinct) > count / 2 and count >= MIN_UNIQUE_ROWS and words >= MIN_TEXT_WORDS):
        return free_text(name, len(distinct))
    return Category(name, tuple(distinct), missing=missing)


def _number_with_texts(name: str, values: pa.Array, missing: bool) -> Column | Diagnostic | None:
    """A text column as numbers with a few other texts, unless it is something else."""
    recognised = recognise_numbers(_distinct(values))
    if recognised is None:
        return None
    column = _numeric(name, recognised.numbers, missing)
    if isinstance(column, Diagnostic):
        return column
    return replace(column, texts=recognised.texts, format=recognised.pattern)


def _distinct(texts: pa.Array) -> list[str]:
    if pa.types.is_string_view(texts.type):  # here Arrow takes a missing value for the empty string
        texts = texts.cast(pa.string())
    return sorted(str(v) for v in pc.unique(texts).to_pylist() if v is not None)


def _number(name: str, values: pa.Array, missing: bool, declared_id: bool) -> Column | Diagnostic:
    numbers = _floats(values)
    low, high = float(numbers.min()), float(numbers.max())
    has_decimals = pa.types.is_decimal(values.type) and values.type.scale != 0
    is_whole = not has_decimals and max(-low, high) <= LARGEST_NUMBER and bool((np.floor(numbers) == numbers).all())
    unique = len(np.unique(numbers)) == len(numbers) >= MIN_UNIQUE_ROWS
    dense = high - low + 1 <= 2 * len(numbers)
    if is_whole and (declared_id or (unique and (dense or _ID_NAME.search(name) is not None))):
        return Identifier(name, None, int(high) + 1, missing)
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
    needed = next((d for d in (0, 3) if (np.round(numbers, d) == numbers).all()), 6)
    zone = values.type.tz if kind == "timestamp" else None
    return Temporal(name, kind, float(numbers.min()), float(numbers.max()), missing=missing, decimals=needed, zone=zone)


# --- what is wrong


def unsupported_column(name: str, what: str) -> Diagnostic:
    """A column that no kind of column can describe."""
    return Diagnostic(
        "unsupported-column",
        f"the column `{name}` {what}",
        help=f"leave it out with `--drop {name}`, or convert it to numbers or categories first",
    )


def free_text(name: str, distinct: int) -> Diagnostic:
    """A text column that hardly repeats: nothing to learn, much to leak."""
    return Diagnostic(
        "free-text",
        f"the column `{name}` is free text: {distinct:,} distinct values, hardly any of them repeated",
        help=f"leave it out with `--drop {name}`, generate new values with `--id {name}`,\n"
        "or declare it as a category with its values in a schema",
    )

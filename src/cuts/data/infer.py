"""A schema read off a table. What it says comes from the rows, so it is marked `inferred`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.schema import Category, Column, Integer, Real, Schema
from cuts.data.table import Table, from_frame
from cuts.text.diagnostic import CutsError, Diagnostic, did_you_mean


def infer_schema(table: Any, name: str, label: str | None = None, protected: tuple[str, ...] = ()) -> Schema:
    """The narrowest schema a table or frame follows; texts become categories in alphabetical order.

    >>> infer_schema(Table(pa.table({"age": [30, 40]})), "people").columns[0].range
    Interval(low=30.0, high=40.0)
    """
    table = from_frame(table)
    problems = [
        Diagnostic("unknown-column", f"there is no column `{special}`", help=did_you_mean(special, table.names))
        for special in (*protected, *(() if label is None else (label,)))
        if special not in table.names
    ]
    columns: list[Column] = []
    for column in table.names:
        inferred = _column(table, column)
        if isinstance(inferred, Diagnostic):
            problems.append(inferred)
        else:
            columns.append(inferred)
    if problems:
        raise CutsError(problems)
    return Schema(name, tuple(columns), label, protected, "inferred")


def _column(table: Table, name: str) -> Column | Diagnostic:
    values = table.column(name)
    if pa.types.is_dictionary(values.type):
        values = pc.cast(values, values.type.value_type)
    missing = bool(table.missing(name).any())
    if table.missing(name).all():
        return unsupported_column(name, "has no values at all")
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type) or pa.types.is_boolean(values.type):
        categories = sorted(str(v) for v in pc.unique(values.cast(pa.string())).to_pylist() if v is not None)
        return Category(name, tuple(categories), missing=missing)
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_decimal(values.type):
        numbers = table.numbers(name)
        known = numbers[~np.isnan(numbers)]
        if np.isinf(known).any():
            return unsupported_column(name, "holds infinities")
        low, high = float(known.min()), float(known.max())
        if (known == np.floor(known)).all():
            return Integer(name, int(low), int(high), missing=missing)
        return Real(name, low, high, missing=missing)
    return unsupported_column(name, f"is of type {values.type}")


def unsupported_column(name: str, what: str) -> Diagnostic:
    """A column no kind of the schema can describe."""
    return Diagnostic(
        "unsupported-column",
        f"the column `{name}` {what}",
        help="leave it out of the table, or turn it into numbers or categories first",
    )

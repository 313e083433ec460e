"""Columns in words: their kind, and the values they can have."""

from __future__ import annotations

from typing import assert_never

from cuts.data.columns import Category, Column, Empty, Identifier, Integer, Real, Temporal
from cuts.data.temporal import show_moment
from cuts.text.diagnostic import counted

MAX_LISTED = 6  # categories that are listed one by one


def kind_in_words(column: Column) -> str:
    """The kind of a column.

    >>> kind_in_words(Real("x", 0.0, 1.0, decimals=2))
    'real, 2 decimals'
    """
    match column:
        case Category():
            return "ordered category" if column.ordered else "category"
        case Integer():
            return "integer"
        case Real():
            return "real" if column.decimals is None else f"real, {counted(column.decimals, 'decimal')}"
        case Temporal():
            return column.kind
        case Identifier():
            return "id"
        case Empty():
            return "empty"
        case _:
            assert_never(column)


def values_in_words(column: Column) -> str:
    """The range of a column, or how many values it has.

    >>> values_in_words(Integer("age", 17, 90)), values_in_words(Category("sex", ("f", "m")))
    ('17 to 90', '2 values')
    """
    match column:
        case Category():
            return counted(len(column.categories), "value")
        case Integer() | Real():
            texts = f", {counted(len(column.texts), 'text')}" if column.texts else ""
            return f"{_number(column.low)} to {_number(column.high)}{texts}"
        case Temporal():
            return f"{show_moment(column.kind, column.low)} to {show_moment(column.kind, column.high)}"
        case Identifier():
            form = column.pattern or column.regex
            return "generated" if form is None else f"generated as {form}"
        case Empty():
            return "none"
        case _:
            assert_never(column)


def values_listed(column: Column) -> str:
    """The same with the first categories listed.

    >>> values_listed(Category("sex", ("f", "m")))
    'f, m'
    """
    if not isinstance(column, Category):
        return values_in_words(column)
    more = len(column.categories) - MAX_LISTED
    return ", ".join([*column.categories[:MAX_LISTED], *([f"and {more} more"] if more > 0 else [])])


def _number(value: float) -> str:
    return f"{int(value)}" if value == int(value) and abs(value) < 1e15 else f"{value:.6g}"

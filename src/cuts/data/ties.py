"""Columns tied to each other: a model learns the difference or the sum of two columns in place of one of them.

The tied column is computed from the other one, its anchor, and a hidden column that is modelled: `b = a + (b - a)`. So
a small difference between two large numbers is learned as itself, and a rule on the difference is a rule on one column.
For numbers on a lattice the sum is exact, for other numbers at least the sign of the difference is. A timestamp can be
tied to a date: what is learned are the seconds from the beginning of that day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa

from cuts.data.columns import (
    DEFAULT_BINS,
    LARGEST_WHOLE,
    Category,
    Column,
    Integer,
    Numeric,
    Real,
    Temporal,
    Unmodelled,
    is_written_as_text,
)
from cuts.data.schema import Schema
from cuts.data.table import Floats, Table
from cuts.data.units import unit_of

Sign = Literal[1, -1]


@dataclass(frozen=True, slots=True)
class Tie:
    """`column` is `hidden + sign * scale * anchor`: the hidden column is a difference (sign 1) or a sum (sign -1).

    The hidden column is missing where the tied column is; the anchor is never missing.
    """

    column: str
    anchor: str
    sign: Sign
    hidden: Integer | Real
    scale: int = 1  # the units of the column in one unit of the anchor: 86,400 seconds in a day

    @property
    def factor(self) -> int:
        """What the anchor is multiplied by."""
        return self.sign * self.scale


def make_tie(name: str, anchor_name: str, sign: Sign, schema: Schema) -> Tie:
    """The tie of a column to an anchor; the hidden column has all values that their ranges allow."""
    column, anchor = schema.number(name), schema.number(anchor_name)
    per_unit, scale = column.per_unit, units_in(column, anchor)
    ends = [scale * anchor.high, scale * anchor.low] if sign == 1 else [-scale * anchor.low, -scale * anchor.high]
    low, high = (float(end - other) for end, other in zip((column.low, column.high), ends, strict=True))
    name = f"{name} - {anchor_name}" if sign == 1 else f"{anchor_name} + {name}"
    while name in schema:
        name = f"({name})"
    bins = column.bins if isinstance(column.bins, int) else DEFAULT_BINS
    hidden: Integer | Real
    if per_unit == 1:
        hidden = Integer(name, round(low), round(high), bins, column.missing)
    elif per_unit is None:
        hidden = Real(name, low, high, bins, column.missing)
    else:
        low, high = (round(end * per_unit) / per_unit for end in (low, high))
        hidden = Real(name, low, high, bins, column.missing, decimals=len(str(per_unit)) - 1)
    return Tie(column.name, anchor.name, sign, hidden, scale)


def units_in(column: Numeric, anchor: Numeric) -> int:
    """The units of a column in one unit of an anchor it can be tied to."""
    return unit_of(anchor).seconds // unit_of(column).seconds


def can_tie(column: Column, anchor: Column, schema: Schema) -> bool:
    """Whether a column can be computed from an anchor: the same kind of numbers, the anchor never missing.

    A timestamp can also be computed from a date. A column that has another role (label, protected, source of a derived
    column, part of a formula), edges of its own or text cells is not tied.
    """
    roles = {schema.label, *schema.protected, *(name for pair in schema.derived for name in pair)}
    roles |= {name for column, formula in schema.formulas for name in (column, *formula.columns)}
    if column.name in roles or anchor.name in roles - {schema.label, *schema.protected} or anchor.missing:
        return False
    if isinstance(column, Category | Unmodelled) or isinstance(anchor, Category | Unmodelled):
        return False
    if is_written_as_text(column) or is_written_as_text(anchor):
        return False
    kinds = tuple(each.kind if isinstance(each, Temporal) else "number" for each in (column, anchor))
    if kinds[0] != kinds[1] and kinds != ("timestamp", "date"):
        return False
    if isinstance(column.bins, tuple) or not (_adds_up(column) and _adds_up(anchor)):
        return False
    # The sum must have the decimals of the column.
    return column.per_unit is None or (anchor.per_unit is not None and column.per_unit >= anchor.per_unit)


def coordinates(schema: Schema, ties: Sequence[Tie]) -> Schema:
    """The schema of what is modelled: hidden columns in the place of the tied ones."""
    if not ties:
        return schema
    hidden = {tie.column: tie.hidden for tie in ties}
    return replace(schema, columns=tuple(hidden.get(column.name, column) for column in schema))


def hidden_numbers(column: Floats, anchor: Floats, tie: Tie) -> Floats:
    """The values of the hidden column; NaN where the tied column is missing."""
    return _on_lattice(column - tie.factor * anchor, tie.hidden.per_unit)


def tied_numbers(hidden: Floats, anchor: Floats, tie: Tie) -> Floats:
    """The values of the tied column; NaN where the hidden column is missing."""
    total = _on_lattice(hidden + tie.factor * anchor, tie.hidden.per_unit)
    if tie.hidden.per_unit is not None or tie.sign == -1:
        return total
    # A difference too small for float64 to add still decides which of the two columns is larger.
    lost = (total == anchor) & (hidden != 0)
    return np.where(lost, np.nextafter(anchor, np.copysign(np.inf, hidden)), total)


def with_hidden(table: Table, typed: Table, ties: Sequence[Tie]) -> Table:
    """The table with the hidden columns, computed from the conformed table `typed`."""
    arrow = table.arrow
    for tie in ties:
        numbers = hidden_numbers(typed.numbers(tie.column), typed.numbers(tie.anchor), tie)
        arrow = arrow.append_column(tie.hidden.name, pa.array(numbers, mask=np.isnan(numbers)))
    return Table(arrow)


def _adds_up(column: Numeric) -> bool:
    """Whether sums of two such columns are far from where float64 skips lattice numbers."""
    return max(abs(column.low), abs(column.high)) * (column.per_unit or 1) < LARGEST_WHOLE / 8


def _on_lattice(numbers: Floats, per_unit: int | None) -> Floats:
    return numbers if per_unit is None else np.rint(numbers * per_unit) / per_unit

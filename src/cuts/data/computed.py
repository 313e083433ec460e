"""Formulas of computed columns: `hour * 100 + minute`, `total - paid`, `weight / height ^ 2`.

A computed column is not modelled: its value follows from other columns of the row, rounded to its own decimals, and is
missing where one of them is. A formula is read from the text in the schema; a linear one is also a sum, which row rules
can be about. Dates, times and durations have the units they have in programs (`data/units.py`), so the nights between
two dates are `(discharged - admitted) / '1 day'`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias, assert_never

import numpy as np

from cuts.data.columns import Numeric
from cuts.data.table import Bools, Floats
from cuts.data.units import NUMBER, Unit, combined, comparable, unit_of, written_time

Operator = Literal["+", "-", "*", "/", "^"]
LinearSum: TypeAlias = tuple[dict[str, Fraction], Fraction]  # coefficients of columns, and a constant

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+\.?\d*|\.\d+)|(?P<name>[^\W\d]\w*)|`(?P<quoted>[^`]+)`|(?P<sign>[-+*/^()])"""
    r"""|(?P<text>"[^"]*"|'[^']*'))"""
)
_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
RELATIVE_ERROR = 1e-9  # of float64 arithmetic, generously
MAX_POWER = 4


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, or a duration or moment in seconds."""

    value: Fraction
    unit: Unit = NUMBER


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a column."""

    column: str


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator and its two operands; the right operand of `^` is a whole number."""

    operator: Operator
    left: Node
    right: Node


Node: TypeAlias = Constant | Value | Binary


@dataclass(frozen=True, slots=True)
class Formula:
    """An expression over columns, and the text it was read from."""

    text: str
    root: Node

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in the formula, each once, in the order written."""
        return tuple(dict.fromkeys(_columns(self.root)))

    def linear(self) -> LinearSum | None:
        """The formula as a sum of columns, or None if it is not one."""
        return _linear(self.root)

    def numbers(self, columns: Mapping[str, Floats]) -> Floats:
        """The value for every row, not rounded; NaN where a column is missing or the value is not defined."""
        with np.errstate(all="ignore"):
            values = np.asarray(_numbers(self.root, columns), dtype=np.float64)
        return np.where(np.isfinite(values), values, np.nan)


def parse_formula(text: str) -> Formula:
    """The formula in a text; raises `ValueError` saying what is wrong with it.

    >>> parse_formula("hour * 100 + minute").columns
    ('hour', 'minute')
    """
    parser = _Parser(text)
    root = parser.sum()
    parser.end()
    formula = Formula(text, root)
    if not formula.columns:
        raise ValueError(f"the formula `{text}` names no column")
    return formula


def with_units(formula: Formula, column: Numeric, columns: Mapping[str, Numeric]) -> Formula:
    """The formula that computes a column from others, all numbers counting what they count there.

    Raises `ValueError` where dates, durations and plain numbers are mixed.
    """
    root, unit = _in_seconds(formula.root, formula.text, columns)
    own = unit_of(column)
    if not comparable(unit, own):
        raise ValueError(_mixed(formula.text))
    factor = own.per(1)
    return Formula(formula.text, root if factor == 1 else Binary("/", root, Constant(factor)))


def written_name(column: str) -> str:
    """The name of a column as a formula writes it, in backticks where it is not a plain word."""
    return column if _PLAIN_NAME.fullmatch(column) else f"`{column}`"


def rounded(values: Floats, column: Numeric) -> Floats:
    """The values with the column's decimals."""
    return values if column.per_unit is None else np.rint(values * column.per_unit) / column.per_unit


def breaks(formula: Formula, column: Numeric, columns: Mapping[str, Floats]) -> Bools:
    """Where the column's own values are not those of the formula rounded to its decimals, up to float64 arithmetic."""
    expected, actual = formula.numbers(columns), columns[column.name]
    slack = RELATIVE_ERROR * np.maximum(np.abs(expected), 1.0)
    if column.per_unit is not None:
        slack = slack + 0.5 / column.per_unit
    with np.errstate(invalid="ignore"):
        agrees = np.abs(expected - actual) <= slack
    broken: Bools = ~(agrees | (np.isnan(expected) & np.isnan(actual)))
    return broken


# --- reading


class _Parser:
    """Reads one formula from left to right."""

    def __init__(self, text: str) -> None:
        self._text, self._place = text, 0

    def sum(self) -> Node:
        node = Binary("-", Constant(Fraction(0)), self._product()) if self._takes("-") else self._product()
        while True:
            if self._takes("+"):
                node = Binary("+", node, self._product())
            elif self._takes("-"):
                node = Binary("-", node, self._product())
            else:
                return node

    def _product(self) -> Node:
        node = self._power()
        while True:
            if self._takes("*"):
                node = Binary("*", node, self._power())
            elif self._takes("/"):
                node = Binary("/", node, self._power())
            else:
                return node

    def _power(self) -> Node:
        base = self._atom()
        if not self._takes("^"):
            return base
        power = self._atom()
        if not isinstance(power, Constant) or power.value not in range(1, MAX_POWER + 1):
            raise ValueError(f"a power must be a whole number from 1 to {MAX_POWER} in `{self._text}`")
        return Binary("^", base, power)

    def _atom(self) -> Node:
        token = self._token()
        if token is None:
            raise self._unexpected()
        if token["text"] is not None:
            self._place = token.end()
            return self._time(token["text"])
        if token["sign"] is None:
            self._place = token.end()
            number = token["number"]
            return Value(token["name"] or token["quoted"]) if number is None else Constant(Fraction(number))
        if not self._takes("("):
            raise self._unexpected()
        inner = self.sum()
        if not self._takes(")"):
            raise self._unexpected()
        return inner

    def _time(self, written: str) -> Constant:
        time = written_time(written[1:-1])
        if time is None:
            raise ValueError(f"{written} in the formula `{self._text}` is not a duration such as '1 day'")
        return Constant(Fraction(repr(time[0])), time[1])

    def end(self) -> None:
        """Raise unless everything was read."""
        if self._text[self._place :].strip():
            raise self._unexpected()

    def _token(self) -> re.Match[str] | None:
        return _TOKEN.match(self._text, self._place)

    def _takes(self, sign: str) -> bool:
        token = self._token()
        if token is None or token["sign"] != sign:
            return False
        self._place = token.end()
        return True

    def _unexpected(self) -> ValueError:
        rest = self._text[self._place :].strip()
        where = f"at `{rest[:20]}`" if rest else "at its end"
        return ValueError(f'the formula `{self._text}` cannot be read {where}; write e.g. "a + b" or "w / h ^ 2"')


# --- units


def _in_seconds(node: Node, text: str, columns: Mapping[str, Numeric]) -> tuple[Node, Unit]:
    """A node in which all times count seconds, and what it counts itself."""
    match node:
        case Constant(_, unit):
            return node, unit
        case Value(column):
            unit = unit_of(columns[column])
            factor = unit.per(1)
            return (node if factor == 1 else Binary("*", node, Constant(factor))), replace(unit, seconds=1)
        case Binary(operator, first, second):
            (left, one), (right, other) = (_in_seconds(part, text, columns) for part in (first, second))
            unit_or_none = NUMBER if operator == "^" and not one.is_time else combined(operator, one, other)
            if unit_or_none is None:
                raise ValueError(_mixed(text))
            return Binary(operator, left, right), unit_or_none
        case _:
            assert_never(node)


def _mixed(text: str) -> str:
    hint = "multiply a number by '1 day', or divide a difference by it"
    return f"the formula `{text}` mixes dates, durations and numbers: {hint}"


# --- readings of a formula


def _columns(node: Node) -> list[str]:
    match node:
        case Constant():
            return []
        case Value(column):
            return [column]
        case Binary(_, left, right):
            return [*_columns(left), *_columns(right)]
        case _:
            assert_never(node)


def _linear(node: Node) -> LinearSum | None:
    match node:
        case Constant(value):
            return {}, value
        case Value(column):
            return {column: Fraction(1)}, Fraction(0)
        case Binary(operator, first, second):
            left, right = _linear(first), _linear(second)
            return None if left is None or right is None else _combined(operator, left, right)
        case _:
            assert_never(node)


def _combined(operator: Operator, left: LinearSum, right: LinearSum) -> LinearSum | None:
    match operator:
        case "+" | "-":
            sign = 1 if operator == "+" else -1
            terms = {n: left[0].get(n, 0) + sign * right[0].get(n, Fraction(0)) for n in {**left[0], **right[0]}}
            return {name: Fraction(value) for name, value in terms.items() if value}, left[1] + sign * right[1]
        case "*" if not left[0]:
            return _scaled(right, left[1])
        case "*" if not right[0]:
            return _scaled(left, right[1])
        case "/" if not right[0] and right[1]:
            return _scaled(left, 1 / right[1])
        case "^" if right[1] == 1:
            return left
        case _:
            return None


def _scaled(sum: LinearSum, by: Fraction) -> LinearSum:
    return {name: value * by for name, value in sum[0].items() if by}, sum[1] * by


def _numbers(node: Node, columns: Mapping[str, Floats]) -> Floats | float:
    match node:
        case Constant(value):
            return float(value)
        case Value(column):
            return columns[column]
        case Binary(operator, first, second):
            left, right = _numbers(first, columns), _numbers(second, columns)
            match operator:
                case "+":
                    return left + right
                case "-":
                    return left - right
                case "*":
                    return left * right
                case "/":
                    return np.divide(left, right)
                case "^":
                    return left**right
                case _:
                    assert_never(operator)
        case _:
            assert_never(node)

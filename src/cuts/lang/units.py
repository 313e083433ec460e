"""Units of time in a program: how they are shown, and what is reported where they do not fit.

The rule, for row rules and statistics alike: dates and timestamps are compared with each other, times of day with times
of day, durations with durations and numbers with numbers. A difference of moments is a duration. `data/units.py` knows
what follows for sums, products and quotients.
"""

from __future__ import annotations

import datetime as dt
import re
from math import isfinite

from cuts.data.schema import Column, Temporal
from cuts.data.temporal import show_moment
from cuts.data.units import DAY, Unit, spread, unit_of
from cuts.lang import printer, syntax
from cuts.lang.rewrite import nodes
from cuts.lang.scope import Scope, type_mismatch
from cuts.text.diagnostic import Diagnostic
from cuts.text.source import Span

_LENGTHS = ((DAY, "day", "days"), (3_600, "h", "h"), (60, "min", "min"), (1, "s", "s"))
_COMPARED = "dates and timestamps are compared with each other, times with times, durations with durations"
_ADDED = "a date or timestamp and a duration can be added; the difference of two dates or timestamps is a duration"
_YEARS = range(1600, 2200)  # a number that is meant as a year
_DATED = 6e10  # seconds around 1970 for which there are dates


def name(unit: Unit) -> str | None:
    """What a number counts, in words; None for a plain number.

    >>> name(Unit(1)), name(Unit(1, DAY, "moment")), name(Unit(2, DAY)), name(Unit())
    ('s', 'days since 1970-01-01', 'days^2', None)
    """
    if not unit.is_time:
        return None
    since = {None: "", "moment": " since 1970-01-01", "time": " since midnight"}[unit.axis]
    power = "" if unit.power == 1 else f"^{unit.power}"
    return f"{'days' if unit.seconds == DAY else 's'}{power}{since}"


def show(value: float, unit: Unit, digits: int = 6) -> str:
    """A number of the table as people write it: a moment in ISO form, a duration with its unit.

    >>> show(129_600.0, Unit(1)), show(1.5, Unit(1, DAY)), show(10.0, Unit(1, DAY, "moment"))
    ('1.5 days', '1.5 days', '1970-01-11')
    """
    if not unit.is_time or not isfinite(value):
        return printer.short(value, digits)
    seconds = value * unit.seconds
    if unit.axis == "moment" and abs(seconds) < _DATED:
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=round(seconds))
        is_day = unit.seconds == DAY and value == int(value)
        return moment.date().isoformat() if is_day else moment.isoformat()
    if unit.axis == "time" and 0 <= round(seconds) < DAY:
        return show_moment("time", round(seconds))
    if unit.power == 1:
        return _length(seconds, digits)
    return f"{printer.short(value, digits)} {name(unit)}"


def _length(seconds: float, digits: int) -> str:
    size, one, many = next((each for each in _LENGTHS if each[0] <= abs(seconds)), _LENGTHS[-1])
    amount = printer.short(seconds / size, digits)
    return f"{amount} {one if amount in ('1', '-1') else many}"


# --- what is wrong


def unit_mismatch(title: str, span: Span, label: str, help: str) -> Diagnostic:
    """Numbers of different units put together."""
    return Diagnostic("unit-mismatch", title, span, label, help)


def not_comparable(left: syntax.Expr, right: syntax.Expr, units: tuple[Unit, Unit], scope: Scope) -> Diagnostic:
    """A comparison of two things of different units; the one without a unit is pointed at."""
    pairs = [(left, units[0]), (right, units[1])]
    (time, unit), (other, its) = pairs if units[0].is_time else pairs[::-1]
    word, its_word = _word(time, unit, scope), _word(other, its, scope)
    title = f"{_shown(time)} is {word}, {_shown(other)} is {its_word}"
    help = _COMPARED if its.is_time else _with_unit(other, time, unit, scope)
    return unit_mismatch(title, other.span, f"not {word}", help)


def not_summable(expr: syntax.Arith, units: tuple[Unit, Unit], scope: Scope) -> Diagnostic:
    """Arithmetic of two things whose units do not go together."""
    pairs = [(expr.left, units[0]), (expr.right, units[1])]
    (time, unit), (other, its) = pairs if units[0].is_time else pairs[::-1]
    verb = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}[expr.op]
    title = f"cannot {verb} {_shown(expr.left)} and {_shown(expr.right)}"
    label = f"{_word(time, unit, scope)} and {_word(other, its, scope)}"
    if expr.op not in "+-":
        return unit_mismatch(title, expr.span, label, "only numbers and durations are multiplied and divided")
    help = _ADDED if its.is_time else _with_unit(other, time, spread(unit), scope)
    return unit_mismatch(title, expr.span, label, help)


def not_a_time(text: syntax.Text, beside: syntax.Expr, unit: Unit, scope: Scope) -> Diagnostic:
    """A quoted text beside a date, time, timestamp or duration that is none."""
    word = _word(beside, unit, scope)
    if unit.axis is None:
        amount = text.value.strip() if _is_number(text.value) else "30"
        help = f"a duration has a unit: {_days(amount)}, or in h, min or s"
    else:
        help = f'e.g. "{_example(beside, unit, scope)}"'
    return type_mismatch(f"{_shown(text)} is not {word}", text.span, f"{_shown(beside)} is {word}", help)


def not_a_plain_number(name: str, arg: syntax.Expr, unit: Unit, scope: Scope) -> Diagnostic:
    """A function of numbers applied to something with a unit."""
    title = f"`{name}` takes numbers, {_shown(arg)} is {_word(arg, unit, scope)}"
    divided = printer.expression(syntax.Arith("/", arg, syntax.Text("1 day")))
    help = f"divide by a unit: {printer.code(f'{name}({divided})')}" if unit.axis is None else _ADDED
    return unit_mismatch(title, arg.span, "has a unit", help)


def different_units(call: syntax.Call, units: tuple[Unit, ...], scope: Scope) -> Diagnostic:
    """`min` or `max` of things that cannot be compared."""
    words = dict.fromkeys(_word(arg, unit, scope) for arg, unit in zip(call.args, units, strict=True))
    return unit_mismatch(f"`{call.name}` compares {' and '.join(words)}", call.span, "different units", _COMPARED)


# --- helps


def _with_unit(plain: syntax.Expr, time: syntax.Expr, unit: Unit, scope: Scope) -> str:
    """How to write something without a unit beside a time."""
    if unit.power != 1:
        return 'compare standard deviations, or divide durations by a unit first, e.g. by `"1 day"`'
    if unit.axis is not None and any(isinstance(node, syntax.Stat | syntax.Name) for node in nodes(plain)):
        return _COMPARED
    if unit.axis == "time":
        hour = int(plain.value) if isinstance(plain, syntax.Number) and 0 <= plain.value < 24 else 8
        return f'write it in quotes: `"{hour:02d}:00"`'
    if unit.axis == "moment":
        date, example = _date_in(plain), _example(time, unit, scope)
        return f'write a date in quotes, e.g. `"{example}"`' if date is None else f'write it in quotes: `"{date}"`'
    if isinstance(plain, syntax.Number):
        return f"write it with its unit: {_days(printer.expression(plain))}, or in h, min or s"
    product = syntax.Arith("*", plain, syntax.Text("1 day"))
    return f"write it with its unit: {_shown(product)}, or in h, min or s"


def _days(amount: str) -> str:
    return f'`"{amount} {"day" if amount == "1" else "days"}"`'


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", text.strip()) is not None


def _date_in(expr: syntax.Expr) -> str | None:
    """The date in `1980-01-01` without quotes, which reads as a difference, in `19800101` and in `1980`."""
    parts: list[float] = []
    while isinstance(expr, syntax.Arith) and expr.op == "-" and isinstance(expr.right, syntax.Number):
        parts.insert(0, expr.right.value)
        expr = expr.left
    if not isinstance(expr, syntax.Number):
        return None
    year = expr.value
    if not parts and year > _YEARS.stop:
        year, parts = year // 10_000, [year // 100 % 100, year % 100]
    if year not in _YEARS or len(parts) not in (0, 2):
        return None
    try:
        return dt.date(int(year), *map(int, parts or (1, 1))).isoformat()
    except ValueError:
        return None


def _example(time: syntax.Expr, unit: Unit, scope: Scope) -> str:
    """A moment or time that a column in an expression can have."""
    columns = [column for node in nodes(time) if isinstance(column := _column(node, scope), Temporal)]
    fitting = next((column for column in columns if unit_of(column).axis == unit.axis), None)
    if fitting is None:
        return "08:30" if unit.axis == "time" else "2024-01-31"
    return show_moment(fitting.kind, fitting.low)


def _column(expr: object, scope: Scope) -> Column | None:
    candidates = scope.columns(expr) if isinstance(expr, syntax.Name) else ()
    return scope.schema[candidates[0]] if len(candidates) == 1 else None


def _shown(expr: syntax.Expr) -> str:
    return printer.code(printer.expression(expr))


def _word(expr: syntax.Expr, unit: Unit, scope: Scope) -> str:
    column = _column(expr, scope)
    if isinstance(column, Temporal):
        return f"a {column.kind}"
    if unit.axis == "moment":
        is_date = unit.seconds == DAY or (isinstance(expr, syntax.Text) and ":" not in expr.value)
        return "a date" if is_date else "a timestamp"
    if unit.axis == "time":
        return "a time"
    return {0: "a number", 1: "a duration", 2: "a squared duration"}.get(unit.power, "a power of time")

"""Expressions to numbers of the table: statistics, and arithmetic and functions of them, each with its unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from math import isfinite

import numpy as np

from cuts.data.computed import LinearSum
from cuts.data.schema import Category, Schema
from cuts.data.units import NUMBER, Unit, combined, common_seconds, comparable, spread, unit_of, written_time
from cuts.lang import examples, printer, rows, sums, syntax, units
from cuts.lang.options import wrong_arguments
from cuts.lang.scope import Scope, dashed_column, type_mismatch, unknown_column
from cuts.lang.spec import Apply, ColumnValue, Const, Pred, Quantity, Statistic
from cuts.text.diagnostic import Diagnostic, counted
from cuts.text.source import Span
from cuts.vocab.functions import FUNCTIONS, NAMED_FUNCTIONS
from cuts.vocab.names import DISTRIBUTION, statistics
from cuts.vocab.registry import Statistic as Entry


@dataclass(frozen=True, slots=True)
class Measured:
    """A number and what it counts; it can be a number of each row or of the table."""

    value: Quantity
    unit: Unit = NUMBER


def quantity(expr: syntax.Expr, scope: Scope) -> Measured | None:
    """The number of the table an expression stands for; nothing after reporting why it is none."""
    match expr:
        case syntax.Number(value):
            return Measured(Const(value))
        case syntax.Text(text) if (time := written_time(text)) is not None:
            return Measured(Const(time[0]), time[1])
        case syntax.Negate(inner):
            return _negated(expr, quantity(inner, scope), scope)
        case syntax.Arith(_, left, right):
            return _arith(expr, quantity(left, scope), quantity(right, scope), scope)
        case syntax.Call(name, args) if name in NAMED_FUNCTIONS:
            return _function(expr, [quantity(arg, scope) for arg in args], scope)
        case syntax.Call(name):
            scope.add(sums.unknown_function(name, expr.span))
        case syntax.Stat():
            return _statistic(expr, scope)
        case syntax.Name():
            scope.add(_bare_column(expr, scope))
        case syntax.Shares():
            scope.add(sums.misplaced_shares(expr, scope.schema))
        case _:
            scope.add(type_mismatch("expected a number of the table", expr.span, "not a number"))
    return None


def aligned(parts: Sequence[Measured]) -> tuple[Measured, ...]:
    """The same numbers, those that count time all counting the same seconds; a constant follows the others."""
    varying = [part.unit for part in parts if not isinstance(part.value, Const) and part.unit.is_time]
    seconds = common_seconds(*(varying or [part.unit for part in parts]))
    return tuple(_counting(part, seconds) for part in parts)


def _counting(part: Measured, seconds: int) -> Measured:
    factor = part.unit.per(seconds)
    if factor == 1:
        return part
    unit = replace(part.unit, seconds=seconds)
    if isinstance(part.value, Const):
        return Measured(Const(float(Fraction(repr(part.value.value)) * factor)), unit)
    return Measured(Apply("*", (Const(float(factor)), part.value)), unit)


def _arith(expr: syntax.Arith, left: Measured | None, right: Measured | None, scope: Scope) -> Measured | None:
    if left is None or right is None:
        return None
    one, other = aligned((left, right))
    unit = combined(expr.op, one.unit, other.unit)
    if unit is None:
        scope.add(units.not_summable(expr, (left.unit, right.unit), scope))
        return None
    if expr.op == "/" and other.value == Const(0.0):
        scope.add(sums.division_by_zero(expr))
        return None
    if expr.op in "*/" and other.value == Const(1.0):  # a difference of dates divided by "1 day" is the same number
        return Measured(one.value, unit)
    return _applied(expr.op, [one.value, other.value], unit, expr.span, scope)


def _negated(expr: syntax.Negate, inner: Measured | None, scope: Scope) -> Measured | None:
    if inner is not None and inner.unit.axis is not None:
        product = syntax.Arith("*", syntax.Number(-1.0, span=expr.span), expr.inner, expr.span)
        scope.add(units.not_summable(product, (NUMBER, inner.unit), scope))
        return None
    return None if inner is None else _applied("negate", [inner.value], inner.unit, expr.span, scope)


def _applied(function: str, args: Sequence[Quantity], unit: Unit, span: Span, scope: Scope) -> Measured | None:
    """The function of its arguments; of numbers alone, the number."""
    numbers = [arg.value for arg in args if isinstance(arg, Const)]
    if len(numbers) < len(args):
        return Measured(Apply(function, tuple(args)), unit)
    with np.errstate(all="ignore"):
        value = float(FUNCTIONS[function].apply(*numbers))
    if not isfinite(value):
        scope.add(sums.too_large(span))
        return None
    return Measured(Const(value), unit)


def _function(expr: syntax.Call, args: list[Measured | None], scope: Scope) -> Measured | None:
    function = FUNCTIONS[expr.name]
    if (
        expr.options
        or len(args) < function.min_args
        or (function.max_args is not None and len(args) > function.max_args)
    ):
        expected = _how_many(function.min_args, function.max_args, "number")
        scope.add(wrong_arguments(f"`{expr.name}(...)` takes {expected}", expr.span))
        return None
    bound = [arg for arg in args if arg is not None]
    unit = _function_unit(expr, bound, scope) if len(bound) == len(args) else None
    if unit is None:
        return None
    return _applied(expr.name, [part.value for part in aligned(bound)], unit, expr.span, scope)


def _function_unit(expr: syntax.Call, args: list[Measured], scope: Scope) -> Unit | None:
    """The unit of a function's value; nothing after reporting that its arguments have units it cannot take."""
    unit = aligned(args)[0].unit
    match FUNCTIONS[expr.name].unit:
        case "same" if len(args) > 1:
            if all(comparable(unit, arg.unit) for arg in args):
                return unit
            scope.add(units.different_units(expr, tuple(arg.unit for arg in args), scope))
            return None
        case "same" if unit.axis is None:
            return unit
        case "root" if unit.axis is None and unit.power % 2 == 0:
            return replace(unit, power=unit.power // 2)
        case _ if not unit.is_time:
            return NUMBER
        case _:
            scope.add(units.not_a_plain_number(expr.name, expr.args[0], unit, scope))
            return None


def _how_many(low: int, high: int | None, noun: str) -> str:
    return counted(low, noun) if low == high else f"at least {counted(low, noun)}"


# --- statistics


def _statistic(expr: syntax.Stat, scope: Scope) -> Measured | None:
    entry = statistics().get(expr.name)
    if entry is None:
        scope.add(
            _misplaced_distribution(expr, scope.schema)
            if expr.name == DISTRIBUTION
            else sums.unknown_function(expr.name, expr.span)
        )
        return None
    given = rows.predicate(expr.given, scope) if expr.given is not None else None
    levels = _levels(expr, entry.levels, scope)
    if len(expr.args) < entry.min_args or (entry.max_args is not None and len(expr.args) > entry.max_args):
        expected = _how_many(entry.min_args, entry.max_args, entry.argument)
        scope.add(wrong_arguments(f"`{expr.name}[...]` takes {expected}, not {len(expr.args)}", expr.span))
        return None
    args: list[Quantity | Pred | None]
    unit = NUMBER
    match entry.argument:
        case "condition":
            args = [rows.predicate(arg, scope) for arg in expr.args]
        case "column":
            args = [column_value(arg, scope) for arg in expr.args]
        case "number":
            numbers = [_row_quantity(arg, scope) for arg in expr.args]
            measured = aligned([number for number in numbers if number is not None])
            args = [part.value for part in measured] if len(measured) == len(numbers) else [None]
            unit = _statistic_unit(entry, [part.unit for part in measured])
    bound = tuple(arg for arg in args if arg is not None)
    if len(bound) < len(args) or levels is None or (expr.given is not None and given is None):
        return None
    condition = "" if expr.given is None else printer.expression(expr.given)
    return Measured(Statistic(expr.name, bound, given, levels, condition), unit)


def _statistic_unit(entry: Entry, args: list[Unit]) -> Unit:
    """What a statistic of numbers counts; a standard deviation of moments is a duration."""
    match entry.unit, args:
        case "value", [unit, *_]:
            return unit
        case "spread", [unit, *_]:
            return spread(unit)
        case "squared", [unit, *_]:
            return combined("*", spread(unit), spread(unit)) or NUMBER
        case "product", [one, other, *_]:
            return combined("*", spread(one), spread(other)) or NUMBER
        case _:
            return NUMBER


def _levels(expr: syntax.Stat, count: int, scope: Scope) -> tuple[float, ...] | None:
    """The numbers in parentheses, if there are `count` of them between 0 and 1."""
    numbers = tuple(level.value for level in expr.levels if isinstance(level, syntax.Number))
    if len(numbers) == len(expr.levels) == count and all(0 < number < 1 for number in numbers):
        return numbers
    inside = ", ".join(map(printer.expression, expr.args))
    if count:
        title, example = f"`{expr.name}` needs a level between 0 and 1", f"{expr.name}(0.9)[{inside}]"
        help = f"e.g. {printer.code(example)}"
    else:
        title = f"`{expr.name}` takes no number in parentheses"
        help = f"write {printer.code(f'{expr.name}[{inside}]')}"
    scope.add(wrong_arguments(title, expr.span, help))
    return None


def column_value(expr: syntax.Expr, scope: Scope) -> ColumnValue | None:
    """The column an expression names; nothing after reporting why it names none."""
    if not isinstance(expr, syntax.Name):
        names = [printer.name(column.name) for column in scope.schema.modelled[:1]]
        help = f"name a column, e.g. {printer.code(names[0])}" if names else None
        scope.add(type_mismatch("expected a column", expr.span, "not the name of a column", help))
        return None
    column = scope.column(expr)
    return None if column is None else ColumnValue(column.name)


def _row_quantity(expr: syntax.Expr, scope: Scope) -> Measured | None:
    """A number of each row: columns, arithmetic and functions of them."""
    match expr:
        case syntax.Number(value):
            return Measured(Const(value))
        case syntax.Name():
            return _row_column(expr, scope)
        case syntax.Negate(inner):
            return _negated(expr, _row_quantity(inner, scope), scope)
        case syntax.Arith() if dashed_column(expr, scope):
            return None
        case syntax.Arith(_, left, right):
            return _arith(expr, _row_quantity(left, scope), _row_quantity(right, scope), scope)
        case syntax.Call(name, args) if name in NAMED_FUNCTIONS:
            return _function(expr, [_row_quantity(arg, scope) for arg in args], scope)
        case syntax.Call(name):
            scope.add(sums.unknown_function(name, expr.span))
        case syntax.Stat():
            scope.add(
                Diagnostic(
                    "level-mismatch",
                    "a statistic cannot be inside another statistic",
                    expr.span,
                    "a statistic",
                    "use columns and numbers here, or combine the statistics outside of the brackets",
                )
            )
        case syntax.Text(text):
            time = written_time(text)
            if time is not None:
                return Measured(Const(time[0]), time[1])
            scope.add(sums.not_a_number(expr, scope.schema))
        case _:
            share = f"for the share of the rows where it holds, write {printer.code(f'P[{printer.expression(expr)}]')}"
            scope.add(type_mismatch("expected a number", expr.span, "this is a condition", share))
    return None


def _row_column(name: syntax.Name, scope: Scope) -> Measured | None:
    formula = scope.linear_formula(name)
    if formula is not None:
        return Measured(_sum_of(formula), unit_of(scope.schema[scope.columns(name)[0]]))
    column = scope.column(name)
    if isinstance(column, Category) and len(column.categories) > 2 and not column.ordered:
        scope.add(_nominal(column, name))
    return None if column is None else Measured(ColumnValue(column.name), unit_of(column))


def _sum_of(formula: LinearSum) -> Quantity:
    """A sum of columns as a quantity."""
    terms, constant = formula
    parts: list[Quantity] = [
        ColumnValue(name) if value == 1 else Apply("*", (Const(float(value)), ColumnValue(name)))
        for name, value in terms.items()
    ]
    parts += [Const(float(constant))] if constant else []
    return reduce(lambda left, right: Apply("+", (left, right)), parts)


# --- what is wrong


def _misplaced_distribution(stat: syntax.Stat, schema: Schema) -> Diagnostic:
    column = stat.args[0].text if stat.args and isinstance(stat.args[0], syntax.Name) else None
    title = f"`{DISTRIBUTION}[...]` is not a number"
    return type_mismatch(
        title, stat.span, "a distribution", f"e.g. {printer.code(examples.distribution(schema, column))}"
    )


def _bare_column(name: syntax.Name, scope: Scope) -> Diagnostic:
    candidates = scope.columns(name)
    if not candidates:
        return unknown_column(name, scope.schema)
    column = scope.schema[candidates[0]]
    if isinstance(column, Category):
        example = f"P[{printer.name(column.name)} == {printer.value(column.categories[0])}]"
        help = f"for a share, write {printer.code(example)}"
    else:
        help = f"for its mean, write {printer.code(f'E[{printer.name(column.name)}]')}"
    return Diagnostic(
        "level-mismatch",
        f"`{name.text}` has one value per row, the rest is about the whole table",
        name.span,
        "a column outside a statistic",
        help,
    )


def _nominal(column: Category, name: syntax.Name) -> Diagnostic:
    share = f"P[{printer.name(column.name)} == {printer.value(column.categories[0])}]"
    return Diagnostic(
        "nominal-arithmetic",
        f"`{column.name}` has no order: its values count as 0 to {len(column.categories) - 1} here",
        name.span,
        "their positions in the schema",
        f"use a share, e.g. {printer.code(share)}, or declare the column `ordered = true` in the schema",
        severity="warning",
    )

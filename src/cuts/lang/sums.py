"""Arithmetic of row rules: sums of numeric columns with exact rational coefficients, brought to `form op number`.

A sum that counts time is one of seconds: the coefficient of a date, which is a number of days, is 86,400.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from cuts.data.lattice import after, at_least
from cuts.data.schema import Category, Numeric, Schema
from cuts.data.units import NUMBER, Unit, combined, unit_of, written_time
from cuts.lang import examples, printer, syntax, units
from cuts.lang.scope import Scope, type_mismatch
from cuts.lang.spec import And, Linear, LinearCompare, Or, Pred
from cuts.lang.syntax import CompareOp
from cuts.text.diagnostic import Diagnostic, did_you_mean, listed, nearest
from cuts.text.source import Span
from cuts.vocab.functions import NAMED_FUNCTIONS
from cuts.vocab.names import DISTRIBUTION, measures, statistics

FLIPPED: dict[CompareOp, CompareOp] = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Sum:
    """Coefficients of columns and a constant; what counts time counts seconds."""

    terms: dict[str, Fraction]
    constant: Fraction
    unit: Unit = NUMBER

    def times(self, by: Fraction, unit: Unit) -> Sum:
        """The sum multiplied by a number, which may change what it counts."""
        return Sum({name: value * by for name, value in self.terms.items()}, self.constant * by, unit)


def linear_sum(expr: syntax.Expr, scope: Scope) -> Sum | None:
    """The linear sum an expression stands for; nothing after reporting why it is none."""
    match expr:
        case syntax.Number(value):
            return Sum({}, Fraction(repr(value)))  # the decimal as written: 0.1 + 0.2 is 0.3
        case syntax.Name():
            return _column_sum(expr, scope)
        case syntax.Negate(inner):
            product = syntax.Arith("*", syntax.Number(-1.0, span=expr.span), inner, expr.span)
            return _arith(product, "*", Sum({}, Fraction(-1)), linear_sum(inner, scope), scope)
        case syntax.Arith(op, left, right):
            return _arith(expr, op, linear_sum(left, scope), linear_sum(right, scope), scope)
        case syntax.Text(text):
            time = written_time(text)
            if time is not None:
                return Sum({}, Fraction(repr(time[0])), time[1])
            scope.add(not_a_number(expr, scope.schema))
        case syntax.Call(name):
            scope.add(_function_in_rule(expr) if name in NAMED_FUNCTIONS else unknown_function(name, expr.span))
        case syntax.Stat():
            scope.add(statistic_in_row(expr))
        case syntax.Shares():
            scope.add(misplaced_shares(expr, scope.schema))
        case _:
            scope.add(type_mismatch("expected a number", expr.span, "this is a condition"))
    return None


def _column_sum(name: syntax.Name, scope: Scope) -> Sum | None:
    """A column, or the formula of a computed one, as a sum."""
    formula = scope.linear_formula(name)
    if formula is not None:
        own = unit_of(scope.schema[scope.columns(name)[0]])
        return _in_seconds(Sum(*formula), own)
    column = scope.column(name)
    if isinstance(column, Category):
        scope.add(_category_in_sum(column, name))
        return None
    return None if column is None else _in_seconds(Sum({column.name: Fraction(1)}, ZERO), unit_of(column))


def _in_seconds(sum: Sum, unit: Unit) -> Sum:
    """A sum of numbers as a column stores them, which count the column's unit."""
    return sum.times(unit.per(1), replace(unit, seconds=1))


def _arith(expr: syntax.Arith, op: str, left: Sum | None, right: Sum | None, scope: Scope) -> Sum | None:
    if left is None or right is None:
        return None
    if (op == "*" and left.terms and right.terms) or (op == "/" and right.terms):
        scope.add(_nonlinear(expr))
        return None
    if op == "/" and right.constant == 0:
        scope.add(division_by_zero(expr))
        return None
    unit = combined(op, left.unit, right.unit)
    if unit is None:
        scope.add(units.not_summable(expr, (left.unit, right.unit), scope))
        return None
    if op in "+-":
        sign = 1 if op == "+" else -1
        names = {**left.terms, **right.terms}
        both = {name: left.terms.get(name, ZERO) + sign * right.terms.get(name, ZERO) for name in names}
        return Sum(both, left.constant + sign * right.constant, unit)
    if op == "/":
        return left.times(1 / right.constant, unit)
    return left.times(right.constant, unit) if not right.terms else right.times(left.constant, unit)


def normalised(terms: list[tuple[str, Fraction]], op: CompareOp, bound: Fraction) -> LinearCompare:
    """The same comparison with a leading coefficient of one where that is exact in float64, else of positive sign.

    A single column is always divided out: rounding the bound moves it by less than the column's values can differ.
    """
    lead = terms[0][1]
    divided = [value / lead for _, value in terms] + [bound / lead]
    if len(terms) > 1 and any(Fraction(float(value)) != value for value in divided):
        lead = Fraction(1 if lead > 0 else -1)
        divided = [value / lead for _, value in terms] + [bound / lead]
    names = [name for name, _ in terms]
    form = Linear(tuple((name, float(value)) for name, value in zip(names, divided, strict=False)))
    return LinearCompare(form, op if lead > 0 else FLIPPED[op], float(divided[-1]))


def sum_lattice(form: Linear, schema: Schema) -> int | None:
    """The number of lattice points per unit on which a sum of columns lies, or None if it lies on no lattice."""
    columns = [schema[name] for name in form.columns]
    if any(value != int(value) for _, value in form.terms):
        return None
    units = [column.per_unit for column in columns if isinstance(column, Numeric) and column.per_unit is not None]
    return max(units) if len(units) == len(columns) else None  # powers of ten


def on_lattice(compared: LinearCompare, per_unit: int) -> Pred:
    """The same comparison of a sum whose exact values are `k / per_unit`, decided between two of them.

    In float64 such a sum may be off by a little; half a step away from every exact value this does not matter.
    """
    form, half = compared.form, 0.5 / per_unit
    at, beyond = at_least(compared.bound, per_unit) - half, after(compared.bound, per_unit) - half
    match compared.op:
        case ">=" | "<":
            return LinearCompare(form, compared.op, at)
        case ">":
            return LinearCompare(form, ">=", beyond)
        case "<=":
            return LinearCompare(form, "<", beyond)
        case "==":
            return And((LinearCompare(form, ">=", at), LinearCompare(form, "<", beyond)))
        case "!=":
            return Or((LinearCompare(form, "<", at), LinearCompare(form, ">=", beyond)))
        case _:
            assert_never(compared.op)


# --- what is wrong


def not_a_number(expr: syntax.Text, schema: Schema) -> Diagnostic:
    """A quoted text where a number was expected: perhaps a column's name."""
    near = nearest(expr.value, schema.names)
    help = "quoted text is a category, a date, a time, a timestamp or a duration"
    if near is not None:
        help = f"a column is written without quotes: {printer.name(near)}"
    return type_mismatch("expected a number or a column", expr.span, "quoted text", help)


def misplaced_shares(expr: syntax.Shares, schema: Schema) -> Diagnostic:
    """Shares that are compared with something else than a distribution."""
    help = f"e.g. {printer.code(examples.distribution(schema))}"
    return type_mismatch(f"shares can only be compared with `{DISTRIBUTION}[...]`", expr.span, "shares", help)


def _nonlinear(expr: syntax.Arith) -> Diagnostic:
    left, right = printer.expression(expr.left), printer.expression(expr.right)
    if expr.op == "/":
        bounded, quotient = printer.code(f"{left} >= 2 * {right}"), printer.code(f"{left} / {right} >= 2")
        help = f"to bound the quotient, write e.g. {bounded} instead of {quotient}"
    else:
        help = f"multiply columns inside a statistic only, e.g. {printer.code(f'E[{left} * {right}]')}"
    return Diagnostic(
        "nonlinear-rule",
        f"a row rule cannot {'divide' if expr.op == '/' else 'multiply'} columns by each other",
        expr.span,
        f"`{expr.op}` between columns",
        help,
    )


def statistic_in_row(expr: syntax.Stat) -> Diagnostic:
    """A statistic where a row's own value was expected."""
    return Diagnostic(
        "level-mismatch",
        f"`{expr.name}[...]` is a number of the whole table, the rest is about single rows",
        expr.span,
        "a statistic in a condition on rows",
        "compare the statistic with a number in a command of its own, and columns with numbers here",
    )


def too_large(span: Span) -> Diagnostic:
    """Arithmetic whose result is not finite."""
    return Diagnostic(
        "bad-number", "the result is too large to compute with", span, "not finite", "use smaller numbers"
    )


def division_by_zero(expr: syntax.Arith) -> Diagnostic:
    """A quotient that is never defined."""
    return Diagnostic("bad-number", "division by zero", expr.span, "undefined", "divide by another number")


def unknown_function(name: str, span: Span) -> Diagnostic:
    """A name before `(` or `[` that is no function, statistic or measure."""
    known = (*NAMED_FUNCTIONS, *statistics(), *measures(), DISTRIBUTION)
    meant = {"AVG": "E", "MEAN": "E", "AVERAGE": "E", "SD": "STD", "QUANTILE": "Q(0.5)"}.get(name.upper())
    near = did_you_mean(name, known) or f"the statistics are {listed((*statistics(), DISTRIBUTION), limit=20)}"
    help = f"did you mean `{meant}[...]`?" if meant is not None else near
    if name in known:
        brackets = "[...]" if name in statistics() or name == DISTRIBUTION else "(...)"
        return Diagnostic("unknown-function", f"`{name}` takes other brackets", span, "", f"write `{name}{brackets}`")
    return Diagnostic("unknown-function", f"there is no function or statistic `{name}`", span, "unknown", help)


def _function_in_rule(expr: syntax.Call) -> Diagnostic:
    args = [printer.expression(arg) for arg in expr.args]
    if expr.name in ("min", "max") and len(args) > 1:
        op = "<=" if expr.name == "max" else ">="
        parts = " AND ".join(f"{arg} {op} c" for arg in args)
        help = f"for {printer.code(f'{printer.expression(expr)} {op} c')}, write {printer.code(parts)}"
    else:
        help = f"use it inside a statistic only, e.g. {printer.code(f'E[{printer.expression(expr)}]')}"
    return Diagnostic("nonlinear-rule", f"`{expr.name}` cannot be used in a row rule", expr.span, "not linear", help)


def _category_in_sum(column: Category, name: syntax.Name) -> Diagnostic:
    example = f"{printer.name(column.name)} == {printer.value(column.categories[0])}"
    return type_mismatch(
        f"`{column.name}` holds categories, not numbers",
        name.span,
        "a category column",
        f"compare it with a value, e.g. {printer.code(example)}",
    )

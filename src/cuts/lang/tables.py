"""TABLE expressions to goals and quantities."""

from __future__ import annotations

from math import isfinite

import numpy as np

from cuts.data.schema import Category
from cuts.lang import printer, rows, sums, syntax
from cuts.lang.rewrite import nodes
from cuts.lang.scope import Scope, dashed_column, type_mismatch, unknown_column
from cuts.lang.spec import (
    AllOf,
    AnyOf,
    Apply,
    ColumnValue,
    Const,
    Distribution,
    Goal,
    Pred,
    Quantity,
    Relation,
    Statistic,
)
from cuts.lang.syntax import CompareOp
from cuts.lang.tolerance import SHARE_TOLERANCE, default_tolerance
from cuts.text.diagnostic import Diagnostic, counted
from cuts.text.source import Span
from cuts.vocab.functions import FUNCTIONS, NAMED_FUNCTIONS
from cuts.vocab.names import DISTRIBUTION, statistics

NEGATED: dict[CompareOp, CompareOp] = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_DISTRIBUTION_EXAMPLE = "DIST[race] == {White: 50%, *: proportional}"


def goal(expr: syntax.Expr, scope: Scope, tolerance: float | None, negate: bool = False) -> Goal | None:
    """The goal an expression states; `tolerance` is what `WITHIN` says, if anything."""
    match expr:
        case syntax.Not(inner):
            return goal(inner, scope, tolerance, not negate)
        case syntax.And(parts) | syntax.Or(parts):
            everything = isinstance(expr, syntax.And) != negate
            return _joined([goal(part, scope, tolerance, negate) for part in parts], everything)
        case syntax.Implies(left, right):
            either = [goal(left, scope, tolerance, not negate), goal(right, scope, tolerance, negate)]
            return _joined(either, everything=negate)
        case _ if is_about_rows(expr):
            scope.add(_row_part(expr))
            return None
        case syntax.Compare(operands, ops):
            pairs = zip(operands, ops, operands[1:], strict=False)
            return _joined([_relation(a, op, b, expr.span, scope, tolerance, negate) for a, op, b in pairs], not negate)
        case syntax.Between(item, low, high, negated):
            inside = negated == negate
            ends = [
                _relation(item, ">=", low, expr.span, scope, tolerance, not inside),
                _relation(item, "<=", high, expr.span, scope, tolerance, not inside),
            ]
            return _joined(ends, everything=inside)
        case _:
            scope.add(needs_comparison(expr))
            return None


def is_about_rows(expr: syntax.Expr) -> bool:
    """Whether a comparison mentions columns but no statistic."""
    inside = list(nodes(expr))
    return any(isinstance(n, syntax.Name) for n in inside) and not any(isinstance(n, syntax.Stat) for n in inside)


def _joined(parts: list[Goal | None], everything: bool) -> Goal | None:
    known = tuple(part for part in parts if part is not None)
    if len(known) < len(parts):
        return None
    return known[0] if len(known) == 1 else AllOf(known) if everything else AnyOf(known)


def _relation(
    left: syntax.Expr,
    op: CompareOp,
    right: syntax.Expr,
    span: Span,
    scope: Scope,
    tolerance: float | None,
    negate: bool,
) -> Goal | None:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, syntax.Stat) and one.name == DISTRIBUTION:
            return _spread(one, op, other, scope, tolerance, negate)
    a, b = quantity(left, scope), quantity(right, scope)
    if a is None or b is None:
        return None
    sign = NEGATED[op] if negate else op
    if isinstance(a, Const) and not isinstance(b, Const):  # the target stands on the right
        a, sign, b = b, sums.FLIPPED[sign], a
    if sign in ("<", ">", "!="):
        scope.add(_strict(sign, span))
    slack = default_tolerance(a, sign, b, scope.schema) if tolerance is None else tolerance
    if not isfinite(slack):
        scope.add(needs_tolerance(span))
        return None
    return Relation(a, sign, b, slack)


def quantity(expr: syntax.Expr, scope: Scope) -> Quantity | None:
    """The number of the table an expression stands for."""
    match expr:
        case syntax.Number(value):
            return Const(value)
        case syntax.Negate(inner):
            return _applied("negate", [quantity(inner, scope)], expr.span, scope)
        case syntax.Arith("/", _, syntax.Number(0.0)):
            scope.add(sums.division_by_zero(expr))
        case syntax.Arith(op, left, right):
            return _applied(op, [quantity(left, scope), quantity(right, scope)], expr.span, scope)
        case syntax.Call(name, args) if name in NAMED_FUNCTIONS:
            return _function(expr, [quantity(arg, scope) for arg in args], scope)
        case syntax.Call(name):
            scope.add(sums.unknown_function(name, expr.span))
        case syntax.Stat():
            return _statistic(expr, scope)
        case syntax.Name():
            scope.add(_bare_column(expr, scope))
        case syntax.Shares():
            scope.add(type_mismatch("shares belong to `DIST`", expr.span, "", _DISTRIBUTION_EXAMPLE))
        case _:
            scope.add(type_mismatch("a number was expected", expr.span, "not a number"))
    return None


def _applied(function: str, args: list[Quantity | None], span: Span, scope: Scope) -> Quantity | None:
    """The function of its arguments; of numbers alone, the number."""
    known = tuple(arg for arg in args if arg is not None)
    if len(known) < len(args):
        return None
    numbers = [arg.value for arg in known if isinstance(arg, Const)]
    if len(numbers) < len(known):
        return Apply(function, known)
    with np.errstate(all="ignore"):
        value = float(FUNCTIONS[function].apply(*numbers))
    if not isfinite(value):
        scope.add(sums.too_large(span))
        return None
    return Const(value)


def _function(expr: syntax.Call, args: list[Quantity | None], scope: Scope) -> Quantity | None:
    function = FUNCTIONS[expr.name]
    if (
        expr.options
        or len(args) < function.min_args
        or (function.max_args is not None and len(args) > function.max_args)
    ):
        scope.add(
            wrong_arguments(
                f"`{expr.name}` takes {_how_many(function.min_args, function.max_args, 'number')}", expr.span
            )
        )
        return None
    return _applied(expr.name, args, expr.span, scope)


def _how_many(least: int, most: int | None, noun: str) -> str:
    return counted(least, noun) if least == most else f"at least {counted(least, noun)}"


# --- statistics


def _statistic(expr: syntax.Stat, scope: Scope) -> Quantity | None:
    entry = statistics().get(expr.name)
    if entry is None:
        scope.add(
            _distribution_alone(expr) if expr.name == DISTRIBUTION else sums.unknown_function(expr.name, expr.span)
        )
        return None
    given = rows.predicate(expr.given, scope) if expr.given is not None else None
    levels = _levels(expr, entry.levels, scope)
    if len(expr.args) < entry.min_args or (entry.max_args is not None and len(expr.args) > entry.max_args):
        wanted = _how_many(entry.min_args, entry.max_args, entry.argument)
        scope.add(wrong_arguments(f"`{expr.name}[...]` takes {wanted}", expr.span))
        return None
    args: list[Quantity | Pred | None]
    match entry.argument:
        case "condition":
            args = [rows.predicate(arg, scope) for arg in expr.args]
        case "column":
            args = [_column(arg, scope) for arg in expr.args]
        case "number":
            args = [_row_quantity(arg, scope) for arg in expr.args]
    known = tuple(arg for arg in args if arg is not None)
    if len(known) < len(args) or levels is None or (expr.given is not None and given is None):
        return None
    return Statistic(expr.name, known, given, levels)


def _levels(expr: syntax.Stat, wanted: int, scope: Scope) -> tuple[float, ...] | None:
    numbers = tuple(level.value for level in expr.levels if isinstance(level, syntax.Number))
    good = len(numbers) == len(expr.levels) == wanted and all(0 < number < 1 for number in numbers)
    if not good:
        what = (
            f"`{expr.name}` takes no number in parentheses"
            if not wanted
            else f"`{expr.name}` needs a level between 0 and 1"
        )
        scope.add(wrong_arguments(what, expr.span, "Q(0.9)[age] <= 60" if wanted else None))
        return None
    return numbers


def _column(expr: syntax.Expr, scope: Scope) -> ColumnValue | None:
    if not isinstance(expr, syntax.Name):
        scope.add(type_mismatch("a column was expected", expr.span, "not a column", "e.g. `H[race, sex]`"))
        return None
    column = scope.column(expr)
    return None if column is None else ColumnValue(column.name)


def _row_quantity(expr: syntax.Expr, scope: Scope) -> Quantity | None:
    """A number of each row: columns, arithmetic and functions of them."""
    match expr:
        case syntax.Number(value):
            return Const(value)
        case syntax.Name():
            column = scope.column(expr)
            if isinstance(column, Category) and len(column.categories) > 2 and not column.ordered:
                scope.add(_nominal(column, expr))
            return None if column is None else ColumnValue(column.name)
        case syntax.Negate(inner):
            return _applied("negate", [_row_quantity(inner, scope)], expr.span, scope)
        case syntax.Arith("/", _, syntax.Number(0.0)):
            scope.add(sums.division_by_zero(expr))
        case syntax.Arith() if dashed_column(expr, scope):
            return None
        case syntax.Arith(op, left, right):
            return _applied(op, [_row_quantity(left, scope), _row_quantity(right, scope)], expr.span, scope)
        case syntax.Call(name, args) if name in NAMED_FUNCTIONS:
            return _function(expr, [_row_quantity(arg, scope) for arg in args], scope)
        case syntax.Call(name):
            scope.add(sums.unknown_function(name, expr.span))
        case syntax.Stat():
            scope.add(
                Diagnostic("level-mismatch", "a statistic cannot be taken of a statistic", expr.span, "inside another")
            )
        case syntax.Text():
            scope.add(type_mismatch("a number was expected", expr.span, "this is a text"))
        case _:
            scope.add(
                type_mismatch("a number was expected", expr.span, "this is a condition", "write `P[...]` for its share")
            )
    return None


# --- distributions


def _spread(
    stat: syntax.Stat, op: CompareOp, target: syntax.Expr, scope: Scope, tolerance: float | None, negate: bool
) -> Goal | None:
    given = rows.predicate(stat.given, scope) if stat.given is not None else None
    if op != "==" or negate or not isinstance(target, syntax.Shares):
        scope.add(_distribution_alone(stat))
        return None
    if len(stat.args) != 1 or stat.levels:
        scope.add(wrong_arguments("`DIST[...]` takes one column", stat.span))
        return None
    named = _column(stat.args[0], scope)
    if named is None or (stat.given is not None and given is None):
        return None
    column = scope.schema[named.column]
    if not isinstance(column, Category):
        scope.add(
            type_mismatch(f"`{column.name}` holds numbers, not categories", stat.args[0].span, "a numeric column")
        )
        return None
    shares = _shares(target, column, scope)
    if shares is None:
        return None
    rest = any(key is None for key, _ in target.items)
    return Distribution(column.name, shares, rest, given, SHARE_TOLERANCE if tolerance is None else tolerance)


def _shares(target: syntax.Shares, column: Category, scope: Scope) -> tuple[tuple[str, float], ...] | None:
    shares: dict[str, float] = {}
    before = len(scope.found)
    for key, amount in target.items:
        if key is None:
            if not (isinstance(amount, syntax.Name) and amount.text.lower() == "proportional"):
                scope.add(bad_distribution("`*` is `proportional`", target, "write `*: proportional`"))
            continue
        category = scope.category(column, key)
        if not isinstance(amount, syntax.Number) or not 0 <= amount.value <= 1:
            scope.add(bad_distribution("a share lies between 0 and 1", target, "write `50%` or `0.5`"))
        elif category in shares:
            scope.add(bad_distribution(f"`{category}` is listed twice", target))
        elif category is not None:
            shares[category] = amount.value
    total = sum(shares.values())
    rest = any(key is None for key, _ in target.items)
    if len(scope.found) == before and (total > 1 + 1e-9 or (not rest and abs(total - 1) > 1e-9)):
        complete = rest or total > 1 or len(shares) == len(column.categories)
        help = "make them sum to 100 %" if complete else "add `*: proportional` for the other values"
        scope.add(bad_distribution(f"the shares sum to {total:.6g}", target, help))
    return tuple(shares.items()) if len(scope.found) == before else None


# --- what is wrong


def needs_comparison(expr: syntax.Expr) -> Diagnostic:
    """ENFORCE without something to compare, or with a comparison statistics do not have."""
    if isinstance(expr, syntax.Member | syntax.IsNull):
        return type_mismatch("a statistic is compared with `==`, `<=` or `>=`", expr.span, "", "e.g. `E[age] == 40`")
    example = printer.expression(expr)
    if isinstance(expr, syntax.Stat) and expr.name == DISTRIBUTION:
        example += " == {...: 50%, *: proportional}"
    else:
        example += " <= 0.02" if isinstance(expr, syntax.Call) else " == 40"
    return Diagnostic(
        "action-mismatch",
        "ENFORCE needs a comparison",
        expr.span,
        "a number alone cannot hold or fail",
        f"compare it, e.g. `{example}`, or use MINIMIZE or MAXIMIZE",
    )


def needs_tolerance(span: Span) -> Diagnostic:
    """An equality of numbers without a range to take a tolerance from."""
    return Diagnostic(
        "needs-tolerance",
        "what is compared here has no bounded range, so no tolerance follows from it",
        span,
        "how near is near enough?",
        "say so, e.g. `WITHIN 0.1`",
    )


def wrong_arguments(what: str, span: Span, help: str | None = None) -> Diagnostic:
    """Too few, too many or the wrong arguments."""
    return Diagnostic("wrong-arguments", what, span, "", help)


def bad_distribution(what: str, target: syntax.Shares, help: str | None = None) -> Diagnostic:
    """Shares that are no distribution."""
    return Diagnostic("bad-distribution", what, target.span, "not a distribution", help)


def _distribution_alone(stat: syntax.Stat) -> Diagnostic:
    return type_mismatch("`DIST[...]` is compared with shares by `==`", stat.span, "", _DISTRIBUTION_EXAMPLE)


def _bare_column(name: syntax.Name, scope: Scope) -> Diagnostic:
    found = scope.columns(name)
    if not found:
        return unknown_column(name, scope.schema)
    numeric = not isinstance(scope.schema[found[0]], Category)
    return Diagnostic(
        "level-mismatch",
        f"`{name.text}` is a value of a row, the rest is about the table",
        name.span,
        "a column outside a statistic",
        f"write `E[{name.text}]` for its mean" if numeric else f"write `P[{name.text} == ...]` for a share",
    )


def _row_part(expr: syntax.Expr) -> Diagnostic:
    return Diagnostic(
        "level-mismatch",
        "this part is about rows, the rest is about the table",
        expr.span,
        "a condition on rows",
        f"make it a command of its own, or ask for a share: `P[{printer.expression(expr)}] >= 0.5`",
    )


def _nominal(column: Category, at: syntax.Name) -> Diagnostic:
    return Diagnostic(
        "nominal-arithmetic",
        f"`{column.name}` has no order, but counts here as 0 to {len(column.categories) - 1}",
        at.span,
        "the position in the schema",
        f"use a share, e.g. `P[{column.name} == ...]`, or declare the column `ordered = true`",
        severity="warning",
    )


def _strict(op: str, span: Span) -> Diagnostic:
    closed = {"<": "<=", ">": ">=", "!=": "a range"}[op]
    return Diagnostic(
        "strict-on-real",
        f"`{op}` between real numbers: equality never decides",
        span,
        f"the same as `{closed}` up to rounding" if op != "!=" else "holds for almost every table",
        f"write `{closed}`" if op != "!=" else "state a bound, e.g. `E[age] >= 40`",
        severity="warning",
    )

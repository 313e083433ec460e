"""TABLE expressions to goals: comparisons of numbers of the table, and how they are joined."""

from __future__ import annotations

from math import isfinite

from cuts.data.schema import Schema
from cuts.data.units import NUMBER, Unit, comparable, written_time
from cuts.lang import examples, printer, sums, syntax, units
from cuts.lang.distributions import distribution
from cuts.lang.options import WrittenTolerance
from cuts.lang.quantities import aligned, quantity
from cuts.lang.rewrite import nodes
from cuts.lang.scope import Scope, type_mismatch
from cuts.lang.spec import AllOf, AnyOf, Const, Goal, Relation
from cuts.lang.syntax import CompareOp
from cuts.lang.tolerance import Tolerance, default_tolerance
from cuts.text.diagnostic import Diagnostic
from cuts.text.source import Span
from cuts.vocab.names import DISTRIBUTION

NEGATED: dict[CompareOp, CompareOp] = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def goal(expr: syntax.Expr, scope: Scope, tolerance: WrittenTolerance | None, negate: bool = False) -> Goal | None:
    """The goal an expression states; `tolerance` is the one after `WITHIN`, if there is one."""
    match expr:
        case syntax.Not(inner):
            return goal(inner, scope, tolerance, not negate)
        case syntax.And(parts) | syntax.Or(parts):
            everything = isinstance(expr, syntax.And) != negate
            return _joined([goal(part, scope, tolerance, negate) for part in parts], everything)
        case syntax.Implies(left, right):
            either = [goal(left, scope, tolerance, not negate), goal(right, scope, tolerance, negate)]
            return _joined(either, everything=negate)
        case _ if _is_about_rows(expr):
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
            scope.add(needs_comparison(expr, scope.schema))
            return None


def _is_about_rows(expr: syntax.Expr) -> bool:
    """Whether a comparison mentions columns but no statistic."""
    parts = list(nodes(expr))
    return any(isinstance(n, syntax.Name) for n in parts) and not any(isinstance(n, syntax.Stat) for n in parts)


def _joined(parts: list[Goal | None], everything: bool) -> Goal | None:
    goals = tuple(part for part in parts if part is not None)
    if len(goals) < len(parts):
        return None
    return goals[0] if len(goals) == 1 else AllOf(goals) if everything else AnyOf(goals)


def _relation(
    left: syntax.Expr,
    op: CompareOp,
    right: syntax.Expr,
    span: Span,
    scope: Scope,
    tolerance: WrittenTolerance | None,
    negate: bool,
) -> Goal | None:
    for stat, shares in ((left, right), (right, left)):
        if isinstance(stat, syntax.Stat) and stat.name == DISTRIBUTION:
            amount = None if tolerance is None else tolerance.counting(NUMBER, scope)
            return distribution(stat, op, shares, scope, amount, negate)
    for text, side in ((left, right), (right, left)):
        if isinstance(text, syntax.Text) and written_time(text.value) is None:
            beside = quantity(side, scope)
            if beside is not None and beside.unit.is_time:
                scope.add(units.not_a_time(text, side, beside.unit, scope))
                return None
    sides = quantity(left, scope), quantity(right, scope)
    if sides[0] is None or sides[1] is None:
        return None
    if not comparable(sides[0].unit, sides[1].unit):
        scope.add(units.not_comparable(left, right, (sides[0].unit, sides[1].unit), scope))
        return None
    one, other = aligned((sides[0], sides[1]))
    a, b, unit = one.value, other.value, one.unit
    sign = NEGATED[op] if negate else op
    if isinstance(a, Const) and not isinstance(b, Const):  # the target stands on the right
        a, sign, b = b, sums.FLIPPED[sign], a
        left, right = right, left
    if sign in ("<", ">", "!="):
        scope.add(_strict(left, sign, right, span))
    slack = default_tolerance(a, sign, b, scope.schema) if tolerance is None else _stated(tolerance, unit, scope)
    if slack is None:
        return None
    if not isfinite(slack.value):
        scope.add(needs_tolerance(span, unit))
        return None
    return Relation(a, sign, b, slack.value, _shown(left, right), slack.basis, unit)


def _stated(written: WrittenTolerance, unit: Unit, scope: Scope) -> Tolerance | None:
    """The tolerance of a command in the unit of a comparison."""
    amount = written.counting(unit, scope)
    return None if amount is None else Tolerance(amount, "stated")


def _shown(left: syntax.Expr, right: syntax.Expr) -> str:
    """The text of the number a comparison measures: the side with a statistic; of two such sides, the difference."""
    measured = [side for side in (left, right) if any(isinstance(node, syntax.Stat) for node in nodes(side))]
    if len(measured) == 2:
        return printer.expression(syntax.Arith("-", left, right))
    return printer.expression((measured or [left])[0])


# --- what is wrong


def needs_comparison(expr: syntax.Expr, schema: Schema) -> Diagnostic:
    """ENFORCE without something to compare, or with a comparison statistics do not have."""
    if isinstance(expr, syntax.Member | syntax.IsNull):
        example = examples.comparison(expr.item, schema)
        title = "a statistic can only be compared with `==`, `<=`, `>=` or `BETWEEN`"
        return type_mismatch(title, expr.span, "another comparison", f"e.g. {printer.code(example)}")
    return Diagnostic(
        "action-mismatch",
        "ENFORCE needs a comparison",
        expr.span,
        "a number alone is neither true nor false",
        f"compare it, e.g. {printer.code(examples.comparison(expr, schema))}, or use MINIMIZE or MAXIMIZE",
    )


def needs_tolerance(span: Span, unit: Unit) -> Diagnostic:
    """An equality of numbers without a range to take a tolerance from."""
    return Diagnostic(
        "needs-tolerance",
        "this `==` has no default tolerance: the range of what is compared is unbounded",
        span,
        "equal up to which difference?",
        'give the tolerance, e.g. `WITHIN "1 h"`' if unit.power == 1 else "give the tolerance, e.g. `WITHIN 0.1`",
    )


def _row_part(expr: syntax.Expr) -> Diagnostic:
    return Diagnostic(
        "level-mismatch",
        "this part is about single rows, the rest is about the whole table",
        expr.span,
        "a condition on rows",
        "make it a command of its own, or ask for a share: " + printer.code(f"P[{printer.expression(expr)}] >= 0.5"),
    )


def _strict(left: syntax.Expr, op: str, right: syntax.Expr, span: Span) -> Diagnostic:
    if op == "!=":
        title = "`!=` holds for almost every table: statistics are real numbers"
        label = "excludes a single number"
        help = "state a bound, e.g. " + printer.code(f"{printer.expression(left)} >= {printer.expression(right)}")
    else:
        title = f"`{op}` and `{op}=` mean the same for statistics, which are real numbers"
        label, help = f"the same as `{op}=`", f"write `{op}=`"
    return Diagnostic("strict-on-real", title, span, label, help, severity="warning")

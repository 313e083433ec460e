"""Conditions that no value of the schema can meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cuts.data.lattice import at_least
from cuts.data.schema import Category, Empty, Identifier, Integer, Schema
from cuts.lang import rows, syntax
from cuts.lang.rewrite import nodes
from cuts.lang.scope import Scope, show_value
from cuts.lang.spec import And, LinearCompare, Missing, Pred, Truth
from cuts.text.diagnostic import Diagnostic
from cuts.text.source import Span


def check_domain(pred: Pred, body: syntax.Expr, scope: Scope) -> None:
    """Report every part that all rows must meet and none can; `body` is where `pred` is written."""
    for leaf in _conjuncts(pred):
        if _rejects_all(leaf, scope.schema):
            scope.add(outside_domain(leaf, body, scope.schema))


def _conjuncts(pred: Pred) -> Iterator[Pred]:
    if isinstance(pred, And):
        for part in pred.parts:
            yield from _conjuncts(part)
    else:
        yield pred


def _rejects_all(leaf: Pred, schema: Schema) -> bool:
    if isinstance(leaf, Truth):
        return not leaf.value
    if isinstance(leaf, Missing):
        return not schema[leaf.column].missing
    if not isinstance(leaf, LinearCompare) or len(leaf.form.terms) != 1:
        return False
    column = schema[leaf.form.columns[0]]
    assert not isinstance(column, Category | Identifier | Empty)
    limits = column.range
    if leaf.op == "==" and at_least(leaf.bound, column.per_unit) != leaf.bound:
        return True
    tests: dict[str, Callable[[float], bool]] = {
        "==": lambda c: not limits.low <= c <= limits.high,
        "!=": lambda c: limits.low == c == limits.high,
        "<": lambda c: limits.low >= c,
        "<=": lambda c: limits.low > c,
        ">": lambda c: limits.high <= c,
        ">=": lambda c: limits.high < c,
    }
    return tests[leaf.op](leaf.bound)


def outside_domain(leaf: Pred, body: syntax.Expr, schema: Schema) -> Diagnostic:
    """A comparison no value of the column can meet."""
    if isinstance(leaf, LinearCompare):
        column = schema[leaf.form.columns[0]]
        assert not isinstance(column, Category | Identifier | Empty)
        span, label = _leaf_span(leaf, body, schema), "rejects every row"
        reach = f"{show_value(column, column.range.low)} to {show_value(column, column.range.high)}"
        if isinstance(column, Integer) and leaf.bound != int(leaf.bound):
            reach += " in whole numbers"
        return Diagnostic(
            "outside-domain",
            f"no value of `{column.name}` satisfies this: its values range from {reach}",
            span,
            label,
            "change the number, or widen the column's range in the schema",
        )
    if isinstance(leaf, Missing):
        return Diagnostic(
            "outside-domain",
            f"the schema says that `{leaf.column}` is never missing",
            body.span,
            "rejects every row",
            f"add `missing = true` to `{leaf.column}` in the schema",
        )
    return Diagnostic("outside-domain", "this never holds", body.span, "rejects every row", "remove the command")


def _leaf_span(leaf: LinearCompare, body: syntax.Expr, schema: Schema) -> Span:
    """The smallest comparison in `body` that states `leaf`, for the carets."""
    for node in nodes(body):
        if isinstance(node, syntax.Compare | syntax.Between | syntax.Member):
            pred = rows.predicate(node, Scope(schema))
            if pred is not None and leaf in _conjuncts(pred):
                return node.span
    return body.span

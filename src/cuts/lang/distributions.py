"""`DIST[column] == {value: share, ...}` to a goal."""

from __future__ import annotations

from cuts.data.schema import Category, Schema, Temporal
from cuts.lang import examples, printer, rows, syntax
from cuts.lang.options import wrong_arguments
from cuts.lang.quantities import column_value
from cuts.lang.scope import Scope, type_mismatch
from cuts.lang.spec import Distribution
from cuts.lang.syntax import CompareOp
from cuts.lang.tolerance import SHARE_TOLERANCE
from cuts.text.diagnostic import Diagnostic
from cuts.vocab.names import DISTRIBUTION

_ROUNDING = 1e-9  # how far shares may be from summing to one


def distribution(
    stat: syntax.Stat, op: CompareOp, shares: syntax.Expr, scope: Scope, tolerance: float | None, negate: bool
) -> Distribution | None:
    """The goal that a distribution compared with shares states; nothing after reporting why it is none."""
    given = rows.predicate(stat.given, scope) if stat.given is not None else None
    if op != "==" or negate or not isinstance(shares, syntax.Shares):
        scope.add(distribution_alone(stat, scope.schema))
        return None
    if len(stat.args) != 1 or stat.levels:
        example = examples.distribution(scope.schema)
        scope.add(wrong_arguments(f"`{DISTRIBUTION}[...]` takes 1 column", stat.span, f"e.g. {printer.code(example)}"))
        return None
    value = column_value(stat.args[0], scope)
    if value is None or (stat.given is not None and given is None):
        return None
    column = scope.schema[value.column]
    if not isinstance(column, Category):
        mean = examples.comparison(syntax.Stat("E", (), (syntax.Name(column.name),), None), scope.schema)
        share = f"P[{examples.condition(scope.schema, column.name)}] == 0.5"
        help = f"compare its mean, e.g. {printer.code(mean)}, or a share, e.g. {printer.code(share)}"
        what = f"{column.kind}s" if isinstance(column, Temporal) else "numbers"
        title = f"`{column.name}` holds {what}, not categories"
        scope.add(type_mismatch(title, stat.args[0].span, f"a column of {what}", help))
        return None
    items = _shares(shares, column, scope)
    if items is None:
        return None
    slack = SHARE_TOLERANCE if tolerance is None else tolerance
    return Distribution(column.name, items, _has_rest(shares), given, slack, printer.expression(stat))


def _has_rest(shares: syntax.Shares) -> bool:
    return any(key is None for key, _ in shares.items)


def _shares(written: syntax.Shares, column: Category, scope: Scope) -> tuple[tuple[str, float], ...] | None:
    shares: dict[str, float] = {}
    before = len(scope.diagnostics)
    for key, amount in written.items:
        if key is None:
            if not (isinstance(amount, syntax.Name) and amount.text.lower() == "proportional"):
                scope.add(bad_distribution("`*` must be `proportional`", written, "write `*: proportional`"))
            continue
        category = scope.category(column, key)
        if not isinstance(amount, syntax.Number) or not 0 <= amount.value <= 1:
            scope.add(bad_distribution("a share must be between 0 and 1", written, "write `50%` or `0.5`"))
        elif category in shares:
            scope.add(bad_distribution(f"`{category}` is listed twice", written, "keep one of them"))
        elif category is not None:
            shares[category] = amount.value
    total = sum(shares.values())
    rest = _has_rest(written)
    is_sum_wrong = total > 1 + _ROUNDING or (not rest and abs(total - 1) > _ROUNDING)
    if len(scope.diagnostics) == before and is_sum_wrong:
        complete = rest or total > 1 or len(shares) == len(column.categories)
        help = "make them sum to 100 %" if complete else "add `*: proportional` for the other values"
        scope.add(bad_distribution(f"the shares sum to {100 * total:.6g} %", written, help))
    return tuple(shares.items()) if len(scope.diagnostics) == before else None


# --- what is wrong


def bad_distribution(title: str, shares: syntax.Shares, help: str | None = None) -> Diagnostic:
    """Shares that are no distribution."""
    return Diagnostic("bad-distribution", title, shares.span, "not a distribution", help)


def distribution_alone(stat: syntax.Stat, schema: Schema) -> Diagnostic:
    """A distribution that is not compared with shares."""
    column = stat.args[0].text if stat.args and isinstance(stat.args[0], syntax.Name) else None
    title = f"`{DISTRIBUTION}[...]` can only be compared with shares, by `==`"
    return type_mismatch(title, stat.span, "", f"e.g. {printer.code(examples.distribution(schema, column))}")

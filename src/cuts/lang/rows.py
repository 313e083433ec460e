"""ROW expressions to predicates: comparisons typed, arithmetic brought to `sum of columns op number`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from cuts.data.schema import Category, Column, Integer, Numeric, Real, Temporal
from cuts.data.units import comparable, written_time
from cuts.lang import examples, printer, syntax, units
from cuts.lang.rewrite import nodes
from cuts.lang.scope import (
    Scope,
    ambiguous_name,
    dashed_column,
    dashed_name,
    show_value,
    type_mismatch,
    unknown_category,
    unknown_column,
    unknown_text,
)
from cuts.lang.spec import And, Implies, InSet, LinearCompare, Missing, Not, Or, Pred, Truth, has_number
from cuts.lang.sums import (
    FLIPPED,
    ZERO,
    linear_sum,
    normalised,
    not_a_number,
    on_lattice,
    statistic_in_row,
    sum_lattice,
    too_large,
    unknown_function,
)
from cuts.lang.syntax import CompareOp
from cuts.text.diagnostic import Diagnostic, nearest
from cuts.text.source import Span
from cuts.vocab.functions import NAMED_FUNCTIONS
from cuts.vocab.names import measures


def predicate(expr: syntax.Expr, scope: Scope) -> Pred | None:
    """The predicate an expression states; nothing after reporting what is wrong with it."""
    match expr:
        case syntax.And(parts):
            return _joined(And, parts, scope)
        case syntax.Or(parts):
            return _joined(Or, parts, scope)
        case syntax.Not(inner):
            pred = predicate(inner, scope)
            return None if pred is None else Not(pred)
        case syntax.Implies(left, right):
            when, then = predicate(left, scope), predicate(right, scope)
            return None if when is None or then is None else Implies(when, then)
        case syntax.Compare(operands, ops):
            pairs = [
                _compare(a, op, b, expr.span, scope) for a, op, b in zip(operands, ops, operands[1:], strict=False)
            ]
            return _all(pairs)
        case syntax.Member():
            return _member(expr, scope)
        case syntax.Between(item, low, high, negated):
            if negated:
                return _any([_compare(item, "<", low, expr.span, scope), _compare(item, ">", high, expr.span, scope)])
            return _all([_compare(item, ">=", low, expr.span, scope), _compare(item, "<=", high, expr.span, scope)])
        case syntax.IsNull(item, negated):
            return _is_null(item, negated, scope)
        case _:
            scope.add(_not_a_condition(expr, scope))
            return None


def _joined(join: Callable[[tuple[Pred, ...]], Pred], parts: tuple[syntax.Expr, ...], scope: Scope) -> Pred | None:
    preds = [predicate(part, scope) for part in parts]
    bound = tuple(pred for pred in preds if pred is not None)
    return join(bound) if len(bound) == len(preds) else None


def _all(parts: list[Pred | None]) -> Pred | None:
    bound = tuple(part for part in parts if part is not None)
    if len(bound) < len(parts):
        return None
    return bound[0] if len(bound) == 1 else And(bound)


def _any(parts: list[Pred | None]) -> Pred | None:
    bound = tuple(part for part in parts if part is not None)
    return Or(bound) if len(bound) == len(parts) else None


# --- comparisons


def _compare(left: syntax.Expr, op: CompareOp, right: syntax.Expr, span: Span, scope: Scope) -> Pred | None:
    dashed = [dashed_column(side, scope) for side in (left, right)]  # both are reported
    if any(dashed):
        return None
    for item, sign, value in ((left, op, right), (right, FLIPPED[op], left)):
        column = _as_category_column(item, scope)
        if column is not None and (meant := dashed_name(value, column.categories)) is not None:
            scope.add(unknown_category(column, printer.expression(value), value.span, meant))
            return None
        if column is None or not isinstance(value, syntax.Number | syntax.Text | syntax.Name):
            continue
        if scope.categories(column, value):  # `A1 == A11`: the category wins over a column of that name
            return _with_category(column, sign, value, scope)
        other = _as_column(value, scope)
        if isinstance(other, Category):
            return _two_categories(column, sign, other, item, scope)
        if other is None and not (isinstance(item, syntax.Name) and item is right and isinstance(left, syntax.Name)):
            return _with_category(column, sign, value, scope)
    for item, sign, value in ((left, op, right), (right, FLIPPED[op], left)):
        numbers = _as_column(item, scope)
        if isinstance(numbers, Integer | Real) and numbers.texts and isinstance(value, syntax.Text | syntax.Name):
            texts = scope.texts(numbers, value)
            if texts or isinstance(value, syntax.Text):
                return _with_text(numbers, sign, value, texts, scope)
    return _compare_numbers(left, op, right, span, scope)


def _with_text(
    column: Integer | Real, op: CompareOp, value: syntax.Text | syntax.Name, texts: tuple[str, ...], scope: Scope
) -> Pred | None:
    """A numeric column compared with one of the texts beside its numbers."""
    if len(texts) == 1 and op in ("==", "!="):
        return InSet(column.name, frozenset(texts), op == "!=")
    shown = printer.expression(value)
    if not texts:
        scope.add(unknown_text(column, shown, value.span))
    elif len(texts) > 1:
        scope.add(ambiguous_name(shown, texts, value.span, '"'))
    else:
        help = "texts can be compared with `==`, `!=` and `IN`"
        title = f"`{shown}` is a text of `{column.name}`, not a number"
        scope.add(type_mismatch(title, value.span, f"`{op}` needs a number", help))
    return None


def _as_column(expr: syntax.Expr, scope: Scope) -> Column | None:
    if not isinstance(expr, syntax.Name):
        return None
    candidates = scope.columns(expr)
    return scope.schema[candidates[0]] if len(candidates) == 1 else None


def _as_category_column(expr: syntax.Expr, scope: Scope) -> Category | None:
    column = _as_column(expr, scope)
    return column if isinstance(column, Category) else None


def _with_category(column: Category, op: CompareOp, value: syntax.Value, scope: Scope) -> Pred | None:
    if op in ("<", "<=", ">", ">=") and not column.ordered:
        values = [printer.value(category) for category in column.categories[:2]]
        example = f"{printer.name(column.name)} IN {{{', '.join(values)}}}"
        scope.add(
            type_mismatch(
                f"the values of `{column.name}` have no order",
                value.span,
                f"`{op}` needs an ordered column",
                f"list the values, e.g. {printer.code(example)}, or declare the column `ordered = true` in the schema",
            )
        )
        return None
    category = scope.category(column, value)
    if category is None:
        return None
    if op in ("==", "!="):
        return InSet(column.name, frozenset({category}), op == "!=")
    position = column.categories.index(category)
    matching = {
        "<": column.categories[:position],
        "<=": column.categories[: position + 1],
        ">": column.categories[position + 1 :],
        ">=": column.categories[position:],
    }[op]
    return InSet(column.name, frozenset(matching))


def _two_categories(one: Category, op: CompareOp, other: Category, at: syntax.Expr, scope: Scope) -> Pred | None:
    """Two category columns compared: equal when both hold the same text."""
    if op not in ("==", "!="):
        scope.add(
            type_mismatch(
                f"`{one.name}` and `{other.name}` can only be compared with `==` and `!=`",
                at.span,
                f"`{op}` needs numbers",
                "both hold categories",
            )
        )
        return None
    shared = [c for c in one.categories if c in other.categories]
    same: Pred = (
        Or(tuple(And((InSet(one.name, frozenset({c})), InSet(other.name, frozenset({c})))) for c in shared))
        if shared
        else Truth(False)
    )
    return same if op == "==" else And((Not(Missing(one.name)), Not(Missing(other.name)), Not(same)))


def _compare_numbers(left: syntax.Expr, op: CompareOp, right: syntax.Expr, span: Span, scope: Scope) -> Pred | None:
    unknown = [side for side in (left, right) if isinstance(side, syntax.Name) and not scope.columns(side)]
    if unknown:
        _report_unknown(unknown, left if unknown[0] is right else right, scope)
        return None
    if any(_is_other_text(text, side, scope) for text, side in ((left, right), (right, left))):
        return None
    one, other = linear_sum(left, scope), linear_sum(right, scope)
    if one is None or other is None:
        return None
    if not comparable(one.unit, other.unit):
        scope.add(units.not_comparable(left, right, (one.unit, other.unit), scope))
        return None
    coefficients = {
        name: one.terms.get(name, ZERO) - other.terms.get(name, ZERO) for name in {**one.terms, **other.terms}
    }
    terms = [(name, coefficients[name]) for name in scope.schema.names if coefficients.get(name, ZERO) != 0]
    bound = other.constant - one.constant
    gone = [name for name, value in coefficients.items() if value == 0]
    if not terms:
        pred: Pred = Truth(_holds(ZERO, op, bound))
    else:
        try:
            compared = normalised(terms, op, bound)
        except OverflowError:
            scope.add(too_large(span))
            return None
        _warn_about_points(compared, op, span, scope)
        per_unit = sum_lattice(compared.form, scope.schema)
        is_rounded = one.unit.is_time and per_unit != 1 and not _is_exact(compared)
        between = is_rounded or _has_formula((left, right), scope)
        pred = compared if per_unit is None or not between else on_lattice(compared, per_unit)
    # `age == age` is still false where age is missing.
    return And((*(has_number(scope.schema.learned(name)) for name in gone), pred)) if gone else pred


def _is_other_text(text: syntax.Expr, beside: syntax.Expr, scope: Scope) -> bool:
    """Whether one side of a comparison is quoted text that is no date, time or duration; if so, that is reported."""
    if not isinstance(text, syntax.Text) or written_time(text.value) is not None:
        return False
    other = linear_sum(beside, scope)
    if other is not None and other.unit.is_time:
        scope.add(units.not_a_time(text, beside, other.unit, scope))
    elif other is not None:
        scope.add(not_a_number(text, scope.schema))
    return True


def _is_exact(compared: LinearCompare) -> bool:
    """Whether float64 decides a comparison without rounding: of one column, or which of two is larger."""
    return len(compared.form.terms) == 1 or (len(compared.form.terms) == 2 and compared.bound == 0)


def _has_formula(sides: tuple[syntax.Expr, ...], scope: Scope) -> bool:
    """Whether a sum names a computed column, which is compared as its values are written."""
    named = [node for side in sides for node in nodes(side) if isinstance(node, syntax.Name)]
    return any(scope.linear_formula(name) is not None for name in named)


def _report_unknown(unknown: list[syntax.Name], other: syntax.Expr, scope: Scope) -> None:
    """Report a name that is no column: beside a column it was meant as one of its values, else as a column."""
    first = unknown[0]
    column = _as_column(other, scope)
    if column is None or not isinstance(other, syntax.Name) or nearest(first.text, scope.schema.names) is not None:
        scope.add(unknown_column(first, scope.schema))
    elif isinstance(column, Category):
        scope.add(unknown_category(column, first.text, first.span))
    elif scope.linear_formula(other) is not None or (column := scope.column(other)) is not None:
        scope.add(_not_a_value(first, column))


def _not_a_value(name: syntax.Name, column: Column) -> Diagnostic:
    """A bare word beside a column of numbers, dates or times."""
    assert isinstance(column, Numeric)
    what = column.kind if isinstance(column, Temporal) else "number"
    low, high = show_value(column, column.low), show_value(column, column.high)
    help = f'its values range from "{low}" to "{high}", in quotes' if isinstance(column, Temporal) else None
    return type_mismatch(
        f"`{column.name}` holds {what}s, `{name.text}` is neither a {what} nor a column",
        name.span,
        f"not a {what}",
        help or f"its values range from {low} to {high}",
    )


def _holds(left: Fraction, op: CompareOp, right: Fraction) -> bool:
    return {
        "==": left == right,
        "!=": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }[op]


def _warn_about_points(comparison: LinearCompare, op: CompareOp, span: Span, scope: Scope) -> None:
    reals = [
        name for name in comparison.form.columns if isinstance(c := scope.schema[name], Real) and c.decimals is None
    ]
    if op in ("==", "!=") and reals:
        scope.add(
            Diagnostic(
                "strict-on-real",
                f"`{reals[0]}` holds real numbers: hardly any row equals a number exactly",
                span,
                "matches a single point" if op == "==" else "excludes a single point",
                f"{_range_around(comparison, op, scope)}, or declare `decimals` for the column in the schema",
                severity="warning",
            )
        )


def _range_around(comparison: LinearCompare, op: CompareOp, scope: Scope) -> str:
    """A help that gives a range around the number, one hundredth of the column's range wide."""
    column = scope.schema[comparison.form.columns[0]]
    word = "BETWEEN" if op == "==" else "NOT BETWEEN"
    if len(comparison.form.columns) > 1 or not isinstance(column, Real):
        return f"give a range with `{word}`"
    margin = (column.high - column.low) / 200
    ends = [printer.short(comparison.bound - margin, 4), printer.short(comparison.bound + margin, 4)]
    example = f"{printer.name(column.name)} {word} {ends[0]} AND {ends[1]}"
    return f"give a range, e.g. {printer.code(example)}"


# --- sets and missing values


def _member(expr: syntax.Member, scope: Scope) -> Pred | None:
    if not isinstance(expr.item, syntax.Name):
        return _number_in_set(expr, scope)
    column = scope.column(expr.item)
    if column is None:
        return None
    if not isinstance(column, Category):
        return _number_in_set(expr, scope)
    values = [scope.category(column, value) for value in expr.values]
    categories = frozenset(value for value in values if value is not None)
    return InSet(column.name, categories, expr.negated) if None not in values else None


def _number_in_set(expr: syntax.Member, scope: Scope) -> Pred | None:
    sign: CompareOp = "!=" if expr.negated else "=="
    parts = [_compare(expr.item, sign, value, expr.span, scope) for value in expr.values]
    return _all(parts) if expr.negated or len(parts) == 1 else _any(parts)


def _is_null(item: syntax.Expr, negated: bool, scope: Scope) -> Pred | None:
    if not isinstance(item, syntax.Name):
        names = [node for node in nodes(item) if isinstance(node, syntax.Name) and scope.columns(node)]
        help = f"write {printer.code(f'{printer.expression(names[0])} IS NULL')}" if names else None
        scope.add(type_mismatch("only a column can be missing", item.span, "not a column", help))
        return None
    formula = scope.linear_formula(item)
    column = None if formula is not None else scope.column(item)
    if formula is not None:  # computed from these columns, so missing where one of them is
        missing: Pred = Or(tuple(map(Missing, formula[0])))
    elif column is not None:
        missing = Missing(column.name)
    else:
        return None
    return Not(missing) if negated else missing


# --- what is wrong


def _not_a_condition(expr: syntax.Expr, scope: Scope) -> Diagnostic:
    match expr:
        case syntax.Stat():
            return statistic_in_row(expr)
        case syntax.Call(name) if name not in NAMED_FUNCTIONS and name not in measures():
            return unknown_function(name, expr.span)
        case syntax.Name():
            columns = scope.columns(expr)
            example = examples.condition(scope.schema, columns[0] if columns else expr.text)
            help = f"compare it, e.g. {printer.code(example)}"
            return type_mismatch("expected a condition", expr.span, "a name alone", help)
        case _:
            example = printer.code(examples.condition(scope.schema))
            help = f"compare it with a number, or write a condition such as {example}"
            return type_mismatch("expected a condition", expr.span, "not a condition", help)

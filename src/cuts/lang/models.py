"""MODEL expressions to measures of classifiers."""

from __future__ import annotations

from cuts.data.schema import Category
from cuts.lang import examples, printer, sums, syntax
from cuts.lang.options import by_key, missing_argument, number_option, whole_option, wrong_arguments
from cuts.lang.rewrite import nodes
from cuts.lang.scope import Scope, type_mismatch
from cuts.lang.spec import MeasureOf
from cuts.lang.sums import FLIPPED
from cuts.lang.syntax import CompareOp
from cuts.text.diagnostic import Diagnostic, listed
from cuts.text.source import Span
from cuts.vocab.names import DEPRECATED, measures
from cuts.vocab.registry import LEARNER_OPTIONS


def split(expr: syntax.Expr, scope: Scope) -> tuple[syntax.Call, CompareOp | None, float | None] | None:
    """The measure in an expression and the bound on it, if there is one."""
    match expr:
        case syntax.Call():
            return expr, None, None
        case syntax.Compare((syntax.Call() as call, syntax.Number(bound)), (op,)):
            return call, op, bound
        case syntax.Compare((syntax.Number(bound), syntax.Call() as call), (op,)):
            return call, FLIPPED[op], bound
        case _:
            scope.add(_mixed_measure(expr))
            return None


def measure(call: syntax.Call, scope: Scope) -> MeasureOf | None:
    """The measure a call names, its arguments resolved."""
    entry = measures().get(call.name)
    if entry is None:
        scope.add(sums.unknown_function(call.name, call.span))
        return None
    before = len(scope.diagnostics)
    if call.spelling.upper() in DEPRECATED:
        scope.add(_deprecated(call))
        before += 1
    if call.args:
        title = f"the arguments of `{call.name}` must be named"
        example = printer.code(examples.measure(call.name, scope.schema))
        scope.add(wrong_arguments(title, call.args[0].span, f"e.g. {example}"))
    options = by_key(call.options, (*entry.required, *entry.optional), call.name, scope)
    for key in entry.required:
        if key not in options and not call.args:
            scope.add(missing_argument(call.name, key, call.span, examples.measure(call.name, scope.schema)))
    target = _one_column(options.get("target"), scope)
    protected = _columns(options.get("protected"), scope)
    features = _features(options.get("features"), target, scope)
    for column, option in ((target, "target"), *((p, "protected") for p in protected)):
        if column is not None and not isinstance(scope.schema[column], Category):
            scope.add(
                type_mismatch(
                    f"`{column}` holds numbers, `{option}` must be a category column",
                    options[option].span,
                    "a numeric column",
                    f"e.g. {printer.code(examples.measure(call.name, scope.schema))}, "
                    f"or declare `{column}` as a category",
                )
            )
    if target is not None and target in protected:
        scope.add(
            Diagnostic(
                "protected-equals-target",
                f"`{target}` is both the protected column and the target",
                options["protected"].span,
                "the target itself",
                "choose the column of groups as `protected` and the outcome as `target`",
            )
        )
    desired = _desired(options.get("desired_outcome"), target, scope)
    learner = tuple((key, _learner_option(options[key], scope)) for key in LEARNER_OPTIONS if key in options)
    if len(scope.diagnostics) > before or target is None:
        return None
    numbers = tuple((key, value) for key, value in learner if value is not None)
    return MeasureOf(call.name, target, features, protected, desired, numbers)


def _learner_option(option: syntax.Option, scope: Scope) -> float | None:
    return number_option(option, scope, 0.0) if option.key == "lr" else whole_option(option, scope)


def _one_column(option: syntax.Option | None, scope: Scope) -> str | None:
    columns = _columns(option, scope)
    if option is not None and len(columns) > 1:
        scope.add(wrong_arguments(f"`{option.key}` must be a single column", option.span, "keep one of them"))
    return columns[0] if columns else None


def _columns(option: syntax.Option | None, scope: Scope) -> tuple[str, ...]:
    if option is None:
        return ()
    items = option.value.items if isinstance(option.value, syntax.ListOf) else (option.value,)
    names: list[str] = []
    for item in items:
        name = syntax.Name(item.value, True, item.span) if isinstance(item, syntax.Text) else item
        if not isinstance(name, syntax.Name):
            scope.add(type_mismatch("expected a column", item.span, "not a name"))
            continue
        column = scope.column(name)
        if column is not None:
            names.append(column.name)
    return tuple(names)


def _features(option: syntax.Option | None, target: str | None, scope: Scope) -> tuple[str, ...]:
    if option is None or (isinstance(option.value, syntax.Name) and option.value.text.lower() == "all"):
        return tuple(column.name for column in scope.schema.modelled if column.name != target)
    names = _columns(option, scope)
    if target is not None and target in names:
        scope.add(
            Diagnostic(
                "target-in-features",
                f"`{target}` is predicted from itself",
                option.span,
                "the target is among the features",
                "remove it, or write `features=all`, which leaves it out",
            )
        )
    return names


def _desired(option: syntax.Option | None, target: str | None, scope: Scope) -> str | None:
    if option is None or target is None:
        return None
    column = scope.schema[target]
    if isinstance(option.value, syntax.ListOf) or not isinstance(column, Category):
        help = f"its values are {listed(column.categories)}" if isinstance(column, Category) else None
        title = f"`desired_outcome` must be one value of `{target}`"
        scope.add(type_mismatch(title, option.span, "not a value", help))
        return None
    return scope.category(column, option.value)


# --- what is wrong


def _mixed_measure(expr: syntax.Expr) -> Diagnostic:
    calls = [printer.expression(node) for node in nodes(expr) if isinstance(node, syntax.Call)]
    return Diagnostic(
        "level-mismatch",
        "a measure of classifiers must stand alone or be compared with one number",
        expr.span,
        "more than a measure and a number",
        f"write one command per measure, e.g. {printer.code(f'{calls[0]} <= 0.02')}"
        if calls
        else "write one command per measure",
    )


def _deprecated(call: syntax.Call) -> Diagnostic:
    return Diagnostic(
        "deprecated-name",
        f"`{call.spelling}` is the old spelling of `{call.name}`",
        Span(call.span.start, call.span.start + len(call.spelling)),
        "still understood",
        f"write `{call.name}`, or run `cuts fmt`",
        severity="warning",
    )

"""MODEL expressions to measures."""

from __future__ import annotations

from collections.abc import Sequence

from cuts.data.schema import Category, Schema
from cuts.lang import sums, syntax
from cuts.lang.options import number_option, whole_option
from cuts.lang.scope import Scope, type_mismatch
from cuts.lang.spec import MeasureOf
from cuts.lang.sums import FLIPPED
from cuts.lang.syntax import CompareOp
from cuts.lang.tables import wrong_arguments
from cuts.text.diagnostic import Diagnostic, did_you_mean
from cuts.text.source import Span
from cuts.vocab.names import DEPRECATED, fairness_measures, measures
from cuts.vocab.registry import LEARNER_OPTIONS, Measure


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
            scope.add(
                Diagnostic(
                    "level-mismatch",
                    "a measure of classifiers stands alone or is compared with a number",
                    expr.span,
                    "too much around the measure",
                    f"write one command per measure, e.g. `{_any_example(scope.schema)} <= 0.02`",
                )
            )
            return None


def measure(call: syntax.Call, scope: Scope) -> MeasureOf | None:
    """The measure a call names, its arguments resolved."""
    entry = measures().get(call.name)
    if entry is None:
        scope.add(sums.unknown_function(call.name, call.span))
        return None
    before = len(scope.found)
    if call.spelling.upper() in DEPRECATED:
        scope.add(_deprecated(call))
        before += 1
    if call.args:
        scope.add(
            wrong_arguments(
                f"the arguments of `{call.name}` are named",
                call.args[0].span,
                f"e.g. `{_example(entry, scope.schema)}`",
            )
        )
    options = by_key(call.options, (*entry.required, *entry.optional), call.name, scope)
    for key in entry.required:
        if key not in options and not call.args:
            scope.add(missing_argument(call.name, key, call.span, _example(entry, scope.schema)))
    target = _one_column(options.get("target"), scope)
    protected = _columns(options.get("protected"), scope)
    features = _features(options.get("features"), target, scope)
    for column, option in ((target, "target"), *((p, "protected") for p in protected)):
        if column is not None and not isinstance(scope.schema[column], Category):
            scope.add(
                type_mismatch(
                    f"`{column}` holds numbers, a {option} column has groups",
                    options[option].span,
                    "a numeric column",
                    "declare it as a category in the schema",
                )
            )
    if target is not None and target in protected:
        scope.add(
            Diagnostic(
                "protected-equals-target",
                f"`{target}` is both protected and predicted",
                options["protected"].span,
                "the target itself",
                "name the group column as `protected` and the outcome as `target`",
            )
        )
    desired = _desired(options.get("desired_outcome"), target, scope)
    learner = tuple((key, _learner_option(options[key], scope)) for key in LEARNER_OPTIONS if key in options)
    if len(scope.found) > before or target is None:
        return None
    numbers = tuple((key, value) for key, value in learner if value is not None)
    return MeasureOf(call.name, target, features, protected, desired, numbers)


def missing_argument(what: str, key: str, span: Span, example: str) -> Diagnostic:
    """An argument that must be given."""
    return Diagnostic("missing-argument", f"`{what}` needs `{key}`", span, "", f"e.g. `{example}`")


def unknown_option(option: syntax.Option, known: Sequence[str], what: str) -> Diagnostic:
    """An option nobody reads."""
    return Diagnostic(
        "unknown-option",
        f"{what} has no option `{option.key}`",
        option.span,
        "unknown",
        did_you_mean(option.key, known) or f"its options are {', '.join(known)}",
    )


def _learner_option(option: syntax.Option, scope: Scope) -> float | None:
    return number_option(option, scope, 0.0) if option.key == "lr" else whole_option(option, scope)


def by_key(given: Sequence[syntax.Option], known: Sequence[str], what: str, scope: Scope) -> dict[str, syntax.Option]:
    """The options by name, each known and given once."""
    options: dict[str, syntax.Option] = {}
    for option in given:
        if option.key not in known:
            scope.add(unknown_option(option, known, what))
        elif option.key in options:
            scope.add(wrong_arguments(f"`{option.key}` is given twice", option.span))
        else:
            options[option.key] = option
    return options


def _one_column(option: syntax.Option | None, scope: Scope) -> str | None:
    found = _columns(option, scope)
    if option is not None and len(found) > 1:
        scope.add(wrong_arguments(f"`{option.key}` is one column", option.span))
    return found[0] if found else None


def _columns(option: syntax.Option | None, scope: Scope) -> tuple[str, ...]:
    if option is None:
        return ()
    items = option.value.items if isinstance(option.value, syntax.ListOf) else (option.value,)
    names: list[str] = []
    for item in items:
        name = syntax.Name(item.value, True, item.span) if isinstance(item, syntax.Text) else item
        if not isinstance(name, syntax.Name):
            scope.add(type_mismatch("a column was expected", item.span, "not a name"))
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
                "leave it out, or write `features=all`, which leaves it out",
            )
        )
    return names


def _desired(option: syntax.Option | None, target: str | None, scope: Scope) -> str | None:
    if option is None or target is None:
        return None
    column = scope.schema[target]
    if isinstance(option.value, syntax.ListOf) or not isinstance(column, Category):
        scope.add(type_mismatch("the desired outcome is one value of the target", option.span, "not a value"))
        return None
    return scope.category(column, option.value)


def _deprecated(call: syntax.Call) -> Diagnostic:
    return Diagnostic(
        "deprecated-name",
        f"`{call.spelling}` is the old spelling of `{call.name}`",
        Span(call.span.start, call.span.start + len(call.spelling)),
        "still understood",
        f"write `{call.name}`, or run `cuts fmt`",
        severity="warning",
    )


def _any_example(schema: Schema) -> str:
    return _example(fairness_measures()[0], schema)


def _example(entry: Measure, schema: Schema) -> str:
    """A call of the measure with columns of the schema, its label and protected columns if it names any."""
    categories = [column.name for column in schema.modelled if isinstance(column, Category)]
    target = next((name for name in (schema.label, *reversed(categories)) if name in categories), "COLUMN")
    others = [name for name in (*schema.protected, *categories) if name in categories and name != target]
    columns = {"target": target, "protected": others[0] if others else "COLUMN"}
    return f"{entry.name}({', '.join(f'{key}={columns[key]}' for key in entry.required)})"

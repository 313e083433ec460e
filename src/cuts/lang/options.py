"""Options and named arguments: which there are, and their values as numbers, whole numbers or words."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from cuts.lang import printer, syntax
from cuts.lang.scope import Scope
from cuts.text.diagnostic import Diagnostic, did_you_mean
from cuts.text.source import Span


def by_key(given: Sequence[syntax.Option], known: Sequence[str], owner: str, scope: Scope) -> dict[str, syntax.Option]:
    """The options by name, each one of `known` and given once; `owner` is what they belong to, for messages."""
    options: dict[str, syntax.Option] = {}
    for option in given:
        if option.key not in known:
            scope.add(unknown_option(option, known, owner))
        elif option.key in options:
            scope.add(wrong_arguments(f"`{option.key}` is given twice", option.span, "keep one of them"))
        else:
            options[option.key] = option
    return options


def number_option(option: syntax.Option, scope: Scope, low: float = -inf, high: float = inf) -> float | None:
    """The option's number, if it is one from `low` to `high`."""
    value = option.value
    if isinstance(value, syntax.Number) and low <= value.value <= high:
        return value.value
    limits = f" from {low:g} to {high:g}" if high < inf else f" of at least {low:g}"
    scope.add(bad_option(f"`{option.key}` must be a number{limits if low > -inf else ''}", option.span))
    return None


def whole_option(option: syntax.Option, scope: Scope) -> int | None:
    """The option's whole number, if it is one from 1."""
    value = option.value
    if isinstance(value, syntax.Number) and value.value >= 1 and value.value == int(value.value):
        return int(value.value)
    scope.add(bad_option(f"`{option.key}` must be a whole number of at least 1", option.span))
    return None


def word_option(option: syntax.Option, words: Sequence[str], scope: Scope) -> str | None:
    """The option's word, if it is one of `words`."""
    text = option.value.text.lower() if isinstance(option.value, syntax.Name) else ""
    if text in words:
        return text
    help = did_you_mean(text, words) or f"write {' or '.join(f'`{option.key}={word}`' for word in words)}"
    scope.add(bad_option(f"`{option.key}` cannot be `{_written(option.value)}`", option.value.span, help))
    return None


def _written(value: syntax.Value | syntax.ListOf) -> str:
    return "a list" if isinstance(value, syntax.ListOf) else printer.expression(value)


# --- what is wrong


def bad_option(title: str, span: Span, help: str | None = None) -> Diagnostic:
    """An option with a value it cannot have."""
    return Diagnostic("bad-option", title, span, "not a valid value", help)


def unknown_option(option: syntax.Option, known: Sequence[str], owner: str) -> Diagnostic:
    """An option that does not exist."""
    return Diagnostic(
        "unknown-option",
        f"{owner} has no option `{option.key}`",
        option.span,
        "unknown",
        did_you_mean(option.key, known) or f"its options are {', '.join(known)}",
    )


def missing_argument(owner: str, key: str, span: Span, example: str) -> Diagnostic:
    """An argument that must be given."""
    help = f"e.g. {printer.code(example)}"
    return Diagnostic("missing-argument", f"`{owner}` needs `{key}`", span, f"no `{key}` here", help)


def wrong_arguments(title: str, span: Span, help: str | None = None) -> Diagnostic:
    """Too few, too many, repeated or unnamed arguments."""
    return Diagnostic("wrong-arguments", title, span, "", help)

"""Values of options: numbers, whole numbers, one word of several."""

from __future__ import annotations

from collections.abc import Sequence

from cuts.lang import printer, syntax
from cuts.lang.scope import Scope
from cuts.text.diagnostic import Diagnostic, did_you_mean
from cuts.text.source import Span


def number_option(
    option: syntax.Option, scope: Scope, least: float = float("-inf"), most: float = float("inf")
) -> float | None:
    """The option's number, if it is one between `least` and `most`."""
    value = option.value
    if isinstance(value, syntax.Number) and least <= value.value <= most:
        return value.value
    limits = f" from {least:g} to {most:g}" if most < float("inf") else f" of at least {least:g}"
    scope.add(bad_option(f"`{option.key}` is a number{limits if least > float('-inf') else ''}", option.span))
    return None


def whole_option(option: syntax.Option, scope: Scope) -> int | None:
    """The option's whole number, if it is one from 1."""
    value = option.value
    if isinstance(value, syntax.Number) and value.value >= 1 and value.value == int(value.value):
        return int(value.value)
    scope.add(bad_option(f"`{option.key}` is a whole number from 1", option.span))
    return None


def word_option(option: syntax.Option, words: Sequence[str], scope: Scope) -> str | None:
    """The option's word, if it is one of `words`."""
    text = option.value.text.lower() if isinstance(option.value, syntax.Name) else ""
    if text in words:
        return text
    help = did_you_mean(text, words) or f"write {' or '.join(f'`{option.key}={word}`' for word in words)}"
    scope.add(bad_option(f"`{option.key}` cannot be `{_written(option.value)}`", option.value.span, help))
    return None


def bad_option(title: str, span: Span, help: str | None = None) -> Diagnostic:
    """An option with a value it cannot have."""
    return Diagnostic("bad-option", title, span, "not possible here", help)


def _written(value: syntax.Value | syntax.ListOf) -> str:
    return "a list" if isinstance(value, syntax.ListOf) else printer.expression(value)

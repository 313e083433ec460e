"""Options and named arguments: which there are, and their values as numbers, whole numbers or words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from cuts.data.temporal import parse_duration
from cuts.data.units import NUMBER, SECONDS, Unit, comparable, spread
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


@dataclass(frozen=True, slots=True)
class WrittenTolerance:
    """How far a number may be from its target, as written."""

    amount: float
    unit: Unit
    span: Span

    def counting(self, unit: Unit, scope: Scope) -> float | None:
        """The tolerance of numbers of a unit, or nothing after reporting that it has another one."""
        wanted = spread(unit)
        if comparable(self.unit, wanted):
            return self.amount * float(self.unit.per(wanted.seconds))
        scope.add(wrong_tolerance(self, wanted))
        return None


def tolerance_option(option: syntax.Option, scope: Scope) -> WrittenTolerance | None:
    """The tolerance in an option: a number or a duration, of at least 0."""
    value = option.value
    length = parse_duration(value.value) if isinstance(value, syntax.Text) else None
    if length is not None and length >= 0:
        return WrittenTolerance(length, SECONDS, value.span)
    if isinstance(value, syntax.Number) and value.value >= 0:
        return WrittenTolerance(value.value, NUMBER, value.span)
    title = f'`{option.key}` must be a number of at least 0, or a duration such as "1 day"'
    scope.add(bad_option(title, option.span))
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


def wrong_tolerance(tolerance: WrittenTolerance, wanted: Unit) -> Diagnostic:
    """A tolerance that counts something else than what is compared."""
    if wanted.power == 1:
        amount = printer.number(tolerance.amount)
        title, label = "this number counts time: its tolerance needs a unit", "a number without a unit"
        days = "day" if amount == "1" else "days"
        help = f'write `WITHIN "{amount} {days}"`, or in h, min or s'
    elif wanted.is_time:
        title, label = "this number counts powers of time, for which no tolerance can be written", "not its unit"
        help = 'compare numbers: divide durations by a unit, e.g. by `"1 day"`'
    else:
        title, label = "this number does not count time: its tolerance is a number", "a duration"
        help = "write `WITHIN 1`"
    return Diagnostic("unit-mismatch", title, tolerance.span, label, help)


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

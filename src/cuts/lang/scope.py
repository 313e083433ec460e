"""Names in a program: which column or category they mean, and what is reported when they mean none."""

from __future__ import annotations

from cuts.data.computed import Formula, LinearSum
from cuts.data.schema import (
    Category,
    Column,
    Empty,
    Identifier,
    Integer,
    Modelled,
    Numeric,
    Real,
    Schema,
    Temporal,
    matches,
)
from cuts.data.temporal import show_duration, show_moment
from cuts.lang import printer, syntax
from cuts.text import names
from cuts.text.diagnostic import Diagnostic, has_errors, listed, nearest
from cuts.text.source import Span


class Scope:
    """Looks names up in a schema and collects the problems found on the way.

    A builder: it is handed down while a program is bound, and read when that is done.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._diagnostics: list[Diagnostic] = []

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The problems reported so far, in order of report."""
        return tuple(self._diagnostics)

    def add(self, diagnostic: Diagnostic) -> None:
        """Report a problem, once."""
        if diagnostic not in self._diagnostics:
            self._diagnostics.append(diagnostic)

    def failed_since(self, count: int) -> bool:
        """Whether an error was reported after the first `count` diagnostics."""
        return has_errors(self._diagnostics[count:])

    def column(self, name: syntax.Name) -> Modelled | None:
        """The column a name means, or nothing after reporting why."""
        candidates = self.columns(name)
        if len(candidates) == 1:
            return self._usable(self.schema[candidates[0]], name.span)
        if candidates:
            self.add(ambiguous_name(name.text, candidates, name.span, "`"))
        else:
            self.add(unknown_column(name, self.schema))
        return None

    def _usable(self, column: Column, span: Span) -> Modelled | None:
        """The column, if a program can be about it: some columns are not modelled."""
        source = dict(self.schema.derived).get(column.name)
        formula = dict(self.schema.formulas).get(column.name)
        if formula is not None:
            self.add(computed(column, formula, span))
            return None
        if isinstance(column, Identifier | Empty) or source is not None:
            self.add(not_modelled(column, source, span))
            return None
        return column

    def linear_formula(self, name: syntax.Name) -> LinearSum | None:
        """The formula of a computed column as a sum; None for other columns and other formulas."""
        candidates = self.columns(name)
        return self.schema.sum_of(candidates[0]) if len(candidates) == 1 else None

    def columns(self, name: syntax.Name) -> tuple[str, ...]:
        """All columns a name can mean; nothing is reported."""
        return _candidates(name, self.schema.names)

    def category(self, column: Category, value: syntax.Value) -> str | None:
        """The category of `column` a value means, or nothing after reporting why."""
        candidates = self.categories(column, value)
        if len(candidates) == 1:
            return candidates[0]
        text = printer.expression(value)
        if candidates:
            self.add(ambiguous_name(text, candidates, value.span, '"'))
        else:
            self.add(unknown_category(column, text, value.span))
        return None

    def categories(self, column: Category, value: syntax.Value) -> tuple[str, ...]:
        """All categories a value can mean; nothing is reported."""
        match value:
            case syntax.Text(text):
                return tuple(c for c in column.categories if c == text)
            case syntax.Name():
                return _candidates(value, column.categories)
            case syntax.Number(amount):
                return tuple(c for c in column.categories if _as_number(c) == amount)
            case syntax.Placeholder():
                raise AssertionError("placeholders are filled before binding")

    def texts(self, column: Integer | Real, value: syntax.Text | syntax.Name) -> tuple[str, ...]:
        """All texts beside the numbers of a column that a value can mean; nothing is reported."""
        if isinstance(value, syntax.Text):
            return tuple(text for text in column.texts if text == value.value)
        return _candidates(value, column.texts)


def _candidates(name: syntax.Name, words: tuple[str, ...]) -> tuple[str, ...]:
    if name.quoted:
        return (name.text,) if name.text in words else ()
    return matches(name.text, words)


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def show_value(column: Numeric, value: float) -> str:
    """A number of a column as people write it."""
    if not isinstance(column, Temporal):
        return printer.number(value)
    return show_duration(value) if column.kind == "duration" else show_moment(column.kind, value)


def dashed_name(expr: syntax.Expr, words: tuple[str, ...]) -> str | None:
    """The name meant by `marital-status`, which reads as a difference: one of `words` when it fits, else nothing."""
    parts: list[str] = []
    while isinstance(expr, syntax.Arith) and expr.op == "-" and isinstance(expr.right, syntax.Name):
        parts.insert(0, expr.right.text)
        expr = expr.left
    if not parts or not isinstance(expr, syntax.Name):
        return None
    candidates = matches("-".join([expr.text, *parts]), words)
    return candidates[0] if len(candidates) == 1 else None


def dashed_column(expr: syntax.Expr, scope: Scope) -> bool:
    """Whether an expression is a column written with dashes; if so, that is reported."""
    name = dashed_name(expr, scope.schema.names)
    if name is None:
        return False
    written = printer.expression(expr).replace(" ", "")
    scope.add(
        Diagnostic(
            "unknown-column",
            f"`{written}` is read as a difference of columns",
            expr.span,
            "a name with dashes",
            f"write `{name}`" if printer.name(name) == name else f"write it in backticks: {printer.name(name)}",
        )
    )
    return True


# --- what is wrong


def unknown_column(name: syntax.Name, schema: Schema) -> Diagnostic:
    """A name that is no column."""
    return names.unknown_column(name.text, schema.name, schema.names, name.span)


def unknown_category(column: Category, text: str, span: Span, meant: str | None = None) -> Diagnostic:
    """A value its column does not have; `meant` is the one that was written without quotes."""
    near = nearest(text.strip("\"'`"), column.categories)
    help = None if near is None else f"did you mean `{printer.value(near)}`?"
    if meant is not None:
        help = f"write it in quotes: {printer.value(meant)}"
    return names.unknown_category(text.strip("`"), column.name, column.categories, span, help)


def unknown_text(column: Integer | Real, text: str, span: Span) -> Diagnostic:
    """A text that a column of numbers does not have beside them."""
    near = nearest(text.strip("\"'`"), column.texts)
    help = f"its texts are {listed(column.texts)}" if near is None else f"did you mean `{printer.value(near)}`?"
    return names.unknown_category(text.strip("`"), column.name, column.texts, span, help)


def ambiguous_name(text: str, candidates: tuple[str, ...], span: Span, quote: str) -> Diagnostic:
    """A bare name that fits several names in the schema."""
    exact = sorted(candidates, key=lambda candidate: candidate != text)  # what was written comes first
    return Diagnostic(
        "ambiguous-name",
        f"`{text}` can mean {listed(candidates)}",
        span,
        "which one?",
        f"write it in {'backticks' if quote == '`' else 'quotes'}: {' or '.join(f'{quote}{c}{quote}' for c in exact)}",
    )


def not_modelled(column: Column, source: str | None, span: Span) -> Diagnostic:
    """A column whose values are generated, not learned."""
    if source is not None:
        label = f"follows from `{source}`"
        help = f"write the command about `{source}`, or remove `derived_from` from the schema"
    else:
        label = "an identifier, new in every row" if isinstance(column, Identifier) else "a column without any value"
        help = f"declare `{column.name}` as a category or a number in the schema"
    return Diagnostic("not-modelled", f"a command cannot be about `{column.name}`", span, label, help)


def computed(column: Column, formula: Formula, span: Span) -> Diagnostic:
    """A computed column where only learned ones are allowed."""
    others = f"write the command about {listed(formula.columns)}"
    help = f"{others}, or remove the `formula` line of `{column.name}` from the schema"
    label = f"computed as `{formula.text}`"
    return Diagnostic("not-modelled", f"a command cannot be about `{column.name}`", span, label, help)


def type_mismatch(title: str, span: Span, label: str = "", help: str | None = None) -> Diagnostic:
    """Something of a type that does not fit there."""
    return Diagnostic("type-mismatch", title, span, label, help)

"""Names in a program: which column or category they mean, and what is said when they mean none."""

from __future__ import annotations

from dataclasses import dataclass, field

from cuts.data.schema import Category, Column, Empty, Identifier, Modelled, Numeric, Schema, Temporal, matches
from cuts.data.temporal import show_moment
from cuts.lang import printer, syntax
from cuts.text.diagnostic import Diagnostic, did_you_mean, listed, nearest
from cuts.text.source import Span


@dataclass(frozen=True, slots=True)
class Scope:
    """The schema names are looked up in, and the problems found so far."""

    schema: Schema
    found: list[Diagnostic] = field(default_factory=list)

    def add(self, diagnostic: Diagnostic) -> None:
        """Report a problem, once."""
        if diagnostic not in self.found:
            self.found.append(diagnostic)

    def column(self, name: syntax.Name) -> Modelled | None:
        """The column a name means, or nothing after reporting why."""
        found = self.columns(name)
        if len(found) == 1:
            return self._usable(self.schema[found[0]], name.span)
        self.add(unknown_column(name, self.schema) if not found else ambiguous_name(name.text, found, name.span, "`"))
        return None

    def _usable(self, column: Column, span: Span) -> Modelled | None:
        """A column a program can speak about: identifiers, empty and derived columns are made, not learned."""
        source = dict(self.schema.derived).get(column.name)
        if isinstance(column, Identifier | Empty) or source is not None:
            self.add(not_modelled(column, source, span))
            return None
        return column

    def columns(self, name: syntax.Name) -> tuple[str, ...]:
        """All columns a name can mean; nothing is reported."""
        return _candidates(name, self.schema.names)

    def category(self, column: Category, value: syntax.Value) -> str | None:
        """The category of `column` a value means, or nothing after reporting why."""
        found = self.categories(column, value)
        if len(found) == 1:
            return found[0]
        text = printer.expression(value)
        self.add(
            unknown_category(column, text, value.span) if not found else ambiguous_name(text, found, value.span, '"')
        )
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


def _candidates(name: syntax.Name, known: tuple[str, ...]) -> tuple[str, ...]:
    if name.quoted:
        return (name.text,) if name.text in known else ()
    return matches(name.text, known)


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def unknown_column(name: syntax.Name, schema: Schema) -> Diagnostic:
    """A name that is no column."""
    return Diagnostic(
        "unknown-column",
        f"there is no column `{name.text}` in `{schema.name}`",
        name.span,
        "not in the schema",
        did_you_mean(name.text, schema.names) or f"the columns are {listed(schema.names)}",
    )


def unknown_category(column: Category, text: str, span: Span, meant: str | None = None) -> Diagnostic:
    """A value its column does not have."""
    found = nearest(text.strip("\"'"), column.categories)
    near = None if found is None else f"did you mean `{printer.value(found)}`?"
    if meant is not None:
        near = f"write it in quotes: {printer.value(meant)}"
    return Diagnostic(
        "unknown-category",
        f"the column `{column.name}` has no value {text if text[:1] in '`' else f'`{text}`'}",
        span,
        "not a category",
        near or f"its values are {listed(column.categories)}",
    )


def ambiguous_name(text: str, found: tuple[str, ...], span: Span, quote: str) -> Diagnostic:
    """A bare name that fits several names in the schema."""
    return Diagnostic(
        "ambiguous-name",
        f"`{text}` can mean {listed(found)}",
        span,
        "which one?",
        f"write the exact name in {'backticks' if quote == '`' else 'quotes'}: {quote}{found[0]}{quote}",
    )


def not_modelled(column: Column, source: str | None, span: Span) -> Diagnostic:
    """A column that is made rather than learned."""
    if source is not None:
        label, help = f"follows from `{source}`", f"write the command about `{source}`, or drop `derived_from`"
    elif isinstance(column, Identifier):
        label, help = "an identifier, made fresh for every row", "declare it as a category or number in the schema"
    else:
        label, help = "a column without any value", "declare it as a category or number in the schema"
    return Diagnostic("not-modelled", f"a command cannot be about `{column.name}`", span, label, help)


def show_value(column: Numeric, value: float) -> str:
    """A number of a column as people write it."""
    return show_moment(column.kind, value) if isinstance(column, Temporal) else printer.number(value)


def type_mismatch(title: str, span: Span, label: str = "", help: str | None = None) -> Diagnostic:
    """Something of a type that does not fit there."""
    return Diagnostic("type-mismatch", title, span, label, help)


def dashed_name(expr: syntax.Expr, known: tuple[str, ...]) -> str | None:
    """The name meant by `marital-status`, which reads as a difference: one of `known` when it fits, else nothing."""
    parts: list[str] = []
    while isinstance(expr, syntax.Arith) and expr.op == "-" and isinstance(expr.right, syntax.Name):
        parts.insert(0, expr.right.text)
        expr = expr.left
    if not parts or not isinstance(expr, syntax.Name):
        return None
    found = matches("-".join([expr.text, *parts]), known)
    return found[0] if len(found) == 1 else None


def dashed_column(expr: syntax.Expr, scope: Scope) -> bool:
    """Whether an expression is a column written with dashes; if so, that is reported."""
    name = dashed_name(expr, scope.schema.names)
    if name is None:
        return False
    written = printer.expression(expr).replace(" ", "")
    scope.add(
        Diagnostic(
            "unknown-column",
            f"`{written}` reads as a difference of columns",
            expr.span,
            "a name with dashes",
            f"write `{name}`" if printer.name(name) == name else f"write it in backticks: {printer.name(name)}",
        )
    )
    return True

"""Names that nothing answers to: columns, values of columns, columns a table lacks.

`span` points at the name where it stands in a program; a name from an option or a file has none.
"""

from __future__ import annotations

from collections.abc import Sequence

from cuts.text.diagnostic import Diagnostic, did_you_mean, listed
from cuts.text.source import Span


def unknown_column(name: str, schema: str, columns: Sequence[str], span: Span | None = None) -> Diagnostic:
    """A name that is no column of the schema called `schema`.

    >>> unknown_column("agee", "adult", ["age", "sex"]).help
    'did you mean `age`?'
    """
    help = did_you_mean(name, columns) or f"the columns are {listed(columns)}"
    label = "not in the schema" if span is not None else ""
    return Diagnostic("unknown-column", f"there is no column `{name}` in `{schema}`", span, label, help)


def unknown_category(
    value: str, column: str, categories: Sequence[str], span: Span | None = None, help: str | None = None
) -> Diagnostic:
    """A value that `column` cannot have; `help` replaces the nearest one."""
    help = help or did_you_mean(value, categories) or f"its values are {listed(categories)}"
    label = "not one of its values" if span is not None else ""
    return Diagnostic("unknown-category", f"the column `{column}` has no value `{value}`", span, label, help)


def missing_column(name: str, table: str, columns: Sequence[str]) -> Diagnostic:
    """A column that a table, called `table` in the message, does not have."""
    return Diagnostic("missing-column", f"{table} has no column `{name}`", help=did_you_mean(name, columns))

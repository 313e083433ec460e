"""The columns that were asked for: whether a source has them, and their cells in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from cuts.data.exchange.readable import unreadable
from cuts.data.exchange.streams import ROWS
from cuts.data.table import Table
from cuts.text.diagnostic import CutsError, Diagnostic

COLUMNS_HELP = "check the names of its columns, and those in the program, the schema and the location"
HEADER_HELP = "check the column names in its first line, and the delimiter"  # of a text file


def check_header(header: Sequence[str], names: Sequence[str], source: str, help: str = COLUMNS_HELP) -> None:
    """Raise unless every column that was asked for is there, and only once."""
    problems = [missing_column(name, source, help) for name in names if name not in header]
    if problems:
        raise CutsError(problems)
    duplicate = next((name for name in names if header.count(name) > 1), None)
    if duplicate is not None:
        raise unreadable(f"{source} has two columns named `{duplicate}`", "rename one of them")


def missing_column(name: str, source: str, help: str) -> Diagnostic:
    """A column that was asked for and is not there; other names are not shown, because they could be a row."""
    return Diagnostic("missing-column", f"{source} has no column `{name}`", help=help)


def wanted_columns(table: pa.Table, names: list[str]) -> pa.Table:
    """The columns `names`; all cells of a column of lists or structs are missing."""
    columns = [table.column(name) for name in names]
    flat = [pa.nulls(table.num_rows) if pa.types.is_nested(column.type) else column for column in columns]
    return pa.table(flat, names=names)


def sliced(table: pa.Table) -> Iterator[Table]:
    """The table in blocks of at most `ROWS` rows."""
    return (Table(table.slice(start, ROWS)) for start in range(0, table.num_rows, ROWS))

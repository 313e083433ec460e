"""The rows as Arrow tables, streamed by COPY as CSV: one message per row, one block per 65,536 rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pyarrow as pa
from psycopg import sql
from pyarrow import csv

from cuts.data.exchange.readable import check_rows, unreadable
from cuts.data.exchange.streams import ROWS
from cuts.data.table import Table
from cuts.sources.postgres.copying import copied
from cuts.sources.postgres.location import Location
from cuts.sources.postgres.numbers import HAS_MONTHS, MICROSECONDS
from cuts.sources.postgres.relation import PgColumn, chosen, described, ordered, rows_of, way_out
from cuts.sources.postgres.server import session
from cuts.text.diagnostic import CutsError

_FAILED_COLUMN = re.compile(r"In CSV column #(\d+)")


class TypedRows:
    """The rows of a table or a query; they are read from the server in every pass, always with the same columns."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self._columns: tuple[PgColumn, ...] | None = None  # of the first pass

    @property
    def form(self) -> None:
        """None: there is no file to imitate."""
        return None

    def blocks(self) -> Iterator[Table]:
        """The rows in the order of the server, or in the stated one."""
        return self.blocks_of(None)

    def blocks_of(self, names: Sequence[str] | None) -> Iterator[Table]:
        """The same, of these columns only; a `CutsError` if there are no rows, or if the columns have changed."""
        rows = 0
        with session(self.location) as connection:
            columns = self.check_columns(described(connection, self.location))
            wanted = chosen(columns, names, self.location)
            query = sql.SQL("SELECT {} FROM {}{}").format(
                sql.SQL(", ").join(map(_written, wanted)), rows_of(self.location), ordered(self.location, columns)
            )
            for count, text in copied(connection, query, "FORMAT csv", ROWS):
                rows += count
                yield Table(self._parsed(text, wanted))
        check_rows(rows, self.location.label)

    def check_columns(self, columns: tuple[PgColumn, ...]) -> tuple[PgColumn, ...]:
        """The columns; raises if they are not those of the first pass."""
        if self._columns is None:
            self._columns = columns
        if columns != self._columns:
            raise changed_columns(self._columns, columns, self.location)
        return columns

    def _parsed(self, text: bytes, columns: Sequence[PgColumn]) -> pa.Table:
        types = {column.name: _read_as(column) for column in columns}
        try:
            table = csv.read_csv(
                pa.BufferReader(text),
                read_options=csv.ReadOptions(column_names=list(types), block_size=max(len(text), 1), use_threads=False),
                parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
                convert_options=csv.ConvertOptions(
                    column_types=types,
                    null_values=[""],
                    true_values=["t"],
                    false_values=["f"],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,  # two quotes are the empty text
                ),
            )
        except pa.ArrowInvalid as error:
            place = _FAILED_COLUMN.search(str(error))
            problem = unfit_value(columns[int(place[1]) if place else 0], self.location)
        else:
            return table.cast(pa.schema([(column.name, column.arrow) for column in columns]))
        raise problem


def _written(column: PgColumn) -> sql.Composable:
    """The column as Arrow can read it."""
    match column.kind:
        case "numeric":
            return sql.SQL("{}::float8").format(column.value)
        case "interval":
            case = f"CASE WHEN {HAS_MONTHS} THEN 'months' ELSE {MICROSECONDS}::text END"
            return sql.SQL(case).format(column.value)
        case _:
            return column.value


def _read_as(column: PgColumn) -> pa.DataType:
    return pa.int64() if column.kind == "interval" else column.arrow


# --- what is wrong


def unfit_value(column: PgColumn, location: Location) -> CutsError:
    """A value that PostgreSQL can have in a column of this type, but Arrow cannot."""
    match column.kind:
        case "interval":
            what = "an interval of months or years, which have no fixed length"
        case "decimal":
            what = "a value that is not a number"
        case "time":
            what = "the time 24:00, which is no time of a day"
        case _:
            what = "a value outside of the years 1 to 9999, such as `infinity`"
    return unreadable(
        f"{location.label}: the column `{column.name}` of type {column.written} has {what}",
        f"correct the rows, or convert the column: `{way_out(column, location, 'text')}`",
    )


def changed_columns(before: Sequence[PgColumn], after: Sequence[PgColumn], location: Location) -> CutsError:
    """Columns that are others than in the first pass over the rows."""
    old, new = ({column.name: column.written for column in columns} for columns in (before, after))
    name = next((name for name in [*old, *new] if old.get(name) != new.get(name)), None)
    if name is None:
        what = "their order has changed"
    elif name not in new:
        what = f"`{name}` is gone"
    else:
        what = f"`{name}` is of type {new[name]}" + (f", it was {old[name]}" if name in old else " and new")
    return unreadable(f"the columns of {location.label} changed while it was read: {what}", "run the command again")

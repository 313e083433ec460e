"""The columns of a table or a query: their PostgreSQL types, and what they become in Arrow.

The server describes them without reading a row. Months have no fixed length, so an interval becomes a duration only if
it has none; `numeric` without a precision becomes float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import psycopg
import pyarrow as pa
from psycopg import pq, sql

from cuts.data.exchange.readable import check_names, unreadable
from cuts.sources.postgres.failures import explained
from cuts.sources.postgres.location import Location
from cuts.sources.postgres.server import Connection, table_names
from cuts.text.diagnostic import CutsError, listed
from cuts.text.names import missing_column

PgKind: TypeAlias = Literal[
    "whole", "real", "decimal", "numeric", "truth", "text", "date", "time", "timestamp", "instant", "interval"
]

MAX_DIGITS = 38  # of a decimal in Arrow
_NUMERIC = 1700
_PLAIN: dict[int, tuple[PgKind, pa.DataType]] = {  # by the number of the type, which is fixed for built-in ones
    16: ("truth", pa.bool_()),
    21: ("whole", pa.int16()),
    23: ("whole", pa.int32()),
    20: ("whole", pa.int64()),
    700: ("real", pa.float32()),
    701: ("real", pa.float64()),
    1082: ("date", pa.date32()),
    1083: ("time", pa.time64("us")),
    1114: ("timestamp", pa.timestamp("us")),
    1184: ("instant", pa.timestamp("us", "UTC")),
    1186: ("interval", pa.duration("us")),
    2950: ("text", pa.string()),  # uuid
}
_TYPES = "SELECT oid::int8, typtype::text, typcategory::text FROM pg_type WHERE oid = ANY(%s)"
_WRITTEN = (
    "SELECT format_type(oid, modifier) FROM unnest(%s::oid[], %s::int4[]) WITH ORDINALITY AS t (oid, modifier, n)"
)


@dataclass(frozen=True, slots=True)
class PgColumn:
    """A column: its type as PostgreSQL writes it, what kind of values that is, and their Arrow type.

    The kind is None, and the Arrow type that of nulls, for types that have no meaning here.
    """

    name: str
    written: str
    kind: PgKind | None
    arrow: pa.DataType

    @property
    def value(self) -> sql.Composable:
        """The column in a query over the rows `t`, texts as `text` and without the blanks that pad a `char`."""
        column = sql.Identifier("t", self.name)
        return sql.SQL('{}::text COLLATE "C"').format(column) if self.kind == "text" else column


def rows_of(location: Location) -> sql.Composable:
    """The table, or the query in brackets, called `t`."""
    if location.table:
        return sql.SQL("{} AS t").format(sql.Identifier(*location.table))
    return sql.SQL("({}\n) AS t").format(sql.SQL(location.query))


def described(connection: Connection, location: Location) -> tuple[PgColumn, ...]:
    """The columns, without reading a row; a `CutsError` unless they have distinct names."""
    select = sql.SQL("SELECT * FROM {}").format(rows_of(location))
    # A prepared statement is a single one: a query cannot smuggle in a second statement.
    prepared = connection.pgconn.prepare(b"", select.as_bytes(connection))
    if prepared.status != pq.ExecStatus.COMMAND_OK:
        # No row has been read yet: the reason can be said of private rows, too.
        raise explained(psycopg.errors.error_from_result(prepared), location, lambda: table_names(location))
    fields = connection.pgconn.describe_prepared(b"")
    indices = range(fields.nfields)
    names = [(fields.fname(index) or b"").decode() for index in indices]
    check_names(names, location.label)
    types, modifiers = [fields.ftype(index) for index in indices], [fields.fmod(index) for index in indices]
    facts = {oid: (kind, category) for oid, kind, category in connection.execute(_TYPES, (types,)).fetchall()}
    written = [text for (text,) in connection.execute(f"{_WRITTEN} ORDER BY n", (types, modifiers)).fetchall()]
    kinds = [_kind_of(oid, modifier, *facts[oid]) for oid, modifier in zip(types, modifiers, strict=True)]
    return tuple(PgColumn(name, text, *kind) for name, text, kind in zip(names, written, kinds, strict=True))


def _kind_of(oid: int, modifier: int, type_kind: str, category: str) -> tuple[PgKind | None, pa.DataType]:
    if oid == _NUMERIC:
        precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
        is_decimal = modifier >= 4 and scale <= precision <= MAX_DIGITS
        return ("decimal", pa.decimal128(precision, scale)) if is_decimal else ("numeric", pa.float64())
    if type_kind == "e" or category == "S":
        return "text", pa.string()
    return _PLAIN.get(oid, (None, pa.null()))


def chosen(columns: Sequence[PgColumn], names: Sequence[str] | None, location: Location) -> list[PgColumn]:
    """The columns of these names, or all; a `CutsError` names those that are absent, or have a type of no use."""
    by_name = {column.name: column for column in columns}
    absent = [name for name in names or () if name not in by_name]
    if absent:
        missing = [missing_column(name, location.label, list(by_name)) for name in absent]
        help = f"the columns are {listed(list(by_name))}"
        raise CutsError([replace(problem, help=problem.help or help) for problem in missing])
    wanted = list(columns) if names is None else [by_name[name] for name in names]
    unknown = next((column for column in wanted if column.kind is None), None)
    if unknown is not None:
        raise unsupported(unknown, location)
    return wanted


def unsupported(column: PgColumn, location: Location) -> CutsError:
    """A column whose type has no meaning here."""
    return unreadable(
        f"{location.label} has the column `{column.name}` of type {column.written}, which is neither numbers, text, "
        "dates, times nor truth values",
        f"leave the column out, or convert it: `{way_out(column, location, 'text')}`",
    )


def way_out(column: PgColumn, location: Location, type_name: str) -> str:
    """A query that converts a column."""
    name = '"' + column.name.replace('"', '""') + '"'
    return f"?query=SELECT {name}::{type_name}, ... FROM {'.'.join(location.table) or '(...)'}"


def ordered(location: Location, columns: Sequence[PgColumn]) -> sql.Composable:
    """The stated order of the rows as a part of a query; nothing if none is stated."""
    if not location.order:
        return sql.SQL("")
    chosen(columns, location.order, location)
    names = [sql.Identifier("t", name) for name in location.order]
    return sql.SQL(" ORDER BY {}").format(sql.SQL(", ").join(names))

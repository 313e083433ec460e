"""Private rows of PostgreSQL: encoded and summed in the server, and only the sums leave it.

The first rows of a person are the first ones in the stated order. Without one it is the order of the rows' texts, which
depends on the rows of that person alone and not on where they are stored; it also decides between equal rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from psycopg import sql

from cuts.count.marginals import Clique, Marginals
from cuts.data.codec import Codec
from cuts.data.exchange.readable import unreadable
from cuts.data.table import Table
from cuts.sources.postgres.bins import nested
from cuts.sources.postgres.cells import bin_of, other_type, value_of
from cuts.sources.postgres.counts import count_in_server
from cuts.sources.postgres.location import Location
from cuts.sources.postgres.relation import PgColumn, chosen, described, rows_of
from cuts.sources.postgres.server import Connection, session
from cuts.sources.postgres.text_numbers import bare
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic

_Result = TypeVar("_Result")
_UNREADABLE = "\ufffd"  # several unreadable persons would look the same


@dataclass(frozen=True, slots=True)
class PrivatePostgresRows:
    """The private rows of a table or a query."""

    location: Location

    def blocks(self, names: Sequence[str]) -> Iterator[Table]:
        """Refused: private rows do not leave the server."""
        raise CutsError([rows_stay(self.location)])

    def count(self, codec: Codec, cliques: Sequence[Clique], person: str | None, max_rows: int) -> Marginals:
        """The counts of the cliques over the rows that are kept."""

        def summed(connection: Connection) -> Marginals:
            columns = self._columns(connection, [bins.column.name for bins in codec.columns])
            both = list(zip(columns, codec.columns, strict=True))
            values = [value_of(column, bins, self.location) for column, bins in both]
            codes = [bin_of(sql.Identifier(f"x{i}"), column, bins) for i, (column, bins) in enumerate(both)]
            encoded = nested(values, codes, self._kept_rows(connection, person, max_rows))
            has_bin = [sql.SQL("{} >= 0").format(sql.Identifier(f"c{i}")) for i in range(len(codes))]
            kept = sql.SQL("SELECT * FROM ({}) AS k WHERE {}").format(encoded, sql.SQL(" AND ").join(has_bin))
            return count_in_server(connection, kept, codec, cliques)

        return self._answer(summed)

    def count_values(self, columns: Sequence[str], person: str | None, max_rows: int) -> dict[str, dict[str, int]]:
        """How often each text occurs in some columns, without surrounding blanks; empty texts do not count."""

        def grouped(connection: Connection) -> dict[str, dict[str, int]]:
            counts: dict[str, dict[str, int]] = {}
            rows = self._kept_rows(connection, person, max_rows)
            for column in self._columns(connection, columns):
                if column.kind not in ("text", "whole", "truth"):
                    raise other_type(column, "texts", "text", self.location)
                text = bare(sql.SQL("{}::text").format(column.value))
                query = sql.SQL(
                    "SELECT x, count(*) FROM (SELECT {} AS x FROM {} OFFSET 0) AS v WHERE x <> '' GROUP BY x"
                )
                counts[column.name] = dict(connection.execute(query.format(text, rows)).fetchall())
            return counts

        return self._answer(grouped)

    def _answer(self, ask: Callable[[Connection], _Result]) -> _Result:
        """What is asked of the server; an error does not carry along what the server said."""
        try:
            with session(self.location, is_private=True) as connection:
                return ask(connection)
        except CutsError as error:
            problem = CutsError(error.diagnostics)
        raise problem

    def _columns(self, connection: Connection, names: Sequence[str]) -> list[PgColumn]:
        if connection.info.parameter_status("server_encoding") != "UTF8":
            raise other_encoding()
        return chosen(described(connection, self.location), names, self.location)

    def _kept_rows(self, connection: Connection, person: str | None, max_rows: int) -> sql.Composable:
        """All rows, or the first `max_rows` of each person, called `t`."""
        rows = rows_of(self.location)
        if person is None:
            return rows
        columns = described(connection, self.location)
        (who,) = chosen(columns, [person], self.location)
        chosen(columns, self.location.order, self.location)
        if who.kind == "interval":
            raise other_type(who, "persons", "text", self.location)
        order = [sql.Identifier("t", name) for name in self.location.order]
        number = sql.SQL("row_number() OVER (PARTITION BY {} ORDER BY {})").format(
            who.value, sql.SQL(", ").join([*order, sql.SQL('ROW("t".*)::text COLLATE "C"')])
        )
        name = sql.Identifier(_unused("row of the person", columns))
        numbered = sql.SQL("(SELECT t.*, {} AS {} FROM {} WHERE {}) AS t").format(number, name, rows, _is_person(who))
        return sql.SQL("{} WHERE t.{} <= {}").format(numbered, name, sql.Literal(max_rows))


def _is_person(who: PgColumn) -> sql.Composable:
    """Whether a cell identifies a person."""
    match who.kind:
        case "text":
            return sql.SQL("strpos({}, {}) = 0").format(who.value, sql.Literal(_UNREADABLE))
        case "real" | "decimal" | "numeric":
            return sql.SQL("{} <> 'NaN'").format(who.value)
        case _:
            return sql.SQL("{} IS NOT NULL").format(who.value)


def _unused(name: str, columns: Sequence[PgColumn]) -> str:
    while any(column.name == name for column in columns):
        name += "'"
    return name


# --- what is wrong


def rows_stay(location: Location) -> Diagnostic:
    """Private rows asked for themselves."""
    return Diagnostic(
        "not-supported",
        f"private rows of {location.label} do not leave the server",
        help="only their counts can be asked for",
        exit_code=PRIVACY,
    )


def other_encoding() -> CutsError:
    """A database in which not every category can be written."""
    return unreadable("private rows are counted in databases encoded as UTF8 only", "copy the table to such a database")

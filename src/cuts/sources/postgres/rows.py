"""Rows of PostgreSQL that are not private: surveyed here from typed rows, counted from what the server encodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from psycopg import sql

from cuts.count.kernel import count
from cuts.count.marginals import Clique, Marginals
from cuts.count.rows import Survey, SurveyOptions
from cuts.count.survey import spread_sample, survey
from cuts.data.codec import Codec
from cuts.data.exchange.readable import check_rows, unreadable
from cuts.data.table import Table
from cuts.sources.postgres.bins import MISSING, OUTSIDE, encoded_rows
from cuts.sources.postgres.counts import count_in_server, count_negative, count_stream
from cuts.sources.postgres.location import Location
from cuts.sources.postgres.relation import chosen, described
from cuts.sources.postgres.server import Connection, session
from cuts.sources.postgres.typed_rows import TypedRows
from cuts.text.diagnostic import CutsError, Diagnostic, counted


class PostgresRows:
    """The rows of a table or a query."""

    def __init__(self, location: Location) -> None:
        self._typed = TypedRows(location)
        self._location = location

    @property
    def form(self) -> None:
        """None: there is no file to imitate."""
        return None

    def blocks(self) -> Iterator[Table]:
        """The rows, at most 65,536 per block."""
        return self._typed.blocks()

    def survey(self, options: SurveyOptions, seen: Callable[[int], None]) -> Survey:
        """The schema inferred from all rows, and rows evenly spread over them; the rows are streamed for it."""
        return survey(
            self._typed,
            options.name,
            options.label,
            options.protected,
            drop=options.drop,
            ids=options.ids,
            max_rows=options.max_rows,
            max_distinct=options.max_distinct,
            seen=seen,
        )

    def spread_sample(self, max_rows: int, seen: Callable[[int], None]) -> Table:
        """At most `max_rows` rows evenly spread over all; the rows are streamed for it."""
        return spread_sample(self._typed, max_rows=max_rows, seen=seen)

    def count(self, codec: Codec, cliques: Sequence[Clique], seen: Callable[[int], None]) -> Marginals:
        """The counts of the cliques, of rows that the server encodes where SQL gives exactly the same bins."""
        in_server = self._location.counting == "server"
        with session(self._location) as connection:
            columns = self._typed.check_columns(described(connection, self._location))
            names = [column.name for column in chosen(columns, _columns_of(codec), self._location)]
            encoded = encoded_rows(self._location, columns, codec) if _is_utf8(connection) else None
            if encoded is None and in_server:
                raise not_in_sql()
            marginals = None
            if encoded is not None:
                marginals = (
                    self._summed(connection, encoded, codec, cliques)
                    if in_server
                    else count_stream(connection, encoded, codec, cliques, seen)
                )
        if marginals is None:  # here, if not there; a value outside the schema is described by the same error
            present = {column.name for column in columns}
            names += [name for name, _ in codec.schema.formulas if name in present]  # which are checked
            marginals = count(self._typed.blocks_of(names), codec, cliques, seen=seen)
        check_rows(marginals.rows, self._location.label)
        return marginals

    def _summed(
        self, connection: Connection, encoded: sql.Composable, codec: Codec, cliques: Sequence[Clique]
    ) -> Marginals:
        """The counts summed in the server, or an error that says how many values are outside the schema."""
        wrong = count_negative(connection, encoded, codec, (OUTSIDE, MISSING))
        problems = [
            outside(name, number) if code == OUTSIDE else absent(name, number) for (name, code), number in wrong.items()
        ]
        if problems:
            raise CutsError(problems)
        return count_in_server(connection, encoded, codec, cliques)


def _columns_of(codec: Codec) -> list[str]:
    """The columns of the table that the bins are about."""
    tied = {tie.hidden.name: tie.column for tie in codec.ties}
    return [tied.get(bins.column.name, bins.column.name) for bins in codec.columns]


def _is_utf8(connection: Connection) -> bool:
    """Whether the database can compare with every text; if not, rows are encoded here."""
    return connection.info.parameter_status("server_encoding") == "UTF8"


# --- what is wrong


def not_in_sql() -> CutsError:
    """Rows that would have to leave the server to be counted."""
    return unreadable(
        "the server cannot count these rows itself: a column is computed from others, or its type is not that of the "
        "schema",
        "leave `count=server` out, or cast the columns in `?query=SELECT ...` to the types of the schema",
    )


def outside(name: str, number: int) -> Diagnostic:
    """Values that the schema does not allow, in rows that stay in the server."""
    return Diagnostic(
        "outside-schema",
        f"the column `{name}` has {counted(number, 'value')} outside the schema",
        help="correct the table, or widen the column in the schema",
    )


def absent(name: str, number: int) -> Diagnostic:
    """Missing values where the schema allows none, in rows that stay in the server."""
    return Diagnostic(
        "unexpected-missing",
        f"the column `{name}` has {counted(number, 'missing value')}",
        help=f"add `missing = true` to `{name}` in the schema",
    )

"""Tables and queries of PostgreSQL, read with psycopg.

`location.py` reads the location, `server.py` connects, `copying.py` receives a COPY and `failures.py` says what went
wrong; `relation.py` decides what columns become in Arrow, and `typed_rows.py` streams the rows. `bins.py` encodes rows
in SQL, `counts.py` counts them, streamed as bin numbers or summed in the server; `cells.py` and
`private_rows.py` are the same for private rows, of which only sums leave the server. psycopg is imported when rows are
asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from cuts.count.rows import Rows
from cuts.privacy.reading import PrivateRows
from cuts.sources.postgres.location import Location, is_postgres, parse_location
from cuts.sources.registry import SourceKind, add_source
from cuts.text.diagnostic import usage_error


@dataclass(frozen=True, slots=True)
class PostgresSource:
    """The rows of a table or a query."""

    location: Location

    @property
    def name(self) -> str:
        """The name of the table; a query has the name of its database."""
        return self.location.name

    @property
    def schema(self) -> None:
        """None: a database does not say which values may occur."""
        return None

    @property
    def paths(self) -> tuple[Path, ...]:
        """None: no file is read."""
        return ()

    def rows(self) -> Rows:
        """The rows, which the server encodes to be counted."""
        _check_installed()
        from cuts.sources.postgres.rows import PostgresRows

        return PostgresRows(self.location)

    def private_rows(self) -> PrivateRows:
        """The rows for the trusted core, which the server counts."""
        _check_installed()
        from cuts.sources.postgres.private_rows import PrivatePostgresRows

        return PrivatePostgresRows(self.location)


def _check_installed() -> None:
    try:
        import_module("psycopg")  # fails without libpq, too, which the extra brings along
    except ImportError:
        raise usage_error(
            "missing-extra", "reading from PostgreSQL needs psycopg with libpq", 'pip install "cuts[postgres]"'
        ) from None


add_source(SourceKind("postgresql", is_postgres, lambda data, _: PostgresSource(parse_location(data))))

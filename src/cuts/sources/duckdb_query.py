"""What runs in DuckDB: a table or one SELECT on a database opened read-only, or a relation that a caller made.

On connections of our own DuckDB uses one thread and UTC: the rows of a query without ORDER BY come in the same order in
every pass and on every machine, so that a seed gives the same model. Messages of DuckDB are shown only if they were
found before a row was read, because later ones quote cells.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from cuts.data.exchange.readable import bad_query, unreadable
from cuts.data.exchange.streams import ROWS
from cuts.data.table import Table
from cuts.text.diagnostic import CutsError, did_you_mean, listed, usage_error

TABLE_MEMORY = "512MB"  # of DuckDB's cache; a query that sorts or joins may need more and has DuckDB's own limit
_SETTINGS = ("SET threads = 1", "SET preserve_insertion_order = true")
_TABLES = """
SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal AND database_name = current_database()
UNION ALL
SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal AND database_name = current_database()
ORDER BY ALL
"""


class Readable(Protocol):
    """Something that DuckDB can compute again and again."""

    @property
    def name(self) -> str:
        """What the table is called if the program does not say."""

    @property
    def label(self) -> str:
        """What messages call it."""

    def reading(self) -> AbstractContextManager[Any]:
        """A relation with its columns and types, from which `batches` reads rows."""


@dataclass(frozen=True, slots=True)
class Database:
    """A table or a query on a database file, or a query in memory."""

    file: Path | None
    table: str | None = None
    query: str | None = None

    @property
    def name(self) -> str:
        """The table, or the database of a query."""
        if self.table is not None:
            return self.table
        return "query" if self.file is None else self.file.name.split(".")[0]

    @property
    def label(self) -> str:
        """The file with the table, or the query of a file."""
        if self.table is not None:
            return f"the table `{self.table}` in {self.file}"
        return "the query" if self.file is None else f"the query on {self.file}"

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """Opened for this pass only, so that others can use the database between passes."""
        with closing(_connect(self.file)) as connection:
            for setting in _SETTINGS:
                connection.execute(setting)
            with suppress(_duckdb().Error):  # time zones are an extension of DuckDB, which may not be there
                connection.execute("SET TimeZone = 'UTC'")
            yield self._relation(connection)

    def _relation(self, connection: Any) -> Any:
        if self.table is not None:
            connection.execute(f"SET memory_limit = '{TABLE_MEMORY}'")
            return connection.sql(f"SELECT * FROM {_find_table(connection, self.table, self.file)}")
        assert self.query is not None
        _check_reads(connection, self.query, self.label)
        return connection.sql(self.query)


@dataclass(frozen=True, slots=True, eq=False)
class GivenRelation:
    """A relation on a caller's own connection, whose settings are left alone."""

    relation: Any
    name: str = "table"
    label: str = "the relation"

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """The relation itself, computed anew for every pass."""
        yield self.relation


def batches(relation: Any) -> Iterator[pa.RecordBatch]:
    """The rows of a relation, at most 65,536 per batch; it is closed at the end, or DuckDB would keep it open."""
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # its name before DuckDB 1.5
    with closing(read(ROWS)) as reader:
        yield from reader


def guarded(blocks: Iterator[Table], label: str, *, withhold: bool = False) -> Iterator[Table]:
    """The blocks; what DuckDB or Arrow raise becomes one `CutsError`, which carries no cell along.

    With `withhold` it says nothing that could depend on a row.
    """
    duckdb = _duckdb()
    # These are raised before any row is read, so their messages quote names only; a file's name can come from a cell.
    early = (duckdb.ParserException, duckdb.CatalogException, duckdb.BinderException)
    named = () if withhold else (duckdb.IOException,)
    while True:
        try:
            block = next(blocks, None)
        except (*early, *named) as error:
            problem = bad_query(f"{label} cannot be run: {_first_line(error)}", "correct the SQL")
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            problem = _unread(label, withhold, error)
        else:
            if block is None:
                return
            yield block
            continue
        raise problem  # outside of `except`, so that it does not carry the first exception along


def find_files(readable: Readable) -> tuple[Path, ...]:
    """The files that are read, as far as they are named: the database, and files in the place of tables in a query."""
    if not isinstance(readable, Database):
        return ()
    files = [] if readable.file is None else [readable.file]
    if readable.query is not None:
        duckdb = _duckdb()
        with suppress(duckdb.Error), closing(duckdb.connect()) as connection:
            named = sorted(connection.get_table_names(readable.query))
            files += [Path(name) for name in named if os.path.isfile(name)]
    return tuple(files)


def quoted(name: str) -> str:
    """A name as SQL writes it, whatever characters it has.

    >>> quoted('the "best"')
    '"the ""best""\"'
    """
    return '"' + name.replace('"', '""') + '"'


def _duckdb() -> Any:
    try:
        return import_module("duckdb")
    except ImportError:
        raise usage_error(
            "missing-extra", "reading DuckDB needs the package duckdb", 'pip install "cuts[duckdb]"'
        ) from None


def _connect(file: Path | None) -> Any:
    duckdb = _duckdb()
    if file is None:
        return duckdb.connect()
    if not os.path.exists(file):
        raise unreadable(f"{file} does not exist", "give the path of a DuckDB database")
    try:
        return duckdb.connect(str(file), read_only=True)
    except duckdb.ConnectionException:
        reason, help = "it is open for writing in this process", "pass a relation of that connection, or close it first"
    except duckdb.Error as error:
        is_locked = "lock" in str(error).lower()
        reason = "another process is writing to it" if is_locked else "it is not a DuckDB database, or it is damaged"
        help = "try again when that process has ended" if is_locked else "give a file that DuckDB created"
    raise unreadable(f"{file} cannot be opened: {reason}", help)


def _find_table(connection: Any, name: str, file: Path | None) -> str:
    """The table or view of that name as SQL writes it; the name may have its schema before it."""
    tables = [(schema, table) for schema, table in connection.sql(_TABLES).fetchall()]
    current = connection.sql("SELECT current_schema()").fetchall()[0][0]
    wanted = name.casefold()
    names = {(table if schema == current else f"{schema}.{table}"): (schema, table) for schema, table in tables}
    full = {f"{schema}.{table}": (schema, table) for schema, table in tables}
    for written, (schema, table) in (*names.items(), *full.items()):
        if written.casefold() == wanted:
            return f"{quoted(schema)}.{quoted(table)}"
    raise usage_error(
        "unknown-table",
        f"{file} has no table `{name}`",
        did_you_mean(name, names) or (f"its tables are {listed(list(names))}" if names else "it has no tables at all"),
    )


def _check_reads(connection: Any, query: str, label: str) -> None:
    """Raise unless the query is one SELECT."""
    statements = connection.extract_statements(query)
    if len(statements) != 1:
        raise bad_query(f"{label} is not one statement", "give one SELECT")
    kind = statements[0].type.name
    if kind != "SELECT":
        raise bad_query(f"{label} is not a SELECT: only reading is allowed", "give one SELECT")


def _first_line(error: Exception) -> str:
    """The message without its class and its excerpt of the query."""
    return str(error).partition("\n")[0].partition(": ")[2].rstrip("!.")


def _unread(label: str, withhold: bool, error: Exception) -> CutsError:
    if withhold:
        help = "check that every row can be read, for instance by writing it to a file with DuckDB"
        return unreadable(f"{label} cannot be read; the reason is withheld, because it could depend on the rows", help)
    kind = str(error).partition("Error:")[0].strip().lower()
    known = kind if kind and len(kind) < 30 and ":" not in kind else "engine"
    help = "run the query in DuckDB to see the values; TRY_CAST makes what cannot be converted missing"
    return bad_query(f"{label} failed while its rows were read ({known} error)", help)

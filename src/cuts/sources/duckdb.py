"""Tables and queries of DuckDB: `duckdb:FILE.db?table=NAME`, `duckdb:FILE.db?query=SELECT ...`; in Python, relations.

Without a file a query runs in memory, for instance over Parquet files. The database is opened read-only. DuckDB runs in
this process: rows arrive as Arrow batches, in the order in which they were inserted, and are counted by the same code
as the rows of a file. `duckdb_query.py` runs the SQL, `duckdb_types.py` decides what the columns become.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, unquote_plus

import pyarrow as pa

from cuts.data.exchange.readable import check_names, check_rows, unreadable
from cuts.data.table import Table
from cuts.privacy.reading.columns import check_header, sliced
from cuts.sources.duckdb_query import Database, GivenRelation, Readable, batches, find_files, guarded, quoted
from cuts.sources.duckdb_types import check_types, converted
from cuts.sources.registry import SourceKind, add_source, has_scheme
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic

SCHEME = "duckdb"
_LOCATION = re.compile(r"duckdb:([^?]*)\?(table|query)=(.*\S.*)", re.DOTALL)
_INFERRED = re.compile(r"\bREAD_(?:CSV|JSON|NDJSON)")  # in a plan: tables whose types are inferred from their rows
FORMS_HELP = "write `duckdb:FILE.db?table=NAME` or `duckdb:FILE.db?query=SELECT ...`"


@dataclass(frozen=True, slots=True, eq=False)
class DuckDBSource:
    """The rows of a table, a query or a relation."""

    readable: Readable

    @property
    def name(self) -> str:
        """The name of the table; of a query, the name of its database."""
        return self.readable.name

    @property
    def schema(self) -> None:
        """None: a database does not say which values may occur."""
        return None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The database, and the files that a query names as tables."""
        return find_files(self.readable)

    def rows(self) -> DuckDBRows:
        """The rows of the result, which is computed for every pass over them."""
        return DuckDBRows(self.readable)

    def private_rows(self) -> PrivateDuckDBRows:
        """The rows as the trusted core reads them."""
        return PrivateDuckDBRows(self.readable)


@dataclass(frozen=True, slots=True, eq=False)
class DuckDBRows:
    """The rows of a result, read in blocks in constant memory."""

    readable: Readable

    @property
    def form(self) -> None:
        """None: there is no file to imitate."""
        return None

    def blocks(self) -> Iterator[Table]:
        """The rows; a `CutsError` names the column that cannot be read, or says what is wrong with the query."""
        return guarded(self._blocks(), self.readable.label)

    def coded_blocks(self, names: Collection[str] | None = None) -> Iterator[Table]:
        """The same; DuckDB computes only the columns `names`, if the result has all of them."""
        return guarded(self._blocks(names), self.readable.label)

    def _blocks(self, only: Collection[str] | None = None) -> Iterator[Table]:
        rows = 0
        with self.readable.reading() as relation:
            check_names(relation.columns, self.readable.label)
            check_types(relation.columns, relation.types, self.readable.label)
            if only is not None and set(only) <= set(relation.columns):
                relation = relation.project(", ".join(quoted(name) for name in relation.columns if name in only))
            for batch in batches(relation):
                rows += batch.num_rows
                yield Table(converted(pa.Table.from_batches([batch]), self.readable.label))
        check_rows(rows, self.readable.label)


@dataclass(frozen=True, slots=True, eq=False)
class PrivateDuckDBRows:
    """The rows of a result for the trusted core; DuckDB computes only the columns that are asked for."""

    readable: Readable

    def blocks(self, names: Sequence[str]) -> Iterator[Table]:
        """The columns `names` of all rows; what fails while rows are read is not said, because it could show a cell."""
        return guarded(self._blocks(list(dict.fromkeys(names))), self.readable.label, withhold=True)

    def _blocks(self, wanted: list[str]) -> Iterator[Table]:
        with self.readable.reading() as relation:
            if _INFERRED.search(relation.explain()):
                raise CutsError([inferred_types(self.readable.label)])
            check_header(relation.columns, wanted, self.readable.label)
            types = dict(zip(relation.columns, relation.types, strict=True))
            check_types(wanted, [types[name] for name in wanted], self.readable.label)
            for batch in batches(relation.project(", ".join(map(quoted, wanted)))):
                # A month has no fixed length: such an interval is missing, and no cell raises an error.
                yield from sliced(converted(pa.Table.from_batches([batch]), None))


def open_location(location: str) -> DuckDBSource:
    """The source at `duckdb:FILE?table=NAME` or `duckdb:FILE?query=SQL`; nothing is opened yet."""
    match = _LOCATION.fullmatch(location)
    if match is None:
        help = FORMS_HELP.replace("FILE.db", location.removeprefix(f"{SCHEME}:").partition("?")[0] or "FILE.db")
        raise unreadable(f"`{location}` names no table and no query of DuckDB", help)
    file, option, text = match.groups()
    value = _decoded(text, is_query=option == "query").strip()
    if option == "query":
        return DuckDBSource(Database(Path(file) if file else None, query=value))
    if not file:
        raise unreadable(f"`{location}` names a table but no database file", FORMS_HELP)
    return DuckDBSource(Database(Path(file), table=value))


def beside(location: str, folder: Path) -> str:
    """The location with its database file in `folder`, if there is one of that name."""
    file, _, rest = location.removeprefix(f"{SCHEME}:").partition("?")
    return f"{SCHEME}:{folder / file}?{rest}" if file and os.path.isfile(folder / file) else location


def inferred_types(label: str) -> Diagnostic:
    """Text files in DuckDB, which takes their layout and types from their rows: one row could change all others."""
    return Diagnostic(
        "not-supported",
        f"{label} reads CSV or JSON files, whose types DuckDB infers from private rows",
        help="name the files themselves, as in `--data people.csv`, or write them to a table or to Parquet first",
        exit_code=PRIVACY,
    )


def is_relation(data: object) -> bool:
    """Whether an object is a relation of DuckDB, which is imported already if it is."""
    duckdb = sys.modules.get("duckdb")
    return duckdb is not None and isinstance(data, duckdb.DuckDBPyRelation)


def _decoded(text: str, *, is_query: bool) -> str:
    """The text as it is if it contains a blank, which a URL cannot; otherwise decoded as a part of a URL.

    >>> _decoded("SELECT 7 % 20", is_query=True), _decoded("FROM+orders%20x", is_query=True)
    ('SELECT 7 % 20', 'FROM orders x')
    """
    if re.search(r"\s", text):
        return text
    return unquote_plus(text) if is_query else unquote(text)


add_source(
    SourceKind(SCHEME, lambda data: has_scheme(data, SCHEME), lambda data, _: open_location(data), beside=beside)
)
add_source(SourceKind("duckdb relation", is_relation, lambda data, _: DuckDBSource(GivenRelation(data))))

"""DuckDB: a table of a database, a query over it, a query over Parquet files, and a relation."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from engines import Engine
from engines.files import parquet_parts

# Arrow's durations become intervals, which DuckDB does not take from Arrow in every version: they come as microseconds.
CREATE = "CREATE TABLE awkward AS SELECT * REPLACE (to_microseconds(stay) AS stay) FROM given"


def missing() -> str | None:
    """Why DuckDB cannot be tested here."""
    return None if find_spec("duckdb") else "duckdb is not installed"


def _filled(connection: Any, table: pa.Table) -> None:
    stay = table.column("stay").cast(pa.int64())
    connection.register("given", table.set_column(table.schema.get_field_index("stay"), "stay", stay))
    connection.execute(CREATE)
    connection.unregister("given")


def database(folder: Path, table: pa.Table) -> Path:
    """A database with the table in it."""
    import duckdb

    path = folder / "awkward.db"
    with duckdb.connect(str(path)) as connection:
        _filled(connection, table)
    return path


def relation(_: Path, table: pa.Table) -> Any:
    """A relation on a connection in memory."""
    import duckdb

    connection = duckdb.connect()
    _filled(connection, table)
    return connection.table("awkward")


def _query_of_files(folder: Path, table: pa.Table) -> str:
    stay = table.column("stay").cast(pa.int64())  # Parquet has no durations
    plain = table.set_column(table.schema.get_field_index("stay"), "stay", stay)
    return f"duckdb:?query=SELECT * REPLACE (to_microseconds(stay) AS stay) FROM '{parquet_parts(folder, plain)}'"


ENGINES = (
    Engine("duckdb-table", lambda folder, table: f"duckdb:{database(folder, table)}?table=awkward", missing),
    Engine(
        "duckdb-query",
        lambda folder, table: f"duckdb:{database(folder, table)}?query=SELECT%20*%20FROM%20awkward",
        missing,
    ),
    Engine("duckdb-files", _query_of_files, missing),
    Engine("duckdb-relation", relation, missing),
)

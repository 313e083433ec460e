"""PostgreSQL: a table streamed as bin numbers, a table summed in the server, and a query; all in the order of `id`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa

from engines import Engine


def missing() -> str | None:
    """Why PostgreSQL cannot be tested here."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed"
    from postgres_server import Unavailable, shared_server

    try:
        shared_server()
    except Unavailable as reason:
        return str(reason)
    return None


def _location(rows: pa.Table, **options: str) -> str:
    from postgres_server import shared_server

    server = shared_server()
    server.load("awkward", rows)
    return server.location(order="id", **options)


def _table(_: Path, table: pa.Table) -> str:
    return _location(table, table="awkward")


def _summed(_: Path, table: pa.Table) -> str:
    return _location(table, table="awkward", count="server")


def _query(_: Path, table: pa.Table) -> str:
    return _location(table, query="SELECT * FROM awkward WHERE id > 0")


ENGINES = (
    Engine("postgres-table", _table, missing),
    Engine("postgres-server", _summed, missing),
    Engine("postgres-query", _query, missing),
)

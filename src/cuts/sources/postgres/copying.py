"""COPY out of a PostgreSQL server, as it arrives: one message per row, collected to parts of bounded size."""

from __future__ import annotations

import selectors
from collections.abc import Iterator

import psycopg
from psycopg import pq, sql

from cuts.sources.postgres.server import Connection

_MAX_BYTES = 1 << 26  # of a part, so that long texts do not fill the memory


def copied(connection: Connection, query: sql.Composable, options: str, rows: int) -> Iterator[tuple[int, bytes]]:
    """What COPY sends for a query, in parts of at most `rows` messages; the server sends one message per row."""
    libpq = connection.pgconn
    command = sql.SQL("COPY ({}) TO STDOUT ({})").format(query, sql.SQL(options))
    libpq.send_query(command.as_bytes(connection))
    with selectors.DefaultSelector() as selector:
        selector.register(libpq.socket, selectors.EVENT_READ)
        while libpq.is_busy():
            selector.select()
            libpq.consume_input()
        _check(libpq.get_result(), pq.ExecStatus.COPY_OUT)
        parts: list[memoryview] = []
        size = 0
        while (received := libpq.get_copy_data(1))[0] >= 0:
            length, data = received
            if length == 0:
                selector.select()  # interrupts are noticed here
                libpq.consume_input()
                continue
            parts.append(data)
            size += length
            if len(parts) == rows or size > _MAX_BYTES:
                yield len(parts), b"".join(parts)
                parts, size = [], 0
        _check(libpq.get_result(), pq.ExecStatus.COMMAND_OK)
        while libpq.get_result() is not None:
            pass
        if parts:
            yield len(parts), b"".join(parts)


def _check(result: pq.abc.PGresult | None, status: pq.ExecStatus) -> None:
    if result is None:
        raise psycopg.OperationalError("no result")
    if result.status != status:
        raise psycopg.errors.error_from_result(result)

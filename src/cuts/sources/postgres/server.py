"""Sessions of a PostgreSQL server, COPY out of it, and what is said when it fails.

Connecting is tried again for a few seconds while the server does not answer. Nothing else is: a read that fails is an
error, and the caller's results are dropped with it. Of private rows no message of the server is shown that could depend
on a row.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, TypeAlias

import psycopg
from psycopg import pq, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from cuts.data.exchange.readable import unreadable
from cuts.data.exchange.streams import reason
from cuts.sources.postgres.location import FORMS_HELP, Location
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic, did_you_mean, usage_error

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

CONNECT_SECONDS = 10  # that one attempt may take, unless the location says otherwise
RETRY_SECONDS = 3.0  # for which a server that does not answer is asked again
_PAUSE_SECONDS = 0.25
_MAX_BYTES = 1 << 26  # of a part of a COPY, so that long texts do not fill the memory
_SETTINGS = {
    "DateStyle": "ISO, YMD",
    "TimeZone": "UTC",
    "extra_float_digits": "1",  # from PostgreSQL 12 on: as many digits as a number needs
    "synchronize_seqscans": "off",  # a scan starts at the first row,
    "max_parallel_workers_per_gather": "0",  # and one process makes it: the order of rows stays the same
    "standard_conforming_strings": "on",
    "jit": "off",  # compiling the encoding of many columns takes longer than it saves
}
_TABLES = """
SELECT CASE WHEN pg_table_is_visible(c.oid) THEN relname ELSE nspname || '.' || relname END
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace
WHERE relkind IN ('r', 'v', 'm', 'f', 'p') AND nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
LIMIT 10000
"""


@contextmanager
def session(location: Location, *, is_private: bool = False) -> Iterator[Connection]:
    """A connection that can only read, and sees one state of the database; errors inside become `CutsError`."""
    with closing(_connected(location)) as connection:
        try:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            for name, value in _SETTINGS.items():
                connection.execute("SELECT set_config(%s, %s, true)", (name, value))
            yield connection
            return
        except psycopg.Error as error:
            problem = explained(error, location, is_private=is_private)
    raise problem


def copied(connection: Connection, query: sql.Composable, options: str, rows: int) -> Iterator[tuple[int, bytes]]:
    """What COPY sends for a query, in parts of at most `rows` messages; the server sends one message per row."""
    connection_of_libpq = connection.pgconn
    command = sql.SQL("COPY ({}) TO STDOUT ({})").format(query, sql.SQL(options))
    connection_of_libpq.send_query(command.as_bytes(connection))
    with selectors.DefaultSelector() as selector:
        selector.register(connection_of_libpq.socket, selectors.EVENT_READ)
        while connection_of_libpq.is_busy():
            selector.select()
            connection_of_libpq.consume_input()
        _check(connection_of_libpq.get_result(), pq.ExecStatus.COPY_OUT)
        parts: list[memoryview] = []
        size = 0
        while (received := connection_of_libpq.get_copy_data(1))[0] >= 0:
            length, data = received
            if length == 0:
                selector.select()  # interrupts are noticed here
                connection_of_libpq.consume_input()
                continue
            parts.append(data)
            size += length
            if len(parts) == rows or size > _MAX_BYTES:
                yield len(parts), b"".join(parts)
                parts, size = [], 0
        _check(connection_of_libpq.get_result(), pq.ExecStatus.COMMAND_OK)
        while connection_of_libpq.get_result() is not None:
            pass
        if parts:
            yield len(parts), b"".join(parts)


def _check(result: pq.abc.PGresult | None, status: pq.ExecStatus) -> None:
    if result is None:
        raise psycopg.OperationalError("no result")
    if result.status != status:
        raise psycopg.errors.error_from_result(result)


# --- connecting


def _connected(location: Location) -> Connection:
    """A new connection; a server that does not answer is asked again until `RETRY_SECONDS` have passed."""
    options = _options(location)
    give_up = time.monotonic() + RETRY_SECONDS
    while True:
        try:
            return psycopg.connect(**options, autocommit=True, prepare_threshold=None)
        except psycopg.OperationalError as error:
            answers = pq.PGconn.ping(make_conninfo(**options).encode()) == pq.Ping.OK
            if answers or time.monotonic() > give_up:
                problem = _refused(error, location) if answers else _no_answer(error, location)
                break
        time.sleep(_PAUSE_SECONDS)
    raise problem


def _options(location: Location) -> dict[str, Any]:
    try:
        given = conninfo_to_dict(location.server)
    except psycopg.ProgrammingError:  # its message quotes the location
        problem = unreadable("libpq cannot read the location", FORMS_HELP)
    else:
        defaults = {"connect_timeout": CONNECT_SECONDS, "application_name": "cuts"}
        return {**defaults, **given, "client_encoding": "utf8"}
    raise problem


def _refused(error: psycopg.Error, location: Location) -> CutsError:
    """The server answers, but not to this user or for this database."""
    return usage_error(
        "unreachable-server",
        f"the PostgreSQL server{_at(location)} refuses the connection: {_last_part(error)}",
        "check the user and the database in the location, and the password in PGPASSWORD or the file of PGPASSFILE",
    )


def _no_answer(error: psycopg.Error, location: Location) -> CutsError:
    return usage_error(
        "unreachable-server",
        f"no PostgreSQL server answers{_at(location)}: {_last_part(error)}",
        "check the host and the port in the location, and whether the server is running",
    )


def _at(location: Location) -> str:
    return f" at {location.host}" if location.host else ""


def _last_part(error: psycopg.Error) -> str:
    """What libpq says about the last host it tried, without the words before it."""
    lines = [line.strip() for line in str(error).splitlines() if "failed: " in line or "FATAL" in line]
    last = lines[-1] if lines else str(error).partition("\n")[0]
    return last.rpartition("failed: ")[2].removeprefix("FATAL:").strip()[:200]


# --- errors of a session


def explained(error: psycopg.Error, location: Location, *, is_private: bool) -> CutsError:
    """What went wrong, as far as it can be said: about private rows only what follows from names and types."""
    state = error.sqlstate or ""
    message = error.diag.message_primary or ""
    if isinstance(error, psycopg.errors.QueryCanceled) and not is_private:
        return unreadable(f"the server cancelled reading {location.label}: {message}", "check its statement_timeout")
    if not state or state[:2] == "08" or state[:3] == "57P":
        return usage_error(
            "unreachable-server",
            f"the connection to the PostgreSQL server{_at(location)} was lost while {location.label} was read",
            "no output was written; run the command again when the server is available",
        )
    if isinstance(error, psycopg.errors.UndefinedTable | psycopg.errors.InvalidSchemaName) and location.table:
        return unreadable(f"there is no table `{'.'.join(location.table)}` in the database", _similar_table(location))
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return unreadable(f"{location.label} may not be read: {message}", "ask for the right to SELECT from it")
    if state[:2] in ("42", "0A", "25"):  # about the words of the query, not about rows
        return unreadable(f"the server does not run {location.label}: {message}", FORMS_HELP)
    if is_private:
        return CutsError([withheld()])
    return unreadable(f"the server could not read {location.label}: {reason(Exception(message))}", _CAST_HELP)


def withheld() -> Diagnostic:
    """Counting that failed in the server; its reason is withheld, because it could depend on the rows."""
    return Diagnostic(
        "core-failed",
        "the server could not count the private rows; the reason is withheld, because it could depend on the rows",
        help="no output was written; the server's own log has the reason",
        exit_code=PRIVACY,
    )


_CAST_HELP = "correct the rows, or select them with `?query=SELECT ...`"


def _similar_table(location: Location) -> str:
    """The name of a table like the one that is missing; names of tables are no rows."""
    try:
        with closing(_connected(location)) as connection:
            names = [str(name) for (name,) in connection.execute(_TABLES).fetchall()]
    except (psycopg.Error, CutsError):
        names = []
    wanted = ".".join(location.table)
    return did_you_mean(wanted, names) or "check the name, its schema (`table=SCHEMA.NAME`) and its upper-case letters"

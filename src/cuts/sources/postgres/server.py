"""Sessions of a PostgreSQL server.

Connecting is tried again for a few seconds while the server does not answer. Nothing else is: a read that fails is an
error (`failures.py`), and the caller's results are dropped with it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, TypeAlias

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from cuts.data.exchange.readable import unreadable
from cuts.sources.postgres.failures import explained, explained_privately, no_answer, refused
from cuts.sources.postgres.location import FORMS_HELP, Location
from cuts.text.diagnostic import CutsError

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

CONNECT_SECONDS = 10  # that one attempt may take, unless the location says otherwise
RETRY_SECONDS = 3.0  # for which a server that does not answer is asked again
_PAUSE_SECONDS = 0.25
_PARAMETERS_HELP = "parameters are `table`, `query`, `order`, `count` and those of libpq, such as `sslmode`"
_SETTINGS = {
    "DateStyle": "ISO, YMD",
    "TimeZone": "UTC",
    "extra_float_digits": "1",  # from PostgreSQL 12 on: as many digits as a number needs
    "synchronize_seqscans": "off",  # a scan starts at the first row,
    "max_parallel_workers_per_gather": "0",  # and one process makes it: the order of rows stays the same
    "standard_conforming_strings": "on",
    "jit": "off",  # compiling the encoding of many columns takes longer than it saves
}
_SET = "SELECT set_config(name, value, true) FROM unnest(%s::text[], %s::text[]) AS s (name, value)"
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
            connection.execute(_SET, (list(_SETTINGS), list(_SETTINGS.values())))
            yield connection
            return
        except psycopg.Error as error:
            problem = (
                explained_privately(error, location)
                if is_private
                else explained(error, location, lambda: table_names(location))
            )
    raise problem


def _connected(location: Location) -> Connection:
    """A new connection; a server that does not answer is asked again until `RETRY_SECONDS` have passed."""
    options = _options(location)
    give_up = time.monotonic() + RETRY_SECONDS
    while True:
        try:
            return psycopg.connect(**options, autocommit=True, prepare_threshold=None)
        except psycopg.ProgrammingError:  # such as a parameter without a meaning, which its message quotes
            problem = no_location()
            break
        except psycopg.OperationalError as error:
            answers = pq.PGconn.ping(make_conninfo(**options).encode()) == pq.Ping.OK
            if answers or time.monotonic() > give_up:
                problem = refused(error, location) if answers else no_answer(error, location)
                break
        time.sleep(_PAUSE_SECONDS)
    raise problem


def _options(location: Location) -> dict[str, Any]:
    try:
        given = conninfo_to_dict(location.server)
    except psycopg.ProgrammingError as error:  # its message quotes the location
        unknown = re.search(r'invalid URI query parameter: "(\w+)"', str(error))
        problem = (
            no_location()
            if unknown is None
            else unreadable(f"the location has an unknown parameter `{unknown[1]}`", _PARAMETERS_HELP)
        )
    else:
        defaults = {"connect_timeout": CONNECT_SECONDS, "application_name": "cuts"}
        return {**defaults, **given, "client_encoding": "utf8"}
    raise problem


def no_location() -> CutsError:
    """A location with parameters that libpq does not have, or values that they cannot have."""
    return unreadable("libpq cannot read the location", FORMS_HELP)


def table_names(location: Location) -> list[str]:
    """The names of the tables in the database, as many as can be found; names of tables are no rows."""
    try:
        with closing(_connected(location)) as connection:
            return [str(name) for (name,) in connection.execute(_TABLES).fetchall()]
    except (psycopg.Error, CutsError):
        return []

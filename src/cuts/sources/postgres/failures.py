"""Errors of a PostgreSQL server. Those of a private read never contain anything that could depend on a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import psycopg

from cuts.data.exchange.readable import bad_query, unreadable
from cuts.data.exchange.streams import reason
from cuts.sources.postgres.location import Location
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic, did_you_mean, usage_error


def refused(error: psycopg.Error, location: Location) -> CutsError:
    """The server answers, but not to this user or for this database."""
    return usage_error(
        "unreachable-server",
        f"the PostgreSQL server{_at(location)} refuses the connection: {_last_part(error)}",
        "check the user and the database in the location, and the password in PGPASSWORD or the file of PGPASSFILE",
    )


def no_answer(error: psycopg.Error, location: Location) -> CutsError:
    """There is no server, or it cannot be reached."""
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


def explained_privately(error: psycopg.Error, location: Location) -> CutsError:
    """What went wrong while private rows were counted: no words of the server, which could be about a row."""
    if _is_lost(error):
        return lost(location)
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return no_right(location)
    return CutsError([withheld()])


def explained(error: psycopg.Error, location: Location, tables: Callable[[], Sequence[str]]) -> CutsError:
    """What went wrong; `tables` are the names of the tables that there are."""
    state, message = error.sqlstate or "", error.diag.message_primary or ""
    if isinstance(error, psycopg.errors.QueryCanceled):
        return unreadable(f"the server cancelled reading {location.label}: {message}", "check its statement_timeout")
    if _is_lost(error):
        return lost(location)
    if isinstance(error, psycopg.errors.UndefinedTable | psycopg.errors.InvalidSchemaName) and location.table:
        wanted = ".".join(location.table)
        help = did_you_mean(wanted, tables()) or "check the name, its schema (`table=SCHEMA.NAME`) and its capitals"
        return usage_error("unknown-table", f"the database has no table `{wanted}`", help)
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return no_right(location, f": {message}")
    if state[:2] in ("42", "0A", "25"):  # about the query, not about a row
        if location.query:
            return bad_query(f"the query cannot be run: {message}", "correct the SQL; it must be one SELECT")
        return unreadable(f"the server cannot read {location.label}: {message}", "check the table and the location")
    return unreadable(
        f"the server could not read {location.label}: {reason(Exception(message))}",
        "correct the rows, or select others: `?query=SELECT ...`",
    )


def _is_lost(error: psycopg.Error) -> bool:
    state = error.sqlstate or ""
    return not state or state[:2] == "08" or state[:3] == "57P"


def lost(location: Location) -> CutsError:
    """A connection that ended in the middle."""
    return usage_error(
        "unreachable-server",
        f"the connection to the PostgreSQL server{_at(location)} was lost while {location.label} was read",
        "no output was written; run the command again when the server is available",
    )


def no_right(location: Location, detail: str = "") -> CutsError:
    """A table that this user may not read."""
    return unreadable(
        f"{location.label} may not be read by this user{detail}", "ask its owner for the right to SELECT from it"
    )


def withheld() -> Diagnostic:
    """Counting that failed in the server; its reason is withheld, because it could depend on the rows."""
    return Diagnostic(
        "core-failed",
        "the server could not count the private rows; the reason is withheld, because it could depend on the rows",
        help="no output was written; the server's own log has the reason",
        exit_code=PRIVACY,
    )

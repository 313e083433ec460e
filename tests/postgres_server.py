"""A real PostgreSQL server on loopback for the length of a test session, in a temporary directory."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
from psycopg import sql

OWNER, READER, PASSWORD = "owner", "reader", "correct horse"  # the reader needs the password, the owner does not
DATABASE = "shop"
_UNPRIVILEGED = ("postgres", "nobody")  # as whom the server runs if the tests run as root, which it refuses
_OPTIONS = {  # nothing has to survive
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "20",
    "listen_addresses": "127.0.0.1",
}
_TYPES = {
    pa.bool_(): "boolean",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.string(): "text",
    pa.date32(): "date",
    pa.time64("us"): "time",
    pa.timestamp("us"): "timestamp",
    pa.timestamp("us", "UTC"): "timestamptz",
    pa.duration("us"): "interval",
}


class Unavailable(Exception):
    """Why there is no server on this machine."""


@dataclass(frozen=True)
class PostgresServer:
    """A running server."""

    port: int
    folder: Path
    binaries: Path

    @property
    def password(self) -> str:
        """The password of the reader."""
        return PASSWORD

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def location(self, *, user: str = OWNER, **options: str) -> str:
        """The location with these parameters, one of which is `table` or `query`."""
        return f"postgresql://{user}@{self.host}/{DATABASE}?" + "&".join(f"{key}={v}" for key, v in options.items())

    def connect(self, database: str = DATABASE, **options: Any) -> psycopg.Connection[Any]:
        return psycopg.connect(
            host="127.0.0.1", port=self.port, user=OWNER, dbname=database, autocommit=True, **options
        )

    def run(self, *statements: str) -> None:
        with self.connect() as connection:
            for statement in statements:
                connection.execute(statement)  # type: ignore[call-overload]

    def stop(self) -> None:
        """Stop the server at once, if it is running."""
        if (self.folder / "data" / "postmaster.pid").exists():
            _run(_user(), self.binaries / "pg_ctl", "-D", self.folder / "data", "-m", "immediate", "-w", "stop")

    def log_size(self) -> int:
        return (self.folder / "log").stat().st_size

    def log_since(self, size: int) -> str:
        return (self.folder / "log").read_bytes()[size:].decode()

    def load(self, name: str, table: pa.Table) -> None:
        """Replace the table `name` by an Arrow table, whose rows are inserted in order."""
        columns = sql.SQL(", ").join(
            sql.SQL("{} {}").format(sql.Identifier(field.name), sql.SQL(type_of(field.type))) for field in table.schema
        )
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(name)))
            cursor.execute(sql.SQL("CREATE TABLE {} ({})").format(sql.Identifier(name), columns))
            with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(name))) as copy:
                for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                    copy.write_row(row)


def type_of(kind: pa.DataType) -> str:
    """The PostgreSQL type of an Arrow type."""
    return f"numeric({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else _TYPES[kind]


_SHARED = ExitStack()


@cache
def shared_server() -> PostgresServer:
    """The server of this test session, started by whoever needs it first; `Unavailable` says why there is none."""
    return _SHARED.enter_context(running())


def stop_shared_server() -> None:
    """Stop the server of this session, if it was started."""
    _SHARED.close()


@contextmanager
def running() -> Iterator[PostgresServer]:
    """A server in a new folder, stopped and removed at the end; `Unavailable` says why there is none."""
    binaries = _find_binaries()
    user = _user()
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if user is not None:
            shutil.chown(folder, user)
        data = folder / "data"
        _run(user, binaries / "initdb", "-D", data, "-U", OWNER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        (data / "pg_hba.conf").write_text(
            f"host all {READER} 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
        )
        port = _free_port()
        options = " ".join(f"-c {key}={value}" for key, value in {**_OPTIONS, "port": port}.items())
        options += f" -c unix_socket_directories={folder}"
        control = binaries / "pg_ctl"
        _run(user, control, "-D", data, "-l", folder / "log", "-w", "-t", "30", "-o", options, "start")
        server = PostgresServer(port, folder, binaries)
        try:
            with server.connect("postgres") as connection:
                connection.execute(f"CREATE DATABASE {DATABASE}")  # type: ignore[call-overload]
                connection.execute(f"CREATE ROLE {READER} LOGIN PASSWORD '{PASSWORD}'")  # type: ignore[call-overload]
            yield server
        finally:
            server.stop()


def _find_binaries() -> Path:
    found = shutil.which("initdb")
    candidates = [Path(found).parent] if found else []
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: -_version(path))
    if config := shutil.which("pg_config"):
        candidates.append(Path(subprocess.run([config, "--bindir"], capture_output=True, text=True).stdout.strip()))
    for folder in candidates:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise Unavailable("PostgreSQL is not installed: there is no initdb in PATH or /usr/lib/postgresql")


def _version(path: Path) -> float:
    try:
        return float(path.parent.name)
    except ValueError:
        return 0.0


def _user() -> str | None:
    """As whom the server runs: as whoever runs the tests, unless that is root."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    import pwd

    known = {entry.pw_name for entry in pwd.getpwall()}
    user = next((name for name in _UNPRIVILEGED if name in known), None)
    if user is None:
        raise Unavailable("PostgreSQL refuses to run as root, and there is no other user")
    return user


def _run(user: str | None, *command: object) -> None:
    done = subprocess.run(
        list(map(str, command)),
        user=user,
        extra_groups=[] if user is not None else None,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # pg_ctl's server would keep a pipe open
        stderr=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C"},
        timeout=60,
    )
    if done.returncode:
        raise Unavailable(f"{Path(str(command[0])).name} failed with exit code {done.returncode}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

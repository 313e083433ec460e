"""A server that fails is one clear error: nothing is retried but connecting, and nothing half-read counts."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

from console import run
from cuts.count.kernel import count_rows
from cuts.data.codec import build_codec
from cuts.data.schema import Category, Integer, Schema
from cuts.data.table import Table
from cuts.privacy import core
from cuts.sources.registry import open_source
from cuts.text.diagnostic import CutsError
from postgres_server import PostgresServer, running

N = build_codec(Schema("t", (Integer("n", 0, 10_000_000, 4),)), {})
MANY = "SELECT g AS n, repeat('x', 100) AS x FROM generate_series(1, 1000000) AS g"


def failure(location: str) -> tuple[str, str, str]:
    """The code, the title and the help of the error of reading a location."""
    with pytest.raises(CutsError) as caught:
        list(open_source(location).rows().blocks())
    (diagnostic,) = caught.value.diagnostics
    assert caught.value.exit_code == (1 if diagnostic.code == "bad-query" else 2)
    return diagnostic.code, diagnostic.title, diagnostic.help or ""


def test_a_wrong_password_is_refused_at_once(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    location = postgres.location(table="people", user="reader")
    for password in ("wrong horse", ""):
        monkeypatch.setenv("PGPASSWORD", password)
        started = time.monotonic()
        code, title, help = failure(location)
        assert time.monotonic() - started < 2
        assert code == "unreachable-server"
        assert title.startswith(f"the PostgreSQL server at {postgres.host} refuses the connection: ")
        assert "PGPASSWORD" in help
        assert "horse" not in title + help


def test_passwords_come_from_the_environment(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    postgres.load("people", pa.table({"n": [1, 2]}))
    postgres.run("GRANT SELECT ON people TO reader")
    location = postgres.location(table="people", user="reader")
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    assert len(list(open_source(location).rows().blocks())) == 1
    monkeypatch.delenv("PGPASSWORD")
    (tmp_path / "pass").write_text(f"127.0.0.1:{postgres.port}:*:reader:{postgres.password}\n")
    (tmp_path / "pass").chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pass"))
    assert len(list(open_source(location).rows().blocks())) == 1


def test_a_database_or_user_that_is_not_there_is_named(postgres: PostgresServer) -> None:
    assert (
        'database "shopp" does not exist' in failure(postgres.location(table="people").replace("/shop?", "/shopp?"))[1]
    )
    assert 'role "nobody here" does not exist' in failure(postgres.location(table="people", user="nobody%20here"))[1]
    _, title, _ = failure(postgres.location(table="people", sslmodee="require"))
    assert title == "the location has an unknown parameter `sslmodee`"
    _, title, _ = failure(postgres.location(table="people", connect_timeout="soon"))
    assert title == "libpq cannot read the location"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"table": "a%00b"}, "unknown-table"),
        ({"query": "SELECT%20'%00'"}, "bad-query"),
        ({"table": "a", "order": "%00"}, "unknown-table"),
    ],
)
def test_what_postgres_cannot_write_is_an_error(postgres: PostgresServer, options: dict[str, str], code: str) -> None:
    assert failure(postgres.location(**options))[0] == code


def test_a_server_that_is_not_there_is_asked_again_for_a_bounded_time() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))  # bound, but nobody listens
        port = probe.getsockname()[1]
        started = time.monotonic()
        with patch("cuts.sources.postgres.server.RETRY_SECONDS", 0.6):
            code, title, _ = failure(f"postgresql://ann@127.0.0.1:{port}/shop?table=orders")
    assert 0.6 < time.monotonic() - started < 5
    assert code == "unreachable-server"
    assert title == f"no PostgreSQL server answers at 127.0.0.1:{port}: Connection refused"


def test_a_table_that_is_missing_is_compared_with_those_there(postgres: PostgresServer) -> None:
    postgres.run("CREATE SCHEMA IF NOT EXISTS sales", "CREATE TABLE IF NOT EXISTS sales.invoices (n integer)")
    postgres.load("orders", pa.table({"n": [1]}))
    code, title, help = failure(postgres.location(table="Order"))
    assert (code, title) == ("unknown-table", "the database has no table `Order`")
    assert help == "did you mean `orders`?"
    assert failure(postgres.location(table="sales.invoice"))[2] == "did you mean `sales.invoices`?"
    assert "the database has no table `nowhere.orders`" in failure(postgres.location(table="nowhere.orders"))[1]
    assert 'relation "orderz" does not exist' in failure(postgres.location(query="SELECT * FROM orderz"))[1]
    code, title, help = failure(postgres.location(query="SELEC 1"))
    assert (code, help) == ("bad-query", "correct the SQL; it must be one SELECT")
    assert title == 'the query cannot be run: syntax error at or near "1"'


def test_a_column_that_is_missing_is_named(postgres: PostgresServer) -> None:
    postgres.load("orders", pa.table({"m": [1]}))
    for options in ({}, {"count": "server"}):
        location = postgres.location(table="orders", **options)
        with pytest.raises(CutsError, match="has no column `n`") as caught:
            count_rows(open_source(location).rows(), N, [("n",)])
        (diagnostic,) = caught.value.diagnostics
        assert (diagnostic.code, diagnostic.help) == ("missing-column", "the columns are `m`")


def test_a_right_that_is_missing_is_named(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    postgres.load("secret", pa.table({"n": [1]}))
    code, title, help = failure(postgres.location(table="secret", user="reader"))
    assert (code, title) == (
        "unreadable-table",
        "the table `secret` may not be read by this user: permission denied for table secret",
    )
    assert "SELECT" in help
    with pytest.raises(CutsError, match=r"may not be read by this user$"):
        private(postgres.location(table="secret", user="reader"))


def private(location: str) -> Any:
    return core.count_rows(open_source(location).private_rows(), N, [("n",)], person=None, max_rows=1)


def test_a_type_that_changes_between_passes_is_an_error(postgres: PostgresServer) -> None:
    postgres.load("orders", pa.table({"n": [1, 2], "x": ["a", "b"]}))
    rows = open_source(postgres.location(table="orders")).rows()
    list(rows.blocks())
    postgres.run("ALTER TABLE orders ALTER COLUMN n TYPE text")
    for use in (lambda: list(rows.blocks()), lambda: count_rows(rows, N, [("n",)])):
        with pytest.raises(CutsError, match="changed while it was read: `n` is of type text, it was bigint"):
            use()
    postgres.run("ALTER TABLE orders DROP COLUMN n")
    with pytest.raises(CutsError, match="`n` is gone"):
        list(rows.blocks())


def end_backends(postgres: PostgresServer) -> None:
    """End the sessions of cuts as an administrator would."""
    postgres.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'cuts'")


def test_a_session_that_ends_in_the_middle_is_an_error_and_no_shorter_table(postgres: PostgresServer) -> None:
    blocks = open_source(postgres.location(query=MANY)).rows().blocks()
    assert next(blocks).rows == 65_536
    end_backends(postgres)
    with pytest.raises(CutsError, match=r"the connection to the PostgreSQL server at .* was lost") as caught:
        Table.join(list(blocks))
    assert caught.value.diagnostics[0].code == "unreachable-server"


@pytest.mark.parametrize("options", [{}, {"count": "server"}])
def test_counting_that_is_cut_short_counts_nothing(postgres: PostgresServer, options: dict[str, str]) -> None:
    slow = "SELECT g AS n, pg_sleep(0.001)::text AS x FROM generate_series(1, 100000) AS g"
    codec = build_codec(Schema("t", (Integer("n", 0, 100_000, 4), Category("x", ("",)))), {})
    ender = threading.Timer(1.0, end_backends, (postgres,))
    ender.start()
    with pytest.raises(CutsError, match="was lost"):
        count_rows(open_source(postgres.location(query=slow, **options)).rows(), codec, [("n", "x")])
    ender.join()


def test_a_private_read_that_is_cut_short_is_not_tried_again(postgres: PostgresServer) -> None:
    slow = "SELECT g AS n FROM generate_series(1, 100000) AS g WHERE pg_sleep(0.001) IS NOT NULL"
    ender = threading.Timer(1.0, end_backends, (postgres,))
    ender.start()
    with (
        patch("cuts.sources.postgres.server._connected", wraps=_connected()) as connected,
        pytest.raises(CutsError, match="was lost"),
    ):
        private(postgres.location(query=slow))
    ender.join()
    assert connected.call_count == 1


def _connected() -> Any:
    from cuts.sources.postgres import server

    return server._connected


def test_a_server_that_stops_leaves_no_output(tmp_path: Path) -> None:
    """The whole command, with a server of its own that is stopped while it is read."""
    pytest.importorskip("psycopg")
    from postgres_server import Unavailable

    try:
        with running() as server:
            (tmp_path / "p.cuts").write_text("SYNTHESIZE: t; END;")
            slow = "SELECT g % 7 AS n, pg_sleep(0.0005)::text AS x FROM generate_series(1, 1000000) AS g"
            stopper = threading.Timer(1.5, server.stop)
            stopper.start()
            words = ["cuts", "run", "p.cuts", "--data", server.location(query=slow), "-o", "x.csv"]
            output, code = run(words, tmp_path)
            stopper.join()
    except Unavailable as reason:
        pytest.skip(str(reason))
    assert code == 2, output
    assert "error[unreachable-server]" in output
    assert output.count("error[") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.cuts"]


def test_a_cancelled_query_says_so(postgres: PostgresServer) -> None:
    location = postgres.location(query="SELECT pg_sleep(9)::text AS x", options="-c%20statement_timeout%3D200")
    _, title, help = failure(location)
    assert title == "the server cancelled reading the query: canceling statement due to statement timeout"
    assert "statement_timeout" in help
    with pytest.raises(CutsError, match="the reason is withheld"):
        private(location.replace("pg_sleep(9)::text AS x", "1 AS n WHERE pg_sleep(9) IS NOT NULL"))


def test_a_value_that_the_server_cannot_convert_is_not_quoted(postgres: PostgresServer) -> None:
    postgres.load("orders", pa.table({"x": ["12", "Jane Doe"]}))
    code, title, _ = failure(postgres.location(query="SELECT x::integer AS n FROM orders"))
    assert code == "unreadable-table"
    assert title == "the server could not read the query: invalid input syntax for type integer"
    with pytest.raises(CutsError, match="the reason is withheld"):
        private(postgres.location(query="SELECT x::integer AS n FROM orders"))

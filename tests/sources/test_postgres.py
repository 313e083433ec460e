"""Tables of PostgreSQL as rows: their types, their order, their counts, and locations that never hold a password."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console import run
from cuts.count.kernel import count_rows
from cuts.count.rows import RowsInPlace
from cuts.data.codec import build_codec
from cuts.data.schema import Category, Integer, Modelled, Real, Schema, Temporal
from cuts.data.table import Table
from cuts.flow.run import fit, make_request
from cuts.lang.parser import parse
from cuts.model.store import save
from cuts.privacy.core import count_rows as count_private
from cuts.privacy.reading import PrivateRowsInPlace
from cuts.sources.postgres.location import parse_location
from cuts.sources.registry import open_source
from cuts.text.diagnostic import CutsError
from postgres_server import PostgresServer

# --- types and rows


def read(location: str) -> pa.Table:
    return Table.join(list(open_source(location).rows().blocks())).arrow


COLUMNS: list[tuple[str, str, Any, pa.DataType]] = [
    ("smallint", "-5", -5, pa.int16()),
    ("integer", "7", 7, pa.int32()),
    ("bigint", "9007199254740993", 2**53 + 1, pa.int64()),
    ("real", "0.1", np.float32(0.1).item(), pa.float32()),
    ("double precision", "0.30000000000000004", 0.1 + 0.2, pa.float64()),
    ("double precision", "Infinity", math.inf, pa.float64()),
    ("numeric(10,2)", "1.5", Decimal("1.50"), pa.decimal128(10, 2)),
    ("numeric(38,0)", "9" * 38, Decimal("9" * 38), pa.decimal128(38, 0)),
    ("numeric(50,2)", "0.1", 0.1, pa.float64()),
    ("numeric", "0.1", 0.1, pa.float64()),
    ("boolean", "true", True, pa.bool_()),
    ("text", "", "", pa.string()),
    ("text", 'a,"b"\r\n\\N', 'a,"b"\r\n\\N', pa.string()),
    ("varchar(5)", "é🦆", "é🦆", pa.string()),
    ("char(5)", "ab", "ab", pa.string()),
    ("name", "x", "x", pa.string()),
    ("uuid", "00000000-0000-0000-0000-0000000000ff", "00000000-0000-0000-0000-0000000000ff", pa.string()),
    ("colour", "dark red", "dark red", pa.string()),
    ("positive", "3", 3, pa.int32()),
    ("date", "0001-01-01", dt.date(1, 1, 1), pa.date32()),
    ("time", "23:59:59.999999", dt.time(23, 59, 59, 999999), pa.time64("us")),
    ("timestamp", "1969-12-31 23:59:59.5", dt.datetime(1969, 12, 31, 23, 59, 59, 500000), pa.timestamp("us")),
    ("timestamptz", "2020-01-01 00:00+02", dt.datetime(2019, 12, 31, 22, tzinfo=dt.UTC), pa.timestamp("us", "UTC")),
    ("interval", "-1 day 02:00:00.000001", dt.timedelta(days=-1, hours=2, microseconds=1), pa.duration("us")),
]


def test_columns_become_arrow_types_and_null_is_not_empty(postgres: PostgresServer) -> None:
    columns = ", ".join(f"c{i} {kind}" for i, (kind, *_) in enumerate(COLUMNS))
    cells = ", ".join("'" + text.replace("'", "''") + "'" for _, text, *_ in COLUMNS)
    postgres.run(
        "DROP TABLE IF EXISTS kinds",
        "DROP TYPE IF EXISTS colour",
        "DROP DOMAIN IF EXISTS positive",
        "CREATE TYPE colour AS ENUM ('blue', 'dark red')",
        "CREATE DOMAIN positive AS integer CHECK (VALUE > 0)",
        f"CREATE TABLE kinds ({columns})",
        f"INSERT INTO kinds VALUES ({cells})",
        "INSERT INTO kinds DEFAULT VALUES",
    )
    table = read(postgres.location(table="kinds"))
    for index, (kind, _, value, arrow) in enumerate(COLUMNS):
        assert table.schema.field(index).type == arrow, kind
        assert table.column(index).to_pylist() == [value, None], kind


def test_a_table_of_one_column_keeps_its_missing_cells_and_line_breaks(postgres: PostgresServer) -> None:
    cells = ["a", None, "", "x\ny", None, '"', " "]
    postgres.load("single", pa.table({"cell": cells}))
    assert read(postgres.location(table="single")).column("cell").to_pylist() == cells


def test_names_are_quoted(postgres: PostgresServer) -> None:
    postgres.run('CREATE SCHEMA IF NOT EXISTS "my schema"', 'DROP TABLE IF EXISTS "my schema"."a.b""c"')
    postgres.run('CREATE TABLE "my schema"."a.b""c" ("select; ""--" integer, "%s" text, "{}" text, "t" integer)')
    postgres.run('INSERT INTO "my schema"."a.b""c" VALUES (1, \'x\', \'y\', 2)')
    location = postgres.location(table='my schema."a.b""c"')
    assert read(location).to_pylist() == [{'select; "--': 1, "%s": "x", "{}": "y", "t": 2}]
    assert open_source(location).name == 'a.b"c'
    codec = build_codec(Schema("t", (Integer('select; "--', 0, 3, 2), Category("{}", ("y",)))), {})
    for option in ({}, {"count": "server"}):
        counts = count_rows(
            open_source(postgres.location(table='my schema."a.b""c"', **option)).rows(), codec, [("{}",)]
        )
        assert counts.rows == 1


def test_a_query_is_one_statement_that_only_reads(postgres: PostgresServer) -> None:
    postgres.load("single", pa.table({"cell": ["a"]}))
    assert read(postgres.location(query="SELECT cell, 7 % 4 AS n FROM single -- all of them;")).num_rows == 1
    assert read(postgres.location(query="SELECT+1+AS+n%3B")).to_pylist() == [{"n": 1}]
    for query in (
        "SELECT 1) AS t; DROP TABLE single; --",
        "DELETE FROM single RETURNING *",
        "WITH gone AS (DELETE FROM single RETURNING *) SELECT * FROM gone",
        "SELECT set_config('transaction_read_only', 'off', true), setval('s', 1)",
    ):
        with pytest.raises(CutsError, match="the query cannot be run"):
            read(postgres.location(query=query))
    assert read(postgres.location(table="single")).num_rows == 1


def test_rows_come_in_the_stated_order_in_every_pass(postgres: PostgresServer) -> None:
    rng = np.random.default_rng(1)
    postgres.load("numbers", pa.table({"a": rng.permutation(5_000), "b": rng.integers(0, 3, 5_000)}))
    rows = open_source(postgres.location(table="numbers", order="b,a")).rows()
    passes = [Table.join(list(rows.blocks())).arrow for _ in range(2)]
    assert passes[0].equals(passes[1])
    assert passes[0].equals(passes[0].sort_by([("b", "ascending"), ("a", "ascending")]))
    with pytest.raises(CutsError, match="has no column `c`"):
        read(postgres.location(table="numbers", order="c"))


def test_blocks_are_bounded(postgres: PostgresServer) -> None:
    location = postgres.location(query="SELECT g, repeat('x', g % 5) AS x FROM generate_series(1, 150000) AS g")
    assert [block.rows for block in open_source(location).rows().blocks()] == [65_536, 65_536, 18_928]
    codec = build_codec(
        Schema("t", (Integer("g", 1, 150_000, 7), Category("x", ("", *("x" * i for i in range(1, 5)))))), {}
    )
    counts = count_rows(open_source(location).rows(), codec, [("g", "x")])
    assert counts.table(("x",)).tolist() == [30_000] * 5
    with patch("cuts.sources.postgres.copying._MAX_BYTES", 1_000):
        assert sum(block.rows for block in open_source(location.replace("150000", "900")).rows().blocks()) == 900


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("bytea", "x", "of type bytea, which is neither"),
        ("integer[]", "{1}", "of type integer[], which is neither"),
        ("jsonb", "{}", "of type jsonb, which is neither"),
        ("int4range", "[1,2)", "of type int4range, which is neither"),
        ("date", "infinity", "of type date has a value outside of the years"),
        ("timestamptz", "-infinity", "has a value outside of the years"),
        ("timestamp", "0044-03-15 BC", "has a value outside of the years"),
        ("time", "24:00", "has the time 24:00"),
        ("interval", "1 month", "an interval of months or years"),
        ("numeric(5,1)", "NaN", "has a value that is not a number"),
    ],
)
def test_what_has_no_arrow_type_is_one_error_with_a_way_out(
    postgres: PostgresServer, kind: str, value: str, reason: str
) -> None:
    postgres.run("DROP TABLE IF EXISTS odd", f"CREATE TABLE odd (n integer, x {kind})")
    postgres.run(f"INSERT INTO odd VALUES (1, '{value}')")
    with pytest.raises(CutsError) as caught:
        read(postgres.location(table="odd"))
    diagnostic = caught.value.diagnostics[0]
    assert "`x`" in diagnostic.title
    assert reason in diagnostic.title
    assert '?query=SELECT "x"::text, ... FROM odd' in (diagnostic.help or "")
    assert read(postgres.location(query='SELECT n, "x"::text FROM odd')).num_rows == 1


def test_a_table_without_rows_or_columns_is_refused(postgres: PostgresServer) -> None:
    postgres.run("DROP TABLE IF EXISTS bare", "CREATE TABLE bare ()")
    with pytest.raises(CutsError, match="has no columns"):
        read(postgres.location(table="bare"))
    postgres.run("ALTER TABLE bare ADD COLUMN x integer")
    codec = build_codec(Schema("t", (Integer("x", 0, 3, 2),)), {})
    for location in (postgres.location(table="bare"), postgres.location(table="bare", count="server")):
        for use in (lambda rows: list(rows.blocks()), lambda rows: count_rows(rows, codec, [("x",)])):
            with pytest.raises(CutsError, match="the table `bare` has no rows"):
                use(open_source(location).rows())


# --- counts


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(allow_infinity=False) | st.none(), min_size=1, max_size=200))
def test_floats_fall_into_the_same_bins_bit_for_bit(postgres: PostgresServer, cells: list[float | None]) -> None:
    numbers = sorted({cell for cell in cells if cell is not None and abs(cell) < 1e299 and cell == cell})
    column = Real("x", -1e300, 1e300, tuple(numbers[:50]) or 3, missing=True)
    kept = [cell for cell in cells if cell is None or not abs(cell) > 1e300]
    compare(postgres, [*kept, 0.0], pa.float64(), column)


def compare(postgres: PostgresServer, cells: list[Any], kind: pa.DataType, column: Modelled) -> None:
    table = pa.table({"x": pa.array(cells, kind)})
    postgres.load("cells", table)
    codec = build_codec(Schema("t", (column,)), {})
    with patch("cuts.sources.postgres.rows.count", side_effect=AssertionError("the rows were streamed")):
        here, *there = (
            count_rows(open_source(data).rows(), codec, [("x",)]).table(("x",)).tolist()
            for data in (table, postgres.location(table="cells"), postgres.location(table="cells", count="server"))
        )
    assert there == [here, here]


def test_the_server_encodes_what_sql_gives_exactly(postgres: PostgresServer) -> None:
    compare(postgres, [1, 2, None, -3], pa.int16(), Integer("x", -3, 3, 4, missing=True))
    compare(postgres, [0.1, None, math.nan], pa.float32(), Real("x", 0.0, 1.0, (0.1,), missing=True))
    compare(postgres, [Decimal("2.675"), Decimal("1.005")], pa.decimal128(15, 3), Real("x", 0.0, 9.0, (1.005, 2.675)))
    compare(postgres, [1, 2], pa.int64(), Category("x", ("1", "2", "3")))
    compare(postgres, [True, None], pa.bool_(), Category("x", ("true",), missing=True))
    far = [dt.datetime(9999, 12, 30, 23, 59, 59, 999999), dt.datetime(9, 1, 1, 0, 0, 0, 1)]
    seconds = [(moment - dt.datetime(1970, 1, 1)) / dt.timedelta(seconds=1) for moment in far]
    column = Temporal("x", "timestamp", -6.2e10, 253_402_300_799.0, (seconds[0],))
    compare(postgres, far, pa.timestamp("us"), column)
    many = tuple(f"category {i}" for i in range(40_000))  # more than int2 can number
    compare(postgres, [many[39_999], many[0], many[33_333]], pa.string(), Category("x", many))


@pytest.mark.parametrize(
    ("cells", "kind", "column"),
    [
        (["1.5", "2"], pa.string(), Real("x", 0.0, 9.0)),
        ([1.0, 2.5], pa.float64(), Category("x", ("1", "2.5"))),
        ([Decimal("0.1"), Decimal("123456789012345678.9")], pa.decimal128(19, 1), Real("x", 0.0, 1e18, (0.1,))),
        (["1,5", "n.a."], pa.string(), Real("x", 0.0, 9.0, texts=("n.a.",), format="0,0", decimals=1)),
        ([dt.date(2020, 1, 1)], pa.date32(), Category("x", ("2020-01-01",))),
        ([dt.datetime(2020, 1, 1)], pa.timestamp("us"), Temporal("x", "date", 0.0, 2e4)),
    ],
)
def test_what_sql_cannot_encode_is_encoded_here(
    postgres: PostgresServer, cells: list[Any], kind: pa.DataType, column: Modelled
) -> None:
    table = pa.table({"x": pa.array(cells, kind)})
    postgres.load("cells", table)
    codec = build_codec(Schema("t", (column,)), {})
    here, there = (
        count_rows(open_source(data).rows(), codec, [("x",)]).table(("x",)).tolist()
        for data in (table, postgres.location(table="cells"))
    )
    assert here == there
    with pytest.raises(CutsError, match="the server cannot count these rows itself"):
        count_rows(open_source(postgres.location(table="cells", count="server")).rows(), codec, [("x",)])


def test_a_row_that_breaks_the_schema_is_the_error_of_a_frame(postgres: PostgresServer) -> None:
    table = pa.table({"n": [1, 7, None, 9], "x": ["a", "b", "z", None]})
    postgres.load("cells", table)
    codec = build_codec(Schema("t", (Integer("n", 0, 8, 2), Category("x", ("a", "b")))), {})
    errors = []
    for data in (table, postgres.location(table="cells"), postgres.location(table="cells", count="server")):
        with pytest.raises(CutsError) as caught:
            count_rows(open_source(data).rows(), codec, [("n", "x")])
        errors.append([(problem.code, problem.title, problem.help) for problem in caught.value.diagnostics])
    assert errors[0] == errors[1]
    assert sorted((code, title) for code, title, _ in errors[2]) == [
        ("outside-schema", "the column `n` has 1 value outside the schema"),
        ("outside-schema", "the column `x` has 1 value outside the schema"),
        ("unexpected-missing", "the column `n` has 1 missing value"),
        ("unexpected-missing", "the column `x` has 1 missing value"),
    ]


def test_a_database_of_another_encoding_is_encoded_here_and_not_private(postgres: PostgresServer) -> None:
    with postgres.connect("postgres") as connection:
        connection.execute("DROP DATABASE IF EXISTS old")
        connection.execute("CREATE DATABASE old ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with postgres.connect("old", client_encoding="utf8") as connection:
        connection.execute("CREATE TABLE cells (x text)")
        connection.execute("INSERT INTO cells VALUES ('é'), ('ü'), ('é')")
    location = postgres.location(table="cells").replace("/shop?", "/old?")
    codec = build_codec(Schema("t", (Category("x", ("é", "ü", "東京")),)), {})
    assert count_rows(open_source(location).rows(), codec, [("x",)]).table(("x",)).tolist() == [2, 1, 0]
    with pytest.raises(CutsError, match="encoded as UTF8 only"):
        count_private(open_source(location).private_rows(), codec, [("x",)], person=None, max_rows=1)


def test_rows_are_counted_in_place_by_the_protocols(postgres: PostgresServer) -> None:
    source = open_source(postgres.location(table="cells"))
    assert isinstance(source.rows(), RowsInPlace)
    assert isinstance(source.private_rows(), PrivateRowsInPlace)
    assert (source.schema, source.paths, source.rows().form) == (None, (), None)


# --- locations and passwords

SECRET = "hunter2"
HELD = [
    f"postgresql://ann:{SECRET}@localhost/shop?table=orders",
    f"postgres://ann:{SECRET}@localhost/shop?table=orders",
    f"postgresql://ann:p{SECRET}/x@localhost/shop?table=orders",
    f"postgresql://ann:{SECRET}?x@localhost/shop?table=orders",
    f"postgresql://ann@localhost/shop?table=orders&password={SECRET}",
    f"postgresql://ann@localhost/shop?password={SECRET}&table=orders",
    f"postgresql://ann@localhost/shop?query=SELECT 1&sslpassword={SECRET}",
    f"postgresql://ann%3A{SECRET}@localhost/shop?table=orders",
    f"postgresql://ann@localhost/shop?table=orders&p%61ssword={SECRET}",
    f"postgresql://ann@localhost/shop?table=orders;password={SECRET}",
    f"postgresql://ann@localhost/shop?table=orders&oauth_client_secret={SECRET}",
    f"postgresql:ann:{SECRET}@localhost/shop?table=orders",
    f"postgresql://ann@localhost:{SECRET}/shop?table=orders",
    f"host=localhost user=ann password={SECRET} dbname=shop",
    f"postgresql:password = '{SECRET}' host=localhost",
    f"duckdb:?query=SELECT * FROM postgres_scan('password={SECRET} host=localhost', 'public', 'orders')",
    f"duckdb:md:shop?motherduck_token={SECRET}",
    f"postgre://ann:{SECRET}@localhost/shop?table=orders",
]


@pytest.mark.parametrize("location", HELD)
def test_a_password_in_a_location_is_refused_and_not_repeated(location: str, tmp_path: Path) -> None:
    for use in (
        lambda: open_source(location),
        lambda: parse(f'SYNTHESIZE: "{location}"; END;'),
        lambda: parse(f"SYNTHESIZE: {location};; ENFORCE a > ; END"),
        lambda: parse(f"SYNTHESIZE: adult; # from {location}\nEND;"),
    ):
        with pytest.raises(CutsError, match="a location holds a password") as caught:
            use()
        assert SECRET not in repr(caught.getrepr(showlocals=False).reprcrash)


@pytest.mark.parametrize("location", [HELD[0], HELD[3], HELD[-5], HELD[-1]])
def test_no_command_prints_or_saves_a_password(location: str, tmp_path: Path) -> None:
    (tmp_path / "p.cuts").write_text(f'SYNTHESIZE: "{location}"; END;')
    (tmp_path / "q.cuts").write_text("SYNTHESIZE: orders; END;")
    for arguments in (
        ["run", "p.cuts", "-o", "x.csv"],
        ["check", "p.cuts"],
        ["fit", "q.cuts", "--data", location, "-o", "m.synth"],
        ["schema", "infer", location],
        ["run", "q.cuts", "--data", location, "-o", "x.csv", "--format", "json"],
    ):
        output, code = run(["cuts", *arguments], tmp_path)
        assert code == 2, output
        assert "error[password-in-location]" in output or '"password-in-location"' in output
        assert SECRET not in output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.cuts", "q.cuts"]


@pytest.mark.parametrize(
    "location",
    [
        "postgresql://localhost:5432/shop?table=orders",
        "postgresql://ann@localhost/shop?query=SELECT 'a:b@c', 'password=' FROM t",
        "postgresql://[::1]:5432/shop?table=a@b",
        "postgresql://a:5432,b:5433/shop?table=orders",
        "postgresql:///shop?table=orders&host=/var/run",
    ],
)
def test_ports_and_at_signs_are_no_passwords(location: str) -> None:
    parse_location(location)


def test_a_column_may_be_called_password() -> None:
    parse("SYNTHESIZE: accounts; ENFORCE: password == reset IMPLIES user == new; ENFORCE: port == 1; END;")


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("postgresql://localhost/shop", "either a table or a query"),
        ("postgresql://localhost/shop?table=a&query=SELECT 1", "either a table or a query"),
        ("postgresql://localhost/shop?table=", "either a table or a query"),
        ("postgresql:shop?table=a", "names a server"),
        ("postgresql://localhost/shop?table=a.b.c", "is not the name of a table"),
        ("postgresql://localhost/shop?table=a&table=b", "states `table` twice"),
        ("postgresql://localhost/shop?table=a&count=serverr", "no way of counting called `serverr`"),
    ],
)
def test_a_location_that_says_too_little_or_too_much_is_refused(location: str, reason: str) -> None:
    with pytest.raises(CutsError, match=reason):
        open_source(location)


def test_parameters_of_libpq_are_passed_on() -> None:
    location = parse_location("postgres://ann@db:5433/shop?sslmode=require&table=orders&order=a,b&connect_timeout=3")
    assert location.server == "postgres://ann@db:5433/shop?sslmode=require&connect_timeout=3"
    assert (location.table, location.order, location.counting) == (("orders",), ("a", "b"), "stream")
    assert (location.name, location.host) == ("orders", "db:5433")


def test_a_model_keeps_the_location_but_no_password(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    postgres.load("people", pa.table({"age": list(range(20, 60)) * 5, "sex": ["f", "m"] * 100}))
    postgres.run("GRANT SELECT ON people TO reader")
    location = postgres.location(table="people", user="reader")
    request = make_request(f'SYNTHESIZE: "{location}"; END;', location, seed=1, config={"components": 5, "steps": 20})
    path = tmp_path / "m.synth"
    save(fit(request).model, path)
    import zipfile

    with zipfile.ZipFile(path) as file:
        parts = b"".join(file.read(name) for name in file.namelist())
    assert location.encode() in parts.replace(b"\\/", b"/")
    assert postgres.password.encode() not in parts


def test_without_psycopg_the_extra_is_named() -> None:
    with patch("cuts.sources.postgres.import_module", side_effect=ImportError("no pq wrapper available")):
        for ask in ("rows", "private_rows"):
            with pytest.raises(CutsError, match="needs psycopg") as caught:
                getattr(open_source("postgresql://localhost/shop?table=orders"), ask)()
            assert caught.value.diagnostics[0].help == 'pip install "cuts[postgres]"'

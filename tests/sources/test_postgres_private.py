"""Private cells are encoded in PostgreSQL as they are in memory, whatever they contain, and no cell raises an error."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cuts.count.marginals import Marginals
from cuts.data.codec import Codec, build_codec
from cuts.data.schema import Category, Integer, Modelled, Real, Schema, Temporal
from cuts.privacy.core import count_rows, count_values
from cuts.privacy.secret import reveal
from cuts.sources.registry import open_source
from cuts.text.diagnostic import CutsError
from postgres_server import PostgresServer

NUMBER_TEXTS = [
    *("0", "-0", "1", "1.0", "1.", "1.50", "01", "007", "+1", "1e0", "1E+00", "1e-400", "0e999", "1e999", "-1e999"),
    *(".5", "5e-1", "0.5000000000000000000000000000000000000000000000000000000001", "9007199254740993", "1_000", "_1"),
    *(
        "1__0",
        "1_",
        "1e1_0",
        "nan",
        "NaN",
        "inf",
        "-Infinity",
        "+inf",
        "infinit",
        "0x10",
        "1 000",
        "1,5",
        "--1",
        "1e",
        "e1",
    ),
    *(
        "٣",
        "１２",
        "1٣",
        "²",
        "½",
        "1e0000000001",
        "." + "0" * 500 + "1",
        "1" + "0" * 400,
        "9" * 310,
        "1e308",
        "1.8e308",
    ),
    *("2e-324", "3e-324", "1" * 400 + "e-390", "4.9406564584124654e-324", "1.7976931348623158e308", "1e-9999", "-"),
]
TEXTS = [
    *NUMBER_TEXTS,
    *(
        "",
        " ",
        "\t\n",
        "\u00a0",
        "\u3000",
        "a",
        " a",
        "a ",
        "A",
        "\u2003a\u2003",
        "\x1ca",
        "\u200ba",
        "true",
        "True",
        "TRUE",
    ),
    *(
        " TRUE ",
        "tRUE",
        "False",
        "other",
        "OTHER",
        "__other__",
        "é",
        "e\u0301",
        "it's",
        'q"q',
        "\\",
        "\\n",
        "{}",
        "%s",
        "🦆",
    ),
]
CATEGORIES = [
    ("a", "b", "other"),
    ("a", " a", "", "true", "false"),
    ("1", "1.0", "0", "1e3", "0.5", "-1", "1.5", "__other__"),
    ("True", "true", "9007199254740992", "9007199254740993", "0.1", "12", "13"),
    ("2020-01-01", "2020-01-01 10:00:00.000000", "2020-01-01 10:00:00.000000Z", "10:30:00.000000", "1.50", "3"),
    ("1.500001", "1.5", "0.1000001", "0.1"),
    ("it's", 'q"q', "\\", "🦆", "é", "%s", "{}"),
]


def compare(postgres: PostgresServer, cells: Sequence[Any], kind: pa.DataType, column: Modelled) -> None:
    """Encode the cells in memory and in the server; a second column tells which cell is in which bin."""
    table = pa.table({"n": range(len(cells) + 1), "x": pa.array([*cells, None], kind)})
    postgres.load("cells", table)
    numbers = Integer("n", 0, len(cells), tuple(float(n) for n in range(1, len(cells) + 1)))
    codec = build_codec(Schema("t", (numbers, column)), {})
    here, there = (_counts(data, codec).table(("n", "x")) for data in (table, postgres.location(table="cells")))
    different = np.flatnonzero((here != there).any(axis=1)).tolist()
    assert [table.column("x")[index].as_py() for index in different] == []


def _counts(data: Any, codec: Codec, person: str | None = None, max_rows: int = 1) -> Marginals:
    cliques = [tuple(codec.sizes)]
    return reveal(count_rows(open_source(data).private_rows(), codec, cliques, person=person, max_rows=max_rows))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("categories", CATEGORIES, ids=lambda categories: categories[0])
def test_cells_of_every_type_fall_into_the_same_categories(
    postgres: PostgresServer, categories: tuple[str, ...], missing: bool
) -> None:
    column = Category("x", categories, missing=missing)
    compare(postgres, TEXTS, pa.string(), column)
    compare(postgres, [0, 1, 2, -1, 3, 12, 2**53, 2**53 + 1, 2**53 + 2, -(2**63)], pa.int64(), column)
    numbers = [0.0, -0.0, 1.0, 0.5, 0.1, 1.5, math.nan, math.inf, -math.inf, 2.0**53, 1e300, 5e-324]
    compare(postgres, numbers, pa.float64(), column)
    compare(postgres, [0.5, 0.1, 1.0, math.nan], pa.float32(), column)
    compare(postgres, [True, False, True], pa.bool_(), column)
    decimals = [Decimal("1.50"), Decimal("1.00"), Decimal("0.10"), Decimal("0.00"), Decimal("-1.00")]
    compare(postgres, decimals, pa.decimal128(9, 2), column)
    compare(postgres, [dt.date(2020, 1, 1), dt.date(1, 1, 1)], pa.date32(), column)
    compare(postgres, [dt.time(10, 30), dt.time(0, 0, 0, 1)], pa.time64("us"), column)
    moments = [dt.datetime(2020, 1, 1, 10), dt.datetime(2020, 1, 1, 10, 0, 0, 1)]
    compare(postgres, moments, pa.timestamp("us"), column)
    compare(postgres, moments, pa.timestamp("us", "UTC"), column)


@pytest.mark.parametrize("missing", [False, True])
def test_texts_that_spell_numbers_count_as_numbers(postgres: PostgresServer, missing: bool) -> None:
    columns = [
        Real("x", -2.0, 1e4, (0.0, 5e-324, 0.5, 1.0, 3.0, 12.0, 999.0), missing=missing),
        Integer("x", 0, 10, (1, 2, 5), missing=missing),
    ]
    for column in columns:
        compare(postgres, TEXTS, pa.string(), column)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.text(st.sampled_from("0123456789eE+-._ \u00a0xinfa٣"), max_size=9)
        | st.floats().map(repr)
        | st.decimals(allow_nan=False, allow_infinity=False).map(str)
        | st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=4),
        min_size=1,
        max_size=200,
    )
)
def test_texts_mean_the_same_numbers_and_categories(postgres: PostgresServer, texts: list[str]) -> None:
    compare(postgres, texts, pa.string(), Category("x", ("0", "1", "1.5", "-3", "a", "e", "2e2"), missing=True))
    edges = (-100.0, -1.0, 0.0, 5e-324, 0.5, 1.0, 9.0, 100.0)
    compare(postgres, texts, pa.string(), Real("x", -1e300, 1e300, edges, missing=True))


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats() | st.none(), min_size=1, max_size=60))
def test_floats_are_clipped_and_binned_alike(postgres: PostgresServer, cells: list[float | None]) -> None:
    edges = tuple(sorted({cell for cell in cells if cell is not None and -1e6 < cell < 1e6 and cell != 0}))
    column = Real("x", -1e6, 1e6, edges or 4, missing=len(cells) % 2 == 0)
    compare(postgres, cells, pa.float64(), column)


def test_numbers_outside_of_what_a_type_of_arrow_holds_do_not_fail(postgres: PostgresServer) -> None:
    postgres.run(
        "DROP TABLE IF EXISTS extreme",
        "CREATE TABLE extreme (n numeric, k numeric(5, 1), d date, t time, s timestamp, z timestamptz, i interval)",
        "INSERT INTO extreme VALUES ('1e400', 1, 'infinity', '24:00', 'infinity', 'infinity', '1 month')",
        "INSERT INTO extreme VALUES ('-1e400', 'NaN', '-infinity', '0:00', '-infinity', '-infinity', '9999999 years')",
        "INSERT INTO extreme VALUES ('1e-400', -1, '4713-01-01 BC', '0:00', '4713-01-01 BC', '294276-01-01', '1 day')",
        "INSERT INTO extreme VALUES ('NaN', 0, '5874897-01-01', '1:00', '294276-01-01', '4713-01-01 BC', '-1 day')",
        "INSERT INTO extreme VALUES ('Infinity', 0, '2000-01-01', '1:00', '2000-01-01', '2000-01-01', '9999999 hours')",
        "INSERT INTO extreme VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
        "INSERT INTO extreme VALUES (1e-320, 3, '2000-01-01', '1:00', '2000-01-01', '2000-01-01', '2000000000 days')",
    )
    expected: dict[Modelled, list[int]] = {
        Real("n", -1.0, 1.0, (0.0, 1e-320), missing=True): [1, 1, 3, 2],
        Real("k", -5.0, 5.0, (0.0,), missing=True): [1, 4, 2],
        Temporal("d", "date", 0.0, 20_000.0, (10_000.0,), missing=True): [2, 4, 1],
        Temporal("t", "time", 0.0, 86_399.0, (3_600.0,), missing=True): [2, 4, 1],
        Temporal("s", "timestamp", 0.0, 2e9, (5e8,), missing=True): [2, 4, 1],
        Temporal("z", "timestamp", 0.0, 2e9, (5e8,), missing=True): [2, 4, 1],
        Temporal("i", "duration", 0.0, 1e6, (9e4,), missing=True): [2, 2, 3],
    }
    for column, counts in expected.items():
        codec = build_codec(Schema("t", (column,)), {})
        assert _counts(postgres.location(table="extreme"), codec).table((column.name,)).tolist() == counts, column.name
    text = Category("d", ("2000-01-01", "other"))
    counts = _counts(postgres.location(table="extreme"), build_codec(Schema("t", (text,)), {}))
    assert counts.table(("d",)).tolist() == [2, 5]


PEOPLE = pa.table(
    {
        "who": ["a", "b", "a", None, "a", "b", "", "A", "a ", "\ufffd"],
        "day": [3, 1, 1, 1, 2, 1, 5, 6, 7, 8],
        "x": ["one", "two", "bad", "one", "two", "one", "one", "one", "two", "one"],
    }
)
X = build_codec(Schema("t", (Category("x", ("one", "two")),)), {})


def test_the_first_rows_of_a_person_are_those_of_the_stated_order(postgres: PostgresServer) -> None:
    postgres.load("people", PEOPLE)
    here = PEOPLE.sort_by([("day", "ascending"), ("x", "ascending")])  # equal days: by the row's text
    for max_rows in (1, 2, 3):
        there = _counts(postgres.location(table="people", order="day"), X, "who", max_rows)
        assert there.table(("x",)).tolist() == _counts(here, X, "who", max_rows).table(("x",)).tolist()


def test_without_an_order_the_text_of_the_row_decides_and_not_the_storage(postgres: PostgresServer) -> None:
    counts = []
    for rows in (PEOPLE, PEOPLE.take(pa.array(list(reversed(range(PEOPLE.num_rows)))))):
        postgres.load("people", rows)
        counts.append(_counts(postgres.location(table="people"), X, "who", 1).table(("x",)).tolist())
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    "kind", ["int4", "int8", "float8", "numeric", "numeric(8,2)", "uuid", "char(3)", "date", "mood"]
)
def test_persons_of_any_type_are_told_apart(postgres: PostgresServer, kind: str) -> None:
    cells = {"uuid": [f"{i:032d}" for i in (1, 2)], "date": ["2000-01-01", "2000-01-02"], "mood": ["ok", "sad"]}
    one, two = cells.get(kind, ["1", "2"])
    postgres.run(
        "DROP TABLE IF EXISTS people",
        "DROP TYPE IF EXISTS mood",
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        f"CREATE TABLE people (who {kind}, x text)",
        f"INSERT INTO people VALUES ('{one}', 'one'), ('{two}', 'two'), ('{one}', 'one'), (NULL, 'two')",
    )
    assert _counts(postgres.location(table="people"), X, "who", 1).table(("x",)).tolist() == [1, 1]


def test_values_are_counted_like_in_memory(postgres: PostgresServer) -> None:
    table = pa.table({"who": ["a", "a", "b", "c"] * 3, "x": ["u", " u", "", None, "ü", "\u3000v", "w"] + ["t"] * 5})
    postgres.load("people", table)
    for person in (None, "who"):
        both = [
            count_values(open_source(data).private_rows(), ["x", "who"], person=person, max_rows=20)
            for data in (table, postgres.location(table="people"))
        ]
        here, there = ({name: reveal(counts) for name, counts in values.items()} for values in both)
        assert here == there


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("text", Temporal("x", "date", 0.0, 1.0)),
        ("date", Real("x", 0.0, 1.0)),
        ("bool", Real("x", 0.0, 1.0)),
        ("timestamp", Temporal("x", "date", 0.0, 1.0)),
        ("interval", Category("x", ("a",))),
        ("numeric(20,2)", Category("x", ("a",))),
        ("jsonb", Category("x", ("a",))),
        ("text[]", Category("x", ("a",))),
    ],
)
def test_a_column_of_another_type_is_refused_by_its_type(postgres: PostgresServer, kind: str, column: Modelled) -> None:
    postgres.run("DROP TABLE IF EXISTS cells", f"CREATE TABLE cells (x {kind})")
    with pytest.raises(CutsError) as caught:
        _counts(postgres.location(table="cells"), build_codec(Schema("t", (column,)), {}))
    assert "`x` of type" in str(caught.value)
    assert "?query=SELECT" in (caught.value.diagnostics[0].help or "")


def test_private_rows_do_not_leave_the_server_and_errors_do_not_depend_on_them(postgres: PostgresServer) -> None:
    postgres.load("people", PEOPLE)
    rows = open_source(postgres.location(table="people")).private_rows()
    with pytest.raises(CutsError, match="do not leave the server"):
        rows.blocks(["x"])
    failing = postgres.location(query="SELECT x, 1 / (day - 3) AS y FROM people WHERE 1 / (day - 3) < 9")
    with pytest.raises(CutsError, match="withheld") as caught:
        _counts(failing, X)
    assert caught.value.exit_code == 5
    assert "zero" not in str(caught.value)
    assert caught.value.__context__ is None
    postgres.run(
        "CREATE OR REPLACE FUNCTION tell(who text) RETURNS text LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'found %', who USING ERRCODE = '42601'; END $$"
    )
    with pytest.raises(CutsError, match="withheld"):  # even if the failure looks like a misspelt query
        _counts(postgres.location(query="SELECT tell(who) AS x FROM people"), X)
    with pytest.raises(CutsError, match='the query cannot be run: column "xx" does not exist'):
        _counts(postgres.location(query="SELECT xx FROM people"), X)
    with pytest.raises(CutsError, match="has no column `whoo`") as caught:
        _counts(postgres.location(table="people"), X, "whoo")
    assert caught.value.diagnostics[0].help == "did you mean `who`?"


def test_only_sums_are_sent(postgres: PostgresServer) -> None:
    """The server's own log of statements: everything that returns rows groups them."""
    rng = np.random.default_rng(0)
    postgres.load("cells", pa.table({"x": pa.array(rng.normal(size=500)), "y": ["u", "v"] * 250}))
    postgres.run("ALTER ROLE owner SET log_statement = 'all'")
    try:
        marker = postgres.log_size()
        codec = build_codec(Schema("t", (Real("x", -9.0, 9.0, 4), Category("y", ("u", "v")))), {})
        _counts(postgres.location(table="cells"), codec)
        logged = postgres.log_since(marker)
    finally:
        postgres.run("ALTER ROLE owner RESET log_statement")
    reads = [statement for statement in logged.split("LOG:  ") if '"cells"' in statement]
    assert reads
    assert all("GROUP BY GROUPING SETS" in statement for statement in reads if 'SELECT * FROM "cells"' not in statement)
    assert "COPY" not in logged

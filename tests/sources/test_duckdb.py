"""DuckDB: what its types become, in which order and in how much memory rows arrive, and what can go wrong."""

from __future__ import annotations

import builtins
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from cuts import Synthesizer
from cuts.count.survey import survey
from cuts.data.columns import Integer
from cuts.data.exchange.streams import ROWS
from cuts.data.schema import Category, Schema
from cuts.flow.inputs import find_source, open_table, read_program
from cuts.flow.run import fit, make_request
from cuts.privacy.core import count_values
from cuts.privacy.secret import reveal
from cuts.sources.registry import open_source
from cuts.text.diagnostic import CutsError, Diagnostic

SECRET = "Jane Doe"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Two tables, one of them in a schema of its own, and a view."""
    path = tmp_path / "clinic.db"
    run_sql(
        path,
        f"CREATE TABLE stays AS SELECT range AS id, 'w' || range % 3 AS ward, "
        f"CASE WHEN range = 70 THEN '{SECRET}' ELSE range::VARCHAR END AS note FROM range(100)",
        'CREATE SCHEMA old; CREATE TABLE old."all stays" AS FROM stays',
        "CREATE VIEW wards AS SELECT ward, count(*) AS stays FROM stays GROUP BY ward ORDER BY ward",
    )
    return path


def run_sql(path: Path, *statements: str) -> None:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)


def problem(action: Callable[[], Any]) -> Diagnostic:
    with pytest.raises(CutsError) as caught:
        action()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.help
    assert SECRET not in repr(diagnostic)
    assert caught.value.__context__ is None or SECRET not in str(caught.value.__context__)
    return diagnostic


def of_query(sql: str) -> pa.Table:
    return open_table(f"duckdb:?query={sql} ").arrow


# --- what is read


def test_tables_views_and_queries_are_read(database: Path) -> None:
    assert open_table(f"duckdb:{database}?table=stays").rows == 100
    assert open_table(f"duckdb:{database}?table=STAYS").rows == 100
    assert open_table(f"duckdb:{database}?table=main.stays").rows == 100
    assert open_table(f"duckdb:{database}?table=old.all%20stays").rows == 100
    assert open_table(f"duckdb:{database}?table=old.all stays").rows == 100
    assert open_table(f"duckdb:{database}?table=wards").arrow.to_pylist()[0] == {"ward": "w0", "stays": 34}
    assert open_table(f"duckdb:{database}?query=FROM+stays+WHERE+id+%25+2+%3D+0").rows == 50
    assert open_table(f"duckdb:{database}?query=SELECT * FROM stays WHERE id % 2 = 0 AND note != '?&a=%20'").rows == 50


def test_a_query_without_a_database_reads_files(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,x\n2,y\n")
    location = f"duckdb:?query=SELECT a + 1 AS a FROM '{tmp_path}/x.csv'"
    assert open_table(location).arrow.to_pylist() == [{"a": 2}, {"a": 3}]
    assert open_source(location).paths == (tmp_path / "x.csv",)  # an output may not replace it
    assert open_source(location).name == "query"


def test_the_source_is_named_after_the_table(database: Path) -> None:
    source = open_source(f"duckdb:{database}?table=stays")
    assert (source.name, source.paths, source.schema) == ("stays", (database,), None)
    assert open_source(f"duckdb:{database}?query=FROM stays").name == "clinic"


def test_a_program_names_a_database_beside_itself(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = database.parent / "p.cuts"
    program.write_text('SYNTHESIZE: "duckdb:clinic.db?table=stays"; END;')
    assert find_source(read_program(program)).paths == (database,)
    monkeypatch.chdir(database.parent)
    assert find_source(read_program(program.read_text())).paths == (Path("clinic.db"),)


def test_rows_come_in_bounded_blocks_in_their_order_every_time(tmp_path: Path) -> None:
    path = tmp_path / "many.db"
    run_sql(path, "CREATE TABLE t AS SELECT range AS id, 'c' || hash(range) % 9 AS c FROM range(200_000)")
    rows = open_source(f"duckdb:{path}?query=SELECT id, c FROM t WHERE hash(c) % 2 = 0 OR id >= 0").rows()
    grouped = open_source(f"duckdb:{path}?query=SELECT c, id % 999 AS k, count(*) AS n FROM t GROUP BY c, k").rows()
    passes = []
    for _ in range(2):
        blocks = list(rows.blocks())
        assert max(block.rows for block in blocks) == ROWS
        assert pa.concat_arrays([block.column("id").chunk(0) for block in blocks]).to_pylist() == list(range(200_000))
        passes.append([block.arrow.to_pylist() for block in grouped.blocks()])
    assert passes[0] == passes[1]


def test_types_arrive_as_types_that_are_read() -> None:
    table = of_query(
        """SELECT 7::HUGEINT AS huge, sum(3) AS total, 1.5::DECIMAL(30, 3) AS price, 'b'::ENUM('b', 'a') AS grade,
        '7a1b6c1e-0000-4000-8000-000000000001'::UUID AS key, '2020-01-02 03:04:05.123456789'::TIMESTAMP_NS AS fine,
        '2020-01-02 03:04:05+02'::TIMESTAMPTZ AS sent, '10:30:01.5'::TIME AS opens, INTERVAL '1 day 2 s' AS stay,
        true AS paid, 1::UTINYINT AS small, NULL AS nothing, '0044-03-15 (BC)'::DATE IS NULL AS known"""
    )
    kinds = dict(zip(table.column_names, table.schema.types, strict=True))
    assert kinds["huge"] == kinds["total"] == pa.decimal128(38, 0)
    assert pa.types.is_dictionary(kinds["grade"])
    assert (kinds["key"], kinds["opens"], kinds["stay"]) == (pa.string(), pa.time64("us"), pa.duration("us"))
    assert (kinds["fine"], kinds["sent"]) == (pa.timestamp("ns"), pa.timestamp("us", "UTC"))
    row = table.drop_columns(["fine"]).to_pylist()[0]
    assert (row["huge"], row["total"], str(row["price"]), row["grade"]) == (7, 3, "1.500", "b")
    assert row["stay"].total_seconds() == 86_402
    assert row["sent"].isoformat() == "2020-01-02T01:04:05+00:00"


def test_sums_and_enums_become_numbers_and_categories() -> None:
    query = "SELECT range % 7 AS k, sum(range) AS total, (['a', 'b'])[range % 2 + 1]::ENUM('b', 'a', 'c') AS grade"
    rows = open_source(f"duckdb:?query={query} FROM range(90) GROUP BY ALL ORDER BY ALL").rows()
    schema = survey(rows, "t").schema
    assert isinstance(schema["total"], Integer)
    assert isinstance(schema["grade"], Category)


def test_a_relation_is_read_on_its_own_connection(database: Path) -> None:
    with duckdb.connect(str(database)) as connection:
        connection.execute("SET TimeZone = 'Europe/Zurich'")
        relation = connection.sql("SELECT id, ward, now() AS at FROM stays")
        rows = open_source(relation).rows()
        for _ in range(2):
            (block,) = rows.blocks()
            assert block.column("at").type == pa.timestamp("us", "UTC")
        next(rows.blocks())  # an abandoned pass leaves nothing open
        assert connection.sql("SELECT 1").fetchall() == [(1,)]


def test_a_synthesizer_fits_a_relation(database: Path) -> None:
    with duckdb.connect(str(database), read_only=True) as connection:
        relation = connection.sql("SELECT ward, id % 10 AS k FROM stays")
        fitted = Synthesizer(config={"steps": 20, "components": 4}).fit(relation)
    here = Synthesizer(config={"steps": 20, "components": 4}).fit(
        open_table(f"duckdb:{database}?query=SELECT ward, id % 10 AS k FROM stays").arrow
    )
    assert fitted.sample(50).equals(here.sample(50).cast(fitted.sample(50).schema))


# --- private rows


def test_private_rows_ask_for_their_columns_only(database: Path) -> None:
    query = "SELECT ward, note, note::INT AS broken, [1] AS nested, INTERVAL 1 MONTH AS span FROM stays ORDER BY id"
    rows = open_source(f"duckdb:{database}?query={query}").private_rows()
    counts = count_values(rows, ["ward"], person="note", max_rows=1)
    assert reveal(counts["ward"]) == {"w0": 34, "w1": 33, "w2": 33}
    (block,) = rows.blocks(["span"])
    assert block.column("span").null_count == 100  # a month has no fixed length, and no cell raises an error


def test_a_private_read_that_fails_shows_nothing(database: Path) -> None:
    rows = open_source(f"duckdb:{database}?query=SELECT note::INT AS note FROM stays").private_rows()
    found = problem(lambda: list(rows.blocks(["note"])))
    assert found.title == (
        f"the query on {database} cannot be read; the reason is withheld, because it could depend on the rows"
    )
    found = problem(lambda: list(open_source(f"duckdb:{database}?table=stays").private_rows().blocks(["nope"])))
    assert found.code == "missing-column"
    found = problem(lambda: list(open_source(f"duckdb:{database}?query=SELECT [1] AS x").private_rows().blocks(["x"])))
    assert found.code == "unsupported-column"


@pytest.mark.parametrize("rows", ["x\n01/02/2020\n", '{"x": 1}\n'], ids=["csv", "jsonl"])
def test_private_text_files_are_refused_because_duckdb_infers_their_types(
    database: Path, tmp_path: Path, rows: str
) -> None:
    path = tmp_path / ("rows.jsonl" if rows.startswith("{") else "rows.csv")
    path.write_text(rows)
    with duckdb.connect() as connection:
        for data in (
            f"duckdb:?query=SELECT * FROM '{path}'",
            f"duckdb:{database}?query=SELECT t.x FROM stays, '{path}' AS t",
            connection.sql(f"SELECT * FROM '{path}'"),
        ):
            found = problem(lambda data=data: list(open_source(data).private_rows().blocks(["x"])))
            assert (found.code, found.exit_code) == ("not-supported", 5)
        copy = connection.sql(f"SELECT * FROM '{path}'").arrow()
    assert sum(block.rows for block in open_source(copy).private_rows().blocks(["x"])) == 1


# --- what is wrong


@pytest.mark.parametrize(
    ("rest", "title"),
    [
        ("", "names no table and no query"),
        ("?", "names no table and no query"),
        ("?table=", "names no table and no query"),
        ("?tabel=stays", "names no table and no query"),
        ("?query= ", "names no table and no query"),
    ],
)
def test_a_location_that_names_nothing_is_explained(database: Path, rest: str, title: str) -> None:
    found = problem(lambda: open_source(f"duckdb:{database}{rest}"))
    assert title in found.title
    assert f"duckdb:{database}?table=NAME" in str(found.help)
    assert "no database file" in problem(lambda: open_source("duckdb:?table=stays")).title


def test_a_missing_table_is_compared_with_those_there(database: Path) -> None:
    found = problem(lambda: open_table(f"duckdb:{database}?table=stay"))
    assert (found.code, found.title, found.help) == (
        "unknown-table",
        f"{database} has no table `stay`",
        "did you mean `stays`?",
    )
    found = problem(lambda: open_table(f"duckdb:{database}?table=xyz"))
    assert found.help == "its tables are `stays`, `wards`, `old.all stays`"
    empty = database.parent / "empty.db"
    run_sql(empty)
    assert problem(lambda: open_table(f"duckdb:{empty}?table=t")).help == "it has no tables at all"


def test_what_is_not_a_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("a,b\n1,2\n")
    assert problem(lambda: open_table(f"duckdb:{tmp_path}/no.db?table=t")).title == f"{tmp_path}/no.db does not exist"
    found = problem(lambda: open_table(f"duckdb:{tmp_path}/x.db?table=t"))
    assert found.title == f"{tmp_path}/x.db cannot be opened: it is not a DuckDB database, or it is damaged"
    assert not list(tmp_path.glob("*.wal"))


def test_a_database_that_is_being_written_to_is_said(database: Path) -> None:
    with duckdb.connect(str(database)):
        found = problem(lambda: open_table(f"duckdb:{database}?table=stays"))
    assert found.title == f"{database} cannot be opened: it is open for writing in this process"
    hold = f"import duckdb, sys; c = duckdb.connect({str(database)!r}); print(1, flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        found = problem(lambda: open_table(f"duckdb:{database}?table=stays"))
        other.communicate()
    assert found.title == f"{database} cannot be opened: another process is writing to it"


@pytest.mark.parametrize(
    ("sql", "title"),
    [
        ("SELEC 1", 'cannot be run: syntax error at or near "SELEC"'),
        ("SELECT * FROM stay", "cannot be run: Table with name stay does not exist"),
        ("SELECT nope FROM stays", 'cannot be run: Referenced column "nope" not found in FROM clause'),
        ("SELECT 1; SELECT 2", "is not one statement"),
        ("DROP TABLE stays", "is not a SELECT: only reading is allowed"),
        ("COPY stays TO 'x.csv'", "is not a SELECT: only reading is allowed"),
        ("INSERT INTO stays SELECT * FROM stays", "is not a SELECT: only reading is allowed"),
        ("SELECT note::INT AS n FROM stays", "failed while its rows were read (conversion error)"),
        ("SELECT error(note) AS n FROM stays", "failed while its rows were read (invalid input error)"),
        ("SELECT * FROM 'no.parquet'", 'cannot be run: No files found that match the pattern "no.parquet"'),
        ("SELECT * FROM stays WHERE id = ?", "failed while its rows were read (invalid input error)"),
    ],
)
def test_sql_that_fails_is_one_error_without_cells(database: Path, sql: str, title: str) -> None:
    before = database.read_bytes()
    found = problem(lambda: open_table(f"duckdb:{database}?query={sql} "))
    assert (found.code, found.title) == ("bad-query", f"the query on {database} {title}")
    assert database.read_bytes() == before


@pytest.mark.parametrize(
    ("value", "kind", "cast"),
    [
        ("[1]", "INTEGER[]", 'EXCLUDE ("x y")'),
        ("{'a': 1}", "STRUCT(a INTEGER)", 'EXCLUDE ("x y")'),
        ("'101'::BIT", "BIT", 'CAST("x y" AS VARCHAR)'),
        ("'a'::BLOB", "BLOB", 'CAST("x y" AS VARCHAR)'),
        ("'10:00:00+02'::TIMETZ", "TIME WITH TIME ZONE", 'CAST("x y" AS TIME)'),
        ("1::UHUGEINT", "UHUGEINT", 'CAST("x y" AS DOUBLE)'),
    ],
)
def test_a_type_that_is_not_read_is_named_with_its_cast(value: str, kind: str, cast: str) -> None:
    found = problem(lambda: of_query(f'SELECT 1 AS a, {value} AS "x y"'))
    assert (found.code, found.title) == ("unsupported-column", f"the column `x y` of the query is of type {kind}")
    assert cast in str(found.help)
    assert "`?query=SELECT * " in str(found.help)


def test_values_without_a_number_are_refused_by_column() -> None:
    assert "intervals with months" in problem(lambda: of_query("SELECT INTERVAL 1 MONTH AS span")).title
    dates = open_source("duckdb:?query=SELECT 'infinity'::DATE AS day, 1 AS x FROM range(30)").rows()
    assert problem(lambda: survey(dates, "t")).title == "the column `day` contains dates outside the years 1 to 9999"
    assert "two columns named `a`" in problem(lambda: of_query("SELECT 1 AS a, 2 AS a")).title
    assert "has no rows" in problem(lambda: of_query("SELECT 1 AS a WHERE false")).title


def test_a_row_outside_the_declared_schema_stops_the_fit(database: Path) -> None:
    schema = Schema("stays", (Integer("id", 0, 98), Category("ward", ("w0", "w1", "w2"))))
    request = make_request("SYNTHESIZE: stays; END;", f"duckdb:{database}?table=stays", schema=schema)
    assert "`id` has 1 value outside the schema, the first in row 100" in problem(lambda: fit(request)).title


def test_a_table_that_changes_between_passes_is_said(database: Path) -> None:
    rows = open_source(f"duckdb:{database}?table=stays").rows()
    list(rows.blocks())
    run_sql(database, "DROP VIEW wards; DROP TABLE stays")
    assert problem(lambda: list(rows.blocks())).code == "unknown-table"
    database.unlink()
    assert problem(lambda: list(rows.blocks())).title == f"{database} does not exist"


def test_without_the_package_its_extra_is_named(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str, *rest: Any) -> Any:
        if name == "duckdb":
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    real = builtins.__import__
    monkeypatch.delitem(sys.modules, "duckdb")
    monkeypatch.setattr("cuts.sources.duckdb_query.import_module", absent)
    found = problem(lambda: open_table(f"duckdb:{database}?table=stays"))
    assert (found.code, found.help) == ("missing-extra", 'pip install "cuts[duckdb]"')

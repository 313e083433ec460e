"""Patterns and folders of part files: one table, in the order of the names, with types decided over all files."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arrow_strategies import arrow_tables
from cuts.count.survey import survey
from cuts.data.columns import Integer
from cuts.data.exchange.files import save
from cuts.data.schema import Category, Schema
from cuts.data.table import Table
from cuts.flow.inputs import find_source, open_table, read_program
from cuts.flow.run import fit, make_request
from cuts.privacy.core import count_values
from cuts.privacy.secret import reveal
from cuts.sources.files import PartsSource
from cuts.sources.registry import open_source
from cuts.text.diagnostic import CutsError


def write(folder: Path, **files: str | pa.Table) -> Path:
    """Files of a folder, by their names with `__` for the dot."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        if isinstance(content, str):
            path.write_text(content)
        else:
            save(Table(content), path)
    return folder


def problem(action: Any) -> str:
    with pytest.raises(CutsError) as caught:
        action()
    assert all(diagnostic.help for diagnostic in caught.value.diagnostics)
    return caught.value.diagnostics[0].title


def rows_at(data: object) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = open_table(data).arrow.to_pylist()
    return rows


# --- what is read


def test_a_pattern_is_one_table_in_the_order_of_names(tmp_path: Path) -> None:
    parts = write(tmp_path / "p", b__csv="x,t\n3,b\n", a__csv="x,t\n1,a\n2,\n", _note__csv="y\n9\n", c__txt="no table")
    assert rows_at(f"{parts}/*.csv") == [{"x": 1, "t": "a"}, {"x": 2, "t": None}, {"x": 3, "t": "b"}]
    assert [path.name for path in open_source(f"{parts}/*.csv").paths] == ["a.csv", "b.csv"]
    assert len(rows_at(parts / "[ab].csv")) == 3
    assert len(rows_at(tmp_path / "**" / "b.csv")) == 1


def test_a_folder_is_the_table_of_its_parts(tmp_path: Path) -> None:
    parts = write(tmp_path / "out.v1", a__parquet=pa.table({"x": [1]}), b__parquet=pa.table({"x": [2]}))
    (parts / "_SUCCESS").touch()
    (parts / "nested").mkdir()
    source = open_source(str(parts))
    assert source.name == "out"
    assert rows_at(parts) == [{"x": 1}, {"x": 2}]


@pytest.mark.parametrize(
    ("location", "name"),
    [
        ("data/sales-*.csv", "sales"),
        ("parts/*.parquet", "parts"),
        ("visits/**/[0-9]*.csv", "visits"),
        ("*.csv", "table"),
        ("../*.csv", "table"),
    ],
)
def test_the_table_is_called_after_what_the_files_share(location: str, name: str) -> None:
    assert open_source(location).name == name


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(tmp_path: Path) -> None:
    write(tmp_path, a__csv="x\n1\n")
    (tmp_path / "[a].csv").write_text("x\n7\n")
    assert rows_at(tmp_path / "[a].csv") == [{"x": 7}]


def test_cells_of_all_csv_files_decide_a_type(tmp_path: Path) -> None:
    files = {"a__csv": "n,d,e\n1,2020-01-31,\n", "b__csv": "n,d,e\n2.5,2021-02-28,7\n"}
    table = open_table(write(tmp_path / "p", **files)).arrow
    assert table.schema.types == [pa.float64(), pa.date32(), pa.int64()]
    mixed = open_table(write(tmp_path / "p", c__csv="n,d,e\nlow,soon,8\n")).arrow
    assert mixed.schema.types == [pa.string(), pa.string(), pa.int64()]
    assert mixed.column("n").to_pylist() == ["1", "2.5", "low"]


def test_csv_files_may_differ_in_encoding_order_and_compression(tmp_path: Path) -> None:
    parts = write(tmp_path / "p", a__csv="x;t\n1;é\n")
    (parts / "b.csv").write_bytes("t;x\nü;2\n".encode("cp1252"))
    (parts / "c.csv.gz").write_bytes(gzip.compress(b"x;t\n3;z\n"))
    write(parts, d__csv="x;t\n")
    assert rows_at(parts) == [{"x": 1, "t": "é"}, {"x": 2, "t": "ü"}, {"x": 3, "t": "z"}]


def test_types_of_parquet_files_are_widened(tmp_path: Path) -> None:
    coded = pa.array(["a", None]).dictionary_encode()
    parts = write(
        tmp_path / "p",
        a__parquet=pa.table({"n": pa.array([1, 2], pa.int16()), "t": ["a", "b"], "e": pa.nulls(2), "c": coded}),
        b__parquet=pa.table({"c": coded, "e": [True, False], "t": coded, "n": [0.5, None]}),
    )
    table = open_table(parts).arrow
    assert table.schema.types[:3] == [pa.float64(), pa.string(), pa.bool_()]
    assert table.column("n").to_pylist() == [1.0, 2.0, 0.5, None]
    assert table.column("t").to_pylist() == ["a", "b", "a", None]


def test_lines_of_json_may_lack_columns_in_a_file(tmp_path: Path) -> None:
    parts = write(tmp_path / "p", a__jsonl='{"x": 1}\n', b__jsonl='{"x": 2.5, "t": "b"}\n')
    assert rows_at(parts) == [{"x": 1.0, "t": None}, {"x": 2.5, "t": "b"}]


def test_output_has_the_form_of_the_first_file(tmp_path: Path) -> None:
    parts = write(tmp_path / "p", a__csv="x;t\n1,5;a\n", b__csv="x;t\n2,25;b\n")
    form = open_source(parts).rows().form
    assert form is not None
    assert (form.dialect.delimiter, form.formats["x"].style, form.formats["x"].max_decimals) == (";", ",", 2)


def test_a_program_names_parts_beside_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "parts", a__csv="x\n1\n", b__csv="x\n2\n")
    for number, named in enumerate(("parts/*.csv", "parts")):
        path = tmp_path / f"{number}.cuts"
        path.write_text(f'SYNTHESIZE: "{named}"; END;')
        assert len(find_source(read_program(path)).paths) == 2
    monkeypatch.chdir(tmp_path)
    assert len(find_source(read_program('SYNTHESIZE: "parts/*.csv"; END;')).paths) == 2
    assert "no data set or file" in problem(lambda: find_source(read_program('SYNTHESIZE: "no/*.csv"; END;')))


TYPES = [pa.bool_(), pa.int64(), pa.float64(), pa.string(), pa.date32(), pa.timestamp("us"), pa.duration("s")]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "feather"])
@settings(max_examples=25)
@given(arrow_tables(TYPES), st.lists(st.integers(0, 12), max_size=3))
def test_cutting_a_file_into_parts_changes_nothing(ending: str, table: pa.Table, cuts: list[int]) -> None:
    ends = sorted({0, table.num_rows, *(min(cut, table.num_rows) for cut in cuts)})
    with TemporaryDirectory() as name:
        folder = Path(name, "parts")
        folder.mkdir()
        save(Table(table), Path(name, f"one.{ending}"))
        for start, end in pairwise([*ends, table.num_rows]):  # the last part has no rows
            save(Table(table.slice(start, end - start)), folder / f"{start:02d}-{end:02d}.{ending}")
        one, parts = outcome(Path(name, f"one.{ending}")), outcome(folder)
    assert (one is None) == (parts is None)
    if one is not None and parts is not None:
        assert parts.schema == one.schema
        assert [repr(row) for row in parts.to_pylist()] == [repr(row) for row in one.to_pylist()]


def outcome(data: Path) -> pa.Table | None:
    """The rows at a location, or None if they cannot be read."""
    try:
        return open_table(data).arrow
    except CutsError:
        return None


# --- private rows


def test_first_rows_of_a_person_are_those_of_the_first_files(tmp_path: Path) -> None:
    parts = write(
        tmp_path / "p", a__csv="who,t\nann,1\nbob,2\n", b__csv="t;who\n3;ann\n4;ann\n", c__parquet=pa.table({"x": [1]})
    )
    texts = count_values(open_source(f"{parts}/*.csv").private_rows(), ["t"], person="who", max_rows=2)
    assert reveal(texts["t"]) == {"1": 1, "2": 1, "3": 1}


# --- what is wrong


def test_files_that_are_not_one_table_are_named(tmp_path: Path) -> None:
    typed = {"a__parquet": pa.table({"x": [1], "y": [1]}), "b__parquet": pa.table({"x": ["a"], "y": [1]})}
    parts = write(tmp_path / "types", **typed)
    assert problem(lambda: rows_at(parts)) == (
        f"{parts}/b.parquet: the column `x` is of type string, but of type int64 in the files before it"
    )
    parts = write(tmp_path / "columns", a__csv="x,y\n1,2\n", b__csv="x,z\n1,2\n")
    assert problem(lambda: rows_at(parts)) == f"{parts}/b.csv has no column `y`, which {parts}/a.csv has"
    parts = write(tmp_path / "more", a__parquet=pa.table({"x": [1]}), b__parquet=typed["a__parquet"])
    assert (
        problem(lambda: rows_at(parts)) == f"{parts}/b.parquet has a column `y`, which {parts}/a.parquet does not have"
    )
    parts = write(tmp_path / "kinds", a__csv="x\n1\n", b__parquet=pa.table({"x": [1]}))
    assert problem(lambda: rows_at(parts)) == f"{parts}/b.parquet is a parquet file, but {parts}/a.csv is a csv file"
    parts = write(tmp_path / "other", a__csv="x\n1\n", readme__md="text")
    assert problem(lambda: rows_at(parts)) == f"{parts}/readme.md is not a table: its file extension is unknown"
    big = {"a__parquet": pa.table({"x": [0.5]}), "b__parquet": pa.table({"x": [2**53 + 1]})}
    parts = write(tmp_path / "exact", **big)
    assert "values that do not fit" in problem(lambda: rows_at(parts))


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    assert problem(lambda: rows_at(f"{tmp_path}/*.parquet")) == f"{tmp_path}/*.parquet matches no files"
    assert problem(lambda: rows_at(tmp_path)) == f"{tmp_path} contains no table files"
    parts = write(tmp_path / "p", a__csv="x\n", b__csv="x\n")
    assert "no rows" in problem(lambda: rows_at(parts))
    nothing = pa.table({"x": pa.array([], pa.int64())})
    parts = write(tmp_path / "e", a__csv="", b__csv="")
    assert problem(lambda: rows_at(parts)) == f"{parts}/a.csv is empty"
    parts = write(tmp_path / "f", a__parquet=pa.table({"x": [1]}), b__parquet="")
    assert problem(lambda: rows_at(parts)) == f"{parts}/b.parquet is empty"
    parts = write(tmp_path / "q", a__parquet=nothing, b__parquet=nothing)
    assert "no rows" in problem(lambda: rows_at(parts))
    (tmp_path / "r").mkdir()
    write(tmp_path / "r" / "year=2020", a__parquet=nothing)
    with pytest.raises(CutsError) as caught:
        rows_at(tmp_path / "r")
    assert caught.value.diagnostics[0].help == f"give a pattern such as `{tmp_path}/r/**/*.parquet`"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_that_changes_between_passes_is_named(tmp_path: Path, ending: str) -> None:
    table = pa.table({"x": [1, 2], "t": ["a", "b"]})
    parts = write(tmp_path / "p", **{f"a__{ending}": table, f"b__{ending}": table})
    rows = PartsSource(parts).rows()
    assert survey(rows, "t").sample.rows == 4
    write(parts, **{f"b__{ending}": pa.table({"x": ["one"], "t": ["c"]})})
    change = problem(lambda: list(rows.blocks()))
    assert change.startswith(f"{parts}/b.{ending}")
    assert "`x`" in change
    (parts / f"b.{ending}").unlink()
    assert problem(lambda: list(rows.blocks())) == f"{parts}/b.{ending} does not exist"


def test_a_row_outside_the_declared_schema_stops_the_fit(tmp_path: Path) -> None:
    parts = write(
        tmp_path / "p",
        a__parquet=pa.table({"age": [30, 40] * 30, "sex": ["f", "m"] * 30}),
        b__parquet=pa.table({"age": [30, 400], "sex": ["f", "m"]}),
    )
    schema = Schema("p", (Integer("age", 0, 99), Category("sex", ("f", "m"))))
    request = make_request("SYNTHESIZE: p; END;", parts, schema=schema, config={"steps": 10, "components": 2})
    assert "`age` has 1 value outside the schema, the first in row 62: 400" in problem(lambda: fit(request))


@pytest.mark.parametrize("name", ["x" * 5_000, "a\0b.csv", "*" + "x" * 5_000, "duckdb:" + "x" * 5_000 + "?table=t"])
def test_an_impossible_name_does_not_exist(name: str, tmp_path: Path) -> None:
    program = tmp_path / "p.cuts"
    program.write_text(f'SYNTHESIZE: "{name.replace(chr(0), "")}"; END;')
    for use in (
        lambda: list(open_source(name).rows().blocks()),
        lambda: list(open_source(name).private_rows().blocks(["x"])),
        lambda: list(find_source(read_program(program)).rows().blocks()),
    ):
        with pytest.raises(CutsError):
            use()

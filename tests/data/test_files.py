"""Whatever file people bring is read with the types it means and written again so that it looks the same."""

from __future__ import annotations

import codecs
import gzip
import os
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arrow_strategies import arrow_tables, canonical
from cuts.data.exchange.csv_dialect import DETECT_ALL, CsvOptions, Dialect
from cuts.data.exchange.files import FileForm, blocks, load, save, scan
from cuts.data.exchange.recast import dictionaries_of, recast
from cuts.data.exchange.streams import whole_or_nothing
from cuts.data.exchange.text_format import format_of
from cuts.data.table import Table
from cuts.text.diagnostic import CutsError
from cuts.text.files import write_text

UNITS = ("s", "ms", "us", "ns")
PLAIN_KINDS = [
    *(pa.bool_(), pa.null(), pa.int64(), pa.float64(), pa.date32(), pa.string(), pa.time64("us"), pa.time64("ns")),
    *(pa.timestamp(unit, zone) for unit in UNITS for zone in (None, "UTC")),
    *(pa.duration(unit) for unit in UNITS),
]
TYPED_KINDS = [
    *(*PLAIN_KINDS, pa.int8(), pa.uint64(), pa.float32(), pa.large_string(), pa.decimal128(9, 2), pa.date64()),
    *(pa.time32("s"), pa.timestamp("us", "Europe/Berlin"), pa.string_view(), pa.float16(), pa.decimal256(40, 3)),
    *(pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int8(), pa.string(), ordered=True)),
]
EXTENSIONS_HELP = ("", ".gz", ".zst")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


def written(folder: Path, text: str | bytes, name: str = "t.csv") -> Path:
    """A file with that text."""
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return folder / name


def read(folder: Path, text: str | bytes, csv: CsvOptions = DETECT_ALL, *, name: str = "t.csv") -> dict[str, list[Any]]:
    """The columns of a file with that text."""
    return load(written(folder, text, name), csv=csv)[0].arrow.to_pydict()  # type: ignore[no-any-return]


def assert_same(got: Table, wanted: pa.Table) -> None:
    """Same names, types and values; a NaN is the same as itself, and no value the same as another of its looks."""
    assert got.arrow.schema.equals(wanted.schema)
    for name in wanted.column_names:
        assert repr(got.column(name).to_pylist()) == repr(wanted.column(name).to_pylist())


def telling(table: pa.Table) -> pa.Table:
    """The table with a last row in which no text can be taken for a number, a date or a truth value, and none is null.

    A text file cannot tell a column of the text 1 from one of the number 1, nor a missing column from its type.
    """
    extra = {field.name: pa.array([last_value(field.type)], field.type) for field in table.schema}
    return pa.concat_tables([table, pa.table(extra, schema=table.schema)])


def last_value(kind: pa.DataType) -> Any:
    """The value in the row that tells."""
    if pa.types.is_null(kind):
        return None
    if pa.types.is_boolean(kind):
        return True
    if pa.types.is_floating(kind):
        return 1.5
    if pa.types.is_decimal(kind):
        return Decimal("1.50")
    return 0 if pa.types.is_integer(kind) or pa.types.is_temporal(kind) else "x"


def in_parquet(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in a type Parquet has: it knows no seconds and only one type of dates."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.unit == "s":
        return column.cast(pa.timestamp("ms", kind.tz))
    changed = {pa.date64(): pa.date32(), pa.time32("s"): pa.time32("ms")}
    return column.cast(changed.get(kind, kind))


# --- laws


@settings(max_examples=60, deadline=None)
@given(
    table=arrow_tables(TYPED_KINDS),
    kind=st.sampled_from(["parquet", "pq", "feather", "arrow"]),
    end=st.sampled_from(EXTENSIONS_HELP),
)
def test_saved_and_loaded_a_table_is_itself(folder: Path, table: pa.Table, kind: str, end: str) -> None:
    path = folder / f"law.{kind}{end}"
    if kind in ("parquet", "pq"):
        table = pa.table([in_parquet(column) for column in table.columns], names=table.column_names)
    save(Table(table), path)
    got, form = load(path)
    assert_same(got, table)
    save(Table(canonical(table)), path, form)
    assert_same(load(path)[0], table)


@settings(max_examples=60, deadline=None)
@given(
    table=arrow_tables(PLAIN_KINDS).map(telling),
    kind=st.sampled_from(["csv", "tsv", "jsonl", "ndjson"]),
    end=st.sampled_from(EXTENSIONS_HELP),
)
def test_saved_as_text_and_loaded_a_table_is_itself(folder: Path, table: pa.Table, kind: str, end: str) -> None:
    path = folder / f"law.{kind}{end}"
    save(Table(table), path)
    got, _ = load(path)
    assert_same(got, nan_as_null(table) if "json" in kind else table)


@settings(max_examples=50, deadline=None)
@given(table=arrow_tables(TYPED_KINDS).map(telling), kind=st.sampled_from(["csv", "jsonl"]))
def test_text_holds_the_values_of_every_type(folder: Path, table: pa.Table, kind: str) -> None:
    path = folder / f"typed.{kind}"
    save(Table(table), path)
    got = recast(load(path)[0].arrow, table.schema, dictionaries_of(table))
    assert_same(Table(got), table if kind == "csv" else nan_as_null(table))


def nan_as_null(table: pa.Table) -> pa.Table:
    """JSON has no NaN."""
    columns = [
        pa.array([None if value != value else value for value in column.to_pylist()], column.type)
        if pa.types.is_floating(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, schema=table.schema)


DIALECTS = st.builds(
    Dialect,
    st.sampled_from(",;\t|"),
    st.sampled_from("\"'"),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
)


@settings(max_examples=60, deadline=None)
@given(table=arrow_tables(PLAIN_KINDS).map(telling), dialect=DIALECTS)
def test_a_csv_file_of_any_dialect_comes_back_byte_by_byte(folder: Path, table: pa.Table, dialect: Dialect) -> None:
    formats = {field.name: format_of(field.type) for field in table.schema}
    save(Table(table), folder / "any.csv", FileForm("csv", None, table.schema, dialect=dialect, formats=formats))
    got, form = load(folder / "any.csv", csv=CsvOptions(dialect.delimiter, dialect.quote))
    assert_same(got, table)
    assert form.dialect.encoding == dialect.encoding
    save(Table(canonical(got.arrow)), folder / "again.csv", replace(form, dialect=dialect))
    assert (folder / "again.csv").read_bytes() == (folder / "any.csv").read_bytes()


@settings(max_examples=60, deadline=None)
@given(table=arrow_tables(PLAIN_KINDS).map(telling), kind=st.sampled_from(["csv.gz", "jsonl", "parquet", "feather"]))
def test_blocks_have_the_rows_and_types_of_the_whole(folder: Path, table: pa.Table, kind: str) -> None:
    path = folder / f"blocks.{kind}"
    save(Table(table), path)
    whole, form = load(path)
    assert scan(path).schema == form.schema
    for parts in (blocks(path), blocks(path, form)):
        assert_same(Table(pa.concat_tables([part.arrow for part in parts])), whole.arrow)


# --- how a CSV file is read


def test_only_an_empty_cell_without_quotes_is_missing(folder: Path) -> None:
    text = 'a,b,c\n1,x,\n,"",NA\n3,NaN,null\n4,None,\n'
    assert read(folder, text) == {
        "a": [1, None, 3, 4],
        "b": ["x", "", "NaN", "None"],
        "c": [None, "NA", "null", None],
    }
    table, form = load(folder / "t.csv")
    save(table, folder / "u.csv", form)
    assert (folder / "u.csv").read_text() == text


LOOKS = [
    (["1", "-2", "", "9223372036854775807"], pa.int64()),
    (["007", "8"], pa.string()),
    (["+1", "2"], pa.string()),
    (["1", "-02.5"], pa.string()),
    (["9223372036854775808", "1"], pa.string()),
    (["123456789012.5", "-0.001"], pa.float64()),
    (["12.50", "", "3.00"], pa.float64()),
    (["1.0", "2.25"], pa.float64()),
    (["1", "2.5", "-0"], pa.float64()),
    (["1.5", "NaN", "-inf"], pa.float64()),
    (["NA", "1"], pa.string()),
    (["true", "", "false"], pa.bool_()),
    (["True", "False"], pa.bool_()),
    (["TRUE", "FALSE"], pa.bool_()),
    (["true", "True"], pa.string()),
    (["yes", "no"], pa.string()),
    (["2020-12-31", "0001-01-01"], pa.date32()),
    (["2020-12-31", "2020-02-30"], pa.string()),
    (["2020-12-31 10:00", "2020-12-31 23:59"], pa.timestamp("s")),
    (["2020-12-31T10:00:05", "9999-12-31T00:00:00"], pa.timestamp("s")),
    (["2020-12-31 10:00:05.123", "2020-12-31 10:00:05.000"], pa.timestamp("ms")),
    (["2020-12-31T10:00:05.5", "2020-12-31T10:00:06"], pa.timestamp("ms")),
    (["2020-12-31T10:00:05Z", "2021-12-31T10:00:05Z"], pa.timestamp("s", "UTC")),
    (["2020-12-31 10:00:05+02:00"], pa.timestamp("s", "+02:00")),
    (["2020-12-31", "2020-12-31 10:00"], pa.string()),
    (["31/12/2020", "01/02/2020"], pa.date32()),
    (["12/31/2020", "01/02/2020"], pa.date32()),
    (["12/31/2020 08:05", "01/02/2020 00:00"], pa.timestamp("s")),
    (["1/31/2020", "11/2/2020"], pa.date32()),
    (["1/31/2020 8:05", "11/2/2020 18:05"], pa.timestamp("s")),
    (["31.12.2020", "01.02.2020"], pa.date32()),
    (["31.12.2020 23:59:59", "01.02.2020 00:00:00"], pa.timestamp("s")),
    (["03/04/2020", "05/06/2020"], pa.string()),
    (["20201231", "20200229"], pa.int64()),
    (["10:30", "23:59"], pa.time64("us")),
    (["10:30:01.25", "23:59:00.50"], pa.time64("us")),
    (["24:00", "10:30"], pa.string()),
    (["1 days 02:00:00", "-1 days +23:00:00", "0 days 00:00:00.500000"], pa.duration("us")),
    (["", ""], pa.null()),
]


@pytest.mark.parametrize(("texts", "kind"), LOOKS, ids=[" ".join(texts) for texts, _ in LOOKS])
def test_a_column_has_one_type_and_is_written_as_it_was(folder: Path, texts: list[str], kind: pa.DataType) -> None:
    path = written(folder, "".join(f"{row}|{text}\n" for row, text in enumerate(["x", *texts], start=-1)))
    table, form = load(path)
    assert table.column("x").type == kind
    save(table, folder / "u.csv", form)
    assert (folder / "u.csv").read_bytes() == path.read_bytes()


def test_digits_are_a_date_where_the_header_says_so(folder: Path) -> None:
    table, form = load(written(folder, "Birth date,x\n20201231,1\n20200229,2\n"))
    assert table.column("Birth date").type == pa.date32()
    assert form.formats["Birth date"].style == "%Y%m%d"


def test_the_form_tells_decimals_and_formats(folder: Path) -> None:
    _, form = load(
        written(folder, "price;day;iso;ratio\n1,50;31.12.2020;2020-12-31;0,1\n12,00;01.01.2021;2021-01-01;2\n")
    )
    assert form.formats["price"].decimals == 2
    assert form.formats["day"].style == "%d.%m.%Y"
    assert form.schema.types == [pa.float64(), pa.date32(), pa.date32(), pa.float64()]


def test_new_values_get_the_look_of_the_old_ones(folder: Path) -> None:
    text = "price;day;paid;id\n1,50;31.12.2020;True;007\n12,00;01.01.2021;False;008\n"
    _, form = load(written(folder, text))
    days = pa.array(["2022-02-03", None]).cast(pa.date32())
    table = pa.table({"id": ["009", "010"], "price": [3.14159, 1e6], "day": days, "paid": ["false", "true"]})
    save(Table(table), folder / "new.csv", form)
    assert (folder / "new.csv").read_text() == "price;day;paid;id\n3,14;03.02.2022;False;009\n1000000,00;;True;010\n"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(folder: Path, delimiter: str) -> None:
    rows = [["name", "note"], ["a", '"x; y, z | \t"'], ["b, c", "d"]]
    cells = [[f'"{cell}"' if delimiter in cell and '"' not in cell else cell for cell in row] for row in rows]
    text = "".join(delimiter.join(row) + "\n" for row in cells)
    table, form = load(written(folder, text))
    assert form.dialect.delimiter == delimiter
    assert table.arrow.to_pydict() == {"name": ["a", "b, c"], "note": ["x; y, z | \t", "d"]}


def test_a_decimal_comma_is_no_delimiter(folder: Path) -> None:
    assert read(folder, "Jahr;Betrag (EUR, netto)\n2020;1,5\n2021;2,25\n") == {
        "Jahr": [2020, 2021],
        "Betrag (EUR, netto)": [1.5, 2.25],
    }


def test_a_file_may_have_one_column(folder: Path) -> None:
    assert read(folder, 'a\nx\n\n""\n"y\nz"\n') == {"a": ["x", None, "", "y\nz"]}
    assert read(folder, "\n\na\n1\n2") == {"a": [1, 2]}


def test_blank_lines_between_rows_are_no_rows(folder: Path) -> None:
    assert read(folder, "\na,b\n\n1,2\n\n3,4\n\n") == {"a": [1, 3], "b": [2, 4]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_the_encoding_is_found_and_kept(folder: Path, encoding: str) -> None:
    text = "Straße,Größe\nMüller,1\n"
    path = written(folder, text.encode(encoding))
    table, form = load(path)
    assert table.arrow.to_pydict() == {"Straße": ["Müller"], "Größe": [1]}
    assert form.dialect.encoding == encoding
    save(table, folder / "u.csv", form)
    assert (folder / "u.csv").read_bytes() == path.read_bytes()


def test_bytes_that_cp1252_does_not_have_are_latin_1(folder: Path) -> None:
    assert load(written(folder, b"a\n\x81\xe9\n"))[1].dialect.encoding == "latin-1"


def test_what_is_given_is_not_looked_for(folder: Path) -> None:
    text = "a:b\n'x:y':\xe9\n".encode("latin-1")
    assert read(folder, text, CsvOptions(":", "'", "latin-1")) == {"a": ["x:y"], "b": ["é"]}
    assert read(folder, codecs.BOM_UTF8 + b"a\n1\n", CsvOptions(encoding="UTF8")) == {"a": [1]}


def test_line_ends_are_kept(folder: Path) -> None:
    for newline in ("\n", "\r\n", "\r"):
        path = written(folder, newline.join(["a,b", '1,"x', 'y"', ""]))
        table, form = load(path)
        save(table, folder / "u.csv", form)
        assert (folder / "u.csv").read_bytes() == path.read_bytes()


def test_a_late_value_changes_the_type_of_the_whole_column(folder: Path) -> None:
    path = written(folder, "a,b\n" + "1,2020-01-01\n" * 200_000 + "007,never\n")
    assert next(blocks(path)).arrow.schema.types == [pa.string(), pa.string()]
    assert {part.rows <= 65_536 for part in blocks(path)} == {True}
    assert load(path)[0].arrow.schema.types == [pa.string(), pa.string()]


# --- other kinds


def test_json_lines_have_the_types_of_json(folder: Path) -> None:
    text = '{"a":1,"b":"1","c":"2020-12-31","d":true}\n\n{"a":2.5,"c":null,"e":"31.12.2020 10:00"}\n'
    table, form = load(written(folder, text, "t.jsonl"))
    kinds = [pa.float64(), pa.string(), pa.date32(), pa.bool_(), pa.timestamp("s")]
    assert table.arrow.schema.types == kinds
    assert form.formats["e"].style == "%d.%m.%Y %H:%M"
    save(table, folder / "u.jsonl", form)
    assert (folder / "u.jsonl").read_text() == (
        '{"a":1.0,"b":"1","c":"2020-12-31","d":true,"e":null}\n'
        '{"a":2.5,"b":null,"c":null,"d":null,"e":"31.12.2020 10:00"}\n'
    )


def test_pandas_finds_its_own_types_again_in_parquet(folder: Path) -> None:
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y"], ["y", "x"], ordered=True), "b": pd.array([1, None], "Int8")})
    frame.to_parquet(folder / "in.parquet")
    table, form = load(folder / "in.parquet")
    save(Table(pa.table({"b": pa.array([5.0, None]), "a": ["y", "x"]})), folder / "out.parquet", form)
    pd.testing.assert_frame_equal(
        pd.read_parquet(folder / "out.parquet"), frame.assign(a=frame["a"][::-1].array, b=pd.array([5, None], "Int8"))
    )
    assert table.names == ("a", "b")


def test_an_unnamed_index_in_a_file_is_no_data(folder: Path) -> None:
    pd.DataFrame({"a": [1, 2]}, index=[7, 9]).to_parquet(folder / "index.parquet")
    table, form = load(folder / "index.parquet")
    assert table.names == ("a",)
    save(table, folder / "out.parquet", form)
    assert pd.read_parquet(folder / "out.parquet").index.equals(pd.RangeIndex(2))


def test_an_arrow_stream_is_read_like_a_file(folder: Path) -> None:
    arrow = pa.table({"a": [1, 2]})
    with pa.OSFile(str(folder / "s.arrow"), "wb") as sink, pa.ipc.new_stream(sink, arrow.schema) as writer:
        writer.write_table(arrow)
    assert load(folder / "s.arrow")[0].arrow == arrow


def test_one_kind_is_written_as_another_with_its_types(folder: Path) -> None:
    _, form = load(written(folder, "day,paid\n31.12.2020,true\n"))
    save(Table(pa.table({"day": pa.array([0], pa.date32()), "paid": ["false"]})), folder / "o.parquet", form)
    assert load(folder / "o.parquet")[0].arrow.schema.types == [pa.date32(), pa.bool_()]
    save(Table(pa.table({"zip": ["01", "02"]})), folder / "o.tsv")
    assert (folder / "o.tsv").read_text() == "zip\n01\n02\n"


# --- what cannot be read

SECRET = "secret"
BAD: list[tuple[str, bytes, str]] = [
    ("t.csv", b"a,b\n1,2\n\n3,secret,5\n", "t.csv, line 4: the row has 3 cells instead of 2"),
    ("t.csv", b'a,b\n1,"x\ny"\nsecret\n', "t.csv, line 4: the row has 1 cell instead of 2"),
    ("t.csv", b'a,b\n1,2\n3,"secret\n4,5\n', "t.csv, line 3: a quote is opened and never closed"),
    ("t.csv", b"a,b,a\n1,2,3\n", "two columns named `a`"),
    ("t.csv", b"a,,c\n1,2,3\n", "column 2 has no name"),
    ("t.csv", b"a,b\n", "a header but no rows"),
    ("t.csv", b"a,b", "a header but no rows"),
    ("t.csv", b"a\n", "a header but no rows"),
    ("t.csv", b"", "is empty"),
    ("t.csv", b"\n\n", "has no header"),
    ("t.csv", "a,b\nä,1\n".encode() + b"\xe9secret,2\n", "t.csv, line 3: some bytes are not valid utf-8"),
    ("t.csv", codecs.BOM_UTF16_LE + b"a\x00\n\x00\x00", "line 2: some bytes are not valid utf-16"),
    ("t.csv", b"PK\x03\x04\x00\x00secret", "is not a text file"),
    ("t.csv", b"a,b\n1," + b"x" * 3_000_000 + b"\n", "longer than a megabyte"),
    ("t.csv.gz", gzip.compress(b"a,b\n" + os.urandom(9999).hex().encode())[:-900], "not a gzip file, or it is damaged"),
    ("t.csv.gz", b"a,b\n1,2\n", "not a gzip file, or it is damaged"),
    ("t.csv.gz", gzip.compress(b""), "has no header"),
    ("t.csv.zst", b"a,b\n1,2\n", "not a Zstandard file, or it is damaged"),
    ("t.parquet", b"PAR1 secret", "not a Parquet file, or it is damaged"),
    ("t.parquet.gz", b"PAR1 secret", "not a gzip file, or it is damaged"),
    ("t.feather", b"ARROW1 secret", "not a Feather file, or it is damaged"),
    ("t.arrow", b"secret", "not a Feather file, or it is damaged"),
    ("t.xlsx", b"PK", "has an unknown file extension"),
    ("t", b"a\n1\n", "has an unknown file extension"),
    ("t.jsonl", b'{"a":1}\n\n{"a":"secret"}\n', "t.jsonl, line 3: `a` has a different type than in earlier lines"),
    ("t.jsonl", b'{"a":1}\n{"a":{"secret":1}}\n', "line 2: `a` has a different type than in earlier lines"),
    ("t.jsonl", b'{"a":1}\n{"a":secret}\n', "line 2: this is not a JSON object"),
    ("t.jsonl", b'{"a":1}\n["secret"]\n', "line 2: this is not a JSON object"),
    ("t.jsonl", b'{"a":1,"a":2}\n', "line 1: the key `a` occurs twice"),
    ("t.jsonl", b'{"a":[1]}\n', "`a` is of type list"),
    ("t.jsonl", b'{"":1}\n', "column 1 has no name"),
    ("t.jsonl", b"{}\n", "no columns"),
    ("t.jsonl", b"\n", "no rows"),
    ("t.jsonl", b'{"a":1}\n{"a":"\xe9"}\n', "line 2: some bytes are not valid UTF-8"),
]


def the_problem(work: Callable[[], object]) -> str:
    """The title of the one error of a call."""
    with pytest.raises(CutsError) as caught:
        work()
    (problem,) = caught.value.diagnostics
    assert problem.code == "unreadable-table"
    assert problem.help
    assert SECRET not in problem.title + problem.help
    return problem.title


@pytest.mark.parametrize(("name", "content", "title"), BAD, ids=range(len(BAD)))
def test_a_file_that_cannot_be_read_is_one_clear_error(tmp_path: Path, name: str, content: bytes, title: str) -> None:
    path = written(tmp_path, content, name)
    found = the_problem(lambda: load(path))
    assert str(path) in found
    assert title in found
    assert the_problem(lambda: list(blocks(path))) == found


def test_a_missing_file_or_a_directory_is_one_clear_error(tmp_path: Path) -> None:
    assert "does not exist" in the_problem(lambda: load(tmp_path / "t.csv"))
    assert "is a directory" in the_problem(lambda: load(tmp_path))
    (tmp_path / "parts.parquet").mkdir()
    assert "is a directory" in the_problem(lambda: scan(str(tmp_path / "parts.parquet")))


def test_a_table_file_without_rows_is_one_clear_error(tmp_path: Path) -> None:
    for name in ("t.parquet", "t.feather"):
        save(Table(pa.table({"a": pa.array([], pa.int64())})), tmp_path / name)
        assert "no rows" in the_problem(lambda path=tmp_path / name: load(path))


def test_knobs_that_cannot_be_are_one_clear_error(folder: Path) -> None:
    path = written(folder, "a,b\n1,2\n")
    assert "the delimiter" in the_problem(lambda: load(path, csv=CsvOptions(delimiter="::")))
    assert "the quote" in the_problem(lambda: load(path, csv=CsvOptions(quote="«")))
    assert "both the delimiter and the quote" in the_problem(lambda: load(path, csv=CsvOptions(delimiter='"')))
    assert "no encoding `utf-9`" in the_problem(lambda: load(path, csv=CsvOptions(encoding="utf-9")))
    assert "not valid ascii" in the_problem(lambda: load(written(folder, "ä\n"), csv=CsvOptions(encoding="ascii")))


MISFITS = [
    ("a,b\n1,x\n", 'a,b\n1,"x\ny"\n2,z\n007,z\n', "line 5: the column `a` should hold whole numbers, as it did when"),
    (
        "a,b\n31/12/2020,x\n",
        "a,b\n30/02/2020,y\n",
        "line 2: the column `a` should hold dates or times written as %d/%m/%Y",
    ),
    ("a\ntrue\n", "a\nfalse\n\nsecret\n", "line 4: the column `a` should hold true and false, as it did when"),
    ("a,b\n,x\n", "a,b\nsecret,x\n", "line 2: the column `a` should hold no values, as it did when"),
    ("a,b\n1,x\n", "b,a\n1,x\n", "does not have the same columns as the file read first"),
]


@pytest.mark.parametrize(("first", "then", "title"), MISFITS)
def test_a_row_that_does_not_fit_the_form_is_named(folder: Path, first: str, then: str, title: str) -> None:
    form = scan(written(folder, first))
    path = written(folder, then)
    assert title in the_problem(lambda: list(blocks(path, form)))


def test_a_line_of_json_that_does_not_fit_the_form_is_named(folder: Path) -> None:
    form = scan(written(folder, '{"a":1,"b":"2020-12-31"}\n', "t.jsonl"))
    path = written(folder, '{"a":1}\n\n{"b":"secret"}\n', "t.jsonl")
    assert "line 3: the column `b` should hold dates or times" in the_problem(lambda: list(blocks(path, form)))
    path = written(folder, '{"a":"secret"}\n', "t.jsonl")
    assert "a different type" in the_problem(lambda: list(blocks(path, form)))
    assert "is not a jsonl file" in the_problem(lambda: blocks(written(folder, "a\n1\n"), form))


def test_types_that_change_far_apart_are_named(folder: Path) -> None:
    lines = b'{"a":1}\n' * 524_288  # a whole number of the chunks Arrow gets
    assert "line 524289: `a` holds numbers in earlier lines and text here" in the_problem(
        lambda: load(written(folder, lines + b'{"a":"secret"}\n' * 99_999, "t.jsonl"))
    )


# --- what cannot be written


def test_the_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = written(tmp_path, "a\nold\n")
    with pytest.raises(KeyboardInterrupt):
        interrupted(path)
    with pytest.raises(CutsError, match="characters that cp1252 lacks"):
        save(
            Table(pa.table({"a": ["x"] * 70_000 + ["€→"]})),
            path,
            replace(scan(path), dialect=Dialect(encoding="cp1252")),
        )
    assert path.read_text() == "a\nold\n"
    assert list(tmp_path.iterdir()) == [path]


def interrupted(path: Path) -> None:
    with whole_or_nothing(path) as stream:
        stream.write(b"half")
        raise KeyboardInterrupt


def test_a_text_is_written_whole_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    write_text(path, "a = 1\n")
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask()
    path.chmod(0o640)
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "b = 2\n\ud800")
    assert path.read_text() == "a = 1\n"
    write_text(path, "b = 2\n")
    assert path.read_text() == "b = 2\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(CutsError, match=r"nowhere.*cannot be written"):
        write_text(tmp_path / "nowhere" / "t.toml", "a")


def test_a_file_keeps_its_rights(tmp_path: Path) -> None:
    table, path = Table(pa.table({"a": [1]})), tmp_path / "t.csv"
    save(table, path)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask()
    path.chmod(0o640)
    save(table, path)
    assert path.stat().st_mode & 0o777 == 0o640


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


UNWRITABLE = [
    ("t.xlsx", pa.table({"a": [1]}), "has an unknown file extension"),
    ("nowhere/t.csv", pa.table({"a": [1]}), "No such file or directory"),
    ("t.csv", pa.table({"a": [b"x"]}), "the column `a` is of type binary"),
    ("t.csv", pa.table({"a": ["\x00"]}), "the column `a` contains a NUL character"),
    ("t.jsonl", pa.table({"a": [[1]]}), "the column `a` is of type list"),
]


@pytest.mark.parametrize(("name", "arrow", "title"), UNWRITABLE)
def test_a_file_that_cannot_be_written_is_one_clear_error(
    tmp_path: Path, name: str, arrow: pa.Table, title: str
) -> None:
    with pytest.raises(CutsError) as caught:
        save(Table(arrow), tmp_path / name)
    (problem,) = caught.value.diagnostics
    assert problem.code == "unwritable-file"
    assert title in problem.title
    assert problem.help
    assert list(tmp_path.iterdir()) == []

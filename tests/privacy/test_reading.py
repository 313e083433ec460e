"""Private rows are read one by one: no line, object or cell changes or stops another."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import json
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from pyarrow import feather
from pyarrow import parquet as pq

from cuts.data.codec import Codec, build_codec, encode
from cuts.data.exchange.files import save
from cuts.data.schema import Category, Integer, Real, Schema, Temporal
from cuts.data.table import Table
from cuts.privacy.coding import encode_cells
from cuts.privacy.reading import PrivateFile, PrivateFrame, PrivateRows, cells_of
from cuts.privacy.reading.texts import MAX_LINE_BYTES
from cuts.text.diagnostic import CutsError
from strategies import schemas, tables

CODEC = build_codec(
    Schema(
        "t",
        (
            Integer("a", 0, 9, 10, missing=True),
            Category("b", ("x", "y", "1", "true", "Other")),
            Temporal("c", "date", 0.0, 30_000.0, 6),
        ),
    ),
    {},
)
NAMES = ["a", "b", "c"]
HEADER = b"a,b,c\n"
GOOD = st.sampled_from(
    [b"1,x,2020-01-01", b'"2",y,1999-12-31', b"3,nothing,2000-01-01", b",x,1970-01-01", b'5,"y",2020-01-01\r']
)
GARBAGE = st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")) | st.sampled_from(
    [
        *(
            b"",
            b"\r",
            b" ",
            b",",
            b",,",
            b",,,",
            b'"',
            b'""',
            b'"1,x,2020-01-01',
            b'1,x,"2020-01-01',
            b'1,"x"y,2020-01-01',
        ),
        *(
            b'"a""b",x,2020-01-01',
            b'1,x",2020-01-01',
            b"1,\xff\xfe,2020-01-01",
            b"nan,x,2020-01-01",
            b"inf,x,2020-01-01",
        ),
        *(
            b"9" * 400 + b",x,2020-01-01",
            "1,🙂,2020-01-01".encode(),
            b"1,x\rx,2020-01-01",
            b"\xef\xbb\xbf1,x,2020-01-01",
        ),
        *(b"a,b,c", b"1;x;2020-01-01", b"\x00,\x00,\x00", b'"""",x,2020-01-01', b"1,x,2020-02-30"),
    ]
)
LINES = st.lists(GOOD | GARBAGE, max_size=6)


def cells(rows: PrivateRows, names: Sequence[str] = NAMES) -> list[tuple[Any, ...]]:
    """The cells of all rows."""
    found: list[tuple[Any, ...]] = []
    for block in rows.blocks(names):
        assert 0 < block.rows <= 65_536
        assert block.names == tuple(names)
        found += zip(*(block.column(name).to_pylist() for name in names), strict=True)
    return found


def codes(rows: PrivateRows, codec: Codec = CODEC) -> list[tuple[int, ...]]:
    """The codes of the rows that are kept."""
    found: list[tuple[int, ...]] = []
    names = [bins.column.name for bins in codec.columns]
    for block in rows.blocks(names):
        coded, kept = encode_cells(block, codec)
        found += map(tuple, np.stack([coded[name][kept] for name in names], axis=1).tolist())
    return found


def read(text: bytes, name: str = "t.csv", names: Sequence[str] = NAMES, **options: Any) -> list[tuple[Any, ...]]:
    """The cells of a file of these bytes."""
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(text)
        return cells(PrivateFile(path, **options), names)


def coded(text: bytes, name: str = "t.csv") -> list[tuple[int, ...]]:
    """The codes of a file of these bytes."""
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(text)
        return codes(PrivateFile(path))


def errors(text: bytes, name: str = "t.csv", names: Sequence[str] = NAMES, **options: Any) -> str:
    """What is said of a file that cannot be read."""
    with pytest.raises(CutsError) as caught:
        read(text, name, names, **options)
    return " ".join(f"{found.code} {found.title} {found.help}" for found in caught.value.diagnostics)


# --- CSV: laws


@given(LINES)
def test_a_line_is_read_the_same_alone_and_among_others(lines: list[bytes]) -> None:
    alone = [read(HEADER + line) for line in lines]
    assert all(len(rows) <= 1 for rows in alone)
    assert read(HEADER + b"\n".join(lines)) == [row for rows in alone for row in rows]


@given(LINES, GOOD | GARBAGE, st.data())
def test_a_line_more_is_a_row_more_or_none(lines: list[bytes], line: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(lines)))
    without = Counter(coded(HEADER + b"".join(each + b"\n" for each in lines)))
    more = [*lines[:place], line, *lines[place:]]
    added = Counter(coded(HEADER + b"".join(each + b"\n" for each in more))) - without
    assert added.total() <= 1
    assert without - Counter(coded(HEADER + b"".join(each + b"\n" for each in more))) == Counter()


@given(st.text(st.sampled_from('ab,"" '), max_size=12))
def test_lines_are_cut_as_the_csv_module_cuts_them(line: str) -> None:
    reader = csv.reader([line, ""])
    row = next(reader)
    expected = [tuple(row)] if len(row) == 3 and reader.line_num == 1 else []
    found = read(HEADER + line.encode())
    assert [tuple(cell or "" for cell in row) for row in found] == expected


CELL = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=("Cs",)), max_size=6)


@given(
    rows=st.lists(st.tuples(CELL, CELL, CELL | st.sampled_from([",", '"', '""', "a;b", " x ", "'"])), max_size=8),
    delimiter=st.sampled_from(",;\t|"),
    quote=st.sampled_from("\"'"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    ending=st.sampled_from(["\n", "\r\n"]),
)
def test_a_well_formed_file_is_cut_as_the_csv_module_cuts_it(
    rows: list[tuple[str, str, str]], delimiter: str, quote: str, quoting: Any, ending: str
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quotechar=quote, quoting=quoting, lineterminator=ending)
    writer.writerows([NAMES, *rows])
    reader = csv.reader(io.StringIO(text.getvalue(), newline=""), delimiter=delimiter, quotechar=quote)
    expected = [tuple(row) for row in reader][1:]
    assert expected == rows
    cut = read(text.getvalue().encode(), delimiter=delimiter, quote=quote)
    assert [tuple(cell or "" for cell in row) for row in cut] == expected


@settings(max_examples=40)
@given(st.data())
def test_a_table_is_encoded_from_every_kind_of_file_as_without_privacy(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    table, codec = data.draw(tables(schema)), build_codec(schema, {})
    expected = list(zip(*(found.tolist() for found in encode(table, codec).values()), strict=True))
    with TemporaryDirectory() as folder:
        for name in ("t.csv", "t.tsv.gz", "t.jsonl", "t.parquet", "t.feather.zst"):
            save(table, Path(folder, name))
            assert codes(PrivateFile(Path(folder, name)), codec) == expected, name
    assert codes(cells_of(table), codec) == expected


# --- CSV: examples


def test_an_empty_cell_is_missing_and_a_quoted_one_is_the_empty_text() -> None:
    assert read(b'a,b,c\n,"",1\n') == [(None, "", "1")]


def test_lines_that_are_no_rows_are_left_out() -> None:
    text = b'a,b,c\n1,2\n1,2,3,4\n\n1,"2,3\n1,2,"3"\n1,2,"3\n'
    assert read(text) == [("1", "2", "3")]


def test_rows_stay_in_order_with_quotes_and_without() -> None:
    lines = [f'{i},"{i}",{i}' if i % 3 else f"{i},{i},{i}" for i in range(1000)]
    assert [row[0] for row in read(HEADER + "\n".join(lines).encode())] == [str(i) for i in range(1000)]


def test_only_the_columns_asked_for_are_given_in_that_order() -> None:
    assert read(b"n,c,b,a\n0,3,2,1\n", names=["a", "c"]) == [("1", "3")]
    assert read(b",c,,a\n0,3,2,1\n", names=["a", "c"]) == [("1", "3")]


def test_a_column_may_be_asked_for_twice() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        path.write_bytes(b"a,b\n1,2\n")
        (block,) = PrivateFile(path).blocks(["a", "b", "a"])
    assert block.names == ("a", "b")


@pytest.mark.parametrize("sign", [",", ";", "|", "\t"])
def test_the_delimiter_is_the_one_that_cuts_the_header(sign: str) -> None:
    text = f"a{sign}b{sign}c\n1{sign}2{sign}3\n1{sign}2,2|2;2\t{sign}3\n"
    assert read(text.encode())[0] == ("1", "2", "3")


def test_delimiter_and_quote_can_be_given() -> None:
    assert read(b"a^b^c\n1^'2^2'^3\n", delimiter="^", quote="'") == [("1", "2^2", "3")]
    for options in ({"delimiter": ",,"}, {"delimiter": '"'}, {"quote": "ä"}, {"delimiter": "\n"}):
        assert "two different ASCII characters" in errors(HEADER, **options)


def test_a_quoted_header_and_blank_lines_before_it_are_read() -> None:
    assert read(b'\n\r\n"a","b",c\r\n1,2,3') == [("1", "2", "3")]


def test_in_a_file_of_one_column_an_empty_line_is_a_missing_value() -> None:
    assert read(b"a\n1\n\n2\n", names=["a"]) == [("1",), (None,), ("2",)]


def test_bytes_that_are_no_text_spoil_their_cell_only() -> None:
    assert read(b"a,b,c\n\xff\xc3,\xc3\xa4,\xe2\x82\n1,2,3\n") == [("��", "ä", "�"), ("1", "2", "3")]


def test_encodings() -> None:
    assert read("\ufeffa,b,c\n1,ä,3\n".encode()) == [("1", "ä", "3")]
    assert read("\ufeffa,b,c\n1,ä,3\n".encode(), encoding="utf-8-sig") == [("1", "ä", "3")]
    assert read("a,b,c\n1,€,3\n1,".encode("cp1252") + b"\x81,3\n", encoding="cp1252") == [
        ("1", "€", "3"),
        ("1", "�", "3"),
    ]
    assert read("a,b,c\n1,漢,3\n".encode("shift_jis"), encoding="shift_jis") == [("1", "漢", "3")]
    assert "UTF-16" in errors("a,b,c\n1,2,3\n".encode("utf-16"))
    for encoding in ("utf-16", "utf-7", "idna", "base64", "no such"):
        assert "line by line" in errors(HEADER, encoding=encoding)


def test_a_table_without_rows_is_no_error() -> None:
    assert read(HEADER) == read(b"a,b,c") == read(b"a,b,c\n\n\n") == []


def test_compressed_files() -> None:
    assert read(gzip.compress(b"a,b,c\n1,2,3\n"), "t.csv.gz") == [("1", "2", "3")]
    assert "damaged" in errors(gzip.compress(b"a,b,c\n1,2,3\n" * 1000)[:-20], "t.csv.gz")


def test_lines_across_the_borders_of_chunks_are_whole() -> None:
    lines = [f"{i},{'x' * (i % 211)},{i}" for i in range(90_000)]
    assert read(HEADER + "\n".join(lines).encode()) == [
        (f"{i}", "x" * (i % 211) or None, f"{i}") for i in range(90_000)
    ]
    assert read(HEADER + "\r\n".join(lines).encode() + b"\r\n")[-1] == ("89999", "x" * (89_999 % 211), "89999")


def test_blocks_have_no_more_rows_than_they_may() -> None:
    assert len(read(b"a\n" + b"1\n" * 200_000, names=["a"])) == 200_000


@pytest.mark.parametrize("quote", [b"", b'"'])
def test_very_long_cells_are_read(quote: bytes) -> None:
    long = b"7" * 10_000_000
    found = read(b"a,b,c\n1,x,2\n" + long + b"," + quote + long + quote + b",3\n4,y,5\n")
    assert [len(row[1]) for row in found] == [1, 10_000_000, 1]


def test_a_long_line_of_quotes_does_not_take_long() -> None:
    assert read(b"a,b,c\n" + b'"' * 5_000_001 + b"\n1,2,3\n") == [("1", "2", "3")]


@pytest.mark.parametrize(
    ("length", "rows"), [(MAX_LINE_BYTES, 3), (MAX_LINE_BYTES + 1, 2), (MAX_LINE_BYTES + (9 << 20), 2)]
)
def test_lines_longer_than_any_row_are_left_out(length: int, rows: int) -> None:
    long = b"1,2," + b"3" * (length - 4)
    found = read(gzip.compress(b"a,b,c\n1,2,3\n" + long + b"\r\n1,2,3\n", 1), "t.csv.gz", ["a"])
    assert found == [("1",)] * rows


# --- headers


def test_only_the_names_asked_for_are_ever_quoted() -> None:
    said = errors(b"17,Jane Doe,Jane Doe\n18,John,1\n")
    assert "missing-column" in said
    assert "`a`" in said
    assert "Jane" not in said
    assert "Jane" not in errors(b"17,Jane Doe,1\r18,John,1\r")


def test_headers_that_are_wrong_are_errors() -> None:
    assert "no header" in errors(b"\n \n")
    assert "no header" in errors(b"")
    assert "two columns named `a`" in errors(b"a,b,c,a\n1,2,3,4\n")
    assert "no column `c`" in errors(b"a,b\n1,2\n")
    assert "no column `c`" in errors(b'a,b,"c\n1,2,3\n')
    with pytest.raises(CutsError, match="does not exist"):
        cells(PrivateFile(Path("/no/such.csv")))
    with pytest.raises(CutsError, match="unknown file extension"):
        read(b"a", "t.xlsx")


# --- JSON lines


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["x", "2020-01-01"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=3,
)
OBJECTS = st.dictionaries(st.sampled_from([*NAMES, "d"]), VALUES).map(lambda row: json.dumps(row).encode())
BROKEN = GARBAGE | st.sampled_from(
    [
        *(
            b"[" * 100_000,
            b'{"a":' * 100_000,
            b"{}",
            b"[]",
            b"1",
            b"null",
            b'{"a": 1',
            b'{"a": 1}}',
            b'{"a": 1} {"a": 2}',
        ),
        *(b'{"b": "\\ud800"}', b'{"a": ' + b"9" * 5000 + b"}", b'{"b": "\xff"}', b'{"b": "\xff', b"\xef\xbb\xbf{}"),
        *(b'{"a": NaN, "b": "x", "c": "2020-01-01"}', b'{"a": -Infinity}', b'{"a": 1, "a": 2}', b'{"a": -0}'),
    ]
)


@given(st.lists(OBJECTS | BROKEN, max_size=6))
def test_an_object_is_read_the_same_alone_and_among_others(lines: list[bytes]) -> None:
    alone = [read(b"{}\n" + line, "t.jsonl")[1:] for line in lines]
    assert all(len(rows) <= 1 for rows in alone)
    assert read(b"{}\n" + b"\n".join(lines), "t.jsonl")[1:] == [row for rows in alone for row in rows]
    assert len(coded(b"{}\n" + b"\n".join(lines), "t.jsonl")) <= sum(map(len, alone)) + 1


def test_values_of_objects_become_texts_one_by_one() -> None:
    values = ["x", 1, -0.0, 2.0, 2.5, 1e300, True, None, [1], {"b": 1}, float("nan"), float("inf"), 10**5000]
    texts = ["x", "1", "0", "2", "2.5", "1e+300", "true", None, None, None, None, "inf"]
    lines = [f'{{"b": {json.dumps(value)}}}' for value in values[:-1]]
    found = read("\n".join([*lines, '{"b": ' + "1" * 5000 + "}", "{}", '{"b": "\\ud800!"}']).encode(), "t.jsonl", ["b"])
    assert [text for (text,) in found] == [*texts, "1" * 5000, None, "�!"]


def test_a_file_of_objects_has_no_header_to_be_wrong() -> None:
    assert read(b"\xef\xbb\xbf{}\n\n", "t.jsonl") == [(None, None, None)]
    assert read(b"no object\n", "t.jsonl") == []


# --- Parquet and Feather


def arrow_file(table: pa.Table, name: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """The cells of a table that was stored."""
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        if name.endswith("parquet"):
            pq.write_table(table, path)
        else:
            feather.write_feather(table, path, compression="uncompressed")
        return cells(PrivateFile(path), names)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_typed_files_keep_their_types_and_lists_are_missing(name: str) -> None:
    table = pa.table({"a": [1, None], "b": [[1], [2]], "c": [dt.date(2020, 1, 1)] * 2})
    assert arrow_file(table, name, NAMES) == [(1, None, dt.date(2020, 1, 1)), (None, None, dt.date(2020, 1, 1))]
    assert arrow_file(table[:0], name, NAMES) == []
    with pytest.raises(CutsError, match="no column `z`"):
        arrow_file(table, name, ["a", "z"])


def test_a_file_of_many_rows_comes_in_blocks() -> None:
    assert len(arrow_file(pa.table({"a": range(150_000)}), "t.feather", ["a"])) == 150_000


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
@pytest.mark.parametrize(
    "values",
    [
        pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"y"]).buffers()),
        pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"y"]).buffers()).dictionary_encode(),
        pa.array([-5, 2**31 - 1], pa.int32()).view(pa.time32("ms")),
        pa.array([5, 2**62]).view(pa.date64()),
        pa.array([2**62, 2**63 - 1]).cast(pa.timestamp("us")),
    ],
    ids=["text", "dictionary", "time", "date", "timestamp"],
)
def test_no_value_in_a_typed_file_stops_the_reading(name: str, values: pa.Array) -> None:
    codec = build_codec(Schema("t", (Category("b", ("y", "other")), Integer("n", 0, 9))), {})
    table = pa.table({"b": values, "n": [1, 2]})
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        if name == "t.parquet":
            pq.write_table(table, path)
        else:
            feather.write_feather(table, path)
        assert len(codes(PrivateFile(path), codec)) == 2


def test_damaged_files_are_errors_that_quote_nothing() -> None:
    assert "not a Parquet file" in errors(b"a,b,c\nJane,2,3\n", "t.parquet")
    assert "not a Feather file" in errors(b"ARROW1Jane Doe", "t.feather")
    assert "Jane" not in errors(b"a,b,c\nJane,2,3\n", "t.parquet") + errors(b"ARROW1Jane Doe", "t.feather")


# --- frames


class Nasty:
    """An object that has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]


CELLS = [
    *(None, True, False, 1, -3, 2.0, 2.5, float("nan"), float("inf"), 10**400, 10**5000, "x", "y", "", " 1 ", "\ud800"),
    *(b"x", b"\xff", Decimal("1.0"), dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5), dt.timedelta(days=1, seconds=2)),
    *(dt.time(1, 2), pd.NA, pd.NaT, pd.Timestamp("2020-01-01"), pd.Timedelta(5, "s"), np.float32(2.5), np.int8(1)),
    *(
        np.bool_(True),
        np.datetime64("2020-01-01"),
        np.str_("x"),
        [1],
        (1,),
        {"a": 1},
        {1},
        np.arange(3),
        object,
        Nasty(),
    ),
]
FRAME_CODEC = build_codec(
    Schema(
        "t",
        (
            Integer("a", -5, 5, 10, missing=True),
            Category("b", ("x", "1", "2.5", "true", "2020-01-01"), missing=True),
            Temporal("c", "date", 0.0, 30_000.0, 30, missing=True),
            Temporal("d", "duration", 0.0, 100_000.0, 30, missing=True),
            Real("e", -5.0, 5.0, 10, missing=True),
        ),
    ),
    {},
)


def frame_codes(column: pd.Series) -> list[tuple[int, ...]]:
    """The codes of a frame all of whose columns are the same one."""
    return codes(cells_of(pd.DataFrame(dict.fromkeys("abcde", column))), FRAME_CODEC)


@given(st.lists(st.sampled_from(range(len(CELLS))), max_size=6))
def test_objects_in_a_pandas_column_are_read_one_by_one(chosen: list[int]) -> None:
    column = pd.Series([CELLS[place] for place in chosen], dtype=object)
    assert len(frame_codes(column)) == len(chosen)
    assert frame_codes(column) == [
        row for place in range(len(chosen)) for row in frame_codes(column[place : place + 1])
    ]


PLAIN = [None, True, False, 1, -3, 2.0, 2.5, float("nan"), "x", "y", "", "1", "2020-01-01", dt.timedelta(seconds=5)]


@given(st.lists(st.sampled_from(PLAIN), min_size=1, max_size=6))
def test_it_does_not_matter_what_type_other_rows_gave_a_pandas_column(values: list[Any]) -> None:
    alone = [row for value in values for row in frame_codes(pd.Series([value]))]
    assert frame_codes(pd.Series(values)) == alone
    assert frame_codes(pd.Series(values, dtype=object)) == alone


def test_typed_columns_of_frames_are_taken_as_they_are() -> None:
    table = pa.table({"a": pa.array([1, None], pa.int8()), "b": ["x", "y"]})
    expected = [(1, "x"), (None, "y")]
    for frame in (table, Table(table), table.to_batches()[0], table.to_reader(), pl.from_arrow(table)):
        assert cells(cells_of(frame), ["a", "b"]) == expected
    assert cells(cells_of(pl.from_arrow(table).lazy()), ["a", "b"]) == expected
    assert cells(cells_of(table.to_pandas(types_mapper=pd.ArrowDtype)), ["a", "b"]) == expected
    kinds = [column.type for column in cells_of(table.to_pandas()).table.arrow.columns]
    assert kinds[0] == pa.float64()


def test_pandas_categories_of_any_kind_are_read() -> None:
    column = pd.Series(pd.Categorical([1, "x", None, 2.5]))
    assert [row[1] for row in frame_codes(column)] == [1, 0, 5, 2]
    intervals = pd.Series(pd.cut([1, 2], 2))
    assert [row[1] for row in frame_codes(intervals)] == [5, 5]


def test_polars_columns_arrow_does_not_have_are_read_one_by_one() -> None:
    frame = pl.DataFrame({"a": pl.Series([1, "x", None, (1, 2)], dtype=pl.Object), "b": [[1], [2], [], None]})
    assert cells(cells_of(frame), ["a", "b"]) == [("1", None), ("x", None), (None, None), (None, None)]


def test_frames_say_which_column_is_absent_and_may_have_no_rows() -> None:
    frame = pd.DataFrame({"a": [1], 7: [2]})
    with pytest.raises(CutsError, match="the frame has no column `b`"):
        cells(cells_of(frame), ["a", "b"])
    twice = pd.DataFrame([[1, 2, 3]], columns=["a", "a", "b"])
    with pytest.raises(CutsError, match="two columns named `a`"):
        cells(cells_of(twice), ["a"])
    assert cells(cells_of(twice), ["b"]) == [(3,)]
    assert cells(cells_of(frame[:0]), ["a"]) == []
    with pytest.raises(TypeError, match="is not a frame"):
        cells_of(5)


def test_frames_come_in_blocks() -> None:
    rows = cells_of(pa.table({"a": range(150_000)}))
    assert isinstance(rows, PrivateFrame)
    assert len(cells(rows, ["a"])) == 150_000


def test_codes_of_a_file_are_those_of_its_frame() -> None:
    table = pa.table({"a": ["1", None, "x"], "b": ["x", "?", None], "c": ["2020-01-01", "no", "1999-01-01T00:00"]})
    expected = codes(cells_of(table))
    assert expected == coded(b"a,b,c\n1,x,2020-01-01\n,?,no\nx,,1999-01-01T00:00\n")
    assert len(expected) == 2
    assert_array_equal(np.array(expected)[:, 0], [1, 10])

"""Rows too many for memory: the same blocks again and again, an even sample, and the schema of the whole table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather
from pyarrow import parquet as pq

from arrow_strategies import arrow_tables
from cuts.count.digest import ColumnDigest
from cuts.count.kernel import count_rows
from cuts.count.rows import rows_in, rows_of
from cuts.count.survey import infer_streamed, spread_sample, survey
from cuts.data.codec import build_codec
from cuts.data.exchange.csv_dialect import CsvOptions
from cuts.data.exchange.files import FileForm, load, save, scan
from cuts.data.infer import infer_schema
from cuts.data.schema import Category, Identifier, Schema
from cuts.data.table import Table
from cuts.sources.registry import open_source
from cuts.text.diagnostic import CutsError

MANY = 40_000


class Cut:
    """Rows of a table in blocks of any size, as a source other than ours could give them."""

    form: FileForm | None = None

    def __init__(self, table: Table, size: int) -> None:
        self.table, self.size = table, size

    def blocks(self) -> Iterator[Table]:
        """The rows in blocks of so many."""
        starts = range(0, max(1, self.table.rows), self.size)
        return (Table(self.table.arrow.slice(start, self.size)) for start in starts)


def verdict(table: Table, **options: Any) -> Schema | list[str]:
    """The schema of a whole table, or what is wrong with it."""
    try:
        return infer_schema(table, "t", **options)
    except CutsError as error:
        return [f"{d.code}: {d.title}" for d in error.diagnostics]


def streamed(table: Table, size: int = 65_536, **options: Any) -> Schema | list[str]:
    """The same from blocks, never looking at all rows at once."""
    try:
        return infer_streamed(Cut(table, size), "t", max_rows=0, **options)
    except CutsError as error:
        return [f"{d.code}: {d.title}" for d in error.diagnostics]


# --- blocks


def test_a_file_can_be_read_again_and_is_scanned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("day;price\n31.12.2020;1,50\n1.1.2021;2,00\n")
    rows = rows_in(path)
    monkeypatch.setattr("cuts.data.exchange.csv_file.scan", None)
    for _ in range(2):
        (block,) = rows.blocks()
        assert block.column("price").to_pylist() == [1.5, 2.0]
    assert rows.form.dialect.delimiter == ";"


def test_a_table_in_memory_has_no_form_and_gives_slices() -> None:
    rows = rows_of(Table(pa.table({"x": np.arange(150_000)})))
    assert rows.form is None
    assert [block.rows for block in rows.blocks()] == [65_536, 65_536, 18_928]
    assert [block.rows for block in rows_of(Table(pa.table({"x": pa.array([], pa.int64())}))).blocks()] == [0]


def test_a_file_without_rows_is_refused_like_by_load(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    save(Table(pa.table({"x": pa.array([], pa.int64())})), path)
    for read in (load, lambda path: spread_sample(rows_in(path)), lambda path: infer_streamed(rows_in(path), "t")):
        with pytest.raises(CutsError, match="has no rows"):
            read(path)


def test_what_is_told_of_a_csv_is_used(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("a|b\nü|'x|y'\n".encode("cp1252"))
    (block,) = rows_in(path, csv=CsvOptions("|", "'", "cp1252")).blocks()
    assert block.arrow.to_pylist() == [{"a": "ü", "b": "x|y"}]


# --- texts as dictionaries


def test_texts_that_repeat_may_come_as_dictionaries_and_columns_may_be_left_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    texts = pa.array(["a", "b", "ü", None]).take(pa.array(rng.integers(0, 4, 150_000)))
    kept = pa.DictionaryArray.from_arrays(rng.integers(0, 2, 150_000), ["x", "y"])
    numbers = pa.array(np.arange(150_000))
    arrow = pa.table({"t": texts, "t.u": texts, "coded": kept, "id": numbers.cast(pa.string()), "n": numbers})
    path = tmp_path / "t.parquet"
    pq.write_table(arrow, path, row_group_size=70_000)
    rows = rows_in(path)
    plain, coded, some, all_of_them = (
        Table.join(blocks).arrow
        for blocks in (rows.blocks(), rows.coded_blocks(), rows.coded_blocks(["t", "n"]), rows.coded_blocks(["t", "o"]))
    )
    assert plain.equals(arrow)
    assert rows.form.schema.equals(arrow.schema)
    is_dictionary = [pa.types.is_dictionary(kind) for kind in coded.schema.types]
    assert is_dictionary == [True, True, True, False, False]
    assert coded.cast(arrow.schema).equals(arrow)
    assert some.cast(arrow.select(["t", "n"]).schema).equals(arrow.select(["t", "n"]))
    assert all_of_them.schema.names == arrow.schema.names, "so that the one that is not there can be compared with all"


def test_a_survey_of_dictionaries_is_that_of_the_texts(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    texts = {f"t{size}": pa.array([f"v{n:03}" for n in rng.integers(0, size, 90_000)]) for size in (2, 30, 900)}
    arrow = pa.table({**texts, "k": texts["t30"].dictionary_encode(), "n": rng.integers(-5, 9, 90_000)})
    path = tmp_path / "t.parquet"
    pq.write_table(arrow, path, row_group_size=40_000)
    for max_rows in (100, 50_000, 200_000):
        found, expected = (survey(rows, "t", max_rows=max_rows) for rows in (rows_in(path), rows_of(Table(arrow))))
        assert found.schema == expected.schema
        assert found.sample.arrow.equals(expected.sample.arrow)
        assert spread_sample(rows_in(path), max_rows=max_rows).arrow.equals(expected.sample.arrow)
        assert infer_streamed(rows_in(path), "t", max_rows=max_rows) == expected.schema


@settings(max_examples=100)
@given(st.lists(st.sampled_from(["a", "b", "", None]), min_size=1, max_size=5), st.data())
def test_a_dictionary_with_repeated_or_missing_entries_is_that_of_its_values(
    entries: list[str | None], data: st.DataObject
) -> None:
    places = data.draw(st.lists(st.none() | st.integers(0, len(entries) - 1), max_size=40))
    coded = pa.DictionaryArray.from_arrays(pa.array([*places, None], pa.int8()), pa.array(entries, pa.string()))
    digests = [ColumnDigest(pa.field("x", pa.string()), declared_id=False) for _ in range(2)]
    for digest, values in zip(digests, (coded, coded.dictionary_decode()), strict=True):
        digest.add(Table(pa.table({"x": values})))
        digest.add(Table(pa.table({"x": values.slice(1)})))
    assert digests[0].infer() == digests[1].infer()


# --- passes over a file


@pytest.fixture
def opens(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files opened from here on, one per open: every table file is opened by one of these two."""
    names: list[str] = []
    for function in ("input_stream", "OSFile"):
        real = getattr(pa, function)

        def counting(path: str, *args: Any, real: Any = real, **options: Any) -> Any:
            names.append(Path(path).name)
            return real(path, *args, **options)

        monkeypatch.setattr(pa, function, counting)
    return names


@pytest.mark.parametrize(
    ("name", "passes"), [("t.csv", 3), ("t.csv.gz", 3), ("t.jsonl", 3), ("t.parquet", 2), ("t.feather", 2)]
)
def test_a_fit_without_a_schema_opens_a_file_once_per_pass(
    tmp_path: Path, opens: list[str], name: str, passes: int
) -> None:
    rng = np.random.default_rng(1)
    table = Table(pa.table({"x": rng.integers(0, 99, 100_000), "t": ["a", "b", "it's 5\" long", None] * 25_000}))
    save(table, tmp_path / name)
    opens.clear()
    rows = rows_in(tmp_path / name)
    found = survey(rows, "t", max_rows=1_000)
    assert sum(block.rows for block in rows.blocks()) == table.rows
    assert opens == [name] * passes
    assert rows.form == scan(tmp_path / name)
    assert found.schema == infer_schema(table, "t")
    assert found.sample.arrow == spread_sample(rows_of(table), max_rows=1_000).arrow


@pytest.mark.parametrize(("encoding", "byte"), [("cp1252", b"\x80"), ("latin-1", b"\x80\x81"), ("utf-8", "€".encode())])
def test_an_encoding_that_shows_late_is_still_one_pass(
    tmp_path: Path, opens: list[str], encoding: str, byte: bytes
) -> None:
    path = tmp_path / "t.csv"
    ascii_rows = b"1,abcdefgh\n" * 150_000
    path.write_bytes(b"n\xe4me,t\n".replace(b"\xe4", b"a") + ascii_rows + b"2," + byte + b"\n")
    form = rows_in(path).form
    assert opens == ["t.csv"]
    assert form.dialect.encoding == encoding
    (*_, last) = rows_in(path).blocks()
    assert last.arrow.slice(last.rows - 1).to_pylist() == [{"name": 2, "t": byte.decode(encoding)}]


def test_a_header_is_in_the_encoding_found_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,\x80\n" + b"1,x\n" * 400_000 + b"2,\x81\n")
    assert rows_in(path).form.schema.names == ["a", "\x80"]
    assert sum(block.rows for block in rows_in(path).blocks()) == 400_001


@settings(max_examples=50)
@given(st.integers(1, 90), st.integers(1, 60), st.integers(1, 50))
def test_a_survey_is_the_schema_and_the_sample_of_two_passes(rows: int, size: int, max_rows: int) -> None:
    cut = Cut(Table(pa.table({"x": np.arange(rows) % 40, "t": [f"v{i % 7}" for i in range(rows)]})), size)
    found = survey(cut, "t", max_rows=max_rows)
    assert found.schema == infer_streamed(cut, "t", max_rows=max_rows)
    assert found.sample.arrow == spread_sample(cut, max_rows=max_rows).arrow


# --- samples


@settings(max_examples=50)
@given(st.integers(1, 400), st.integers(1, 60), st.integers(1, 50))
def test_a_sample_is_evenly_spread_whatever_the_blocks(rows: int, size: int, most: int) -> None:
    table = Table(pa.table({"x": np.arange(rows), "t": [f"v{i % 7}" for i in range(rows)]}))
    found = spread_sample(Cut(table, size), max_rows=most)
    step = 1
    while -(-rows // step) > most:
        step *= 2
    assert found.column("x").to_pylist() == list(range(0, rows, step))
    assert found.column("t").to_pylist() == [f"v{i % 7}" for i in range(0, rows, step)]


def test_a_sample_of_dictionary_columns_knows_their_values() -> None:
    parts = [pa.DictionaryArray.from_arrays([0, 1, 0], [f"a{i}", "b"]) for i in range(9)]
    table = Table(pa.table({"c": pa.chunked_array(parts)}))
    found = spread_sample(Cut(table, 3), max_rows=4)
    assert found.column("c").to_pylist() == ["a0", "a2", "b", "a8"]


# --- schemas


def everything(rows: int) -> pa.Table:
    """Columns of every kind; the last rows but one hold what a sample misses."""
    rng = np.random.default_rng(3)
    one = np.arange(rows) == rows - 2
    drawn = rng.bytes(16 * rows).hex()
    digits = [drawn[start : start + 32] for start in range(0, len(drawn), 32)]
    day = 86_400_000_000
    words = np.array(["red", "green", "blue", "black"])
    stay = rng.integers(0, 40, rows) * 3_600_000 + one
    whole = rng.integers(0, 50, rows)
    return pa.table(
        {
            "id": np.arange(7, 7 + rows),
            "number": rng.permutation(rows) + 1,
            "customer_id": rng.permutation(rows) * 1_000_003,
            "case": [f"C-{i:06d}" for i in range(rows)],
            "uuid": [f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}" for h in digits],
            "colour": np.where(one, "violet", words[rng.integers(0, 4, rows)]),
            "code": np.array([f"code{i:04d}" for i in range(4_000)])[np.minimum(rng.zipf(1.3, rows), 4_000) - 1],
            "flag": pa.array(rng.random(rows) < 0.3, mask=one),
            "grade": pa.DictionaryArray.from_arrays(rng.integers(0, 3, rows), ["low", "mid", "high"], ordered=True),
            "kind": pa.DictionaryArray.from_arrays(rng.integers(0, 3, rows), ["x", "z", "y"]),
            "nothing": pa.nulls(rows, pa.float64()),
            "hardly": pa.array(np.where(one, 5.0, np.nan)),
            "age": np.where(one, 140, rng.integers(0, 100, rows)),
            "children": pa.array(rng.poisson(1.2, rows), mask=one),
            "price": np.round(rng.lognormal(3, 1, rows), 1) + np.where(one, 0.001, 0.0),
            "height": rng.normal(1.7, 0.1, rows),
            "big": np.where(one, 0.5, np.where(rng.random(rows) < 0.5, 123456789012345678.0, whole)),
            "score": rng.random(rows).astype(np.float32),
            "money": pa.array(whole).cast(pa.decimal128(21, 2)),
            "born": pa.array(np.where(one, -9_000, rng.integers(0, 900, rows)).astype(np.int32)).cast(pa.date32()),
            "opens": pa.array(rng.integers(0, 1_440, rows) * 60_000_000).cast(pa.time64("us")),
            "seen": pa.array(rng.integers(0, 400, rows) * day + 1_000 * one).cast(pa.timestamp("us", "UTC")),
            "stay": pa.array(stay).cast(pa.duration("ms")),
        }
    )


def test_a_streamed_schema_is_that_of_the_whole_table() -> None:
    table = Table(everything(MANY))
    schema = infer_streamed(Cut(table, 7_000), "t", label="colour", ids=("code",), drop=("kind",), max_rows=10_000)
    assert schema == infer_schema(table, "t", label="colour", ids=("code",), drop=("kind",))
    assert isinstance(schema["uuid"], Identifier)
    assert isinstance(schema["number"], Identifier)
    colour, age = schema["colour"], schema.learned("age")
    assert isinstance(colour, Category)
    assert "violet" in colour.categories
    assert age.range.high == 140
    assert schema["flag"].missing
    assert schema["children"].missing


def test_few_rows_are_looked_at_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(everything(2_000))
    monkeypatch.setattr("cuts.count.survey.ColumnDigest", None)
    assert infer_streamed(Cut(table, 300), "t") == infer_schema(table, "t")


@pytest.mark.parametrize("size", [7, 64, 1_000])
def test_the_size_of_blocks_changes_no_schema(size: int) -> None:
    table = Table(everything(1_000))
    assert streamed(table, size) == verdict(table)


KINDS = [
    pa.null(), pa.bool_(), pa.int8(), pa.uint64(), pa.int64(), pa.float16(), pa.float32(), pa.float64(),
    pa.decimal128(9, 2), pa.decimal128(9, 0), pa.string(), pa.large_string(), pa.date32(),
    pa.date64(), pa.time32("s"), pa.time64("ns"), pa.timestamp("ns"), pa.timestamp("s", "UTC"), pa.duration("us"),
    pa.binary(), pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.string(), ordered=True),
    pa.dictionary(pa.int32(), pa.int64()),
]  # fmt: skip


@settings(max_examples=50)
@given(arrow_tables(KINDS), st.integers(1, 6))
def test_any_small_table_gives_the_same_schema_in_blocks(arrow: pa.Table, size: int) -> None:
    with np.errstate(all="ignore"):
        assert streamed(Table(arrow), size) == verdict(Table(arrow))


CELLS: list[st.SearchStrategy[Any]] = [
    st.integers(0, 60),
    st.integers(0, 3).map(lambda n: f"w{n}"),
    st.integers(0, 999).map(lambda n: f"K{n:03d}"),
    st.integers(0, 99).map(lambda n: f"a b c d {n}"),
    st.integers(0, 99).map(lambda n: f"a b c d {max(0, n - 70)}"),
    st.integers(0, 40).map(str),
    st.integers(0, 400).map(lambda n: n / 100),
    st.integers(0, 9).map(lambda n: dt.date(2020, 1, 1 + n)),
    st.uuids(version=4).map(str),
]


@settings(max_examples=50)
@given(st.data(), st.integers(15, 45), st.integers(1, 50), st.booleans(), st.booleans())
def test_what_counts_decide_is_decided_the_same(
    data: st.DataObject, rows: int, size: int, unique: bool, declared: bool
) -> None:
    cell = data.draw(st.sampled_from(CELLS))
    values = data.draw(st.lists(cell, min_size=1, max_size=rows, unique=unique))
    values += [None] * data.draw(st.integers(0, 3))
    table = Table(pa.table({"x": data.draw(st.permutations(values))}))
    ids = ("x",) if declared else ()
    assert streamed(table, size, ids=ids) == verdict(table, ids=ids)


def test_all_that_is_wrong_is_said_at_once_and_as_for_the_whole() -> None:
    texts = [f"it was {i} times a long story {'!' * (i % 9)}" for i in range(500)]
    months = pa.array([(1, 2, 3)] * 500, pa.month_day_nano_interval())
    far = [float("inf")] * 500
    table = Table(pa.table({"story": texts, "raw": [b"x"] * 500, "far": far, "months": months, "ok": range(500)}))
    found = streamed(table, 90, label="okay", drop=("gone",))
    assert isinstance(found, list)
    assert len(found) == 6
    assert found == verdict(table, label="okay", drop=("gone",))


def test_beyond_a_limit_a_share_of_the_values_decides() -> None:
    unique = [f"C-{i:05d}" for i in range(5_000)]
    twice = [f"{i % 2_500}" for i in range(5_000)]
    assert streamed(Table(pa.table({"x": unique})), 300, max_distinct=100) == verdict(Table(pa.table({"x": unique})))
    numbers = Table(pa.table({"x": np.arange(5_000)}))
    assert streamed(numbers, 300, max_distinct=100) == verdict(numbers)
    found = streamed(Table(pa.table({"x": twice})), 300, max_distinct=100)
    assert isinstance(found, list)
    assert "looks like free text" in found[0]


@pytest.mark.parametrize("repeats", [1, 3])
def test_personal_data_is_recognised_in_blocks_too(repeats: int) -> None:
    letters = "abcdefghij"
    words = [x + y + z for x in letters for y in letters for z in letters]
    table = Table(
        pa.table(
            {
                "email": [f"{word}@mail.ch" for word in words] * repeats,
                "contact": [f"+41 {'0' * (n % 2)}{n:07d}" for n in range(len(words))] * repeats,
                "phone": [*range(790_000_000, 790_000_000 + len(words))] * repeats,
                "first name": [word.capitalize() for word in words] * repeats,
            }
        )
    )
    found = streamed(table, 90)
    assert found == verdict(table)
    assert isinstance(found, Schema)
    assert all(isinstance(column, Identifier) for column in found)
    assert streamed(table, 90, ids=("email", "contact")) == found


def test_dictionaries_that_differ_by_block_are_put_together() -> None:
    parts = [
        pa.DictionaryArray.from_arrays(pa.array([0, None]), ["low", "mid"], ordered=True),
        pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int64()), ["high"], ordered=True),
        pa.DictionaryArray.from_arrays(pa.array([1, 0]), ["mid", "top"], ordered=True),
    ]
    table = Table(pa.table({"x": pa.chunked_array(parts)}))
    found = streamed(table, 2)
    assert found == verdict(table)
    assert isinstance(found, Schema)
    assert found.columns == (Category("x", ("low", "mid", "high", "top"), ordered=True, missing=True),)


def _coded_floats() -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array([0, 1] * 50), pa.array([1.5, float("nan")]))


@pytest.mark.parametrize("name", ["", "table.feather", "table.parquet"])
@pytest.mark.parametrize(
    ("column", "has_missing"),
    [
        (pa.array(["a", "b"] * 50, pa.string_view()), False),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1] * 50), pa.array(["a", "b"], pa.string_view())), False),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1] * 50), pa.array(["a", None])), True),
        (_coded_floats(), True),
    ],
    ids=["view", "coded view", "missing entry", "coded NaN"],
)
def test_layouts_that_arrow_hardly_computes_with_are_learned(
    tmp_path: Path, column: pa.Array, has_missing: bool, name: str
) -> None:
    table = pa.table({"x": pa.chunked_array([column, column]), "y": ["u", "v"] * 100})
    data: Any = table
    if name:
        data = tmp_path / name
        try:
            (feather.write_feather if name.endswith("feather") else pq.write_table)(table, data)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            pytest.skip(f"Arrow cannot write this: {error}")
    rows = open_source(data).rows()
    found = survey(rows, "t")
    assert found.schema.learned("x").missing == has_missing
    codec = build_codec(found.schema, {})
    assert count_rows(rows, codec, [("x",)]).table(("x",)).tolist() == [100, 100]
    assert found.sample.arrow.take(pa.array([0, 199])).num_rows == 2

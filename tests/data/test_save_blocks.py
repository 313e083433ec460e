"""A table written block by block is the file the whole table would be, or no file at all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arrow_strategies import arrow_tables, canonical
from cuts.data.exchange.files import blocks, load, save, save_blocks, scan
from cuts.data.exchange.recast import plain_values
from cuts.data.table import Table
from cuts.text.diagnostic import CutsError

KINDS = [
    *(pa.bool_(), pa.int64(), pa.float64(), pa.string(), pa.int8(), pa.float32(), pa.decimal128(9, 2), pa.null()),
    *(pa.date32(), pa.time64("us"), pa.timestamp("us"), pa.timestamp("ms", "UTC"), pa.duration("ms")),
    *(pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())),
    pa.dictionary(pa.int8(), pa.string(), ordered=True),
]
EXTENSIONS_HELP = ["csv", "tsv.gz", "csv.zst", "jsonl", "jsonl.gz", "parquet", "parquet.zst", "feather", "arrow.gz"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("blocks")


@st.composite
def cut_tables(draw: st.DrawFn) -> tuple[pa.Table, list[pa.Table]]:
    """A table and the blocks it is cut into, some of them empty, each with dictionaries of its own."""
    table = draw(arrow_tables(KINDS))
    at = sorted(draw(st.lists(st.integers(0, table.num_rows), max_size=3)))
    ends = [0, *at, table.num_rows]
    parts = [table.slice(start, end - start) for start, end in pairwise(ends)]
    return table, [own_dictionaries(part) for part in parts] if draw(st.booleans()) else parts


def own_dictionaries(table: pa.Table) -> pa.Table:
    """The table with dictionaries of the values it has, in the order it has them."""
    plain = [
        plain_values(column).cast(pa.string()).combine_chunks().dictionary_encode().cast(column.type)
        if pa.types.is_dictionary(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(plain, schema=table.schema)


def in_rows(path: Path) -> tuple[pa.Schema, str]:
    """The types in a file and the values, a NaN being the same as itself."""
    parts = [part.arrow for part in blocks(path)]
    return parts[0].schema, repr([row for part in parts for row in part.to_pylist()])


@settings(max_examples=60, deadline=None)
@given(cut=cut_tables(), ending=st.sampled_from(EXTENSIONS_HELP))
def test_blocks_are_written_as_the_whole_is(folder: Path, cut: tuple[pa.Table, list[pa.Table]], ending: str) -> None:
    table, parts = cut
    whole, streamed = folder / f"whole.{ending}", folder / f"streamed.{ending}"
    save(Table(table), whole)
    assert save_blocks((Table(part) for part in parts), streamed) == table.num_rows
    if ending.endswith(("csv", "tsv", "jsonl", "csv.zst")):
        assert streamed.read_bytes() == whole.read_bytes()
    assert in_rows(streamed) == in_rows(whole)


@settings(max_examples=50, deadline=None)
@given(cut=cut_tables(), ending=st.sampled_from(["csv", "jsonl", "parquet", "feather"]))
def test_blocks_get_the_form_of_a_file(folder: Path, cut: tuple[pa.Table, list[pa.Table]], ending: str) -> None:
    table, parts = cut
    source, whole, streamed = (folder / f"{name}.{ending}" for name in ("source", "form", "formed"))
    save(Table(table), source)
    for form in (load(source)[1], scan(source)):
        plain, plain_parts = canonical(table), [canonical(part) for part in parts]
        save(Table(plain), whole, form)
        assert save_blocks(map(Table, plain_parts), streamed, form) == table.num_rows
        if ending in ("csv", "jsonl"):
            assert streamed.read_bytes() == whole.read_bytes()
        assert in_rows(streamed) == in_rows(whole)


def test_dictionaries_of_blocks_grow(folder: Path) -> None:
    parts = [pa.table({"c": pa.array(texts).dictionary_encode()}) for texts in (["b", "a"], ["c", "a", None], ["b"])]
    for ending in ("feather", "parquet"):
        save_blocks(map(Table, parts), folder / f"grown.{ending}")
        table, _ = load(folder / f"grown.{ending}")
        assert table.column("c").type == parts[0].column("c").type
        assert table.column("c").to_pylist() == ["b", "a", "c", "a", None, "b"]


@pytest.mark.parametrize("ending", EXTENSIONS_HELP)
@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("good", [0, 1, 3])
def test_a_block_that_does_not_come_leaves_nothing(
    tmp_path: Path, ending: str, failure: type[BaseException], good: int
) -> None:
    def failing() -> Iterator[Table]:
        for start in range(good):
            yield Table(pa.table({"a": np.arange(start, start + 1000)}))
        raise failure

    path = tmp_path / f"t.{ending}"
    path.write_bytes(b"old")
    with pytest.raises(failure):
        save_blocks(failing(), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_single_table_is_refused(tmp_path: Path) -> None:
    one, other = Table(pa.table({"a": [1, 2]})), Table(pa.table({"b": [1]}))
    with pytest.raises(ValueError, match="no block to write"):
        save_blocks([], tmp_path / "t.csv")
    with pytest.raises(ValueError, match="the block after row 2 does not have the columns"):
        save_blocks([one, other], tmp_path / "t.csv")
    with pytest.raises(ValueError, match="types of the first block"):
        save_blocks([one, Table(pa.table({"a": ["x"]}))], tmp_path / "t.parquet")
    with pytest.raises(CutsError, match="unknown file extension"):
        save_blocks([one], tmp_path / "t.xlsx")
    with pytest.raises(CutsError, match="of type list"):
        save_blocks([Table(pa.table({"a": [[1]]}))], tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "feather"])
def test_a_table_without_rows_is_one_block(tmp_path: Path, ending: str) -> None:
    empty = Table(pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())}))
    save(empty, tmp_path / f"whole.{ending}")
    assert save_blocks([empty, empty], tmp_path / f"t.{ending}") == 0
    if ending != "jsonl":
        assert (tmp_path / f"t.{ending}").stat().st_size > 0


def test_small_blocks_become_row_groups_worth_reading(tmp_path: Path) -> None:
    save_blocks((Table(pa.table({"a": np.arange(100)})) for _ in range(50)), tmp_path / "t.parquet")
    assert pq.ParquetFile(tmp_path / "t.parquet").num_row_groups == 1


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "feather"])
def test_memory_does_not_grow_with_the_number_of_blocks(tmp_path: Path, ending: str) -> None:
    held: list[int] = []

    def made() -> Iterator[Table]:
        block = 100_000 if ending in ("parquet", "feather") else 4_000
        for _ in range(150):
            yield Table(pa.table({"a": np.zeros(block), "b": np.ones(block, np.int64)}))
            held.append(pa.total_allocated_bytes())

    before = pa.total_allocated_bytes()
    save_blocks(made(), tmp_path / f"t.{ending}")
    assert max(held) - before < 64 << 20  # of 240 MB in all, for Parquet and Feather

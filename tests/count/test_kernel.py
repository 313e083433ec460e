"""Laws of counting: blocks add up, every way of counting agrees, fewer columns are summed out of more."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.count import kernel
from cuts.count.cover import Clique, Cover, cells, maximal
from cuts.count.joint import join_cliques, key_paths
from cuts.count.kernel import count, count_codes, numba_tally, numpy_tally
from cuts.count.marginals import Marginals
from cuts.count.rows import rows_in, rows_of
from cuts.data.binning import fit_codec
from cuts.data.codec import Codec, Codes, build_codec, encode
from cuts.data.codec_file import fingerprint
from cuts.data.exchange.files import save as save_table
from cuts.data.schema import Category, Integer, Schema
from cuts.data.table import IntArray, Table
from cuts.datasets import DATASETS, load, load_schema
from cuts.text.diagnostic import CutsError
from strategies import schemas, tables


@st.composite
def cases(draw: st.DrawFn) -> tuple[Table, Codec, list[Clique]]:
    """Rows, their codec, and sets of its columns in any order."""
    schema = draw(schemas(texts=True))
    table = draw(tables(schema, most=40))
    codec = fit_codec(table, schema)
    columns = st.lists(st.sampled_from([c.name for c in schema]), max_size=4, unique=True).map(tuple)
    return table, codec, draw(st.lists(columns, min_size=1, max_size=5))


def plainly(codes: Codes, codec: Codec, clique: Clique) -> IntArray:
    """The counts by their definition: one for every row."""
    counts = np.zeros([codec[name].size for name in clique], dtype=np.int64)
    for row in range(len(next(iter(codes.values())))):
        counts[tuple(int(codes[name][row]) for name in clique)] += 1
    return counts


def same(one: Marginals, other: Marginals) -> bool:
    """Whether two counts are equal in everything."""
    return (
        list(one.sizes.items()) == list(other.sizes.items())
        and (one.rows, one.codec) == (other.rows, other.codec)
        and set(one.tables) == set(other.tables)
        and all((counts == other.tables[clique]).all() for clique, counts in one.tables.items())
    )


@settings(max_examples=60)
@given(cases())
def test_counts_are_what_their_definition_says(case: tuple[Table, Codec, list[Clique]]) -> None:
    table, codec, cliques = case
    codes = encode(table, codec)
    found = count([table], codec, cliques)
    assert found.codec == fingerprint(codec)
    for clique in cliques:
        assert (found.table(clique) == plainly(codes, codec, clique)).all()
        assert found.table(clique).shape == tuple(codec[name].size for name in clique)


@settings(max_examples=50)
@given(cases(), st.integers(1, 39))
def test_the_size_of_blocks_does_not_matter(case: tuple[Table, Codec, list[Clique]], size: int) -> None:
    table, codec, cliques = case
    blocks = [Table(table.arrow.slice(start, size)) for start in range(0, table.rows, size)]
    whole = count([table], codec, cliques)
    heard: list[int] = []
    assert same(count(blocks, codec, cliques, seen=heard.append), whole)
    assert heard == [min(end, table.rows) for end in range(size, table.rows + size, size)]
    assert same(count_codes(encode(table, codec), codec, cliques), whole)


@settings(max_examples=50)
@given(cases(), st.integers(0, 40))
def test_parts_add_up_and_can_be_taken_away(case: tuple[Table, Codec, list[Clique]], at: int) -> None:
    table, codec, cliques = case
    one, other = Table(table.arrow.slice(0, at)), Table(table.arrow.slice(at))
    whole, first, second = (count([part], codec, cliques) for part in (table, one, other))
    assert same(first + second, whole)
    assert same(whole - first, second)


@settings(max_examples=50)
@given(cases())
def test_fewer_columns_are_summed_out_of_more(case: tuple[Table, Codec, list[Clique]]) -> None:
    table, codec, cliques = case
    found = count([table], codec, cliques)
    for clique in cliques:
        for length in range(len(clique) + 1):
            for part in combinations(clique, length):
                assert found.covers(part)
                direct = count([table], codec, [part])
                assert (found.table(part) == direct.table(part)).all()
                assert (found.table(part[::-1]) == direct.table(part).T).all()


@settings(max_examples=60)
@given(cases())
def test_numba_counts_the_same(case: tuple[Table, Codec, list[Clique]]) -> None:
    fast = numba_tally()
    assert fast is not None, "the tests need numba, which their dependencies name"
    table, codec, cliques = case
    assert same(count([table], codec, cliques, tally=fast), count([table], codec, cliques, tally=numpy_tally))


def test_numba_takes_over_when_it_pays_and_nobody_can_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    table, codec, triples = adult()
    blocks = [Table(table.arrow.slice(start, 5_000)) for start in range(0, table.rows, 5_000)]
    plain = count(blocks, codec, triples, tally=numpy_tally)
    assert same(count(blocks, codec, triples, numba_after=60), plain)
    monkeypatch.setattr(kernel, "numba_tally", lambda: None)
    assert same(count(blocks, codec, triples, numba_after=60), plain)


def adult() -> tuple[Table, Codec, list[Clique]]:
    """Adult, and its triples with the label."""
    schema, table = load_schema(DATASETS[0]), load(DATASETS[0])
    codec = fit_codec(table, schema)
    names = [bins.column.name for bins in codec.columns if bins.column.name != schema.label]
    return table, codec, [(*pair, str(schema.label)) for pair in combinations(names, 2)]


def test_adult_from_csv_and_parquet_and_memory_counts_the_same(tmp_path: Path) -> None:
    table, codec, triples = adult()
    expected = count(rows_of(table).blocks(), codec, triples)
    for name in ("adult.csv", "adult.parquet", "adult.feather", "adult.jsonl"):
        save_table(table, tmp_path / name)
        assert same(count(rows_in(tmp_path / name).blocks(), codec, triples), expected)


def test_a_large_block_is_cut_and_tables_of_every_width_are_counted() -> None:
    rng = np.random.default_rng(5)
    sizes = {"a": 2, "b": 300, "c": 1_200, "d": 70_000, "one": 1}
    schema = Schema("t", tuple(Integer(name, 0, size - 1, bins=size) for name, size in sizes.items()))
    codec = build_codec(schema, {})
    codes: Codes = {name: rng.integers(0, size, 150_000) for name, size in sizes.items()}
    codes["d"][:2] = 0, 69_999
    cliques: list[Clique] = [("a", "one"), ("a", "b"), ("a", "c"), ("b", "c"), ("d",), ("one",), ()]
    steps: list[int] = []
    found = count([Table(pa.table(codes))], codec, cliques, seen=steps.append)
    assert steps == [65_536, 131_072, 150_000]
    assert found.sizes == sizes
    for clique in cliques:
        keys = tuple(codes[name] for name in clique)
        expected = np.zeros([sizes[name] for name in clique], dtype=np.int64)
        np.add.at(expected, keys, 1 if clique else 150_000)
        assert (found.table(clique) == expected).all()


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ({"x": np.array([0, 3])}, "outside its 3 bins"),
        ({"x": np.array([-1, 0])}, "outside its 3 bins"),
        ({"x": np.array([0]), "y": np.array([0, 1])}, "different numbers of rows"),
    ],
)
def test_codes_that_are_none_are_refused(codes: Codes, message: str) -> None:
    codec = build_codec(Schema("t", (Category("x", ("a", "b", "c")), Category("y", ("a", "b")))), {})
    with pytest.raises(ValueError, match=message):
        count_codes(codes, codec, [("x",)])


def test_a_column_that_is_not_there_and_a_table_too_large_are_refused() -> None:
    codec = build_codec(Schema("t", tuple(Integer(name, 0, 999, bins=1_000) for name in "abcd")), {})
    with pytest.raises(KeyError, match="no modelled column `z`"):
        count([], codec, [("a", "z")])
    with pytest.raises(ValueError, match="named twice"):
        count([], codec, [("a", "a")])
    with pytest.raises(ValueError, match="1,000,000,000 cells"):
        count([], codec, [("a", "b", "c")])


def test_no_rows_count_nothing() -> None:
    codec = build_codec(Schema("t", (Category("x", ("a", "b")),)), {})
    found = count([], codec, [("x",)])
    assert (found.rows, found.table(("x",)).tolist(), int(found.table(()))) == (0, [0, 0], 0)


def test_a_value_outside_the_schema_is_named_with_its_block() -> None:
    codec = build_codec(Schema("t", (Integer("x", 0, 9),)), {})
    blocks = [Table(pa.table({"x": [1] * 5})), Table(pa.table({"x": [2, 77]}))]
    with pytest.raises(CutsError, match="in the block starting at row 6, the column `x` has 1 value outside"):
        count(blocks, codec, [("x",)])


# --- joint tables


@settings(max_examples=80)
@given(
    st.lists(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=4, unique=True), min_size=1, max_size=12),
    st.lists(st.integers(2, 9), min_size=7, max_size=7),
    st.sampled_from([1, 60, 500, 1 << 14]),
    st.sampled_from([0, 100, 1 << 22]),
)
def test_joint_tables_have_every_clique_and_stay_small(
    asked: list[list[str]], widths: list[int], max_cells: int, room: int
) -> None:
    sizes = dict(zip("abcdefg", widths, strict=True))
    cliques = [tuple(sorted(clique)) for clique in asked]
    joints = join_cliques(cliques, sizes, max_cells=max_cells, room=room)
    cover = Cover(joints, sizes)
    assert all(cover.smallest(clique) for clique in cliques)
    largest = maximal(cliques, sizes)
    assert len(joints) <= len(largest)
    assert all(cells(joint, sizes) <= max_cells or joint in largest for joint in joints)
    assert sum(cells(joint, sizes) for joint in joints) <= room + sum(cells(clique, sizes) for clique in largest)
    assert {frozenset(path) for path in key_paths(joints)} == {frozenset(joint) for joint in joints}


def test_the_triples_of_adult_need_few_joint_tables() -> None:
    _, codec, triples = adult()
    sizes = {bins.column.name: bins.size for bins in codec.columns}
    assert len(triples) == 78
    assert len(join_cliques(triples, sizes)) < 40


Tally = Callable[[IntArray, IntArray], None]


@pytest.mark.parametrize("tally", [numpy_tally, numba_tally() or numpy_tally])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.int64])
@pytest.mark.parametrize("width", [5, 200])
def test_a_tally_adds_to_what_is_there(tally: Tally, kind: type, width: int) -> None:
    counts = np.ones(width, dtype=np.int64)
    tally(np.array([4, 0, 4], dtype=kind), counts)
    assert counts[:5].tolist() == [2, 1, 1, 1, 3]
    assert (counts[5:] == 1).all()

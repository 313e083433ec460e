"""Counts as values: what they must be, how they combine, and the file they are kept in."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save as tensors

from cuts.cli.pages import page
from cuts.count import marginals
from cuts.count.marginals import Marginals, load, save
from cuts.text.diagnostic import CutsError
from cuts.text.render import as_text

NAMES = ["age", "Straße", 'quo"te', "a b"]


@st.composite
def counts(draw: st.DrawFn) -> Marginals:
    """Counts of random rows."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    sizes = {name: draw(st.integers(1, 5)) for name in names}
    rows = np.random.default_rng(draw(st.integers(0, 99))).integers(0, list(sizes.values()), (7, len(sizes)))
    cliques = draw(st.lists(st.sets(st.integers(0, len(names) - 1)).map(sorted), max_size=4, unique_by=tuple))
    tables = {}
    for clique in cliques:
        table = np.zeros([sizes[names[i]] for i in clique], dtype=np.int64)
        for row in rows:
            table[tuple(row[clique])] += 1
        tables[tuple(names[i] for i in clique)] = table
    return Marginals(sizes, tables, 7, draw(st.text("0123456789abcdef", min_size=1, max_size=64)))


def two(*, codec: str = "c", cells: Any = ((1, 2), (3, 4))) -> Marginals:
    """Counts of two columns."""
    table = np.array(cells, dtype=np.int64)
    return Marginals({"a": 2, "b": 2}, {("a", "b"): table}, int(table.sum()), codec)


def test_fewer_columns_come_in_the_order_asked_for() -> None:
    found = two()
    assert found.table(("b", "a")).tolist() == [[1, 3], [2, 4]]
    assert found.table(["b"]).tolist() == [4, 6]
    assert found.table(()).item() == 10
    assert found.covers(("a",))
    assert found.covers(())
    assert not found.covers(("a", "z"))
    assert not found.covers(("a", "a"))


def test_the_smallest_table_is_summed() -> None:
    triple = np.array([[[1, 0], [2, 0]], [[3, 0], [4, 0]]])
    pair = np.array([[0, 0], [0, 10]])  # not of the same rows, so that one can tell
    found = Marginals({"a": 2, "b": 2, "c": 2}, {("a", "b", "c"): triple, ("a", "b"): pair}, 10, "c")
    assert found.table(("a",)).tolist() == [0, 10]
    assert found.table(("c",)).tolist() == [10, 0]


def test_columns_not_counted_together_are_named() -> None:
    alone = Marginals({"a": 1, "b": 1}, {("a",): np.array([3]), ("b",): np.array([3])}, 3, "c")
    with pytest.raises(KeyError, match="a, b were not counted together"):
        alone.table(("a", "b"))
    with pytest.raises(KeyError, match="no modelled column `z`"):
        alone.table(("z",))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": 9}, "add up to 10, not to 9 rows"),
        ({"rows": -1}, "no -1 rows"),
        ({"sizes": {"b": 2, "a": 2}}, "not in the codec's order"),
        ({"sizes": {"a": 2, "b": 3}}, "not int64 of shape"),
        ({"tables": {("a",): np.array([11, -1])}}, "negative"),
        ({"tables": {("a",): np.array([5.0, 5.0])}}, "float64"),
    ],
)
def test_counts_that_cannot_be_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(two(), **changes)


def test_counts_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        two().tables["a", "b"][0, 0] = 7


def test_only_like_counts_combine() -> None:
    with pytest.raises(ValueError, match="different codecs: c and d"):
        two() + two(codec="d")
    with pytest.raises(ValueError, match="only one of these counts has"):
        two() + replace(two(), tables={})
    with pytest.raises(ValueError, match="their rows are not among these"):
        two() - two(cells=((2, 0), (0, 0)))


# --- files


@settings(max_examples=60)
@given(counts())
def test_what_is_saved_is_loaded(tmp_path_factory: pytest.TempPathFactory, found: Marginals) -> None:
    path = tmp_path_factory.mktemp("counts") / "adult.counts"
    save(found, path)
    back = load(path)
    assert list(back.sizes.items()) == list(found.sizes.items())
    assert (back.rows, back.codec) == (found.rows, found.codec)
    assert list(back.tables) == list(found.tables)
    for clique, table in found.tables.items():
        assert back.tables[clique].dtype == np.int64
        assert (back.tables[clique] == table).all()


@settings(max_examples=300)
@given(counts(), st.data())
def test_a_damaged_file_is_an_error_and_never_wrong_counts(
    tmp_path_factory: pytest.TempPathFactory, found: Marginals, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("counts") / "adult.counts"
    save(found, path)
    whole = path.read_bytes()
    if data.draw(st.booleans()):
        broken = whole[: data.draw(st.integers(0, len(whole) - 1))]
    else:
        at = data.draw(st.integers(0, len(whole) - 1))
        broken = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    path.write_bytes(broken)
    back = loaded(path)
    if isinstance(back, Marginals):  # a blank of the header can be another one
        assert all((back.tables[clique] == table).all() for clique, table in found.tables.items())
        assert (back.rows, back.codec, dict(back.sizes)) == (found.rows, found.codec, dict(found.sizes))
    else:
        assert back == ["bad-counts"]


def loaded(path: Path) -> Marginals | list[str]:
    """The counts in a file, or the codes of what is wrong with it."""
    try:
        return load(path)
    except CutsError as error:
        return [d.code for d in error.diagnostics]


def facts(**changes: str) -> dict[str, str]:
    """The metadata of a file of counts without tables, with the right hash."""
    found = {"format": "cuts-counts", "version": "1", "rows": "1", "codec": "c", "sizes": "[]", "cliques": "[]"}
    found |= changes
    return {**found, "sha256": marginals._hash(found, {})}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no file of counts"),
        (b"a,b\n1,2\n", "no file of counts"),
        (b"\xff" * 40, "no file of counts"),
        (tensors({}, {}), "no file of counts"),
        (tensors({"x": np.zeros(3)}, {"format": "pt"}), "no file of counts"),
        (tensors({}, facts(version="2")), "another version of cuts"),
        (tensors({}, {**facts(), "rows": "7"}), "is damaged"),
        (tensors({}, facts(rows="many")), "is damaged"),
        (tensors({}, facts(rows="9" * 5_000)), "is damaged"),
        (tensors({}, facts(sizes="{")), "is damaged"),
        (tensors({}, facts(sizes=json.dumps([["a", [1]]]), cliques=json.dumps([["a"]]))), "is damaged"),
        (tensors({}, facts(cliques="[" * 100_000)), "is damaged"),
        (tensors({}, facts(cliques='[[["a"]]]')), "is damaged"),
        (tensors({}, facts(cliques="3")), "is damaged"),
    ],
)
def test_a_foreign_file_is_an_error(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "other.counts"
    path.write_bytes(data)
    with pytest.raises(CutsError, match=message) as caught:
        load(path)
    assert [d.code for d in caught.value.diagnostics] == ["bad-counts"]


def test_a_file_that_is_not_there_or_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.counts"):
        with pytest.raises(CutsError, match="unreadable-file"):
            load(path)
    with pytest.raises(CutsError, match="unwritable-file"):
        save(two(), tmp_path / "no folder" / "a.counts")


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.counts"
    save(two(), path)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(CutsError, match="No space left on device"):
        save(two(codec="d"), path)
    assert load(path).codec == "c"
    assert [found.name for found in tmp_path.iterdir()] == ["a.counts"]


def test_the_page_of_the_code_shows_what_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("adult.counts").write_text("age,sex\n39,Male\n")
    with pytest.raises(CutsError) as caught:
        load("adult.counts")
    assert as_text(caught.value.diagnostics) in page("bad-counts")

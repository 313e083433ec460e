"""T3: how far one unit moves what noise is added to, from raw rows to counts, groups and scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from cuts.count.marginals import Marginals
from cuts.data.table import IntArray
from cuts.privacy.core import count_rows, score
from cuts.privacy.curator import GRID, Candidate
from cuts.privacy.query import Query, grouped
from cuts.privacy.reading import PrivateFile, PrivateRows, cells_of
from cuts.privacy.secret import reveal
from privacy.checks import check_counting, check_distance
from privacy.people import MIXED, counts_of, sizes_of, workload_of

Row: TypeAlias = tuple[str | None, str | None, str | None, str | None]  # person, age, sex, city

NAMES = ("person", "age", "sex", "city")
PERSONS = st.sampled_from(["ann", "bob", "cy", "", " ann", None])
AGES = st.integers(-5, 70).map(str) | st.sampled_from(["", "?", "1e9", "-inf", "nan", "7.5", " 12 ", None])
SEXES = st.sampled_from(["f", "m", " f", "F", "other", "", None])
CITIES = st.sampled_from(["x", "y", "z", "X", "é", "\x00", None])
CELLS = (AGES, SEXES, CITIES)
ROWS = st.tuples(PERSONS, *CELLS)


def count(rows: Sequence[Row], *, person: str | None = None, max_rows: int = 1) -> Marginals:
    """From rows as they are given to counts as the core holds them."""
    columns = [pa.array([row[place] for row in rows], pa.string()) for place in range(4)]
    return _counted(cells_of(pa.table(columns, names=NAMES)), person, max_rows)


def _counted(rows: PrivateRows, person: str | None = None, max_rows: int = 1) -> Marginals:
    return reveal(count_rows(rows, MIXED, workload_of(MIXED).candidates, person=person, max_rows=max_rows))


@st.composite
def queries(draw: st.DrawFn) -> Query:
    """Some columns, over any groups of their bins."""
    sizes = sizes_of(MIXED)
    clique = draw(st.sampled_from(workload_of(MIXED).candidates))
    return Query(clique, tuple(_groups(draw, sizes[name]) for name in clique))


def _groups(draw: st.DrawFn, size: int) -> tuple[int, ...]:
    drawn = draw(st.lists(st.integers(0, size - 1), min_size=size, max_size=size))
    number = {group: place for place, group in enumerate(dict.fromkeys(drawn))}
    return tuple(number[group] for group in drawn)


@st.composite
def candidates(draw: st.DrawFn) -> Candidate:
    """A table, and a model that may be anything between right and absurd."""
    query = draw(queries())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    reach = draw(st.sampled_from([1, 10, 10**6])) * GRID
    expected = rng.integers(-reach, reach, query.shape)
    return Candidate(query, expected, draw(st.integers(1, 500)), draw(st.integers(0, 10**9)))


def table(counts: Marginals, query: Query) -> IntArray:
    return grouped(counts.table(query.clique), query)


# --- a row


@given(st.lists(ROWS, max_size=12), ROWS, st.integers(0, 12), queries())
def test_adding_a_row_moves_a_histogram_by_one(rows: list[Row], row: Row, place: int, query: Query) -> None:
    more = [*rows[:place], row, *rows[place:]]
    check_distance(table(count(rows), query), table(count(more), query), l1=1, l2=1, linf=1)


@given(st.lists(ROWS, max_size=12), ROWS, st.integers(0, 12), candidates())
def test_adding_a_row_moves_a_score_by_its_weight(rows: list[Row], row: Row, place: int, candidate: Candidate) -> None:
    more = [*rows[:place], row, *rows[place:]]
    before, after = (score(table(count(each), candidate.query), candidate) for each in (rows, more))
    assert abs(after - before) <= candidate.weight * GRID


@given(st.lists(ROWS, min_size=1, max_size=12), ROWS, st.data(), queries(), candidates())
def test_replacing_a_row_moves_histograms_by_two_and_scores_by_twice_their_weight(
    rows: list[Row], row: Row, data: st.DataObject, query: Query, candidate: Candidate
) -> None:
    place = data.draw(st.integers(0, len(rows) - 1))
    one, other = count(rows), count([*rows[:place], row, *rows[place + 1 :]])
    check_distance(table(one, query), table(other, query), l1=2, l2=2**0.5, linf=1)
    before, after = (score(table(each, candidate.query), candidate) for each in (one, other))
    assert abs(after - before) <= 2 * candidate.weight * GRID


@given(st.lists(ROWS, max_size=12))
def test_what_becomes_of_a_row_does_not_depend_on_the_others(rows: list[Row]) -> None:
    together, alone = count(rows), [count([row]) for row in rows]
    for clique, found in together.tables.items():
        assert_array_equal(found, sum((each.table(clique) for each in alone), np.zeros_like(found)))


@settings(max_examples=60)
@given(st.lists(st.text(max_size=20), max_size=8), st.text(max_size=20) | st.just('a,"7,f,x'), st.integers(0, 8))
def test_adding_a_line_to_a_file_moves_a_histogram_by_one(lines: list[str], line: str, place: int) -> None:
    kept = [_one_line(each) for each in [*lines, "ann,30,f,x", "bob,40,m,y"]]
    more = [*kept[:place], _one_line(line), *kept[place:]]
    one, other = _counted_file(kept), _counted_file(more)
    for clique in one.tables:
        check_distance(one.table(clique), other.table(clique), l1=1, l2=1, linf=1)


def _one_line(text: str) -> str:
    return text.replace("\n", " ").replace("\r", " ")


def _counted_file(lines: Sequence[str]) -> Marginals:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_text("\n".join([",".join(NAMES), *lines]) + "\n", encoding="utf-8", newline="")
        return _counted(PrivateFile(path))


def test_counting_of_random_people_moves_by_one() -> None:
    check_counting(counts_of, tables=100, seed=3)


# --- a person


@st.composite
def crowds(draw: st.DrawFn) -> tuple[list[Row], list[Row], list[Row], int]:
    """Rows of several persons, those of one of them, all of them together in some order, and how many count."""
    others = draw(st.lists(st.tuples(st.sampled_from(["ann", "bob", "", None]), *CELLS), max_size=10))
    own = draw(st.lists(st.tuples(st.just("cy"), *CELLS), max_size=7))
    order = draw(st.permutations([0] * len(others) + [1] * len(own)))
    parts = (iter(others), iter(own))
    return others, own, [next(parts[part]) for part in order], draw(st.integers(1, 4))


@given(crowds(), queries(), candidates())
def test_all_rows_of_a_person_move_a_histogram_by_the_most_that_count(
    crowd: tuple[list[Row], list[Row], list[Row], int], query: Query, candidate: Candidate
) -> None:
    others, _, together, max_rows = crowd
    one, other = (count(rows, person="person", max_rows=max_rows) for rows in (others, together))
    check_distance(table(one, query), table(other, query), l1=max_rows, l2=max_rows, linf=max_rows)
    before, after = (score(table(each, candidate.query), candidate) for each in (one, other))
    assert abs(after - before) <= max_rows * candidate.weight * GRID


@given(crowds())
def test_which_rows_of_a_person_count_depends_on_that_person_alone(
    crowd: tuple[list[Row], list[Row], list[Row], int],
) -> None:
    others, own, together, max_rows = crowd
    apart = count(others, person="person", max_rows=max_rows) + count(own, person="person", max_rows=max_rows)
    for clique, found in count(together, person="person", max_rows=max_rows).tables.items():
        assert_array_equal(found, apart.table(clique))


@given(st.lists(st.tuples(st.just("cy"), *CELLS), max_size=9), st.integers(1, 4))
def test_the_first_rows_of_a_person_count(rows: list[Row], max_rows: int) -> None:
    kept, first = count(rows, person="person", max_rows=max_rows), count(rows[:max_rows])
    for clique, found in kept.tables.items():
        assert_array_equal(found, first.table(clique))


@given(crowds(), st.lists(st.tuples(st.just("dee"), *CELLS), max_size=7), queries())
def test_another_person_in_the_place_of_one_moves_a_histogram_by_twice_the_most(
    crowd: tuple[list[Row], list[Row], list[Row], int], newcomer: list[Row], query: Query
) -> None:
    others, _, together, max_rows = crowd
    one, other = (count(rows, person="person", max_rows=max_rows) for rows in (together, [*others, *newcomer]))
    check_distance(table(one, query), table(other, query), l1=2 * max_rows, l2=2**0.5 * max_rows, linf=max_rows)


def test_rows_without_a_person_do_not_count() -> None:
    rows: list[Row] = [(None, "30", "f", "x"), ("ann", "30", "f", "x")]
    assert count(rows, person="person").rows == 1
    assert count(rows).rows == 2


def test_a_person_is_known_again_in_a_later_block() -> None:
    rows = 70_000  # a block has 65,536
    columns = {"person": ["ann"] * rows, "age": [30] * rows, "sex": ["f"] * rows, "city": ["x"] * rows}
    assert _counted(cells_of(pa.table(columns)), "person", 2).rows == 2


@pytest.mark.parametrize(
    "persons",
    [
        pa.Array.from_buffers(pa.string(), 4, pa.array([b"\xff", b"1", b"1", b"2"]).buffers()),  # no UTF-8: left out
        pa.array([1, 2, 2], pa.int64()).cast(pa.timestamp("ns")),  # finer than Python's moments
        pa.array([2**62, 5, 5], pa.int64()).cast(pa.timestamp("s")),  # later than Python's
        pa.array([2**62, 5, 5], pa.int64()).cast(pa.duration("s")),
        pa.array([b"\x00", b"a", b"a"]),
        pa.array([1.5, 2.0, 2.0]),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), pa.array(["p", "q"])),
    ],
    ids=lambda persons: str(persons.type),
)
def test_whatever_persons_are_told_by_nothing_raises(persons: pa.Array) -> None:
    columns = {"person": persons, "age": ["30"] * len(persons), "sex": ["f"] * len(persons)}
    columns["city"] = ["x"] * len(persons)
    assert _counted(cells_of(pa.table(columns)), "person", 1).rows == 2


def test_persons_whose_names_are_no_text_are_told_apart_or_left_out() -> None:
    def counted(persons: list[bytes]) -> IntArray:
        names = pa.Array.from_buffers(pa.string(), len(persons), pa.array(persons, pa.binary()).buffers())
        columns = {"person": names, "age": ["30", "31"][: len(persons)], "sex": ["f"] * len(persons)}
        rows = cells_of(pa.table({**columns, "city": ["x"] * len(persons)}))
        return _counted(rows, "person", 1).table(("sex",))

    assert_array_equal(counted([b"\xff", b"\xfe"]), counted([b"\xff"]) + counted([b"\xfe"]))

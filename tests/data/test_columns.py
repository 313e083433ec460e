"""Lattices, moments, identifiers: laws of the small parts columns are made of."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.data.columns import Identifier, Temporal
from cuts.data.identifiers import make_identifiers, recognise
from cuts.data.lattice import after, at_least, before
from cuts.data.physical import as_arrow, as_numbers
from cuts.data.temporal import parse_moment, show_moment

KINDS = st.sampled_from(["date", "time", "timestamp", "duration"])
UNITS = st.sampled_from([1, 10, 100, 1_000, 1_000_000, None])


@settings(max_examples=300)
@given(st.floats(-1e6, 1e6), UNITS)
def test_neighbours_on_a_lattice(value: float, per_unit: int | None) -> None:
    here, above = at_least(value, per_unit), after(value, per_unit)
    assert value <= here
    assert value < above
    assert before(here, per_unit) < value or here == value
    if per_unit is not None:
        assert above == after(before(above, per_unit), per_unit)
        assert round(here * per_unit) / per_unit == here
        assert (above == here) == (here > value)


@settings(max_examples=200)
@given(KINDS, st.integers(0, 86_399), st.sampled_from([0, 3, 6]))
def test_a_moment_is_read_back_as_it_was_shown(kind: str, number: int, decimals: int) -> None:
    fraction = round(0.000001 * (number % 7), decimals) if decimals else 0.0
    value = float(number) if kind == "date" else round(number + fraction, 6)
    assert parse_moment(kind, show_moment(kind, value)) == value  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "text"), [("date", "2020-13-01"), ("time", "25:00"), ("timestamp", "x"), ("duration", "")]
)
def test_what_is_no_moment_is_none(kind: str, text: str) -> None:
    assert parse_moment(kind, text) is None  # type: ignore[arg-type]


@settings(max_examples=100)
@given(
    st.sampled_from(["date", "time", "timestamp", "duration"]), st.lists(st.integers(0, 86_399), min_size=1, max_size=9)
)
def test_numbers_of_a_temporal_column_are_read_back(kind: str, numbers: list[int]) -> None:
    column = Temporal("t", kind, 0.0, 86_399.0)  # type: ignore[arg-type]
    missing = np.array([n % 7 == 0 for n in numbers])
    values = as_arrow(np.array(numbers, dtype=float), column, missing)
    found = as_numbers(values)
    assert found is not None
    assert found.to_pylist() == [None if m else float(n) for n, m in zip(numbers, missing, strict=True)]


def test_nanoseconds_are_cut_to_microseconds() -> None:
    found = as_numbers(pa.array([1_000_000_001, 1_999_999_999]).cast(pa.timestamp("ns")))
    assert found is not None
    assert found.to_pylist() == [1.0, 1.999999]


@settings(max_examples=100)
@given(st.sampled_from(["C-###", "AA##", "x#x#", "a\\A#", "XX-##", "##/##"]), st.integers(0, 200), st.integers(1, 300))
def test_made_identifiers_are_unique_and_follow_their_pattern(pattern: str, start: int, rows: int) -> None:
    made = make_identifiers(Identifier("id", pattern, start), rows, 0).to_pylist()
    assert len(set(made)) == rows
    classes = {"#": r"\d", "A": "[A-Z]", "a": "[a-z]", "x": "[0-9a-f]", "X": "[0-9A-Z]"}
    look = re.sub(r"\\(.)|(.)", lambda m: re.escape(m[1]) if m[1] else classes.get(m[2], re.escape(m[2])), pattern)
    first = next(i for i, letter in enumerate(pattern) if letter in classes)
    assert all(re.fullmatch(look, value) or len(value) > len(pattern.replace("\\", "")) for value in made), first


def test_texts_without_a_common_look_are_not_identifiers() -> None:
    assert recognise(["anna", "bob", "charlotte"]) is None
    assert recognise(["x y", "z-w"]) is None

"""Where new identifiers start: at a random place apart from the real ones, which does not tell them."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.data.columns import Identifier
from cuts.data.identifiers import make_identifiers, place_all, placed, recognise
from cuts.data.infer import infer_schema
from cuts.data.schema import Schema
from cuts.data.schema_file import render_toml, schema_from
from cuts.data.table import Table
from cuts.text.diagnostic import CutsError

LOOKS = ["P-{:03d}", "{:03d}/x", "A{:03d}"]


@settings(max_examples=100)
@given(st.lists(st.integers(0, 999), min_size=2, max_size=300, unique=True), st.sampled_from(LOOKS), st.integers(0, 9))
def test_new_identifiers_look_like_the_real_ones_and_are_none_of_them(numbers: list[int], look: str, seed: int) -> None:
    real = [look.format(n) for n in numbers]
    column = placed(Identifier("id", recognise(real)), real, len(real), seed)
    made = make_identifiers(column, len(real), seed).to_pylist()
    assert len(set(made)) == len(real)
    assert not set(made) & set(real)


@settings(max_examples=100)
@given(st.lists(st.integers(-5, 10**7), min_size=2, max_size=50, unique=True), st.integers(0, 9))
def test_new_numbers_are_unique_and_none_of_the_real_ones(numbers: list[int], seed: int) -> None:
    column = placed(Identifier("id"), numbers, len(numbers), seed)
    made = make_identifiers(column, len(numbers), seed).to_pylist()
    assert len(set(made)) == len(numbers)
    assert max(numbers) <= 0 or not set(made) & set(numbers)


def test_a_start_depends_on_the_seed_and_does_not_tell_the_greatest_real_identifier() -> None:
    real = [f"+41 79 {n:07d}" for n in range(0, 9_000_000, 9_001)]
    columns = [placed(Identifier("phone", recognise(real)), real, len(real), seed) for seed in range(30)]
    assert columns[4] == placed(Identifier("phone", recognise(real)), real, len(real), 4)
    assert len({column.start for column in columns}) == 30
    numbers = [placed(Identifier("n"), range(1, 3_001), 3_000, seed).start or 0 for seed in range(30)]
    assert all(3_000 < start <= 7_000 for start in numbers)
    assert np.std(numbers) > 500


def test_a_crowded_pattern_makes_identifiers_longer() -> None:
    real = [f"C-{n:02d}" for n in range(95)]
    column = placed(Identifier("id", "C-##"), real, 95, 0)
    made = make_identifiers(column, 95, 0).to_pylist()
    assert all(re.fullmatch(r"C-\d{3}", value) for value in made)


def test_whole_numbers_never_leave_64_bits() -> None:
    real = [10**17 + n for n in range(10)]
    column = placed(Identifier("id"), real, 10**17 * 9, 0)
    assert column.start is not None
    assert len(make_identifiers(column, 5, 0)) == 5


def test_a_start_that_is_given_is_kept_and_one_that_is_not_is_none_of_the_file() -> None:
    assert placed(Identifier("id", "C-##", 17), ["C-17"], 5, 0).start == 17
    table = Table(pa.table({"case": [f"C-{n:04d}" for n in range(60)], "number": range(500, 560), "x": [1, 2] * 30}))
    schema = infer_schema(table, "cases")
    assert schema["case"] == Identifier("case", "C-####")
    assert "start" not in render_toml(schema)
    made = place_all(schema, table, 3)
    assert [column.start is None for column in made if isinstance(column, Identifier)] == [False, False]
    assert made == place_all(schema, table, 3)
    assert made != place_all(schema, table, 4)


def test_numbers_that_missing_cells_made_floats_are_avoided_too() -> None:
    table = Table(pa.table({"id": [float(n) for n in range(900, 950)] + [None]}))
    schema = place_all(Schema("t", (Identifier("id", missing=True),)), table, 0)
    column = schema["id"]
    assert isinstance(column, Identifier)
    made = make_identifiers(column, 51, 0).to_pylist()
    assert min(made) >= 100
    assert not set(made) & set(range(900, 950))


# --- regular expressions


def column_of(regex: str) -> Identifier:
    schema = schema_from({"columns": {"code": {"kind": "id", "regex": regex}, "n": {"kind": "empty"}}}, "t")
    (column, _) = schema.columns
    assert isinstance(column, Identifier)
    return column


@settings(max_examples=50)
@given(
    st.sampled_from(
        [r"[a-z]{3,8}@example\.org", r"\+41 7[6-9] \d{3} \d{2} \d{2}", "[A-Z][a-z]{2} (von )?[A-Z][a-z]{4}"]
    ),
    st.integers(0, 99),
    st.integers(0, 50),
    st.integers(1, 50),
)
def test_texts_of_a_regular_expression_are_unique_match_and_can_be_made_in_pieces(
    regex: str, seed: int, first: int, rows: int
) -> None:
    column = column_of(regex)
    made = make_identifiers(column, first + rows, seed).to_pylist()
    assert make_identifiers(column, rows, seed, first).to_pylist() == made[first:]
    assert len(set(made)) == first + rows
    assert all(re.fullmatch(regex, text) for text in made)
    avoiding = placed(column, made, len(made), seed)
    assert not set(make_identifiers(avoiding, len(made), seed).to_pylist()) & set(made)


def test_a_regular_expression_with_too_few_texts_is_an_error_in_words() -> None:
    column = column_of("[AB][0-9]")
    assert len(set(make_identifiers(column, 20, 0).to_pylist())) == 20
    with pytest.raises(CutsError, match="the `regex` of `code` matches 20 texts, but 21 rows need one each"):
        make_identifiers(column, 21, 0)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"regex": "a+"}, "needs a limit"),
        ({"regex": "a", "pattern": "A"}, "leave one of them out"),
        ({"regex": 3}, "must be strings"),
        ({"start": "1"}, "a whole number"),
        ({"pattern": "P-1"}, "stands for a character that varies"),
    ],
)
def test_what_is_wrong_with_an_identifier_in_a_schema_is_told(fields: dict[str, object], told: str) -> None:
    with pytest.raises(CutsError, match=told):
        schema_from({"columns": {"code": {"kind": "id", **fields}}}, "t")

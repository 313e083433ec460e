"""Rows from a schema alone follow the schema, and all their values are about equally frequent."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings

from cuts import Category, Integer, Real, Schema, uniform_rows
from cuts.data.conform import check_table
from cuts.data.schema import Identifier
from cuts.datasets import CREDIT, load_schema
from strategies import schemas


@given(schemas(texts=True))
@settings(max_examples=60)
def test_rows_from_any_schema_follow_it(schema: Schema) -> None:
    table = uniform_rows(schema, 50)
    assert table.rows == 50
    assert check_table(table, schema) == ()


def test_all_values_are_about_equally_frequent() -> None:
    table = uniform_rows(Schema("t", (Integer("n", 1, 50), Category("c", ("a", "b", "x"), missing=True))), 20_000)
    counts = Counter(table.arrow["n"].to_pylist())
    assert sorted(counts) == list(range(1, 51))
    assert all(300 < count < 500 for count in counts.values())  # 400 expected, 5 standard deviations are 100
    shares = Counter(table.arrow["c"].to_pylist())
    assert shares[None] == pytest.approx(2_000, abs=220)
    assert shares["x"] == pytest.approx(6_000, abs=330)


def test_the_seed_decides_the_rows_and_identifiers_are_generated() -> None:
    schema = Schema("t", (Identifier("id", "P-###", 7), Real("x", 0, 1, decimals=1)))
    first, again, other = (uniform_rows(schema, 100, seed=seed).arrow for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)
    assert first["id"].to_pylist()[:2] == ["P-007", "P-008"]


def test_an_embedded_schema_gives_rows_in_every_category() -> None:
    rows = uniform_rows(load_schema(CREDIT), 2_000).arrow
    assert set(rows["purpose"].to_pylist()) >= {"vacation", "car_new", "other"}


@pytest.mark.parametrize(("rows", "missing"), [(0, 0.1), (10, 0.5), (10, -0.1)])
def test_sizes_and_shares_out_of_range_are_refused(rows: int, missing: float) -> None:
    with pytest.raises(ValueError, match="at least"):
        uniform_rows(Schema("t", (Integer("n", 1, 6),)), rows, missing=missing)

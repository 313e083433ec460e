"""Rare values: which are never sampled, and what is said about it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from cuts.data.binning import fit_codec
from cuts.data.codec import decode, encode
from cuts.data.infer import infer_schema
from cuts.data.rare_values import find_losses, rare_values
from cuts.data.table import Table

COUNTS = st.lists(st.integers(1, 12), min_size=2, max_size=90)


def codes(counts: list[int]) -> Table:
    return Table(pa.table({"code": [f"c{i:02d}" for i, rows in enumerate(counts) for _ in range(rows)]}))


@given(COUNTS, st.sets(st.integers(0, 89)))
def test_what_is_said_to_be_lost_is_what_no_bin_can_give(counts: list[int], named: set[int]) -> None:
    table = codes(counts)
    schema = infer_schema(table, "t", keep=["code"])
    names = [frozenset(f"c{i:02d}" for i in named if i < len(counts))]
    codec = fit_codec(table, schema, sets={"code": names})
    every_bin = np.repeat(np.arange(codec.sizes["code"]), 2_000)
    made = set(decode({"code": every_bin}, codec, seed=0).column("code").to_pylist())
    rows = {f"c{i:02d}": count for i, count in enumerate(counts)}
    losses = find_losses(table, codec)
    assert sum(loss.values for loss in losses) == len(rows.keys() - made)
    assert sum(loss.rows for loss in losses) == sum(rows[category] for category in rows.keys() - made)
    assert names[0] <= made
    assert {category for category, count in rows.items() if count >= 5} <= made


def test_values_that_a_program_names_are_kept_however_many_they_are() -> None:
    table = codes([400, *[2] * 80])
    schema = infer_schema(table, "t")
    named = frozenset(f"c{i:02d}" for i in range(1, 76))
    codec = fit_codec(table, schema, sets={"code": [named]})
    numbers = encode(table, codec)["code"]
    made = decode({"code": np.tile(numbers, 30)}, codec, seed=0).column("code").to_pylist()
    assert set(made) == {*named, "c00"}


def test_naming_one_of_values_that_are_all_rare_loses_no_other() -> None:
    table = codes([2, 2, 2])
    codec = fit_codec(table, infer_schema(table, "t"), sets={"code": [frozenset({"c01"})]})
    assert set(decode(encode(table, codec), codec, seed=0).column("code").to_pylist()) == {"c00", "c01", "c02"}


def test_the_warning_counts_values_and_rows_and_says_how_to_keep_them() -> None:
    table = Table(pa.table({"few": ["a"] * 97 + ["b", "b", "c"], "many": ["x", "y"] * 50}))
    schema = infer_schema(table, "t")
    (warning,) = rare_values(table, fit_codec(table, schema))
    assert warning.severity == "warning"
    assert "fewer than 5 rows are never sampled: `few` (2 of 3 values, in 3 of 100 rows (3 %))" in warning.title
    assert "min_count = 0" in (warning.help or "")
    for kept in (replace(schema, min_count=0), replace(schema, provenance="declared")):
        assert rare_values(table, fit_codec(table, kept)) == ()
    assert rare_values(table, fit_codec(table, schema, sets={"few": [frozenset("b"), frozenset("c")]})) == ()


def test_many_columns_are_counted_not_listed() -> None:
    table = Table(pa.table({f"c{i}": ["b"] * (1 + i % 4) + ["a"] * (99 - i % 4) for i in range(8)}))
    (warning,) = rare_values(table, fit_codec(table, infer_schema(table, "t")))
    assert warning.title.endswith("and 3 other columns")
    shown = {f"c{i}" for i in range(8) if f"`c{i}`" in warning.title}
    assert shown == {"c1", "c2", "c3", "c6", "c7"}, "those with the most rows"

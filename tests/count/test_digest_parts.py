"""Digests of parts of a table, made anywhere and merged, are the digest of the whole table."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arrow_strategies import arrow_tables
from cuts.count.rows import SurveyOptions
from cuts.count.survey import Inference, new_digests, schema_of
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.text.diagnostic import CutsError

MANY = 3_000
KINDS = (
    *(pa.bool_(), pa.int8(), pa.int64(), pa.uint32(), pa.float32(), pa.float64(), pa.decimal128(12, 3)),
    *(pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()), pa.null()),
    *(pa.date32(), pa.time64("us"), pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.duration("ms"), pa.binary()),
)


def options(**given: Any) -> SurveyOptions:
    return SurveyOptions("t", **{"max_distinct": 1_000, **given})


def streamed(arrow: pa.Table, wanted: SurveyOptions, size: int) -> Schema | list[str]:
    """What one digest of all blocks says."""
    inference = Inference(wanted)  # keeps no row in memory
    for start in range(0, len(arrow), size):
        inference.add(Table(arrow.slice(start, size)))
    return outcome(inference.schema)


def merged(arrow: pa.Table, wanted: SurveyOptions, cuts: list[int], size: int) -> Schema | list[str]:
    """What digests of the parts between the cuts say, each sent as its state and merged in order."""
    total = new_digests(arrow.schema, wanted)
    ends = [0, *sorted(min(cut, len(arrow)) for cut in cuts), len(arrow)]
    for start, end in pairwise(ends):
        part = new_digests(arrow.schema, wanted)
        for first in range(start, end, size):
            for digest in part:
                digest.add(Table(arrow.slice(first, min(size, end - first))))
        for digest, of_part in zip(total, part, strict=True):
            digest.merge(digest.restored(of_part.state()))
    return outcome(lambda: schema_of(total, arrow.schema, wanted))


def outcome(schema: Any) -> Schema | list[str]:
    try:
        made: Schema = schema()
    except CutsError as error:
        return [f"{d.code}: {d.title}" for d in error.diagnostics]
    return made


@settings(deadline=None, max_examples=150)
@given(arrow_tables(KINDS), st.lists(st.integers(0, 30), max_size=4), st.integers(1, 20))
def test_any_split_gives_the_schema_of_the_whole(arrow: pa.Table, cuts: list[int], size: int) -> None:
    if len(arrow) == 0:
        return
    with np.errstate(all="ignore"):
        assert merged(arrow, options(), cuts, size) == streamed(arrow, options(), size)


@pytest.mark.parametrize("cuts", [[], [1], [7, 19, 21], [999, 1_000, 2_500], [0, MANY]])
@pytest.mark.parametrize("declared", [(), ("code", "uneven", "number")])
def test_long_columns_too(cuts: list[int], declared: tuple[str, ...]) -> None:
    rng = np.random.default_rng(4)
    row = np.arange(MANY)
    arrow = pa.table(
        {
            "number": row + 7,  # numbers the rows
            "scattered": rng.permutation(10**6)[:MANY],  # unique, but not dense
            "amount": np.round(rng.normal(0, 100, MANY), 2),
            "few": rng.integers(0, 5, MANY),
            "missing": pa.array(rng.integers(0, 5, MANY), mask=rng.random(MANY) < 0.1),
            "code": [f"C-{i:05d}" for i in row.tolist()],
            "uneven": [f"C-{i}" for i in row.tolist()],
            "kind": [f"kind {i % 700}" for i in row.tolist()],
            "once": [f"kind {i % 700}" if i < MANY - 3 else f"rare {i}" for i in row.tolist()],
            "day": pa.array(row.astype(np.int32), pa.int32()).cast(pa.date32()),
        }
    )
    wanted = options(ids=declared)
    assert merged(arrow, wanted, cuts, 100) == streamed(arrow, wanted, 100)


def test_free_text_is_counted_across_parts() -> None:
    texts = [f"the note of visit {i % 2_500} was long" for i in range(MANY)]
    arrow = pa.table({"note": texts})
    assert merged(arrow, options(), [1_000, 2_000], 100) == streamed(arrow, options(), 100)


def test_categories_of_ordered_dictionaries_keep_their_order() -> None:
    def column(categories: list[str]) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), categories, ordered=True)

    arrow = pa.table({"grade": pa.chunked_array([column(["low", "mid"]), column(["low", "mid"])])})
    assert merged(arrow, options(), [2], 2) == streamed(arrow, options(), 2)

"""Tied columns: a hidden difference or sum is encoded in their place, and they are computed when rows are decoded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.data.binning import fit_codec
from cuts.data.codec import Codec, decode, encode
from cuts.data.codec_file import codec_data, codec_from
from cuts.data.columns import Integer, Numeric, Real, Temporal
from cuts.data.conform import conform
from cuts.data.infer import infer_schema
from cuts.data.partial_rows import encode_partial, overwrite
from cuts.data.schema import Schema
from cuts.data.table import Floats, Table
from cuts.data.tie_search import find_ties
from cuts.data.ties import Sign, can_tie, coordinates, hidden_numbers, make_tie, tied_numbers, with_hidden
from cuts.text.diagnostic import CutsError

Case = tuple[Schema, Table, Sign]


def column(name: str, decimals: int, missing: bool, dated: bool) -> Numeric:
    if dated:
        return Temporal(name, "date", 0.0, 20_000.0, missing=missing)
    if decimals == 0:
        return Integer(name, -500, 500, missing=missing)
    return Real(name, -500.0, 500.0, missing=missing, decimals=decimals)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Two columns of one kind, the second of them perhaps missing in some rows."""
    decimals, dated, missing = draw(st.integers(0, 3)), draw(st.booleans()), draw(st.booleans())
    schema = Schema("t", (column("a", decimals, False, dated), column("b", decimals, missing, dated)))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    low, high = schema.number("a").low, schema.number("a").high
    decimals = 0 if dated else decimals
    a = np.round(rng.uniform(low, high, 60), decimals)
    b = np.round(np.clip(a + rng.normal(0, 5, 60), low, high), decimals)
    arrays = [typed_array(a, dated, np.zeros(60, dtype=bool)), typed_array(b, dated, (rng.random(60) < 0.2) & missing)]
    return schema, Table(pa.table(dict(zip("ab", arrays, strict=True)))), draw(st.sampled_from([1, -1]))


def typed_array(values: Floats, dated: bool, missing: Any) -> pa.Array:
    numbers = pa.array(values, mask=missing)
    return numbers.cast(pa.int32()).cast(pa.date32()) if dated else numbers


def tied_codec(schema: Schema, table: Table, sign: Sign) -> Codec:
    ties = [make_tie("b", "a", sign, schema)]
    rows = with_hidden(table, conform(table, schema), ties)
    return replace(fit_codec(rows, coordinates(schema, ties)), schema=schema, ties=tuple(ties))


@settings(max_examples=60, deadline=None)
@given(cases())
def test_decoding_stays_in_the_bins_and_adds_up(case: Case) -> None:
    schema, table, sign = case
    codec = tied_codec(schema, table, sign)
    (tie,) = codec.ties
    codes = encode(table, codec)
    assert list(codes) == ["a", tie.hidden.name]
    made = decode(codes, codec, seed=3)
    assert made.arrow.column_names == ["a", "b"]
    again = conform(made, schema)
    assert (again.missing("b") == table.missing("b")).all()
    hidden = hidden_numbers(again.numbers("b"), again.numbers("a"), tie)
    np.testing.assert_array_equal(tied_numbers(hidden, again.numbers("a"), tie), again.numbers("b"))
    low, high = schema.number("b").low, schema.number("b").high
    inside = ~((again.numbers("b") < low) | (again.numbers("b") > high))  # what leaves the range is for rules to avoid
    some = Table(made.arrow.filter(pa.array(inside)))
    for name, bins in encode(some, codec).items():
        np.testing.assert_array_equal(bins, codes[name][inside])


@settings(max_examples=25, deadline=None)
@given(cases())
def test_a_codec_with_ties_is_read_back(case: Case) -> None:
    schema, table, sign = case
    codec = tied_codec(schema, table, sign)
    again = codec_from(codec_data(codec), schema)
    assert again.ties == codec.ties
    codes = encode(table, codec)
    assert decode(codes, codec, seed=5).arrow.equals(decode(codes, again, seed=5).arrow)
    damaged = codec_data(codec)
    damaged["ties"][0]["anchor"] = "c"
    with pytest.raises(ValueError, match="tied column"):
        codec_from(damaged)


@settings(max_examples=60, deadline=None)
@given(
    anchors=st.lists(st.floats(-1e6, 1e6), min_size=5, max_size=5),
    differences=st.lists(st.floats(-1e-3, 1e-3) | st.sampled_from([0.0, 1e-300, -1e-300]), min_size=5, max_size=5),
)
def test_the_sign_of_a_difference_of_real_numbers_is_never_lost(anchors: list[float], differences: list[float]) -> None:
    schema = Schema("t", (Real("a", -1e6, 1e6), Real("b", -2e6, 2e6)))
    anchor, hidden = np.array(anchors), np.array(differences)
    made = tied_numbers(hidden, anchor, make_tie("b", "a", 1, schema))
    np.testing.assert_array_equal(np.sign(made - anchor), np.sign(hidden))
    np.testing.assert_allclose(made, anchor + hidden, rtol=1e-15, atol=1e-15)


def test_values_drawn_elsewhere_are_computed_with() -> None:
    schema, table = dates()
    codec = tied_codec(schema, table, 1)
    codes = encode(table, codec)
    gap = np.where(table.missing("b"), np.nan, 7.0)
    made = conform(decode(codes, codec, seed=0, values={"b - a": gap}), schema)
    np.testing.assert_array_equal(made.numbers("b") - made.numbers("a"), gap)


def test_a_timestamp_is_computed_from_a_date_and_the_seconds_after_midnight() -> None:
    rng = np.random.default_rng(1)
    day = rng.integers(19_000, 19_300, 2000)
    seconds = rng.integers(-3_600, 40_000, 2000)
    moments = pa.array(day * 86_400 + seconds, mask=rng.random(2000) < 0.1).cast(pa.timestamp("s"))
    table = Table(pa.table({"a": typed_array(day, True, None), "b": moments}))
    schema = infer_schema(table, "t")
    codec = tied_codec(schema, table, 1)
    made = conform(decode(encode(table, codec), codec, seed=1), schema)
    between = made.numbers("b") - 86_400 * made.numbers("a")
    assert (made.missing("b") == table.missing("b")).all()
    assert np.nanmin(between) >= seconds.min()
    assert np.nanmax(between) <= seconds.max()
    assert codec_from(codec_data(codec), schema).ties == codec.ties
    assert [(tie.column, tie.anchor) for tie in find_ties(conform(table, schema), schema, frozenset())] == [("b", "a")]


def dates(rows: int = 2000) -> tuple[Schema, Table]:
    rng = np.random.default_rng(0)
    a = rng.integers(10_000, 11_000, rows)
    b = a + rng.geometric(0.25, rows)
    table = {"a": typed_array(a, True, None), "b": typed_array(b, True, rng.random(rows) < 0.05)}
    columns = Temporal("a", "date", 10_000.0, 11_000.0), Temporal("b", "date", 10_000.0, 11_100.0, missing=True)
    return Schema("t", columns), Table(pa.table(table))


# --- which columns are tied


@pytest.mark.parametrize(
    ("anchor", "tied", "expected"),
    [
        (Integer("a", 0, 9), Integer("b", 0, 9, missing=True), True),
        (Integer("a", 0, 9, missing=True), Integer("b", 0, 9), False),  # then the difference could not be known
        (Integer("a", 0, 9), Real("b", 0.0, 9.0, decimals=2), True),
        (Real("a", 0.0, 9.0, decimals=2), Integer("b", 0, 9), False),  # the sum would have decimals
        (Real("a", 0.0, 9.0), Real("b", 0.0, 9.0), True),
        (Integer("a", 0, 9), Real("b", 0.0, 9.0), True),
        (Real("a", 0.0, 9.0), Real("b", 0.0, 9.0, decimals=2), False),
        (Integer("a", 0, 9), Integer("b", 0, 9, bins=(3.0, 6.0)), False),  # the schema has its own edges
        (Temporal("a", "date", 0.0, 9.0), Temporal("b", "date", 0.0, 9.0), True),
        (Temporal("a", "date", 0.0, 9.0), Temporal("b", "timestamp", 0.0, 9.0), True),
        (Temporal("a", "timestamp", 0.0, 9.0), Temporal("b", "date", 0.0, 9.0), False),
        (Temporal("a", "time", 0.0, 9.0), Temporal("b", "timestamp", 0.0, 9.0), False),
        (Temporal("a", "date", 0.0, 9.0), Integer("b", 0, 9), False),
        (Integer("a", 0, 2**52), Integer("b", 0, 9), False),
    ],
)
def test_only_numbers_of_a_kind_are_tied_and_timestamps_to_dates(
    anchor: Numeric, tied: Numeric, expected: bool
) -> None:
    schema = Schema("t", (anchor, tied))
    assert can_tie(tied, anchor, schema) is expected
    assert not can_tie(tied, anchor, replace(schema, label="b"))


def found(columns: dict[str, Any], blocked: frozenset[str] = frozenset()) -> list[tuple[str, str, Sign]]:
    numbers = {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}
    schema = Schema(
        "t",
        tuple(
            Integer(name, int(np.nanmin(v)), int(np.nanmax(v)), missing=bool(np.isnan(v).any()))
            for name, v in numbers.items()
        ),
    )
    typed = Table(pa.table({name: pa.array(values, from_pandas=True) for name, values in numbers.items()}))
    return [(tie.column, tie.anchor, tie.sign) for tie in find_ties(typed, schema, blocked)]


def test_columns_that_move_together_are_found() -> None:
    rng = np.random.default_rng(1)
    start, noise = rng.integers(0, 500_000, 2000), rng.integers(0, 90, 2000)
    stop = start + noise
    assert found({"start": start, "stop": stop, "other": rng.integers(0, 500_000, 2000)}) == [("stop", "start", 1)]
    assert found({"left": start, "right": 500_000 - stop}) == [("right", "left", -1)]
    gone = np.where(rng.random(2000) < 0.1, np.nan, start)
    assert found({"start": gone, "stop": stop}) == [("start", "stop", 1)]  # the anchor is never missing
    assert found({"start": start, "stop": stop}, frozenset({"stop"})) == []


def test_columns_that_bins_tell_apart_are_left_alone() -> None:
    rng = np.random.default_rng(2)
    start = rng.integers(0, 1440, 2000)
    assert found({"start": start, "stop": (start + rng.integers(30, 400, 2000)) % 1440}) == []
    few = rng.integers(0, 20, 2000)  # every value has a bin of its own
    assert found({"x": few, "y": few + rng.integers(0, 2, 2000)}) == []
    zeros = np.where(rng.random(2000) < 0.9, 0, start * 50)
    assert found({"gain": zeros, "loss": rng.permutation(zeros)}) == []
    round_hours = np.round(start / 60) * 60 * 60  # frequent values that a sum would lose
    assert found({"exact": start * 60, "rounded": round_hours}) == []


# --- given cells


def test_a_tied_cell_is_given_beside_its_anchor() -> None:
    schema, table = dates(200)
    codec = tied_codec(schema, table, 1)
    decoded = decode(encode(table, codec), codec, seed=0)
    anchors = Table(table.arrow.select(["a"]))
    codes, _ = encode_partial(anchors, codec)
    assert list(codes) == ["a"]
    made = conform(overwrite(decoded, anchors, codec), schema)
    before = conform(decoded, schema)
    np.testing.assert_array_equal(made.numbers("a"), conform(table, schema).numbers("a"))
    np.testing.assert_array_equal(  # the difference is kept
        made.numbers("b") - made.numbers("a"), before.numbers("b") - before.numbers("a")
    )
    codes, masks = encode_partial(table, codec)
    assert list(codes) == ["a", "b - a"]
    assert (masks["b - a"] == ~table.missing("b")).all()
    kept = conform(overwrite(decoded, table, codec), schema).numbers("b")
    given = ~table.missing("b")
    np.testing.assert_array_equal(kept[given], conform(table, schema).numbers("b")[given])
    with pytest.raises(CutsError, match="together with `a`"):
        encode_partial(Table(table.arrow.select(["b"])), codec)

"""The encoder of many blocks gives the codes and the errors of `encode`, whatever Arrow types the values come in."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.data import encoder
from cuts.data.binning import fit_codec
from cuts.data.codec import Codec, build_codec, encode
from cuts.data.columns import Column, Integer, Real, Temporal
from cuts.data.computed import parse_formula
from cuts.data.encoder import Encoder, columns_to_encode, widened
from cuts.data.schema import Category, Schema
from cuts.data.table import Table
from cuts.data.ties import coordinates, make_tie
from cuts.text.diagnostic import CutsError, Diagnostic
from strategies import schemas, tables

DISGUISES = [pa.large_string(), pa.int8(), pa.int32(), pa.float32(), pa.float64(), pa.decimal128(20, 6), pa.date64()]
STRANGE: list[Any] = [None, "?", "", -1_000_000, 10**9, 1.5, float("nan"), dt.date(1900, 1, 1), True]


def outcome(codes: Any) -> dict[str, list[int]] | tuple[Diagnostic, ...]:
    """The codes of a block as plain numbers, or what is wrong with it."""
    try:
        return {name: values.tolist() for name, values in codes().items()}
    except CutsError as error:
        return error.diagnostics


def assert_same(codec: Codec, blocks: list[Table]) -> None:
    """Two passes over the blocks with one encoder, which in the second one knows all values, agree with `encode`."""
    fast = Encoder(codec)
    for block in blocks * 2:
        expected = outcome(lambda block=block: encode(block, codec))
        assert outcome(lambda block=block: widened(fast.codes(block))) == expected


@st.composite
def disguised(draw: st.DrawFn, values: pa.Array) -> pa.Array:
    """The values in another Arrow type, perhaps a dictionary with entries that no row has, perhaps one value wrong."""
    try:
        if draw(st.booleans()):
            values = values.cast(draw(st.sampled_from(DISGUISES)))
        if draw(st.integers(0, 4)) == 0:
            wrong = pa.array([draw(st.sampled_from(STRANGE))]).cast(values.type)
            place = draw(st.integers(0, len(values)))
            values = pa.concat_arrays([values.slice(0, place), wrong, values.slice(place)]).slice(1)
    except (pa.ArrowException, pa.ArrowNotImplementedError):
        pass
    if draw(st.booleans()) and not pa.types.is_null(values.type):
        kept = draw(st.integers(0, len(values)))
        values = values.dictionary_encode(draw(st.sampled_from(["mask", "encode"])))
        values = pa.concat_arrays([values.slice(kept), values.slice(0, kept)])
    return values


@st.composite
def cases(draw: st.DrawFn) -> tuple[Codec, list[Table]]:
    """A codec, and a table in blocks, some columns of it in unusual types or with wrong values."""
    schema = draw(schemas(texts=True))
    table = draw(tables(schema, most=40))
    codec = fit_codec(table, schema)
    arrays = {name: draw(disguised(table.column(name).combine_chunks())) for name in table.names}
    arrow, size = pa.table(arrays), draw(st.integers(1, 40))
    return codec, [Table(arrow.slice(start, size)) for start in range(0, table.rows, size)]


@settings(max_examples=400)
@given(cases())
def test_codes_and_errors_are_those_of_encode(case: tuple[Codec, list[Table]]) -> None:
    assert_same(*case)


FEW = Category("x", ("1", "2", "true", "1970-01-03", "0.5"), missing=True)
AWKWARD: dict[str, tuple[Column, pa.Array]] = {
    "whole numbers as categories": (FEW, pa.array([1, 2, None, 2], pa.int16())),
    "a whole number that is no category": (FEW, pa.array([1, 2, 3] * 3)),
    "truth values": (FEW, pa.array([True, True, None])),
    "a truth value that is no category": (FEW, pa.array([True, False])),
    "dates as categories": (FEW, pa.array([2, 2], pa.date32())),
    "reals as categories": (FEW, pa.array([1.0, 2.0, float("nan")])),
    "reals as categories, one not whole": (FEW, pa.array([1.0, 0.5])),
    "whole reals in a dictionary with others": (
        Category("x", ("4503599627370496", "4.503599627370496e+15", "2", "0.5")),
        pa.array([2.0**52, 2.0, 0.5]).dictionary_encode().slice(0, 2),
    ),
    "an entry that no row has": (FEW, pa.DictionaryArray.from_arrays([0, None, 0], ["1", "?"])),
    "an entry that is missing": (FEW, pa.DictionaryArray.from_arrays([0, 1, 0], ["1", None])),
    "a missing entry where none may be": (
        replace(FEW, missing=False),
        pa.DictionaryArray.from_arrays([0, 1, 0], ["1", None]),
    ),
    "an index of one byte": (
        Integer("x", 0, 200, missing=True),
        pa.DictionaryArray.from_arrays(pa.array([127, None, 0], pa.int8()), pa.array(range(128))),
    ),
    "long texts": (FEW, pa.array(["1", "2", None], pa.large_string())),
    "nothing but missing": (FEW, pa.nulls(5, pa.int64())),
    "no type": (FEW, pa.nulls(5)),
    "the number after the last": (Integer("x", 0, 2, missing=True), pa.array([0, 1, 2, 3])),
    "a number far above": (Integer("x", -5, 5), pa.array([2**64 - 1] * 20, pa.uint64())),
    "numbers far below": (Integer("x", 0, 5), pa.array([-(2**63)] * 20)),
    "a range beyond the type": (Integer("x", -300, 300), pa.array(list(range(-128, 128)) * 3, pa.int8())),
    "numbers that float64 rounds": (Integer("x", 2**53 - 4, 2**53), pa.array([2**53 + 1] * 9)),
    "whole numbers of a real column": (Real("x", -0.5, 3.5, missing=True), pa.array([0, 3, None, 1, 2])),
    "a whole number outside a real column": (Real("x", 0.5, 3.5), pa.array([0, 1, 2, 3] * 2)),
    "truth values as numbers": (Integer("x", 0, 1), pa.array([True, False])),
    "dates": (Temporal("x", "date", 0.0, 9.0, missing=True), pa.array([0, 9, None] * 5, pa.date32())),
    "dates outside": (Temporal("x", "date", 0.0, 9.0), pa.array([0, 10] * 6, pa.date32())),
    "numbers as dates": (Temporal("x", "date", 0.0, 9.0), pa.array([0, 9] * 6)),
    "timestamps as dates": (Temporal("x", "date", 0.0, 9.0), pa.array([0, 864 * 10**8], pa.timestamp("us"))),
    "dates as numbers": (Integer("x", 0, 9), pa.array([0, 9] * 6, pa.date32())),
    "decimals": (Real("x", 0.0, 1.0, decimals=2), pa.array([Decimal("0.29"), Decimal("1.00")])),
    "texts that are numbers": (Real("x", 0.0, 9.0), pa.array(["1", "2.5", "1"]).dictionary_encode()),
    "a text that no row has": (Real("x", 0.0, 9.0), pa.DictionaryArray.from_arrays([0, 0], ["1", "?"])),
    "numbers beside texts": (
        Real("x", 0.0, 9.0, missing=True, texts=("n.a.",), format="0,0"),
        pa.array(["1,5", "n.a.", None, "8,0"]).dictionary_encode(),
    ),
    "whole numbers where texts may be": (Integer("x", 0, 9, texts=("n.a.",)), pa.array([1, 2] * 6)),
    "a text too many": (Integer("x", 0, 9, texts=("n.a.",)), pa.array(["1", "n.a.", "?"]).dictionary_encode()),
}


@pytest.mark.parametrize("what", AWKWARD)
def test_unusual_types_are_read_as_encode_reads_them(what: str) -> None:
    column, values = AWKWARD[what]
    codec = build_codec(Schema("t", (column,)), {})
    whole = Table(pa.table({"x": values}))
    parts = [Table(whole.arrow.slice(start, 2)) for start in range(0, whole.rows, 2)]
    assert_same(codec, [whole, *parts])


def test_a_long_range_is_looked_up_once_enough_rows_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    codec = build_codec(Schema("t", (Integer("x", -50_000, 100_000, bins=300, missing=True),)), {})
    numbers = pa.array(rng.integers(-50_000, 100_001, 160_000), mask=rng.random(160_000) < 0.1)
    blocks = [Table(pa.table({"x": numbers.slice(start, 40_000)})) for start in range(0, 160_000, 40_000)]
    assert_same(codec, blocks)
    monkeypatch.setattr(encoder, "bin_of", None)
    fast = Encoder(codec)
    with pytest.raises(TypeError, match="not callable"):  # few rows are searched for among the edges
        fast.codes(blocks[0])
    monkeypatch.undo()
    for block in blocks:
        fast.codes(block)
    monkeypatch.setattr(encoder, "bin_of", None)
    assert fast.codes(blocks[0])["x"].dtype == np.uint16


def test_texts_are_looked_up_once_per_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    codec = build_codec(Schema("t", (Category("x", ("a", "b", "c")),)), {})
    fast = Encoder(codec)
    one, other = (pa.DictionaryArray.from_arrays([0, 1, 1], texts) for texts in (["b", "c"], ["c", "a"]))
    assert fast.codes(Table(pa.table({"x": one})))["x"].tolist() == [1, 2, 2]
    assert fast.codes(Table(pa.table({"x": other})))["x"].tolist() == [2, 0, 0]
    monkeypatch.setattr(encoder, "bin_of", None)
    assert fast.codes(Table(pa.table({"x": other.slice(1)})))["x"].tolist() == [0, 0]


def test_a_column_that_is_not_there_is_named_with_its_neighbours() -> None:
    codec = build_codec(Schema("t", (Integer("age", 0, 9), Category("sex", ("f", "m")))), {})
    assert_same(codec, [Table(pa.table({"aged": [1], "sex": ["f"]}))])


@pytest.mark.parametrize("wrong", [None, ("b", 0.5), ("a", 10**6), ("b", None), ("a", None)])
@pytest.mark.parametrize("sign", [1, -1])
def test_hidden_columns_are_computed(wrong: tuple[str, Any] | None, sign: Any) -> None:
    schema = Schema("t", (Integer("a", 0, 50), Integer("b", 0, 90, missing=True)))
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 51, 60), rng.integers(0, 91, 60)
    rows = Table(pa.table({"a": a, "b": pa.array(b, mask=b % 7 == 0)}))
    ties = (make_tie("b", "a", sign, schema),)
    hidden = fit_codec(
        Table(rows.arrow.append_column(ties[0].hidden.name, pa.array(b - sign * a))), coordinates(schema, ties)
    )
    codec = replace(hidden, schema=schema, ties=ties)
    if wrong is not None:
        values = [*rows.column(wrong[0]).to_pylist()[:-1], wrong[1]]
        rows = Table(rows.arrow.set_column(rows.names.index(wrong[0]), wrong[0], pa.array(values, pa.float64())))
    assert_same(codec, [rows, Table(rows.arrow.slice(7, 20)), Table(rows.arrow.drop_columns(["a"]))])
    assert columns_to_encode(codec) == ("a", "b")


@pytest.mark.parametrize("last", [30, 31, None])
def test_formulas_are_checked(last: int | None) -> None:
    schema = Schema(
        "t",
        (Integer("a", 0, 50), Integer("b", 0, 50), Integer("c", 0, 100)),
        formulas=(("c", parse_formula("a + b")),),
    )
    codec = build_codec(schema, {})
    rows = pa.table({"a": [1, 10], "b": [2, 20], "c": [3, last]})
    texts = rows.set_column(2, "c", pa.array(["3", "?"]))
    assert_same(codec, [Table(rows), Table(rows.drop_columns(["c"])), Table(texts)])
    assert columns_to_encode(codec) == ("a", "b", "c")

"""Rows of which some cells are given: their codes are those of the whole rows, and they come back as they were."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.data.binning import fit_codec
from cuts.data.codec import Codec, build_codec, decode, encode
from cuts.data.conform import check_table
from cuts.data.exchange.frames import from_native
from cuts.data.partial_rows import apart_from, encode_partial, overwrite
from cuts.data.schema import Category, Empty, Identifier, Integer, Real, Schema, Temporal
from cuts.data.table import Table
from cuts.text.diagnostic import CutsError
from strategies import schemas, tables


@st.composite
def partial_tables(draw: st.DrawFn) -> tuple[Table, Table, Codec]:
    """A table, some of its columns with some of its cells, and a codec."""
    schema = draw(schemas(texts=True))
    table = draw(tables(schema))
    names = draw(st.lists(st.sampled_from(schema.names), min_size=1, unique=True))
    kept = st.lists(st.booleans(), min_size=table.rows, max_size=table.rows)
    cells = {}
    for name in names:
        column = table.column(name).combine_chunks()
        some = pa.array([x if k else None for x, k in zip(column.to_pylist(), draw(kept), strict=True)], column.type)
        cells[name] = pa.nulls(table.rows) if some.null_count == table.rows and draw(st.booleans()) else some
    return table, Table(pa.table(cells)), draw(st.sampled_from([fit_codec(table, schema), build_codec(schema, {})]))


@settings(max_examples=50, deadline=None)
@given(partial_tables())
def test_given_cells_are_encoded_as_in_whole_rows_and_come_back(case: tuple[Table, Table, Codec]) -> None:
    table, some, codec = case
    whole = encode(table, codec)
    codes, masks = encode_partial(some, codec)
    assert set(codes) == set(masks) == set(some.names)
    for name, mask in masks.items():
        assert (mask == ~some.missing(name)).all()
        assert (codes[name][mask] == whole[name][mask]).all()
        assert (codes[name][~mask] == 0).all()
    decoded = decode(whole, codec, seed=1)
    made = overwrite(decoded, some, codec)
    assert made.arrow.schema == decoded.arrow.schema
    assert check_table(made, codec.schema) == ()
    for name in made.names:
        mask = masks.get(name, np.zeros(table.rows, bool))
        wanted = zip(mask, table.column(name).to_pylist(), decoded.column(name).to_pylist(), strict=True)
        assert made.column(name).to_pylist() == [cell if put else drawn for put, cell, drawn in wanted]


SCHEMA = Schema(
    "patients",
    (
        Identifier("id", "P-##", 7),
        Identifier("number", None, 100),
        Integer("age", 0, 110),
        Category("ward", ("cardiology", "surgery")),
        Real("dose", 0.0, 9.0, decimals=1),
        Temporal("seen", "date", 18_000.0, 19_000.0),
        Category("group", ("child", "adult")),
        Empty("nothing"),
    ),
    derived=(("group", "age"),),
)
GROUPS: dict[str, str | float | None] = {str(age): "child" if age < 18 else "adult" for age in range(111)}
CODEC = replace(build_codec(SCHEMA, {}), derived=(("group", "age", GROUPS),))


def drawn(rows: int, codec: Codec = CODEC) -> Table:
    rng = np.random.default_rng(0)
    codes = {bins.column.name: rng.integers(0, bins.size, rows) for bins in codec.columns}
    return decode(codes, codec, seed=0)


def test_everything_wrong_is_told_at_once() -> None:
    wrong = Table(
        pa.table(
            {
                "agee": [1, 2],
                "age": [None, 640],
                "ward": ["surgery", "Oncology"],
                "seen": [3, 4],
                "group": ["adult", None],
                "nothing": ["some", None],
            }
        )
    )
    with pytest.raises(CutsError) as caught:
        encode_partial(wrong, CODEC)
    found = {(d.code, d.title) for d in caught.value.diagnostics}
    assert {code for code, _ in found} == {"unknown-column", "outside-schema", "column-type", "not-modelled"}
    assert len(found) == 6
    assert ("unknown-column", "there is no column `agee` in `patients`") in found
    assert ("not-modelled", "the column `group` follows from `age` and cannot be given") in found
    assert all(d.help and d.severity == "error" for d in caught.value.diagnostics)


def test_columns_without_cells_are_not_given() -> None:
    empty = Table(pa.table({name: pa.nulls(2) for name in SCHEMA.names}))
    codes, masks = encode_partial(empty, CODEC)
    assert set(codes) == {"age", "ward", "dose", "seen"}
    assert not any(mask.any() for mask in masks.values())
    assert overwrite(drawn(2), empty, CODEC).arrow.equals(drawn(2).arrow)


def test_what_follows_a_given_cell_follows_it_exactly() -> None:
    ages = Table(pa.table({"age": [17, 18, None, 3]}))
    made = overwrite(drawn(4), ages, CODEC).arrow.to_pydict()
    assert [made["age"][i] for i in (0, 1, 3)] == [17, 18, 3]
    assert made["group"] == ["child" if age < 18 else "adult" for age in made["age"]]


def test_cells_of_a_frame_get_the_types_of_the_schema() -> None:
    frame = pd.DataFrame(
        {
            "age": [30.0, float("nan")],
            "ward": pd.Categorical(["surgery", None]),
            "seen": [dt.date(2020, 5, 1), None],
            "dose": ["1.5", None],
            "number": [5.0, float("nan")],
        }
    )
    table, _ = from_native(frame)
    codes, masks = encode_partial(table, CODEC)
    assert all(mask.tolist() == [True, False] for mask in masks.values())
    assert len(codes) == 4
    row = overwrite(drawn(2), table, CODEC).arrow.to_pylist()[0]
    assert {name: row[name] for name in ("age", "ward", "seen", "dose", "number")} == {
        "age": 30,
        "ward": "surgery",
        "seen": dt.date(2020, 5, 1),
        "dose": 1.5,
        "number": 5,
    }


def test_identifiers_are_kept_as_given_and_fresh_ones_keep_apart() -> None:
    some = Table(pa.table({"id": ["P-08", None, "P-120", "x", None], "number": [None, 101, None, 7, None]}))
    assert encode_partial(some, CODEC) == ({}, {})
    codec = apart_from(CODEC, some)
    made = overwrite(drawn(5, codec), some, codec)
    assert made.column("id").to_pylist() == ["P-08", "P-122", "P-120", "x", "P-125"]
    assert made.column("number").to_pylist() == [102, 101, 104, 7, 106]
    named = Table(pa.table({"number": ["n1", None, None, None, None]}))
    assert overwrite(drawn(5), named, CODEC).column("number").to_pylist() == ["n1", "101", "102", "103", "104"]
    assert apart_from(CODEC, Table(pa.table({"age": [1]}))) is CODEC


def test_rows_must_be_as_many() -> None:
    with pytest.raises(ValueError, match="3 partial rows"):
        overwrite(drawn(2), Table(pa.table({"age": [1, 2, 3]})), CODEC)

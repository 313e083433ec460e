"""A table with a column of every kind goes through the codec and comes back in every kind of frame."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cuts.data.binning import fit_codec
from cuts.data.codec import decode, encode
from cuts.data.column_facts import find_derived
from cuts.data.conform import check_table, conform
from cuts.data.exchange.frames import from_native, to_native
from cuts.data.identifiers import place_all
from cuts.data.infer import infer_schema
from cuts.data.schema import Category, Empty, Identifier, Schema
from cuts.data.table import Table

ROWS = 4_000
GERMAN = str.maketrans({",": ".", ".": ","})  # 2,303.15 is 2.303,15


def everything() -> pa.Table:
    rng = np.random.default_rng(1)
    missing = rng.random(ROWS) < 0.15
    level = rng.integers(0, 5, ROWS)
    day = dt.date(2020, 1, 1)
    return pa.table(
        {
            "id": pa.array(np.arange(1, ROWS + 1)),
            "case": [f"C-{i:05d}" for i in range(ROWS)],
            "uuid": [str(uuid.UUID(bytes=rng.bytes(16), version=4)) for _ in range(ROWS)],
            "sex": pa.array(rng.choice(["Female", "Male"], ROWS), mask=missing),
            "grade": pa.DictionaryArray.from_arrays(level, ["E", "D", "C", "B", "A"], ordered=True),
            "points": pa.array(level * 10),
            "flag": pa.array(rng.random(ROWS) < 0.3, mask=rng.random(ROWS) < 0.05),
            "constant": ["same"] * ROWS,
            "nothing": pa.nulls(ROWS, pa.float64()),
            "age": pa.array(rng.integers(17, 91, ROWS)),
            "children": pa.array(rng.poisson(1.5, ROWS), pa.int32(), mask=missing),
            "gain": pa.array(np.where(rng.random(ROWS) < 0.9, 0, rng.lognormal(8, 1, ROWS)).astype(np.int64)),
            "price": pa.array(np.round(rng.lognormal(3, 0.5, ROWS), 2), mask=rng.random(ROWS) < 0.1),
            "height": pa.array(rng.normal(1.7, 0.1, ROWS)),
            "born": pa.array([day + dt.timedelta(days=int(d)) for d in rng.integers(0, 900, ROWS)]),
            "opens": pa.array([dt.time(int(m) // 60, int(m) % 60) for m in rng.integers(360, 720, ROWS)]),
            "seen": pa.array(rng.integers(1_600_000_000, 1_700_000_000, ROWS) * 1_000_000).cast(pa.timestamp("us")),
            "logged": pa.array(rng.integers(0, 10**11, ROWS) * 1_000).cast(pa.timestamp("us", "UTC")),
            "stay": pa.array(rng.integers(0, 90, ROWS) * 3_600_000_000, mask=missing).cast(pa.duration("us")),
            "crp": pa.array(np.where(level == 0, "<1.0", np.char.mod("%.1f", rng.lognormal(2, 1, ROWS))), mask=missing),
            "sales": [f"{x:,.2f}".translate(GERMAN) for x in rng.lognormal(7, 1, ROWS)],
            "code": [f"code{min(int(z), 400):03d}" for z in rng.zipf(1.3, ROWS)],
        }
    )


TABLE = everything()
FRAMES: dict[str, Any] = {
    "arrow": lambda: TABLE,
    "pandas": lambda: TABLE.to_pandas(),
    "pandas nullable": lambda: TABLE.to_pandas().convert_dtypes(),
    "pandas arrow": lambda: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.from_arrow(TABLE),
    "polars lazy": lambda: pl.from_arrow(TABLE).lazy(),  # type: ignore[union-attr]
}


def through_the_codec(table: Table, seed: int = 0) -> tuple[Schema, Table, Table]:
    """A bootstrap of the rows, encoded and decoded."""
    schema = infer_schema(table, "t")
    schema = place_all(replace(schema, derived=find_derived(table, schema)), table, seed)
    codec = fit_codec(table, schema)
    codes = encode(table, codec)
    rows = np.random.default_rng(seed).integers(0, table.rows, table.rows)
    return schema, table, decode({name: code[rows] for name, code in codes.items()}, codec, seed=seed)


@pytest.mark.parametrize("kind", FRAMES)
def test_the_same_kind_of_frame_comes_back(kind: str) -> None:
    frame = FRAMES[kind]()
    table, form = from_native(frame)
    schema, _, made = through_the_codec(table)
    assert check_table(made, schema) == ()
    back = to_native(made, form)
    assert type(back) is type(frame)
    eager = back.collect() if kind == "polars lazy" else back
    original = frame.collect() if kind == "polars lazy" else frame
    if kind == "arrow":
        assert eager.schema == original.schema
    elif kind.startswith("pandas"):
        assert eager.dtypes.equals(original.dtypes)
        assert type(eager.index) is type(original.index)
    else:
        assert eager.schema == original.schema
    assert len(eager) == ROWS


def test_statistics_of_a_bootstrap_sized_draw_match_the_rows() -> None:
    table, _ = from_native(TABLE)
    schema, before, after = through_the_codec(table)
    old, new = conform(before, schema), conform(after, schema)
    for column in schema.modelled:
        name = column.name
        rate = float(old.missing(name).mean())
        assert float(new.missing(name).mean()) == pytest.approx(rate, abs=5 * np.sqrt(rate * (1 - rate) / ROWS) + 1e-12)
        if isinstance(column, Category):
            counts = {v["values"]: v["counts"] for v in old.column(name).value_counts().to_pylist()}
            drawn = {v["values"]: v["counts"] for v in new.column(name).value_counts().to_pylist()}
            for value, count in counts.items():
                if count >= 20 and value is not None:
                    assert drawn.get(value, 0) == pytest.approx(count, abs=6 * np.sqrt(count) + 2)
            continue
        x, y = (t.numbers(name) for t in (old, new))
        x, y = x[~np.isnan(x)], y[~np.isnan(y)]
        assert y.mean() == pytest.approx(x.mean(), abs=5 * x.std() / np.sqrt(len(x)))
        fourth = ((x - x.mean()) ** 4).mean()
        spread = np.sqrt(max(fourth - x.var() ** 2, 0) / len(x))
        assert y.var() == pytest.approx(x.var(), abs=6 * spread + 1e-12)
        for share in (0.05, 0.25, 0.5, 0.75, 0.95):
            low, high = np.quantile(x, [max(0, share - 0.03), min(1, share + 0.03)])
            assert low <= np.quantile(y, share) <= high


def test_texts_beside_numbers_are_as_frequent_as_in_the_rows() -> None:
    table, _ = from_native(TABLE)
    schema, before, after = through_the_codec(table)
    assert schema.number("crp").texts == ("<1.0",)
    assert schema.number("sales").texts == ()
    shares = [float(np.mean([cell == "<1.0" for cell in t.column("crp").to_pylist()])) for t in (before, after)]
    assert shares[1] == pytest.approx(shares[0], abs=5 * np.sqrt(shares[0] / ROWS))
    assert pd.Series(after.column("sales").to_pylist()).str.fullmatch(r"\d{1,3}(\.\d{3})*,\d\d").all()


def test_identifiers_are_fresh_unique_and_look_alike() -> None:
    table, _ = from_native(TABLE)
    schema, before, after = through_the_codec(table)
    for name, look in (("id", r"\d+"), ("case", r"C-\d{5}"), ("uuid", r"[0-9a-f-]{36}")):
        assert isinstance(schema[name], Identifier)
        old, new = (set(map(str, t.column(name).to_pylist())) for t in (before, after))
        assert len(new) == ROWS
        assert not old & new
        assert pd.Series(sorted(new)).str.fullmatch(look).all()


def test_derived_and_empty_columns_are_kept_exactly() -> None:
    table, _ = from_native(TABLE)
    schema, before, after = through_the_codec(table)
    assert ("points", "grade") in schema.derived
    pairs = {(g, p) for g, p in zip(*(before.column(n).to_pylist() for n in ("grade", "points")), strict=True)}
    made = {(g, p) for g, p in zip(*(after.column(n).to_pylist() for n in ("grade", "points")), strict=True)}
    assert made <= pairs
    assert isinstance(schema["nothing"], Empty)
    assert after.missing("nothing").all()


def test_the_same_seed_gives_the_same_rows() -> None:
    table, _ = from_native(TABLE)
    one, two, other = (through_the_codec(table, seed)[2].arrow for seed in (3, 3, 4))
    assert one.equals(two)
    assert not one.equals(other)

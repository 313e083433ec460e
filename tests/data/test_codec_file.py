"""A codec is written as JSON and read back the same; a damaged one is a clear error."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arrow_strategies import arrow_tables
from cuts import datasets
from cuts.data.binning import Limits, fit_codec
from cuts.data.codec import Codec, build_codec, decode, encode
from cuts.data.codec_file import codec_data, codec_from, fingerprint
from cuts.data.column_facts import find_derived
from cuts.data.infer import infer_schema
from cuts.data.schema import Category, Empty, Identifier, Integer, Real, Schema, Temporal
from cuts.data.table import Table
from cuts.text.diagnostic import CutsError
from strategies import schemas, tables

PLAIN = [pa.bool_(), pa.int64(), pa.float64(), pa.date32(), pa.string(), pa.timestamp("us", "UTC"), pa.duration("s")]


def assert_same_codec(table: Table, codec: Codec) -> None:
    """Written with its keys in another order and read back, the codec does the same to every row."""
    data = json.loads(json.dumps(codec_data(codec), sort_keys=True, allow_nan=False))
    again = codec_from(data)
    assert again.schema == codec.schema
    assert fingerprint(again) == fingerprint(codec)
    codes, codes_again = encode(table, codec), encode(table, again)
    assert all((codes[name] == codes_again[name]).all() for name in codes)
    assert decode(codes, codec, seed=5).arrow.equals(decode(codes, again, seed=5).arrow)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 4), st.integers(0, 3))
def test_a_codec_is_read_back_as_it_was(data: st.DataObject, most: int, min_count: int) -> None:
    schema = data.draw(schemas(texts=True))
    table = data.draw(tables(schema, most=40))
    assert_same_codec(table, fit_codec(table, schema, limits=Limits(most + 8, min_count)))
    assert_same_codec(table, build_codec(schema, {}))


@settings(max_examples=60, deadline=None)
@given(arrow_tables(PLAIN))
def test_the_codec_of_any_table_is_read_back_as_it_was(arrow: pa.Table) -> None:
    table = Table(arrow)
    try:
        schema = infer_schema(table, "t")
    except CutsError:  # a column nothing fits
        return
    if schema.modelled:
        assert_same_codec(table, fit_codec(table, schema))


@pytest.mark.parametrize("name", ["adult", "german"])
def test_the_codec_of_an_embedded_table_is_read_back_as_it_was(name: str) -> None:
    dataset = datasets.find(name)
    assert dataset is not None
    table, schema = datasets.load(dataset), datasets.load_schema(dataset)
    assert_same_codec(table, fit_codec(table, schema))


def every_kind() -> tuple[Table, Codec]:
    rng = np.random.default_rng(0)
    level = rng.integers(0, 4, 300)
    table = Table(
        pa.table(
            {
                "id": [f"C-{i:04d}" for i in range(300)],
                "grade": pa.array(np.array(["A", "B", "C", "D"])[level]),
                "points": level * 2.5,
                "town": [f"t{int(z) % 40}" for z in rng.zipf(1.2, 300)],
                "price": pa.array(np.round(rng.lognormal(3, 1, 300), 2), mask=level == 0),
                "seen": pa.array(rng.integers(0, 10**15, 300)).cast(pa.timestamp("us")),
                "nothing": pa.nulls(300),
            }
        )
    )
    schema = infer_schema(table, "t")
    schema = replace(schema, derived=find_derived(table, schema))
    assert schema.derived
    assert {type(column) for column in schema} >= {Identifier, Category, Empty, Real, Temporal}
    return table, fit_codec(table, schema)


def test_identifiers_derived_and_empty_columns_are_read_back() -> None:
    assert_same_codec(*every_kind())


def test_the_fingerprint_changes_with_the_codec() -> None:
    schema = Schema("t", (Integer("a", 0, 9, 2), Category("c", ("x", "y"))))
    turned = replace(schema, columns=schema.columns[::-1])
    table = Table(pa.table({"a": [0, 1, 1, 8], "c": ["x", "y", "x", "x"]}))
    codecs = [
        *(build_codec(schema, {}), build_codec(turned, {}), build_codec(schema, {"a": [3]})),
        *(fit_codec(table, schema), build_codec(replace(schema, label="c"), {})),
    ]
    assert len({fingerprint(codec) for codec in codecs}) == len(codecs)
    assert fingerprint(codecs[0]) == fingerprint(build_codec(schema, {}))
    assert len(fingerprint(codecs[0])) == 64


def test_a_codec_is_of_its_schema() -> None:
    schema = Schema("t", (Integer("a", 0, 9),))
    data = codec_data(build_codec(schema, {}))
    assert codec_from(data, schema).schema == schema
    with pytest.raises(ValueError, match="fitted for another schema"):
        codec_from(data, replace(schema, name="other"))


Damage = Callable[[dict[str, Any]], Any]
DAMAGES: dict[str, Damage] = {
    "no schema": lambda d: d.pop("schema"),
    "a schema without columns": lambda d: d["schema"].pop("columns"),
    "a column the schema cannot have": lambda d: d["schema"]["columns"]["town"].update(kind="place"),
    "a name too many": lambda d: d["names"].append("other"),
    "a column too few": lambda d: d["columns"].pop(),
    "columns in another order": lambda d: d["columns"].reverse(),
    "no columns": lambda d: d.update(columns={}),
    "bins that are none": lambda d: d["columns"].__setitem__(0, 7),
    "a group too few": lambda d: d["columns"][1]["groups"].pop(),
    "a group of a number": lambda d: d["columns"][1]["groups"].__setitem__(0, [3]),
    "a category twice": lambda d: d["columns"][1]["groups"][0].append(d["columns"][1]["groups"][1][0]),
    "a member elsewhere": lambda d: d["columns"][1]["places"].reverse(),
    "a place beyond": lambda d: d["columns"][1]["places"].__setitem__(0, 10**30),
    "edges that fall": lambda d: d["columns"][2]["edges"].reverse(),
    "an edge between the lattice": lambda d: d["columns"][2]["edges"].__setitem__(1, 3.14159),
    "an edge that is no number": lambda d: d["columns"][2]["edges"].__setitem__(1, float("nan")),
    "a piece too many": lambda d: d["columns"][2]["low"].append(0.0),
    "a piece elsewhere": lambda d: d["columns"][2]["high"].__setitem__(0, 1e9),
    "a bin without a piece": lambda d: d["columns"][2]["owner"].__setitem__(0, 1),
    "a share too large": lambda d: d["columns"][2]["until"].__setitem__(-1, 99.0),
    "a share that is text": lambda d: d["columns"][2]["until"].__setitem__(0, "1"),
    "no shares": lambda d: d["columns"][3].pop("until"),
    "an unknown derived column": lambda d: d["derived"][0].update(column="grade"),
    "a derived value of another kind": lambda d: d["derived"][0]["values"].__setitem__(0, []),
    "a derived value too few": lambda d: d["derived"][0]["values"].pop(),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_codec_is_a_clear_error(name: str) -> None:
    data = json.loads(json.dumps(codec_data(every_kind()[1])))
    DAMAGES[name](data)
    with pytest.raises((ValueError, CutsError)) as caught:
        codec_from(data)
    assert "damaged" in str(caught.value) or "the schema of the codec" in str(caught.value)


@pytest.mark.parametrize("data", [None, [], 3, "codec", {}, {"schema": {}}, {1: 2}])
def test_what_is_no_codec_is_a_clear_error(data: object) -> None:
    with pytest.raises(ValueError, match="damaged"):
        codec_from(data)

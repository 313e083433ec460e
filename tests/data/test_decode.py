"""Decoding in pieces: identifiers go on, every piece has its own random numbers, nothing leaves its bin."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.data.bin_contents import join_members, join_pieces
from cuts.data.binning import fit_codec
from cuts.data.codec import build_codec, decode, encode
from cuts.data.columns import Identifier, Integer
from cuts.data.identifiers import make_identifiers, start_after
from cuts.data.infer import infer_schema
from cuts.data.schema import Category, Real, Schema
from cuts.data.table import Table

PATTERNS = st.sampled_from([None, "uuid", "C-###", "AA##", "x#x#", "a\\A#", "é#", "XX-##", "##/##", "#" * 25])


@settings(max_examples=200)
@given(PATTERNS, st.integers(0, 200), st.lists(st.integers(0, 40), min_size=1, max_size=4))
def test_identifiers_made_in_pieces_are_those_made_at_once(pattern: str | None, start: int, sizes: list[int]) -> None:
    column = Identifier("id", pattern, start)
    whole = make_identifiers(column, sum(sizes), 3).to_pylist()
    firsts = np.cumsum([0, *sizes]).tolist()
    parts = [make_identifiers(column, rows, 3, first) for rows, first in zip(sizes, firsts, strict=False)]
    assert [value for part in parts for value in part.to_pylist()] == whole
    assert len(set(whole)) == len(whole)


def test_uuids_are_of_version_4_and_other_in_every_column_and_run() -> None:
    columns = [Identifier(name, "uuid") for name in ("a", "b")]
    made = [make_identifiers(column, 500, seed).to_pylist() for column in columns for seed in (0, 1)]
    assert len({text for texts in made for text in texts}) == 2_000
    for text in made[0]:
        found = uuid.UUID(text)
        assert (str(found), found.version, found.variant) == (text, 4, uuid.RFC_4122)


@settings(max_examples=100)
@given(PATTERNS.filter(lambda p: p != "uuid"), st.integers(0, 10**6), st.lists(st.integers(0, 2_000), max_size=20))
def test_identifiers_begin_after_those_that_are_taken(pattern: str | None, start: int, steps: list[int]) -> None:
    taken = [make_identifiers(Identifier("id", pattern, step), 1, 0)[0].as_py() for step in steps]
    column = Identifier("id", pattern, start)
    assert start_after(column, ["no such look", *taken]) == max([start, *(step + 1 for step in steps)])


def test_a_piece_depends_on_the_seed_and_its_place_alone() -> None:
    schema = Schema(
        "t", (Identifier("id", "C-##", 1), Integer("n", 0, 10**6, 4), Identifier("u", "uuid"), Real("x", 0, 1))
    )
    codec = build_codec(schema, {})
    rng = np.random.default_rng(0)
    codes = {"n": rng.integers(0, 4, 300), "x": rng.integers(0, 32, 300)}

    def piece(start: int, end: int, seed: int = 5) -> pa.Table:
        part = {name: code[start:end] for name, code in codes.items()}
        return decode(part, codec, seed=seed, first=start).arrow

    assert piece(100, 200).equals(piece(100, 200))
    assert piece(0, 100).equals(decode({n: c[:100] for n, c in codes.items()}, codec, seed=5).arrow)
    whole = pa.concat_tables([piece(0, 100), piece(100, 200), piece(200, 300)])
    assert whole.column("id").to_pylist()[-1] == "C-300"
    assert all(len(whole.column(name).unique()) == 300 for name in ("id", "u"))
    assert len(whole.column("x").unique()) == 300, "no piece repeats the random numbers of another"
    assert not piece(100, 200).equals(piece(100, 200, seed=6))


class Greatest(np.random.Generator):
    """Random numbers as near to 1 as they can be."""

    def random(self, size: int) -> np.ndarray:  # type: ignore[override,type-arg]
        return np.full(size, np.nextafter(1.0, 0.0))


def test_no_random_number_leads_out_of_a_bin() -> None:
    bins = 100
    ends = np.arange(bins, dtype=float)
    pieces = join_pieces([(ends[i : i + 1], ends[i : i + 1] + 0.5, np.ones(1)) for i in range(bins)], None)
    codes = np.arange(bins)
    drawn = pieces.draw(codes, Greatest(np.random.Philox(0)))
    assert ((ends <= drawn) & (drawn <= ends + 0.5)).all()
    members = join_members([(np.array([2 * i, 2 * i + 1]), np.array([0.1, 0.0])) for i in range(bins)])
    assert (members.draw(codes, Greatest(np.random.Philox(0))) == 2 * codes).all(), "a member without weight"


@settings(max_examples=100)
@given(st.lists(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=6).filter(any), min_size=1, max_size=6))
def test_weights_are_read_back(bins: list[list[float]]) -> None:
    members = join_members([(np.arange(len(weights)), np.array(weights)) for weights in bins])
    wanted = np.concatenate([np.array(weights) / sum(weights) for weights in bins])
    assert members.weights() == pytest.approx(wanted, abs=1e-13 * len(bins))
    assert (members.weights()[wanted == 0] == 0).all()


def test_derived_columns_follow_dates_and_large_numbers() -> None:
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=i % 7) for i in range(70)]
    big = [10**15 + i % 3 for i in range(70)]
    table = Table(
        pa.table({"day": days, "name": [d.strftime("%a") for d in days], "n": big, "m": [float(b % 7) for b in big]})
    )
    schema = infer_schema(table, "t")
    schema = replace(schema, derived=(("name", "day"), ("m", "n")))
    codec = fit_codec(table, schema)
    made = decode(encode(table, codec), codec, seed=0).arrow.to_pydict()
    assert made["name"] == [d.strftime("%a") for d in made["day"]]
    assert made["m"] == [float(n % 7) for n in made["n"]]


def test_a_derived_column_nothing_is_known_of_is_missing() -> None:
    schema = Schema("t", (Integer("n", 0, 9), Category("c", ("x",))), derived=(("c", "n"),))
    assert decode({"n": np.array([1, 2])}, build_codec(schema, {}), seed=0).column("c").to_pylist() == [None, None]

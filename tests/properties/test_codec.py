"""Laws of codecs fitted to rows: the same rules hold before and after, and moments are those of what is drawn."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bin_moments import bin_moments
from cuts.data.binning import Limits, fit_codec
from cuts.data.codec import CategoryBins, NumericBins, decode, encode
from cuts.data.conform import check_table, conform
from cuts.data.infer import infer_schema
from cuts.data.schema import Category, Integer, Real, Schema
from cuts.data.table import Table
from cuts.lang.spec import Pred
from cuts.logic.core import encode_variables, find_cuts, grid_on
from cuts.logic.diagram import compile_rules, contains
from cuts.read import exact
from strategies import predicates, schemas, tables


@st.composite
def cases(draw: st.DrawFn) -> tuple[Schema, Table, Pred]:
    schema = draw(schemas(texts=True))
    return schema, draw(tables(schema, most=40)), draw(predicates(schema))


@settings(max_examples=50, deadline=None)
@given(cases(), st.integers(1, 4), st.integers(0, 3))
def test_a_fitted_codec_decides_every_rule_and_stays_in_its_bins(
    case: tuple[Schema, Table, Pred], max_categories: int, min_count: int
) -> None:
    schema, table, pred = case
    cuts = find_cuts([pred], schema)
    codec = fit_codec(table, schema, cuts.columns, cuts.sets, Limits(max_categories + 8, min_count))
    codes = encode(table, codec)
    decoded = decode(codes, codec, seed=11)
    assert check_table(decoded, schema) == ()
    again = encode(decoded, codec)
    assert all((again[name] == codes[name]).all() for name in codes)
    held = exact.mask(pred, conform(table, schema))
    grid = grid_on(codec, cuts)
    assert (contains(compile_rules([pred], grid), encode_variables(table, grid)) == held).all()
    if not cuts.sums:
        assert (exact.mask(pred, conform(decoded, schema)) == held).all()


@pytest.mark.parametrize("decimals", [None, 0, 2])
def test_moments_are_those_of_the_decoded_values(decimals: int | None) -> None:
    rng = np.random.default_rng(4)
    values = np.concatenate([np.zeros(3_000), rng.lognormal(3, 1, 5_000), rng.normal(50, 10, 2_000)])
    if decimals is not None:
        values = np.round(values, decimals)
    table = Table(pa.table({"x": values}))
    schema = infer_schema(table, "t")
    (bins,) = fit_codec(table, schema).columns
    assert isinstance(bins, NumericBins)
    assert bins.size <= 34 + 2 * 100  # beside the bins, the values above 0.3 % have their own
    mean, square = bin_moments(bins.contents)
    codes = np.arange(len(mean)).repeat(20_000)
    drawn = bins.contents.draw(codes, rng).reshape(len(mean), -1)
    spread = drawn.std(1) / np.sqrt(drawn.shape[1])
    assert (np.abs(drawn.mean(1) - mean) <= 5 * spread + 1e-9).all()
    spread = (drawn**2).std(1) / np.sqrt(drawn.shape[1])
    assert (np.abs((drawn**2).mean(1) - square) <= 5 * spread + 1e-9).all()


def test_spikes_have_bins_of_their_own_and_the_tail_is_kept() -> None:
    values = [0] * 900 + list(range(1, 96)) + [99_999] * 5
    table = Table(pa.table({"gain": values}))
    schema = Schema("t", (Integer("gain", 0, 99_999),))
    codec = fit_codec(table, schema, {"gain": [50.0]})
    (bins,) = codec.columns
    assert isinstance(bins, NumericBins)
    assert bins.edges[:2] == (0.0, 1.0)
    assert 50.0 in bins.edges
    decoded = decode(encode(table, codec), codec, seed=1).numbers("gain")
    assert (decoded == 0).sum() == 900
    assert decoded.max() == 99_999


def test_uniform_and_explicit_bins_are_kept() -> None:
    table = Table(pa.table({"a": list(range(100)), "b": [x / 10 for x in range(100)]}))
    schema = Schema("t", (Integer("a", 0, 99, 4, binning="uniform"), Real("b", 0.0, 9.9, (1.0, 5.0), decimals=1)))
    first, second = fit_codec(table, schema).columns
    assert isinstance(first, NumericBins)
    assert isinstance(second, NumericBins)
    assert first.edges == (0.0, 25.0, 50.0, 75.0)
    assert second.edges == (0.0, 1.0, 5.0)


def test_many_categories_share_bins_and_rare_ones_are_not_drawn() -> None:
    texts = [f"code{i:04d}" for i in range(3_000) for _ in range(1 + i % 10)]
    table = Table(pa.table({"code": texts}))
    schema = infer_schema(table, "t")
    told_apart = frozenset({"code0007", "code0000"})
    codec = fit_codec(table, schema, sets={"code": (told_apart,)})
    (bins,) = codec.columns
    assert isinstance(bins, CategoryBins)
    assert bins.size <= 64 + 16
    assert all(len({c in told_apart for c in group}) == 1 for group in bins.groups)
    decoded = decode({"code": np.repeat(encode(table, codec)["code"], 20)}, codec, seed=2).column("code")
    drawn = set(decoded.unique().to_pylist())
    counts = {c: texts.count(c) for c in ("code0000", "code0001", "code0007", "code0009")}
    assert counts == {"code0000": 1, "code0001": 2, "code0007": 8, "code0009": 10}
    assert {"code0007", "code0009", "code0000"} <= drawn  # frequent, or named by the program
    assert "code0001" not in drawn
    common = {c for c in drawn if texts.count(c) >= 5}
    assert len(common) == 1_800, "every value that is not rare can occur"


def test_a_declared_schema_draws_rare_values_too() -> None:
    table = Table(pa.table({"c": ["a"] * 50 + ["b"]}))
    declared = Schema("t", (Category("c", ("a", "b")),))
    codec = fit_codec(table, declared)
    assert set(decode(encode(table, codec), codec, seed=0).column("c").to_pylist()) == {"a", "b"}
    inferred = infer_schema(table, "t")
    codec = fit_codec(table, inferred)
    assert set(decode(encode(table, codec), codec, seed=0).column("c").to_pylist()) == {"a"}

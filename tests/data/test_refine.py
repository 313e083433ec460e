"""Laws of a refined codec: the same distribution on finer bins, on which the program is decided exactly."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bin_moments import bin_moments
from cuts import datasets
from cuts.data.binning import Limits, fit_codec
from cuts.data.codec import CategoryBins, Codec, ColumnBins, NumericBins, build_codec, decode, encode
from cuts.data.codec_file import codec_data, codec_from
from cuts.data.conform import check_table, conform
from cuts.data.refine import Split, refine
from cuts.data.schema import Category, Integer, Real, Schema
from cuts.data.table import Table
from cuts.lang.spec import Pred
from cuts.logic.core import encode_variables, find_cuts, grid_on
from cuts.logic.diagram import compile_rules, contains
from cuts.read import exact
from strategies import predicates, schemas, tables

Case = tuple[Schema, Table, Pred, Codec]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A codec that knows nothing of the predicate, fitted to rows or even."""
    schema = draw(schemas(texts=True))
    table = draw(tables(schema, most=40))
    codec = fit_codec(table, schema, limits=Limits(draw(st.integers(1, 3)) + 8, draw(st.integers(0, 3))))
    return schema, table, draw(predicates(schema)), draw(st.sampled_from([codec, build_codec(schema, {})]))


def merged_category_cases() -> st.SearchStrategy[tuple[Codec, list[frozenset[str]]]]:
    """Category bins of many members, and sets across them."""
    texts = [f"c{i:02d}" for i in range(30)]
    schema = Schema("t", (Category("c", tuple(texts), missing=True),), provenance="inferred")
    counts = st.lists(st.integers(0, 9), min_size=30, max_size=30).filter(any)
    codecs = counts.map(
        lambda found: fit_codec(
            Table(pa.table({"c": [c for c, n in zip(texts, found, strict=True) for _ in range(n)]})),
            schema,
            limits=Limits(10, 3),
        )
    )
    return st.tuples(codecs, st.lists(st.frozensets(st.sampled_from(texts), max_size=9), max_size=3))


def probabilities(bins: ColumnBins) -> dict[tuple[int, float], float]:
    """The probability of every value a bin is made of one by one: (bin, value) to probability."""
    found: dict[tuple[int, float], float] = defaultdict(float)
    inside = bins.contents
    weights = inside.weights().tolist()
    if isinstance(bins, CategoryBins):
        for place, owner, weight in zip(bins.contents.places.tolist(), inside.owner.tolist(), weights, strict=True):
            found[owner, place] += weight
        return found
    assert isinstance(bins, NumericBins)
    ends = zip(bins.contents.low.tolist(), bins.contents.high.tolist(), inside.owner.tolist(), weights, strict=True)
    for low, high, owner, weight in ends:
        for value in np.arange(low, high + 1):
            found[owner, value] += weight / (high - low + 1)
    return found


def assert_same_distribution(coarse: ColumnBins, fine: ColumnBins, split: Split) -> None:
    assert fine.size == len(split.owner) == len(split.share)
    assert (split.share >= 0).all()
    assert np.bincount(split.owner, split.share, minlength=coarse.size) == pytest.approx(
        np.ones(coarse.size), abs=1e-12
    )
    if isinstance(coarse, NumericBins) and isinstance(fine, NumericBins):
        scale = max(abs(coarse.column.low), abs(coarse.column.high), 1e-9)
        bins = len(fine.edges)
        for power, (before, after) in enumerate(
            zip(bin_moments(coarse.contents), bin_moments(fine.contents), strict=True), 1
        ):
            again = np.bincount(split.owner[:bins], split.share[:bins] * after)
            assert again == pytest.approx(before, abs=1e-12 * scale**power)
    narrow = isinstance(coarse, CategoryBins) or (
        coarse.column.per_unit is not None and (coarse.column.high - coarse.column.low) * coarse.column.per_unit < 500
    )
    if narrow:
        wanted, got = probabilities(coarse), defaultdict[tuple[int, float], float](float)
        for (owner, value), weight in probabilities(fine).items():
            got[int(split.owner[owner]), value] += weight * float(split.share[owner])
        for key in wanted.keys() | got.keys():
            assert got[key] == pytest.approx(wanted.get(key, 0.0), abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(cases())
def test_a_refined_codec_has_the_same_distribution_on_finer_bins(case: Case) -> None:
    schema, table, pred, codec = case
    cuts = find_cuts([pred], schema)
    fine, splits = refine(codec, cuts.columns, cuts.sets)
    codes, finer = encode(table, codec), encode(table, fine)
    for before, after in zip(codec.columns, fine.columns, strict=True):
        name = before.column.name
        if name not in splits:
            assert after is before
            continue
        assert (splits[name].owner[finer[name]] == codes[name]).all()
        assert_same_distribution(before, after, splits[name])
    assert refine(fine, cuts.columns, cuts.sets)[1] == {}


@settings(max_examples=50, deadline=None)
@given(cases())
def test_a_refined_codec_decides_every_rule_and_stays_in_its_bins(case: Case) -> None:
    schema, table, pred, codec = case
    cuts = find_cuts([pred], schema)
    fine, _ = refine(codec, cuts.columns, cuts.sets)
    grid = grid_on(fine, cuts)
    held = exact.mask(pred, conform(table, schema))
    assert (contains(compile_rules([pred], grid), encode_variables(table, grid)) == held).all()
    codes = {bins.column.name: np.arange(bins.size).repeat(5)[: 5 * bins.size] for bins in fine.columns}
    longest = max(map(len, codes.values()))
    codes = {name: np.resize(code, longest) for name, code in codes.items()}
    decoded = decode(codes, fine, seed=2)
    assert check_table(decoded, schema) == ()
    again = encode(decoded, fine)
    assert all((again[name] == codes[name]).all() for name in codes)
    codec_from(codec_data(fine))  # which checks that every piece lies in its bin


@settings(max_examples=50, deadline=None)
@given(merged_category_cases())
def test_categories_that_share_a_bin_are_told_apart(case: tuple[Codec, list[frozenset[str]]]) -> None:
    codec, sets = case
    fine, splits = refine(codec, {}, {"c": sets})
    (before,), (after,) = codec.columns, fine.columns
    assert isinstance(after, CategoryBins)
    assert all(len({c in each for c in group}) == 1 for group in after.groups for each in sets)
    if "c" in splits:
        assert_same_distribution(before, after, splits["c"])
        assert splits["c"].owner[-1] == before.size - 1
        assert splits["c"].share[-1] == 1.0
    else:
        assert after is before


def test_shares_are_counts_of_lattice_points_and_lengths() -> None:
    schema = Schema("t", (Integer("n", 0, 9, 1), Real("x", 0.0, 10.0, 1), Integer("kept", 0, 9)))
    codec = build_codec(schema, {})
    fine, splits = refine(codec, {"n": [3.5, 99.0], "x": [2.5], "kept": [0.0]}, {})
    assert fine.columns[0].edges == (0.0, 4.0)  # type: ignore[union-attr]
    assert splits["n"].share.tolist() == [0.4, 0.6]
    assert splits["x"].share.tolist() == [0.25, 0.75]
    assert splits["n"].owner.tolist() == [0, 0]
    assert set(splits) == {"n", "x"}
    assert fine.columns[2] is codec.columns[2]


def test_a_bin_nothing_lies_in_has_no_share_and_even_values() -> None:
    table = Table(pa.table({"n": [2, 2, 2, 8, 8, 8, 8, 9, 9]}))
    schema = Schema("t", (Integer("n", 0, 9, (5.0,)),))
    codec = fit_codec(table, schema)
    fine, splits = refine(codec, {"n": [4, 9]}, {})
    assert splits["n"].owner.tolist() == [0, 0, 1, 1]
    assert splits["n"].share == pytest.approx([1.0, 0.0, 2 / 3, 1 / 3])
    drawn = decode({"n": np.full(200, 1)}, fine, seed=0).column("n").to_pylist()
    assert set(drawn) == {4}
    (bins,) = fine.columns
    assert isinstance(bins, NumericBins)
    assert bin_moments(bins.contents)[0].tolist() == [2.0, 4.0, 8.0, 9.0]


def test_the_codec_of_adult_is_refined_for_a_program() -> None:
    dataset = datasets.find("adult")
    assert dataset is not None
    table, schema = datasets.load(dataset), datasets.load_schema(dataset)
    codec = fit_codec(table, schema)
    fine, splits = refine(codec, {"age": [35.5, 60], "hours_per_week": [41]}, {"education": [frozenset({"HS-grad"})]})
    codes, finer = encode(table, codec), encode(table, fine)
    assert set(splits) <= {"age", "hours_per_week"}
    for name, split in splits.items():
        assert (split.owner[finer[name]] == codes[name]).all()
        # The shares are those of the rows, as far as a bin remembers them: here, value by value.
        rows = np.bincount(finer[name], minlength=len(split.share))
        wanted = rows / np.bincount(codes[name])[split.owner]
        assert split.share == pytest.approx(wanted, abs=1e-9)

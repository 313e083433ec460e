"""Laws of bins fitted to rows: ranks and values inside a bin are inverse, and coarse bins keep to their budget."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.data.bin_contents import Pieces, join_pieces
from cuts.data.binning import (
    COARSE_SPIKE_SHARE,
    MAX_TABLE_BINS,
    MIN_COARSE_BINS,
    MIN_WIDE_BINS,
    SPIKE_ROWS,
    WIDE_COLUMNS,
    Limits,
    fit_codec,
)
from cuts.data.codec import CategoryBins, Codec, NumericBins, bin_limits, build_codec, decode, encode
from cuts.data.columns import DEFAULT_BINS
from cuts.data.conform import conform
from cuts.data.infer import infer_schema
from cuts.data.schema import Category, Integer, Real, Schema
from cuts.data.table import Floats, IntArray, Table
from strategies import schemas, tables

Case = tuple[Codec, Table]
ENDS_AND_BETWEEN = np.concatenate([[0.0, 5e-324, 1e-17, 1.0 - 2**-53, 1.0], np.linspace(0.0, 1.0, 41)])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A table and its bins: coarse or not, or bins that no row was looked at for."""
    schema = draw(schemas(texts=True))
    table = draw(tables(schema, most=60))
    fitted = fit_codec(table, schema, coarse=draw(st.booleans()))
    return draw(st.sampled_from([fitted, build_codec(schema, {})])), table


def numeric(codec: Codec) -> list[NumericBins]:
    return [bins for bins in codec.columns if isinstance(bins, NumericBins)]


def pieces_of(draw: st.DrawFn, *, per_unit: int | None) -> Pieces:
    """Contents of a few bins: points and intervals in order, some of them without weight."""
    place, bins = draw(st.integers(-50, 50)), []
    for _ in range(draw(st.integers(1, 4))):
        low, high, weight = [], [], []
        for _ in range(draw(st.integers(1, 5))):
            width = draw(st.integers(0, 6))
            low.append(float(place))
            high.append(float(place + width))
            weight.append(float(draw(st.integers(0, 9))))
            place += width + draw(st.integers(1, 5))
        if not any(weight):
            weight[-1] = 1.0
        bins.append((np.array(low), np.array(high), np.array(weight)))
    return join_pieces(bins, per_unit)


@st.composite
def contents(draw: st.DrawFn) -> Pieces:
    return pieces_of(draw, per_unit=draw(st.sampled_from([None, 1, 10, 100])))


def bin_ends(pieces: Pieces, codes: IntArray) -> tuple[Floats, Floats]:
    """The lowest and highest value of each code's bin."""
    unit = pieces.per_unit or 1
    first = np.searchsorted(pieces.owner, codes)
    last = np.searchsorted(pieces.owner, codes, side="right") - 1
    return pieces.low[first] / unit, pieces.high[last] / unit


def every_rank(pieces: Pieces) -> tuple[IntArray, Floats]:
    """All bins at many ranks, the ends included, and the ranks at which a piece ends."""
    bins = np.arange(int(pieces.owner[-1]) + 1)
    ranks = np.concatenate([ENDS_AND_BETWEEN, np.unique(pieces.until % 1.0)])
    return np.repeat(bins, len(ranks)), np.tile(ranks, len(bins))


# --- values and ranks inside a bin


@given(contents())
def test_the_value_at_any_rank_lies_in_its_bin_and_rises_with_the_rank(pieces: Pieces) -> None:
    codes, ranks = every_rank(pieces)
    values = pieces.at(codes, ranks)
    low, high = bin_ends(pieces, codes)
    assert ((low <= values) & (values <= high)).all()
    order = np.lexsort((ranks, codes))
    assert (np.diff(values[order]) >= 0).all()  # bins and ranks in order: values in order


@given(contents())
def test_the_value_at_the_rank_of_a_value_is_that_value(pieces: Pieces) -> None:
    codes, ranks = every_rank(pieces)
    values = pieces.at(codes, ranks)
    found = pieces.rank(codes, values)
    assert ((found >= 0) & (found <= 1)).all()
    back = pieces.at(codes, found)
    if pieces.per_unit is None:
        np.testing.assert_allclose(back, values, rtol=0, atol=1e-9)
    else:
        assert (back == values).all()


@given(contents())
def test_values_drawn_are_as_frequent_as_the_weights_say(pieces: Pieces) -> None:
    rows = 2_000
    ranks = (np.arange(rows) + 0.5) / rows  # evenly spread: what a draw has on average
    weights = pieces.weights()
    for code in range(int(pieces.owner[-1]) + 1):
        values = pieces.at(np.full(rows, code), ranks) * (pieces.per_unit or 1)
        for piece in np.flatnonzero(pieces.owner == code):
            inside = (values >= pieces.low[piece] - 1e-9) & (values <= pieces.high[piece] + 1e-9)
            assert inside.mean() == pytest.approx(weights[piece], abs=2 / rows)


@settings(max_examples=60)
@given(cases())
def test_rows_have_ranks_that_give_them_back(case: Case) -> None:
    codec, table = case
    codes, typed = encode(table, codec), conform(table, codec.schema)
    for bins in numeric(codec):
        name = bins.column.name
        present = ~np.isnan(typed.numbers(name))
        values, own = typed.numbers(name)[present], codes[name][present]
        ranks = bins.contents.rank(own, values)
        assert ((ranks >= 0) & (ranks <= 1)).all()
        back = bins.contents.at(own, ranks)
        if bins.column.per_unit is None:
            width = bins.column.high - bins.column.low
            np.testing.assert_allclose(back, values, rtol=0, atol=1e-9 * max(width, 1.0))
        else:
            assert (back == values).all()


@settings(max_examples=60)
@given(cases())
def test_every_rank_of_a_fitted_bin_is_a_value_of_the_column_in_that_bin(case: Case) -> None:
    codec, _ = case
    for bins in numeric(codec):
        codes, ranks = every_rank(bins.contents)
        values = bins.contents.at(codes, ranks)
        low, high = (np.array(ends)[codes] for ends in zip(*bin_limits(bins.column, bins.edges), strict=True))
        assert ((low <= values) & (values <= high)).all()
        assert (np.searchsorted(np.array(bins.edges), values, side="right") - 1 == codes).all()
        if bins.column.per_unit is not None:
            assert (np.rint(values * bins.column.per_unit) / bins.column.per_unit == values).all()


# --- coarse bins


@settings(max_examples=40)
@given(cases())
def test_bins_of_any_kind_hold_every_row(case: Case) -> None:
    codec, table = case
    codes = encode(table, codec)
    assert all((codes[name] >= 0).all() and (codes[name] < size).all() for name, size in codec.sizes.items())
    assert encode(decode(codes, codec, seed=3), codec).keys() == codes.keys()


def numbers_table(columns: int, rows: int, seed: int = 0) -> Table:
    """Skewed columns, each with heavy values of its own: column 0 has the heaviest."""
    rng = np.random.default_rng(seed)
    made = {}
    for i in range(columns):
        values = rng.lognormal(3.0, 1.0, rows).round(3)
        for spike in range(6):
            share = 0.30 / (1 + i) / (1 + spike)
            values[rng.random(rows) < share] = 1000.0 * (i + 1) + spike
        made[f"x{i:02}"] = values
    return Table(pa.table(made))


@pytest.mark.parametrize(("columns", "rows"), [(3, 400), (60, 3_000), (200, 500)])
def test_the_bins_of_a_table_keep_to_their_budget(columns: int, rows: int) -> None:
    table = numbers_table(columns, rows)
    codec = fit_codec(table, infer_schema(table, "t"), coarse=True)
    fewest = MIN_WIDE_BINS if columns > WIDE_COLUMNS else 2  # and two more around a frequent value
    assert sum(codec.sizes.values()) <= max(MAX_TABLE_BINS, (fewest + 2) * columns)
    assert min(codec.sizes.values()) >= 2
    fine = fit_codec(table, infer_schema(table, "t"))
    assert sum(codec.sizes.values()) < sum(fine.sizes.values())


def own_bins(codec: Codec, name: str) -> set[float]:
    """The values of a column that are alone in a bin."""
    bins = codec[name]
    assert isinstance(bins, NumericBins)
    unit, inside = bins.column.per_unit or 1, bins.contents
    alone = np.flatnonzero(np.bincount(inside.owner) == 1)
    rows = [int(np.flatnonzero(inside.owner == code)[0]) for code in alone.tolist()]
    return {float(inside.low[row]) / unit for row in rows if inside.low[row] == inside.high[row]}


def test_the_heaviest_values_of_a_wide_table_have_bins_of_their_own() -> None:
    table = numbers_table(60, 3_000)
    codec = fit_codec(table, infer_schema(table, "t"), coarse=True)
    alone = {name: own_bins(codec, name) for name in table.names}
    counts = {
        (name, value): rows
        for name in table.names
        for value, rows in Counter(table.numbers(name).tolist()).items()
        if rows > max(COARSE_SPIKE_SHARE * 3_000, SPIKE_ROWS)
    }
    kept = [rows for (name, value), rows in counts.items() if value in alone[name]]
    left = [rows for (name, value), rows in counts.items() if value not in alone[name]]
    assert kept
    assert left  # there is not room for all of them
    assert min(kept) >= max(left)


def test_a_narrow_table_has_few_bins_and_one_for_every_heavy_value() -> None:
    table = numbers_table(2, 4_000)
    codec = fit_codec(table, infer_schema(table, "t"), coarse=True)
    for name in table.names:
        heavy = {
            value
            for value, rows in Counter(table.numbers(name).tolist()).items()
            if rows > max(COARSE_SPIKE_SHARE * 4_000, SPIKE_ROWS)
        }
        assert heavy <= own_bins(codec, name)
        assert codec.sizes[name] <= MIN_COARSE_BINS + 2 * len(heavy) + 1


def test_few_distinct_values_are_bins_each() -> None:
    table = Table(pa.table({"n": np.tile(np.arange(12), 60), "x": np.linspace(0.0, 1.0, 720)}))
    codec = fit_codec(table, infer_schema(table, "t"), coarse=True)
    assert codec.sizes["n"] == 12
    assert own_bins(codec, "n") == set(range(12))


@pytest.mark.parametrize("coarse", [False, True])
def test_bins_that_a_schema_states_are_kept(coarse: bool) -> None:
    rng = np.random.default_rng(1)
    table = Table(pa.table({"x": rng.normal(size=500), "y": rng.normal(size=500), "z": rng.normal(size=500)}))
    columns = (
        Real("x", -9.0, 9.0, 21, binning="quantile"),
        Real("y", -9.0, 9.0, (-1.0, 0.5, 2.0)),
        Real("z", -9.0, 9.0, DEFAULT_BINS, binning="quantile"),
    )
    codec = fit_codec(table, Schema("t", columns), coarse=coarse)
    assert codec.sizes["x"] == 21
    assert codec.sizes["y"] == 4
    assert (codec.sizes["z"] == MIN_COARSE_BINS) == coarse


def test_constants_of_the_program_are_edges_of_coarse_bins() -> None:
    table = numbers_table(60, 500)
    codec = fit_codec(table, infer_schema(table, "t"), {"x07": [13.25, 977.5]}, coarse=True)
    bins = codec["x07"]
    assert isinstance(bins, NumericBins)
    assert {13.25, 977.5} <= set(bins.edges)


def test_categories_take_room_from_numbers() -> None:
    rng = np.random.default_rng(2)
    texts = [f"c{i}" for i in range(60)]
    columns = tuple(Category(f"k{j}", tuple(texts)) for j in range(9)) + tuple(
        Integer(f"n{j}", 0, 10**6, DEFAULT_BINS, binning="quantile") for j in range(10)
    )
    made = {f"k{j}": rng.choice(texts, 5_000) for j in range(9)}
    table = Table(pa.table(made | {f"n{j}": rng.integers(0, 10**6, 5_000) for j in range(10)}))
    codec = fit_codec(table, Schema("t", columns, max_categories=64, min_count=0), limits=Limits(64, 0), coarse=True)
    assert all(isinstance(codec[f"k{j}"], CategoryBins) for j in range(9))
    assert sum(codec.sizes.values()) <= MAX_TABLE_BINS
    assert all(2 <= codec.sizes[f"n{j}"] <= 6 for j in range(10))


# --- values stay values of the rows


def drawn_values(values: Floats | IntArray, *, coarse: bool = True) -> tuple[set[float], set[float]]:
    """The values of one column, and those of rows decoded from evenly frequent bins."""
    table = Table(pa.table({"v": values, "other": np.arange(len(values)) % 7}))
    codec = fit_codec(table, infer_schema(table, "t"), coarse=coarse)
    rng = np.random.default_rng(0)
    codes = {name: rng.integers(0, size, 5_000) for name, size in codec.sizes.items()}
    made = decode(codes, codec, seed=1)
    assert made.column("v").type == table.column("v").type
    return set(table.numbers("v").tolist()), set(made.numbers("v").tolist())


@pytest.mark.parametrize("rows", [400, 600, 800, 1_200, 3_000])
def test_times_written_as_numbers_stay_valid(rows: int) -> None:
    minutes = np.random.default_rng(3).integers(0, 24 * 60, rows)
    real, made = drawn_values(100 * (minutes // 60) + minutes % 60)
    assert made <= real
    assert all(value % 100 < 60 for value in made)


@pytest.mark.parametrize("rows", [300, 3_000, 30_000])
def test_full_hours_stay_full_hours(rows: int) -> None:
    hours = np.random.default_rng(4).integers(0, 2_000, rows)
    real, made = drawn_values(3_600 * hours + 1_800)
    assert all(value % 3_600 == 1_800 for value in made)
    assert min(real) <= min(made) <= max(made) <= max(real)
    assert len(made) > 200


def test_decimals_are_kept() -> None:
    prices = np.random.default_rng(5).lognormal(3, 1, 4_000).round(2)
    _, made = drawn_values(prices)
    assert all(round(value, 2) == value for value in made)
    assert any(round(value, 1) != value for value in made)

"""Distributions on shared bins, pairs of columns, dependence and correlations, against their definitions in numpy."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from cuts.assess.histograms import Distribution, distributions, share_bins
from cuts.assess.pairs import correlations, dependence, pair_differences
from cuts.assess.readable_bins import MAX_BINS, choose_bins
from cuts.assess.table_arrays import Sample, read_sample
from cuts.data.columns import Temporal
from cuts.data.infer import infer_schema
from cuts.data.schema import Category, Integer, Real, Schema
from cuts.data.table import Table


def samples(
    real: dict[str, object], synthetic: dict[str, object], schema: Schema | None = None
) -> tuple[Sample, Sample]:
    tables = Table(pa.table(real)), Table(pa.table(synthetic))
    known = infer_schema(tables[0], "t") if schema is None else schema
    return read_sample(tables[0], known, "train"), read_sample(tables[1], known, "synthetic")


def found(real: dict[str, object], synthetic: dict[str, object], schema: Schema | None = None) -> Distribution:
    (only,) = distributions(share_bins(*samples(real, synthetic, schema)), seed=0)
    return only


def test_categories_are_sorted_by_their_share_of_the_real_rows_and_missing_is_last() -> None:
    schema = Schema("t", (Category("c", ("a", "b", "missing"), missing=True),))
    seen = found({"c": ["b", "b", "a", None]}, {"c": ["a", "a", "missing", "b"]}, schema)
    assert seen.bins == ("b", "a", "missing", "(missing)")
    assert seen.real == (0.5, 0.25, 0.0, 0.25)
    assert seen.synthetic == (0.25, 0.5, 0.25, 0.0)
    assert seen.distance == pytest.approx(0.5)


def test_ordered_categories_keep_their_order() -> None:
    schema = Schema("t", (Category("c", ("low", "middle", "high"), ordered=True),))
    assert found({"c": ["high", "high", "low"]}, {"c": ["middle"] * 3}, schema).bins == ("low", "middle", "high")


def test_the_rarest_categories_are_joined() -> None:
    names = [f"v{number:02}" for number in range(30)]
    real = [name for number, name in enumerate(names) for _ in range(40 - number)]
    seen = found({"c": real}, {"c": real}, Schema("t", (Category("c", tuple(names)),)))
    assert len(seen.bins) == MAX_BINS
    assert (seen.bins[0], seen.bins[-1], seen.other_values) == ("v00", "other", 11)
    assert sum(seen.real) == pytest.approx(1.0)
    assert seen.distance == 0.0


def test_the_distance_is_half_the_sum_of_absolute_differences() -> None:
    rng = np.random.default_rng(0)
    real, synthetic = rng.normal(50, 10, 2_000).round(), rng.normal(55, 10, 1_500).round()
    schema = Schema("t", (Integer("x", 0, 120),))
    seen = found({"x": real}, {"x": synthetic}, schema)
    edges = np.array([-np.inf, *choose_bins(schema.number("x"), real, synthetic).edges, np.inf])
    shares = []
    for values in (real, synthetic):
        inside = (values[:, None] >= edges[None, :-1]) & (values[:, None] < edges[None, 1:])
        shares.append(inside.mean(axis=0))
    assert seen.real == pytest.approx(shares[0])
    assert seen.distance == pytest.approx(np.abs(shares[0] - shares[1]).sum() / 2)
    assert seen.distance > 3 * seen.floor


def test_the_floor_is_about_the_distance_of_two_tables_of_one_source() -> None:
    rng = np.random.default_rng(1)
    real, synthetic = (rng.integers(0, 5, 4_000).astype(str) for _ in range(2))
    seen = found({"c": real}, {"c": synthetic})
    assert 0.3 * seen.floor < seen.distance < 3 * seen.floor


def test_bins_of_numbers_have_round_edges() -> None:
    ages = np.arange(17.0, 91.0)
    bins = choose_bins(Integer("age", 17, 90), ages, ages)
    assert bins.labels[:2] == ("below 20", "20 to 29")
    assert bins.labels[-1] == "80 or more"
    assert len(bins.labels) == len(bins.edges) + 1


def test_few_values_have_a_bin_each() -> None:
    assert choose_bins(Integer("n", 0, 9), np.array([3.0, 1.0]), np.array([2.0])).labels == ("1", "2", "3")


def test_a_value_that_most_rows_have_gets_its_own_bin() -> None:
    rng = np.random.default_rng(0)
    gains = np.where(rng.random(5_000) < 0.9, 0.0, rng.integers(100, 20_000, 5_000).astype(float))
    bins = choose_bins(Integer("gain", 0, 99_999), gains, gains)
    assert bins.labels[0] == "0"
    shares = np.bincount(np.searchsorted(bins.edges, gains, side="right")) / len(gains)
    assert shares[0] == pytest.approx((gains == 0).mean())
    assert 5 < len(bins.labels) <= MAX_BINS
    assert shares[1:].max() < 0.05


@pytest.mark.parametrize(
    ("column", "high", "first", "second"),
    [
        (Temporal("d", "date", 0, 20_000), 3_650, "before 1971-01-01", "1971-01-01 to 1971-12-31"),
        (Temporal("d", "date", 0, 20_000), 300, "before 1970-02-01", "1970-02-01 to 1970-02-28"),
        (Temporal("t", "time", 0, 86_399), 86_399, "before 02:00", "02:00 to before 04:00"),
        (Temporal("s", "timestamp", 0, 10**9), 10**8, "before 1970-07-01", "1970-07-01 to 1970-12-31"),
        (Temporal("u", "duration", 0, 10**9), 36_000, "below 1 h", "1 h to below 2 h"),
    ],
)
def test_moments_have_bins_of_whole_units(column: Temporal, high: int, first: str, second: str) -> None:
    values = np.floor(np.linspace(0, high, 2_000))
    bins = choose_bins(column, values, values)
    assert bins.labels[:2] == (first, second)
    assert len(bins.labels) <= MAX_BINS


def test_missing_numbers_and_texts_beside_numbers_have_bins() -> None:
    schema = Schema("t", (Integer("x", 0, 100, missing=True, texts=("n.a.",)),))
    seen = found({"x": ["1", "n.a.", None, "2"]}, {"x": ["1", "1", "n.a.", "2"]}, schema)
    assert seen.bins == ("1", "2", "n.a.", "missing")
    assert seen.real == (0.25, 0.25, 0.25, 0.25)
    assert seen.synthetic == (0.5, 0.25, 0.25, 0.0)


def test_a_column_of_which_every_value_is_missing_has_one_bin() -> None:
    schema = Schema("t", (Real("x", 0, 1, missing=True),))
    nothing = pa.array([None, None], pa.float64())
    seen = found({"x": nothing}, {"x": nothing}, schema)
    assert (seen.bins, seen.real, seen.distance) == (("missing",), (1.0,), 0.0)


def test_dates_are_shown_as_ranges_of_dates() -> None:
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=number) for number in range(400)]
    seen = found({"d": days}, {"d": days})
    assert (seen.kind, seen.bins[0]) == ("time", "before 2020-02-01")
    assert seen.distance == 0.0


def test_equal_columns_depend_fully_and_independent_ones_hardly() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 4, 5_000).astype(str), rng.normal(0, 1, 5_000)
    table: dict[str, object] = {"a": one, "b": one, "x": other, "fixed": ["k"] * 5_000}
    schema = Schema(
        "t",
        (
            *(Category(name, ("0", "1", "2", "3")) for name in "ab"),
            Real("x", -9, 9),
            Category("fixed", ("k",)),
        ),
    )
    matrix = dependence(share_bins(*samples(table, table, schema)))
    assert matrix.columns == ("a", "b", "x", "fixed")
    assert matrix.real == matrix.synthetic
    assert matrix.real[0][1] == pytest.approx(1.0)
    independent = matrix.real[0][2]
    assert independent is not None
    assert independent < 0.05
    assert matrix.real[3] == (None, None, None, None)


def test_correlations_are_those_of_numpy_on_rows_that_have_both() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, 500)
    y = x + rng.normal(0, 1, 500)
    y[:50] = np.nan
    schema = Schema("t", (Real("x", -9, 9), Real("y", -9, 9, missing=True), Category("c", ("k",))))
    real, synthetic = samples({"x": x, "y": y, "c": ["k"] * 500}, {"x": -x, "y": y, "c": ["k"] * 500}, schema)
    matrix = correlations(real, synthetic, schema.names)
    assert matrix is not None
    expected = np.corrcoef(x[50:], y[50:])[0, 1]
    assert matrix.columns == ("x", "y")
    assert matrix.real[0][1] == pytest.approx(expected)
    assert matrix.synthetic[0][1] == pytest.approx(-expected)
    assert correlations(real, synthetic, ("x", "c")) is None


def test_the_pair_that_lost_its_dependence_comes_first() -> None:
    rng = np.random.default_rng(0)
    a, c = rng.choice(["x", "y"], 3_000), rng.choice(["x", "y"], 3_000)
    first, *others = pair_differences(
        share_bins(*samples({"a": a, "b": a, "c": c}, {"a": a, "b": rng.permutation(a), "c": c})), seed=0
    )
    assert first.columns == ("a", "b")
    assert first.distance == pytest.approx(0.5, abs=0.05)
    assert all(pair.distance < 0.1 for pair in others)

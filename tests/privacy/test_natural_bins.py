"""Natural bins: they follow from range and kind, and their edges are round."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuts.data.schema import Integer, Real
from cuts.privacy.natural_bins import MAX_DECADES, MAX_EVEN_BINS, WIDENING, natural_edges


def numbers() -> st.SearchStrategy[Integer | Real]:
    bound = st.integers(-(10**9), 10**9)
    whole = st.tuples(bound, bound).map(lambda pair: Integer("x", min(pair), max(pair)))
    real = st.floats(-1e9, 1e9)
    any_precision = st.tuples(real, real).map(lambda pair: Real("x", min(pair), max(pair)))
    return st.one_of(whole, any_precision)


@given(numbers())
def test_edges_rise_inside_the_range_and_are_not_too_many(column: Integer | Real) -> None:
    edges = natural_edges(column)
    assert list(edges) == sorted(set(edges))
    assert all(column.low < edge <= column.high for edge in edges)
    assert len(edges) <= MAX_EVEN_BINS + 1 + 2 * (MAX_DECADES + 1) * len(WIDENING)


@given(st.integers(-(10**6), 0), st.integers(1001, 10**6))
def test_zero_is_an_edge_of_an_amount_and_the_bin_above_it_is_narrow(low: int, high: int) -> None:
    edges = (float(low), *natural_edges(Integer("x", low, high)))
    above = edges[edges.index(0.0) + 1]
    assert above <= max(1.0, 2e-5 * max(-low, high))


@given(numbers())
def test_no_bin_is_wider_than_a_thirteenth_of_the_range(column: Integer | Real) -> None:
    if column.high - column.low < 32:
        return
    edges = (column.low, *natural_edges(column), column.high)
    widest = max(after - before for before, after in pairwise(edges))
    assert widest <= (column.high - column.low) / 32 * 2.5 * (1 + 1e-6)  # a step is at most 2.5 times what was wanted


@pytest.mark.parametrize(
    ("column", "first", "last", "count"),
    [
        (Integer("age", 17, 90), (18.0, 19.0), 90.0, 73),
        (Integer("hours", 1, 200), (2.0, 4.0), 200.0, 100),
        (Integer("flag", 0, 1), (1.0,), 1.0, 1),
        (Real("share", 0.0, 1.0, decimals=1), (0.1, 0.2), 1.0, 10),
        (Real("grade", 1.0, 2.0), (1.01, 1.02), 2.0, 100),
    ],
)
def test_edges_are_round_numbers(column: Integer | Real, first: tuple[float, ...], last: float, count: int) -> None:
    edges = natural_edges(column)
    assert edges[: len(first)] == pytest.approx(first)
    assert edges[-1] == last
    assert len(edges) == count


def test_one_value_needs_no_edges() -> None:
    assert natural_edges(Integer("same", 7, 7)) == ()


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-2.5, 2.5), (0.0, 3.0), (0.0, 5e-324), (-0.1, 0.7)])
def test_no_two_edges_are_the_same_number_but_for_rounding(low: float, high: float) -> None:
    edges = natural_edges(Real("x", low, high, decimals=15))
    assert all(after - before > 1e-9 * (high - low) for before, after in pairwise(edges))

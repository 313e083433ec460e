"""Searching by buckets finds what `numpy.searchsorted` finds, at and beside every edge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.data import edges
from cuts.data.edges import edges_up_to
from cuts.data.table import Floats

NUMBERS = st.floats(allow_nan=False, width=64) | st.integers(-50, 50).map(float) | st.floats(-1e-300, 1e-300)


@pytest.fixture(autouse=True)
def _few_numbers_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edges, "MIN_NUMBERS", 1)


def around(values: Floats) -> Floats:
    """The values, and the nearest numbers on either side of each."""
    with np.errstate(over="ignore"):
        return np.concatenate([values, np.nextafter(values, -np.inf), np.nextafter(values, np.inf)])


@settings(max_examples=300)
@given(st.lists(NUMBERS, min_size=1, max_size=12, unique=True), st.lists(NUMBERS, max_size=20))
def test_buckets_find_what_searching_finds(limits: list[float], others: list[float]) -> None:
    increasing = np.unique([limit for limit in limits if np.isfinite(limit)])
    numbers = np.concatenate([around(increasing), np.array(others), [np.inf, -np.inf]])
    assert (edges_up_to(numbers, increasing) == np.searchsorted(increasing, numbers, side="right")).all()


@pytest.mark.parametrize("skew", [0.1, 3.0, 30.0])
def test_edges_may_share_buckets(skew: float) -> None:
    rng = np.random.default_rng(1)
    numbers = np.exp(skew * rng.normal(size=50_000))
    limits = np.unique(np.quantile(numbers, np.linspace(0, 1, 65)))
    every = np.concatenate([numbers, around(limits)])
    assert (edges_up_to(every, limits) == np.searchsorted(limits, every, side="right")).all()


def test_missing_numbers_do_not_matter() -> None:
    found = edges_up_to(np.array([np.nan, 2.5, np.nan]), np.arange(5.0))
    assert found[1] == 3

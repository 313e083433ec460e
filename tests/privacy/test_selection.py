"""T2: the selection is a noisy maximum, and what it costs covers how far its odds can move."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuts.privacy.core import Core
from cuts.privacy.curator import GRID, Candidate
from cuts.privacy.noise_scale import gumbel_scale
from cuts.privacy.query import fine
from cuts.privacy.secret import Secret
from privacy.checks import VARIANTS, check_selection_odds, check_selection_pays
from privacy.people import empty_table, open_core, open_twin, plentiful


def test_the_core_selects_by_the_softmax_of_scores_over_scale() -> None:
    check_selection_odds(open_core, 3_000)


def test_the_twin_selects_by_the_softmax_of_scores_over_scale() -> None:
    check_selection_odds(open_twin(), 3_000)


def test_a_selection_costs_what_its_odds_move_between_neighbours() -> None:
    check_selection_pays(open_core, tables=8, seed=1)
    check_selection_pays(open_twin(), tables=8, seed=2)


@given(
    scores=st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=12),
    moves=st.data(),
    epsilon=st.floats(0.01, 3.0),
)
def test_the_log_ratio_of_softmax_odds_ranges_over_epsilon_at_most(
    scores: list[int], moves: st.DataObject, epsilon: float
) -> None:
    sensitivity = 5 * GRID  # how far a unit moves a score, up or down
    moved = [score + moves.draw(st.integers(-sensitivity, sensitivity)) for score in scores]
    scale = 2 * sensitivity / epsilon
    ratios = _log_softmax(moved, scale) - _log_softmax(scores, scale)
    assert ratios.max() - ratios.min() <= epsilon * (1 + 1e-9)
    assert np.abs(ratios).max() <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("terms", VARIANTS)
def test_a_selection_at_the_planned_scale_costs_what_was_planned(terms: dict[str, object]) -> None:
    ledger = plentiful(**terms)
    scale = gumbel_scale(0.001, ledger.terms, weight=7)
    core = Core(Secret(empty_table(4)), ledger)
    query = fine(("x",), {"x": 4})
    core.select([Candidate(query, np.zeros(4, dtype=np.int64), weight, 0) for weight in (3, 7)], scale)
    assert core.ledger.spent <= Fraction(0.001)
    assert core.ledger.spent >= Fraction(0.001) * (1 - Fraction(1, 10**6))


def _log_softmax(scores: list[int], scale: float) -> np.ndarray:
    x = np.array(scores) / scale
    return x - x.max() - math.log(np.exp(x - x.max()).sum())

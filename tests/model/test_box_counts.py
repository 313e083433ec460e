"""Boxes: their probabilities under a mixture and the gradients of these."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from cuts.data.table import Bools
from cuts.model.box_counts import BoxCounts, box_probabilities
from cuts.model.mixture import Mixture, marginal

SIZES = (2, 3, 4)
COLUMNS = ("a", "b", "c")


def tables(seed: int) -> list[Tensor]:
    random = torch.Generator().manual_seed(seed)
    shapes = [(5,), *((5, size) for size in SIZES)]
    return [torch.softmax(torch.randn(*shape, generator=random, dtype=torch.float64), -1) for shape in shapes]


def boxes_of(seed: int) -> BoxCounts:
    """Random boxes, some of which say nothing about a column."""
    rng = np.random.default_rng(seed)
    bounded = rng.random((7, 3)) < 0.6
    inside = np.ones((7, sum(SIZES)), dtype=np.bool_)
    starts = np.cumsum([0, *SIZES])
    for box, column in zip(*np.nonzero(bounded), strict=True):
        chosen = rng.random(SIZES[column]) < 0.5
        chosen[0] = True
        inside[box, starts[column] : starts[column + 1]] = chosen
    return BoxCounts(inside, bounded, rng.random(7))


def probability_by_cells(inside: Bools, joint: Tensor) -> float:
    parts = np.split(inside, np.cumsum(SIZES)[:-1])
    return sum(float(joint[cell]) for cell in product(*(np.flatnonzero(part).tolist() for part in parts)))


@given(st.integers(0, 1_000))
def test_the_probability_of_a_box_is_that_of_its_cells(seed: int) -> None:
    w, *P = tables(seed)
    mix = Mixture(COLUMNS, w, tuple(P))
    boxes = boxes_of(seed)
    joint = marginal(mix, COLUMNS)
    expected = [probability_by_cells(inside, joint) for inside in boxes.inside]
    assert box_probabilities(mix, boxes).tolist() == pytest.approx(expected)


def test_gradients_of_box_probabilities_are_right() -> None:
    given_tables = [table.requires_grad_() for table in tables(0)]
    boxes = boxes_of(0)
    assert torch.autograd.gradcheck(lambda w, *P: box_probabilities(Mixture(COLUMNS, w, P), boxes), given_tables)

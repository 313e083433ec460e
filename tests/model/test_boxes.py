"""Boxes as targets of a fit: their probabilities, their gradients, and the boxes that trees find in rows."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from cuts.config import Config
from cuts.data.codec import Codes
from cuts.model.box_counts import ROOT_OFFSET, BoxCounts, box_distance, box_probabilities, join_boxes
from cuts.model.box_trees import BinnedRows, BoxedObjective, BoxFinder, BoxSettings, with_boxes
from cuts.model.fit import fit
from cuts.model.mixture import Mixture, marginal
from cuts.model.objective import Objective
from cuts.progress import FitStep
from mixtures import counted, row_mixture

SETTINGS = BoxSettings(discriminators=2, label_trees=2, label_column_share=1.0, min_leaf=10)


@st.composite
def boxed_mixtures(draw: st.DrawFn) -> tuple[Mixture, BoxCounts]:
    """A small mixture with some zeros, and boxes of it."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    components, count = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    P = []
    for size in sizes:
        p = rng.dirichlet(np.ones(size), components)
        p[rng.random(p.shape) < 0.2] = 0.0
        p[:, 0] += 1e-3
        P.append(torch.as_tensor(p / p.sum(1, keepdims=True)))
    mix = Mixture(
        tuple(f"c{i}" for i in range(len(sizes))), torch.as_tensor(rng.dirichlet(np.ones(components))), tuple(P)
    )
    bounded = rng.random((count, len(sizes))) < 0.6
    inside = rng.random((count, sum(sizes))) < 0.6
    return mix, BoxCounts(inside | ~np.repeat(bounded, sizes, axis=1), bounded, rng.random(count))


def members(mix: Mixture, inside: np.ndarray) -> list[list[int]]:
    """The bins of each column inside a box."""
    ends = np.cumsum([0, *(p.shape[1] for p in mix.P)]).tolist()
    return [np.flatnonzero(inside[start:end]).tolist() for start, end in pairwise(ends)]


def summed(mix: Mixture, boxes: BoxCounts) -> Tensor:
    """The probability of each box, cell by cell."""
    joint = marginal(mix, mix.columns)
    zero = joint.sum() * 0.0
    cells = [[joint[cell] for cell in product(*members(mix, inside))] for inside in boxes.inside]
    return torch.stack([sum(some, start=zero) for some in cells])


@given(boxed_mixtures())
def test_the_probability_of_a_box_is_the_sum_of_its_cells(case: tuple[Mixture, BoxCounts]) -> None:
    mix, boxes = case
    torch.testing.assert_close(box_probabilities(mix, boxes), summed(mix, boxes), atol=1e-10, rtol=0)


def with_gradients(mix: Mixture) -> Mixture:
    return Mixture(mix.columns, mix.w.clone().requires_grad_(), tuple(p.clone().requires_grad_() for p in mix.P))


@settings(max_examples=60)
@given(boxed_mixtures(), st.integers(0, 2**32 - 1))
def test_its_gradient_is_that_of_the_sum(case: tuple[Mixture, BoxCounts], seed: int) -> None:
    mix, boxes = case
    weights = torch.as_tensor(np.random.default_rng(seed).normal(size=len(boxes)))
    ours, plain = with_gradients(mix), with_gradients(mix)
    (box_probabilities(ours, boxes) @ weights).backward()
    (summed(plain, boxes) @ weights).backward()
    bounded = boxes.bounded.any(0)
    torch.testing.assert_close(ours.w.grad, plain.w.grad, atol=1e-8, rtol=0)
    for at, (p, q) in enumerate(zip(ours.P, plain.P, strict=True)):
        if not bounded[at]:  # a column that no box bounds sums to one, whatever it is
            assert p.grad is None
            continue
        torch.testing.assert_close(along(p.grad), along(q.grad), atol=1e-7, rtol=0)


def along(grad: Tensor | None) -> Tensor:
    """A gradient up to what moves the sum of a distribution, which nothing may."""
    assert grad is not None
    return grad - grad.mean(1, keepdim=True)


@settings(max_examples=40)
@given(boxed_mixtures())
def test_the_distance_is_hellinger_and_zero_at_the_right_shares(case: tuple[Mixture, BoxCounts]) -> None:
    mix, boxes = case
    p = summed(mix, boxes).numpy()
    expected = 0.5 * np.mean((np.sqrt(p + ROOT_OFFSET) - np.sqrt(boxes.share + ROOT_OFFSET)) ** 2)
    assert float(box_distance(mix, boxes)) == pytest.approx(expected, abs=1e-9)
    right = BoxCounts(boxes.inside, boxes.bounded, box_probabilities(mix, boxes).numpy())
    assert float(box_distance(mix, right)) == pytest.approx(0.0, abs=1e-12)


@given(boxed_mixtures(), st.integers(1, 12))
def test_the_latest_boxes_are_kept(case: tuple[Mixture, BoxCounts], most: int) -> None:
    _, boxes = case
    later = BoxCounts(boxes.inside, boxes.bounded, boxes.share + 1.0)
    joined = join_boxes([boxes, later], most)
    assert len(joined) == min(most, 2 * len(boxes))
    np.testing.assert_array_equal(joined.share, np.concatenate([boxes.share, later.share])[-most:])
    np.testing.assert_array_equal(joined.take(np.array([len(joined) - 1])).inside[0], boxes.inside[-1])


# --- boxes that trees find

SIZES = {"a": 5, "b": 4, "c": 3, "y": 2}


def dependent(rows: int = 800, seed: int = 0) -> Codes:
    """A label that depends on three columns at once, and on none or two of them hardly."""
    rng = np.random.default_rng(seed)
    codes = {name: rng.integers(0, size, rows) for name, size in SIZES.items()}
    odd = (codes["a"] >= 2).astype(int) + (codes["b"] >= 2) + (codes["c"] >= 1)
    codes["y"] = np.where(rng.random(rows) < 0.95, odd % 2, 1 - odd % 2)
    return codes


def independent(rows: int, seed: int) -> Codes:
    rng = np.random.default_rng(seed)
    return {name: rng.integers(0, size, rows) for name, size in SIZES.items()}


def found_boxes(label: str | None, nominal: frozenset[str], seed: int) -> tuple[Codes, list[BoxCounts]]:
    codes = dependent()
    finder = BoxFinder(BinnedRows(codes, nominal), SIZES, label, np.random.default_rng(seed), SETTINGS)
    return codes, finder.find(independent(finder.rows, seed + 1))


@pytest.mark.parametrize("nominal", [frozenset(), frozenset({"a", "c"})])
@pytest.mark.parametrize("label", [None, "y"])
def test_boxes_are_unions_of_bins_and_say_which_columns_they_bound(label: str | None, nominal: frozenset[str]) -> None:
    _, parts = found_boxes(label, nominal, 0)
    assert len(parts) == SETTINGS.discriminators + (SETTINGS.label_trees if label else 0)
    starts = np.cumsum([0, *SIZES.values()])
    for boxes in parts:
        assert len(boxes)
        assert boxes.inside.shape == (len(boxes), sum(SIZES.values()))
        for at, name in enumerate(SIZES):
            inside = boxes.inside[:, starts[at] : starts[at + 1]]
            free = ~boxes.bounded[:, at]
            assert inside[free].all()  # what is not bounded is all inside
            assert (inside.sum(1) > 0).all()
            assert (inside[~free].sum(1) < SIZES[name]).all()
            if name not in nominal and name != label:  # of ordered bins a box has an interval
                assert (np.abs(np.diff(inside.astype(int), axis=1)).sum(1) <= 2).all()


@pytest.mark.parametrize("seed", range(3))
def test_shares_are_counts_of_all_rows(seed: int) -> None:
    codes, parts = found_boxes("y", frozenset({"a"}), seed)
    real = row_mixture(codes, SIZES)
    for boxes in parts:
        share = box_probabilities(real, boxes).numpy()
        counted_rows = np.mean(
            [
                np.logical_and.reduce([inside[start:end][codes[name]] for name, (start, end) in _places()])
                for inside in boxes.inside
            ],
            axis=1,
        )
        assert np.allclose(share, counted_rows, atol=1e-6)
        assert np.allclose(boxes.share, counted_rows)


def _places() -> list[tuple[str, tuple[int, int]]]:
    return list(zip(SIZES, pairwise(np.cumsum([0, *SIZES.values()]).tolist()), strict=True))


def test_boxes_of_all_rows_have_exactly_their_shares() -> None:
    """A table of two equal halves has the same counts whichever half is looked at: rows twice."""
    one = {name: np.zeros(400, dtype=np.int64) for name in SIZES}
    finder = BoxFinder(BinnedRows(one, frozenset()), SIZES, "y", np.random.default_rng(0), SETTINGS)
    for boxes in finder.find(independent(finder.rows, 1)):
        inside = np.logical_and.reduce([boxes.inside[:, start] for _, (start, _) in _places()])
        np.testing.assert_array_equal(boxes.share, inside.astype(float))


def test_trees_of_a_label_find_what_three_columns_say_of_it_together() -> None:
    codes, parts = found_boxes("y", frozenset(), 4)
    boxes = join_boxes(parts[SETTINGS.discriminators :], 10_000)
    wide = boxes.take(np.flatnonzero(boxes.bounded.sum(1) == len(SIZES)))
    assert len(wide)
    alone = box_probabilities(_product(codes), wide).numpy()  # if the columns were independent
    assert np.abs(wide.share - alone).max() > 0.02
    assert boxes.bounded[:, list(SIZES).index("y")].all()


def _product(codes: Codes) -> Mixture:
    P = tuple(torch.as_tensor(np.bincount(codes[name], minlength=size) / 800)[None] for name, size in SIZES.items())
    return Mixture(tuple(SIZES), torch.ones(1, dtype=torch.float64), P)


def test_a_loss_with_boxes_is_that_of_the_tables_plus_their_distance() -> None:
    codes, parts = found_boxes("y", frozenset(), 0)
    boxes, mix = join_boxes(parts, 50), _product(codes)
    tables = Objective(counted(codes, SIZES), "y", slices=0, seed=0, device="cpu")
    value, error = tables.loss(mix)
    both, same = with_boxes(tables.loss, boxes, seed=0)(mix)
    assert float(same) == float(error)
    assert float(both - value) == pytest.approx(BoxSettings().weight * float(box_distance(mix, boxes)), rel=1e-5)


def test_new_boxes_are_found_every_few_calls() -> None:
    codes = dependent()
    settings = BoxSettings(discriminators=1, label_trees=1, steps_per_round=3)
    boxed = BoxedObjective(
        lambda mix: (mix.w.sum(), torch.zeros(())), BinnedRows(codes, frozenset()), "y", seed=0, settings=settings
    )
    seen = []
    for _ in range(7):
        boxed.loss(_product(codes))
        assert boxed.boxes is not None
        seen.append(len(boxed.boxes))
    assert seen[0] == seen[1] == seen[2] < seen[3] == seen[5] < seen[6]


# --- a fit with boxes


def test_a_fit_with_rows_knows_more_than_triples_and_keeps_its_number_of_steps() -> None:
    """Four columns with parity: every three of them are independent, so tables of three columns show nothing."""
    rng = np.random.default_rng(5)
    codes = {name: rng.integers(0, 2, 2_000) for name in "abc"}
    codes["y"] = (codes["a"] + codes["b"] + codes["c"]) % 2
    sizes = dict.fromkeys("abcy", 2)
    told: list[FitStep] = []
    config = Config(components=30, steps=200)
    marginals = counted(codes, sizes)
    plain = fit(marginals, "y", config, seed=0)
    boxed = fit(marginals, "y", config, seed=0, rows=BinnedRows(codes, frozenset()), seen=told.append)
    assert plain.boxes is None
    assert boxed.boxes is not None
    assert [step.step for step in told] == sorted({step.step for step in told})
    assert told[-1].step == told[-1].steps == boxed.steps <= config.steps
    target = marginal(row_mixture(codes, sizes), "abcy")
    distance = [float((marginal(found.mixture, "abcy") - target).abs().sum()) / 2 for found in (plain, boxed)]
    assert distance[0] > 0.3
    assert distance[1] < 0.5 * distance[0]

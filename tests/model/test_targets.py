"""Targets of a fit: the blocks of a matrix are the shares of the counted pairs, for all columns and for some."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cuts.count.marginals import Clique, Marginals
from cuts.data.table import IntArray
from cuts.model.mixture import Mixture
from cuts.model.objective import Objective, ObjectiveSettings
from cuts.model.targets import Slice, Targets, View

ROWS = 60
SIZES = {"a": 2, "b": 3, "y": 2, "c": 1, "d": 4}
ORDER = ("a", "b", "c", "d", "y")  # the label last, as in a fit
GROUPS = {name: np.arange(size) // 2 for name, size in SIZES.items()}
slices = st.none() | st.sampled_from([Slice("y", 0), Slice("b", 1), Slice("d", 1)])


def codes() -> dict[str, IntArray]:
    rng = np.random.default_rng(3)
    return {name: rng.integers(0, size, ROWS) for name, size in SIZES.items()}


def counted(cliques: list[Clique]) -> Marginals:
    tables = {}
    for clique in cliques:
        tables[clique] = np.zeros([SIZES[name] for name in clique], dtype=np.int64)
        np.add.at(tables[clique], tuple(codes()[name] for name in clique), 1)
    return Marginals(SIZES, tables, ROWS, "codec")


def is_left_out(pair: Clique, fixed: Slice | None, cliques: set[Clique]) -> bool:
    """Whether a pair was not counted while pairs as large were, so that independence is its target."""
    largest = max((SIZES[c[0]] * SIZES[c[1]] for c in cliques if len(c) == 2), default=0)
    known = set() if fixed is None else {fixed.column}
    known_alone = all(any({name} | known <= set(c) for c in cliques) for name in ORDER if name not in known)
    is_label = fixed is None or fixed.column == "y"
    return is_label and known_alone and SIZES[pair[0]] * SIZES[pair[1]] <= largest


def view_of(columns: tuple[str, ...]) -> View:
    return View(columns, tuple(SIZES[name] for name in columns))


@given(
    st.sets(st.sampled_from([*combinations(SIZES, 2), *combinations(SIZES, 3), *combinations(SIZES, 4)]), min_size=1),
    st.sets(st.sampled_from(ORDER), min_size=1),
    slices,
    st.sampled_from([0, 10**6]),
)
def test_targets_are_shares_of_rows(cliques: set[Clique], some: set[str], fixed: Slice | None, room: int) -> None:
    marginals, whole = counted(sorted(cliques)), view_of(ORDER)
    targets = Targets(marginals, whole, GROUPS, device="cpu", label="y", max_cells=room)
    part = view_of(tuple(name for name in ORDER if name in some))
    rows = codes()
    inside = np.ones(ROWS, dtype=bool) if fixed is None else GROUPS[fixed.column][rows[fixed.column]] == fixed.group
    for view in (whole, part, whole):
        found = targets.of(view, fixed)
        blocks = 0
        expected, weight = np.zeros((2, view.size, view.size))
        for (i, a), (j, b) in combinations(enumerate(view.columns), 2):
            together = {a, b} if fixed is None else {a, b, fixed.column}
            at, to = view.starts[i], view.starts[j]
            if fixed is not None and fixed.column in (a, b):
                continue
            if any(together <= set(c) for c in cliques):
                np.add.at(expected, (at + rows[a][inside], to + rows[b][inside]), 1 / ROWS)
            elif is_left_out((a, b), fixed, cliques):
                single = [np.bincount(rows[name][inside], minlength=SIZES[name]) / inside.sum() for name in (a, b)]
                expected[at : at + SIZES[a], to : to + SIZES[b]] = np.outer(*single) * inside.mean()
            else:
                continue
            weight[at : at + SIZES[a], to : to + SIZES[b]] = 1
            blocks += 1
        np.testing.assert_allclose(found.share, expected, atol=1e-6)
        np.testing.assert_array_equal(found.counted, weight)
        assert found.blocks == max(blocks, 1)


def test_the_slices_of_a_wide_table_compare_other_columns_in_every_step() -> None:
    marginals = counted([*combinations(SIZES, 3)])
    random = torch.Generator().manual_seed(0)
    P = tuple(torch.softmax(torch.randn(3, size, generator=random), 1) for size in SIZES.values())
    mix = Mixture(tuple(SIZES), torch.full((3,), 1 / 3), P)

    def losses(wide_bins: int) -> list[float]:
        settings = ObjectiveSettings(wide_bins=wide_bins, part_bins=8)
        objective = Objective(marginals, "y", slices=0, seed=0, device="cpu", settings=settings)
        return [float(objective.loss(mix)[0]) for _ in range(300)]

    whole, parts = losses(512), losses(8)
    assert len(set(whole)) == 1
    assert len({round(value, 5) for value in parts}) > 2
    assert np.mean(parts) == pytest.approx(whole[0], rel=0.25)

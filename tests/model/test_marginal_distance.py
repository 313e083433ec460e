"""The paper's distance of rows from marginals: the sums it is defined by, however the products are arranged."""

from __future__ import annotations

from itertools import combinations, islice
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from cuts.count.marginals import Marginals
from cuts.data.codec import Codes
from cuts.model.marginal_distance import MarginalDistance, MarginalTurns, label_distance
from cuts.model.mixture import Mixture
from mixtures import counted, row_mixture

SIZES = {"a": 3, "b": 2, "c": 4, "y": 2}


def codes(seed: int, rows: int = 40) -> Codes:
    rng = np.random.default_rng(seed)
    return {name: rng.integers(0, size, rows) for name, size in SIZES.items()}


def table(rows: Codes, names: tuple[str, ...]) -> Any:
    """The marginal by the paper's definition: the mean of the rows' Kronecker products."""
    total = np.zeros([SIZES[name] for name in names])
    count = len(rows[names[0]])
    for row in range(count):
        product = np.ones(())
        for name in names:
            product = np.multiply.outer(product, np.eye(SIZES[name])[rows[name][row]])
        total += product
    return total / count


def single(mix: Mixture) -> Mixture:
    return Mixture(mix.columns, mix.w.float(), tuple(p.float() for p in mix.P))


@pytest.mark.parametrize(
    ("label", "cliques"),
    [
        ("y", [(*pair, "y") for pair in combinations("abc", 2)]),
        ("b", [(*pair, "b") for pair in combinations("acy", 2)]),
        (None, list(combinations("abcy", 3))),
    ],
)
def test_it_is_half_the_mean_difference_of_the_three_way_marginals(label: str | None, cliques: list[Any]) -> None:
    real, made = codes(0), codes(1)
    distance = label_distance(counted(real, SIZES), label, device="cpu")
    assert len(distance) == len(cliques)
    loss, error = distance.whole(single(row_mixture(made, SIZES)))
    off = [np.abs(table(real, clique) - table(made, clique)) for clique in cliques]
    assert float(loss) == pytest.approx(np.mean([0.5 * each.mean() for each in off]), rel=1e-5)
    assert float(error) == pytest.approx(np.mean([0.5 * each.sum() for each in off]), rel=1e-5)


def test_rows_are_at_no_distance_from_themselves() -> None:
    rows = codes(0)
    loss, error = label_distance(counted(rows, SIZES), "y", device="cpu").whole(single(row_mixture(rows, SIZES)))
    assert float(loss) == pytest.approx(0.0, abs=1e-6)
    assert float(error) == pytest.approx(0.0, abs=1e-5)


def test_every_marginal_has_its_turn_before_one_has_its_next() -> None:
    class Recording(MarginalDistance):
        seen: ClassVar[list[list[int]]] = []

        def of(self, mix: Mixture, chosen: Any) -> Any:
            self.seen.append(list(chosen))
            return torch.zeros(()), torch.zeros(())

    shares = {clique: np.zeros([SIZES[name] for name in clique]) for clique in combinations("abcy", 2)}
    turns = MarginalTurns(Recording(shares, device="cpu"), per_step=4, seed=0)
    mix = single(row_mixture(codes(0), SIZES))
    for _ in islice(range(100), 6):
        turns.loss(mix)
    groups = Recording.seen
    assert [len(group) for group in groups] == [3, 3] * 3  # six marginals in groups as even as can be
    for epoch in range(3):
        assert sorted(groups[2 * epoch] + groups[2 * epoch + 1]) == list(range(6))


def test_a_table_of_two_columns_is_compared_as_a_whole() -> None:
    counts = Marginals({"a": 2, "y": 2}, {("a", "y"): np.array([[4, 1], [2, 3]])}, 10, "")
    assert len(label_distance(counts, "y", device="cpu")) == len(label_distance(counts, None, device="cpu")) == 1

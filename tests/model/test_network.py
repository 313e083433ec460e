"""The paper's network: what it draws follows its probabilities, which saving and refining do not change."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cuts.data.refine import Split
from cuts.model.mixture import marginal
from cuts.model.network import DRAWN_ROWS, Network, network_from, new_network, random_numbers

ONE_WAY = {"a": torch.tensor([0.5, 0.3, 0.2]), "b": torch.tensor([1.0]), "c": torch.tensor([0.25] * 4)}
SPLITS = {"a": Split(np.array([0, 0, 1, 2]), np.array([0.9, 0.1, 1.0, 1.0]))}


def a_network(smoothing: float = 0.0, seed: int = 3) -> Network:
    return new_network(ONE_WAY, smoothing=smoothing, seed=seed, device="cpu")


def shares(network: Network, name: str) -> torch.Tensor:
    mix = network.settle(4_000, random_numbers(0))
    return mix.w @ mix[name]


def test_the_network_has_the_size_the_paper_states() -> None:
    one_way = {str(i): torch.full((size,), 1.0 / size) for i, size in enumerate((32,) * 5 + (101,))}
    assert sum(p.numel() for p in new_network(one_way, smoothing=0.0, seed=0, device="cpu").parameters()) == 461_161


def test_rows_are_drawn_with_their_probabilities() -> None:
    network = a_network()
    codes = [network.draw(random_numbers(1, batch)) for batch in range(4)]
    drawn = np.concatenate([each["c"] for each in codes])
    assert len(drawn) == 4 * DRAWN_ROWS
    found = np.bincount(drawn, minlength=4) / len(drawn)
    np.testing.assert_allclose(found, shares(network, "c").numpy(), atol=0.02)


def test_a_seed_gives_the_same_rows() -> None:
    network = a_network()
    one, again, other = (network.draw(random_numbers(*seed)) for seed in ((5, 0), (5, 0), (5, 1)))
    assert all(np.array_equal(one[name], again[name]) for name in one)
    assert any(not np.array_equal(one[name], other[name]) for name in one)


def test_hard_rows_are_certain_of_their_bins_and_pass_gradients() -> None:
    network = a_network()
    mix = network.hard_rows(64, random_numbers(0))
    for table in mix.P:
        assert set(table.detach().unique().tolist()) <= {0.0, 1.0}
        assert (table.detach().sum(1) == 1).all()
    (marginal(mix, ("a", "c")) * torch.arange(12.0).reshape(3, 4)).sum().backward()  # type: ignore[no-untyped-call]
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in network.parameters())
    assert any((p.grad != 0).any() for p in network.parameters() if p.grad is not None)


@pytest.mark.parametrize("smoothing", [0.0, 0.4])
def test_finer_bins_have_their_share_of_the_coarser_one(smoothing: float) -> None:
    network = a_network(smoothing)
    finer = network.refined(SPLITS)
    coarse, fine = shares(network, "a"), shares(finer, "a")
    torch.testing.assert_close(fine, torch.stack([0.9 * coarse[0], 0.1 * coarse[0], coarse[1], coarse[2]]))
    torch.testing.assert_close(shares(finer, "c"), shares(network, "c"))
    again = finer.refined({"a": Split(np.array([0, 1, 1, 2, 3]), np.array([1.0, 0.5, 0.5, 1.0, 1.0]))})
    torch.testing.assert_close(shares(again, "a")[1], 0.05 * coarse[0])


def test_a_copy_has_the_same_distribution_and_weights_of_its_own() -> None:
    network = a_network(0.1).refined(SPLITS)
    copy = network.copy()
    torch.testing.assert_close(shares(copy, "a"), shares(network, "a"), rtol=0, atol=0)
    with torch.no_grad():
        copy.parameters()[-1].add_(torch.arange(len(copy.parameters()[-1])))
    assert not torch.equal(shares(copy, "a"), shares(network, "a"))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("owner0", torch.tensor([0, 0, 1, 7])),
        ("share0", torch.tensor([0.5, 0.1, 1.0, 1.0])),
        ("share0", torch.tensor([1.0, -0.1, 1.0, 1.0])),
        ("floor0", torch.tensor([0.5, 0.5, 0.5])),
        ("layers.4.bias", torch.full((8,), float("nan"))),
        ("layers.4.bias", torch.zeros(9)),
    ],
)
def test_tensors_that_are_no_network_are_refused(name: str, change: torch.Tensor) -> None:
    network = a_network().refined(SPLITS)
    with pytest.raises((ValueError, RuntimeError)):
        network_from(network.columns, {**network.tensors(), name: change})

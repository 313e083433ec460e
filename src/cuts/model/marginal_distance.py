"""The paper's distance between a batch of rows and given marginals, and the order in which pre-training compares them.

CuTS (Vero et al., ICML 2024, sec. 4.1) compares marginals by total variation. As in the authors' code, whose scale the
weights of commands belong to, the distance of one marginal is divided by its cells:

    distance(p, q) = 1/2 mean_c |p_c - q_c|

and that of several marginals is their mean. The paper sums Kronecker products over rows; here all marginals that share
their smaller columns are one matrix product, which gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil, prod

import numpy as np
import torch
from torch import Tensor

from cuts.count.cover import Clique
from cuts.count.marginals import Marginals
from cuts.data.table import Floats
from cuts.model.mixture import Mixture

WAYS = 3  # columns of a marginal


@dataclass(frozen=True, slots=True, eq=False)
class _Wanted:
    """A marginal with its largest column last: (cells of the first columns, bins of the last)."""

    first: Clique
    last: str
    shares: Tensor


class MarginalDistance:
    """The distance of mixtures from the shares in the cells of some marginals."""

    def __init__(self, shares: Mapping[Clique, Floats], *, device: str) -> None:
        self._wanted = [_wanted(clique, table, device) for clique, table in shares.items()]

    def __len__(self) -> int:
        return len(self._wanted)

    def whole(self, mix: Mixture) -> tuple[Tensor, Tensor]:
        """The distance over all marginals, and the mean total variation."""
        return self.of(mix, range(len(self)))

    def of(self, mix: Mixture, chosen: Sequence[int]) -> tuple[Tensor, Tensor]:
        """The distance over some marginals, by their numbers, and the mean total variation."""
        groups: dict[Clique, list[_Wanted]] = {}
        for number in chosen:
            groups.setdefault(self._wanted[number].first, []).append(self._wanted[number])
        loss, variation = mix.w.new_zeros(()), mix.w.new_zeros(())
        for first, members in groups.items():
            table = _cells(mix, first).T @ torch.cat([mix[wanted.last] for wanted in members], 1)
            off = 0.5 * (table - torch.cat([wanted.shares for wanted in members], 1)).abs().sum(0)
            cells = torch.cat([torch.full_like(wanted.shares[0], wanted.shares.numel()) for wanted in members])
            loss = loss + (off / cells).sum()
            variation = variation + off.detach().sum()
        return loss / len(chosen), variation / len(chosen)


class MarginalTurns:
    """The loss of pre-training: each step compares some marginals, and each has its turn before one has its next."""

    def __init__(self, distance: MarginalDistance, *, per_step: int, seed: int) -> None:
        self._distance = distance
        self._turns = _turns(len(distance), per_step, seed)

    def loss(self, mix: Mixture) -> tuple[Tensor, Tensor]:
        """The distance over the marginals of the next step, and their mean total variation."""
        return self._distance.of(mix, next(self._turns))


def label_distance(marginals: Marginals, label: str | None, *, device: str) -> MarginalDistance:
    """The distance from the counted marginals of three columns: those with the label, or all without a label."""
    rows = max(marginals.rows, 1)
    shares = {clique: marginals.table(clique) / rows for clique in _counted(marginals, label)}
    return MarginalDistance(shares, device=device)


def _counted(marginals: Marginals, label: str | None) -> list[Clique]:
    """The marginals of three columns, or of all of fewer; in a wide table, those that were counted."""
    names = tuple(marginals.sizes)
    others = [name for name in names if name != label]
    width = min(WAYS, len(names))
    cliques = [(*some, label) for some in combinations(others, width - 1)] if label else combinations(names, width)
    found = [clique for clique in cliques if any(set(clique) <= set(counted) for counted in marginals.tables)]
    return found or list(marginals.tables)


def _wanted(clique: Clique, table: Floats, device: str) -> _Wanted:
    order = np.argsort(table.shape, kind="stable")
    *first, last = (clique[axis] for axis in order)
    flat = table.transpose(order).reshape(prod(table.shape[axis] for axis in order[:-1]), -1)
    return _Wanted(tuple(first), last, torch.as_tensor(flat.copy(), dtype=torch.float32, device=device))


def _cells(mix: Mixture, clique: Clique) -> Tensor:
    """Every component's weight in each cell of some columns: (K, cells)."""
    joint = mix.w[:, None]
    for name in clique:
        joint = (joint[:, :, None] * mix[name][:, None, :]).flatten(1)
    return joint


def _turns(count: int, per_step: int, seed: int) -> Iterator[list[int]]:
    """The numbers of the marginals of every step: in an epoch each occurs once, in groups as even as can be."""
    rng = np.random.Generator(np.random.Philox(seed))
    while True:
        yield from (group.tolist() for group in np.array_split(rng.permutation(count), ceil(count / per_step)))

"""The distance between a mixture and the counts: the loss of a fit.

CuTS (Vero et al., ICML 2024, sec. 4.1) compares the three-way marginals that contain the label by total variation.
Here tables are compared in slices. With one column fixed at one value, the two-way tables of all other columns are one
Gram matrix of the model; so are all pairs, with no column fixed. A step compares the slices of the label, which
together are the three-way tables with it, by squared Hellinger distance

    H^2(p, q) = 1/2 sum_c (sqrt(p_c) - sqrt(q_c))^2,

and a few random slices of other columns by total variation `TV(p, q) = 1/2 sum_c |p_c - q_c|`. Random values are chosen
with probabilities that the weights undo, so the loss is unbiased. Of a wide table a step compares some columns only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from cuts.count.marginals import Clique, Marginals
from cuts.model.mixture import Mixture, gram


@dataclass(frozen=True, slots=True)
class ObjectiveSettings:
    """What one step of a fit compares."""

    root_offset: float = 1e-6  # added to a share before its root is taken, so that the gradient is finite
    max_bins: int = 640  # of the columns compared in one step, together
    max_label_slices: int = 4  # in one step; of a label with more values some are chosen at random
    slice_weight: float = 0.1  # of the random slices, relative to those of the label


OBJECTIVE_SETTINGS = ObjectiveSettings()


@dataclass(frozen=True, slots=True)
class View:
    """The columns compared in a step, and where the bins of each lie in the Gram matrix."""

    columns: tuple[str, ...]
    starts: tuple[int, ...]
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class TargetTable:
    """The Gram matrix of the counts, and the weight of each of its cells: blocks above the diagonal only."""

    share: Tensor  # (size, size)
    counted: Tensor  # (size, size), 1 where the pair was counted, else 0
    blocks: int


class Objective:
    """The loss of a mixture against counts; every call chooses new random slices."""

    def __init__(
        self,
        marginals: Marginals,
        label: str | None,
        *,
        slices: int,
        seed: int,
        device: str,
        settings: ObjectiveSettings = OBJECTIVE_SETTINGS,
    ) -> None:
        self._settings = settings
        self._rows = max(marginals.rows, 1)
        self._sizes = dict(marginals.sizes)
        label = label if len(self._sizes) > 2 else None  # two columns are a pair, whichever is the label
        self._label = label
        self._slices = slices if label is not None else max(slices, 2)
        self._device = device
        self._random = np.random.Generator(np.random.Philox(seed))
        self._marginals = marginals
        self._tables: dict[Clique, Tensor] = {}
        self._others = tuple(name for name in self._sizes if name != label)
        self._one_way = {name: marginals.table((name,)) / self._rows for name in self._sizes}
        bins = sum(self._sizes[name] for name in self._others)
        self._whole = self._view(self._others) if bins <= settings.max_bins else None
        # Of a wide table not all triples with the label are counted, but the pairs are.
        self._pairs_too = label is not None and not all(
            marginals.covers((a, b, label)) for a, b in combinations(self._others, 2)
        )
        self._target_cache: dict[tuple[str, int] | None, TargetTable] = {}

    def loss(self, mix: Mixture) -> tuple[Tensor, Tensor]:
        """The loss of a mixture, and the mean total variation over the label's tables, or over the pairs."""
        view = self._whole or self._random_view()
        X = torch.cat([mix[name] for name in view.columns], 1)  # (K, bins of the view)
        loss, error = self._base(mix, X, view)
        for name, value, chance in self._random_slices(view):
            target = self._target(view, (name, value), keep=False)
            share = gram(X, mix.w * mix[name][:, value])
            scale = self._settings.slice_weight / (len(view.columns) * chance * self._slices)
            loss = loss + scale * _variation(share, target)
        return loss, error.detach()

    def _base(self, mix: Mixture, X: Tensor, view: View) -> tuple[Tensor, Tensor]:
        """Squared Hellinger distance and total variation of the label's slices, or of the pairs without a label."""
        keep = view is self._whole
        if len(view.columns) == 1:
            return self._alone(mix, view.columns[0])
        if self._label is None:
            target = self._target(view, None, keep=keep)
            share = gram(X, mix.w)
            return self._hellinger(share, target), _variation(share, target)
        label = mix[self._label]
        loss = error = X.new_zeros(())
        if self._pairs_too:
            loss = self._hellinger(gram(X, mix.w), self._target(view, None, keep=keep))
        for value, scale in self._label_slices():
            target = self._target(view, (self._label, value), keep=keep)
            share = gram(X, mix.w * label[:, value])
            loss = loss + scale * self._hellinger(share, target)
            error = error + scale * _variation(share.detach(), target)
        return loss, error

    def _alone(self, mix: Mixture, name: str) -> tuple[Tensor, Tensor]:
        """The same for a table of one column: the distances of its distribution."""
        share = mix.w @ mix[name]
        target = torch.as_tensor(self._one_way[name], dtype=share.dtype, device=share.device)
        offset = self._settings.root_offset
        squares = ((share + offset).sqrt() - (target + offset).sqrt()) ** 2
        return 0.5 * squares.sum(), 0.5 * (share.detach() - target).abs().sum()

    def _hellinger(self, share: Tensor, target: TargetTable) -> Tensor:
        """Squared Hellinger distance, the mean over the counted pairs of columns."""
        offset = self._settings.root_offset
        squares = ((share + offset).sqrt() - (target.share + offset).sqrt()) ** 2
        return 0.5 * (squares * target.counted).sum() / target.blocks

    def _label_slices(self) -> list[tuple[int, float]]:
        """The values of the label to compare, and their weights: all, or a few at random, frequent ones more often."""
        assert self._label is not None
        share = self._one_way[self._label]
        count = self._settings.max_label_slices
        if len(share) <= count:
            return [(value, 1.0) for value in range(len(share))]
        chance = np.sqrt(share) / np.sqrt(share).sum()
        drawn = self._random.choice(len(share), count, p=chance)
        return [(int(value), 1.0 / (count * chance[value])) for value in drawn]

    def _random_slices(self, view: View) -> list[tuple[str, int, float]]:
        """A few (column, value, probability of being chosen); frequent values are chosen more often."""
        if not self._slices or len(view.columns) < 3:
            return []
        weights = np.sqrt(np.concatenate([self._one_way[name] for name in view.columns]))
        chance = weights / weights.sum()
        slices = []
        for index in self._random.choice(len(chance), self._slices, p=chance).tolist():
            column = int(np.searchsorted(view.starts, index, side="right")) - 1
            slices.append((view.columns[column], index - view.starts[column], float(chance[index])))
        return slices

    def _random_view(self) -> View:
        chosen: list[str] = []
        left = self._settings.max_bins
        for index in self._random.permutation(len(self._others)).tolist():
            name = self._others[index]
            if self._sizes[name] <= left or not chosen:
                chosen.append(name)
                left -= self._sizes[name]
        return self._view([name for name in self._others if name in set(chosen)])

    def _view(self, columns: Sequence[str]) -> View:
        ends = np.cumsum([0, *(self._sizes[name] for name in columns)]).tolist()
        return View(tuple(columns), tuple(ends[:-1]), ends[-1])

    def _target(self, view: View, fixed: tuple[str, int] | None, *, keep: bool) -> TargetTable:
        """The Gram matrix of the counts, with one column fixed at a value or none."""
        if keep and fixed in self._target_cache:
            return self._target_cache[fixed]
        share = torch.zeros(view.size, view.size)
        counted = torch.zeros(view.size, view.size)
        blocks = 0
        for i, a in enumerate(view.columns):
            for j in range(i + 1, len(view.columns)):
                table = self._table(a, view.columns[j], fixed)
                if table is not None:
                    rows = slice(view.starts[i], view.starts[i] + table.shape[0])
                    cells = slice(view.starts[j], view.starts[j] + table.shape[1])
                    share[rows, cells] = table
                    counted[rows, cells] = 1.0
                    blocks += 1
        target = TargetTable(share.to(self._device), counted.to(self._device), max(blocks, 1))
        if keep:
            self._target_cache[fixed] = target
        return target

    def _table(self, a: str, b: str, fixed: tuple[str, int] | None) -> Tensor | None:
        """The shares of two columns, with a third fixed; None where they were not counted together."""
        if fixed is None:
            return self._shares((a, b))
        name, value = fixed
        if name in (a, b):
            return None
        clique = tuple(column for column in self._sizes if column in (a, b, name))
        table = self._shares(clique)
        return None if table is None else table.select(clique.index(name), value)

    def _shares(self, clique: Clique) -> Tensor | None:
        if clique not in self._tables:
            if not self._marginals.covers(clique):
                return None
            counts = self._marginals.table(clique)
            self._tables[clique] = torch.as_tensor(counts / self._rows, dtype=torch.float32)
        return self._tables[clique]


def one_way(marginals: Marginals) -> Mapping[str, Tensor]:
    """Each column's own distribution over its bins."""
    rows = max(marginals.rows, 1)
    return {name: torch.as_tensor(marginals.table((name,)) / rows, dtype=torch.float32) for name in marginals.sizes}


def _variation(share: Tensor, target: TargetTable) -> Tensor:
    """Total variation distance, the mean over the counted pairs of columns."""
    return 0.5 * ((share - target.share).abs() * target.counted).sum() / target.blocks

"""The distance between a mixture and the counts: the loss of a fit.

CuTS (Vero et al., ICML 2024, sec. 4.1) compares the three-way marginals that contain the label by total variation.
Here tables are compared in slices. With one column fixed at a group of its bins, the two-way tables of all other
columns are one Gram matrix of the model; so are all pairs, with no column fixed. Every step compares all pairs, and the
slices of the label, which together are the three-way tables with it, by squared Hellinger distance

    H^2(p, q) = 1/2 sum_c (sqrt(p_c) - sqrt(q_c))^2,

and a few random slices of other columns by total variation `TV(p, q) = 1/2 sum_c |p_c - q_c|`. The bins of a number are
sliced in groups of neighbours (`model/slice_groups.py`), because a slice of a single bin has too few rows. Random
slices are chosen with probabilities that the weights undo, so the loss is unbiased. Of a wide table, the slices of a
step compare some columns only; of a very wide one, so do the pairs. Such a part has random columns and those that
depend on them most, so that strong pairs are compared in more steps than weak ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from cuts.count.dependence import strongest_partners
from cuts.count.marginals import Marginals
from cuts.model.mixture import Mixture, gram
from cuts.model.parts import Partners, choose_part
from cuts.model.targets import Groups, Slice, Targets, TargetTable, View

Loss: TypeAlias = Callable[[Mixture], tuple[Tensor, Tensor]]  # the loss of a mixture, and its error


@dataclass(frozen=True, slots=True)
class ObjectiveSettings:
    """What one step of a fit compares."""

    root_offset: float = 1e-6  # added to a share before its root is taken, so that the gradient is finite
    max_bins: int = 640  # of the columns whose pairs are compared in one step, together
    wide_bins: int = 512  # of a table with more, slices compare a part of the columns, another one in every step
    part_bins: int = 320  # of such a part
    partners: int = 8  # columns that a column depends on most, which are in the same part
    max_label_slices: int = 4  # in one step; of a label with more groups some are chosen at random
    pair_weight: float = 1.0  # of all pairs of columns, relative to the slices of the label
    slice_weight: float = 0.1  # of the random slices, relative to those of the label
    max_slices: int = 64  # that random slices are chosen from


OBJECTIVE_SETTINGS = ObjectiveSettings()


class Objective:
    """The loss of a mixture against counts; every call chooses new random slices."""

    def __init__(
        self,
        marginals: Marginals,
        label: str | None,
        *,
        groups: Groups | None = None,
        slices: int,
        seed: int,
        device: str,
        settings: ObjectiveSettings = OBJECTIVE_SETTINGS,
    ) -> None:
        self._settings = settings
        self._rows = max(marginals.rows, 1)
        self._sizes = dict(marginals.sizes)
        self._groups = {name: np.arange(size) for name, size in self._sizes.items()} | dict(groups or {})
        label = label if len(self._sizes) > 2 else None  # two columns are a pair, whichever is the label
        self._label = label
        self._slices = slices if label is not None else max(slices, 2)
        self._device = device
        self._random = np.random.Generator(np.random.Philox(seed))
        self._one_way = {name: marginals.table((name,)) / self._rows for name in self._sizes}
        self._others = tuple(name for name in self._sizes if name != label)
        self._whole = self._view(self._others)
        self.is_wide = self._whole.size > settings.wide_bins  # so a step compares some columns only
        self.partners: Partners = strongest_partners(marginals, settings.partners) if self.is_wide else {}
        self._candidates = self._slice_candidates()
        self._targets = Targets(marginals, self._whole, self._groups, device=device, label=label)

    def loss(self, mix: Mixture) -> tuple[Tensor, Tensor]:
        """The loss of a mixture, and its mean total variation over the pairs of columns."""
        view = self._whole if self._whole.size <= self._settings.max_bins else self._part(self._settings.max_bins)
        if len(view.columns) == 1:
            return self._alone(mix, view.columns[0])
        target = self._targets.of(view, None)
        share = gram(_tables(mix, view), mix.w)
        loss, error = self._hellinger(share, target), _variation(share.detach(), target)
        if self.is_wide:
            view = self._part(self._settings.part_bins, self._label_partners())
        X = _tables(mix, view)
        if self._label is not None:
            loss = self._settings.pair_weight * loss
            for chosen, scale in self._label_slices():
                loss = loss + scale * self._hellinger(self._sliced(mix, X, chosen), self._targets.of(view, chosen))
        for chosen, chance in self._random_slices(view):
            scale = self._settings.slice_weight / (len(view.columns) * chance * self._slices)
            loss = loss + scale * _variation(self._sliced(mix, X, chosen), self._targets.of(view, chosen))
        return loss, error

    def _label_partners(self) -> Sequence[str]:
        """The columns that the label depends on most, in every second step: slices of the label are about them."""
        if self._label is None or not self.partners or self._random.random() < 0.5:
            return ()
        return self.partners.get(self._label, ())

    def _sliced(self, mix: Mixture, X: Tensor, chosen: Slice) -> Tensor:
        """The Gram matrix of the rows whose value lies in a slice."""
        members = torch.as_tensor(self._groups[chosen.column] == chosen.group, dtype=X.dtype, device=X.device)
        return gram(X, mix.w * (mix[chosen.column] @ members))

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

    def _label_slices(self) -> list[tuple[Slice, float]]:
        """The slices of the label to compare, and their weights: all, or a few at random, frequent ones more often."""
        assert self._label is not None
        share = self._group_shares(self._label)
        count = self._settings.max_label_slices
        if len(share) <= count:
            return [(Slice(self._label, group), 1.0) for group in range(len(share))]
        chance = np.sqrt(share) / np.sqrt(share).sum()
        drawn = self._random.choice(len(share), count, p=chance)
        return [(Slice(self._label, int(group)), 1.0 / (count * chance[group])) for group in drawn]

    def _slice_candidates(self) -> tuple[tuple[Slice, float], ...]:
        """The slices of columns other than the label, each with its weight; of many, a random selection."""
        slices = [
            (Slice(name, group), float(np.sqrt(share)))
            for name in self._others
            for group, share in enumerate(self._group_shares(name))
            if 0.0 < share < 1.0
        ]
        if len(slices) <= self._settings.max_slices:
            return tuple(slices)
        weights = np.array([weight for _, weight in slices])
        kept = self._random.choice(len(slices), self._settings.max_slices, replace=False, p=weights / weights.sum())
        return tuple(slices[index] for index in sorted(kept.tolist()))

    def _random_slices(self, view: View) -> list[tuple[Slice, float]]:
        """A few slices and their probabilities of being chosen; frequent values are chosen more often."""
        if not self._slices or len(view.columns) < 3:
            return []
        there = set(view.columns)
        candidates = [(chosen, weight) for chosen, weight in self._candidates if chosen.column in there]
        if not candidates:
            return []
        chance = np.array([weight for _, weight in candidates])
        chance /= chance.sum()
        drawn = self._random.choice(len(candidates), self._slices, p=chance)
        return [(candidates[index][0], float(chance[index])) for index in drawn.tolist()]

    def _group_shares(self, name: str) -> list[float]:
        shares: list[float] = np.bincount(self._groups[name], self._one_way[name]).tolist()
        return shares

    def _part(self, max_bins: int, first: Sequence[str] = ()) -> View:
        """A random part of the columns, with those they depend on most and the label."""
        label_bins = self._sizes[self._label] if self._label is not None else 0
        room = max(max_bins - label_bins, max_bins // 2)
        chosen = choose_part(self._others, self.partners, self._sizes, room, self._random, first=first)
        return self._view([name for name in self._others if name in chosen])

    def _view(self, others: Sequence[str]) -> View:
        columns = (*others, *([] if self._label is None else [self._label]))
        return View(columns, tuple(self._sizes[name] for name in columns))


def one_way(marginals: Marginals) -> Mapping[str, Tensor]:
    """Each column's own distribution over its bins."""
    rows = max(marginals.rows, 1)
    return {name: torch.as_tensor(marginals.table((name,)) / rows, dtype=torch.float32) for name in marginals.sizes}


def _tables(mix: Mixture, view: View) -> Tensor:
    """The distributions of a view's columns side by side, (K, bins of the view)."""
    table = dict(zip(mix.columns, mix.P, strict=True))
    return torch.cat([table[name] for name in view.columns], 1)


def _variation(share: Tensor, target: TargetTable) -> Tensor:
    """Total variation distance, the mean over the counted pairs of columns."""
    return 0.5 * ((share - target.share).abs() * target.counted).sum() / target.blocks

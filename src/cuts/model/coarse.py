"""Coarse classes: influence functions of several columns, made sums of functions of one column within each class.

A correlation distinguishes every value of both of its columns, so no small number of classes makes its influence
function one of a single column. The bins of a column are therefore grouped into a few classes of bins that the function
treats alike: bins are ordered by the first singular vector of its interaction, which for a covariance is the column's
own value, and cut where the variance within classes is smallest (Fisher, Journal of the American Statistical
Association 1958). Within a class the function is replaced by its least-squares approximation by a sum of functions of
one column. That is still a function of the row alone, so reweighting by it leaves the label of a given row as it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from cuts.data.table import Floats, IntArray
from cuts.lang.spec import Statistic
from cuts.lang.targets import Target
from cuts.logic.layout import Layout
from cuts.logic.splits import Classes, fixed_classes, is_refined, join_classes
from cuts.model.cells import Cells, Statistics
from cuts.model.mixture import Mixture, marginal

BACKFITTING_ROUNDS = 3  # of the approximation by a sum; each column of a class in turn


def influence_over_bins(target: Target, mix: Mixture, stats: Statistics) -> dict[Statistic, Tensor]:
    """The influence function of a number, in tolerances, by statistic: a value for every combination of bins.

    A number that is undefined has none.
    """
    cells = {stat: p.detach().requires_grad_() for stat, p in stats.joints(target.value, mix).items()}
    value = stats.of_joints(target.value, cells) / target.unit
    if not bool(torch.isfinite(value)):
        return {}
    value.backward()  # type: ignore[no-untyped-call]
    return {
        stat: _over_bins(table.grad, stats.cells(stat))
        for stat, table in cells.items()
        if stats.layout(stat).axes and table.grad is not None
    }


def is_exact(layout: Layout, classes: Classes, label: str | None) -> bool:
    """Whether the classes distinguish all that a statistic does in every column but its free one."""
    return all(is_refined(member, classes, name) for name, member in fixed_classes(layout, label).items())


def additive(
    by_bin: Tensor, columns: Sequence[str], free: str, mix: Mixture, classes: Classes, bins: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """A function of some columns as a sum of functions of one column, for every part of a split mixture.

    `by_bin` has one axis per column; `bins` has a bin of each part for every split column. Parts of the same classes
    get the same functions, fitted to the rows of all of them: by column, a value for each part and bin.
    """
    p = _shares(mix, columns)
    fixed = [name for name in columns if name != free]
    members = {name: torch.as_tensor(classes[name]) if name in classes else _one_class(mix, name) for name in fixed}
    order = [free, *(name for name in fixed if int(members[name].max()) + 1 < len(members[name]))]
    rest = torch.where(p > 0, by_bin, 0.0)  # where there are no rows it may be infinite
    sums: dict[str, Tensor] = {}
    for _ in range(BACKFITTING_ROUNDS):
        for name in order:
            kept = columns.index(name)
            table = _ratio(_within(p * rest, columns, members, kept), _within(p, columns, members, kept))
            sums[name] = sums[name] + table if name in sums else table
            rest = rest - _spread(table, columns, members, kept)
    return {name: _at_parts(table, columns, members, columns.index(name), bins) for name, table in sums.items()}


def group_bins(
    counts: Mapping[str, int], targets: Sequence[Target], mix: Mixture, stats: Statistics, label: str | None
) -> Classes:
    """Coarse classes of the bins of some columns, so many of each, for the influence functions of the targets."""
    distinguished: dict[str, list[IntArray]] = {name: [] for name in counts}
    interactions: dict[str, list[Floats]] = {name: [] for name in counts}
    for target in targets:
        for stat, by_bin in influence_over_bins(target, mix, stats).items():
            layout = stats.layout(stat)
            for name, member in fixed_classes(layout, label).items():
                if name in counts:
                    others = [other for other in layout.columns if other != name]
                    table = by_bin.nan_to_num(0.0, 0.0, 0.0).movedim(layout.columns.index(name), 0).flatten(1)
                    distinguished[name].append(member)
                    interactions[name].append(_interaction(table, mix, name, others))
    classes = {}
    for name, count in counts.items():
        mass: Floats = (mix.w @ mix[name]).double().numpy()
        finest = join_classes([np.zeros(len(mass), dtype=np.int64), *distinguished[name]])
        classes[name] = finest if finest.max() < count else _grouped(np.hstack(interactions[name]), mass, count)
    return classes


def _shares(mix: Mixture, columns: Sequence[str]) -> Tensor:
    """The joint distribution of some columns over their bins; the largest axis is contracted last."""
    last = max(columns, key=lambda name: mix[name].shape[1])
    firsts = [name for name in columns if name != last]
    return marginal(mix, (*firsts, last)).double().movedim(-1, columns.index(last))


# --- parts of the approximation


def _over_bins(table: Tensor, cells: Cells) -> Tensor:
    """A number for every combination of bins, from those of the slots."""
    for spread in cells.spreads:  # each round takes the first axis off and puts its bins at the end
        table = torch.tensordot(table, spread, dims=([0], [1]))
    return table


def _one_class(mix: Mixture, name: str) -> Tensor:
    return torch.zeros(mix[name].shape[1], dtype=torch.int64)


def _within(table: Tensor, columns: Sequence[str], members: Mapping[str, Tensor], kept: int) -> Tensor:
    """The sums of a table: over bins in each class of a fixed column, over all bins of the free one, over none of
    the one at `kept`."""
    for axis, name in enumerate(columns):
        if axis == kept:
            continue
        if name in members:
            member = members[name]
            shape = [int(member.max()) + 1 if i == axis else size for i, size in enumerate(table.shape)]
            table = table.new_zeros(shape).index_add(axis, member, table)
        else:
            table = table.sum(axis, keepdim=True)
    return table


def _ratio(total: Tensor, mass: Tensor) -> Tensor:
    return torch.where(mass > 0, total / mass.clamp(min=1e-300), 0.0)


def _spread(table: Tensor, columns: Sequence[str], members: Mapping[str, Tensor], kept: int) -> Tensor:
    """The table of `_within` with the value of its class for every bin of the other columns."""
    for axis, name in enumerate(columns):
        if axis != kept and name in members:
            table = table.index_select(axis, members[name])
    return table


def _at_parts(
    table: Tensor, columns: Sequence[str], members: Mapping[str, Tensor], kept: int, bins: Mapping[str, Tensor]
) -> Tensor:
    """The table of `_within` at the classes of each part: (K, bins of the column at `kept`), or (1, bins)."""
    table = table.movedim(kept, -1)
    others = [name for axis, name in enumerate(columns) if axis != kept]
    index = []
    for axis, name in enumerate(others):
        if name not in members or table.shape[axis] == 1:
            index.append(torch.zeros(1, dtype=torch.int64))
        else:
            index.append(members[name][bins[name]])
    return table[tuple(index)]


# --- parts of the grouping


def _interaction(table: Tensor, mix: Mixture, name: str, others: Sequence[str]) -> Floats:
    """A function of a column and of others without what is a function of either, each cell by the root of its share."""
    rows = (mix.w @ mix[name]).double()
    columns = _shares(mix, others).flatten()
    table = table - (table @ columns)[:, None]
    table = table - (rows @ table)[None, :]
    found: Floats = (table * rows.sqrt()[:, None] * columns.sqrt()[None, :]).numpy()
    return found / max(float(np.linalg.norm(found)), 1e-300)


def _grouped(interaction: Floats, mass: Floats, count: int) -> IntArray:
    """The class of every bin: `count` classes, ordered by how the bins interact with the other columns."""
    _, vectors = np.linalg.eigh(interaction @ interaction.T)
    score = np.where(mass > 0, vectors[:, -1] / np.sqrt(np.maximum(mass, 1e-300)), 0.0)
    order = np.argsort(score, kind="stable")
    classes = np.empty(len(mass), dtype=np.int64)
    classes[order] = _cut(score[order], mass[order], count)
    return join_classes([classes])


def _cut(score: Floats, mass: Floats, count: int) -> IntArray:
    """The classes of sorted numbers with the smallest variance within, by dynamic programming."""
    size = len(score)
    zero = np.zeros(1)
    m, s, q = (np.concatenate([zero, np.cumsum(mass * score**power)]) for power in (0, 1, 2))
    first, last = np.meshgrid(np.arange(size + 1), np.arange(size + 1), indexing="ij")
    weight = m[last] - m[first]
    spread = q[last] - q[first] - (s[last] - s[first]) ** 2 / np.where(weight > 0, weight, 1.0)
    cost = np.where(last > first, np.maximum(spread, 0.0), np.inf)  # of one class of numbers `first` to `last` - 1
    best, cuts = cost[0], []
    for _ in range(count - 1):
        total = best[:, None] + cost
        cuts.append(total.argmin(0))
        best = total.min(0)
    classes: IntArray = np.zeros(size, dtype=np.int64)
    end = size
    for number in range(count - 1, 0, -1):
        start = int(cuts[number - 1][end])
        classes[start:end] = number
        end = start
    return classes

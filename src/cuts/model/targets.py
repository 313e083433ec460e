"""What the counts say about all pairs of columns at once, with a third column fixed or none: the targets of a fit.

The bins of all columns lie side by side, and the tables of all pairs are the blocks of one matrix. Such a matrix is
built once for every slice that is asked for and kept while there is room for it; a part of the columns takes its rows
and columns.

Of a wide table not all pairs are counted (`count/workload.py`). Those left out are independent as far as the rows show,
or weaker than what is counted. So their target is independence, in a slice of the label given that slice; without
a target, a mixture would make them depend on each other through whatever its components have in common.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cuts.count.marginals import Marginals
from cuts.data.table import Floats, IntArray

Groups: TypeAlias = Mapping[str, IntArray]  # by column: the group of each bin, numbered from 0

Pair: TypeAlias = tuple[str, str]
Matrix: TypeAlias = NDArray[np.float32]

MAX_KEPT_CELLS = 100_000_000  # of the matrices kept: 400 MB


@dataclass(frozen=True, slots=True)
class Slice:
    """A group of bins of one column."""

    column: str
    group: int


@dataclass(frozen=True, eq=False)
class View:
    """Some columns whose bins lie side by side in the Gram matrix of a step."""

    columns: tuple[str, ...]
    sizes: tuple[int, ...]

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where the bins of each column start, and where the last ends."""
        return tuple(np.cumsum([0, *self.sizes]).tolist())

    @property
    def size(self) -> int:
        """The number of bins."""
        return self.starts[-1]


@dataclass(frozen=True, slots=True, eq=False)
class TargetTable:
    """The Gram matrix of the counts, and the weight of each of its cells: blocks above the diagonal only."""

    share: Tensor  # (size, size)
    counted: Tensor  # (size, size), 1 where the pair was counted, else 0
    blocks: int


class Targets:
    """The targets of all columns, and of some of them."""

    def __init__(
        self,
        marginals: Marginals,
        whole: View,
        groups: Groups,
        *,
        device: str,
        label: str | None = None,
        max_cells: int = MAX_KEPT_CELLS,
    ) -> None:
        self._marginals, self._whole, self._groups, self._device = marginals, whole, groups, device
        self._label = label
        self._place = {name: i for i, name in enumerate(whole.columns)}
        self._pairs = _counted_pairs(marginals, self._place)
        self._largest = max((table.size for clique, table in marginals.tables.items() if len(clique) == 2), default=0)
        self._left = max_cells
        self._kept: dict[Slice | None, TargetTable] = {}
        self._counted: dict[str | None, Tensor] = {}

    def of(self, view: View, fixed: Slice | None) -> TargetTable:
        """The shares of all pairs of a view's columns, with another column in a group of its bins or none.

        The columns of the view are in the order of the whole.
        """
        if fixed not in self._kept and not self._keep(fixed):
            return self._build(view, fixed)
        kept = self._kept[fixed]
        return kept if view is self._whole else self._part(kept, view)

    def _keep(self, fixed: Slice | None) -> bool:
        """Whether there is room for the matrix of all columns; if so it is kept from now on."""
        column = None if fixed is None else fixed.column
        cells = self._whole.size**2
        if self._left < 2 * cells:
            return False
        table = self._build(self._whole, fixed)
        counted = self._counted.setdefault(column, table.counted)
        self._left -= cells if counted is not table.counted else 2 * cells
        self._kept[fixed] = TargetTable(table.share, counted, table.blocks)
        return True

    def _part(self, kept: TargetTable, view: View) -> TargetTable:
        """The rows and columns of a matrix that belong to the columns of a view."""
        starts = [self._whole.starts[self._place[name]] for name in view.columns]
        bins = np.concatenate([start + np.arange(size) for start, size in zip(starts, view.sizes, strict=True)])
        of_view = torch.as_tensor(bins, device=self._device)
        first = torch.as_tensor(view.starts[:-1], device=self._device)
        share, counted = (matrix[of_view].index_select(1, of_view) for matrix in (kept.share, kept.counted))
        return TargetTable(share, counted, max(int(counted[first][:, first].sum()), 1))

    def _build(self, view: View, fixed: Slice | None) -> TargetTable:
        """The targets of a view from the counts."""
        share = np.zeros((view.size, view.size), dtype=np.float32)
        counted = np.zeros_like(share)
        blocks = 0
        start = dict(zip(view.columns, view.starts, strict=False))
        for a, b in self._pairs.get(None if fixed is None else fixed.column, ()):
            if a in start and b in start:
                table = self._pair(a, b, fixed)
                block = slice(start[a], start[a] + table.shape[0]), slice(start[b], start[b] + table.shape[1])
                share[block] = table
                counted[block] = 1.0
                blocks += 1
        if self._is_filled(fixed):
            blocks += self._fill(share, counted, view, fixed)
        share /= max(self._marginals.rows, 1)
        made, weights = (torch.from_numpy(matrix).to(self._device) for matrix in (share, counted))
        return TargetTable(made, weights, max(blocks, 1))

    def _is_filled(self, fixed: Slice | None) -> bool:
        """Whether pairs that were not counted are those left out: pairs were chosen, instead of all triples."""
        if not self._largest or (fixed is not None and fixed.column != self._label):
            return False
        known = () if fixed is None else (fixed.column,)
        return all(self._marginals.covers((name, *known)) for name in self._whole.columns if name not in known)

    def _fill(self, share: Matrix, counted: Matrix, view: View, fixed: Slice | None) -> int:
        """Put independence where no counts are, and return the number of pairs; larger tables than any counted stay."""
        own = np.concatenate([self._single(name, fixed) for name in view.columns])
        column, size = np.repeat(np.arange(len(view.sizes)), view.sizes), np.repeat(view.sizes, view.sizes)
        is_pair = (column[:, None] < column[None, :]) & (np.outer(size, size) <= self._largest)
        if fixed is not None and fixed.column in view.columns:
            at = view.columns.index(fixed.column)
            is_pair &= (column != at)[:, None] & (column != at)[None, :]
        is_open = is_pair & (counted == 0)
        total = max(float(own[: view.sizes[0]].sum()), 1.0)
        share[is_open] = (np.outer(own, own) / total)[is_open]
        counted[is_open] = 1.0
        starts = np.array(view.starts[:-1])
        return int(is_open[np.ix_(starts, starts)].sum())

    def _single(self, name: str, fixed: Slice | None) -> Floats:
        """The counts of one column, of the rows in a slice."""
        if fixed is None:
            own: Floats = self._marginals.table((name,)).astype(np.float64)
            return own
        members = np.flatnonzero(self._groups[fixed.column] == fixed.group)
        if name == fixed.column:
            inside: Floats = np.zeros(self._marginals.sizes[name])
            inside[members] = self._marginals.table((name,))[members]
            return inside
        counts: Floats = self._marginals.table((name, fixed.column))[:, members].sum(axis=1).astype(np.float64)
        return counts

    def _pair(self, a: str, b: str, fixed: Slice | None) -> IntArray:
        """The counts of two columns, with a third in a group of bins."""
        if fixed is None:
            return self._marginals.table((a, b))
        members = np.flatnonzero(self._groups[fixed.column] == fixed.group)
        counts: IntArray = self._marginals.table((a, b, fixed.column))[:, :, members].sum(axis=2)
        return counts


def _counted_pairs(marginals: Marginals, place: Mapping[str, int]) -> dict[str | None, dict[Pair, None]]:
    """The pairs of columns that were counted together: by a third column counted with them, and in any case."""
    pairs: dict[str | None, dict[Pair, None]] = {None: {}}
    for clique in marginals.tables:
        names = sorted(clique, key=place.__getitem__)
        for a, b in combinations(names, 2):
            pairs[None][a, b] = None
            for third in names:
                if third not in (a, b):
                    pairs.setdefault(third, {})[a, b] = None
    return pairs

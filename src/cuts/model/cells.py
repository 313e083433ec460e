"""Statistics of a mixture: the probabilities of the cells that each is about, and its exact value.

CuTS (Vero et al., ICML 2024, sec. 4.2) estimates the joint marginal of a statistic's columns from a generated sample;
here it is the mixture's own, so the value is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan

import torch
from torch import Tensor

from cuts.data.codec import Codec
from cuts.lang.spec import ColumnValue, Quantity, Statistic
from cuts.lang.walks import statistics_of
from cuts.logic.layout import Layout, lay_out
from cuts.model.mixture import Mixture
from cuts.read import relaxed
from cuts.vocab.names import statistics


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The layout of a statistic as tensors."""

    layout: Layout
    spreads: tuple[Tensor, ...]  # one per axis: (bins, slots)
    held: Tensor  # (slots, slots, ...), 1 where the condition holds, else 0
    values: tuple[Tensor, ...]


def as_cells(layout: Layout) -> Cells:
    """A layout as tensors."""
    spreads = tuple(torch.as_tensor(axis.spread) for axis in layout.axes)
    return Cells(layout, spreads, torch.tensor(layout.mask * 1.0), tuple(map(torch.tensor, layout.values)))


def joint(mix: Mixture, cells: Cells) -> Tensor:
    """The probability of every cell: `sum_k w_k S_a[k] (x) S_b[k] ...`, with `S` the chances of the slots.

    Where bins are fewer than slots the sum is over bins: slots divide the bins of all components alike. The largest
    axis is contracted last, so that it is not repeated for every component.
    """
    product = mix.w.cpu().double()[:, None]  # (K, cells so far)
    if not cells.spreads:
        return mix.w.cpu().double().sum()
    tables = [mix[name].cpu().double() for name in cells.layout.columns]
    is_finer = [spread.shape[1] >= spread.shape[0] for spread in cells.spreads]
    chances = [
        table if finer else table @ spread for table, spread, finer in zip(tables, cells.spreads, is_finer, strict=True)
    ]
    last = max(range(len(chances)), key=lambda axis: chances[axis].shape[1])
    firsts = [axis for axis in range(len(chances)) if axis != last]
    for axis in firsts:
        product = (product[:, :, None] * chances[axis][:, None, :]).flatten(1)
    table = (product.T @ chances[last]).reshape([chances[axis].shape[1] for axis in (*firsts, last)]).movedim(-1, last)
    for spread, finer in zip(cells.spreads, is_finer, strict=True):  # each round moves the first axis to the end
        table = torch.tensordot(table, spread, dims=([0], [0])) if finer else table.movedim(0, -1)
    return table


def evaluate(cells: Cells, chance: Tensor, rows: float) -> Tensor:
    """The statistic of a distribution over its cells."""
    layout = cells.layout
    weight = chance * cells.held
    if statistics()[layout.stat.name].unit != "rows" and not bool(weight.sum() > 0):
        return weight.new_full((), nan)  # it is about no row
    if statistics()[layout.stat.name].argument != "column":
        values = [numbers.flatten() for numbers in cells.values]
        return relaxed.of_numbers(layout.stat, weight.flatten(), values, rows)  # type: ignore[no-any-return]
    own = [i for i, axis in enumerate(layout.axes) if not axis.classes]
    others = [i for i in range(weight.dim()) if i not in own]
    together = weight.sum(others) if others else weight
    named = [arg.column for arg in layout.stat.args if isinstance(arg, ColumnValue)]
    order = [layout.columns.index(name) for name in named]
    alone = [_of_axis(together, own.index(axis)) for axis in order]
    return relaxed.of_columns(layout.stat, together.flatten(), alone)  # type: ignore[no-any-return]


class Statistics:
    """The statistics of some quantities on one codec, laid out once."""

    def __init__(self, codec: Codec, rows: float) -> None:
        self.codec, self.rows = codec, rows
        self._cells: dict[Statistic, Cells] = {}

    def cells(self, stat: Statistic) -> Cells:
        """The cells of a statistic; a `ValueError` when there are too many."""
        if stat not in self._cells:
            self._cells[stat] = as_cells(lay_out(stat, self.codec))
        return self._cells[stat]

    def layout(self, stat: Statistic) -> Layout:
        """The same as numpy arrays."""
        return self.cells(stat).layout

    def joints(self, quantity: Quantity, mix: Mixture) -> dict[Statistic, Tensor]:
        """The probabilities of the cells of every statistic in a quantity."""
        return {stat: joint(mix, self.cells(stat)) for stat in statistics_of(quantity)}

    def of_joints(self, quantity: Quantity, chances: Mapping[Statistic, Tensor]) -> Tensor:
        """A quantity from the probabilities of its statistics' cells."""
        value: Tensor = relaxed.value(
            quantity,
            lambda number: torch.tensor(number, dtype=torch.float64),
            lambda stat: evaluate(self.cells(stat), chances[stat], self.rows),
        )
        return value

    def value(self, quantity: Quantity, mix: Mixture) -> Tensor:
        """A quantity of a mixture; NaN where it is undefined."""
        return self.of_joints(quantity, self.joints(quantity, mix))

    def known(self, quantity: Quantity, mix: Mixture) -> float:
        """The same as a plain number; NaN also where there are too many cells."""
        try:
            with torch.no_grad():
                return float(self.value(quantity, mix))
        except ValueError:
            return nan


def _of_axis(table: Tensor, axis: int) -> Tensor:
    """The marginal distribution of one axis."""
    return table.sum([other for other in range(table.dim()) if other != axis]) if table.dim() > 1 else table

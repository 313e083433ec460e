"""Statistics of a mixture: the probabilities of the cells each is about, and its exact value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan

import torch
from torch import Tensor

from cuts.data.codec import Codec
from cuts.lang.spec import ColumnValue, Quantity, Statistic, statistics_of
from cuts.logic.layout import Layout, lay_out
from cuts.model.mixture import Mixture
from cuts.read import relaxed
from cuts.vocab.names import statistics


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The layout of a statistic as tensors."""

    layout: Layout
    spreads: tuple[Tensor, ...]  # one an axis: (bins, slots)
    held: Tensor  # (slots, slots, ...)
    values: tuple[Tensor, ...]


def as_cells(layout: Layout) -> Cells:
    """A layout as tensors."""
    spreads = tuple(torch.as_tensor(axis.spread) for axis in layout.axes)
    return Cells(layout, spreads, torch.tensor(layout.mask * 1.0), tuple(map(torch.tensor, layout.values)))


def joint(mix: Mixture, cells: Cells) -> Tensor:
    """The probability of every cell: `sum_k w_k S_a[k] (x) S_b[k] ...`, with `S` the chances of the slots."""
    found = mix.w.cpu().double()[:, None]  # (K, cells so far)
    if not cells.spreads:
        return mix.w.cpu().double().sum()
    pairs = zip(cells.layout.columns, cells.spreads, strict=True)
    *firsts, last = [mix[name].cpu().double() @ spread for name, spread in pairs]
    for chance in firsts:
        found = (found[:, :, None] * chance[:, None, :]).flatten(1)
    return (found.T @ last).reshape(cells.held.shape)


def evaluate(cells: Cells, chance: Tensor, rows: float) -> Tensor:
    """The statistic of a distribution over its cells."""
    layout = cells.layout
    weight = chance * cells.held
    if statistics()[layout.stat.name].unit != "rows" and not bool(weight.sum() > 0):
        return weight.new_full((), nan)  # it is about no row
    if statistics()[layout.stat.name].argument != "column":
        flat = [each.flatten() for each in cells.values]
        found: Tensor = relaxed.of_numbers(layout.stat, weight.flatten(), flat, rows)
        return found
    own = [place for place, axis in enumerate(layout.axes) if not axis.classes]
    others = [place for place in range(weight.dim()) if place not in own]
    together = weight.sum(others) if others else weight
    named = [arg.column for arg in layout.stat.args if isinstance(arg, ColumnValue)]
    order = [layout.columns.index(name) for name in named]
    alone = [_of_axis(together, own.index(place)) for place in order]
    return relaxed.of_columns(layout.stat, together.flatten(), alone)  # type: ignore[no-any-return]


class Statistics:
    """The statistics of some quantities on one codec, laid out once."""

    def __init__(self, codec: Codec, rows: float) -> None:
        self._codec, self.rows = codec, rows
        self._cells: dict[Statistic, Cells] = {}

    def cells(self, stat: Statistic) -> Cells:
        """The cells of a statistic; `ValueError` when there are too many."""
        if stat not in self._cells:
            self._cells[stat] = as_cells(lay_out(stat, self._codec))
        return self._cells[stat]

    def layout(self, stat: Statistic) -> Layout:
        """The same as numpy arrays."""
        return self.cells(stat).layout

    def joints(self, quantity: Quantity, mix: Mixture) -> dict[Statistic, Tensor]:
        """The cells' probabilities of every statistic in a quantity."""
        return {stat: joint(mix, self.cells(stat)) for stat in statistics_of(quantity)}

    def of_joints(self, quantity: Quantity, chances: Mapping[Statistic, Tensor]) -> Tensor:
        """A quantity from the probabilities of its statistics' cells."""
        found: Tensor = relaxed.value(
            quantity,
            lambda number: torch.tensor(number, dtype=torch.float64),
            lambda stat: evaluate(self.cells(stat), chances[stat], self.rows),
        )
        return found

    def value(self, quantity: Quantity, mix: Mixture) -> Tensor:
        """A quantity of a mixture; not a number where it is undefined."""
        return self.of_joints(quantity, self.joints(quantity, mix))

    def known(self, quantity: Quantity, mix: Mixture) -> float:
        """The same as a plain number, also not a number where there are too many cells."""
        try:
            with torch.no_grad():
                return float(self.value(quantity, mix))
        except ValueError:
            return nan


def _of_axis(table: Tensor, place: int) -> Tensor:
    return table.sum([other for other in range(table.dim()) if other != place]) if table.dim() > 1 else table

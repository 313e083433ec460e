"""The kinds of rows that rules allow, as far as some columns tell them apart: cells.

All rows of a cell satisfy the same conditions; the numbers in them lie between bounds. Columns that only rules mention
are projected away: a cell is there when some values of theirs go with it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

import numpy as np

from cuts.data.codec import CategoryBins, ColumnBins, bin_limits
from cuts.data.schema import Schema
from cuts.data.table import Bools, Floats, IntArray
from cuts.lang.spec import Apply, ColumnValue, Const, Pred, Quantity, Statistic
from cuts.lang.walks import columns_of
from cuts.logic.core import build_grid, lower
from cuts.logic.diagram import NO, YES, Store
from cuts.text.diagnostic import CutsError
from cuts.vocab.functions import FUNCTIONS
from cuts.vocab.interval import Interval

_DEFINED = frozenset({"+", "-", "*", "/", "negate", "min", "max", "abs", "sqrt", "log", "exp"})


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """`classes[name][i]` is the class of values that column has in cell `i`; a column not in it may have any value."""

    count: int
    store: Store
    roots: Mapping[Pred, int]
    classes: Mapping[str, IntArray]
    _held: dict[int, Bools] = field(default_factory=dict)

    def holds(self, condition: Pred) -> Bools:
        """The cells on which a condition holds; it is one of those the cells were made for."""
        return self._holds(self.roots[condition])

    def _holds(self, root: int) -> Bools:
        if root in (NO, YES):
            return np.full(self.count, root == YES)
        found = self._held.get(root)
        if found is None:
            node = self.store.node(root)
            name = self.store.variables[node.level]
            assert isinstance(name, str), "sums are left out"
            below = np.stack([self._holds(child) for child in node.children])  # (classes, cells)
            found = self._held[root] = below[self.classes[name], np.arange(self.count)]
        return found

    def limits(self, number: Quantity, where: Bools) -> tuple[Floats, Floats] | None:
        """The least and the greatest value of a number in each cell of `where`; nothing when it can be undefined."""
        names = sorted(columns_of(number))
        known = [name for name in names if name in self.classes]
        ranges = {name: self._ranges(name) for name in names}
        low, high = np.zeros(self.count), np.zeros(self.count)
        cells = np.stack([np.zeros(self.count, np.int64), *(self.classes[name] for name in known)])[:, where]
        kinds, kind_of = np.unique(cells, axis=1, return_inverse=True)  # a number differs only with its own columns
        found = []
        for _, *kind in kinds.T.tolist():
            chosen = dict(zip(known, kind, strict=True))
            reach = _reach(number, {name: each[chosen.get(name, 0)] for name, each in ranges.items()})
            if reach is None:
                return None
            found.append((reach.low, reach.high))
        if found:
            low[where], high[where] = np.array(found)[kind_of.reshape(-1)].T
        return low, high

    def _ranges(self, name: str) -> list[Interval]:
        """The values of a column in each of its classes; 0 where it has none, which no number is taken of."""
        bins = self.store.grid.codec[name]
        if name not in self.classes:
            return [bins.column.range]
        classes = self.store.classes[self.store.variables.index(name)]
        ends = _ends(bins)
        found = []
        for number in range(int(classes.max()) + 1):
            inside = [end for position, end in enumerate(ends) if classes[position] == number]
            found.append(Interval(inside[0][0], inside[-1][1]) if inside else Interval(0.0, 0.0))
        return found


def find_cells(
    rules: Sequence[Pred], conditions: Collection[Pred], columns: Collection[str], schema: Schema, *, most: int
) -> Cells | None:
    """The cells of `columns` that `rules` allow and `conditions` tell apart; nothing when there are too many.

    No predicate is about a sum of columns, and the conditions are about `columns` only.
    """
    preds = [*rules, *conditions]
    grid = build_grid(preds, schema, coarse=True)
    try:
        store = Store([lower(pred, grid) for pred in preds], grid)
        allowed = store.conjunction(store.roots[: len(rules)])
    except CutsError:  # more nodes than a diagram may have
        return None
    known = [name for name in store.variables if name in columns]
    found = _ways(store, allowed, set(columns), most)
    if found is None:
        return None
    table = np.array(found, dtype=np.int64).reshape(len(found), len(known))
    classes = {str(name): table[:, place] for place, name in enumerate(known)}
    return Cells(len(found), store, dict(zip(preds, store.roots, strict=True)), classes)


def _ways(store: Store, root: int, columns: Collection[str], most: int) -> list[tuple[int, ...]] | None:
    """The classes of `columns`, in the store's order, with which some way leads to YES.

    Ways are followed level by level, all nodes that the other columns' values lead to at once.
    """
    ways: list[tuple[tuple[int, ...], frozenset[int]]] = [((), frozenset({root}) - {NO})]
    for level, (variable, classes) in enumerate(zip(store.variables, store.classes, strict=True)):
        count = int(classes.max()) + 1
        steps = {at: _steps(store, at, level, count) for at in {at for _, at in ways}}
        if variable in columns:
            ways = [((*way, c), to) for way, at in ways for c, to in enumerate(steps[at]) if to]
        else:
            ways = [(way, frozenset().union(*steps[at])) for way, at in ways]
        if len(ways) > most:
            return None
    return [way for way, at in ways if at]


def _steps(store: Store, at: frozenset[int], level: int, count: int) -> list[frozenset[int]]:
    """Where each class of the variable at `level` leads from some nodes; nodes that do not ask for it stay."""
    asking = {number for number in at if number != YES and store.node(number).level == level}
    staying = at - asking
    if not asking:
        return [at] * count
    return [staying | {store.node(number).children[c] for number in asking} - {NO} for c in range(count)]


def _ends(bins: ColumnBins) -> list[tuple[float, float]]:
    """The lowest and the highest value of each bin, the missing one left out; a category counts as its position."""
    if isinstance(bins, CategoryBins):
        return [(float(place), float(place)) for place in range(len(bins.groups))]
    return bin_limits(bins.column, bins.edges)


def _reach(value: Quantity, ranges: Mapping[str, Interval]) -> Interval | None:
    """Bounds on a number of a row, or nothing when it may be undefined or without bound."""
    match value:
        case Const(amount):
            return Interval(amount, amount)
        case ColumnValue(column):
            return ranges[column]
        case Apply(function, args):
            parts = [part for arg in args if (part := _reach(arg, ranges)) is not None]
            if len(parts) < len(args) or function not in _DEFINED or (function == "sqrt" and parts[0].low < 0):
                return None
            found = FUNCTIONS[function].reach(*parts)
            return found if isfinite(found.low) and isfinite(found.high) else None
        case Statistic():
            raise AssertionError("a statistic of a statistic is refused by the binder")

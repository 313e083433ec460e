"""The cells of a table: the kinds of rows that rules allow, as far as the values of some columns distinguish them.

All rows of a cell satisfy the same conditions; the numbers in them lie between bounds. Columns that only rules mention
are projected out: a cell exists if some values of theirs go with it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import isfinite

import numpy as np

from cuts.data.codec import CategoryBins, ColumnBins, bin_limits
from cuts.data.schema import Schema
from cuts.data.table import Bools, Floats, IntArray
from cuts.lang.spec import Apply, ColumnValue, Const, Pred, Quantity, Statistic
from cuts.lang.walks import columns_of
from cuts.logic.core import build_grid
from cuts.logic.diagram import NO, YES, Store
from cuts.logic.formula import lower
from cuts.text.diagnostic import CutsError
from cuts.vocab.functions import FUNCTIONS
from cuts.vocab.interval import Interval


class Cells:
    """Cells numbered from 0; the value of a column in `classes` is known up to its class, other columns are free."""

    def __init__(self, count: int, store: Store, roots: Mapping[Pred, int], classes: Mapping[str, IntArray]) -> None:
        """`roots[c]` is the node of condition `c` in `store`, `classes[name][i]` the class of a column in cell `i`."""
        self.count = count
        self.classes = classes
        self._store = store
        self._roots = roots
        self._masks = {NO: np.zeros(count, dtype=np.bool_), YES: np.ones(count, dtype=np.bool_)}  # by node

    def holds(self, condition: Pred) -> Bools:
        """The cells on which a condition holds; it is one of those the cells were made for."""
        root = self._roots[condition]
        for number in self._store.below(root):
            if number not in self._masks:
                node = self._store.node(number)
                name = self._store.variables[node.level]
                assert isinstance(name, str), "sums are left out"
                children = np.stack([self._masks[child] for child in node.children])  # (classes, cells)
                self._masks[number] = children[self.classes[name], np.arange(self.count)]
        return self._masks[root]

    def limits(self, number: Quantity, where: Bools) -> tuple[Floats, Floats] | None:
        """The lowest and the highest value of a number in each cell of `where`; None if it can be undefined there."""
        names = sorted(columns_of(number))
        classified = [name for name in names if name in self.classes]
        ranges = {name: self._ranges(name) for name in names}
        low, high = np.zeros(self.count), np.zeros(self.count)
        cells = np.stack([np.zeros(self.count, np.int64), *(self.classes[name] for name in classified)])[:, where]
        kinds, kind_of = np.unique(cells, axis=1, return_inverse=True)  # a number differs only with its own columns
        ends = []
        for _, *kind in kinds.T.tolist():
            class_of = dict(zip(classified, kind, strict=True))
            reach = _reach(number, {name: by_class[class_of.get(name, 0)] for name, by_class in ranges.items()})
            if reach is None:
                return None
            ends.append((reach.low, reach.high))
        if ends:
            low[where], high[where] = np.array(ends)[kind_of.reshape(-1)].T
        return low, high

    def _ranges(self, name: str) -> list[Interval]:
        """The range of a column in each of its classes; [0, 0] for one without numbers, which is never used."""
        bins = self._store.grid.codec[name]
        if name not in self.classes:
            return [bins.column.range]
        classes = self._store.classes[self._store.variables.index(name)]
        ends = _ends(bins)
        ranges = []
        for number in range(int(classes.max()) + 1):
            inside = [end for position, end in enumerate(ends) if classes[position] == number]
            ranges.append(Interval(inside[0][0], inside[-1][1]) if inside else Interval(0.0, 0.0))
        return ranges


def find_cells(
    rules: Sequence[Pred], conditions: Collection[Pred], columns: Collection[str], schema: Schema, *, max_cells: int
) -> Cells | None:
    """The cells of `columns` that `rules` allow and `conditions` distinguish, or None if there are too many.

    No predicate is about a sum of columns, and the conditions are about `columns` only.
    """
    preds = [*rules, *conditions]
    grid = build_grid(preds, schema, coarse=True)
    try:
        store = Store([lower(pred, grid) for pred in preds], grid)
        allowed = store.conjunction(store.roots[: len(rules)])
    except CutsError:  # more nodes than a diagram may have
        return None
    names = [str(name) for name in store.variables if name in columns]
    paths = _projected_paths(store, allowed, set(columns), max_cells)
    if paths is None:
        return None
    table = np.array(paths, dtype=np.int64).reshape(len(paths), len(names))
    classes = {name: table[:, i] for i, name in enumerate(names)}
    return Cells(len(paths), store, dict(zip(preds, store.roots, strict=True)), classes)


def _projected_paths(store: Store, root: int, columns: Collection[str], max_paths: int) -> list[tuple[int, ...]] | None:
    """The classes of `columns`, in the store's order, with which some path leads from `root` to YES.

    Paths are followed level by level, with all nodes at once to which the values of the other columns lead.
    """
    paths: list[tuple[tuple[int, ...], frozenset[int]]] = [((), frozenset({root}) - {NO})]
    for level, (variable, classes) in enumerate(zip(store.variables, store.classes, strict=True)):
        count = int(classes.max()) + 1
        steps = {nodes: _steps(store, nodes, level, count) for nodes in {nodes for _, nodes in paths}}
        if variable in columns:
            paths = [((*path, c), to) for path, nodes in paths for c, to in enumerate(steps[nodes]) if to]
        else:
            paths = [(path, frozenset().union(*steps[nodes])) for path, nodes in paths]
        if len(paths) > max_paths:
            return None
    return [path for path, nodes in paths if nodes]


def _steps(store: Store, nodes: frozenset[int], level: int, count: int) -> list[frozenset[int]]:
    """Where each class of the variable at `level` leads from some nodes; nodes that do not ask for it stay."""
    asking = {number for number in nodes if number != YES and store.node(number).level == level}
    staying = nodes - asking
    if not asking:
        return [nodes] * count
    return [staying | {store.node(number).children[c] for number in asking} - {NO} for c in range(count)]


def _ends(bins: ColumnBins) -> list[tuple[float, float]]:
    """The lowest and the highest value of each bin of numbers; a category counts as its position."""
    if isinstance(bins, CategoryBins):
        return [(float(position), float(position)) for position in range(len(bins.groups))]
    return bin_limits(bins.column, bins.edges)


def _reach(value: Quantity, ranges: Mapping[str, Interval]) -> Interval | None:
    """Bounds on a number of a row by interval arithmetic, or None if it may be undefined or unbounded."""
    match value:
        case Const(amount):
            return Interval(amount, amount)
        case ColumnValue(column):
            return ranges[column]
        case Apply(function, args):
            entry = FUNCTIONS[function]
            parts = [part for arg in args if (part := _reach(arg, ranges)) is not None]
            if len(parts) < len(args) or any(part not in entry.domain for part in parts):
                return None
            reach = entry.reach(*parts)
            return reach if isfinite(reach.low) and isfinite(reach.high) else None
        case Statistic():
            raise AssertionError("a statistic of a statistic is refused by the binder")

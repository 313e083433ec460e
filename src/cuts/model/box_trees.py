"""Finds the boxes a fit should know about: where a model is wrong beyond triples of columns, and nowhere else.

The boxes are the nodes of small decision trees (CART, Breiman et al., 1984). Some trees separate real rows from rows
drawn from the model: where they succeed, the model is wrong. Others predict the label from the other columns, so that
what a classifier could learn from the real rows is there to be learned from synthetic ones. A tree is grown on a random
half of the real rows, another one each time, and its nodes are counted on all of them: a tree also finds coincidences
of the rows it was grown on, and these must not become targets as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from cuts.data.codec import CategoryBins, Codec, Codes
from cuts.data.table import Bools, IntArray
from cuts.model.box_counts import BoxCounts, box_distance, join_boxes
from cuts.model.draw import draw, supply
from cuts.model.mixture import Mixture
from cuts.model.objective import Loss
from cuts.model.parts import Partners, choose_part


@dataclass(frozen=True, slots=True)
class BoxSettings:
    """How boxes are found and how much they count."""

    discriminators: int = 4  # trees per round that separate real from drawn rows; the first sees all columns
    label_trees: int = 2  # trees per round that predict the label
    column_share: float = 0.6  # of the columns, that the other discriminators see
    label_column_share: float = 0.8  # the same for trees that predict the label
    max_columns: int = 24  # that any tree sees
    max_depth: int = 8
    min_leaf: int = 40  # rows of a leaf, real and drawn ones together
    max_cells: int = 250_000  # of the real rows that trees are grown on and counted on: rows times columns of a tree
    steps_per_round: int = 30
    max_boxes: int = 6_000  # the latest ones found
    boxes_per_step: int = 768
    weight: float = 300.0  # of the mean squared Hellinger distance over boxes, relative to the loss of the tables


BOX_SETTINGS = BoxSettings()


@dataclass(frozen=True, slots=True, eq=False)
class BinnedRows:
    """Real rows in bins, and the columns whose bins have no order."""

    codes: Codes
    nominal: frozenset[str]


def binned_rows(codes: Codes, codec: Codec) -> BinnedRows:
    """The rows that boxes are found in."""
    return BinnedRows(codes, frozenset(b.column.name for b in codec.columns if isinstance(b, CategoryBins)))


def with_boxes(tables: Loss, boxes: BoxCounts, *, seed: int, settings: BoxSettings = BOX_SETTINGS) -> Loss:
    """The loss of tables and of given boxes together; each call chooses some of the boxes at random."""
    random = np.random.default_rng([seed, 7])

    def loss(mix: Mixture) -> tuple[Tensor, Tensor]:
        value, error = tables(mix)
        return value + _box_loss(mix, boxes, random, settings), error

    return loss


def _box_loss(mix: Mixture, boxes: BoxCounts, random: np.random.Generator, settings: BoxSettings) -> Tensor:
    count = min(settings.boxes_per_step, len(boxes))
    chosen = boxes.take(random.choice(len(boxes), count, replace=False))
    return settings.weight * box_distance(mix, chosen)


class BoxedObjective:
    """The loss of tables and boxes together; new boxes are found every few calls."""

    def __init__(
        self,
        tables: Loss,
        rows: BinnedRows,
        label: str | None,
        *,
        seed: int,
        partners: Partners | None = None,
        settings: BoxSettings = BOX_SETTINGS,
    ) -> None:
        self._tables, self._rows, self._label, self._settings = tables, rows, label, settings
        self._partners = partners or {}  # of a wide table
        self._random = np.random.default_rng([seed, 6])
        self._finder: BoxFinder | None = None
        self._calls = 0
        self.boxes: BoxCounts | None = None  # the latest ones

    def loss(self, mix: Mixture) -> tuple[Tensor, Tensor]:
        """The loss of a mixture, and its mean total variation over the pairs of columns."""
        value, error = self._tables(mix)
        if self._calls % self._settings.steps_per_round == 0:
            self._find(mix)
        self._calls += 1
        assert self.boxes is not None
        return value + _box_loss(mix, self.boxes, self._random, self._settings), error

    def _find(self, mix: Mixture) -> None:
        if self._finder is None:
            sizes = {name: p.shape[1] for name, p in zip(mix.columns, mix.P, strict=True)}
            self._finder = BoxFinder(self._rows, sizes, self._label, self._random, self._settings, self._partners)
        drawn = draw(supply(mix), self._finder.rows, seed=int(self._random.integers(2**31))).codes
        known = [] if self.boxes is None else [self.boxes]
        self.boxes = join_boxes([*known, *self._finder.find(drawn)], self._settings.max_boxes)


class BoxFinder:
    """Grows trees on rows and turns their nodes into boxes."""

    def __init__(
        self,
        rows: BinnedRows,
        sizes: Mapping[str, int],
        label: str | None,
        rng: np.random.Generator,
        settings: BoxSettings = BOX_SETTINGS,
        partners: Partners | None = None,
    ) -> None:
        self._settings, self._random, self._partners = settings, rng, partners or {}
        self._names = tuple(sizes)
        self._sizes = [sizes[name] for name in self._names]
        self._starts = np.cumsum([0, *self._sizes])
        self._nominal = [name in rows.nominal for name in self._names]
        self._label = self._names.index(label) if label is not None and len(sizes) > 1 else None
        codes = self._stacked(rows.codes)
        most = settings.max_cells // min(len(self._names), settings.max_columns)
        self._codes = codes[rng.permutation(len(codes))[:most]]

    @property
    def rows(self) -> int:
        """How many real rows are used, and how many drawn ones are wanted."""
        return len(self._codes)

    def find(self, drawn: Codes) -> list[BoxCounts]:
        """The boxes of a round of trees, one part per tree, given rows drawn from the model."""
        made = self._stacked(drawn)
        share = self._settings.column_share
        found = [
            self._discriminating(made, share if number else 1.0) for number in range(self._settings.discriminators)
        ]
        if self._label is not None:
            found += [self._predicting(self._label) for _ in range(self._settings.label_trees)]
        return found

    def _discriminating(self, made: IntArray, share: float) -> BoxCounts:
        """The nodes of a tree that separates real from drawn rows."""
        grown, counted = self._half(), self._codes
        x = np.concatenate([grown, made[self._random.permutation(len(made))[: len(grown)]]])
        tree = self._grow(x, np.repeat([0, 1], [len(grown), len(x) - len(grown)]), share)
        counts = _node_counts(tree.nodes, tree.leaves(counted), np.zeros(len(counted), dtype=np.int64), 1)[:, 0]
        inside, bounded = self._insides(tree)
        return BoxCounts(inside[1:], bounded[1:], counts[1:] / len(counted))  # the root is every row

    def _predicting(self, label: int) -> BoxCounts:
        """The nodes of a tree that predicts the label, each once per bin of the label that occurs in it."""
        grown, counted = self._half(), self._codes
        tree = self._grow(grown, grown[:, label], self._settings.label_column_share, without=label)
        counts = _node_counts(tree.nodes, tree.leaves(counted), counted[:, label], self._sizes[label])
        node, value = np.nonzero(counts)
        inside, bounded = (part[node] for part in self._insides(tree))
        bounded[:, label] = True
        inside[:, self._starts[label] : self._starts[label + 1]] = np.eye(self._sizes[label], dtype=np.bool_)[value]
        return BoxCounts(inside, bounded, counts[node, value] / len(counted))

    def _half(self) -> IntArray:
        """Rows to grow a tree on."""
        order = self._random.permutation(len(self._codes))
        return self._codes[order[: max(1, len(order) // 2)]]

    def _grow(self, x: IntArray, y: IntArray, share: float, without: int | None = None) -> _Tree:
        """A tree that predicts `y` from a random share of the columns."""
        from sklearn.tree import DecisionTreeClassifier

        columns = np.array([i for i in range(len(self._names)) if i != without])
        count = min(max(1, round(share * len(columns))), self._settings.max_columns)
        if count < len(columns) and self._partners:
            columns = self._part(
                columns, count, () if without is None else self._partners.get(self._names[without], ())
            )
        else:
            columns = np.sort(self._random.choice(columns, count, replace=False))
        model: Any = DecisionTreeClassifier(
            max_depth=self._settings.max_depth,
            min_samples_leaf=self._settings.min_leaf,
            random_state=int(self._random.integers(2**31)),
        )
        tree = _Tree(model, columns, [self._order(index) for index in columns.tolist()])
        model.fit(tree.places(x), y)
        return tree

    def _part(self, columns: IntArray, count: int, first: Sequence[str]) -> IntArray:
        """Some columns of a wide table, each with those it depends on most; those in `first` take half at most."""
        names = [self._names[index] for index in columns.tolist()]
        cost = dict.fromkeys(names, 1)
        chosen = choose_part(names, self._partners, cost, count, self._random, first=first[: count // 2])
        return np.array([index for index in columns.tolist() if self._names[index] in chosen])

    def _order(self, index: int) -> IntArray:
        """The bins of a column in the order in which a tree splits them; a random one lets any set of categories be."""
        size = self._sizes[index]
        return self._random.permutation(size) if self._nominal[index] else np.arange(size)

    def _insides(self, tree: _Tree) -> tuple[Bools, Bools]:
        """What is inside each node of a tree, and the columns that bound it."""
        nodes = tree.nodes
        inside = np.ones((nodes.node_count, self._starts[-1]), dtype=np.bool_)
        bounded = np.zeros((nodes.node_count, len(self._names)), dtype=np.bool_)
        for node in np.flatnonzero(nodes.children_left >= 0).tolist():  # parents come before their children
            column, order = tree.columns[nodes.feature[node]], tree.orders[nodes.feature[node]]
            left = np.zeros(len(order), dtype=np.bool_)
            left[order[: int(nodes.threshold[node]) + 1]] = True
            bins = slice(self._starts[column], self._starts[column + 1])
            for child, members in ((nodes.children_left[node], left), (nodes.children_right[node], ~left)):
                inside[child], bounded[child] = inside[node], bounded[node]
                inside[child, bins] &= members
                bounded[child, column] = True
        return inside, bounded

    def _stacked(self, codes: Codes) -> IntArray:
        """The codes of all columns side by side, (rows, columns)."""
        return np.stack([codes[name] for name in self._names], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class _Tree:
    """A decision tree of scikit-learn, its columns, and the order in which it splits their bins."""

    model: Any
    columns: IntArray
    orders: Sequence[IntArray]

    @property
    def nodes(self) -> Any:
        """Its nodes as arrays."""
        return self.model.tree_

    def places(self, rows: IntArray) -> NDArray[np.float32]:
        """The positions of the rows' bins in the orders of the tree."""
        columns = [np.argsort(order)[rows[:, index]] for index, order in zip(self.columns, self.orders, strict=True)]
        return np.stack(columns, axis=1).astype(np.float32)

    def leaves(self, rows: IntArray) -> IntArray:
        """The leaf of each row."""
        leaves: IntArray = self.model.apply(self.places(rows))
        return leaves


def _node_counts(nodes: Any, leaves: IntArray, values: IntArray, size: int) -> IntArray:
    """The number of rows of each value in every node, (nodes, values), from the leaves of the rows."""
    counts = np.bincount(leaves * size + values, minlength=nodes.node_count * size).reshape(nodes.node_count, size)
    for node in np.flatnonzero(nodes.children_left >= 0)[::-1].tolist():  # children come after their parent
        counts[node] = counts[nodes.children_left[node]] + counts[nodes.children_right[node]]
    return counts

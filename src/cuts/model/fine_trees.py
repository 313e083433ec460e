"""The fine level as regression trees: the rank of a value inside its bin, given the bins and ranks of other columns.

Columns are refined one after the other, the label last. For each, one tree (CART, Breiman et al., 1984) predicts the
place of its value, `bin + rank in the bin`, from its own bin, the places of the columns refined before and the bins of
the others. A leaf keeps the ranks of its rows, at least `min_leaf` of them, and nothing else: no value and no row. A
row drawn from the model falls into a leaf and takes one of the ranks there, moved by up to one place; the contents
of the bin turn the rank into a value. The value stays in its bin, so whatever bins decide stays true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuts.data.codec import CategoryBins, Codec, Codes, NumericBins
from cuts.data.table import Bools, Floats, IntArray
from cuts.progress import Advanced

Places = NDArray[np.float32]  # bin + rank in the bin, one per row


@dataclass(frozen=True, slots=True)
class FineSettings:
    """How trees are grown."""

    min_leaf: int = 5  # rows; more in tables of fewer than `few_rows`, so that leaves do not stand for single rows
    few_rows: int = 3_000
    min_rows: int = 200  # below this there are no trees: values are drawn from their bins alone
    max_min_leaf: int = 25
    max_rows: int = 50_000  # that trees are grown on
    max_inputs: int = 24  # columns that a tree may split: its own and those it depends on most


FINE_SETTINGS = FineSettings()


@dataclass(frozen=True, slots=True, eq=False)
class RankTree:
    """A regression tree over places; its leaves hold ranks."""

    column: int  # that it refines; columns are numbered as in the codec
    inputs: IntArray  # the columns it may split
    orders: tuple[Places, ...]  # by input: the place of each bin of a category column in this tree; empty for a number
    feature: IntArray  # (nodes,), the position among the inputs; -1 in a leaf
    threshold: Places  # (nodes,)
    children: IntArray  # (nodes, 2): for places up to the threshold, and above
    start: IntArray  # (nodes + 1,), where the ranks of each leaf start
    ranks: NDArray[np.float32]  # of all leaves, one after the other
    jitter: NDArray[np.float32]  # (bins,), by how much a rank is moved at most

    def draw(self, places: list[Places], bins: list[IntArray], rng: np.random.Generator) -> Floats:
        """A rank inside its bin for every row."""
        columns = zip(self.inputs.tolist(), self.orders, strict=True)
        leaf = self._leaves(np.stack([order[bins[i]] if len(order) else places[i] for i, order in columns], axis=1))
        first, last = self.start[leaf], self.start[leaf + 1]
        chosen = np.minimum(first + (rng.random(len(leaf)) * (last - first)).astype(np.int64), last - 1)
        moved = (2.0 * rng.random(len(leaf)) - 1.0) * self.jitter[bins[self.column]]
        return np.clip(self.ranks[chosen] + moved, 0.0, 1.0)

    def _leaves(self, x: Places) -> IntArray:
        node = np.zeros(len(x), dtype=np.int64)
        active = np.flatnonzero(self.feature[node] >= 0)
        while len(active):
            here = node[active]
            above = x[active, self.feature[here]] > self.threshold[here]
            node[active] = self.children[here, above.astype(np.int64)]
            active = active[self.feature[node[active]] >= 0]
        return node


@dataclass(frozen=True, slots=True, eq=False)
class FineTrees:
    """One tree for each column that is refined, in the order in which they are."""

    trees: tuple[RankTree, ...]

    def draw(self, codes: Codes, codec: Codec, rng: np.random.Generator) -> dict[str, Floats]:
        """A value inside its bin for every cell of the refined columns; NaN where it is a text or missing."""
        bins = [codes[column.column.name] for column in codec.columns]
        places = [_middle(numbers) for numbers in bins]
        values: dict[str, Floats] = {}
        for tree in self.trees:
            column, code = codec.columns[tree.column], bins[tree.column]
            assert isinstance(column, NumericBins)
            rank = tree.draw(places, bins, rng)
            absent = code >= column.numbers
            places[tree.column] = np.where(absent, _middle(code), _place(code, rank))
            values[column.column.name] = np.where(absent, np.nan, column.contents.at(np.where(absent, 0, code), rank))
        return values

    def arrays(self) -> dict[str, IntArray | Floats]:
        """The arrays of all trees, by the number of the tree and the name of the part."""
        named: dict[str, Any] = {}
        for number, tree in enumerate(self.trees):
            named |= {f"{number}.{part}": getattr(tree, part) for part in _PARTS}
            named[f"{number}.column"] = np.array([tree.column], dtype=np.int64)
            named |= {f"{number}.order{i}": order for i, order in enumerate(tree.orders)}
        return named


_PARTS = ("inputs", "feature", "threshold", "children", "start", "ranks", "jitter")


def read(arrays: Mapping[str, Any], codec: Codec) -> FineTrees:
    """The trees in arrays; a `ValueError` or `LookupError` unless they are trees over the bins of the codec."""
    count = sum(name.endswith(".feature") for name in arrays)
    trees = []
    for number in range(count):
        parts = {part: np.asarray(arrays[f"{number}.{part}"]) for part in _PARTS}
        orders = tuple(np.asarray(arrays[f"{number}.order{i}"]) for i in range(len(parts["inputs"])))
        tree = RankTree(int(arrays[f"{number}.column"][0]), orders=orders, **parts)
        _check(tree, codec)
        trees.append(tree)
    return FineTrees(tuple(trees))


def _check(tree: RankTree, codec: Codec) -> None:
    """Refuse arrays with which drawing would fail or never end."""
    whole: list[NDArray[Any]] = [tree.inputs, tree.feature, tree.start, tree.children]
    real: list[NDArray[Any]] = [tree.threshold, tree.ranks, tree.jitter, *tree.orders]
    if any(part.dtype.kind != "i" for part in whole) or any(part.dtype.kind != "f" for part in real):
        raise ValueError("a tree of the fine level has numbers of the wrong kind")
    nodes, sizes = len(tree.feature), list(codec.sizes.values())
    inner = tree.feature >= 0
    is_valid = (
        0 <= tree.column < len(sizes)
        and isinstance(codec.columns[tree.column], NumericBins)
        and nodes > 0
        and all(part.ndim == 1 for part in (*whole[:3], *real))
        and tree.children.shape == (nodes, 2)
        and len(tree.threshold) == nodes
        and len(tree.start) == nodes + 1
        and bool((tree.children[inner] > np.flatnonzero(inner)[:, None]).all())  # so it ends
        and bool((tree.children[inner] < nodes).all())
        and bool((tree.feature < len(tree.inputs)).all())
        and bool((tree.inputs >= 0).all() and (tree.inputs < len(sizes)).all())
        and all(len(order) in (0, sizes[i]) for i, order in zip(tree.inputs.tolist(), tree.orders, strict=True))
        and bool((tree.start >= 0).all() and (tree.start <= len(tree.ranks)).all())
        and bool((np.diff(tree.start)[~inner] > 0).all())
        and bool(np.isfinite(tree.ranks).all() and (tree.ranks >= 0).all() and (tree.ranks <= 1).all())
        and len(tree.jitter) == sizes[tree.column]
        and bool(np.isfinite(tree.jitter).all())
    )
    if not is_valid:
        raise ValueError("a tree of the fine level is damaged")


# --- learning


@dataclass(frozen=True, slots=True, eq=False)
class FineRows:
    """What a fine level is learned from: rows as bins and, for numeric columns, as numbers (NaN if missing)."""

    codes: Codes
    values: Mapping[str, Floats]
    label: str | None
    hidden: frozenset[str] = frozenset()  # columns that no value may depend on: a command makes them unpredictable
    advanced: Advanced = lambda _: None  # hears the share of the columns that are done


def find_min_leaf(rows: int, settings: FineSettings = FINE_SETTINGS) -> int:
    """The number of rows that every leaf needs.

    >>> find_min_leaf(10_000), find_min_leaf(300), find_min_leaf(60)
    (5, 16, 25)
    """
    wanted = round(settings.min_leaf * sqrt(max(1.0, settings.few_rows / max(rows, 1))))
    return min(wanted, settings.max_min_leaf)


def learn(rows: FineRows, codec: Codec, seed: int, settings: FineSettings = FINE_SETTINGS) -> FineTrees:
    """The trees of rows."""
    names = [column.column.name for column in codec.columns]
    total = len(rows.codes[names[0]])
    chosen = np.sort(np.random.default_rng([seed, 8]).permutation(total)[: settings.max_rows])
    bins = [rows.codes[name][chosen] for name in names]
    places = [_middle(numbers) for numbers in bins]
    usable = np.array([name not in rows.hidden for name in names])
    refined = [i for i, c in enumerate(codec.columns) if isinstance(c, NumericBins) and c.contents.varies and usable[i]]
    refined.sort(key=lambda i: names[i] == rows.label)  # the label last, given all other values
    if total < settings.min_rows:
        return FineTrees(())
    settings = replace(settings, min_leaf=find_min_leaf(total, settings))
    trees = []
    for number, index in enumerate(refined):
        if number:
            rows.advanced(number / len(refined))
        column = codec.columns[index]
        assert isinstance(column, NumericBins)
        numbers = rows.values[names[index]][chosen]
        present = ~np.isnan(numbers)
        if present.sum() < 2 * settings.min_leaf:
            continue
        rank = np.zeros(len(chosen))
        rank[present] = column.contents.rank(bins[index][present], numbers[present])
        target = bins[index] + rank
        trees.append(_grow(index, target, present, places, bins, codec, usable, seed, settings))
        places[index] = np.where(present, _place(bins[index], rank), places[index])
    return FineTrees(tuple(trees))


def _grow(
    index: int,
    target: Floats,
    present: Bools,
    places: list[Places],
    bins: list[IntArray],
    codec: Codec,
    usable: Bools,
    seed: int,
    settings: FineSettings,
) -> RankTree:
    """The tree of one column; only rows in which it is present count."""
    from sklearn.tree import DecisionTreeRegressor

    empty = np.zeros(0, dtype=np.float32)
    y = target[present]
    orders = [
        _category_order(bins[i][present], y, column.size) if isinstance(column, CategoryBins) else empty
        for i, column in enumerate(codec.columns)
    ]
    x = np.stack([order[b] if len(order) else p for order, b, p in zip(orders, bins, places, strict=True)], axis=1)
    x = x[present]
    inputs = _strongest(x, y, index, usable, settings.max_inputs)
    tree: Any = DecisionTreeRegressor(min_samples_leaf=settings.min_leaf, random_state=seed)
    tree.fit(x[:, inputs], y)
    nodes, leaf = tree.tree_, tree.apply(x[:, inputs])
    rank = y - bins[index][present]
    by_leaf = np.lexsort((rank, leaf))
    in_bin = np.bincount(bins[index][present], minlength=codec.columns[index].size)
    return RankTree(
        column=index,
        inputs=inputs,
        orders=tuple(orders[i] for i in inputs.tolist()),
        feature=np.where(nodes.children_left >= 0, nodes.feature, -1).astype(np.int64),
        threshold=nodes.threshold.astype(np.float32),
        children=np.stack([nodes.children_left, nodes.children_right], axis=1).astype(np.int64),
        start=np.searchsorted(leaf[by_leaf], np.arange(nodes.node_count + 1)).astype(np.int64),
        ranks=np.clip(rank[by_leaf], 0.0, 1.0).astype(np.float32),
        jitter=(1.0 / np.maximum(in_bin, 1)).astype(np.float32),
    )


def _category_order(bins: IntArray, target: Floats, size: int) -> Places:
    """The place of each bin of a category column, in order of the mean target: the best order to split in two."""
    mean = np.bincount(bins, target, minlength=size) / np.maximum(np.bincount(bins, minlength=size), 1)
    return np.argsort(np.argsort(mean, kind="stable"), kind="stable").astype(np.float32)


def _strongest(x: Places, y: Floats, own: int, usable: Bools, count: int) -> IntArray:
    """The column itself, and the usable others whose places are correlated with its place most, in order."""
    apart = x - x.mean(0)
    strength = np.abs(apart.T @ (y - y.mean())) / np.sqrt((apart**2).sum(0) + 1e-12)
    strength[~usable] = -1.0
    strength[own] = np.inf
    count = min(count, int(usable.sum()))
    return np.sort(np.argsort(-strength, kind="stable")[:count])


def _middle(bins: IntArray) -> Places:
    return (bins + 0.5).astype(np.float32)


def _place(bins: IntArray, rank: Floats) -> Places:
    """The place of a rank; the end of a bin is not the start of the next."""
    return (bins + np.minimum(rank, 1.0 - 1e-3)).astype(np.float32)

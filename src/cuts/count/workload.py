"""The workload: the sets of columns (cliques) to count, that is, the tables the model is fitted to.

These are all triples if their tables are small enough together. Otherwise they are the pairs, the triples with the
label, and then the triples with the highest mutual information, where a model of pairs is most wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

import numpy as np

from cuts.count.cover import Clique, cells
from cuts.data.table import Floats, IntArray

MAX_CELLS = 20_000_000  # of all tables together: 160 MB of counts
MAX_TRIPLES = 200_000  # above this, only the strongest partners of each column are combined


def choose_workload(
    sizes: Mapping[str, int],
    label: str | None,
    dependence: Mapping[Clique, float] | None = None,
    *,
    max_cells: int = MAX_CELLS,
) -> tuple[Clique, ...]:
    """The cliques to count; if not all triples fit, the `dependence` of pairs decides which come first.

    >>> choose_workload({"age": 4, "sex": 2, "pay": 2}, "pay")
    (('age', 'sex', 'pay'),)
    """
    names = tuple(sizes)
    width = min(3, len(names))
    if _all_cells(sizes, width) <= max_cells and len(names) ** 3 / 6 <= MAX_TRIPLES:
        return tuple(combinations(names, width))
    chosen: list[Clique] = [(name,) for name in names]
    left = max_cells - sum(sizes.values())
    for wanted in (combinations(names, 2), _with_label(names, label)):
        for clique in _by_dependence(wanted, label, dependence):
            if cells(clique, sizes) <= left:
                chosen.append(clique)
                left -= cells(clique, sizes)
    for clique in _by_dependence(_candidates(names, dependence), label, dependence):
        if left <= 0:
            break
        if label not in clique and cells(clique, sizes) <= left:
            chosen.append(clique)
            left -= cells(clique, sizes)
    return tuple(chosen)


def fits_whole(sizes: Mapping[str, int]) -> bool:
    """Whether all triples can be counted, so that no choice is needed."""
    return _all_cells(sizes, min(3, len(sizes))) <= MAX_CELLS and len(sizes) ** 3 / 6 <= MAX_TRIPLES


def measure_dependence(codes: Mapping[str, IntArray], sizes: Mapping[str, int]) -> dict[Clique, float]:
    """Mutual information of every pair of columns in nats, less its bias (r - 1)(c - 1) / 2n (Miller 1955)."""
    dependence: dict[Clique, float] = {}
    for a, b in combinations(sizes, 2):
        joint = np.bincount(codes[a] * sizes[b] + codes[b], minlength=sizes[a] * sizes[b])
        table = joint.reshape(sizes[a], sizes[b])
        free = (np.count_nonzero(table.sum(1)) - 1) * (np.count_nonzero(table.sum(0)) - 1)
        dependence[a, b] = _information(table / len(codes[a])) - free / (2 * len(codes[a]))
    return dependence


def _information(p: Floats) -> float:
    independent = p.sum(1, keepdims=True) * p.sum(0, keepdims=True)
    is_positive = p > 0
    return float((p[is_positive] * np.log(p[is_positive] / independent[is_positive])).sum())


def _all_cells(sizes: Mapping[str, int], width: int) -> float:
    """The number of cells of all cliques of `width` columns: the elementary symmetric polynomial of the sizes."""
    sums = [1.0] + [0.0] * width
    for size in sizes.values():
        for k in range(width, 0, -1):
            sums[k] += sums[k - 1] * size
    return sums[width]


def _with_label(names: tuple[str, ...], label: str | None) -> Iterator[Clique]:
    """All triples with the label."""
    if label is None:
        return
    before, after = names[: names.index(label)], names[names.index(label) + 1 :]
    yield from ((a, b, label) for a, b in combinations(before, 2))
    yield from ((a, label, b) for a in before for b in after)
    yield from ((label, a, b) for a, b in combinations(after, 2))


def _candidates(names: tuple[str, ...], dependence: Mapping[Clique, float] | None) -> Iterable[Clique]:
    """The triples to consider: all if there are few, else those of each column with two of its strongest partners."""
    if dependence is None or len(names) ** 3 / 6 <= MAX_TRIPLES:
        return combinations(names, 3)
    position = {name: i for i, name in enumerate(names)}
    near: dict[str, list[str]] = {name: [] for name in names}
    for a, b in sorted(dependence, key=lambda pair: -dependence[pair]):
        for column, other in ((a, b), (b, a)):
            if len(near[column]) < 12:
                near[column].append(other)
    return {
        tuple(sorted((name, *pair), key=position.__getitem__)): None
        for name in names
        for pair in combinations(near[name], 2)
    }


def _by_dependence(
    cliques: Iterable[Clique], label: str | None, dependence: Mapping[Clique, float] | None
) -> list[Clique]:
    """The cliques with the label first, then those whose pairs depend on each other most."""

    def weight(clique: Clique) -> tuple[bool, float]:
        weights = dependence or {}
        return label not in clique, -sum(weights.get(pair, 0.0) for pair in combinations(clique, 2))

    return sorted(cliques, key=weight)

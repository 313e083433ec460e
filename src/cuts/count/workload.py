"""The workload: the sets of columns (cliques) to count, that is, the tables the model is fitted to.

These are all triples if they are few and their tables are small enough together. Otherwise they are the pairs, the
triples with the label, and then the triples with the highest mutual information, where a model of pairs is most wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from math import comb

import numpy as np

from cuts.count.cover import Clique, cells
from cuts.data.table import Floats, IntArray

MAX_CELLS = 20_000_000  # of all tables together: 160 MB of counts
MAX_TRIPLES = 10_000  # all triples of 40 columns; the label's are counted even if they are more, up to `MAX_CELLS`
MAX_ROWS = 50_000  # that dependence is measured on
MAX_CANDIDATES = 20_000  # above this, only the strongest partners of each column are combined


def choose_workload(
    sizes: Mapping[str, int],
    label: str | None,
    dependence: Mapping[Clique, float] | None = None,
    *,
    max_cells: int = MAX_CELLS,
    max_triples: int = MAX_TRIPLES,
) -> tuple[Clique, ...]:
    """The cliques to count; if not all triples fit, the `dependence` of pairs decides which come first.

    Without it small tables come first.

    >>> choose_workload({"age": 4, "sex": 2, "pay": 2}, "pay")
    (('age', 'sex', 'pay'),)
    """
    names = tuple(sizes)
    if fits_whole(sizes, max_cells=max_cells, max_triples=max_triples):
        return tuple(combinations(names, min(3, len(names))))
    chosen: list[Clique] = [(name,) for name in names]
    left = max_cells - sum(sizes.values())
    for wanted in (combinations(names, 2), _with_label(names, label)):
        for clique in _by_dependence(wanted, label, sizes, dependence):
            if cells(clique, sizes) <= left:
                chosen.append(clique)
                left -= cells(clique, sizes)
    triples = sum(len(clique) == 3 for clique in chosen)
    others = _candidates(names, dependence) if triples < max_triples and left > 0 else ()
    for clique in _by_dependence((clique for clique in others if label not in clique), label, sizes, dependence):
        if left <= 0 or triples >= max_triples:
            break
        if cells(clique, sizes) <= left:
            chosen.append(clique)
            left -= cells(clique, sizes)
            triples += 1
    return tuple(chosen)


def fits_whole(sizes: Mapping[str, int], *, max_cells: int = MAX_CELLS, max_triples: int = MAX_TRIPLES) -> bool:
    """Whether all triples can be counted, so that no choice is needed."""
    return comb(len(sizes), 3) <= max_triples and _all_cells(sizes, min(3, len(sizes))) <= max_cells


def measure_dependence(codes: Mapping[str, IntArray], sizes: Mapping[str, int]) -> dict[Clique, float]:
    """Mutual information of every pair of columns in nats, less its bias (r - 1)(c - 1) / 2n (Miller 1955).

    Of many rows it takes some, evenly spread.
    """
    step = max(1, -(-max(map(len, codes.values()), default=0) // MAX_ROWS))
    thin = {name: values[::step] for name, values in codes.items()}
    dependence: dict[Clique, float] = {}
    for a, b in combinations(sizes, 2):
        joint = np.bincount(thin[a] * sizes[b] + thin[b], minlength=sizes[a] * sizes[b])
        table = joint.reshape(sizes[a], sizes[b])
        free = (np.count_nonzero(table.sum(1)) - 1) * (np.count_nonzero(table.sum(0)) - 1)
        dependence[a, b] = _information(table / len(thin[a])) - free / (2 * len(thin[a]))
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
    if dependence is None or comb(len(names), 3) <= MAX_CANDIDATES:
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
    cliques: Iterable[Clique], label: str | None, sizes: Mapping[str, int], dependence: Mapping[Clique, float] | None
) -> list[Clique]:
    """The cliques with the label first, then those whose pairs depend on each other most, then small ones."""
    known = dependence or {}

    def weight(clique: Clique) -> tuple[bool, float, int]:
        total = sum(known.get(pair, 0.0) for pair in combinations(clique, 2)) if known else 0.0
        return label not in clique, -total, cells(clique, sizes)

    return sorted(cliques, key=weight)

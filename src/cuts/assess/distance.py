"""How far the marginals of the synthetic rows are from those of the train rows, and how far chance alone takes them.

The distance of two marginals is their total variation, half the sum over cells of |p - q|: 0 when they are the same, 1
when they share no cell. The paper divides it by the number of cells; both are given. The floor is the distance of as
many train rows drawn again with replacement: what drawing rows one by one costs, even from the right distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod
from typing import TypeAlias

import numpy as np

from cuts.assess.grid import Bins, Grid, cells
from cuts.assess.sample import Sample
from cuts.data.table import Floats, IntArray

WAYS = (1, 2, 3)
MAX_CLIQUES = 1_500  # of one kind; all triples of 21 columns are fewer
REDRAWS = 3  # of the train rows, for the floor
MAX_CELLS = 2_000_000  # beyond, only the cells that hold rows are counted

Clique: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Distance:
    """The mean distance over marginals of so many columns; `paper` divides each by its number of cells."""

    ways: int
    with_target: bool
    marginals: int
    possible: int  # more than `marginals` when a random part was measured
    distance: float
    floor: float
    paper: float
    paper_floor: float


@dataclass(frozen=True, slots=True)
class ColumnDistance:
    """The distance of one column's marginal."""

    column: str
    distance: float
    floor: float


@dataclass(frozen=True, slots=True)
class Marginals:
    """All distances, and those of the columns one by one."""

    bins: Bins
    distances: tuple[Distance, ...]
    columns: tuple[ColumnDistance, ...]


@dataclass(frozen=True, slots=True)
class _Measured:
    distance: float
    floor: float
    cells: int


def measure_marginals(
    synthetic: Sample, train: Sample, grid: Grid, *, target: str | None, seed: int, say: Callable[[str], None]
) -> Marginals:
    """Distances of marginals of one, two and three columns: of all of them, and of those with the target."""
    names = [axis.column.name for axis in grid.axes]
    rng = np.random.default_rng(seed)
    again = [rng.multinomial(synthetic.rows, np.full(train.rows, 1 / train.rows)).astype(float) for _ in range(REDRAWS)]
    drawn, real = cells(synthetic, grid), cells(train, grid)
    known: dict[Clique, _Measured] = {}

    def measure(clique: Clique) -> _Measured:
        if clique not in known:
            known[clique] = _measure(clique, drawn, real, again, grid.sizes)
        return known[clique]

    distances: list[Distance] = []
    for ways in WAYS:
        if ways > len(names):
            break
        say(f"comparing marginals of {ways}")
        chosen = pick_cliques(len(names), ways, rng)
        distances.append(_mean(ways, False, [measure(c) for c in chosen], comb(len(names), ways)))
        if target is not None:
            fixed = names.index(target)
            chosen = pick_cliques(len(names), ways, rng, fixed)
            distances.append(_mean(ways, True, [measure(c) for c in chosen], comb(len(names) - 1, ways - 1)))
    single = [measure((i,)) for i in range(len(names))]
    columns = tuple(ColumnDistance(name, m.distance, m.floor) for name, m in zip(names, single, strict=True))
    return Marginals(grid.bins, tuple(distances), columns)


def pick_cliques(columns: int, ways: int, rng: np.random.Generator, fixed: int | None = None) -> list[Clique]:
    """All sets of so many columns, with `fixed` among them, or a random part when there are too many.

    >>> pick_cliques(4, 2, np.random.default_rng(0), fixed=2)
    [(0, 2), (1, 2), (2, 3)]
    """
    others = [column for column in range(columns) if column != fixed]
    free = ways if fixed is None else ways - 1
    own = () if fixed is None else (fixed,)
    if comb(len(others), free) <= MAX_CLIQUES:
        return [tuple(sorted((*own, *chosen))) for chosen in combinations(others, free)]
    found: dict[Clique, None] = {}  # as a set that keeps its order
    while len(found) < MAX_CLIQUES:
        chosen = rng.choice(others, free, replace=False).tolist()
        found[tuple(sorted((*own, *chosen)))] = None
    return list(found)


def variation(p: Floats, q: Floats) -> float:
    """Half the sum of |p - q|.

    >>> variation(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    0.5
    """
    return float(np.abs(p - q).sum() / 2)


def _measure(
    clique: Clique, drawn: IntArray, real: IntArray, again: Sequence[Floats], sizes: tuple[int, ...]
) -> _Measured:
    size = prod(sizes[i] for i in clique)
    ours, theirs = _keys(drawn, clique, sizes), _keys(real, clique, sizes)
    width = size
    if size > MAX_CELLS:
        together, places = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
        ours, theirs, width = places[: len(ours)], places[len(ours) :], len(together)
    p = np.bincount(theirs, minlength=width) / len(theirs)
    distance = variation(p, np.bincount(ours, minlength=width) / len(ours))
    floors = [variation(p, np.bincount(theirs, weights, width) / len(ours)) for weights in again]
    return _Measured(distance, float(np.mean(floors)), size)


def _keys(codes: IntArray, clique: Clique, sizes: tuple[int, ...]) -> IntArray:
    """The number of every row's cell in the marginal."""
    key: IntArray = codes[clique[0]]
    for i in clique[1:]:
        key = key * sizes[i] + codes[i]
    return key


def _mean(ways: int, with_target: bool, measured: Sequence[_Measured], possible: int) -> Distance:
    return Distance(
        ways,
        with_target,
        len(measured),
        possible,
        float(np.mean([m.distance for m in measured])),
        float(np.mean([m.floor for m in measured])),
        float(np.mean([m.distance / m.cells for m in measured])),
        float(np.mean([m.floor / m.cells for m in measured])),
    )

"""The distance between the marginals of the synthetic and the train rows, and how much of it is sampling error.

The distance of two marginals is their total variation, half the sum over cells of |p - q|: 0 when they are equal, 1
when they have no cell in common. The paper divides it by the number of cells; both are reported. The floor is the
distance when as many train rows are resampled with replacement: the sampling error of rows from the true distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import comb, prod
from typing import TypeAlias

import numpy as np

from cuts.assess.grid import Bins, Grid, cells
from cuts.assess.table_arrays import Sample
from cuts.data.table import Floats, IntArray
from cuts.text.diagnostic import counted

WAYS = (1, 2, 3)

Clique: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DistanceSettings:
    """Limits: the number of column sets of one size, resamples for the floor, and cells of a dense marginal."""

    max_cliques: int = 1_500  # all triples of 21 columns are fewer
    resamples: int = 3
    max_cells: int = 2_000_000  # above this, only the cells that have rows are stored


DEFAULT_SETTINGS = DistanceSettings()


@dataclass(frozen=True, slots=True)
class Distance:
    """The mean distance over marginals of `ways` columns; `paper` divides each by its number of cells."""

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
    """All mean distances, and the distance of each column."""

    bins: Bins
    distances: tuple[Distance, ...]
    columns: tuple[ColumnDistance, ...]


@dataclass(frozen=True, slots=True)
class _Measured:
    distance: float
    floor: float
    cells: int


def measure_marginals(
    synthetic: Sample,
    train: Sample,
    grid: Grid,
    *,
    target: str | None,
    seed: int,
    say: Callable[[str], None],
    settings: DistanceSettings = DEFAULT_SETTINGS,
) -> Marginals:
    """The mean distances of marginals of one, two and three columns: of all, and of those with the target."""
    names = [axis.column.name for axis in grid.axes]
    rng = np.random.default_rng(seed)
    uniform = np.full(train.rows, 1 / train.rows)
    resamples = [rng.multinomial(synthetic.rows, uniform).astype(float) for _ in range(settings.resamples)]
    ours, theirs = cells(synthetic, grid), cells(train, grid)

    @cache
    def measure(clique: Clique) -> _Measured:
        return _measure(clique, ours, theirs, resamples, grid.sizes, settings.max_cells)

    distances: list[Distance] = []
    for ways in WAYS:
        if ways > len(names):
            break
        say(f"comparing marginals of {counted(ways, 'column')}")
        chosen = pick_cliques(len(names), ways, rng, max_cliques=settings.max_cliques)
        distances.append(_mean(ways, False, [measure(c) for c in chosen], comb(len(names), ways)))
        if target is not None:
            fixed = names.index(target)
            chosen = pick_cliques(len(names), ways, rng, fixed, max_cliques=settings.max_cliques)
            distances.append(_mean(ways, True, [measure(c) for c in chosen], comb(len(names) - 1, ways - 1)))
    single = [measure((i,)) for i in range(len(names))]
    columns = tuple(ColumnDistance(name, m.distance, m.floor) for name, m in zip(names, single, strict=True))
    return Marginals(grid.bins, tuple(distances), columns)


def pick_cliques(
    columns: int, ways: int, rng: np.random.Generator, fixed: int | None = None, *, max_cliques: int
) -> list[Clique]:
    """All sets of `ways` columns, with `fixed` among them, or a random part when there are more than `max_cliques`.

    >>> pick_cliques(4, 2, np.random.default_rng(0), fixed=2, max_cliques=10)
    [(0, 2), (1, 2), (2, 3)]
    """
    others = [column for column in range(columns) if column != fixed]
    free = ways if fixed is None else ways - 1
    own = () if fixed is None else (fixed,)
    if comb(len(others), free) <= max_cliques:
        return [tuple(sorted((*own, *chosen))) for chosen in combinations(others, free)]
    cliques: dict[Clique, None] = {}  # a set in insertion order
    while len(cliques) < max_cliques:
        chosen = rng.choice(others, free, replace=False).tolist()
        cliques[tuple(sorted((*own, *chosen)))] = None
    return list(cliques)


def variation(p: Floats, q: Floats) -> float:
    """Half the sum of |p - q|.

    >>> variation(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    0.5
    """
    return float(np.abs(p - q).sum() / 2)


def _measure(
    clique: Clique,
    synthetic: IntArray,
    train: IntArray,
    resamples: Sequence[Floats],
    sizes: tuple[int, ...],
    max_cells: int,
) -> _Measured:
    size = prod(sizes[i] for i in clique)
    ours, theirs = _keys(synthetic, clique, sizes), _keys(train, clique, sizes)
    width = size
    if size > max_cells:
        present, indices = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
        ours, theirs, width = indices[: len(ours)], indices[len(ours) :], len(present)
    p = np.bincount(theirs, minlength=width) / len(theirs)
    distance = variation(p, np.bincount(ours, minlength=width) / len(ours))
    floors = [variation(p, np.bincount(theirs, weights, width) / len(ours)) for weights in resamples]
    return _Measured(distance, float(np.mean(floors)), size)


def _keys(codes: IntArray, clique: Clique, sizes: tuple[int, ...]) -> IntArray:
    """One cell number of the marginal per row."""
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

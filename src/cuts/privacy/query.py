"""What is asked of private rows: the histogram of some columns, over their bins or over groups of bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np

from cuts.count.cover import Clique
from cuts.data.table import IntArray

Owners: TypeAlias = tuple[int, ...]  # of a column: the group each bin belongs to, numbered from 0


@dataclass(frozen=True, slots=True)
class Query:
    """A histogram: the columns, and for each of them the groups its bins are counted in.

    >>> Query(("age",), ((0, 0, 1),)).shape
    (2,)
    """

    clique: Clique
    owners: tuple[Owners, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Groups of each column."""
        return tuple(max(owner) + 1 for owner in self.owners)

    @property
    def cells(self) -> int:
        """Cells of the histogram."""
        return prod(self.shape)


def fine(clique: Clique, sizes: Mapping[str, int]) -> Query:
    """The histogram over the bins themselves."""
    return Query(clique, tuple(tuple(range(sizes[name])) for name in clique))


def grouped(counts: IntArray, query: Query) -> IntArray:
    """The histogram over groups, from the one over bins; a row counts once in either.

    >>> grouped(np.array([[1, 2], [3, 4], [5, 6]]), Query(("a", "b"), ((0, 0, 1), (0, 1)))).tolist()
    [[4, 6], [5, 6]]
    """
    found = counts
    for axis, (owner, size) in enumerate(zip(query.owners, query.shape, strict=True)):
        if size == len(owner):
            continue
        summed = np.zeros((*found.shape[:axis], size, *found.shape[axis + 1 :]), dtype=np.int64)
        np.add.at(np.moveaxis(summed, axis, 0), np.array(owner), np.moveaxis(found, axis, 0))
        found = summed
    return found

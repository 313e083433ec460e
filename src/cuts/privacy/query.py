"""A question about private rows: the histogram of some columns, over their bins or over groups of bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np

from cuts.count.cover import Clique
from cuts.data.table import IntArray

Owners: TypeAlias = tuple[int, ...]  # the group of each bin of a column, numbered from 0


@dataclass(frozen=True, slots=True)
class Query:
    """A histogram: the columns, and for each of them the groups in which its bins are counted.

    >>> Query(("age",), ((0, 0, 1),)).shape
    (2,)
    """

    clique: Clique
    owners: tuple[Owners, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of groups of each column."""
        return tuple(max(owner) + 1 for owner in self.owners)

    @property
    def cells(self) -> int:
        """The number of cells of the histogram."""
        return prod(self.shape)


def fine(clique: Clique, sizes: Mapping[str, int]) -> Query:
    """The histogram over single bins."""
    return Query(clique, tuple(tuple(range(sizes[name])) for name in clique))


def grouped(counts: IntArray, query: Query) -> IntArray:
    """The histogram over groups, from the one over bins; each row counts once in both.

    >>> grouped(np.array([[1, 2], [3, 4], [5, 6]]), Query(("a", "b"), ((0, 0, 1), (0, 1)))).tolist()
    [[4, 6], [5, 6]]
    """
    histogram = counts
    for axis, (owner, size) in enumerate(zip(query.owners, query.shape, strict=True)):
        if size == len(owner):
            continue
        summed = np.zeros((*histogram.shape[:axis], size, *histogram.shape[axis + 1 :]), dtype=np.int64)
        np.add.at(np.moveaxis(summed, axis, 0), np.array(owner), np.moveaxis(histogram, axis, 0))
        histogram = summed
    return histogram

"""Counts of sets of columns, which can be added (files, sites, folds) and subtracted (all rows minus a fold).

A table of counts is the joint histogram of a clique's bins. Counts of fewer columns are summed out of a table that has
them, so only the largest sets need to be counted. `count/kernel.py` counts the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from cuts.count.cover import Clique, Cover, in_order, sum_out
from cuts.data.table import IntArray

__all__ = ["Clique", "Marginals"]


@dataclass(frozen=True, slots=True, eq=False)
class Marginals:
    """For every counted clique, how many of `rows` rows are in each combination of bins.

    >>> ages = Marginals({"age": 2}, {("age",): np.array([3, 1])}, 4, "codec")
    >>> (ages + ages).table(("age",)).tolist()
    [6, 2]
    """

    sizes: Mapping[str, int]  # number of bins of every modelled column, in codec order
    tables: Mapping[Clique, IntArray]  # shape: the sizes of the clique's columns; read-only
    rows: int
    codec: str  # fingerprint of the codec the rows were encoded with
    _cover: Cover = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.rows < 0:
            raise ValueError(f"the number of rows is negative: {self.rows}")
        tables = {clique: _checked(clique, counts, self) for clique, counts in self.tables.items()}
        object.__setattr__(self, "sizes", dict(self.sizes))
        object.__setattr__(self, "tables", tables)
        object.__setattr__(self, "_cover", Cover(tuple(tables), self.sizes))

    def __add__(self, other: Marginals) -> Marginals:
        """The counts over the rows of both."""
        return _combined(self, other, np.add, self.rows + other.rows)

    def __sub__(self, other: Marginals) -> Marginals:
        """The counts of these rows without the other ones; raises `ValueError` if those are not a subset of these."""
        return _combined(self, other, np.subtract, self.rows - other.rows)

    def covers(self, clique: Iterable[str]) -> bool:
        """Whether `table` can return the counts of these columns."""
        names = tuple(clique)
        return not names or (len(set(names)) == len(names) and self._cover.smallest(names) is not None)

    def table(self, clique: Iterable[str]) -> IntArray:
        """The counts of these columns, one axis per column in this order; without columns, the number of rows.

        They are summed out of the smallest counted table that has them; raises `KeyError` if there is none.
        """
        names = tuple(clique)
        if not names:
            return np.array(self.rows, dtype=np.int64)
        covering = self._cover.smallest(in_order(names, self.sizes))
        if covering is None:
            raise KeyError(f"the columns {', '.join(names)} were not counted together")
        return sum_out(self.tables[covering], covering, names)


def _checked(clique: Clique, counts: IntArray, marginals: Marginals) -> IntArray:
    """The counts as a read-only array; raises `ValueError` unless they fit the clique and the number of rows."""
    if in_order(clique, marginals.sizes) != clique:
        raise ValueError(f"the columns of {clique} are not in the codec's order")
    shape = tuple(marginals.sizes[name] for name in clique)
    if counts.shape != shape or counts.dtype != np.int64:
        raise ValueError(f"counts of {clique} are {counts.dtype} of shape {counts.shape}, not int64 of shape {shape}")
    if counts.size and counts.min() < 0:
        raise ValueError(f"a count of {clique} is negative")
    if counts.sum() != marginals.rows:
        raise ValueError(f"the counts of {clique} add up to {counts.sum()}, not to {marginals.rows} rows")
    kept: IntArray = np.asarray(counts).view()  # arithmetic turns a table without columns into a scalar
    kept.flags.writeable = False
    return kept


def _combined(
    marginals: Marginals, other: Marginals, combine: Callable[[IntArray, IntArray], IntArray], rows: int
) -> Marginals:
    if marginals.codec != other.codec or dict(marginals.sizes) != dict(other.sizes):
        raise ValueError(f"these counts are of different codecs: {marginals.codec[:12]} and {other.codec[:12]}")
    differing = set(marginals.tables) ^ set(other.tables)
    if differing:
        raise ValueError(f"only one of these counts has {min(differing)}, and {len(differing) - 1} more differ")
    tables = {clique: combine(counts, other.tables[clique]) for clique, counts in marginals.tables.items()}
    for clique, counts in tables.items():
        if counts.min() < 0:
            raise ValueError(f"the counts to subtract are larger for {clique}: their rows are not a subset of these")
    return Marginals(marginals.sizes, tables, rows, marginals.codec)

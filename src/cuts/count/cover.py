"""Sets of columns that cover others: the smallest table that contains a clique's counts, and the maximal cliques."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

import numpy as np

from cuts.data.table import IntArray

Clique: TypeAlias = tuple[str, ...]  # names of columns, in the codec's order


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """Cliques, indexed by column to look up the smallest one that covers some columns; fast for many thousands."""

    cliques: tuple[Clique, ...]
    sizes: Mapping[str, int]
    _cliques_of: dict[str, set[int]] = field(init=False, repr=False)  # indices of the cliques that contain a column
    _own: frozenset[Clique] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        cliques_of: dict[str, set[int]] = {}
        for index, clique in enumerate(self.cliques):
            for name in clique:
                cliques_of.setdefault(name, set()).add(index)
        object.__setattr__(self, "_cliques_of", cliques_of)
        object.__setattr__(self, "_own", frozenset(self.cliques))

    def smallest(self, clique: Clique) -> Clique | None:
        """The clique with the fewest cells that has at least these columns, or None.

        In case of a tie it is the clique itself or the first.
        """
        if clique in self._own:
            return clique
        index = min(self._with(clique), key=lambda i: (cells(self.cliques[i], self.sizes), i), default=None)
        return None if index is None else self.cliques[index]

    def has_larger(self, clique: Clique) -> bool:
        """Whether another clique has all columns of this one."""
        return any(self.cliques[index] != clique for index in self._with(clique))

    def _with(self, clique: Iterable[str]) -> Iterable[int]:
        """The indices of the cliques that have these columns."""
        indices = sorted((self._cliques_of.get(name, set()) for name in clique), key=len)
        return indices[0].intersection(*indices[1:]) if indices else range(len(self.cliques))


def cells(clique: Iterable[str], sizes: Mapping[str, int]) -> int:
    """The number of cells of the table of a clique.

    >>> cells(("age", "sex"), {"age": 32, "sex": 2})
    64
    """
    return prod(sizes[name] for name in clique)


def in_order(clique: Iterable[str], sizes: Mapping[str, int]) -> Clique:
    """The columns in the order of `sizes`; raises when a column is named twice or is not in `sizes`.

    >>> in_order(["sex", "age"], {"age": 32, "sex": 2})
    ('age', 'sex')
    """
    names = list(clique)
    for name in names:
        if name not in sizes:
            raise KeyError(f"there is no modelled column `{name}`")
        if names.count(name) > 1:
            raise ValueError(f"the column `{name}` is named twice in {tuple(names)}")
    position = {name: i for i, name in enumerate(sizes)}
    return tuple(sorted(names, key=position.__getitem__))


def maximal(cliques: Iterable[Clique], sizes: Mapping[str, int]) -> tuple[Clique, ...]:
    """The distinct cliques that no other clique covers.

    >>> maximal([("a",), ("a", "b"), ("c",)], {"a": 2, "b": 2, "c": 2})
    (('a', 'b'), ('c',))
    """
    distinct = tuple(dict.fromkeys(cliques))
    cover = Cover(distinct, sizes)
    return tuple(clique for clique in distinct if not cover.has_larger(clique))


def sum_out(counts: IntArray, covering: Clique, wanted: Clique) -> IntArray:
    """The counts of `wanted`, with axes in that order, from the counts of `covering`, which has all its columns."""
    others = tuple(axis for axis, name in enumerate(covering) if name not in wanted)
    kept = [name for name in covering if name in wanted]
    summed = counts.sum(axis=others, dtype=np.int64) if others else counts
    return np.asarray(np.transpose(summed, [kept.index(name) for name in wanted]), order="C")

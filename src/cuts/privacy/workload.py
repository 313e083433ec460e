"""What a release is for: the tables that may be measured, and how much each counts. Public: rows are not looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from cuts.count.cover import Clique
from cuts.count.workload import choose_workload

MAX_CANDIDATES = 5_000
LABEL_WEIGHT = 3  # of a triple with the label


@dataclass(frozen=True, slots=True)
class Workload:
    """The sets of columns that may be measured, the weight of every column, and how many groups some have at most."""

    candidates: tuple[Clique, ...]
    columns: Mapping[str, int]
    groups: Mapping[str, int]
    label: str | None = None

    def weight(self, clique: Clique) -> int:
        """How much a table counts."""
        return sum(self.columns[name] for name in clique)


def make_workload(
    sizes: Mapping[str, int], label: str | None, groups: Mapping[str, int], *, label_weight: int = LABEL_WEIGHT
) -> Workload:
    """All sets of up to three columns, or as many as can be counted; all triples count, those with the label more."""
    coarse = {name: min(size, groups.get(name, size)) for name, size in sizes.items()}
    covered = choose_workload(sizes, label)
    found = {part for clique in covered for width in (1, 2, 3) for part in combinations(clique, width)}
    by_size = sorted(found, key=lambda clique: (len(clique), math.prod(coarse[name] for name in clique), clique))
    return Workload(tuple(by_size[:MAX_CANDIDATES]), column_weights(tuple(sizes), label, label_weight), groups, label)


def column_weights(names: Sequence[str], label: str | None = None, label_weight: int = 1) -> dict[str, int]:
    """In how many triples each column is; those with the label count `label_weight` times.

    >>> column_weights("abcd"), column_weights("abcd", "d", 3)
    ({'a': 3, 'b': 3, 'c': 3, 'd': 3}, {'a': 7, 'b': 7, 'c': 7, 'd': 9})
    """
    others = len(names) - 1
    if others < 2:
        return dict.fromkeys(names, 1)
    triples = math.comb(others, 2)
    more = 0 if label is None else label_weight - 1
    return {name: triples + more * (triples if name == label else others - 1) for name in names}

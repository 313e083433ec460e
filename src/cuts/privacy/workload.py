"""The workload of a release: the tables that may be measured and their weights. It is public; no rows are read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from cuts.count.cover import Clique
from cuts.count.workload import choose_workload

MAX_CANDIDATES = 5_000
LABEL_WEIGHT = 3  # of a triple of columns with the label; other triples weigh 1


@dataclass(frozen=True, slots=True)
class Workload:
    """The sets of columns that may be measured, the weight of every column, and a maximum number of groups for some."""

    candidates: tuple[Clique, ...]
    columns: Mapping[str, int]
    groups: Mapping[str, int]
    label: str | None = None

    def weight(self, clique: Clique) -> int:
        """The weight of a table: the sum over its columns."""
        return sum(self.columns[name] for name in clique)


def make_workload(
    sizes: Mapping[str, int], label: str | None, groups: Mapping[str, int], *, label_weight: int = LABEL_WEIGHT
) -> Workload:
    """All sets of up to three columns, or as many as can be counted, the smallest first."""
    coarse = {name: min(size, groups.get(name, size)) for name, size in sizes.items()}
    covered = choose_workload(sizes, label)
    cliques = {part for clique in covered for width in (1, 2, 3) for part in combinations(clique, width)}
    by_size = sorted(cliques, key=lambda clique: (len(clique), math.prod(coarse[name] for name in clique), clique))
    return Workload(tuple(by_size[:MAX_CANDIDATES]), column_weights(tuple(sizes), label, label_weight), groups, label)


def column_weights(names: Sequence[str], label: str | None = None, label_weight: int = 1) -> dict[str, int]:
    """The number of triples that contain each column; those with the label count `label_weight` times.

    >>> column_weights("abcd"), column_weights("abcd", "d", 3)
    ({'a': 3, 'b': 3, 'c': 3, 'd': 3}, {'a': 7, 'b': 7, 'c': 7, 'd': 9})
    """
    others = len(names) - 1
    if others < 2:
        return dict.fromkeys(names, 1)
    triples = math.comb(others, 2)
    extra = 0 if label is None else label_weight - 1
    return {name: triples + extra * (triples if name == label else others - 1) for name in names}

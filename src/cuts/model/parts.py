"""Parts of a wide table: some of its columns, chosen so that columns that depend on each other are often together.

One step of a fit compares a part of the columns, and a tree that looks for boxes sees one. A random tenth of the
columns has a given pair in a hundredth of the steps. So a part is made of random columns, each with those it depends on
most: then a strong pair is in nearly as many parts as a single column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

Partners: TypeAlias = Mapping[str, Sequence[str]]  # by column, those it depends on most, the strongest first


def choose_part(
    names: Sequence[str],
    partners: Partners,
    cost: Mapping[str, int],
    room: int,
    random: np.random.Generator,
    *,
    first: Sequence[str] = (),
) -> frozenset[str]:
    """Columns that together cost no more than `room`, at least one of them; those in `first` come first."""
    chosen: set[str] = set()
    there = set(names)
    left = room

    def add(name: str) -> None:
        nonlocal left
        if name in there and name not in chosen and (cost[name] <= left or not chosen):
            chosen.add(name)
            left -= cost[name]

    for name in first:
        add(name)
    for index in random.permutation(len(names)).tolist():
        if left <= 0:
            break
        add(names[index])
        if names[index] in chosen:
            for partner in partners.get(names[index], ()):
                add(partner)
    return frozenset(chosen)

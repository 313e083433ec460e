"""Which commands about statistics have a closed form: what components of a model must be split by for them.

A number of the table that is about one column leaves a product a product. One about several does so where all but one
of them are fixed; the classes of bins that it tells apart in those are what components are split by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from cuts.data.table import IntArray
from cuts.lang.spec import Statistic
from cuts.logic.layout import Layout

MAX_CLASSES = 16  # a component is split into

Classes: TypeAlias = Mapping[str, IntArray]  # by column that is split: the class of every bin


def find_splits(
    commands: Sequence[Sequence[Statistic]], layout: Callable[[Statistic], Layout], label: str | None = None
) -> tuple[Classes, list[bool]]:
    """The classes components are split by, and which commands can be met that way without too many of them."""
    chosen: dict[str, list[IntArray]] = {}
    possible: list[bool] = []
    for stats in commands:
        tried = {name: list(found) for name, found in chosen.items()}
        try:
            for found in map(layout, stats):
                for place, axis in enumerate(found.axes):
                    if place != found.free(label):
                        tried.setdefault(axis.column, []).append(axis.told_apart())
        except ValueError:  # too many cells
            possible.append(False)
            continue
        count = np.prod([_joined(classes).max() + 1.0 for classes in tried.values()])
        possible.append(bool(count <= MAX_CLASSES))
        if possible[-1]:
            chosen = tried
    return {name: _joined(found) for name, found in chosen.items()}, possible


def _joined(classes: Sequence[IntArray]) -> IntArray:
    """The classes that tell apart what any of some do."""
    found: IntArray = np.unique(np.stack(classes), axis=1, return_inverse=True)[1].ravel().astype(np.int64)
    return found

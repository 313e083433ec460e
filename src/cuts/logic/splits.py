"""Which commands about statistics can be met in closed form, and the classes by which components are split for them.

Reweighting a component by a function of one column leaves it a product. A function of several columns does so once all
but one of them are fixed, so components are split by the classes of bins that it distinguishes in the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from cuts.data.table import IntArray
from cuts.lang.spec import Statistic
from cuts.logic.layout import Layout

MAX_CLASSES = 16  # that one component is split into

Classes: TypeAlias = Mapping[str, IntArray]  # for each column that is split, the class of every bin


def find_splits(
    commands: Sequence[Sequence[Statistic]], layout: Callable[[Statistic], Layout], label: str | None = None
) -> tuple[Classes, list[bool]]:
    """The classes by which components are split, and which commands can be met that way without too many classes."""
    chosen: dict[str, list[IntArray]] = {}
    possible: list[bool] = []
    for stats in commands:
        trial = {name: list(classes) for name, classes in chosen.items()}
        try:
            for cells in map(layout, stats):
                for index, axis in enumerate(cells.axes):
                    if index != cells.free_axis(label):
                        trial.setdefault(axis.column, []).append(axis.bin_classes())
        except ValueError:  # too many cells
            possible.append(False)
            continue
        count = np.prod([_joined(classes).max() + 1.0 for classes in trial.values()])
        possible.append(bool(count <= MAX_CLASSES))
        if possible[-1]:
            chosen = trial
    return {name: _joined(classes) for name, classes in chosen.items()}, possible


def _joined(classes: Sequence[IntArray]) -> IntArray:
    """The coarsest classes that refine all of the given ones."""
    joined: IntArray = np.unique(np.stack(classes), axis=1, return_inverse=True)[1].ravel().astype(np.int64)
    return joined

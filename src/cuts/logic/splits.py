"""Which commands about statistics can be met in closed form, and the classes by which components are split for them.

Reweighting a component by a function of one column leaves it a product. A function of several columns does so once all
but one of them are fixed, so components are split by the classes of bins that it distinguishes in the others. Where
these are too many, as in a correlation of two numbers, bins are grouped into a few coarse classes: how many is decided
here, which bins go together in `model/coarse.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from cuts.data.table import IntArray
from cuts.lang.spec import Statistic
from cuts.logic.layout import Layout

MAX_CLASSES = 16  # that one component is split into
MAX_COARSE_CLASSES = 8  # that the bins of one column are grouped into, where a statistic distinguishes more

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
                for name, member in fixed_classes(cells, label).items():
                    trial.setdefault(name, []).append(member)
        except ValueError:  # too many cells
            possible.append(False)
            continue
        count = np.prod([join_classes(classes).max() + 1.0 for classes in trial.values()])
        possible.append(bool(count <= MAX_CLASSES))
        if possible[-1]:
            chosen = trial
    return {name: join_classes(classes) for name, classes in chosen.items()}, possible


def find_coarse_splits(
    commands: Sequence[Sequence[Statistic]],
    layout: Callable[[Statistic], Layout],
    classes: Classes,
    label: str | None = None,
) -> tuple[Mapping[str, int], list[bool]]:
    """The number of coarse classes of each column that is split beside `classes`, and which commands can be met so.

    Columns get fewer classes each if more commands can be met that way.
    """
    trials = [_find_coarse(commands, layout, classes, label, largest) for largest in range(MAX_COARSE_CLASSES, 1, -1)]
    return max(trials, key=lambda trial: sum(trial[1]))


def _find_coarse(
    commands: Sequence[Sequence[Statistic]],
    layout: Callable[[Statistic], Layout],
    classes: Classes,
    label: str | None,
    largest: int,
) -> tuple[dict[str, int], list[bool]]:
    """The same with at most `largest` classes for each column."""
    taken = np.prod([member.max() + 1.0 for member in classes.values()])
    chosen: dict[str, list[IntArray]] = {}
    possible: list[bool] = []
    for stats in commands:
        trial = {name: list(members) for name, members in chosen.items()}
        try:
            for cells in map(layout, stats):
                for name, member in fixed_classes(cells, label).items():
                    if not is_refined(member, classes, name):
                        trial.setdefault(name, []).append(member)
        except ValueError:  # too many cells
            possible.append(False)
            continue
        possible.append(bool(taken * np.prod(list(_counts(trial, largest).values())) <= MAX_CLASSES))
        if possible[-1]:
            chosen = trial
    return _counts(chosen, largest), possible


def _counts(members: Mapping[str, Sequence[IntArray]], largest: int) -> dict[str, int]:
    return {name: min(int(join_classes(some).max()) + 1, largest) for name, some in members.items()}


def fixed_classes(cells: Layout, label: str | None) -> dict[str, IntArray]:
    """The classes of bins that a statistic distinguishes in each column but its free one."""
    free = cells.free_axis(label)
    return {axis.column: axis.bin_classes() for index, axis in enumerate(cells.axes) if index != free}


def is_refined(member: IntArray, classes: Classes, column: str) -> bool:
    """Whether bins of a column that share one of the classes always share one of `member` too."""
    if column not in classes:
        return not member.any()
    return bool(join_classes([classes[column], member]).max() == classes[column].max())


def join_classes(classes: Sequence[IntArray]) -> IntArray:
    """The coarsest classes that refine all of the given ones."""
    joined: IntArray = np.unique(np.stack(classes), axis=1, return_inverse=True)[1].ravel().astype(np.int64)
    return joined

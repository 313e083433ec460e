"""Groups of bins that are too rare to be distinguished through the noise; tables of several columns count groups.

Groups follow from the noisy tables of single columns alone. A bin below a minimum count is rare: rare categories of a
column share one group, rare bins of a number join rare neighbours until their group is large enough.
"""

from __future__ import annotations

from cuts.data.codec import CategoryBins, ColumnBins
from cuts.data.table import Floats
from cuts.privacy.query import Owners


def merge_rare(counts: Floats, bins: ColumnBins, min_count: float) -> Owners:
    """The group of every bin of a column, from its noisy counts; missing values have a group of their own."""
    present = len(counts) - bins.column.missing
    numbers = counts.tolist()
    if isinstance(bins, CategoryBins) and not bins.column.ordered:
        owners = _group_rare(numbers[:present], min_count)
    else:
        owners = _join_neighbours(numbers[:present], min_count)
    return (*owners, max(owners) + 1) if bins.column.missing else owners


def _group_rare(counts: list[float], min_count: float) -> Owners:
    """A group per frequent bin, and one last group for all others.

    >>> _group_rare([90, 3, 50, 1], 10)
    (0, 2, 1, 2)
    """
    frequent = [index for index, count in enumerate(counts) if count >= min_count]
    number = {index: group for group, index in enumerate(frequent)}
    return tuple(number.get(index, len(frequent)) for index in range(len(counts)))


def _join_neighbours(counts: list[float], min_count: float) -> Owners:
    """A group per frequent bin; rare neighbours are joined until their group reaches the minimum count.

    >>> _join_neighbours([20, 3, 8, 1, 2, 30], 10)
    (0, 1, 1, 2, 2, 3)
    """
    owners: list[int] = []
    group, total = -1, min_count  # of the last group: its number and its count
    for count in counts:
        if count >= min_count or total >= min_count:
            group, total = group + 1, 0.0
        owners.append(group)
        total += count
    return tuple(owners)

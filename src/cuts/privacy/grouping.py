"""Bins too rare to be told apart through the noise, put into groups; tables of several columns count groups.

Groups follow from the noisy one-way tables alone. A bin that holds less than what can be told is rare: rare categories
of a column share a group, rare bins of a number join rare neighbours until a group is large enough.
"""

from __future__ import annotations

from cuts.data.codec import CategoryBins, ColumnBins
from cuts.data.table import Floats
from cuts.privacy.query import Owners


def merge_rare(counts: Floats, bins: ColumnBins, least: float) -> Owners:
    """The group of every bin of a column, from its noisy counts; missing values have a group of their own."""
    known = len(counts) - bins.column.missing
    numbers = counts.tolist()
    if isinstance(bins, CategoryBins) and not bins.column.ordered:
        owners = _apart(numbers[:known], least)
    else:
        owners = _joined(numbers[:known], least)
    return (*owners, max(owners) + 1) if bins.column.missing else owners


def _apart(counts: list[float], least: float) -> Owners:
    """Frequent bins alone, the others in one group, which comes last.

    >>> _apart([90, 3, 50, 1], 10)
    (0, 2, 1, 2)
    """
    frequent = [place for place, count in enumerate(counts) if count >= least]
    number = {place: group for group, place in enumerate(frequent)}
    return tuple(number.get(place, len(frequent)) for place in range(len(counts)))


def _joined(counts: list[float], least: float) -> Owners:
    """Frequent bins alone, rare neighbours joined until a group of them holds enough.

    >>> _joined([20, 3, 8, 1, 2, 30], 10)
    (0, 1, 1, 2, 2, 3)
    """
    owners: list[int] = []
    group, held = -1, least  # of the last group: its number, and what it holds
    for count in counts:
        if count >= least or held >= least:
            group, held = group + 1, 0.0
        owners.append(group)
        held += count
    return tuple(owners)

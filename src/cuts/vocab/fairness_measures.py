"""Fairness measures: rates of a classifier's predictions, compared between groups.

A measure declares its rates, each an event and the rows among which it is counted (`registry.Rate`). Its value is the
largest difference between two groups in one of them. One formula serves certain predictions and probabilities:
`chosen` is 1 (or the probability) where the desired outcome is predicted, `deserving` is 1 where it is the true one,
and `members` (rows, groups) is 1 where a row belongs to a group.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from cuts.vocab.arrays import only_where
from cuts.vocab.interval import Interval
from cuts.vocab.registry import LEARNER_OPTIONS, Array, Measure, Rate, add_measure


def everyone(chosen: Array, deserving: Array) -> Array:
    """All rows."""
    return deserving * 0.0 + 1.0


def chosen(chosen: Array, deserving: Array) -> Array:
    """The rows for which the desired outcome is predicted."""
    return chosen


def deserving(chosen: Array, deserving: Array) -> Array:
    """The rows whose true outcome is the desired one."""
    return deserving


def undeserving(chosen: Array, deserving: Array) -> Array:
    """The rows whose true outcome is another one."""
    return 1.0 - deserving


def default_outcome(categories: Sequence[str]) -> str:
    """The desired outcome of a target unless a command names one: its last category, as in the paper."""
    return categories[-1]


SELECTION_RATE = Rate(event=chosen, among=everyone)
TRUE_POSITIVE_RATE = Rate(event=chosen, among=deserving)
FALSE_POSITIVE_RATE = Rate(event=chosen, among=undeserving)


def add_fairness_measure(name: str, *, rates: tuple[Rate, ...], meaning: str, heading: str) -> None:
    """Add a measure: the largest difference between groups in any of the rates."""
    add_measure(fairness_measure(name, rates=rates, meaning=meaning, heading=heading))


def fairness_measure(name: str, *, rates: tuple[Rate, ...], meaning: str, heading: str) -> Measure:
    """The measure of some rates; `heading` is the head of its column in `cuts evaluate`."""
    if not rates:
        raise ValueError(f"the measure {name} compares no rates")
    return Measure(
        name,
        kind="FAIRNESS",
        required=("protected", "target"),
        optional=("desired_outcome", "features", *LEARNER_OPTIONS),
        direction="lower is fairer",
        range=Interval(0.0, 1.0),
        meaning=meaning,
        formula=partial(largest_gap, rates),
        heading=heading,
        rates=rates,
    )


def largest_gap(rates: tuple[Rate, ...], chosen: Array, deserving: Array, members: Array) -> Array:
    """The largest difference between groups in any rate; not a number where no rate has two groups with rows.

    >>> import numpy as np
    >>> groups = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> float(largest_gap((SELECTION_RATE,), np.array([1.0, 0.0, 1.0]), np.ones(3), groups))
    0.5
    """
    gaps = [_gap(group_rates(rate, chosen, deserving, members)) for rate in rates]
    defined = [gap for gap in gaps if bool(gap == gap)]
    return max(defined) if defined else gaps[0]


def group_rates(rate: Rate, chosen: Array, deserving: Array, members: Array) -> Array:
    """The rate in each group; not a number for a group with no row to count it among.

    >>> import numpy as np
    >>> groups = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> group_rates(SELECTION_RATE, np.array([1.0, 0.0, 1.0]), np.ones(3), groups).tolist()
    [0.5, 1.0]
    """
    among = rate.among(chosen, deserving)
    rows = among @ members
    divisor = rows + (rows == 0) * 1.0  # gradients stay finite beside a group without rows
    return only_where(rows > 0, ((rate.event(chosen, deserving) * among) @ members) / divisor)


def _gap(rates: Array) -> Array:
    """Largest minus smallest of the rates that are defined; not a number when fewer than two are."""
    defined = rates[rates == rates]
    return defined.max() - defined.min() if len(defined) > 1 else rates.sum() * float("nan")

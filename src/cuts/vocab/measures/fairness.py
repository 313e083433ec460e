"""Gaps between groups in what a classifier predicts.

One formula each, for certain predictions and for chances: `chosen` is 1 (or how likely) where the desired outcome is
predicted, `deserving` 1 where it is the truth, `members` (rows, groups) 1 where a row belongs to a group.
"""

from __future__ import annotations

from cuts.vocab.arrays import only_where
from cuts.vocab.interval import Interval
from cuts.vocab.registry import LEARNER_OPTIONS, Array, Measure, add_measure


def rates(chosen: Array, among: Array, members: Array) -> Array:
    """How often each group is chosen, among some of the rows; not a number for a group without such rows.

    >>> import numpy as np
    >>> rates(np.array([1.0, 0.0, 1.0]), np.ones(3), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).tolist()
    [0.5, 1.0]
    """
    counted = among @ members
    some = counted + (counted == 0) * 1.0  # gradients stay finite beside a group without rows
    return only_where(counted > 0, ((chosen * among) @ members) / some)


def demographic_parity(chosen: Array, deserving: Array, members: Array) -> Array:
    """The largest difference between groups in how often they are chosen."""
    return _apart(rates(chosen, deserving * 0.0 + 1.0, members))


def equality_of_opportunity(chosen: Array, deserving: Array, members: Array) -> Array:
    """The largest difference between groups in how often those who deserve it are chosen."""
    return _apart(rates(chosen, deserving, members))


def equalized_odds(chosen: Array, deserving: Array, members: Array) -> Array:
    """The larger of that and the same among those who do not deserve it."""
    ones = _apart(rates(chosen, deserving, members))
    noughts = _apart(rates(chosen, 1.0 - deserving, members))
    return ones if bool(ones >= noughts) or bool(noughts != noughts) else noughts


def _apart(found: Array) -> Array:
    """Largest minus smallest of the rates there are; not a number when there are fewer than two."""
    known = found[found == found]
    return known.max() - known.min() if len(known) > 1 else found.sum() * float("nan")


for _name, _formula, _meaning in (
    ("DEMOGRAPHIC_PARITY", demographic_parity, "largest difference between groups in the rate of the desired outcome"),
    ("EQUALIZED_ODDS", equalized_odds, "largest difference between groups in true and false positive rates"),
    (
        "EQUALITY_OF_OPPORTUNITY",
        equality_of_opportunity,
        "largest difference between groups in the true positive rate",
    ),
):
    add_measure(
        Measure(
            _name,
            kind="FAIRNESS",
            required=("protected", "target"),
            optional=("desired_outcome", "features", *LEARNER_OPTIONS),
            direction="lower is fairer",
            range=Interval(0.0, 1.0),
            meaning=_meaning,
            formula=_formula,
        )
    )

"""How well a column can be predicted from others.

One formula each, for certain predictions and for chances: `chances` (rows, values) is how likely each value of the
target is said to be, 1 and 0 where it is said for certain, `truth` (rows, values) 1 at the true one.
"""

from __future__ import annotations

from math import inf

from cuts.vocab.arrays import ln
from cuts.vocab.interval import Interval
from cuts.vocab.registry import LEARNER_OPTIONS, Array, Direction, Measure, add_measure

LEAST = 1e-12  # a chance that is not taken for impossible


def accuracy(chances: Array, truth: Array) -> Array:
    """The share of rows predicted right.

    >>> import numpy as np
    >>> accuracy(np.eye(2), np.array([[1.0, 0.0], [1.0, 0.0]])).item()
    0.5
    """
    return (chances * truth).sum() / len(truth)


def balanced_accuracy(chances: Array, truth: Array) -> Array:
    """The share predicted right, each value of the target weighing the same.

    >>> import numpy as np
    >>> always = np.array([[1.0, 0.0]] * 4)
    >>> balanced_accuracy(always, np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]])).item()
    0.5
    """
    counts = truth.sum(0)
    right = (chances * truth).sum(0)[counts > 0] / counts[counts > 0]
    return right.sum() / len(right)


def cross_entropy(chances: Array, truth: Array) -> Array:
    """Minus the mean logarithm of the chance that was given to the truth, in nats."""
    given = (chances * truth).sum(1)
    return -ln(given + (given < LEAST) * LEAST).sum() / len(truth)


_RATE = Interval(0.0, 1.0)
_MEASURES: tuple[tuple[str, object, Direction, Interval, str], ...] = (
    (
        "DOWNSTREAM_ACCURACY",
        accuracy,
        "higher is more useful",
        _RATE,
        "accuracy of a classifier that predicts the target from the features",
    ),
    (
        "DOWNSTREAM_BALANCED_ACCURACY",
        balanced_accuracy,
        "higher is more useful",
        _RATE,
        "the same with each value of the target weighing the same",
    ),
    (
        "DOWNSTREAM_CROSS_ENTROPY",
        cross_entropy,
        "lower is more useful",
        Interval(0.0, inf),
        "nats a classifier that predicts the target from the features is surprised by",
    ),
)
for _name, _formula, _direction, _range, _meaning in _MEASURES:
    add_measure(
        Measure(
            _name,
            kind="UTILITY",
            required=("target",),
            optional=("features", *LEARNER_OPTIONS),
            direction=_direction,
            range=_range,
            meaning=_meaning,
            formula=_formula,  # type: ignore[arg-type]
        )
    )

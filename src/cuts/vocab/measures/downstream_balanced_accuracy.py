"""DOWNSTREAM_BALANCED_ACCURACY: the mean recall over the values of the target."""

from __future__ import annotations

from cuts.vocab.interval import Interval
from cuts.vocab.registry import Array
from cuts.vocab.utility_measures import utility_measure


@utility_measure(
    "DOWNSTREAM_BALANCED_ACCURACY",
    direction="higher is more useful",
    range=Interval(0.0, 1.0),
    meaning="accuracy averaged over the values of the target, each with the same weight",
    heading="balanced accuracy",
)
def balanced_accuracy(probabilities: Array, truth: Array) -> Array:
    """The share of rows predicted correctly, averaged over the values of the target that occur.

    >>> import numpy as np
    >>> constant = np.array([[1.0, 0.0]] * 4)
    >>> balanced_accuracy(constant, np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]])).item()
    0.5
    """
    rows = truth.sum(0)
    recall = (probabilities * truth).sum(0)[rows > 0] / rows[rows > 0]
    return recall.sum() / len(recall)

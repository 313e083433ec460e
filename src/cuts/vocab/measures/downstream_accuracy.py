"""DOWNSTREAM_ACCURACY: how often a classifier trained on the table predicts a column correctly."""

from __future__ import annotations

from cuts.vocab.interval import Interval
from cuts.vocab.registry import Array
from cuts.vocab.utility_measures import utility_measure


@utility_measure(
    "DOWNSTREAM_ACCURACY",
    direction="higher is more useful",
    range=Interval(0.0, 1.0),
    meaning="accuracy of a classifier that predicts the target from the features",
    heading="accuracy",
)
def accuracy(probabilities: Array, truth: Array) -> Array:
    """The share of rows predicted correctly.

    >>> import numpy as np
    >>> accuracy(np.eye(2), np.array([[1.0, 0.0], [1.0, 0.0]])).item()
    0.5
    """
    return (probabilities * truth).sum() / len(truth)

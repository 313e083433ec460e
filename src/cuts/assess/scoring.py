"""How good predictions are: formulas on arrays."""

from __future__ import annotations

import numpy as np

from cuts.data.table import Bools, Floats, IntArray


def accuracy(predicted: IntArray, truth: IntArray) -> float:
    """The share of rows predicted right."""
    return float((predicted == truth).mean())


def balanced_accuracy(predicted: IntArray, truth: IntArray) -> float:
    """The share predicted right, each class weighing the same.

    >>> balanced_accuracy(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    0.75
    """
    return float(np.mean([(predicted[truth == c] == c).mean() for c in np.unique(truth)]))


def auc(scores: Floats, positive: Bools) -> float:
    """The chance that a positive row scores above a negative one, ties counting half; NaN if there are none of one.

    >>> auc(np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, False, True, True]))
    0.875
    """
    wins = int(positive.sum()) * int((~positive).sum())
    if wins == 0:
        return float("nan")
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]  # the mean rank of equal scores, from 1
    own = int(positive.sum())
    return float((ranks[positive].sum() - own * (own + 1) / 2) / wins)


def mean_auc(chances: Floats, truth: IntArray) -> float:
    """The mean over classes of telling one from the rest; with two classes, both have the same."""
    return float(np.mean([auc(chances[:, c], truth == c) for c in np.unique(truth)]))


def r_squared(predicted: Floats, truth: Floats) -> float:
    """1 when all is explained, 0 for always predicting the mean, below 0 for worse; NaN for a constant truth.

    >>> r_squared(np.array([1.0, 2.0, 2.0]), np.array([1.0, 2.0, 3.0]))
    0.5
    """
    spread = float(((truth - truth.mean()) ** 2).sum())
    return 1.0 - float(((truth - predicted) ** 2).sum()) / spread if spread > 0 else float("nan")


def mean_error(predicted: Floats, truth: Floats) -> float:
    """The mean distance of predictions from the truth."""
    return float(np.abs(predicted - truth).mean())

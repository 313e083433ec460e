"""One bin per row, chosen at random, when groups of rows share the weights of the bins.

Independently, or by systematic sampling (Madow, Annals of Mathematical Statistics 1949): the rows of a group get evenly
spaced points of the cumulated weights, `(i + u) / n` with one random `u` per group, in random order. Each bin then gets
its share of the group to within one row. Both ways give each single row exactly the same distribution; a bin of weight
zero is never chosen.
"""

from __future__ import annotations

import numpy as np

from cuts.config import Drawing
from cuts.data.table import Floats, IntArray
from cuts.logic.chances import Pick

MAX_POINT = 1.0 - 1e-10  # a point plus the number of its group still lies below the next number in float64
MAX_GROUPS = 1 << 18  # numbered at once, so that this is true


def picker(drawing: Drawing, rng: np.random.Generator) -> Pick:
    """The way of choosing that the setting names, with its source of randomness."""

    def independent(groups: IntArray, weights: Floats) -> IntArray:
        return pick_bins(groups, weights, rng.random(len(groups)))

    def systematic(groups: IntArray, weights: Floats) -> IntArray:
        return pick_bins(groups, weights, spaced_points(groups, len(weights), rng))

    return independent if drawing == "independent" else systematic


def spaced_points(groups: IntArray, count: int, rng: np.random.Generator) -> Floats:
    """Points in [0, 1): those of a group are evenly spaced from a random start, and in random order."""
    size = np.bincount(groups, minlength=count)
    first = np.cumsum(size) - size
    shuffled = rng.permutation(len(groups))
    order = shuffled[np.argsort(groups[shuffled].astype(np.min_scalar_type(count)), kind="stable")]
    owner = groups[order]
    points = np.empty(len(groups))
    points[order] = (np.arange(len(groups)) - first[owner] + rng.random(count)[owner]) / size[owner]
    return points


def pick_bins(groups: IntArray, weights: Floats, points: Floats) -> IntArray:
    """The bin in which each row's point lies, on the cumulated weights of its group."""
    if len(weights) <= MAX_GROUPS:
        return _pick_bins(groups, weights, points)
    bins = np.empty(len(groups), dtype=np.int64)
    for first in range(0, len(weights), MAX_GROUPS):
        here = np.flatnonzero((groups >= first) & (groups < first + MAX_GROUPS))
        bins[here] = _pick_bins(groups[here] - first, weights[first : first + MAX_GROUPS], points[here])
    return bins


def _pick_bins(groups: IntArray, weights: Floats, points: Floats) -> IntArray:
    count = weights.shape[1]
    cumulated = np.cumsum(weights, axis=1)
    total = cumulated[:, -1:]
    if not (total > 0).all():
        raise ValueError("a group of rows has no bin to choose")
    lines = (cumulated / total + np.arange(len(weights))[:, None]).ravel()
    # One group after the other: neighbouring look-ups then share what is in the cache, which is several times faster.
    order = np.argsort(groups.astype(np.min_scalar_type(len(weights))), kind="stable")
    ordered = groups[order]
    positions = np.searchsorted(lines, ordered + np.minimum(points[order], MAX_POINT), side="right")
    bins = np.empty(len(groups), dtype=np.int64)
    bins[order] = positions - ordered * count
    return bins

"""Where numbers lie among the edges of bins: `numpy.searchsorted`, but several times as fast for many numbers.

The range of the edges is divided into many buckets of equal width. The bucket of a number is found by arithmetic that
never decreases with the number, so all edges in lower buckets are at or below it and all edges in higher buckets are
above it. It remains to compare it with the edge in its own bucket. In the few buckets that several edges share, numbers
are searched for.
"""

from __future__ import annotations

import numpy as np

from cuts.data.table import Floats, IntArray

MIN_NUMBERS = 20_000  # below this, making the buckets takes longer than it saves,
MIN_EDGES = 4  # and so few edges are found at once
BUCKETS = 1 << 14


def edges_up_to(numbers: Floats, edges: Floats) -> IntArray:
    """For every number, how many of the increasing `edges` are at or below it; arbitrary for NaN.

    >>> edges_up_to(np.array([0.5, 1.0, 7.0]), np.array([1.0, 2.0])).tolist()
    [0, 1, 2]
    """
    width = 0.0 if len(edges) < MIN_EDGES or len(numbers) < MIN_NUMBERS else float(edges[-1]) - float(edges[0])
    scale = (BUCKETS - 1) / width if np.isfinite(width) and width > 0 else np.inf
    if not np.isfinite(scale):
        return np.searchsorted(edges, numbers, side="right").astype(np.int64)
    own = _buckets(edges, float(edges[0]), scale)
    per_bucket = np.bincount(own, minlength=BUCKETS)
    before = np.cumsum(per_bucket) - per_bucket
    edge = np.full(BUCKETS, np.nan)  # no number is at or above it
    edge[own] = edges  # the last one, where several edges share a bucket
    bucket = _buckets(numbers, float(edges[0]), scale)
    places: IntArray = before.take(bucket)
    places += numbers >= edge.take(bucket)
    if per_bucket.max() > 1:
        crowded = np.flatnonzero((per_bucket > 1).take(bucket))
        places[crowded] = np.searchsorted(edges, numbers[crowded], side="right")
    return places


def _buckets(numbers: Floats, low: float, scale: float) -> IntArray:
    with np.errstate(over="ignore", invalid="ignore"):
        place = (numbers - low) * scale
    # Unlike `clip`, these two replace NaN.
    np.fmax(place, 0.0, out=place)
    np.fmin(place, BUCKETS - 1.0, out=place)
    return place.astype(np.int64)

"""MEDIAN and Q: the smallest value that a share of the rows does not exceed."""

from __future__ import annotations

from math import isfinite

from cuts.vocab.arrays import still
from cuts.vocab.registry import Array, aggregate, statistic

_NEAR = 0.02  # how far apart, in shares, the quantiles that tell the slope
_ROUNDING = 1e-9  # a cumulated share of 0.4999999999 is 0.5


@statistic(
    "Q",
    unit="value",
    levels=1,
    sql=aggregate("PERCENTILE_DISC({level}) WITHIN GROUP (ORDER BY {0})"),
    reach=lambda r: r.ranges[0],
)
def quantile(p: Array, v: Array, level: float) -> Array:
    """The smallest value v with P[x <= v] >= level, as SQL's PERCENTILE_DISC.

    >>> import numpy as np
    >>> quantile(np.full(4, 0.25), np.array([4.0, 1.0, 3.0, 2.0]), 0.75).item()
    3.0
    """
    order = v.argsort()
    sorted_v, cumulated = v[order], p[order].cumsum(0)

    def place(share: float) -> int:
        return min(int((cumulated < share - _ROUNDING).sum()), len(v) - 1)

    middle = place(level)
    found = sorted_v[middle]
    # The value is one of `v`; for a gradient, rows below it pull it down by the distance to the next quantiles.
    first, last = int((v < found).sum()), int((v <= found).sum())  # cells of one value lie together
    low = max(min(place(level - _NEAR), first - 1), 0)
    high = min(max(place(level + _NEAR), last), len(v) - 1)
    apart = still(cumulated[high] - cumulated[low])
    slope = (sorted_v[high] - sorted_v[low]) / (apart + (apart == 0) * 1.0)
    if not isfinite(float(slope)):
        return found
    below = (p * ((v < found) * 0.5 + (v <= found) * 0.5)).sum()  # moves with the rows at both ends
    return found + slope * (still(below) - below)


@statistic(
    "MEDIAN",
    unit="value",
    sql=aggregate("PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY {0})"),
    reach=lambda r: r.ranges[0],
)
def median(p: Array, v: Array) -> Array:
    """The lower median, `Q(0.5)`.

    >>> import numpy as np
    >>> median(np.full(4, 0.25), np.array([4.0, 1.0, 3.0, 2.0])).item()
    2.0
    """
    return quantile(p, v, 0.5)

"""MEDIAN and Q: the smallest value that a share of the rows does not exceed."""

from __future__ import annotations

from math import isfinite

from cuts.vocab.arrays import still
from cuts.vocab.registry import Array, aggregate, statistic

_SLOPE_SHARE = 0.02  # share of rows on either side of the quantile over which the slope is taken
_ROUNDING = 1e-9  # a cumulative share of 0.4999999999 is 0.5


@statistic(
    "Q",
    noun="quantile",
    unit="value",
    levels=1,
    sql=aggregate("PERCENTILE_DISC({level}) WITHIN GROUP (ORDER BY {0})"),
    reach=lambda r: r.ranges[0],
    needs_order=True,
    quantile_level=lambda levels: levels[0],
)
def quantile(p: Array, v: Array, level: float) -> Array:
    """The smallest value v with P[x <= v] >= level, as SQL's PERCENTILE_DISC.

    >>> import numpy as np
    >>> quantile(np.full(4, 0.25), np.array([4.0, 1.0, 3.0, 2.0]), 0.75).item()
    3.0
    """
    order = v.argsort()
    sorted_v, cumulative = v[order], p[order].cumsum(0)

    def index_of(share: float) -> int:
        return min(int((cumulative < share - _ROUNDING).sum()), len(v) - 1)

    value = sorted_v[index_of(level)]
    # The value is one of `v`, so it has no gradient of its own. Where the distribution function F is smooth, mass moved
    # below the quantile x moves it by dx = -dF(x) / F'(x); the slope 1 / F' is taken between neighbouring quantiles.
    first, last = int((v < value).sum()), int((v <= value).sum())  # cells of one value lie together
    low = max(min(index_of(level - _SLOPE_SHARE), first - 1), 0)
    high = min(max(index_of(level + _SLOPE_SHARE), last), len(v) - 1)
    mass = still(cumulative[high] - cumulative[low])
    slope = (sorted_v[high] - sorted_v[low]) / (mass + (mass == 0) * 1.0)
    if not isfinite(float(slope)):
        return value
    below = (p * ((v < value) * 0.5 + (v <= value) * 0.5)).sum()  # moves with the rows at both ends
    return value + slope * (still(below) - below)


@statistic(
    "MEDIAN",
    noun="median",
    unit="value",
    sql=aggregate("PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY {0})"),
    reach=lambda r: r.ranges[0],
    needs_order=True,
    quantile_level=lambda levels: 0.5,
)
def median(p: Array, v: Array) -> Array:
    """The lower median, `Q(0.5)`.

    >>> import numpy as np
    >>> median(np.full(4, 0.25), np.array([4.0, 1.0, 3.0, 2.0])).item()
    2.0
    """
    return quantile(p, v, 0.5)

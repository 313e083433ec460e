"""MEDIAN and Q: the smallest value that a share of the rows does not exceed."""

from __future__ import annotations

from cuts.vocab.registry import Array, aggregate, statistic

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
    below = (p[order].cumsum(0) < level - _ROUNDING).sum()
    return v[order][min(int(below), len(v) - 1)]


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

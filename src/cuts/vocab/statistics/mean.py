"""E: the mean."""

from __future__ import annotations

from cuts.vocab.registry import Array, aggregate, statistic


@statistic(
    "E",
    noun="mean",
    unit="value",
    sql=aggregate("AVG({0})"),
    reach=lambda r: r.ranges[0],
    is_mean=True,
)
def mean(p: Array, v: Array) -> Array:
    """Mean: sum p v, with p summing to one.

    >>> import numpy as np
    >>> mean(np.array([0.5, 0.5]), np.array([0.0, 2.0])).item()
    1.0
    """
    first = v[0]  # taken off before summing: the mean of a constant is that constant, to the last digit
    return first + (p * (v - first)).sum()

"""VAR and STD: variance and standard deviation, population forms.

Both are bounded by Popoviciu's inequality: a variance is at most a quarter of the squared width of the range.
"""

from __future__ import annotations

from cuts.vocab.arrays import root
from cuts.vocab.interval import Interval
from cuts.vocab.registry import Array, aggregate, statistic
from cuts.vocab.statistics.mean import mean


@statistic(
    "VAR",
    noun="variance",
    unit="squared",
    sql=aggregate("VAR_POP({0})"),
    reach=lambda r: Interval(0.0, r.ranges[0].width * r.ranges[0].width / 4),
)
def variance(p: Array, v: Array) -> Array:
    """Variance: sum p (v - E[v])^2, with p summing to one.

    >>> import numpy as np
    >>> variance(np.array([0.5, 0.5]), np.array([0.0, 2.0])).item()
    1.0
    """
    return (p * (v - mean(p, v)) ** 2).sum()


@statistic(
    "STD",
    noun="standard deviation",
    unit="spread",
    sql=aggregate("STDDEV_POP({0})"),
    reach=lambda r: Interval(0.0, r.ranges[0].width / 2),
)
def deviation(p: Array, v: Array) -> Array:
    """Standard deviation: the square root of the variance.

    >>> import numpy as np
    >>> deviation(np.array([0.5, 0.5]), np.array([0.0, 4.0])).item()
    2.0
    """
    return root(variance(p, v))

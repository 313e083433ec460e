"""COV and CORR: how two numbers move together."""

from __future__ import annotations

from cuts.vocab.interval import Interval, times
from cuts.vocab.registry import Array, Reach, aggregate, statistic
from cuts.vocab.statistics.mean import mean
from cuts.vocab.statistics.spread import deviation


def _covariance_reach(r: Reach) -> Interval:
    """By Cauchy-Schwarz and Popoviciu's inequality: at most a quarter of the product of the widths, of either sign."""
    largest = times(r.ranges[0].width, r.ranges[1].width) / 4
    return Interval(-largest, largest)


@statistic(
    "COV",
    noun="covariance",
    unit="product",
    min_args=2,
    max_args=2,
    sql=aggregate("COVAR_POP({0}, {1})"),
    reach=_covariance_reach,
)
def covariance(p: Array, a: Array, b: Array) -> Array:
    """Covariance: E[(a - E[a]) (b - E[b])].

    >>> import numpy as np
    >>> covariance(np.array([0.5, 0.5]), np.array([0.0, 2.0]), np.array([0.0, 4.0])).item()
    2.0
    """
    return (p * (a - mean(p, a)) * (b - mean(p, b))).sum()


@statistic(
    "CORR",
    noun="correlation",
    unit="share",
    min_args=2,
    max_args=2,
    sql=aggregate("CORR({0}, {1})"),
    reach=lambda r: Interval(-1.0, 1.0),
)
def correlation(p: Array, a: Array, b: Array) -> Array:
    """Pearson's correlation; not a number when one of the two is constant.

    >>> import numpy as np
    >>> correlation(np.array([0.5, 0.5]), np.array([0.0, 2.0]), np.array([0.0, -4.0])).item()
    -1.0
    """
    return covariance(p, a, b) / (deviation(p, a) * deviation(p, b))

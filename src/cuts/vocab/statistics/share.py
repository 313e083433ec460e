"""P and COUNT: shares and numbers of rows."""

from __future__ import annotations

from math import inf

from cuts.vocab.interval import Interval
from cuts.vocab.registry import Array, aggregate, statistic


@statistic(
    "P",
    noun="share of rows",
    unit="share",
    argument="condition",
    sql=aggregate("AVG(CASE WHEN {0} THEN 1.0 ELSE 0.0 END)"),
    reach=lambda r: r.ranges[0],
    is_mean=True,
)
def probability(p: Array, holds: Array) -> Array:
    """Share of the rows on which the condition holds.

    >>> import numpy as np
    >>> probability(np.full(4, 0.25), np.array([1.0, 0.0, 0.0, 0.0])).item()
    0.25
    """
    return (p * holds).sum()


@statistic(
    "COUNT",
    noun="number of rows",
    unit="rows",
    argument="condition",
    sql=aggregate("COALESCE(SUM(CASE WHEN {0} THEN 1.0 ELSE 0.0 END), 0.0)"),
    reach=lambda r: Interval(0.0, inf if r.ranges[0].high > 0 else 0.0),
)
def count(rows: Array, holds: Array) -> Array:
    """Number of rows on which the condition holds; `rows` sums to the number of rows.

    >>> import numpy as np
    >>> count(np.ones(4), np.array([1.0, 0.0, 0.0, 1.0])).item()
    2.0
    """
    return (rows * holds).sum()

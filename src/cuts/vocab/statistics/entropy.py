"""H and MI: entropy and mutual information of columns, in nats.

Cover and Thomas, "Elements of Information Theory", chapter 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log, prod

from cuts.vocab.arrays import plogp
from cuts.vocab.interval import Interval
from cuts.vocab.registry import Array, Reach, statistic


def _log(size: float) -> float:
    return log(size) if size < inf else inf


def _entropy_sql(args: Sequence[str], relation: str, where: str, levels: Sequence[float]) -> str:
    columns = ", ".join(args)
    cells = f"SELECT COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM {relation} WHERE {where} GROUP BY {columns}"
    return f"(SELECT -SUM(share * LN(share)) FROM ({cells}) AS cells)"


def _information_sql(args: Sequence[str], relation: str, where: str, levels: Sequence[float]) -> str:
    one, other, both = (_entropy_sql(a, relation, where, levels) for a in (args[:1], args[1:], args))
    return f"({one} + {other} - {both})"


@statistic(
    "H",
    noun="entropy",
    unit="nats",
    argument="column",
    max_args=None,
    sql=_entropy_sql,
    reach=lambda r: Interval(0.0, _log(prod(r.sizes))),
)
def entropy(p: Array, *alone: Array) -> Array:
    """Entropy of the joint distribution `p`: - sum p ln p.

    >>> import numpy as np
    >>> round(entropy(np.array([0.5, 0.5])).item(), 4)
    0.6931
    """
    return -plogp(p).sum()


def _information_reach(r: Reach) -> Interval:
    return Interval(0.0, _log(min(r.sizes)))


@statistic(
    "MI",
    noun="mutual information",
    unit="nats",
    argument="column",
    min_args=2,
    max_args=2,
    sql=_information_sql,
    reach=_information_reach,
)
def information(p: Array, a: Array, b: Array) -> Array:
    """Mutual information: H[a] + H[b] - H[a, b].

    >>> import numpy as np
    >>> half = np.array([0.5, 0.5])
    >>> round(information(half, half, half).item(), 4)
    0.6931
    """
    return entropy(a) + entropy(b) - entropy(p)

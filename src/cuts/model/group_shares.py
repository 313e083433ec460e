"""What a fairness command adjusts: how often each group has the favourable outcome in the synthetic table.

A classifier learns the labels it is shown. Where the favourable label is about as frequent in all groups, or more
frequent in the group that is disadvantaged in the real rows, the classifier treats the groups alike on real rows. How
far to adjust is found by training classifiers (`effects/fairness.py`); the table is then given exactly these shares,
like any other statistic.
"""

from __future__ import annotations

from dataclasses import dataclass

from cuts.lang.spec import Apply, InSet, Quantity, Statistic
from cuts.lang.targets import Target

SHARE_ACCURACY = 0.002  # half-width of the interval in which a share is kept, unless a group has few rows


@dataclass(frozen=True, slots=True)
class GroupShare:
    """The share of an outcome in a group minus that in all other rows, or the share in all rows, and its value.

    `line` is that of the command; without a `group` it is about all rows.
    """

    line: int
    target: str
    desired: str
    value: float
    column: str | None = None
    group: str | None = None
    near: float = SHARE_ACCURACY  # half-width of the interval in which it is kept


def share(group_share: GroupShare) -> Quantity:
    """The number of the table that a group share is about."""
    outcome = InSet(group_share.target, frozenset({group_share.desired}))
    if group_share.column is None or group_share.group is None:
        return Statistic("P", (outcome,))
    members = frozenset({group_share.group})
    inside = Statistic("P", (outcome,), InSet(group_share.column, members))
    outside = Statistic("P", (outcome,), InSet(group_share.column, members, negated=True))
    return Apply("-", (inside, outside))


def hold(group_share: GroupShare) -> Target:
    """The target that keeps a group share at its value."""
    low, high = group_share.value - group_share.near, group_share.value + group_share.near
    return Target(share(group_share), low, high, group_share.near)

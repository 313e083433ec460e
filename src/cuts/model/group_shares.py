"""What a fairness command turns: how often groups have an outcome in the synthetic table.

A classifier learns the labels it is shown. Where the desired label is about as frequent in all groups, or more frequent
in the group that real rows put behind, the classifier treats the groups alike on real rows. How far to turn is found by
training classifiers (`steering.py`); the table is then made to have exactly these shares, as any other statistic.
"""

from __future__ import annotations

from dataclasses import dataclass

from cuts.lang.spec import Apply, InSet, Quantity, Statistic
from cuts.lang.targets import Target

NEAR = 0.002  # how exactly a share of many rows is kept


@dataclass(frozen=True, slots=True)
class GroupShare:
    """Share of an outcome in a group minus that in all others, or in all rows, and where it is held.

    `line` is that of the command; without a `group` it is about all rows.
    """

    line: int
    target: str
    desired: str
    value: float
    column: str | None = None
    group: str | None = None
    near: float = NEAR  # how exactly it is kept


def share(knob: GroupShare) -> Quantity:
    """The number of the table that a knob holds."""
    outcome = InSet(knob.target, frozenset({knob.desired}))
    if knob.column is None or knob.group is None:
        return Statistic("P", (outcome,))
    inside = Statistic("P", (outcome,), InSet(knob.column, frozenset({knob.group})))
    outside = Statistic("P", (outcome,), InSet(knob.column, frozenset({knob.group}), negated=True))
    return Apply("-", (inside, outside))


def hold(knob: GroupShare) -> Target:
    """What a knob wants of the table."""
    return Target(share(knob), knob.value - knob.near, knob.value + knob.near, knob.near)

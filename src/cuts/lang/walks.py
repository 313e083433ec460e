"""What can be read off the nodes of a spec alone: columns, statistics, shares, levels, and the keys of comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice
from typing import assert_never

from cuts.lang.spec import (
    AllOf,
    And,
    AnyOf,
    Apply,
    Bound,
    ColumnValue,
    Const,
    Distribution,
    Goal,
    Implies,
    InSet,
    Key,
    Level,
    LinearCompare,
    Missing,
    ModelAim,
    ModelGoal,
    Not,
    Or,
    Pred,
    Privacy,
    Quantity,
    Relation,
    RowRule,
    Statistic,
    TableAim,
    TableGoal,
    Truth,
)


def level(command: Bound) -> Level:
    """What a bound command is about."""
    match command:
        case RowRule():
            return Level.ROW
        case TableGoal() | TableAim():
            return Level.TABLE
        case ModelGoal() | ModelAim():
            return Level.MODEL
        case Privacy():
            return Level.PRIVACY
        case _:
            assert_never(command)


def columns_of(node: Pred | Quantity | Goal) -> frozenset[str]:
    """The columns a node mentions."""
    match node:
        case Truth() | Const():
            return frozenset()
        case InSet(column) | Missing(column) | ColumnValue(column):
            return frozenset({column})
        case LinearCompare(form):
            return frozenset(form.columns)
        case Not(inner):
            return columns_of(inner)
        case And(parts) | Or(parts):
            return frozenset().union(*map(columns_of, parts))
        case Implies(left, right):
            return columns_of(left) | columns_of(right)
        case Apply(_, args):
            return frozenset().union(*map(columns_of, args))
        case Statistic(_, args, given):
            return frozenset().union(*map(columns_of, args), columns_of(given) if given is not None else ())
        case Relation(left, _, right):
            return columns_of(left) | columns_of(right)
        case Distribution(column, _, _, given):
            return frozenset({column}) | (columns_of(given) if given is not None else frozenset())
        case AllOf(parts) | AnyOf(parts):
            return frozenset().union(*map(columns_of, parts))
        case _:
            assert_never(node)


def shares_of(goal: Distribution) -> tuple[tuple[str, Relation], ...]:
    """One comparison per share that a distribution asks for, by category; all other values together are `*`."""
    named = frozenset(category for category, _ in goal.shares)
    parts: list[tuple[str, float, Pred]] = [
        (category, share, InSet(goal.column, frozenset({category}))) for category, share in goal.shares
    ]
    if goal.rest:
        left = 1.0 - sum(share for _, share in goal.shares)
        parts.append(("*", left, InSet(goal.column, named, negated=True)))
    present = Not(Missing(goal.column))
    given = present if goal.given is None else And((goal.given, present))
    return tuple(
        (
            category,
            Relation(
                Statistic("P", (pred,), given),
                "==",
                Const(share),
                goal.tolerance,
                f"{goal.text} {category}",
                key=Key(goal.key.command, goal.key.index + offset),
            ),
        )
        for offset, (category, share, pred) in enumerate(parts)
    )


def with_keys(goal: Goal, command: int) -> Goal:
    """The goal of a command, each of its comparisons named by a key."""
    return _with_keys(goal, command, count())


def _with_keys(goal: Goal, command: int, indices: Iterator[int]) -> Goal:
    match goal:
        case Relation():
            return replace(goal, key=Key(command, next(indices)))
        case Distribution(_, shares, rest):
            first, *_ = islice(indices, len(shares) + rest)
            return replace(goal, key=Key(command, first))
        case AllOf(parts):
            return AllOf(tuple(_with_keys(part, command, indices) for part in parts))
        case AnyOf(parts):
            return AnyOf(tuple(_with_keys(part, command, indices) for part in parts))
        case _:
            assert_never(goal)


def statistics_of(node: Quantity | Goal) -> Iterator[Statistic]:
    """The statistics in a node, left to right."""
    match node:
        case Statistic():
            yield node
        case Apply(_, args):
            for arg in args:
                yield from statistics_of(arg)
        case Relation(left, _, right):
            yield from statistics_of(left)
            yield from statistics_of(right)
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from statistics_of(part)
        case Const() | ColumnValue() | Distribution():
            return
        case _:
            assert_never(node)

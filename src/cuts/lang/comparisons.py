"""The numbers that TABLE commands are about: what each is, what it is compared with, and how it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from cuts.data.units import NUMBER, Unit
from cuts.lang.spec import (
    AllOf,
    AnyOf,
    Apply,
    Basis,
    Const,
    Distribution,
    Goal,
    Key,
    Quantity,
    Relation,
    Spec,
    TableAim,
    TableGoal,
)
from cuts.lang.syntax import CompareOp
from cuts.lang.walks import shares_of


@dataclass(frozen=True, slots=True)
class Comparison:
    """A number of the table, and the number it is compared with, if there is one; `about` names the share it is.

    All of them count the same `unit`.
    """

    key: Key
    text: str
    value: Quantity
    target: Quantity | None = None
    op: CompareOp | None = None
    tolerance: float | None = None
    about: str = ""
    basis: Basis = "stated"  # of the tolerance
    unit: Unit = NUMBER

    @property
    def is_gap(self) -> bool:
        """Whether the target is a number of the table too, so that their difference decides."""
        return self.target is not None and not isinstance(self.target, Const)

    @property
    def measured(self) -> Quantity:
        """What to measure in a table: the value, or for a gap the value minus the target."""
        if self.target is None or isinstance(self.target, Const):
            return self.value
        return Apply("-", (self.value, self.target))


def comparisons(spec: Spec) -> tuple[Comparison, ...]:
    """The numbers of all TABLE commands, in the order written."""
    commands = [command for command in spec.commands if isinstance(command, TableGoal | TableAim)]
    return tuple(comparison for command in commands for comparison in comparisons_of(command))


def comparisons_of(command: TableGoal | TableAim) -> tuple[Comparison, ...]:
    """The numbers of one TABLE command, left to right."""
    if isinstance(command, TableAim):
        return (Comparison(command.key, command.text, command.value, unit=command.unit),)
    return tuple(_comparisons_in(command.goal))


def _comparisons_in(goal: Goal) -> Iterator[Comparison]:
    match goal:
        case Relation():
            yield _comparison(goal)
        case Distribution(column):
            for category, share in shares_of(goal):
                yield _comparison(share, about=f"{column} {category}")
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _comparisons_in(part)
        case _:
            assert_never(goal)


def _comparison(goal: Relation, about: str = "") -> Comparison:
    return Comparison(goal.key, goal.text, goal.left, goal.right, goal.op, goal.tolerance, about, goal.basis, goal.unit)

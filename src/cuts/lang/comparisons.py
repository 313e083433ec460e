"""The numbers a TABLE command is about, in the order of its facts: what each is, what it is compared with, its text.

Whoever knows such numbers from elsewhere, say the model's, gives them in this order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import assert_never

from cuts.lang import printer, syntax
from cuts.lang.lets import expand_lets
from cuts.lang.rewrite import nodes
from cuts.lang.scope import Scope
from cuts.lang.spec import (
    AllOf,
    AnyOf,
    Apply,
    Const,
    Distribution,
    Goal,
    Quantity,
    Relation,
    Spec,
    TableAim,
    TableGoal,
    shares_of,
)
from cuts.lang.syntax import CompareOp
from cuts.vocab.names import DISTRIBUTION


@dataclass(frozen=True, slots=True)
class Comparison:
    """A number of the table, and the number it is compared with, if there is one."""

    text: str
    value: Quantity
    target: Quantity | None = None
    op: CompareOp | None = None
    tolerance: float | None = None
    about: str = ""

    @property
    def is_gap(self) -> bool:
        """Whether the target is a number of the table too, so that their difference tells."""
        return self.target is not None and not isinstance(self.target, Const)

    @property
    def measured(self) -> Quantity:
        """What to know of a table: the value, or for a gap the value minus the target."""
        if self.target is None or isinstance(self.target, Const):
            return self.value
        return Apply("-", (self.value, self.target))


def compared(spec: Spec) -> dict[int, tuple[Comparison, ...]]:
    """The numbers of every TABLE command, by the command's number (`Origin.number`)."""
    found: dict[int, tuple[Comparison, ...]] = {}
    bodies = dict(expand_lets(spec.program, Scope(spec.schema)))
    for command in spec.commands:
        if not isinstance(command, TableGoal | TableAim):
            continue
        body = bodies[command.origin.number].body
        assert not isinstance(body, syntax.Settings)
        if isinstance(command, TableAim):
            found[command.origin.number] = (Comparison(printer.expression(body), command.value),)
        else:
            pairs = zip(_relations(command.goal), _texts(body), strict=True)
            found[command.origin.number] = tuple(one for goal, text in pairs for one in _of(goal, text))
    return found


def _relations(goal: Goal) -> Iterator[Relation | Distribution]:
    """The comparisons a goal is made of, left to right."""
    match goal:
        case Relation() | Distribution():
            yield goal
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _relations(part)
        case _:
            assert_never(goal)


def _of(goal: Relation | Distribution, text: str) -> Iterator[Comparison]:
    if isinstance(goal, Relation):
        yield Comparison(text, goal.left, goal.right, goal.op, goal.tolerance)
        return
    for category, share in shares_of(goal):
        about = f"{goal.column} {category}"
        yield Comparison(f"{text} {category}", share.left, share.right, share.op, share.tolerance, about)


def _texts(expr: syntax.Expr) -> Iterator[str]:
    """The text of every comparison's left side, in the order the binder makes goals of them; of a gap, both sides."""
    match expr:
        case syntax.Not(inner):
            yield from _texts(inner)
        case syntax.And(parts) | syntax.Or(parts):
            for part in parts:
                yield from _texts(part)
        case syntax.Implies(left, right):
            yield from _texts(left)
            yield from _texts(right)
        case syntax.Compare(operands):
            for left, right in pairwise(operands):
                yield _text(left, right)
        case syntax.Between(item, low, high):
            yield _text(item, low)
            yield _text(item, high)
        case _:
            raise AssertionError("what compares nothing is refused by the binder")


def _text(left: syntax.Expr, right: syntax.Expr) -> str:
    for side in (left, right):
        if isinstance(side, syntax.Stat) and side.name == DISTRIBUTION:
            return printer.expression(side)
    measured = [side for side in (left, right) if any(isinstance(node, syntax.Stat) for node in nodes(side))]
    if len(measured) == 2:
        return printer.expression(syntax.Arith("-", left, right))
    return printer.expression((measured or [left])[0])

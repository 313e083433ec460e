"""Targets that no table can meet while its rows satisfy the rules, and targets that exclude each other.

The bounds are outer ones (`logic/space.py`): an error here is certain, no error is no proof. Which targets exclude each
other is decided in `logic/conflict.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cuts.data.schema import Category
from cuts.data.units import NUMBER, Unit
from cuts.lang import units
from cuts.lang.printer import short
from cuts.lang.spec import (
    AllOf,
    AnyOf,
    ColumnValue,
    Distribution,
    Goal,
    ModelGoal,
    Quantity,
    Relation,
    Spec,
    Statistic,
    TableGoal,
)
from cuts.logic.conflict import DEFAULT, Conflict, ConflictSettings, find_conflicts
from cuts.logic.mean_bounds import can_hold
from cuts.logic.space import EmptyRoom, Space, attainable
from cuts.text.diagnostic import INFEASIBLE, Diagnostic, Note
from cuts.vocab.interval import Interval
from cuts.vocab.names import measures, statistics


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a target cannot be met; `help` is what to do about it."""

    reason: str
    help: str = "change the condition or the target"


NO_ROW = Obstacle("no row can satisfy its condition")


def check_statistics(spec: Spec, *, settings: ConflictSettings = DEFAULT) -> tuple[Diagnostic, ...]:
    """Targets that no table can meet while its rows satisfy the rules; if there are none, targets in conflict."""
    commands = [command for command in spec.commands if isinstance(command, TableGoal | ModelGoal)]
    if not commands:
        return ()
    goals = [command for command in commands if isinstance(command, TableGoal)]
    rules = [rule.pred for rule in spec.rules]
    space = Space(rules, [command.goal for command in goals], spec.schema)
    obstacles = [(command, _obstacle(command, space)) for command in commands]
    errors = [unreachable(command, why, bool(rules)) for command, why in obstacles if why is not None]
    if errors:
        return tuple(errors)
    conflicts = find_conflicts(goals, rules, spec.schema, settings=settings)
    return tuple(_excluded(conflict, bool(rules)) for conflict in conflicts)


def _obstacle(command: TableGoal | ModelGoal, space: Space) -> Obstacle | None:
    """Why a command cannot be met, if that is certain."""
    if isinstance(command, ModelGoal):
        return _beyond_measure(command)
    return _out_of_reach(command.goal, space)


def _out_of_reach(goal: Goal, space: Space) -> Obstacle | None:
    """Why a goal cannot be met, if that is certain."""
    try:
        match goal:
            case AllOf(parts):
                return next((why for part in parts if (why := _out_of_reach(part, space)) is not None), None)
            case AnyOf(parts):
                obstacles = [_out_of_reach(part, space) for part in parts]
                return None if None in obstacles else obstacles[0]
            case Relation():
                return _beyond_range(goal, space)
            case Distribution():
                return _without_rows(goal, space)
    except EmptyRoom:
        return NO_ROW


def _beyond_range(goal: Relation, space: Space) -> Obstacle | None:
    """A comparison whose two sides cannot come together."""
    left, right = attainable(goal.left, space), attainable(goal.right, space)
    if can_hold(left, goal.op, right, goal.tolerance):
        return None
    return _only(_described(goal.left), left, goal.unit)


def _without_rows(goal: Distribution, space: Space) -> Obstacle | None:
    """Shares for values that no row can have, or a rest that no value is left for."""
    column = space.schema[goal.column]
    assert isinstance(column, Category)
    possible = {column.categories[b] for b in space.where(goal.given).bins(goal.column)}
    dead = [value for value, share in goal.shares if value not in possible and share > goal.tolerance]
    if dead:
        return Obstacle(f"no row can have `{goal.column}` = `{dead[0]}`")
    unnamed = possible - {value for value, _ in goal.shares}
    rest = 1.0 - sum(share for _, share in goal.shares)
    if unnamed or rest <= goal.tolerance:
        return None
    return Obstacle(f"no other value of `{goal.column}` can take the remaining share {short(rest)}")


def _beyond_measure(command: ModelGoal) -> Obstacle | None:
    """A bound on a measure outside the measure's range."""
    limits = measures()[command.measure.name].range
    if can_hold(limits, command.op, Interval(command.bound, command.bound), command.tolerance):
        return None
    return _only(f"`{command.measure.name}(...)`", limits, NUMBER)


def _only(subject: str, limits: Interval, unit: Unit) -> Obstacle:
    low, high = units.show(limits.low, unit), units.show(limits.high, unit)
    return Obstacle(
        f"{subject} can only be {low}" if low == high else f"{subject} can only lie between {low} and {high}",
        "move the target into that range",
    )


def _described(quantity: Quantity) -> str:
    """A number of the table in words; a label points at the place, so an expression needs no repetition."""
    if not isinstance(quantity, Statistic):
        return "the left side"
    noun = statistics()[quantity.name].noun
    columns = [arg.column for arg in quantity.args if isinstance(arg, ColumnValue)]
    if len(columns) < len(quantity.args):
        return f"this {noun}"
    return f"the {noun} of {' and '.join(f'`{column}`' for column in columns)}"


# --- diagnostics


def unreachable(command: TableGoal | ModelGoal, obstacle: Obstacle, under_rules: bool) -> Diagnostic:
    """A target that no table under the rules can meet."""
    return Diagnostic(
        "unreachable-target",
        f"no table can meet this while its rows {'satisfy the rules' if under_rules else 'follow the schema'}",
        command.origin.body_span,
        obstacle.reason,
        f"{obstacle.help}, or {'relax the row rules' if under_rules else 'widen the schema'}",
        exit_code=INFEASIBLE,
    )


def _excluded(conflict: Conflict, under_rules: bool) -> Diagnostic:
    """The diagnostic of a conflict; one of a single target says that it is out of reach."""
    match conflict.commands:
        case (TableGoal(Relation() | Distribution()) as alone,):
            return unreachable(alone, Obstacle("no mix of allowed rows reaches it"), under_rules)
        case commands:
            return conflicting(commands, conflict.by_rules)


def conflicting(commands: Sequence[TableGoal], by_rules: bool) -> Diagnostic:
    """Commands whose statistics exclude each other, or one whose parts do."""
    first, *others = commands
    which = "both of these commands" if len(others) == 1 else "all of these commands"
    what = "keep one of them" if len(others) == 1 else "leave one of them out"
    wider = "widen their tolerances with `WITHIN`"
    return Diagnostic(
        "conflicting-statistics",
        f"no table can meet {which if others else 'all of this command'}",
        first.origin.body_span,
        "together with" if others else "its parts exclude each other",
        f"{what}, {wider}, or relax the row rules" if by_rules else f"{what}, or {wider}",
        notes=tuple(
            Note(other.origin.body_span, "this" if index == 0 else "and this") for index, other in enumerate(others)
        ),
        exit_code=INFEASIBLE,
    )

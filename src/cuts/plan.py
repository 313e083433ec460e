"""What will be done with each command, and what is promised for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, assert_never

from cuts.lang.printer import short
from cuts.lang.spec import (
    AllOf,
    AnyOf,
    Bound,
    Goal,
    Level,
    ModelAim,
    ModelGoal,
    Privacy,
    Relation,
    RowRule,
    Spec,
    Spread,
    TableAim,
    TableGoal,
    level,
)
from cuts.logic.core import build_grid
from cuts.logic.diagram import Diagram, compile_rules
from cuts.text.columns import align
from cuts.text.diagnostic import counted


@dataclass(frozen=True, slots=True)
class Step:
    """One command: where it stands, its level, what is promised, how it is met."""

    line: int
    command: str
    level: Level
    promise: str
    how: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A step for every command, in the order of the program."""

    data: str
    steps: tuple[Step, ...]


def plan(spec: Spec) -> Plan:
    """The plan of a spec."""
    diagram = compile_rules([rule.pred for rule in spec.rules], build_grid([r.pred for r in spec.rules], spec.schema))
    steps = tuple(Step(c.origin.line, c.origin.title, level(c), _promise(c), _how(c, diagram)) for c in spec.commands)
    return Plan(spec.schema.name, steps)


def as_text(made: Plan) -> str:
    """The plan as a table."""
    rows = [[str(s.line), s.level.value, s.promise, s.how, s.command] for s in made.steps]
    return align(["line", "level", "promise", "how", "command"], rows, right=[0])


def as_data(made: Plan) -> dict[str, Any]:
    """The plan as JSON values."""
    return {"data": made.data, "steps": [{**asdict(s), "level": s.level.value} for s in made.steps]}


def _promise(command: Bound) -> str:
    match command:
        case RowRule():
            return "guaranteed"
        case TableGoal(goal):
            slack = sorted(set(_tolerances(goal)))
            return "checked as written" if slack == [0.0] else f"checked within {' / '.join(map(short, slack))}"
        case TableAim(_, _, _, budget):
            return f"encouraged, at most {short(100 * budget)} % of utility"
        case ModelGoal() | ModelAim():
            return "encouraged, measured"
        case Privacy():
            return "guaranteed for a public schema"
        case _:
            assert_never(command)


def _how(command: Bound, diagram: Diagram) -> str:
    match command:
        case RowRule(_, _, mode, method):
            penalty = "penalty while training, then " if method == "penalty" else ""
            return f"{penalty}rows drawn through the diagram ({counted(diagram.size, 'node')}), {mode}"
        case TableGoal():
            return f"{_weight(command.weight)}, then rows chosen to match"
        case TableAim(direction):
            return f"{_weight(command.weight)}, {direction.lower()}d"
        case ModelGoal(measure) | ModelAim(_, measure):
            return f"{command.method or 'ridge'} surrogate for {measure.target}, {_weight(command.weight)}"
        case Privacy(epsilon, delta):
            return f"noisy counts only, epsilon={short(epsilon)}, delta={short(delta)}"
        case _:
            assert_never(command)


def _weight(weight: float | None) -> str:
    return "fine-tuning, automatic weight" if weight is None else f"fine-tuning, weight {short(weight)}"


def _tolerances(goal: Goal) -> Sequence[float]:
    match goal:
        case Relation() | Spread():
            return (goal.tolerance,)
        case AllOf(parts) | AnyOf(parts):
            return [tolerance for part in parts for tolerance in _tolerances(part)]
        case _:
            assert_never(goal)

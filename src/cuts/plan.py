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
    Distribution,
    Goal,
    Level,
    ModelAim,
    ModelGoal,
    Privacy,
    Relation,
    RowRule,
    Spec,
    Statistic,
    TableAim,
    TableGoal,
    level,
    statistics_of,
)
from cuts.lang.targets import target_values
from cuts.logic.core import build_grid
from cuts.logic.diagram import Diagram, compile_rules
from cuts.logic.layout import conditions, lay_out
from cuts.logic.splits import find_splits
from cuts.privacy.accountant import rho_of
from cuts.privacy.adaptive import DEFAULT_SETTINGS
from cuts.text.columns import align
from cuts.text.diagnostic import counted
from cuts.vocab.names import measures


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
    closed = closed_forms(spec)
    steps = tuple(
        Step(c.origin.line, c.origin.title, level(c), _promise(c), _how(c, diagram, c.origin.number in closed))
        for c in spec.commands
    )
    return Plan(spec.schema.name, steps)


def closed_forms(spec: Spec) -> frozenset[int]:
    """The numbers of the commands about statistics that are met in closed form, as far as the schema tells."""
    asked: dict[int, list[Statistic]] = {}
    for command in spec.commands:
        if isinstance(command, TableGoal | TableAim) and command.weight is None and command.method != "penalty":
            values = target_values(command, spec.schema)
            asked[command.origin.number] = [stat for value in values for stat in statistics_of(value)]
    preds = [pred for stats in asked.values() for stat in stats for pred in conditions(stat)]
    codec = build_grid(preds, spec.schema).codec
    _, possible = find_splits(list(asked.values()), lambda stat: lay_out(stat, codec), spec.schema.label)
    return frozenset(number for number, able in zip(asked, possible, strict=True) if able)


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


def _how(command: Bound, diagram: Diagram, closed: bool) -> str:
    match command:
        case RowRule(_, _, mode, method):
            penalty = "penalty while training, then " if method == "penalty" else ""
            return f"{penalty}rows drawn through the diagram ({counted(diagram.size, 'node')}), {mode}"
        case TableGoal():
            chosen = ", then rows chosen to match" if command.weight is None else ""
            return ("closed form" if closed else _weight(command.weight)) + chosen
        case TableAim():
            return f"{'closed form' if closed else _weight(command.weight)}, step by step"
        case ModelGoal() | ModelAim():
            return _effect(command)
        case Privacy(epsilon, delta):
            singles = f"{100 * DEFAULT_SETTINGS.single_column_share:.0f} % of it for single columns"
            budget = f"rho {short(rho_of(epsilon, delta), 3)}, {singles}"
            return f"noisy counts only: {budget}, the rest round by round"
        case _:
            assert_never(command)


def _effect(command: ModelGoal | ModelAim) -> str:
    measure, entry = command.measure, measures()[command.measure.name]
    if command.method is not None or command.weight is not None:
        return f"{command.method or 'ridge'} surrogate for {measure.target}, {_weight(command.weight)}"
    if entry.kind == "FAIRNESS":
        return f"shares of {measure.target} by group turned until classifiers treat {_listed(measure.protected)} alike"
    return f"{measure.target} made independent of the other columns" if hides(command) else "measured only"


def hides(command: ModelGoal | ModelAim) -> bool:
    """Whether a command about predicting a column asks for less of it."""
    higher = measures()[command.measure.name].direction == "higher is more useful"
    if isinstance(command, ModelAim):
        return (command.direction == "MINIMIZE") == higher
    return command.op in (("<", "<=") if higher else (">", ">="))


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names)


def _weight(weight: float | None) -> str:
    return "fine-tuning, automatic weight" if weight is None else f"fine-tuning, weight {short(weight)}"


def _tolerances(goal: Goal) -> Sequence[float]:
    match goal:
        case Relation() | Distribution():
            return (goal.tolerance,)
        case AllOf(parts) | AnyOf(parts):
            return [tolerance for part in parts for tolerance in _tolerances(part)]
        case _:
            assert_never(goal)

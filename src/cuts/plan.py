"""What will be done with each command, and what is promised for it.

The plan decides: the passes over a model (`cuts.effects`) dispatch on the `way` of each step, and `cuts plan` prints
the same field. A plan is made from program, schema and settings alone. Whether a statistic has a closed form also
depends on the bins, and those of a fit are chosen from rows: `settle` decides that again once they are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, assert_never

from cuts.config import Config, Method
from cuts.data.codec import Codec
from cuts.data.columns import Numeric
from cuts.data.schema import Category, Schema
from cuts.data.ties import coordinates
from cuts.data.units import NUMBER, Unit, spread
from cuts.lang import tolerance
from cuts.lang.printer import short
from cuts.lang.spec import (
    AllOf,
    AnyOf,
    Bound,
    Distribution,
    Goal,
    InSet,
    Level,
    ModelAim,
    ModelGoal,
    Pred,
    Privacy,
    Relation,
    RowRule,
    Spec,
    Statistic,
    TableAim,
    TableGoal,
)
from cuts.lang.targets import target_values
from cuts.lang.tolerance import Tolerance
from cuts.lang.walks import level, statistics_of
from cuts.logic.core import Cuts, comparisons, find_cuts, tied_codec
from cuts.logic.layout import conditions, lay_out
from cuts.logic.splits import find_coarse_splits, find_splits
from cuts.logic.tie_choice import rule_ties
from cuts.logic.ties import substitute
from cuts.privacy.accountant import rho_of
from cuts.privacy.adaptive import settings_for
from cuts.text.columns import align
from cuts.text.diagnostic import listed
from cuts.vocab.names import measures

Form = Literal["exact", "coarse"]  # of a closed form: whether the classes distinguish all that the statistic does
Way = Literal[
    "diagram + repair",  # the model is moved into the rule, and rows are drawn through its decision diagram
    "diagram",  # rows are drawn through the decision diagram of the rules
    "train + diagram",  # a penalty while training, then the same
    "tilt",  # components are reweighted in closed form, by coarse classes where exact ones are too many
    "train",  # fine-tuned by gradients
    "steer",  # group rates adjusted in a closed loop with the classifier
    "hide",  # the column is made independent of the others
    "sharpen",  # the column is made to depend on the others more clearly
    "penalty + reject",  # a penalty while the network is fine-tuned, and rows that break the rule are rejected
    "reject",  # rows that break the rule are rejected
    "penalty",  # a penalty while the network is fine-tuned
    "measure",  # measured and reported only
    "noise",  # the rows are seen through noisy counts only
]

Command = ModelGoal | ModelAim


@dataclass(frozen=True, slots=True)
class Step:
    """One command: its number, its line, its level, what is promised, and the way it is met, also in words."""

    number: int
    line: int
    command: str
    level: Level
    promise: str
    way: Way
    how: str


@dataclass(frozen=True, slots=True)
class Plan:
    """One step per command, in the order of the program, and the conditions no bin may straddle."""

    spec: Spec
    steps: tuple[Step, ...]
    conditions: tuple[Pred, ...]
    method: Method = "exact"

    @property
    def cuts(self) -> Cuts:
        """The edges and sets of categories that the bins need."""
        return find_cuts(self.conditions, self.spec.schema)

    def way(self, command: Bound) -> Way:
        """The way a command is met."""
        return next(step.way for step in self.steps if step.number == command.origin.number)

    def commands(self, *ways: Way) -> tuple[Bound, ...]:
        """The commands that are met in one of some ways, in the order of the program."""
        return tuple(command for command in self.spec.commands if self.way(command) in ways)


def plan(spec: Spec, config: Config | None = None) -> Plan:
    """The plan of a spec under some settings, as far as it can be made without rows."""
    config = config or Config()
    conditions, schema = _conditions(spec), with_bins(spec.schema, config)
    ties = rule_ties([spec], schema) if config.ties else ()
    inner = [substitute(condition, schema, ties) for condition in conditions]
    codec = tied_codec(schema, ties, find_cuts(inner, coordinates(schema, ties)))
    return settle(Plan(spec, (), conditions, config.method), codec)


def settle(draft: Plan, codec: Codec) -> Plan:
    """The plan once the bins are known: a closed form exists only where components need not be split too finely."""
    forms = _closed_forms(draft.spec, codec) if draft.method == "exact" else {}
    steps = []
    for command in draft.spec.commands:
        form = forms.get(command.origin.number)
        way = _way(command, form, codec) if draft.method == "exact" else _penalty_way(command, codec)
        steps.append(_step(command, way, form, codec, draft.method))
    return replace(draft, steps=tuple(steps))


def with_bins(schema: Schema, config: Config) -> Schema:
    """The schema with the bins that the settings ask for instead of its own."""
    columns = [
        replace(column, bins=config.bins or column.bins, binning=config.binning or column.binning)
        if isinstance(column, Numeric)
        else column
        for column in schema.columns
    ]
    return replace(schema, columns=tuple(columns))


def label_kept(spec: Spec, label: str | None) -> str | None:
    """The label, if statistics are to be met without moving it inside components.

    Steering moves just that, the rates of the label by group, so then nothing is kept.
    """
    commands = [command for command in spec.commands if isinstance(command, ModelGoal | ModelAim)]
    return None if any(_classifier_way(command) == "steer" for command in commands) else label


# --- decisions


def _conditions(spec: Spec) -> tuple[Pred, ...]:
    """All predicates on rows that a program needs decided."""
    preds = [rule.pred for rule in spec.rules]
    for command in spec.commands:
        if isinstance(command, TableGoal | TableAim):
            values = target_values(command, spec.schema)
            preds += [pred for value in values for stat in statistics_of(value) for pred in conditions(stat)]
    for command in spec.commands:
        if isinstance(command, ModelGoal | ModelAim):  # groups and outcomes need bins of their own
            for name in (*command.measure.protected, command.measure.target):
                column = spec.schema[name]
                assert isinstance(column, Category)
                preds += [InSet(name, frozenset({category})) for category in column.categories]
    return tuple(preds)


def _closed_forms(spec: Spec, codec: Codec) -> dict[int, Form]:
    """The closed forms of the commands about statistics that have one over these bins, by the number of the command."""
    asked: dict[int, list[Statistic]] = {}
    for command in spec.commands:
        if isinstance(command, TableGoal | TableAim) and command.weight is None and command.method != "penalty":
            values = target_values(command, spec.schema)
            asked[command.origin.number] = [stat for value in values for stat in statistics_of(value)]
    label = label_kept(spec, spec.schema.label)
    layout = cache(lambda stat: lay_out(stat, codec))
    classes, possible = find_splits(list(asked.values()), layout, label)
    forms: dict[int, Form] = {number: "exact" for number, able in zip(asked, possible, strict=True) if able}
    others = {number: stats for number, stats in asked.items() if number not in forms}
    _, possible = find_coarse_splits(list(others.values()), layout, classes, label)
    return forms | {number: "coarse" for number, able in zip(others, possible, strict=True) if able}


def _way(command: Bound, form: Form | None, codec: Codec) -> Way:
    match command:
        case RowRule(pred, _, mode, method):
            if ties_columns(substitute(pred, codec.schema, codec.ties)):  # no bin decides it: it acts on drawn rows
                return "diagram"
            return "train + diagram" if method == "penalty" else "diagram + repair" if mode == "repair" else "diagram"
        case TableGoal() | TableAim():
            return "tilt" if form is not None else "train"
        case ModelGoal() | ModelAim():
            return _classifier_way(command)
        case Privacy():
            return "noise"
        case _:
            assert_never(command)


def _penalty_way(command: Bound, codec: Codec) -> Way:
    """The paper's way: a penalty per command, and rejection for what has to hold in every row."""
    match command:
        case RowRule(pred, _, mode):
            is_trained = mode == "repair" and not ties_columns(substitute(pred, codec.schema, codec.ties))
            return "penalty + reject" if is_trained else "reject"
        case Privacy():
            return "noise"
        case TableGoal() | TableAim() | ModelGoal() | ModelAim():
            return "penalty"
        case _:
            assert_never(command)


def ties_columns(pred: Pred) -> bool:
    """Whether a predicate compares columns with each other, as `start <= stop` does."""
    return any(len(leaf.form.terms) > 1 for leaf in comparisons(pred))


def _classifier_way(command: Command) -> Way:
    if command.method is not None or command.weight is not None:
        return "train"
    if measures()[command.measure.name].kind == "UTILITY":
        return "hide" if hides(command) else "sharpen" if asks_for_more(command) else "measure"
    if isinstance(command, ModelAim):
        return "steer" if command.direction == "MINIMIZE" else "measure"
    return "steer" if command.op in ("<", "<=", "==") else "measure"


def hides(command: Command) -> bool:
    """Whether a command asks for a column that cannot be predicted, in whatever way it is met."""
    return measures()[command.measure.name].kind == "UTILITY" and asks_for_less(command)


def asks_for_less(command: Command) -> bool:
    """Whether a command about predicting a column asks for less of it."""
    higher = measures()[command.measure.name].direction == "higher is more useful"
    if isinstance(command, ModelAim):
        return (command.direction == "MINIMIZE") == higher
    return command.op in (("<", "<=") if higher else (">", ">="))


def asks_for_more(command: Command) -> bool:
    """Whether a command about predicting a column asks for more of it."""
    if isinstance(command, ModelAim):
        return not asks_for_less(command)
    return command.op not in ("==", "!=") and not asks_for_less(command)


# --- words


def _step(command: Bound, way: Way, form: Form | None, codec: Codec, method: Method) -> Step:
    origin = command.origin
    how, promise = _how(command, way, form, method), _promise(command, way, codec.schema.label)
    return Step(origin.number, origin.line, origin.title, level(command), promise, way, how)


def _promise(command: Bound, way: Way, label: str | None) -> str:
    match command:
        case RowRule():
            return "guaranteed"
        case TableGoal(goal):
            slack = sorted(set(_tolerances(goal)), key=lambda pair: pair[0])
            shown = dict.fromkeys(tolerance.shown(each.value, each.basis, unit) for each, unit in slack)
            has_none = all(each.value == 0 for each, _ in slack)
            return "checked as written" if has_none else f"checked within {' / '.join(shown)}"
        case TableAim(budget=budget) if command.weight is None and way != "penalty":
            return f"encouraged, costs at most {short(100 * budget)} % of utility"
        case ModelAim(budget=float() as budget) if way in ("steer", "hide", "sharpen") and (
            way == "steer" or command.measure.target != label
        ):
            return f"encouraged, costs at most {short(100 * budget)} % of accuracy"
        case TableAim() | ModelGoal() | ModelAim():
            return "encouraged, measured"
        case Privacy():
            return "guaranteed for a public schema"
        case _:
            assert_never(command)


def _how(command: Bound, way: Way, form: Form | None, method: Method) -> str:
    match command:
        case RowRule() if way == "reject":
            return "rows that break the rule are rejected"
        case RowRule() if way == "penalty + reject":
            return f"network fine-tuned, {_stated(command.weight)}; rows that break the rule are rejected"
        case TableGoal() | TableAim() if way == "penalty":
            return f"network fine-tuned, {_stated(command.weight)}"
        case RowRule():
            sampled = "rows are sampled so that they cannot break the rule"
            fitted = {"diagram + repair": "; model adjusted", "train + diagram": "; penalty in training"}
            return sampled + fitted.get(way, "")
        case TableGoal() | TableAim():
            classes = " (coarse classes)" if form == "coarse" else ""
            closed = f"model reweighted in closed form{classes}"
            moved = closed if way == "tilt" else f"fine-tuned, {_weight(command.weight)}"
            if isinstance(command, TableAim):
                return moved if command.weight is not None else f"{moved}, step by step within the budget"
            return moved if command.weight is not None else f"{moved}, then rows selected to match"
        case ModelGoal() | ModelAim():
            return _classifier_words(command, way)
        case Privacy(epsilon, delta):
            settings = settings_for(method, 1)
            singles = f"{100 * settings.single_column_share:.0f} % of it for single columns"
            budget = f"rho {short(rho_of(epsilon, delta), 3)}, {singles}"
            tables = "tables of the label and " if settings.label_share else ""
            return f"noisy counts only: {budget}, the rest for {tables}adaptive rounds"
        case _:
            assert_never(command)


def _classifier_words(command: Command, way: Way) -> str:
    measure = command.measure
    match way:
        case "train":
            surrogate = f"a {command.method or 'ridge'} classifier of `{measure.target}`"
            return f"fine-tuned on {surrogate}, {_weight(command.weight)}"
        case "penalty":
            surrogate = "ridge classifier" if command.method == "ridge" else "logistic regression"
            return f"network fine-tuned on a {surrogate} of `{measure.target}`, {_stated(command.weight)}"
        case "steer":
            groups = f"the groups of {listed(measure.protected)}"
            return f"group rates of `{measure.target}` adjusted until XGBoost treats {groups} alike"
        case "sharpen":
            return f"`{measure.target}` made to depend on the other columns more clearly"
        case "hide":
            return f"`{measure.target}` made independent of the other columns"
        case _:
            return "measured only"


def _weight(weight: float | None) -> str:
    return "automatic weight" if weight is None else f"weight {short(weight)}"


def _stated(weight: float | None) -> str:
    return "default weight" if weight is None else f"weight {short(weight)}"


def _tolerances(goal: Goal) -> Sequence[tuple[Tolerance, Unit]]:
    match goal:
        case Relation():
            return ((Tolerance(goal.tolerance, goal.basis), spread(goal.unit)),)
        case Distribution():
            return ((Tolerance(goal.tolerance, "unit"), NUMBER),)
        case AllOf(parts) | AnyOf(parts):
            return [each for part in parts for each in _tolerances(part)]
        case _:
            assert_never(goal)


def as_text(plan: Plan) -> str:
    """The plan as a table."""
    rows = [[str(step.line), step.level.value, step.promise, step.way, step.how, step.command] for step in plan.steps]
    return align(["line", "level", "promise", "way", "how", "command"], rows, right=[0])


def as_data(plan: Plan) -> dict[str, Any]:
    """The plan as JSON values."""
    fields = ("line", "command", "promise", "way", "how")
    steps = [{**{name: getattr(step, name) for name in fields}, "level": step.level.value} for step in plan.steps]
    return {"data": plan.spec.schema.name, "steps": steps}

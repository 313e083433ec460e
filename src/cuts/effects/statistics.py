"""The pass that moves a model to the statistics a program asks for.

Which way a command is met is decided in `plan.py`. What has a closed form is met that way (`effects/closed_form.py`),
all such commands together. The others are trained for (`model/finetune.py`), around the model that already has the
first ones; so is a command whose coarse closed form turns out not to reach its target, and the report says so. A
number to be minimised or maximised is moved step by step, everything else kept, until the budget of its command is used
up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from time import process_time

import torch

from cuts.data.conform import conform
from cuts.data.schema import Schema
from cuts.effects.closed_form import ClosedForm, find_closed_form
from cuts.effects.shaping import Shaping
from cuts.lang.comparisons import comparisons_of
from cuts.lang.spec import Const, Spec, TableAim, TableGoal
from cuts.lang.targets import AllTargets, Target, Targets, targets_of, violation
from cuts.lang.tolerance import default_tolerance
from cuts.model.budget_utility import Utility
from cuts.model.cells import Statistics
from cuts.model.facts import GoalFacts, Number, TradeOff, Trial
from cuts.model.finetune import Term, finetune, want_term
from cuts.model.group_shares import GroupShare, hold
from cuts.model.mixture import Mixture
from cuts.model.own_counts import own_marginals
from cuts.model.shape import Refit
from cuts.model.store import Model
from cuts.plan import Plan, Way, label_kept
from cuts.read import exact

DOUBLINGS, HALVINGS = 14, 5  # of the step by which a number is pushed
MAX_MISS = 1.0  # tolerances: a trial that ends further from what it was pushed to has failed
SHARES = -1  # the key under which group shares are kept, beside the numbers of commands

Command = TableGoal | TableAim


def meet(shaping: Shaping) -> Shaping:
    """The model with the statistics the program asks for."""
    base = shaping.model
    if shaping.plan.method == "penalty" or not statistics_in(shaping.plan.spec):
        return replace(shaping, base=base)
    shaping.observer.stage("adjusting the model to the statistics")
    return replace(shaping, base=base, model=with_shares(replace(shaping, base=base), ()))


def with_shares(shaping: Shaping, shares: Sequence[GroupShare]) -> Model:
    """The base model with the statistics the program asks for, and with group shares kept at their values."""
    model, learned, stats = shaping.base, shaping.learned, shaping.stats
    commands, schema = statistics_in(shaping.plan.spec), model.codec.schema
    ground = _Ground(model.mixture, stats, learned.refit(shaping.observer), shaping.plan, learned.label)
    moved = pursue(ground, commands, schema, learned.utility(), [hold(share) for share in shares])
    sample = conform(learned.sample, schema)
    goals = []
    for command in commands:
        numbers = tuple(
            Number(
                comparison.key,
                real=exact.value(comparison.measured, sample, schema),
                before=stats.known(comparison.measured, model.mixture),
                after=stats.known(comparison.measured, moved.mixture),
            )
            for comparison in comparisons_of(command)
        )
        goals.append(GoalFacts(command.origin.number, command.origin.line, numbers))
    facts = replace(
        model.facts,
        goal_seconds=model.facts.goal_seconds + moved.cpu_seconds,
        goals=tuple(goals),
        trade_offs=(*model.facts.trade_offs, *moved.trade_offs),
        group_shares=tuple(shares),
    )
    result = replace(shaping, model=replace(model, mixture=moved.mixture, facts=facts))
    for command in commands:
        result = result.met(result.model, (command,), moved.ways[command.origin.number])
    return result.model


def statistics_in(spec: Spec) -> tuple[Command, ...]:
    """The commands about statistics."""
    return tuple(command for command in spec.commands if isinstance(command, Command))


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """A mixture with the statistics asked for: the way each command was met, by its number, and what the aims cost."""

    mixture: Mixture
    ways: Mapping[int, Way]
    trade_offs: tuple[TradeOff, ...]
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class _Pursuit:
    """One command: its targets, its weight, and whether it is met in closed form."""

    targets: Targets
    is_closed: bool
    weight: float | None = None
    aim: TableAim | None = None  # one with a weight of its own, which says how far to go


@dataclass(frozen=True, slots=True, eq=False)
class _Ground:
    """Where commands are met from: the mixture without any, its statistics, what fitting again needs, the plan."""

    mix: Mixture
    stats: Statistics
    refit: Refit
    plan: Plan
    label: str | None

    @property
    def kept(self) -> str | None:
        """The label, where it is not moved inside components if that can be helped."""
        return label_kept(self.plan.spec, self.label)

    def is_closed(self, command: Command) -> bool:
        """Whether the plan meets a command in closed form."""
        return self.plan.way(command) == "tilt"


def pursue(
    ground: _Ground, commands: Sequence[Command], schema: Schema, utility: Utility, shares: Sequence[Target] = ()
) -> Moved:
    """The mixture moved to what the commands ask for, with group shares kept."""
    began = process_time()
    pursuits = {
        command.origin.number: _Pursuit(targets_of(command.goal, schema), ground.is_closed(command), command.weight)
        for command in commands
        if isinstance(command, TableGoal)
    }
    for command in commands:
        if isinstance(command, TableAim) and command.weight is not None:
            pursuits[command.origin.number] = _Pursuit(AllTargets(()), False, command.weight, command)
    if shares:
        pursuits[SHARES] = _Pursuit(AllTargets(tuple(shares)), True)
    mix, ways = _meet(ground, pursuits)
    curves = []
    for command in commands:
        if isinstance(command, TableAim) and command.weight is None:
            pursuit, curve, tried = _pushed(ground, mix, _Push(command, schema), pursuits, utility)
            pursuits[command.origin.number] = pursuit
            curves.append(curve)
            mix, ways = _meet(ground, pursuits)
            if abs(ground.stats.known(command.value, mix) - curve.chosen) > abs(curve.chosen - curve.start.value) / 20:
                mix = tried  # the trials got there step by step; moving there at once did not
    return Moved(mix, ways, tuple(curves), process_time() - began)


# --- goals


def _meet(ground: _Ground, pursuits: dict[int, _Pursuit]) -> tuple[Mixture, dict[int, Way]]:
    """The mixture with everything asked for, and the way each command was met."""
    stats, refit = ground.stats, ground.refit
    mix, form = _met_in_closed_form(ground, ground.mix, pursuits)
    ways: dict[int, Way] = {number: "tilt" if number in form.targets else "train" for number in pursuits}
    together = form.together
    rest = [_term(pursuit, stats) for number, pursuit in pursuits.items() if number not in form.targets]
    if rest:
        around = refit
        if together:  # near the tilted model: counts and boxes of the rows would pull it back
            around = replace(refit, marginals=own_marginals(mix, refit.marginals, refit.label), boxes=None)
        terms = [*rest, *([want_term(AllTargets(together), stats)] if together else [])]
        mix = finetune(mix, terms, around).mixture
        if together:  # training left them nearly met
            mix = replace(form, held=()).tilt(mix, stats).mixture
    return mix, ways


def _met_in_closed_form(ground: _Ground, mix: Mixture, pursuits: dict[int, _Pursuit]) -> tuple[Mixture, ClosedForm]:
    """The mixture with what can be met in closed form, and what that is.

    A command with coarse classes that is missed is tried again with nothing held beside it, and then left out. So are
    such commands if they take the mixture too far, except numbers that are pushed: how far is for their budget to say.
    """
    form = _closed_form(ground, pursuits)
    if not form.together:
        return mix, form
    tilted = form.tilt(mix, ground.stats)
    if form.missed(tilted) and form.held:
        form = replace(form, held=())
        tilted = form.tilt(mix, ground.stats)
    missed = form.missed(tilted)
    goals = {command.origin.number for command in ground.plan.spec.commands if isinstance(command, TableGoal)}
    if form.coarse <= goals and form.is_too_far(tilted, mix, ground.stats):
        missed = form.coarse
    if not missed:
        return tilted.mixture, form
    others = {n: replace(p, is_closed=p.is_closed and n not in missed) for n, p in pursuits.items()}
    return _met_in_closed_form(ground, mix, others)


def _term(pursuit: _Pursuit, stats: Statistics) -> Term:
    """What training pulls at for a command."""
    aim = pursuit.aim
    if aim is None:
        return want_term(pursuit.targets, stats, pursuit.weight)
    sign = 1.0 if aim.direction == "MINIMIZE" else -1.0
    nothing = torch.zeros((), dtype=torch.float64)
    return Term(lambda _: nothing, lambda mix: sign * stats.value(aim.value, mix), aim.weight)


def _closed_form(ground: _Ground, pursuits: dict[int, _Pursuit]) -> ClosedForm:
    """What of the pursuits is met in closed form.

    Group shares come last: if the commands leave too few classes for them, they are trained for instead.
    """
    order = sorted((number for number, pursuit in pursuits.items() if pursuit.is_closed), key=lambda n: n == SHARES)
    commands = {number: pursuits[number].targets for number in order}
    return find_closed_form(commands, ground.mix, ground.stats, ground.kept, ground.plan.spec.schema)


# --- aims


class _Push:
    """A number to be pushed one way, and what one step of it is."""

    def __init__(self, aim: TableAim, schema: Schema) -> None:
        self.aim = aim
        self.up = aim.direction == "MAXIMIZE"
        self.unit = default_tolerance(aim.value, "==", Const(0.0), schema).value
        if not isfinite(self.unit) or self.unit <= 0:
            self.unit = 1e-3

    def target(self, value: float, step: float) -> Target:
        """The number at least one step further than a value."""
        if self.up:
            return Target(self.aim.value, value + step, inf, self.unit)
        return Target(self.aim.value, -inf, value - step, self.unit)


def _pushed(
    ground: _Ground, mix: Mixture, push: _Push, pursuits: dict[int, _Pursuit], utility: Utility
) -> tuple[_Pursuit, TradeOff, Mixture]:
    """How far a number can be pushed within its budget, the trials that showed it, and the mixture of the furthest one.

    `mix` has what the commands so far ask for. The step is doubled until a trial is not affordable, then bisected.
    """
    stats, aim, number = ground.stats, push.aim, push.aim.origin.number
    is_closed = ground.is_closed(aim)
    start = Trial(stats.known(aim.value, mix), utility(mix))
    min_utility = start.utility * (1.0 - aim.budget)
    trials: list[Trial] = []
    reached = [(start.value, mix)]  # by affordable trials, the furthest last

    def affordable(step: float) -> bool:
        target = push.target(start.value, step)
        moved = _tried(ground, mix, {**pursuits, number: _Pursuit(target, is_closed)}, number)
        value = stats.known(target.value, moved)
        if violation(target, value) > MAX_MISS or not isfinite(value):
            return False
        trials.append(Trial(value, utility(moved)))
        if trials[-1].utility < min_utility:
            return False
        reached.append((value, moved))
        return True

    low, high = 0.0, push.unit
    for _ in range(DOUBLINGS):
        if not affordable(high):
            break
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if affordable(middle) else (low, middle)
    chosen = push.target(start.value, low)
    order = tuple(sorted(trials, key=lambda trial: abs(trial.value - start.value)))
    value, furthest = reached[-1]
    return _Pursuit(chosen, is_closed), TradeOff(aim.origin.line, start, order, value), furthest


def _tried(ground: _Ground, mix: Mixture, pursuits: dict[int, _Pursuit], number: int) -> Mixture:
    """The mixture with one more target; in closed form nothing is trained again for a trial."""
    form = _closed_form(ground, pursuits)
    return form.tilt(mix, ground.stats).mixture if number in form.targets else _meet(ground, pursuits)[0]

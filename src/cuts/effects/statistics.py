"""The statistics of a program on a model: which way each is met, and what that changes.

What has a closed form is met that way (`model/tilt.py`), all such commands together. The others are trained for
(`model/finetune.py`), around the model that already has the first ones. A number that is to be minimised or maximised
is moved step by step, everything else held, until the budget of its command is used up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from time import process_time

import torch

from cuts.data.schema import Schema
from cuts.lang.spec import Const, Pred, TableAim, TableGoal
from cuts.lang.targets import AllTargets, Target, Targets, nearest_targets, target_values, targets_of, violation
from cuts.lang.tolerance import default_tolerance
from cuts.lang.walks import statistics_of
from cuts.logic.layout import conditions
from cuts.logic.splits import Classes, find_splits
from cuts.model.cells import Statistics
from cuts.model.facts import Method, TradeOff, Trial
from cuts.model.finetune import Term, finetune, own_marginals, want_term
from cuts.model.mixture import Mixture
from cuts.model.shape import Refit
from cuts.model.tilt import tilt
from cuts.model.utility import Utility

DOUBLINGS, HALVINGS = 14, 5  # of the step with which a number is pushed
MET = 1.0  # tolerances: a trial that ends further from what it was pushed to counts as failed


@dataclass(frozen=True, slots=True, eq=False)
class Pursued:
    """A mixture with the statistics asked for: how each command was met, and what the aims cost."""

    mixture: Mixture
    methods: tuple[Method, ...]  # one a command
    trade_offs: tuple[TradeOff, ...]
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class _Pursuit:
    """One command: what it wants, and the weight or the method it states."""

    want: Targets
    weight: float | None
    method: str | None
    aim: TableAim | None = None  # one with a weight of its own, which says how far to go


@dataclass(frozen=True, slots=True, eq=False)
class _Ground:
    """Where commands are met from: the model without any, its statistics, what fitting again needs.

    The label `kept` is not moved inside components where that can be helped.
    """

    mix: Mixture
    stats: Statistics
    again: Refit
    kept: str | None


def conditions_of(commands: Sequence[TableGoal | TableAim], schema: Schema) -> list[Pred]:
    """The predicates on rows that commands about statistics need decided: no bin may straddle one."""
    values = [value for command in commands for value in target_values(command, schema)]
    return [pred for value in values for stat in statistics_of(value) for pred in conditions(stat)]


def pursue(
    mix: Mixture,
    commands: Sequence[TableGoal | TableAim],
    schema: Schema,
    stats: Statistics,
    again: Refit,
    utility: Utility,
    held: Sequence[Target] = (),
) -> Pursued:
    """The mixture moved to what the commands ask for, and to further numbers that are held."""
    began = process_time()
    # Numbers that are held are about what tells the label.
    ground = _Ground(mix, stats, again, None if held else again.label)
    known = {
        place: _Pursuit(targets_of(command.goal, schema), command.weight, command.method)
        for place, command in enumerate(commands)
        if isinstance(command, TableGoal)
    }
    for place, command in enumerate(commands):
        if isinstance(command, TableAim) and command.weight is not None:
            known[place] = _Pursuit(AllTargets(()), command.weight, command.method, command)
    if held:
        known[-1] = _Pursuit(AllTargets(tuple(held)), None, None)
    found, methods = _meet(ground, known)
    curves = []
    for place, command in enumerate(commands):
        if isinstance(command, TableAim) and command.weight is None:
            push = _Push(command, schema)
            known[place], curve = _pushed(ground, found, push, place, known, utility)
            curves.append(curve)
            found, methods = _meet(ground, known)
    every = tuple(methods.get(place, "tilt") for place in range(len(commands)))
    return Pursued(found, every, tuple(curves), process_time() - began)


# --- goals


def _meet(ground: _Ground, pursuits: dict[int, _Pursuit]) -> tuple[Mixture, dict[int, Method]]:
    """The mixture with everything wanted, and how each command was met."""
    mix, stats, again = ground.mix, ground.stats, ground.again
    classes, closed = _closed(ground, pursuits)
    methods: dict[int, Method] = {place: "tilt" if place in closed else "penalty" for place in pursuits}
    together = [want for some in closed.values() for want in some]
    if together:
        mix = tilt(mix, together, stats, classes, ground.kept).mixture
    rest = [_term(each, stats) for place, each in pursuits.items() if place not in closed]
    if rest:
        around = replace(again, marginals=own_marginals(mix, again.marginals, again.label)) if together else again
        terms = [*rest, *([want_term(AllTargets(tuple(together)), stats)] if together else [])]
        mix = finetune(mix, terms, around).mixture
        if together:  # training left them nearly met
            mix = tilt(mix, together, stats, classes, ground.kept).mixture
    return mix, methods


def _term(pursuit: _Pursuit, stats: Statistics) -> Term:
    """What training pulls at for a command."""
    aim = pursuit.aim
    if aim is None:
        return want_term(pursuit.want, stats, pursuit.weight)
    sign = 1.0 if aim.direction == "MINIMIZE" else -1.0
    nothing = torch.zeros((), dtype=torch.float64)
    return Term(lambda _: nothing, lambda mix: sign * stats.value(aim.value, mix), aim.weight)


def _closed(ground: _Ground, pursuits: dict[int, _Pursuit]) -> tuple[Classes, dict[int, list[Target]]]:
    """What has a closed form, command by command, and the classes components are split by for it."""
    stats = ground.stats
    wants = {
        place: list(nearest_targets(each.want, lambda want: violation(want, stats.known(want.value, ground.mix))))
        for place, each in pursuits.items()
        if each.weight is None and each.method != "penalty"
    }
    groups = [[stat for want in some for stat in statistics_of(want.value)] for some in wants.values()]
    classes, possible = find_splits(groups, stats.layout, ground.kept)
    return classes, {place: some for (place, some), able in zip(wants.items(), possible, strict=True) if able}


# --- aims


class _Push:
    """A number to be pushed one way, and what one step of it is."""

    def __init__(self, aim: TableAim, schema: Schema) -> None:
        self.aim = aim
        self.up = aim.direction == "MAXIMIZE"
        self.unit = default_tolerance(aim.value, "==", Const(0.0), schema)
        if not isfinite(self.unit) or self.unit <= 0:
            self.unit = 1e-3

    def want(self, value: float, step: float) -> Target:
        """The number at least one step further than a value."""
        if self.up:
            return Target(self.aim.value, value + step, inf, self.unit)
        return Target(self.aim.value, -inf, value - step, self.unit)


def _pushed(
    ground: _Ground, found: Mixture, push: _Push, place: int, known: dict[int, _Pursuit], utility: Utility
) -> tuple[_Pursuit, TradeOff]:
    """What to want of a number so that the budget is used up, and the trials that told.

    `found` is the model with what the commands known so far ask for.
    """
    stats = ground.stats
    aim = push.aim
    start = Trial(stats.known(aim.value, found), utility(found))
    least = start.utility * (1.0 - aim.budget)
    trials: list[Trial] = []
    reached = [start.value]  # by affordable trials, the furthest last

    def affordable(step: float) -> bool:
        want = push.want(start.value, step)
        moved = _tried(ground, found, {**known, place: _Pursuit(want, None, aim.method)}, place)
        value = stats.known(want.value, moved)
        if violation(want, value) > MET or not isfinite(value):
            return False
        trials.append(Trial(value, utility(moved)))
        if trials[-1].utility < least:
            return False
        reached.append(value)
        return True

    low, high = 0.0, push.unit
    for _ in range(DOUBLINGS):
        if not affordable(high):
            break
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if affordable(middle) else (low, middle)
    chosen = push.want(start.value, low)
    order = tuple(sorted(trials, key=lambda trial: abs(trial.value - start.value)))
    return _Pursuit(chosen, None, aim.method), TradeOff(aim.origin.line, start, order, reached[-1])


def _tried(ground: _Ground, found: Mixture, pursuits: dict[int, _Pursuit], place: int) -> Mixture:
    """The model with one more number wanted; in closed form nothing is trained again for a trial."""
    classes, closed = _closed(ground, pursuits)
    if place not in closed:
        return _meet(ground, pursuits)[0]
    wants = [each for some in closed.values() for each in some]
    return tilt(found, wants, ground.stats, classes, ground.kept).mixture

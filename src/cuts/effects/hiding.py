"""The pass that makes columns unpredictable: independent of the others as far as a command asks and its budget allows.

In every component the column gets the distribution it has in all rows, so no other column says anything about it. Where
a row rule leaves a component only some of its values, it keeps to those, and that much can still be predicted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from cuts.assess.learners import Classifier, missing_libraries
from cuts.assess.panel import evaluate_panel, value_of
from cuts.effects.shaping import Shaping
from cuts.effects.trials import Track, by_ridge, draw_table, with_curves
from cuts.lang.spec import ModelAim, ModelGoal
from cuts.model.budget_utility import Utility
from cuts.model.facts import TradeOff, Trial
from cuts.model.mixture import Mixture
from cuts.model.store import Model
from cuts.plan import Command
from cuts.progress import Observer

CLASSIFIERS_TRIED: tuple[Classifier, ...] = ("xgboost", "logistic regression")  # the quick ones of the panel
HALVINGS = 4  # of the strength with which a column is hidden


def hide(shaping: Shaping) -> Shaping:
    """The model in which columns cannot be predicted, as far as the commands ask and their budgets allow."""
    commands = shaping.plan.commands("hide")
    if not commands:
        return shaping
    shaping.observer.stage("making columns unpredictable")
    utility, track = shaping.learned.utility(), shaping.track()
    for index, command in enumerate(commands):
        assert isinstance(command, ModelGoal | ModelAim)
        part = shaping.observer.part(index, len(commands))
        shaping = shaping.met(_hidden(shaping.model, command, utility, track, part), (command,), "hide")
    return replace(shaping, base=shaping.model)


def loosen(mix: Mixture, target: str, strength: float) -> Mixture:
    """The mixture with a column made independent of all others, wholly at `strength` 1 and not at all at 0."""
    index = mix.columns.index(target)
    table = mix.P[index]  # (K, bins)
    allowed = (mix.w @ table)[None, :] * (table > 0)  # what a rule took from a component stays away
    independent = allowed / allowed.sum(1, keepdim=True)
    P = list(mix.P)
    P[index] = torch.lerp(table, independent, strength)
    return Mixture(mix.columns, mix.w, tuple(P))


def _hidden(model: Model, command: Command, utility: Utility, track: Track, observer: Observer) -> Model:
    target = command.measure.target
    first = Trial(measured_predictability(model, command, track), utility(model.mixture))
    trials: dict[float, Trial] = {}

    def leaves_room(strength: float) -> bool:
        """Whether the column can be hidden further: within the budget, or not yet below the bound."""
        moved = replace(model, mixture=loosen(model.mixture, target, strength))
        trials[strength] = trial = Trial(measured_predictability(moved, command, track), utility(moved.mixture))
        observer.advanced(min(1.0, len(trials) / (1 + HALVINGS)))
        if isinstance(command, ModelAim):
            is_free = target == track.label or command.budget is None
            return is_free or trial.utility >= first.utility * (1.0 - (command.budget or 0.0))
        return trial.value > command.bound if command.op in ("<", "<=") else trial.value < command.bound

    strength = _strongest(leaves_room) if isinstance(command, ModelAim) else _weakest(leaves_room)
    chosen = trials.get(strength, first)
    curve = TradeOff(command.origin.line, first, tuple(trials.values()), chosen.value)
    return with_curves(replace(model, mixture=loosen(model.mixture, target, strength)), (curve,))


def measured_predictability(model: Model, command: Command, track: Track) -> float:
    """How well the column is predicted, by the strongest of the quick classifiers."""
    measure, schema = command.measure, track.bench.schema
    if missing_libraries():
        return value_of(measure, by_ridge(model, measure, track), schema)
    table = draw_table(model, track, 0)
    return evaluate_panel(measure, table, track.bench, CLASSIFIERS_TRIED).deciding.value


def _strongest(is_affordable: Callable[[float], bool]) -> float:
    """The largest strength that is affordable."""
    return 1.0 if is_affordable(1.0) else _bisect(is_affordable)[0]


def _weakest(falls_short: Callable[[float], bool]) -> float:
    """The smallest strength that is enough, or 1."""
    if not falls_short(0.0):
        return 0.0
    return 1.0 if falls_short(1.0) else _bisect(falls_short)[1]


def _bisect(leaves_room: Callable[[float], bool]) -> tuple[float, float]:
    """Two near strengths by bisection: the lower one leaves room, the higher one does not."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if leaves_room(middle) else (low, middle)
    return low, high

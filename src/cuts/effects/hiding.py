"""Columns that cannot be predicted: made independent as far as a command asks for and its budget allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from cuts.assess.learners import Classifier, missing_libraries
from cuts.assess.panel import evaluate_panel, value_of
from cuts.effects.trials import Effect, Track, by_ridge, draw_table, with_curves
from cuts.lang.spec import ModelAim
from cuts.model.facts import TradeOff, Trial
from cuts.model.independence import loosen
from cuts.model.store import Model
from cuts.model.utility import Utility
from cuts.plan import hides

QUICK: tuple[Classifier, ...] = ("xgboost", "logistic regression")  # that a hidden column is tried with
HALVINGS = 4  # of the strength with which a column is hidden


def hide(model: Model, commands: Sequence[Effect], utility: Utility, track: Track) -> Model:
    """The model in which columns cannot be predicted, as far as the commands ask for and their budgets allow."""
    for command in filter(hides, commands):
        model = _hidden(model, command, utility, track)
    return model


def _hidden(model: Model, command: Effect, utility: Utility, track: Track) -> Model:
    target = command.measure.target
    first = Trial(_told(model, command, track), utility(model.mixture))
    trials: dict[float, Trial] = {}

    def goes_further(strength: float) -> bool:
        """Whether a strength leaves room for more: within the budget, or not yet below the bound."""
        moved = replace(model, mixture=loosen(model.mixture, target, strength))
        trials[strength] = trial = Trial(_told(moved, command, track), utility(moved.mixture))
        if isinstance(command, ModelAim):
            return target == track.label or trial.utility >= first.utility * (1.0 - command.budget)
        return trial.value > command.bound if command.op in ("<", "<=") else trial.value < command.bound

    strength = _strongest(goes_further) if isinstance(command, ModelAim) else _weakest(goes_further)
    chosen = trials.get(strength, first)
    curve = TradeOff(command.origin.line, first, tuple(trials.values()), chosen.value)
    return with_curves(replace(model, mixture=loosen(model.mixture, target, strength)), (curve,))


def _told(model: Model, command: Effect, track: Track) -> float:
    """A measure of how well a column is predicted, by the strongest of the quick classifiers."""
    measure, schema = command.measure, track.bench.schema
    if missing_libraries():
        return value_of(measure, by_ridge(model.mixture, measure, track), schema)
    table = draw_table(model, track, 0)
    return evaluate_panel(measure, table, track.bench, QUICK).deciding.value


def _strongest(affordable: Callable[[float], bool]) -> float:
    """The largest strength that is affordable."""
    return 1.0 if affordable(1.0) else _halve(affordable)[0]


def _weakest(falls_short: Callable[[float], bool]) -> float:
    """The smallest strength that is enough, or all of it."""
    if not falls_short(0.0):
        return 0.0
    return 1.0 if falls_short(1.0) else _halve(falls_short)[1]


def _halve(goes_further: Callable[[float], bool]) -> tuple[float, float]:
    """Two near strengths: from the lower one it goes further, from the higher one it does not."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if goes_further(middle) else (low, middle)
    return low, high

"""The pass that makes columns easier to predict: their values are made to follow from the other columns more clearly.

It is the opposite of hiding. In every component the more likely values of the column become more likely still: the
table is raised to a power, and then rescaled so that every value keeps its share of all rows. A classifier trained on
such rows sees clearer labels; how well it predicts real rows decides how far to go.
"""

from __future__ import annotations

from dataclasses import replace

from cuts.effects.hiding import measured_predictability
from cuts.effects.shaping import Shaping
from cuts.effects.trials import Track, with_curves
from cuts.lang.spec import ModelAim, ModelGoal
from cuts.model.budget_utility import Utility
from cuts.model.facts import TradeOff, Trial
from cuts.model.mixture import Mixture
from cuts.model.store import Model
from cuts.plan import Command
from cuts.progress import Observer
from cuts.vocab.names import measures

STRENGTHS = (0.2, 0.4, 0.6, 0.8)  # that are tried, one after the other
RESCALINGS = 50  # of the values' shares
MIN_SHARE = 1e-12  # of a value that is rescaled


def sharpen(shaping: Shaping) -> Shaping:
    """The model in which columns are predicted better, as far as the commands ask and their budgets allow."""
    commands = shaping.plan.commands("sharpen")
    if not commands:
        return shaping
    shaping.observer.stage("making columns easier to predict")
    utility, track = shaping.learned.utility(), shaping.track()
    for index, command in enumerate(commands):
        assert isinstance(command, ModelGoal | ModelAim)
        part = shaping.observer.part(index, len(commands))
        shaping = shaping.met(_sharpened(shaping.model, command, utility, track, part), (command,), "sharpen")
    return replace(shaping, base=shaping.model)


def clarify(mix: Mixture, target: str, strength: float) -> Mixture:
    """The mixture whose components are surer of a column: not at all at `strength` 0, nearly certain towards 1.

    Every value keeps its share of all rows, and what a component rules out stays ruled out.
    """
    index = mix.columns.index(target)
    table = mix.P[index]  # (K, bins)
    shares = mix.w @ table
    powers = (table / table.max(1, keepdim=True).values) ** (1.0 / (1.0 - strength))
    for _ in range(RESCALINGS):  # iterative proportional fitting
        powers = powers / powers.sum(1, keepdim=True)
        powers = powers * (shares / (mix.w @ powers).clamp_min(MIN_SHARE))
    P = list(mix.P)
    P[index] = powers / powers.sum(1, keepdim=True)
    return Mixture(mix.columns, mix.w, tuple(P))


def _sharpened(model: Model, command: Command, utility: Utility, track: Track, observer: Observer) -> Model:
    """The model at the strength that is predicted best, or at the smallest that meets a bound."""
    target = command.measure.target
    first = Trial(measured_predictability(model, command, track), utility(model.mixture))
    chosen, best = model, first
    trials: list[Trial] = []
    for number, strength in enumerate(STRENGTHS, start=1):
        if _is_met(best, command):
            break
        moved = replace(model, mixture=clarify(model.mixture, target, strength))
        trial = Trial(measured_predictability(moved, command, track), utility(moved.mixture))
        trials.append(trial)
        observer.advanced(number / len(STRENGTHS))
        if _is_better(trial, best, command) and _is_affordable(trial, first, command, track):
            chosen, best = moved, trial
    return with_curves(chosen, (TradeOff(command.origin.line, first, tuple(trials), best.value),))


def _is_met(trial: Trial, command: Command) -> bool:
    """Whether a trial is within the bound of a command; one without a bound is never met."""
    if isinstance(command, ModelAim):
        return False
    return trial.value >= command.bound if command.op in (">", ">=") else trial.value <= command.bound


def _is_better(trial: Trial, best: Trial, command: Command) -> bool:
    higher = measures()[command.measure.name].direction == "higher is more useful"
    return trial.value > best.value if higher else trial.value < best.value


def _is_affordable(trial: Trial, first: Trial, command: Command, track: Track) -> bool:
    """Whether a trial is within the budget of a command; predicting the label itself has none."""
    if isinstance(command, ModelGoal) or command.budget is None or command.measure.target == track.label:
        return True
    return trial.utility >= first.utility * (1.0 - command.budget)

"""A feedback loop that moves measured gaps to their aims: the mathematics of steering, without classifiers.

The plant maps a setting `s` (how much each group share is moved) to gaps `g`. With `J` the Jacobian of the gaps, `a`
the aims and `L` a diagonal damping, one step is that of Levenberg and Marquardt (Marquardt, 1963):

    s' = s + (J'J + L)^-1 J'(a - g)

After each trial `J` is corrected by half of Broyden's rank-one update (Broyden, 1965), because measured gaps are noisy.
At the end all trials are combined, those nearer to the aim weighted higher, and the setting is taken back as far as the
budgets of the commands demand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cuts.data.table import Floats


@dataclass(frozen=True, slots=True)
class SteeringSettings:
    """How the loop proceeds; gaps, shares and steps are differences between probabilities."""

    max_trials: int = 4  # after the first evaluation
    max_retreats: int = 2  # further trials when the setting chosen in the end turns out to be beyond a budget
    close: float = 0.004  # distance of the worst gap from its aim at which the search ends
    max_step: float = 0.5
    update_rate: float = 0.5  # of Broyden's update
    gap_noise: float = 0.01  # standard error of a measured gap, which limits the weight of a single trial


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Aims and limits: of the gaps, of the setting, and of the commands."""

    aims: Floats  # (gaps,)
    damping: Floats  # (shares,), how reluctantly each share is moved
    low: Floats  # (shares,), smallest setting
    high: Floats  # (shares,)
    max_measures: Floats  # (commands,), inf where a command states no bound
    min_accuracies: Floats  # (commands,), -inf where a command states no budget
    min_skills: Floats  # (commands,), below which classifiers are fair because they are useless


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """What classifiers do at one setting."""

    setting: Floats  # (shares,)
    gaps: Floats  # (gaps,), signed
    measures: Floats  # (commands,)
    accuracies: Floats  # (commands,)
    skills: Floats  # (commands,), what the worst classifier knows: 1 is everything, 0 is as good as a constant


Evaluate = Callable[[Floats], Evaluation]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """All evaluations, the first one of the setting at the start, and the one chosen among them."""

    evaluations: tuple[Evaluation, ...]
    chosen: Evaluation


def steer(
    problem: Problem,
    first: Evaluation,
    jacobian: Callable[[], Floats],
    evaluate: Evaluate,
    settings: SteeringSettings | None = None,
) -> Outcome:
    """The affordable setting whose gaps are nearest to their aims; `jacobian` (gaps, shares) is called if needed."""
    settings = settings or SteeringSettings()
    if residual(first, problem) <= settings.close:
        return Outcome((first,), first)
    evaluations, J, near = [first], jacobian(), first
    setting = next_setting(first, problem, J, settings)
    for _ in range(settings.max_trials):
        trial = evaluate(setting)
        evaluations.append(trial)
        if not is_useful(trial, first, problem):
            setting = (near.setting + setting) / 2  # too far
            continue
        if residual(trial, problem) <= settings.close:
            break
        J, near = broyden_update(J, near, trial, settings), trial
        setting = next_setting(trial, problem, J, settings)
    useful = [evaluation for evaluation in evaluations if is_useful(evaluation, first, problem)]
    if len(useful) == 1:
        return Outcome(tuple(evaluations), first)
    combined = combined_setting(useful, problem, J, settings)
    for _ in range(1 + settings.max_retreats):
        last = evaluate(affordable_setting(useful, combined, problem))
        evaluations.append(last)
        if is_affordable(last, problem) or not is_useful(last, first, problem):
            break
        useful.append(last)
    possible = [e for e in evaluations if is_useful(e, first, problem) and is_affordable(e, problem)]
    best = min(possible, key=lambda e: (excess(e, problem), residual(e, problem)), default=first)
    is_worse = (
        last not in possible
        or excess(best, problem) < excess(last, problem)
        or residual(best, problem) < residual(last, problem) - settings.close
    )
    return Outcome(tuple(evaluations), best if is_worse else last)


# --- steps


def damped_step(evaluation: Evaluation, problem: Problem, J: Floats) -> Floats:
    """By how much to move the shares: small where a gap hardly follows."""
    normal = J.T @ J + np.diag(problem.damping)  # (shares, shares)
    step: Floats = np.linalg.solve(normal, J.T @ (problem.aims - evaluation.gaps)).astype(np.float64)
    return step


def next_setting(evaluation: Evaluation, problem: Problem, J: Floats, settings: SteeringSettings) -> Floats:
    """The setting one bounded step further."""
    step = np.clip(damped_step(evaluation, problem, J), -settings.max_step, settings.max_step)
    setting: Floats = np.clip(evaluation.setting + step, problem.low, problem.high).astype(np.float64)
    return setting


def broyden_update(J: Floats, before: Evaluation, after: Evaluation, settings: SteeringSettings) -> Floats:
    """The Jacobian corrected by what the last step showed."""
    step = after.setting - before.setting
    length = float(step @ step)
    if length == 0.0:
        return J
    missed = after.gaps - before.gaps - J @ step
    return J + settings.update_rate * np.outer(missed, step) / length


def combined_setting(
    evaluations: Sequence[Evaluation], problem: Problem, J: Floats, settings: SteeringSettings
) -> Floats:
    """The mean of where each trial's step leads, weighted by the inverse square of its residual."""
    trials = evaluations[1:]
    weights = np.array([1.0 / (settings.gap_noise**2 + residual(trial, problem) ** 2) for trial in trials])
    ends = np.stack([trial.setting + damped_step(trial, problem, J) for trial in trials])  # (trials, shares)
    tried = np.stack([evaluation.setting for evaluation in evaluations])
    mean = (ends * weights[:, None]).sum(0) / weights.sum()
    setting: Floats = np.clip(mean, tried.min(0), tried.max(0)).astype(np.float64)
    return setting


# --- budgets


def affordable_setting(evaluations: Sequence[Evaluation], setting: Floats, problem: Problem) -> Floats:
    """The setting, taken back towards the start as far as the accuracies seen so far, interpolated, demand."""
    first = evaluations[0]
    way = setting - first.setting
    length = float(way @ way)
    if length == 0.0:
        return setting
    positions = np.array([float((evaluation.setting - first.setting) @ way) / length for evaluation in evaluations])
    order = np.argsort(positions)
    accuracies = np.stack([evaluations[i].accuracies for i in order])  # (evaluations, commands)
    for part in np.linspace(1.0, 0.0, 101):
        expected = [np.interp(part, positions[order], accuracies[:, i]) for i in range(accuracies.shape[1])]
        if is_affordable(replace(first, accuracies=np.array(expected)), problem):
            break
    result: Floats = (first.setting + part * way).astype(np.float64)
    return result


def is_useful(evaluation: Evaluation, first: Evaluation, problem: Problem) -> bool:
    """Whether classifiers still know enough, and every measure defined at the start still is.

    A rate among the chosen needs some in every group. Where classifiers knew too little at the start, that is no
    reason to go back there.
    """
    are_useless = (evaluation.skills < problem.min_skills) & (first.skills >= problem.min_skills)
    are_lost = np.isnan(evaluation.measures) & ~np.isnan(first.measures)
    return not bool((are_useless | are_lost).any())


def is_affordable(evaluation: Evaluation, problem: Problem) -> bool:
    """Whether accuracies are within the budgets of all commands."""
    return bool((evaluation.accuracies >= problem.min_accuracies).all())


def residual(evaluation: Evaluation, problem: Problem) -> float:
    """Distance of the worst gap from its aim."""
    return float(np.abs(evaluation.gaps - problem.aims).max())


def excess(evaluation: Evaluation, problem: Problem) -> float:
    """How far the worst measure is above its bound."""
    return float(np.maximum(evaluation.measures - problem.max_measures, 0.0).max())

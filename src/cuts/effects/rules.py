"""The row rules of a program on a model: which way each is met, and what it changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cuts.lang.spec import And, Implies, Pred, RowRule
from cuts.logic import chances
from cuts.logic.core import Grid
from cuts.logic.diagram import Diagram, compile_rules
from cuts.model.mixture import Mixture, distributions, probability
from cuts.model.shape import Refit, RepairSettings, movable, moved_cells, penalise, repair, split_into_boxes

MANY_BOXES = 2_500  # that a mixture is cut into where nothing is fitted again


@dataclass(frozen=True, slots=True, eq=False)
class Shaped:
    """A mixture under rules, and what they did to it."""

    mixture: Mixture
    before: tuple[tuple[float, float], ...]  # for each rule, its probability and that where it applies
    after: tuple[float, ...]
    moved: float  # cells a row, on average
    error: float | None  # of fitting again, if that was done
    cpu_seconds: float


def shape(mix: Mixture, rules: Sequence[RowRule], grid: Grid, again: Refit, *, inside: bool = False) -> Shaped:
    """The mixture under all rules; rows of it are still drawn through their diagram.

    `inside` has them hold in the mixture itself, also those that condition.
    """
    diagram = compile_rules([rule.pred for rule in rules], grid)
    before = tuple(_probabilities(mix, rule.pred, grid) for rule in rules)
    penalties = [(compile_rules([rule.pred], grid), rule.weight) for rule in rules if rule.method == "penalty"]
    conditions = compile_rules([rule.pred for rule in rules if rule.mode == "condition"], grid)
    repairs = [rule for rule in rules if rule.mode == "repair" and rule.method != "penalty"]
    error, seconds = None, 0.0
    if penalties:
        fitted = penalise(mix, penalties, again)
        mix, error, seconds = fitted.mixture, fitted.error, fitted.cpu_seconds
    moved = moved_cells(movable(mix), diagram) if repairs else 0.0
    if repairs and len(repairs) == len(rules):
        fitted = repair(mix, diagram, again)
        mix, error, seconds = fitted.mixture, fitted.error, fitted.cpu_seconds
    elif repairs:  # the rest of the population is that of the rules that condition: nothing was counted of it
        mix = split_into_boxes(movable(_weighed(mix, conditions)), diagram, seed=again.seed)
    elif rules and inside:
        many = RepairSettings(max_boxes=MANY_BOXES)
        mix = split_into_boxes(_weighed(mix, diagram), diagram, seed=again.seed, settings=many)
    after = tuple(_probabilities(mix, rule.pred, grid)[0] for rule in rules)
    return Shaped(mix, before, after, moved, error, seconds)


def _weighed(mix: Mixture, rules: Diagram) -> Mixture:
    """Components weighed by how likely the rules are in them."""
    if not rules.parts:
        return mix
    held = mix.w * chances.probability(rules, distributions(mix))
    return Mixture(mix.columns, held / held.sum(), mix.P)


def _probabilities(mix: Mixture, pred: Pred, grid: Grid) -> tuple[float, float]:
    """The probability of a predicate, and for an implication that where it applies."""
    held = min(1.0, float(probability(mix, compile_rules([pred], grid))))
    if not isinstance(pred, Implies):
        return held, held
    applies = float(probability(mix, compile_rules([pred.left], grid)))
    both = float(probability(mix, compile_rules([And((pred.left, pred.right))], grid)))
    return held, min(1.0, both / applies) if applies > 0 else 1.0

"""The pass that puts the row rules of a program in place.

Rows are always drawn through the decision diagram of all rules, so every row satisfies them. Beyond that a rule that is
repaired moves the model itself into the rule, so that the rest of the population stays as it was (`model/shape.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from cuts.data.codec import Codec
from cuts.data.conform import conform
from cuts.data.table import Table
from cuts.effects.shaping import Shaping
from cuts.lang.spec import And, Implies, Pred, Privacy, RowRule
from cuts.logic import chances
from cuts.logic.atoms import gather
from cuts.logic.core import Grid, find_cuts, grid_on
from cuts.logic.diagram import Diagram, compile_rules
from cuts.logic.ties import substitute
from cuts.model.draw import supply
from cuts.model.facts import RuleFacts
from cuts.model.mixture import Mixture, distributions, probability
from cuts.model.shape import Refit, RepairSettings, movable, moved_cells, penalise, repair, split_into_boxes
from cuts.plan import Plan, ties_columns
from cuts.read import exact

MAX_CONDITIONED_BOXES = 2_500  # that a mixture is split into where it is not fitted again


@dataclass(frozen=True, slots=True, eq=False)
class Enforced:
    """A mixture under rules, and what they did to it; the rules in the order they were given."""

    mixture: Mixture
    before: tuple[tuple[float, float], ...]  # probability of each rule, and of each where it applies
    after: tuple[float, ...]
    repaired: tuple[RowRule, ...]
    penalised: tuple[RowRule, ...]
    moved: float  # cells per row, on average
    error: float | None  # of fitting again, if that was done
    cpu_seconds: float


def enforce(shaping: Shaping) -> Shaping:
    """The model under the row rules; those that compare columns with each other act on the rows drawn only."""
    commands = shaping.plan.commands("diagram + repair", "diagram", "train + diagram")
    rules = tuple(command for command in commands if isinstance(command, RowRule))
    if not rules:
        return shaping
    shaping.observer.stage("enforcing the row rules")
    model, learned = shaping.model, shaping.learned
    codec, free = model.codec, model.mixture
    modelled = {rule: replace(rule, pred=substitute(rule.pred, codec.schema, codec.ties)) for rule in rules}
    cuts = find_cuts([rule.pred for rule in modelled.values()], codec.inner)
    untied = [rule for rule in modelled.values() if not ties_columns(rule.pred)]
    # Statistics and measures are taken of the mixture, so beside them the rules must hold in it.
    inside = any(not isinstance(command, RowRule | Privacy) for command in shaping.plan.spec.commands)
    refit = learned.refit(shaping.observer)
    enforced = enforce_untied(free, untied, shaping.plan, grid_on(codec, cuts), refit, inside=inside)
    before, after = dict(zip(untied, enforced.before, strict=True)), dict(zip(untied, enforced.after, strict=True))
    for rule in modelled.values():
        if rule not in before:
            before[rule] = _tied_probabilities(rule.pred, free, codec)
            after[rule] = _tied_probabilities(rule.pred, enforced.mixture, codec)[0]
    sample = conform(learned.sample, codec.schema)
    facts = replace(
        model.facts,
        error=model.facts.error if enforced.error is None else enforced.error,
        shape_seconds=enforced.cpu_seconds,
        moved=enforced.moved,
        rules=tuple(_rule_facts(rule, before[inner], after[inner], sample) for rule, inner in modelled.items()),
    )
    drawn = tuple(rule for rule in modelled.values() if rule not in (*enforced.repaired, *enforced.penalised))
    shaping = shaping.met(replace(model, mixture=enforced.mixture, facts=facts), enforced.repaired, "diagram + repair")
    shaping = shaping.met(shaping.model, enforced.penalised, "train + diagram")
    shaping = shaping.met(shaping.model, drawn, "diagram")
    return replace(shaping, base=shaping.model)


def enforce_untied(
    mix: Mixture, rules: Sequence[RowRule], plan: Plan, grid: Grid, refit: Refit, *, inside: bool = False
) -> Enforced:
    """The mixture under rules that bins decide; rows of it are still drawn through their diagram.

    `inside` has all of them hold in the mixture itself, also those that condition.
    """
    diagram = compile_rules([rule.pred for rule in rules], grid)
    before = tuple(_probabilities(mix, rule.pred, grid) for rule in rules)
    penalised = tuple(rule for rule in rules if plan.way(rule) == "train + diagram")
    repaired = tuple(rule for rule in rules if plan.way(rule) == "diagram + repair")
    error, seconds = None, 0.0
    if penalised:
        penalties = [(compile_rules([rule.pred], grid), rule.weight) for rule in penalised]
        fitted = penalise(mix, penalties, refit)
        mix, error, seconds = fitted.mixture, fitted.error, fitted.cpu_seconds
    moved = moved_cells(movable(mix, diagram.variables), diagram) if repaired else 0.0
    if repaired and len(repaired) == len(rules):
        fitted = repair(mix, diagram, refit)
        mix, error, seconds = fitted.mixture, fitted.error, fitted.cpu_seconds
    elif repaired:  # the rest of the population is that of the rules that condition: nothing was counted of it
        conditions = compile_rules([rule.pred for rule in rules if rule.mode == "condition"], grid)
        mix = split_into_boxes(movable(_reweighted(mix, conditions), diagram.variables), diagram, seed=refit.seed)
    elif rules and inside:
        many = RepairSettings(max_boxes=MAX_CONDITIONED_BOXES)
        mix = split_into_boxes(_reweighted(mix, diagram), diagram, seed=refit.seed, settings=many)
    after = tuple(_probabilities(mix, rule.pred, grid)[0] for rule in rules)
    return Enforced(mix, before, after, repaired, penalised, moved, error, seconds)


def _reweighted(mix: Mixture, rules: Diagram) -> Mixture:
    """The mixture with its components weighted by the probability of the rules in them."""
    if not rules.parts:
        return mix
    weights = mix.w * chances.probability(rules, distributions(mix))
    return Mixture(mix.columns, weights / weights.sum(), mix.P)


def _probabilities(mix: Mixture, pred: Pred, grid: Grid) -> tuple[float, float]:
    """The probability of a predicate, and for an implication that where it applies."""
    holds = min(1.0, float(probability(mix, compile_rules([pred], grid))))
    if not isinstance(pred, Implies):
        return holds, holds
    applies = float(probability(mix, compile_rules([pred.left], grid)))
    both = float(probability(mix, compile_rules([And((pred.left, pred.right))], grid)))
    return holds, min(1.0, both / applies) if applies > 0 else nan


def _tied_probabilities(pred: Pred, mixture: Mixture, codec: Codec) -> tuple[float, float]:
    """The same of a predicate that compares columns with each other, estimated on values drawn for their bins."""

    def estimate(part: Pred) -> float:
        grid, atoms = gather(codec, find_cuts([part], codec.inner), np.random.default_rng(0))
        return min(1.0, float(supply(mixture, compile_rules([part], grid), atoms).weights.sum()))

    holds = estimate(pred)
    if not isinstance(pred, Implies):
        return holds, holds
    applies = estimate(pred.left)
    return holds, min(1.0, estimate(And((pred.left, pred.right))) / applies) if applies > 0 else nan


def _rule_facts(rule: RowRule, before: tuple[float, float], after: float, sample: Table) -> RuleFacts:
    """What is known of a rule: on the sample of the real rows, and on the model before and after."""
    return RuleFacts(rule.origin.line, *shares_satisfied(rule.pred, sample), *before, after)


def shares_satisfied(pred: Pred, typed: Table) -> tuple[float, float]:
    """The share of the rows of a conformed table that satisfy a predicate, and of those it applies to."""
    holds = exact.mask(pred, typed)
    applies = exact.mask(pred.left, typed) if isinstance(pred, Implies) else np.ones_like(holds)
    return float(holds.mean()), float(holds[applies].mean()) if applies.any() else nan

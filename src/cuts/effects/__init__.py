"""A model shaped by its program: row rules first, then columns that are hidden, then statistics and classifiers.

`synthesis.py` learns the free model; here it becomes the one the program asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cuts.assess.features import MAX_ROWS
from cuts.assess.panel import ReferenceRows, desired_index
from cuts.config import Config
from cuts.count.marginals import Marginals
from cuts.data.codec import Codec, Codes
from cuts.data.conform import conform
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.effects.fairness import Build, groups_in, steer
from cuts.effects.hiding import hide
from cuts.effects.rules import shape
from cuts.effects.statistics import conditions_of, pursue
from cuts.effects.trained import Way, effect_term, find_reference
from cuts.effects.trials import Track
from cuts.lang.comparisons import compared
from cuts.lang.spec import (
    And,
    Implies,
    ModelAim,
    ModelGoal,
    Pred,
    RowRule,
    Spec,
    TableAim,
    TableGoal,
)
from cuts.logic.atoms import gather
from cuts.logic.core import find_cuts, grid_on
from cuts.logic.diagram import compile_rules
from cuts.model.cells import Statistics
from cuts.model.draw import supply
from cuts.model.facts import GoalFacts, RuleFacts
from cuts.model.finetune import finetune
from cuts.model.group_shares import GroupShare, hold
from cuts.model.mixture import Mixture
from cuts.model.shape import Refit
from cuts.model.store import Model
from cuts.model.utility import Reference, Utility, find_utility
from cuts.progress import Observer
from cuts.read import exact
from cuts.vocab.names import measures

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What is known of the rows of a program before a model is fitted: bins, a sample of them, counts."""

    spec: Spec
    codec: Codec
    sample: Table
    codes: Codes  # of the sample
    counts: Marginals
    label: str | None
    config: Config
    seed: int
    program: str  # in canonical form, placeholders filled


@dataclass(frozen=True, slots=True, eq=False)
class Ready:
    """A model with everything but its statistics and what is steered, and what builds it with knobs held."""

    model: Model
    drawn: int  # rows, in the end
    stats: Statistics
    fair: Sequence[ModelGoal | ModelAim]  # to be steered
    build: Build


def shape_model(learned: Learned, model: Model, draw: int | None, observer: Observer) -> Model:
    """A model of the free table shaped by the program: row rules first, then what is hidden, then the rest together."""
    return finish_model(learned, make_ready(learned, model, draw, observer), observer)


def make_ready(learned: Learned, model: Model, draw: int | None, observer: Observer) -> Ready:
    """The first part of that, up to where knobs are turned."""
    again = Refit(learned.counts, learned.label, learned.config, learned.seed, observer.fitted)
    spec, drawn = learned.spec, draw or model.facts.rows
    statistics, effects = statistics_in(spec), effects_in(spec)
    if spec.rules:
        observer.stage("putting the row rules in place")
        model = _under_rules(model, spec.rules, again, learned.sample, inside=bool(statistics or effects))
    hidden = [c for c in effects if measures()[c.measure.name].kind == "UTILITY" and not is_trained(c)]
    if hidden:
        observer.stage("making columns unpredictable")
        model = hide(model, hidden, _utility(learned, again), _track(learned, drawn))
    trained = [c for c in effects if is_trained(c)]
    if trained:
        observer.stage("training for classifiers")
        model = _trained(model, trained, learned, again)
    fair = [c for c in effects if measures()[c.measure.name].kind == "FAIRNESS" and not is_trained(c)]
    stats = Statistics(model.codec, drawn)
    base = model

    def build(knobs: Sequence[GroupShare]) -> Model:
        return _with_statistics(base, statistics, learned, again, stats, knobs)

    return Ready(base, drawn, stats, fair, build)


def finish_model(learned: Learned, ready: Ready, observer: Observer) -> Model:
    """The second part: the statistics, with classifiers steered."""
    if ready.fair:
        observer.stage("steering classifiers")
        return steer(ready.fair, ready.build, ready.stats, _track(learned, ready.drawn), observer.stage)
    if statistics_in(learned.spec):
        observer.stage("moving the statistics")
        return ready.build(())
    return ready.model


def is_trained(command: ModelGoal | ModelAim) -> bool:
    """Whether the model itself is trained for a command, as its method or weight asks for; others are steered."""
    return command.method in ("ridge", "unrolled") or command.weight is not None


def conditions_in(spec: Spec, schema: Schema) -> list[Pred]:
    """All predicates on rows a program decides: no bin may straddle one."""
    found = [rule.pred for rule in spec.rules]
    return found + conditions_of(statistics_in(spec), schema) + groups_in(effects_in(spec), schema)


def effects_in(spec: Spec) -> tuple[ModelGoal | ModelAim, ...]:
    """The commands about classifiers trained on the table."""
    return tuple(c for c in spec.commands if isinstance(c, ModelGoal | ModelAim))


def statistics_in(spec: Spec) -> tuple[TableGoal | TableAim, ...]:
    """The commands about statistics."""
    return tuple(c for c in spec.commands if isinstance(c, TableGoal | TableAim))


def _under_rules(model: Model, rules: Sequence[RowRule], again: Refit, sample: Table, *, inside: bool) -> Model:
    """The model with the row rules in place; those with sums of columns act on the draw only.

    `inside` has all others hold in the mixture itself, so that statistics of it are taken under the rules.
    """
    codec, free = model.codec, model.mixture
    cuts = find_cuts([rule.pred for rule in rules], codec.schema)
    plain = [rule for rule in rules if not find_cuts([rule.pred], codec.schema).sums]
    shaped = shape(free, plain, grid_on(codec, cuts), again, inside=inside)
    before = dict(zip(plain, shaped.before, strict=True))
    after = dict(zip(plain, shaped.after, strict=True))
    for rule in rules:
        if rule not in before:
            before[rule] = _chances_of_sums(rule.pred, free, codec)
            after[rule] = _chances_of_sums(rule.pred, shaped.mixture, codec)[0]
    typed = conform(sample, codec.schema)
    facts = replace(
        model.facts,
        error=model.facts.error if shaped.error is None else shaped.error,
        shape_seconds=shaped.cpu_seconds,
        moved=shaped.moved,
        rules=tuple(_rule_facts(rule, before[rule], after[rule], typed) for rule in rules),
    )
    return replace(model, mixture=shaped.mixture, facts=facts)


def _track(learned: Learned, drawn: int) -> Track:
    """Where classifiers are tried."""
    return Track(ReferenceRows(learned.sample, learned.codec.schema), learned.codes, min(drawn, MAX_ROWS), learned.seed)


def _trained(model: Model, commands: Sequence[ModelGoal | ModelAim], learned: Learned, again: Refit) -> Model:
    """The model fine-tuned for classifiers in the way a command names: in closed form, or unrolled as in the paper."""
    sizes = {bins.column.name: bins.size for bins in model.codec.columns}
    terms = []
    for command in commands:
        desired = desired_index(command.measure, model.codec.schema)
        rows = find_reference(learned.codes, command.measure, sizes, desired)
        way: Way = "unrolled" if command.method == "unrolled" else "ridge"
        terms.append(effect_term(command, rows, way, seed=learned.seed))
    found = finetune(model.mixture, terms, again)
    facts = replace(model.facts, error=found.error, goal_seconds=model.facts.goal_seconds + found.cpu_seconds)
    return replace(model, mixture=found.mixture, facts=facts)


def _utility(learned: Learned, again: Refit) -> Utility:
    reference = None if learned.label is None else Reference(learned.codes, learned.label)
    return find_utility(reference, again)


def _with_statistics(
    model: Model,
    commands: Sequence[TableGoal | TableAim],
    learned: Learned,
    again: Refit,
    stats: Statistics,
    knobs: Sequence[GroupShare],
) -> Model:
    """The model with the statistics the commands ask for, and with knobs held."""
    schema = model.codec.schema
    held = [hold(knob) for knob in knobs]
    found = pursue(model.mixture, commands, schema, stats, again, _utility(learned, again), held)
    typed = conform(learned.sample, schema)
    numbers = compared(learned.spec)
    told = []
    for command, method in zip(commands, found.methods, strict=True):
        measured = [one.measured for one in numbers[command.origin.number]]
        real = tuple(exact.value(one, typed, schema) for one in measured)
        before, after = (tuple(stats.known(one, mix) for one in measured) for mix in (model.mixture, found.mixture))
        told.append(GoalFacts(command.origin.number, command.origin.line, method, real, before, after))
    facts = replace(
        model.facts,
        goal_seconds=model.facts.goal_seconds + found.cpu_seconds,
        goals=tuple(told),
        trade_offs=(*model.facts.trade_offs, *found.trade_offs),
        group_shares=tuple(knobs),
    )
    return replace(model, mixture=found.mixture, facts=facts)


def _rule_facts(rule: RowRule, before: tuple[float, float], after: float, sample: Table) -> RuleFacts:
    """What is known of a rule: on the sample of the real rows, and on the model before and after."""
    held = exact.mask(rule.pred, sample)
    applies = exact.mask(rule.pred.left, sample) if isinstance(rule.pred, Implies) else np.ones_like(held)
    real = float(held[applies].mean()) if applies.any() else 1.0
    return RuleFacts(rule.origin.line, float(held.mean()), real, *before, after)


def _chances_of_sums(pred: Pred, mixture: Mixture, codec: Codec) -> tuple[float, float]:
    """About the probability of a predicate with sums of columns, and for an implication that where it applies."""

    def chance(some: Pred) -> float:
        grid, atoms = gather(codec, find_cuts([some], codec.schema), np.random.default_rng(0))
        return min(1.0, float(supply(mixture, compile_rules([some], grid), atoms).weights.sum()))

    held = chance(pred)
    if not isinstance(pred, Implies):
        return held, held
    applies = chance(pred.left)
    return held, min(1.0, chance(And((pred.left, pred.right))) / applies) if applies > 0 else 1.0

"""From a program and rows to a model: learn the table, put the row rules in place, move it to the statistics.

What comes before (reading, checking) and after (verifying, evaluating) is `pipeline.py`, which needs no torch; rows are
drawn by `sampling.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

import numpy as np

from cuts.assess.effects import Bench
from cuts.config import Config
from cuts.count.kernel import count
from cuts.count.marginals import Clique, Marginals
from cuts.count.sources import Rows, spread_sample
from cuts.data.binning import fit_codec
from cuts.data.codec import Codec, Codes, encode
from cuts.data.columns import Column, Integer, Real, Temporal
from cuts.data.conform import conform
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.lang.binder import bind
from cuts.lang.compared import compared
from cuts.lang.placeholders import fill
from cuts.lang.printer import render
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
from cuts.lang.syntax import Program, Settings
from cuts.logic.atoms import gather
from cuts.logic.core import find_cuts, grid_on
from cuts.logic.diagram import compile_rules
from cuts.model.backbone import find_backbone
from cuts.model.cells import Statistics
from cuts.model.device import find_device
from cuts.model.draw import supply
from cuts.model.fit import Progress, fit
from cuts.model.goals import GoalFacts, conditions_of, pursue
from cuts.model.knobs import Knob, hold
from cuts.model.memory import choose_smoothing
from cuts.model.mixture import Mixture
from cuts.model.rules import RuleFacts, shape
from cuts.model.shape import Again
from cuts.model.store import Facts, Model
from cuts.model.utility import Reference, Utility, find_utility
from cuts.model.workload import choose_workload, fits_whole, measure_dependence
from cuts.read import exact
from cuts.steering import Track, groups_in, hide, steer
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic
from cuts.text.source import Span
from cuts.vocab.names import measures

Said = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Watch:
    """Who is told how the work goes: what begins now, rows counted so far, and how the fit proceeds."""

    stage: Said = lambda _: None
    counted: Callable[[int], None] = lambda _: None
    fitted: Callable[[Progress], None] = lambda _: None


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """What is known of the rows of a program before they are counted: bins, a sample of them, what to count."""

    spec: Spec
    codec: Codec
    sample: Table
    codes: Codes  # of the sample
    cliques: tuple[Clique, ...]
    label: str | None
    config: Config
    seed: int
    program: str  # in canonical form, placeholders filled

    def with_counts(self, counts: Marginals) -> Learned:
        """The same once the rows are counted."""
        known = (self.label, self.config, self.seed, self.program)
        return Learned(self.spec, self.codec, self.sample, self.codes, counts, *known)


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


def fit_model(
    program: Program,
    schema: Schema,
    rows: Rows,
    *,
    config: Config | None = None,
    seed: int = 0,
    values: Mapping[str, str | float] | None = None,
    draw: int | None = None,
    watch: Watch | None = None,
) -> Model:
    """The model of some rows, which are read twice: a sample of them for the bins, all of them for the counts.

    `draw` is how many rows are going to be drawn, which matters to statistics that count them; otherwise as many as
    there are.
    """
    watch = watch or Watch()
    learned = learn(program, schema, rows, config=config or Config(), seed=seed, values=values or {}, watch=watch)
    return make_model(learned, draw=draw, watch=watch)


def learn(
    program: Program,
    schema: Schema,
    rows: Rows,
    *,
    config: Config,
    seed: int,
    values: Mapping[str, str | float],
    watch: Watch,
) -> Learned:
    """What a fit needs to know of the rows."""
    prepared = prepare([fill(program, values)], schema, rows, config=config, seed=seed, watch=watch)
    watch.stage("counting")
    return prepared.with_counts(count(rows.blocks(), prepared.codec, prepared.cliques, seen=watch.counted))


def prepare(
    programs: Sequence[Program], schema: Schema, rows: Rows, *, config: Config, seed: int, watch: Watch
) -> Prepared:
    """What is known before counting, for the first of the programs; the bins suit the conditions of all of them."""
    for filled in programs:
        check_supported(filled)
    find_device(config.device)
    find_backbone(config.backbone)
    specs = [bind(filled, schema) for filled in programs]
    if not schema.modelled:
        raise CutsError([nothing_to_learn(schema)])
    own = _with_bins(schema, config)
    preds = [rule.pred for spec in specs for rule in spec.rules]
    preds += [pred for spec in specs for pred in conditions_of(statistics_in(spec), own)]
    preds += [pred for spec in specs for pred in groups_in(effects_in(spec), own)]
    cuts = find_cuts(preds, own)
    watch.stage("reading a sample of the rows")
    sample = spread_sample(rows)
    codec = fit_codec(sample, own, cuts.columns, cuts.sets)
    codes = encode(sample, codec)
    sizes = {bins.column.name: bins.size for bins in codec.columns}
    label = own.label if own.label in sizes else None
    dependence = None if fits_whole(sizes) else measure_dependence(codes, sizes)
    cliques = choose_workload(sizes, label, dependence)
    return Prepared(specs[0], codec, sample, codes, cliques, label, config, seed, render(programs[0]))


def make_model(learned: Learned, *, draw: int | None = None, watch: Watch | None = None) -> Model:
    """The model of what was learned: fitted to the counts, under the row rules, with the statistics."""
    watch = watch or Watch()
    counts, label, config, seed = learned.counts, learned.label, learned.config, learned.seed
    watch.stage("choosing the smoothing")
    smoothing = choose_smoothing(learned.codes, learned.codec, label, config, seed=seed)
    watch.stage("fitting")
    fitted = fit(counts, label, config, seed=seed, smoothing=smoothing, seen=watch.fitted)
    facts = Facts(counts.rows, fitted.error, fitted.steps, smoothing, seed, version("cuts"), fitted.cpu_seconds)
    return shape_model(learned, Model(fitted.mixture, learned.codec, learned.program, config, facts), draw, watch)


def shape_model(learned: Learned, model: Model, draw: int | None, watch: Watch) -> Model:
    """A model of the free table shaped by the program: row rules first, then what is hidden, then the rest together."""
    again = Again(learned.counts, learned.label, learned.config, learned.seed, watch.fitted)
    spec, drawn = learned.spec, draw or model.facts.rows
    statistics, effects = statistics_in(spec), effects_in(spec)
    if spec.rules:
        watch.stage("putting the row rules in place")
        model = _under_rules(model, spec.rules, again, learned.sample, inside=bool(statistics or effects))
    hidden = [c for c in effects if measures()[c.measure.name].kind == "UTILITY"]
    if hidden:
        watch.stage("making columns unpredictable")
        model = hide(model, hidden, _utility(learned, again), _track(learned, drawn))
    fair = [c for c in effects if measures()[c.measure.name].kind == "FAIRNESS"]
    stats = Statistics(model.codec, drawn)
    base = model

    def build(knobs: Sequence[Knob]) -> Model:
        return _with_statistics(base, statistics, learned, again, stats, knobs)

    if fair:
        watch.stage("steering classifiers")
        return steer(fair, build, stats, _track(learned, drawn), watch.stage)
    if statistics:
        watch.stage("moving the statistics")
        return build(())
    return model


def effects_in(spec: Spec) -> tuple[ModelGoal | ModelAim, ...]:
    """The commands about classifiers trained on the table."""
    return tuple(c for c in spec.commands if isinstance(c, ModelGoal | ModelAim))


def statistics_in(spec: Spec) -> tuple[TableGoal | TableAim, ...]:
    """The commands about statistics."""
    return tuple(c for c in spec.commands if isinstance(c, TableGoal | TableAim))


# --- parts of the steps


def check_supported(program: Program) -> None:
    """Refuse what this version cannot keep, before any row is read."""
    private = next((command for command in program.commands if isinstance(command.body, Settings)), None)
    if private is not None:
        raise CutsError([no_privacy(private.span)], program.source)


def _with_bins(schema: Schema, config: Config) -> Schema:
    """The schema with the bins the settings ask for."""
    columns: list[Column] = []
    for column in schema.columns:
        if isinstance(column, Integer | Real | Temporal):
            bins, binning = config.bins or column.bins, config.binning or column.binning
            columns.append(replace(column, bins=bins, binning=binning))
        else:
            columns.append(column)
    return replace(schema, columns=tuple(columns))


def _under_rules(model: Model, rules: Sequence[RowRule], again: Again, sample: Table, *, inside: bool) -> Model:
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
    return Track(Bench(learned.sample, learned.codec.schema), learned.codes, drawn, learned.seed)


def _utility(learned: Learned, again: Again) -> Utility:
    reference = None if learned.label is None else Reference(learned.codes, learned.label)
    return find_utility(reference, again)


def _with_statistics(
    model: Model,
    commands: Sequence[TableGoal | TableAim],
    learned: Learned,
    again: Again,
    stats: Statistics,
    knobs: Sequence[Knob],
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
        knobs=tuple(knobs),
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


def no_privacy(span: Span) -> Diagnostic:
    """A private program."""
    return Diagnostic(
        "not-supported",
        "this version cannot fit with differential privacy",
        span,
        help="nothing was read; `cuts check` and `cuts plan` work on private programs",
        exit_code=PRIVACY,
    )


def nothing_to_learn(schema: Schema) -> Diagnostic:
    """A table whose columns are all empty or identifiers."""
    return Diagnostic(
        "nothing-to-learn",
        f"`{schema.name}` has no column to learn",
        help="columns without values and identifiers are not learned; give a table with other columns",
    )

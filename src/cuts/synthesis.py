"""From a program and rows to a model, and from a model to rows: the steps that need the model.

What comes before (reading, checking) and after (verifying, evaluating) is `pipeline.py`, which needs no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.metadata import version

import numpy as np

from cuts.config import Config
from cuts.count.kernel import count
from cuts.count.sources import Rows, spread_sample
from cuts.data.binning import fit_codec
from cuts.data.codec import Codec, decode, encode
from cuts.data.columns import Column, Integer, Real, Temporal
from cuts.data.conform import conform
from cuts.data.given import apart_from, encode_partial, overwrite, put_values
from cuts.data.refine import refine
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.lang.binder import bind, bind_predicate
from cuts.lang.parser import parse, parse_expression
from cuts.lang.placeholders import fill
from cuts.lang.printer import render
from cuts.lang.spec import And, Implies, Level, Pred, RowRule, Spec, level
from cuts.lang.syntax import Program, Settings
from cuts.logic.atoms import gather
from cuts.logic.core import Cuts, find_cuts, grid_on
from cuts.logic.diagram import compile_rules
from cuts.model import draw
from cuts.model.backbone import find_backbone
from cuts.model.device import find_device
from cuts.model.fit import Progress, fit
from cuts.model.memory import choose_smoothing
from cuts.model.mixture import Mixture, split
from cuts.model.rules import RuleFacts, shape
from cuts.model.shape import Again
from cuts.model.store import Facts, Model
from cuts.model.workload import choose_workload, fits_whole, measure_dependence
from cuts.read import exact
from cuts.text.diagnostic import INFEASIBLE, PRIVACY, CutsError, Diagnostic, listed, usage_error
from cuts.text.source import Source, Span

Said = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Watch:
    """Who is told how the work goes: what begins now, rows counted so far, and how the fit proceeds."""

    stage: Said = lambda _: None
    counted: Callable[[int], None] = lambda _: None
    fitted: Callable[[Progress], None] = lambda _: None


def fit_model(
    program: Program,
    schema: Schema,
    rows: Rows,
    *,
    config: Config | None = None,
    seed: int = 0,
    values: Mapping[str, str | float] | None = None,
    watch: Watch | None = None,
) -> Model:
    """The model of some rows, which are read twice: a sample of them for the bins, all of them for the counts."""
    config, watch = config or Config(), watch or Watch()
    filled = fill(program, values or {})
    check_supported(filled)
    find_device(config.device)
    find_backbone(config.backbone)
    spec = bind(filled, schema)
    if not schema.modelled:
        raise CutsError([nothing_to_learn(schema)])
    own = _with_bins(schema, config)
    cuts = find_cuts([rule.pred for rule in spec.rules], own)
    watch.stage("reading a sample of the rows")
    sample = spread_sample(rows)
    codec = fit_codec(sample, own, cuts.columns, cuts.sets)
    codes = encode(sample, codec)
    sizes = {bins.column.name: bins.size for bins in codec.columns}
    label = own.label if own.label in sizes else None
    watch.stage("counting")
    dependence = None if fits_whole(sizes) else measure_dependence(codes, sizes)
    counts = count(rows.blocks(), codec, choose_workload(sizes, label, dependence), seen=watch.counted)
    watch.stage("choosing the smoothing")
    smoothing = choose_smoothing(codes, codec, label, config, seed=seed)
    watch.stage("fitting")
    fitted = fit(counts, label, config, seed=seed, smoothing=smoothing, seen=watch.fitted)
    facts = Facts(counts.rows, fitted.error, fitted.steps, smoothing, seed, version("cuts"), fitted.cpu_seconds)
    model = Model(fitted.mixture, codec, render(filled), config, facts)
    if not spec.rules:
        return model
    watch.stage("putting the row rules in place")
    return _under_rules(model, spec.rules, Again(counts, label, config, seed, watch.fitted), sample)


def sample_blocks(
    model: Model, rows: int | None = None, *, where: str | None = None, seed: int = 0, workers: int = 1
) -> Iterator[Table]:
    """Rows of a model, chunk by chunk: exactly as many as asked for, all of them satisfying the program's row rules.

    `where` restricts them further, exactly. The same seed gives the same rows for any number of workers.
    """
    wanted = model.facts.rows if rows is None else rows
    if wanted < 1:
        raise usage_error("bad-count", f"{wanted} rows cannot be drawn", "ask for at least one row: `-n 1000`")
    source = _source(model, _where(where, model.codec.schema), seed)
    source.supply(0)  # what no row can satisfy is said now

    def make(chunk: tuple[int, int]) -> Table:
        number, size = chunk
        drawn = draw.draw(source.supply(number), size, seed=seed, chunk=number, drawing=model.config.drawing)
        table = decode(drawn.codes, source.codec, seed=seed, first=number * draw.CHUNK)
        return _checked(put_values(table, drawn.values, source.codec), source)

    return _mapped(make, draw.chunks(wanted), workers)


def complete_rows(model: Model, given: Table, *, where: str | None = None, seed: int = 0) -> Table:
    """The given rows with their missing cells drawn, given cells kept as they are; the row rules hold."""
    source = _source(model, _where(where, model.codec.schema), seed)
    codec, supply = source.codec, source.supply(0)
    codes, masks = encode_partial(given, codec)
    tied = [name for group in supply.groups for name in group.columns if name in codes]
    if tied:
        raise CutsError([tied_given(tied)])
    if codes:
        completed, possible = draw.complete(supply, codes, masks, seed=seed)
        if not possible.all():
            raise CutsError([impossible_rows([int(row) + 1 for row in (~possible).nonzero()[0]])])
    else:  # only identifiers are given
        completed = draw.draw(supply, given.rows, seed=seed, drawing=model.config.drawing)
    table = put_values(decode(completed.codes, apart_from(codec, given), seed=seed), completed.values, codec)
    return _checked(overwrite(table, given, codec), source)


def spec_of(model: Model) -> Spec:
    """The program of a model, bound to its schema."""
    return bind(parse(model.program), model.codec.schema)


# --- parts of the steps


def check_supported(program: Program) -> None:
    """Refuse what this version cannot keep, before any row is read."""
    private = next((command for command in program.commands if isinstance(command.body, Settings)), None)
    if private is not None:
        raise CutsError([no_privacy(private.span)], program.source)


def not_pursued(spec: Spec) -> tuple[Diagnostic, ...]:
    """A warning for every command that this version measures but does not work towards."""
    return tuple(
        Diagnostic(
            "not-pursued",
            "this version measures this command but does not work towards it",
            command.origin.span,
            "verified only",
            "row rules are kept; the verdict tells whether this holds all the same",
            severity="warning",
        )
        for command in spec.commands
        if level(command) in (Level.TABLE, Level.MODEL)
    )


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


def _under_rules(model: Model, rules: Sequence[RowRule], again: Again, sample: Table) -> Model:
    """The model with the row rules in place; those with sums of columns act on the draw only."""
    codec, free = model.codec, model.mixture
    cuts = find_cuts([rule.pred for rule in rules], codec.schema)
    plain = [rule for rule in rules if not find_cuts([rule.pred], codec.schema).sums]
    shaped = shape(free, plain, grid_on(codec, cuts), again)
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
        return min(1.0, float(draw.supply(mixture, compile_rules([some], grid), atoms).weights.sum()))

    held = chance(pred)
    if not isinstance(pred, Implies):
        return held, held
    applies = chance(pred.left)
    return held, min(1.0, chance(And((pred.left, pred.right))) / applies) if applies > 0 else 1.0


def _where(text: str | None, schema: Schema) -> tuple[Pred, ...]:
    if text is None:
        return ()
    try:
        return (bind_predicate(parse_expression(text, "where"), schema),)
    except CutsError as error:
        raise CutsError(error.diagnostics, error.source or Source("where", text)) from None


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """What rows are drawn from: a codec whose bins no condition cuts, the mixture over them, the conditions."""

    codec: Codec
    mixture: Mixture
    preds: tuple[Pred, ...]
    cuts: Cuts
    seed: int
    has_where: bool
    shared: list[draw.Supply]  # of all chunks, if they are alike

    def supply(self, chunk: int) -> draw.Supply:
        """What a chunk is drawn from: columns that sums tie together have values of their own in every chunk."""
        if self.shared:
            return self.shared[0]
        rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([self.seed, chunk, 1])))
        grid, atoms = gather(self.codec, self.cuts, rng)
        made = draw.supply(self.mixture, compile_rules(self.preds, grid), atoms)
        if made.is_empty:
            raise CutsError([empty_support(self.has_where)])
        if not atoms:
            self.shared.append(made)
        return made


def _source(model: Model, where: Sequence[Pred], seed: int) -> _Source:
    """What rows are drawn from; bins are split where a condition cuts them."""
    preds = (*(rule.pred for rule in spec_of(model).rules), *where)
    cuts = find_cuts(preds, model.codec.schema)
    codec, splits = refine(model.codec, cuts.columns, cuts.sets)
    return _Source(codec, split(model.mixture, splits), preds, cuts, seed, bool(where), [])


def _checked(table: Table, source: _Source) -> Table:
    """The table; a row that violates a condition is a mistake of ours, never of the model."""
    typed = conform(table, source.codec.schema)
    for pred in source.preds:
        violated = int((~exact.mask(pred, typed)).sum())
        if violated:
            raise AssertionError(f"{violated} rows drawn violate a row rule: please report this")
    return table


def _mapped(
    make: Callable[[tuple[int, int]], Table], chunks: Iterator[tuple[int, int]], workers: int
) -> Iterator[Table]:
    """The chunks in order, a few at a time."""
    if workers <= 1:
        yield from map(make, chunks)
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(make, chunk) for _, chunk in zip(range(workers + 1), chunks, strict=False)]
        while waiting:
            done = waiting.pop(0)
            waiting += [pool.submit(make, chunk) for chunk in [next(chunks, None)] if chunk is not None]
            yield done.result()


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


def tied_given(names: Sequence[str]) -> Diagnostic:
    """Given cells of columns that a rule compares with each other."""
    return Diagnostic(
        "not-supported",
        f"cells of {listed(names)} cannot be given: a rule compares these columns with others",
        help="leave these columns out of the seed rows, or the rule out of the program",
    )


def empty_support(has_where: bool) -> Diagnostic:
    """Rules the model gives no row."""
    what = "`where` together with the row rules" if has_where else "the row rules"
    return Diagnostic(
        "empty-support",
        f"no row of the model satisfies {what}",
        help="the values asked for were not in the rows the model was fitted to; ask for less",
        exit_code=INFEASIBLE,
    )


def impossible_rows(rows: Sequence[int]) -> Diagnostic:
    """Given cells that no row with them can satisfy the rules."""
    shown = ", ".join(map(str, rows[:5]))
    return Diagnostic(
        "impossible-row",
        f"the given cells of row{'' if len(rows) == 1 else 's'} {shown}{' and others' if len(rows) > 5 else ''} "
        "contradict the rules",
        help="change or empty one of their cells; nothing was written",
        exit_code=INFEASIBLE,
    )

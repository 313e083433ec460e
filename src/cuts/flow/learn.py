"""From a program and its rows to what a fit needs to know of them, and from that to a model.

The rows are read twice, a text file once more for the types of its columns: for a sample and, unless the schema is
known, for ranges and categories; then for the counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from cuts.config import Config
from cuts.count.dependence import measure_dependence
from cuts.count.kernel import count_rows
from cuts.count.marginals import Clique, Marginals
from cuts.count.rows import Rows
from cuts.count.survey import spread_sample, survey
from cuts.count.workload import choose_workload, describe, fits_whole, left_out
from cuts.data.binning import fit_codec
from cuts.data.codec import Codec, Codes, encode
from cuts.data.columns import is_written_as_text
from cuts.data.conform import conform
from cuts.data.exchange.files import with_texts
from cuts.data.identifiers import place_all
from cuts.data.middles import with_middles
from cuts.data.personal import personal_columns
from cuts.data.rare_values import rare_values
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.data.tie_search import find_ties
from cuts.data.ties import Tie, coordinates, with_hidden
from cuts.effects import shape
from cuts.effects.shaping import Learned
from cuts.flow.checks import check, check_test_rows, require, with_rows
from cuts.flow.free_model import fit_smoothed
from cuts.flow.inputs import find_schema, find_source, table_name
from cuts.flow.memory import choose_smoothing
from cuts.flow.request import FitRequest, FittedModel
from cuts.lang.printer import render
from cuts.lang.spec import Spec
from cuts.lang.walks import columns_of
from cuts.logic.core import find_cuts
from cuts.logic.tie_choice import asked_columns, rule_ties, serves_features
from cuts.logic.ties import substitute
from cuts.model.backbone import find_backbone
from cuts.model.device import find_device
from cuts.model.fine import find_fine
from cuts.model.fit_quality import failed_fit, with_quality
from cuts.model.store import Model
from cuts.plan import Plan, plan, settle, with_bins
from cuts.progress import Observer
from cuts.text.diagnostic import CutsError, Diagnostic

FEW_ROWS = 20  # below this, values of the model are close to those of single rows


def fit_rows(request: FitRequest, observer: Observer) -> FittedModel:
    """The model of a program's rows, shaped by its commands."""
    opened = open_rows(request, observer)
    if request.test is not None:
        check_test_rows(request.test, opened.schema, is_private=False)
    spec = require(check(request.filled, opened.schema), observer)
    if opened.surveyed is None:
        opened = opened.with_sample(observer)
        spec = with_rows(request.filled, opened.schema)
    planned = plan(spec, request.config)
    prepared = prepare([planned], opened, request.config, request.seed, observer)
    warnings = [*opened.warnings, *prepared.losses()]
    if prepared.sample.rows < FEW_ROWS:
        warnings.append(few_rows(prepared.sample.rows))
    if warnings:
        observer.warned(warnings, request.filled.source)
    observer.stage("counting")
    counts = count_rows(opened.rows, prepared.codec, prepared.cliques, seen=opened.counted(observer))
    learned = prepared.with_counts(counts)
    free, learned = fit_free(learned, render(request.filled), observer)
    if free.facts.failed:
        observer.warned([failed_fit(free.facts)], request.filled.source)
    model = shape(free, learned, rows=request.rows, observer=observer).model
    texts = [column.name for column in opened.schema if is_written_as_text(column)]
    form = None if opened.rows.form is None else with_texts(opened.rows.form, texts)
    return FittedModel(model, planned, form=form, real=learned.sample)


@dataclass(frozen=True, slots=True, eq=False)
class OpenedRows:
    """Rows, their schema, and a sample of them if they were read to infer it."""

    rows: Rows
    schema: Schema
    surveyed: Table | None = None
    total: int | None = None  # how many rows there are, once they were read
    warnings: tuple[Diagnostic, ...] = ()  # about what the rows look like

    def sample(self) -> Table:
        """Rows evenly spread over all."""
        return spread_sample(self.rows) if self.surveyed is None else self.surveyed

    def with_sample(self, observer: Observer | None = None) -> OpenedRows:
        """The same after a sample was read, from which default tolerances follow."""
        if self.surveyed is not None:
            return self
        reading = _Reading(observer or Observer())
        sample = spread_sample(self.rows, seen=reading.seen)
        return OpenedRows(self.rows, with_middles(self.schema, sample), sample, reading.rows)

    def counted(self, observer: Observer) -> Callable[[int], None]:
        """What hears of the rows counted so far."""

        def counted(rows: int) -> None:
            observer.counted(rows)
            if self.total:
                observer.advanced(min(1.0, rows / self.total))

        return counted


class _Reading:
    """The first pass over the rows: announced, and how many there have been so far."""

    def __init__(self, observer: Observer) -> None:
        self.rows, self._observer = 0, observer
        observer.stage("reading a sample of the rows")

    def seen(self, rows: int) -> None:
        """Hear of the rows read so far."""
        self.rows = rows
        self._observer.counted(rows)


def open_rows(request: FitRequest, observer: Observer | None = None) -> OpenedRows:
    """The rows that a program is about. Unless their schema is known, all of them are read to infer it."""
    program = request.program
    source = find_source(program, request.data, request.csv)
    schema = find_schema(program, request.schema, source, request.label)
    if schema is not None:
        return OpenedRows(source.rows(), schema)
    rows = source.rows()
    reading = _Reading(observer or Observer())
    surveyed = survey(rows, table_name(program), request.label, seen=reading.seen)
    check_size(surveyed.sample)
    schema = with_middles(surveyed.schema, surveyed.sample)
    return OpenedRows(rows, schema, surveyed.sample, reading.rows, personal_columns(schema))


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """What is known of the rows before they are counted: bins, a sample, the tables to count."""

    plan: Plan
    codec: Codec
    sample: Table
    codes: Codes  # of the sample
    cliques: tuple[Clique, ...]
    label: str | None
    config: Config
    seed: int

    def losses(self) -> tuple[Diagnostic, ...]:
        """A warning if the model loses rare values."""
        return rare_values(conform(self.sample, self.codec.schema), self.codec)

    def with_counts(self, counts: Marginals) -> Learned:
        """What a fit needs, once the rows are counted."""
        return Learned(self.plan, self.codec, self.sample, self.codes, counts, self.label, self.config, self.seed)


def prepare(
    plans: Sequence[Plan], opened: OpenedRows, config: Config, seed: int, observer: Observer | None = None
) -> Prepared:
    """What is known before counting, for the first of some plans; the bins suit the conditions of all of them."""
    observer = observer or Observer()
    find_device(config.device)
    find_backbone(config)
    sample = opened.sample()
    check_size(sample)
    binned = place_all(with_bins(opened.schema, config), sample, seed)
    typed = conform(sample, binned)
    ties = choose_ties([each.spec for each in plans], typed, binned) if config.ties else ()
    inner = coordinates(binned, ties)
    cuts = find_cuts([substitute(pred, binned, ties) for each in plans for pred in each.conditions], inner)
    coarse = find_fine(config) is not None and config.bins is None
    fitted = fit_codec(with_hidden(sample, typed, ties), inner, cuts.columns, cuts.sets, coarse=coarse)
    codec = replace(fitted, schema=binned, ties=ties)
    codes = encode(sample, codec)
    label = modelled_label(codec)
    cliques = _choose_cliques(codes, codec.sizes, label, observer)
    return Prepared(settle(plans[0], codec), codec, sample, codes, cliques, label, config, seed)


def _choose_cliques(
    codes: Codes, sizes: Mapping[str, int], label: str | None, observer: Observer
) -> tuple[Clique, ...]:
    """The tables to count; which of them matter in a wide table is measured on the sample, and reported."""
    if fits_whole(sizes):
        return choose_workload(sizes, label)
    observer.stage("choosing the tables to count")
    dependence = measure_dependence(codes, sizes, label, advanced=observer.advanced)
    cliques = choose_workload(sizes, label, dependence)
    observer.noted(describe(left_out(cliques, sizes, label, dependence)))
    return cliques


def check_size(sample: Table) -> None:
    """Refuse a single row; no row is refused elsewhere."""
    if sample.rows == 1:
        raise CutsError([single_row()])


def choose_ties(specs: Sequence[Spec], typed: Table, schema: Schema) -> tuple[Tie, ...]:
    """The columns to tie: those that row rules compare, and others that a conformed table shows to move together."""
    if any(spec.privacy is not None for spec in specs):
        return ()
    by_rules = rule_ties(specs, schema)
    commands = [command for spec in specs for command in spec.commands]
    preds = [rule.pred for spec in specs for rule in spec.rules]
    used = {name for tie in by_rules for name in (tie.column, tie.anchor)}
    blocked = frozenset().union(asked_columns(commands), used, *map(columns_of, preds))
    found = find_ties(typed, schema, blocked)
    return (*by_rules, *(tie for tie in found if serves_features(tie, commands)))


def modelled_label(codec: Codec) -> str | None:
    """The column to predict, if it is modelled."""
    label = codec.schema.label
    return label if label in codec.sizes else None


def fit_free(learned: Learned, program: str, observer: Observer) -> tuple[Model, Learned]:
    """The model of the rows before any command shapes it, and what is known about them, with smoothing and boxes."""
    smoothing, memory = choose_smoothing(learned, program, observer)
    observer.stage("fitting")
    model, learned = fit_smoothed(learned, program, smoothing, observer, is_stage=True)
    facts = with_quality(replace(model.facts, memory=memory), model.mixture, learned.counts, learned.label)
    return replace(model, facts=facts), learned


def without_commands(spec: Spec) -> Spec:
    """The spec of a program that asks for nothing."""
    return replace(spec, commands=())


def single_row() -> Diagnostic:
    """A table of one row."""
    title = "one row cannot be synthesised without copying it"
    return Diagnostic("few-rows", title, help=f"give a table of at least 2 rows, better {FEW_ROWS} or more")


def few_rows(rows: int) -> Diagnostic:
    """A table of so few rows that the model resembles each of them."""
    return Diagnostic(
        "few-rows",
        f"there are only {rows} rows: synthetic values will be close to real ones",
        help="add rows, or keep the synthetic table as confidential as the real one",
        severity="warning",
    )

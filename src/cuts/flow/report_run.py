"""What a report says about the run itself: what each column became, the privacy spent, settings and versions."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Sequence
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version

from cuts.config import Config
from cuts.data.codec import CategoryBins, ColumnBins
from cuts.data.conform import conform
from cuts.data.describe import kind_in_words, values_in_words
from cuts.data.rare_values import Loss, find_losses, never_sampled
from cuts.data.schema import Column, Empty, Identifier, Schema, fingerprint
from cuts.data.table import Table
from cuts.data.units import spread, unit_of
from cuts.flow.sample import Sample
from cuts.lang import units
from cuts.lang.printer import short
from cuts.model import store
from cuts.model.facts import Facts
from cuts.model.store import Model
from cuts.privacy.ledger import Event
from cuts.privacy.precision import Precision, known
from cuts.privacy.transcript import Transcript, promise
from cuts.report.facts import Charge, ColumnBecame, Figure, Fingerprints, Known, PrivacyFacts, RunFacts
from cuts.report.figures import figure, rejection_words, selection_words
from cuts.text.diagnostic import counted

PACKAGES = ("numpy", "pyarrow", "scipy", "scikit-learn", "torch", "xgboost", "xgboost-cpu", "opendp")


def columns_became(model: Model, real: Table | None) -> tuple[ColumnBecame, ...]:
    """What became of each column; how many rows lost a rare value is counted in the real rows, if they are given."""
    codec = model.codec
    bins = {each.column.name: each for each in codec.columns}
    hidden = {tie.column: tie.hidden.name for tie in codec.ties}
    losses = {} if real is None else {loss.column: loss for loss in find_losses(conform(real, codec.schema), codec)}
    found = []
    for column in codec.schema:
        own = bins.get(hidden.get(column.name, column.name))
        notes = [*_notes(column, model), *_bin_notes(own, losses.get(column.name), codec.schema)]
        role = _role(column, codec.schema)
        size = 0 if own is None else own.size
        found.append(
            ColumnBecame(column.name, kind_in_words(column), values_in_words(column), size, role, tuple(notes))
        )
    return tuple(found)


def _role(column: Column, schema: Schema) -> str:
    if isinstance(column, Identifier):
        return "identifier"
    return "label" if column.name == schema.label else "protected" if column.name in schema.protected else ""


def _notes(column: Column, model: Model) -> Iterator[str]:
    schema = model.codec.schema
    if isinstance(column, Identifier):
        yield "not learned: every row gets a new value"
    if isinstance(column, Empty):
        yield "has no values, and is empty in the table"
    source = dict(schema.derived).get(column.name)
    if source is not None:
        yield f"follows from `{source}`, as in the real rows"
    formula = dict(schema.formulas).get(column.name)
    if formula is not None:
        yield f"computed as {formula.text} in every row"
    for tie in model.codec.ties:
        if tie.column == column.name:
            yield f"computed from `{tie.anchor}` and `{tie.hidden.name}`, which was learned in its place"


def _bin_notes(bins: ColumnBins | None, loss: Loss | None, schema: Schema) -> Iterator[str]:
    if bins is None:
        return
    if isinstance(bins, CategoryBins):
        shared = sum(len(group) for group in bins.groups if len(group) > 1)
        if shared:
            yield f"{counted(shared, 'rarer value')} share bins"
    lost = never_sampled(bins)
    if lost:
        few = f"fewer than {schema.min_count} rows"
        rows = "" if loss is None else f", {100 * loss.rows / loss.all_rows:.2g} % of the real rows"
        yield f"{counted(len(lost), 'value')} with {few} never sampled{rows}"


def privacy_facts(transcript: Transcript) -> PrivacyFacts:
    """The guarantee of a release, its cost and its precision; all of it is public."""
    ledger, schema = transcript.ledger, transcript.codec.schema
    return PrivacyFacts(
        promise(transcript),
        ledger.terms.epsilon,
        ledger.terms.delta,
        ledger.epsilon_spent,
        tuple(_charges(ledger.events, float(ledger.rho))),
        tuple(_known(each, schema) for each in known(transcript)),
    )


def _charges(events: Sequence[Event], budget: float) -> Iterator[Charge]:
    """One entry per kind of read and number of columns."""
    groups: dict[tuple[str, int], list[Event]] = {}
    for event in events:
        columns = len(event.clique) if event.kind == "measure" else 0
        groups.setdefault((event.kind, columns), []).append(event)
    for (kind, columns), found in groups.items():
        low, high = (short(function(event.scale for event in found), 3) for function in (min, max))
        noise = "Gumbel" if kind == "select" else "Gaussian"
        scale = low if low == high else f"{low} to {high}"
        cost = float(sum(event.cost for event in found))
        yield Charge(_read(kind, columns), len(found), f"{noise}, scale {scale}", short(cost, 4), cost / budget)


def _read(kind: str, columns: int) -> str:
    match kind:
        case "select":
            return "choice of the next table to count"
        case "discover":
            return "discovery of categories and ranges"
        case _:
            return f"noisy counts of {'single columns' if columns == 1 else f'{columns} columns together'}"


def _known(precision: Precision, schema: Schema) -> Known:
    if precision.is_numeric:
        shown = units.show(precision.error, spread(unit_of(schema[precision.column])), 2)
        error = Figure(precision.error, f"mean ± {shown}")
    else:
        error = Figure(precision.error, f"share ± {100 * precision.error:.2g} %")
    return Known(precision.column, precision.bins, error, precision.moved, precision.is_good)


def run_facts(model: Model, sample: Sample, output: str) -> RunFacts:
    """How the run was made."""
    facts = model.facts
    return RunFacts(
        program=model.program,
        seed=facts.seed,
        rows=sample.rows,
        output=output,
        backbone=model.config.backbone,
        components=model.mixture.components,
        fit_error=figure(facts.error, digits=2),
        fit_error_floor=None if facts.error_floor is None else figure(facts.error_floor, digits=2),
        fit_failed=facts.failed,
        steps=facts.steps,
        selection=_selection(sample),
        settings=tuple(_settings(model.config)),
        versions=tuple(_versions()),
        seconds=() if model.transcript is not None else _seconds(facts),
        fingerprints=Fingerprints(
            hashlib.sha256(model.program.encode()).hexdigest(),
            fingerprint(model.codec.schema),
            store.file_hash(model),
        ),
    )


def _selection(sample: Sample) -> str:
    words = []
    if sample.calibration is not None:
        chosen = sample.calibration
        words.append(selection_words(chosen.pool, chosen.most_taken, chosen.effective))
    if sample.rejection is not None:
        words.append(rejection_words(sample.rejection.accepted, sample.rejection.candidates))
    return " ".join(words) or "All rows are as they were drawn from the model; none were selected or rejected."


def _settings(config: Config) -> Iterator[tuple[str, str]]:
    """The settings that differ from the defaults."""
    default = Config()
    for field in fields(Config):
        value = getattr(config, field.name)
        if value != getattr(default, field.name):
            yield field.name, str(value)


def _versions() -> Iterator[tuple[str, str]]:
    yield "cuts", version("cuts")
    yield "Python", platform.python_version()
    for package in PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            continue


def _seconds(facts: Facts) -> tuple[tuple[str, float], ...]:
    stages = (
        ("fitting the model", facts.cpu_seconds),
        ("enforcing the row rules", facts.shape_seconds),
        ("meeting statistics", facts.goal_seconds),
    )
    return tuple((name, round(seconds, 2)) for name, seconds in stages if seconds)

"""A private program to a model: release what the budget buys, then work with the answers only.

`release` reads the rows, once, inside the trusted core. Everything after it takes the transcript: the free model is
fitted to it, and rows drawn from that model stand where other programs have real rows, so the program shapes a private
model as it shapes any other. A transcript can be shaped by any number of programs at no further cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from importlib.metadata import version

import pyarrow as pa

from cuts.config import Config
from cuts.count.kernel import count_codes
from cuts.count.sources import MAX_ROWS
from cuts.count.workload import choose_workload
from cuts.data.codec import Codec, build_codec, encode
from cuts.data.columns import Integer, Real, Temporal, size
from cuts.data.refine import refine
from cuts.data.schema import Column, Schema, fingerprint
from cuts.data.schema_file import render_declaration
from cuts.data.table import Table
from cuts.effects import Learned, conditions_in, shape_model
from cuts.flow import checks
from cuts.lang.binder import bind, bind_privacy
from cuts.lang.placeholders import fill
from cuts.lang.printer import render
from cuts.lang.spec import Privacy, Spec
from cuts.lang.syntax import Program
from cuts.logic.core import find_cuts
from cuts.model.backbone import find_backbone
from cuts.model.device import find_device
from cuts.model.facts import Facts
from cuts.model.mixture import split
from cuts.model.noisy import NoisyLearner, fit_noisy
from cuts.model.rows import sample_blocks
from cuts.model.store import Model
from cuts.privacy.accountant import rho_of
from cuts.privacy.adaptive import release
from cuts.privacy.core import Core, count_rows
from cuts.privacy.domain import discover_domain
from cuts.privacy.ledger import ReleaseLedger, Terms
from cuts.privacy.ledger_file import LedgerFile
from cuts.privacy.reading import PrivateRows
from cuts.privacy.transcript import Transcript
from cuts.privacy.workload import make_workload
from cuts.progress import Observer
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic, has_errors

FINE_BINS = 256  # of numbers that are cut by how many rows they hold: neighbours are joined by noisy counts
FREE = "SYNTHESIZE: table; END;"


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A private model, and the rows drawn from it before the program shaped it: where classifiers are tried."""

    model: Model
    reference: Table


@dataclass(frozen=True, slots=True)
class Account:
    """Where a release is written down: the book, the data's name in it, and what may be spent on it in all."""

    book: LedgerFile
    data: str
    max_epsilon: float | None = None


def fit_private(
    program: Program,
    schema: Schema,
    rows: PrivateRows,
    account: Account,
    *,
    config: Config | None = None,
    seed: int = 0,
    values: Mapping[str, str | float] | None = None,
    draw: int | None = None,
    observer: Observer | None = None,
) -> Made:
    """The private model of some rows: they are read once, by the core, and the noise has no seed."""
    observer, config = observer or Observer(), config or Config()
    transcript = measure(program, schema, rows, account, config=config, seed=seed, values=values, observer=observer)
    return fit_transcript(program, transcript, config=config, seed=seed, values=values, draw=draw, observer=observer)


def measure(
    program: Program,
    schema: Schema,
    rows: PrivateRows,
    account: Account,
    *,
    config: Config,
    seed: int,
    values: Mapping[str, str | float] | None = None,
    observer: Observer,
) -> Transcript:
    """What the core tells of the rows for the budget of the program."""
    filled = fill(program, values or {})
    find_device(config.device)
    find_backbone(config)
    privacy = bind_privacy(filled, schema)
    assert privacy is not None
    unknown = schema.provenance == "inferred" and privacy.domain_budget is not None
    _check(filled, schema)
    share = privacy.domain_budget or 0.0 if unknown else 0.0
    ledger = _opened(privacy, share)
    public = sha256(render_declaration(schema).encode()).hexdigest() if unknown else fingerprint(schema)
    entry = account.book.open(account.data, ledger, public, max_epsilon=account.max_epsilon)
    ledger = replace(ledger, history=entry.history)
    if unknown:
        observer.stage("finding categories and ranges")
        spent = share * float(ledger.rho)
        schema, ledger = discover_domain(
            rows, schema, ledger, rho=spent, delta=share * privacy.delta, record=entry.record
        )
        _check(filled, schema)
    codec, groups = _public_codec(bind(filled, schema), config)
    sizes = {bins.column.name: bins.size for bins in codec.columns}
    workload = make_workload(sizes, _label(codec), groups)
    observer.stage("counting in the trusted core")
    terms = ledger.terms
    counts = count_rows(rows, codec, workload.candidates, person=terms.person, most=terms.rows_each)
    observer.stage("measuring")
    core = Core(counts, ledger, entry.record)
    return release(core, codec, workload, NoisyLearner(config, seed), seen=observer.measured)


def fit_transcript(
    program: Program,
    transcript: Transcript,
    *,
    config: Config | None = None,
    seed: int = 0,
    values: Mapping[str, str | float] | None = None,
    draw: int | None = None,
    observer: Observer | None = None,
) -> Made:
    """The model of a transcript under a program, which need not be the one it was made for. No rows are read."""
    observer, config = observer or Observer(), config or Config()
    filled = fill(program, values or {})
    _bound(filled, transcript)  # what is wrong with it is said before the fit
    return shape_free(filled, fit_free(transcript, config, seed=seed, observer=observer), draw=draw, observer=observer)


def shape_free(program: Program, free: Model, *, draw: int | None = None, observer: Observer | None = None) -> Made:
    """A free private model as a program asks for it."""
    assert free.transcript is not None
    spec = _bound(program, free.transcript)
    finer = _without_cuts(free, spec)
    learned = _learned(spec, free, finer.codec, program)
    model = replace(finer, program=learned.program)
    return Made(shape_model(learned, model, draw, observer or Observer()), learned.sample)


def fit_free(transcript: Transcript, config: Config, *, seed: int, observer: Observer) -> Model:
    """The model of a transcript without any command."""
    observer.stage("fitting")
    fitted = fit_noisy(transcript, _label(transcript.codec), config, seed=seed, seen=observer.fitted)
    facts = Facts(
        transcript.rows, fitted.error, fitted.steps, config.smoothing or 0.0, seed, version("cuts"), fitted.cpu_seconds
    )
    return Model(fitted.mixture, transcript.codec, FREE, config, facts, transcript)


def draw_free(free: Model) -> Table:
    """As many rows of a free model as it was fitted to, but not more than are looked at of any table."""
    blocks = sample_blocks(free, min(free.facts.rows, MAX_ROWS), seed=free.facts.seed)
    return Table(pa.concat_tables([block.arrow for block in blocks]))


# --- parts of the steps


def _public_codec(spec: Spec, config: Config) -> tuple[Codec, dict[str, int]]:
    """Bins that follow from schema and program alone, and for columns with many how many groups they may form."""
    columns: list[Column] = []
    groups: dict[str, int] = {}
    for column in spec.schema.columns:
        if isinstance(column, Integer | Real | Temporal):
            bins, binning = config.bins or column.bins, config.binning or column.binning
            if binning == "quantile" and isinstance(bins, int):
                groups[column.name] = bins
                bins = int(min(FINE_BINS, size(column)))
            columns.append(replace(column, bins=bins, binning="uniform"))
        else:
            columns.append(column)
    schema = replace(spec.schema, columns=tuple(columns), derived=())
    cuts = find_cuts(conditions_in(spec, schema), schema)
    return build_codec(schema, cuts.columns), groups


def _check(program: Program, schema: Schema) -> None:
    """Refuse a program with errors, or a table without columns, before it costs anything more."""
    found = checks.check(program, schema).diagnostics
    if has_errors(found):
        raise CutsError(found, program.source)
    if not schema.modelled:
        raise CutsError([checks.nothing_to_learn(schema)])


def _opened(privacy: Privacy, for_domain: float) -> ReleaseLedger:
    """A ledger nothing was charged to yet; of delta a share is left to find the domain."""
    return ReleaseLedger(_terms(privacy), Fraction(rho_of(privacy.epsilon, privacy.delta * (1.0 - for_domain))))


def _bound(program: Program, transcript: Transcript) -> Spec:
    """The program over a transcript's schema; a `CutsError` if it promises something else."""
    spec = bind(program, transcript.codec.schema)
    if spec.privacy is not None and _terms(spec.privacy) != transcript.ledger.terms:
        raise CutsError([other_terms(spec.privacy)], program.source)
    return spec


def _terms(privacy: Privacy) -> Terms:
    return Terms(privacy.epsilon, privacy.delta, privacy.max_rows_per_person, privacy.person, privacy.relation)


def _label(codec: Codec) -> str | None:
    label = codec.schema.label
    return label if any(bins.column.name == label for bins in codec.columns) else None


def _without_cuts(free: Model, spec: Spec) -> Model:
    """The same model over bins that no condition of the program cuts."""
    cuts = find_cuts(conditions_in(spec, spec.schema), spec.schema)
    codec, splits = refine(free.codec, cuts.columns, cuts.sets)
    return replace(free, codec=codec, mixture=split(free.mixture, splits))


def _learned(spec: Spec, free: Model, codec: Codec, program: Program) -> Learned:
    """What other programs know of real rows, known of rows drawn from the free model."""
    drawn = draw_free(free)
    codes = encode(drawn, codec)
    sizes = {bins.column.name: bins.size for bins in codec.columns}
    counts = count_codes(codes, codec, choose_workload(sizes, _label(codec)))
    return Learned(spec, codec, drawn, codes, counts, _label(codec), free.config, free.facts.seed, render(program))


def other_terms(privacy: Privacy) -> Diagnostic:
    """A program that promises something else than the transcript it is given."""
    return Diagnostic(
        "other-terms",
        "the transcript was made under other terms of privacy",
        privacy.origin.span,
        "not what was promised when the rows were read",
        "write the terms `cuts ledger show` tells, or leave this command out",
        exit_code=PRIVACY,
    )

"""A private program to a model: release what the budget buys (`release.py`), then work with the answers only.

The free model is fitted to the transcript, and rows drawn from it stand where other programs have real rows, so a
program shapes a private model as it shapes any other. A transcript can be shaped by any number of programs at no
further cost.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from importlib.metadata import version

from cuts.config import Config
from cuts.count.dependence import measure_dependence
from cuts.count.kernel import count_codes
from cuts.count.survey import MAX_ROWS
from cuts.count.workload import choose_workload, fits_whole
from cuts.data.codec import Codec, encode
from cuts.data.refine import refine
from cuts.data.table import Table
from cuts.effects import shape
from cuts.effects.shaping import Learned
from cuts.flow.before_release import terms_of
from cuts.flow.checks import check, require
from cuts.flow.inputs import IMITATE, find_schema, find_source, read_program
from cuts.flow.learn import modelled_label
from cuts.flow.release import Account, measure, saved_on_failure
from cuts.flow.request import FitRequest, FittedModel
from cuts.lang.binder import bind
from cuts.lang.printer import render
from cuts.lang.spec import Privacy, Spec
from cuts.lang.syntax import Program
from cuts.model.facts import Facts
from cuts.model.mixture import split
from cuts.model.noisy import fit_noisy
from cuts.model.noisy_network import fit_noisy_network
from cuts.model.sampling import sample_table
from cuts.model.store import Model
from cuts.plan import Plan, plan, settle
from cuts.privacy.ledger_file import LedgerFile, default_ledger_file
from cuts.privacy.transcript import Transcript
from cuts.progress import Observer
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic


def fit_private(request: FitRequest, observer: Observer) -> FittedModel:
    """The private model of a program's rows: they are read once, by the core, and the noise has no seed."""
    source = find_source(request.program, request.data, request.csv)
    schema = find_schema(request.program, request.schema, source, request.label)
    assert schema is not None  # else the program was refused
    account = Account(ledger_file(request), request.privacy.data_id or schema.name, request.privacy.limit)
    transcript = measure(request, schema, source.private_rows(), account, observer)
    already_warned = replace(observer, warned=Observer().warned)
    with kept_release(request, transcript):
        observer.spent(account.spent())
        return fit_release(replace(request, transcript=transcript), already_warned)


def kept_release(request: FitRequest, transcript: Transcript | None) -> AbstractContextManager[None]:
    """Work after a release: if it fails, a release that this request paid for is saved."""
    if transcript is None or request.transcript is not None:
        return nullcontext()
    return saved_on_failure(transcript, request.privacy.keep_at or ledger_file(request).path.parent)


def ledger_file(request: FitRequest) -> LedgerFile:
    """The ledger in which a request's release is recorded."""
    path = request.privacy.ledger
    return default_ledger_file() if path is None else LedgerFile(path)


def fit_release(request: FitRequest, observer: Observer) -> FittedModel:
    """The model of an existing release under a program, which need not be the one it was made for. No rows are read."""
    transcript = request.transcript
    assert transcript is not None
    spec = require(check(request.filled, transcript.codec.schema), observer)
    check_terms(spec, transcript, request.filled)
    free = fit_free(transcript, request.config, seed=request.seed, observer=observer)
    return _shaped(spec, request.filled, free, rows=request.rows, observer=observer)


def fit_free(transcript: Transcript, config: Config, *, seed: int, observer: Observer) -> Model:
    """The model of a transcript without any command."""
    observer.stage("fitting")
    codec = transcript.codec
    if config.method == "penalty":
        fitted = fit_noisy_network(transcript, config, seed=seed, seen=observer.fitted)
    else:
        fitted = fit_noisy(transcript, modelled_label(codec), config, seed=seed, seen=observer.fitted)
    facts = Facts(
        transcript.rows, fitted.error, fitted.steps, config.smoothing or 0.0, seed, version("cuts"), fitted.cpu_seconds
    )
    spec = bind(read_program(None), codec.schema)
    return Model(fitted.mixture, codec, IMITATE, spec, config, facts, transcript, network=fitted.network)


def shape_free(program: Program, free: Model, *, rows: int | None = None, observer: Observer) -> FittedModel:
    """A free private model as a program asks for it."""
    assert free.transcript is not None
    spec = bind(program, free.codec.schema)
    check_terms(spec, free.transcript, program)
    return _shaped(spec, program, free, rows=rows, observer=observer)


def _shaped(spec: Spec, program: Program, free: Model, *, rows: int | None, observer: Observer) -> FittedModel:
    planned = plan(spec, replace(free.config, ties=False))  # the bins of a release are about single columns
    finer = _refined(free, planned)
    learned = _learned(settle(planned, finer.codec), free, finer.codec)
    start = replace(finer, program=render(program), spec=spec)
    shaping = shape(start, learned, rows=rows, observer=observer)
    private = shaping.met(shaping.model, planned.commands("noise"), "noise")
    return FittedModel(private.model, planned, reference=learned.sample)


def draw_free(free: Model) -> Table:
    """As many rows of a free model as it was fitted to, up to the size of the sample that other programs have."""
    return sample_table(free, min(free.facts.rows, MAX_ROWS), seed=free.facts.seed)


def check_terms(spec: Spec, transcript: Transcript, program: Program) -> None:
    """Refuse a program that promises something else than the transcript it is given."""
    if spec.privacy is not None and terms_of(spec.privacy) != transcript.ledger.terms:
        raise CutsError([other_terms(spec.privacy)], program.source)


def _refined(free: Model, planned: Plan) -> Model:
    """The same model over bins that no condition of the program straddles."""
    codec, splits = refine(free.codec, planned.cuts.columns, planned.cuts.sets)
    network = None if free.network is None else free.network.refined(splits)
    return replace(free, codec=codec, mixture=split(free.mixture, splits), network=network)


def _learned(planned: Plan, free: Model, codec: Codec) -> Learned:
    """What other programs know of real rows, known of rows drawn from the free model."""
    drawn = draw_free(free)
    codes = encode(drawn, codec)
    label = modelled_label(codec)
    dependence = None if fits_whole(codec.sizes) else measure_dependence(codes, codec.sizes, label)
    counts = count_codes(codes, codec, choose_workload(codec.sizes, label, dependence))
    return Learned(planned, codec, drawn, codes, counts, label, free.config, free.facts.seed)


def other_terms(privacy: Privacy) -> Diagnostic:
    """A program that promises something else than the transcript it is given."""
    return Diagnostic(
        "other-terms",
        "the transcript was made under different privacy terms",
        privacy.origin.span,
        "not what was promised when the rows were read",
        "write the terms that `cuts ledger show` prints, or remove this command",
        exit_code=PRIVACY,
    )

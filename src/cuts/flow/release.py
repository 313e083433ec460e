"""A private program to a model: release what the budget buys, then work with the answers only.

`measure` reads the rows, once, inside the trusted core. Everything after it takes the transcript: the free model is
fitted to it, and rows drawn from that model stand where other programs have real rows, so the program shapes a private
model as it shapes any other. A transcript can be shaped by any number of programs at no further cost, and it is saved
if a later step fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from cuts.config import Config
from cuts.count.kernel import count_codes
from cuts.count.rows import MAX_ROWS
from cuts.count.workload import choose_workload
from cuts.data.codec import Codec, build_codec, encode
from cuts.data.columns import Numeric, size
from cuts.data.refine import refine
from cuts.data.schema import Column, Schema, fingerprint
from cuts.data.schema_file import render_declaration
from cuts.data.table import Table
from cuts.effects import shape
from cuts.effects.shaping import Learned
from cuts.flow.checks import check, nothing_to_learn, require
from cuts.flow.inputs import IMITATE, find_schema, find_source, read_program
from cuts.flow.learn import modelled_label
from cuts.flow.request import FitRequest, FittedModel
from cuts.lang.binder import bind, bind_privacy
from cuts.lang.printer import render
from cuts.lang.spec import Privacy, Spec
from cuts.lang.syntax import Program
from cuts.model import store
from cuts.model.backbone import find_backbone
from cuts.model.device import find_device
from cuts.model.facts import Facts
from cuts.model.mixture import split
from cuts.model.noisy import NoisyLearner, fit_noisy
from cuts.model.sampling import sample_table
from cuts.model.store import Model
from cuts.plan import Plan, plan, settle, with_bins
from cuts.privacy.accountant import rho_of
from cuts.privacy.adaptive import release
from cuts.privacy.core import Core, count_rows
from cuts.privacy.domain import discover_domain
from cuts.privacy.ledger import ReleaseLedger, Terms
from cuts.privacy.ledger_file import LedgerFile, default_ledger_file
from cuts.privacy.reading import PrivateRows
from cuts.privacy.transcript import Transcript, load
from cuts.privacy.transcript import render as transcript_text
from cuts.privacy.workload import make_workload
from cuts.progress import Observer
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic, counted, has_errors, usage_error
from cuts.text.files import write_text

FINE_BINS = 256  # of numbers with bins of equal frequency: neighbours are joined by noisy counts


@dataclass(frozen=True, slots=True)
class Account:
    """Where a release is recorded: the ledger file, the data's name in it, and the limit on epsilon in total."""

    ledger_file: LedgerFile
    data: str
    max_epsilon: float | None = None

    def spent(self) -> str:
        """What all releases of the data cost together, in one line."""
        total = next(line for line in self.ledger_file.spent() if line.data == self.data)
        return (
            f"privacy budget spent on `{self.data}`: epsilon {total.epsilon:.4g} at delta {total.delta:.4g}, "
            f"over {counted(total.releases, 'release')} (ledger: {self.ledger_file.path})"
        )


def fit_private(request: FitRequest, observer: Observer) -> FittedModel:
    """The private model of a program's rows: they are read once, by the core, and the noise has no seed."""
    source = find_source(request.program, request.data, request.csv)
    schema = find_schema(request.program, request.schema, source, request.label)
    assert schema is not None  # else the program was refused
    options = request.privacy
    ledger_file = default_ledger_file() if options.ledger is None else LedgerFile(options.ledger)
    account = Account(ledger_file, options.data_id or schema.name, options.max_epsilon)
    transcript = measure(request, schema, source.private_rows(), account, observer)
    observer.spent(account.spent())
    with saved_on_failure(transcript, options.keep_at or ledger_file.path.parent, account.data):
        return fit_release(replace(request, transcript=transcript), observer)


def fit_release(request: FitRequest, observer: Observer) -> FittedModel:
    """The model of an existing release under a program, which need not be the one it was made for. No rows are read."""
    transcript = request.transcript
    assert transcript is not None
    check_terms(bind(request.filled, transcript.codec.schema), transcript, request.filled)
    free = fit_free(transcript, request.config, seed=request.seed, observer=observer)
    return shape_free(request.filled, free, rows=request.rows, observer=observer)


def measure(request: FitRequest, schema: Schema, rows: PrivateRows, account: Account, observer: Observer) -> Transcript:
    """What the core answers about the rows for the budget of the program."""
    config = request.config
    find_device(config.device)
    find_backbone(config)
    privacy = bind_privacy(request.filled, schema)
    assert privacy is not None
    is_unknown = schema.provenance == "inferred" and privacy.domain_budget is not None
    checked = check(request.filled, schema)
    if has_errors(checked.diagnostics):  # before anything is spent
        raise CutsError(checked.diagnostics, request.program.source)
    if not schema.modelled:
        raise CutsError([nothing_to_learn(schema)])
    domain_share = privacy.domain_budget or 0.0 if is_unknown else 0.0
    ledger = _opened(privacy, domain_share)
    public = sha256(render_declaration(schema).encode()).hexdigest() if is_unknown else fingerprint(schema)
    entry = account.ledger_file.open(account.data, ledger, public, max_epsilon=account.max_epsilon)
    ledger = replace(ledger, history=entry.history)
    if is_unknown:
        observer.stage("discovering categories and ranges")
        rho, delta = domain_share * float(ledger.rho), domain_share * privacy.delta
        schema, ledger = discover_domain(rows, schema, ledger, rho=rho, delta=delta, record=entry.record)
        checked = check(request.filled, schema)
    codec, groups = _public_codec(plan(require(checked, observer), config), config)
    workload = make_workload(codec.sizes, modelled_label(codec), groups)
    observer.stage("counting in the trusted core")
    terms = ledger.terms
    counts = count_rows(rows, codec, workload.candidates, person=terms.person, max_rows=terms.max_rows_per_person)
    observer.stage("measuring noisy counts")
    core = Core(counts, ledger, entry.record)
    options = request.privacy
    learner = NoisyLearner(config, request.seed, settings=options.learning)
    return release(core, codec, workload, learner, seen=observer.measured, settings=options.rounds)


def fit_free(transcript: Transcript, config: Config, *, seed: int, observer: Observer) -> Model:
    """The model of a transcript without any command."""
    observer.stage("fitting")
    codec = transcript.codec
    fitted = fit_noisy(transcript, modelled_label(codec), config, seed=seed, seen=observer.fitted)
    facts = Facts(
        transcript.rows, fitted.error, fitted.steps, config.smoothing or 0.0, seed, version("cuts"), fitted.cpu_seconds
    )
    spec = bind(read_program(None), codec.schema)
    return Model(fitted.mixture, codec, IMITATE, spec, config, facts, transcript)


def shape_free(program: Program, free: Model, *, rows: int | None = None, observer: Observer) -> FittedModel:
    """A free private model as a program asks for it."""
    assert free.transcript is not None
    spec = bind(program, free.codec.schema)
    check_terms(spec, free.transcript, program)
    planned = plan(spec, free.config)
    finer = _refined(free, planned)
    learned = _learned(settle(planned, finer.codec), free, finer.codec)
    start = replace(finer, program=render(program), spec=spec)
    shaping = shape(start, learned, rows=rows, observer=observer)
    private = shaping.met(shaping.model, planned.commands("noise"), "noise")
    return FittedModel(private.model, planned, reference=learned.sample)


def draw_free(free: Model) -> Table:
    """As many rows of a free model as it was fitted to, up to the size of the sample that other programs have."""
    return sample_table(free, min(free.facts.rows, MAX_ROWS), seed=free.facts.seed)


def read_transcript(path: Path) -> Transcript:
    """The transcript in a model or in a file of its own; a `CutsError` if there is none."""
    if path.suffix != store.ENDING:
        return load(path)
    transcript = store.load(path).transcript
    if transcript is None:
        raise usage_error(
            "bad-transcript",
            f"{path} is not a private model",
            "pass a model whose program has `ENSURE: DIFFERENTIAL PRIVACY`",
        )
    return transcript


@contextmanager
def saved_on_failure(transcript: Transcript, keep_at: Path, name: str) -> Iterator[None]:
    """Work on a release that was paid for: if it fails, the release is saved, and the error says where.

    `keep_at` is the file to write, or a folder for a file of the data's name.
    """
    try:
        yield
    except BaseException as error:
        file_name = re.sub(r"[^\w.-]", "_", name) + "_transcript.json"
        path = keep_at / file_name if keep_at.is_dir() else keep_at
        write_text(path, transcript_text(transcript))
        error.add_note(
            f"The release was saved to {path}; resume with `--from-transcript {path}` (no further budget is spent)."
        )
        raise


# --- parts of the steps


def check_terms(spec: Spec, transcript: Transcript, program: Program) -> None:
    """Refuse a program that promises something else than the transcript it is given."""
    if spec.privacy is not None and _terms(spec.privacy) != transcript.ledger.terms:
        raise CutsError([other_terms(spec.privacy)], program.source)


def _public_codec(planned: Plan, config: Config) -> tuple[Codec, dict[str, int]]:
    """Bins that follow from schema and program alone, and for columns with many how many groups they may form."""
    columns: list[Column] = []
    groups: dict[str, int] = {}
    for column in with_bins(planned.spec.schema, config).columns:
        if isinstance(column, Numeric):
            bins = column.bins
            if column.binning == "quantile" and isinstance(bins, int):
                groups[column.name] = bins
                bins = int(min(FINE_BINS, size(column)))
            columns.append(replace(column, bins=bins, binning="uniform"))
        else:
            columns.append(column)
    schema = replace(planned.spec.schema, columns=tuple(columns), derived=())
    return build_codec(schema, planned.cuts.columns), groups


def _opened(privacy: Privacy, domain_share: float) -> ReleaseLedger:
    """A ledger to which nothing was charged yet; a share of delta is left to find the domain."""
    return ReleaseLedger(_terms(privacy), Fraction(rho_of(privacy.epsilon, privacy.delta * (1.0 - domain_share))))


def _terms(privacy: Privacy) -> Terms:
    return Terms(privacy.epsilon, privacy.delta, privacy.max_rows_per_person, privacy.person, privacy.relation)


def _refined(free: Model, planned: Plan) -> Model:
    """The same model over bins that no condition of the program straddles."""
    codec, splits = refine(free.codec, planned.cuts.columns, planned.cuts.sets)
    return replace(free, codec=codec, mixture=split(free.mixture, splits))


def _learned(planned: Plan, free: Model, codec: Codec) -> Learned:
    """What other programs know of real rows, known of rows drawn from the free model."""
    drawn = draw_free(free)
    codes = encode(drawn, codec)
    label = modelled_label(codec)
    counts = count_codes(codes, codec, choose_workload(codec.sizes, label))
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

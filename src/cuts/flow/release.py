"""A private release: what the trusted core answers about the rows for the budget of a program.

The rows are read here, once, and nowhere else; what is made of the answers is `private.py`. A release that was paid for
is saved if a later step fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

from cuts.data.schema import Schema, fingerprint
from cuts.data.schema_file import render_declaration
from cuts.flow.before_release import public_codec, terms_of
from cuts.flow.checks import Checked, check, nothing_to_learn, require
from cuts.flow.learn import modelled_label
from cuts.flow.request import FitRequest
from cuts.lang.binder import bind_privacy
from cuts.lang.spec import Spec
from cuts.model import store
from cuts.model.backbone import find_backbone
from cuts.model.device import find_device
from cuts.model.noisy import Guess, NoisyLearner
from cuts.model.noisy_network import NetworkLearner
from cuts.plan import plan
from cuts.privacy.accountant import rho_of
from cuts.privacy.adaptive import Learner, release, settings_for
from cuts.privacy.core import Core, count_rows
from cuts.privacy.domain import discover_domain
from cuts.privacy.ledger import ReleaseLedger
from cuts.privacy.ledger_chain import bad_ledger
from cuts.privacy.ledger_file import Entry, LedgerFile, Limit
from cuts.privacy.reading import PrivateRows
from cuts.privacy.transcript import Transcript, load
from cuts.privacy.transcript import render as transcript_text
from cuts.privacy.workload import make_workload
from cuts.progress import Observer
from cuts.text.diagnostic import CutsError, counted, has_errors, usage_error
from cuts.text.files import write_text


@dataclass(frozen=True, slots=True)
class Account:
    """Where a release is recorded: the ledger file, the data's name in it, and the limit on epsilon in total."""

    ledger_file: LedgerFile
    data: str
    limit: Limit | None = None

    def spent(self) -> str:
        """What all releases of the data cost together, in one line."""
        lines = self.ledger_file.spent()
        spending = next((line for line in lines if line.data == self.data.strip()), None)
        if spending is None:
            raise bad_ledger(self.ledger_file.path, "the release that was made is no longer in it")
        total, releases = spending.total, counted(spending.releases, "release")
        what = (
            f"epsilon {total.epsilon:.4g} at delta {total.delta:.4g} for {total.unit_in_words}, over {releases}"
            if total is not None
            else f"{releases} of different units, whose costs cannot be added up"
        )
        return f"privacy budget spent on `{spending.data}`: {what} (ledger: {self.ledger_file.path})"


def measure(request: FitRequest, schema: Schema, rows: PrivateRows, account: Account, observer: Observer) -> Transcript:
    """What the core answers about the rows for the budget of the program."""
    config, options = request.config, request.privacy
    find_device(config.device)
    find_backbone(config)
    opened = _open(request, schema, account)
    spec, opened = _with_domain(request, rows, opened, observer)
    codec, groups = public_codec(plan(spec, config), config)
    workload = make_workload(codec.sizes, modelled_label(codec), groups)
    observer.stage("counting in the trusted core")
    terms = opened.ledger.terms
    counts = count_rows(rows, codec, workload.candidates, person=terms.person, max_rows=terms.max_rows_per_person)
    observer.stage("measuring noisy counts")
    rounds = options.rounds or settings_for(config.method, len(codec.sizes))
    learner: Learner[Guess] = NoisyLearner(config, request.seed, settings=options.learning)
    if config.method == "penalty":
        learner = NetworkLearner(config, request.seed)
    with Core(counts, opened.ledger, opened.entry.record) as core:
        return release(core, codec, workload, learner, seen=observer.measured, settings=rounds)


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
def saved_on_failure(transcript: Transcript, keep_at: Path) -> Iterator[None]:
    """Work on a release that was paid for: if it fails, the release is saved, and the error says where.

    `keep_at` is the file to write, or a folder for a file of the schema's name.
    """
    try:
        yield
    except BaseException as error:
        file_name = re.sub(r"[^\w.-]", "_", transcript.codec.schema.name) + "_transcript.json"
        path = keep_at / file_name if keep_at.is_dir() else keep_at
        write_text(path, transcript_text(transcript))
        error.add_note(
            f"The release was saved to {path}; resume with `--from-transcript {path}`, or in Python with the parameter "
            "`transcript` (no further budget is spent)."
        )
        raise


# --- parts of the steps


@dataclass(frozen=True, slots=True)
class _Opened:
    """A release that was opened in the ledger file: nothing is charged to it yet, or only its domain."""

    ledger: ReleaseLedger
    entry: Entry
    schema: Schema
    checked: Checked
    domain_share: float  # of the budget, if categories and ranges are found


def _open(request: FitRequest, schema: Schema, account: Account) -> _Opened:
    """The release of a program; a `CutsError` before anything is spent if the program or the limit forbids it."""
    privacy = bind_privacy(request.filled, schema)
    assert privacy is not None
    is_unknown = schema.is_inferred and privacy.domain_budget is not None
    checked = check(request.filled, schema)
    if has_errors(checked.diagnostics):
        raise CutsError(checked.diagnostics, request.program.source)
    if not schema.modelled:
        raise CutsError([nothing_to_learn(schema)])
    share = privacy.domain_budget or 0.0 if is_unknown else 0.0
    converting = privacy.delta * (1.0 - share)  # the rest of delta is left for the domain
    rho = Fraction(rho_of(privacy.epsilon, converting))
    ledger = ReleaseLedger(terms_of(privacy), rho, Fraction(privacy.delta) - Fraction(converting))
    public = sha256(render_declaration(schema).encode()).hexdigest() if is_unknown else fingerprint(schema)
    entry = account.ledger_file.open(account.data, ledger, public, limit=account.limit)
    return _Opened(replace(ledger, history=entry.history), entry, schema, checked, share)


def _with_domain(request: FitRequest, rows: PrivateRows, opened: _Opened, observer: Observer) -> tuple[Spec, _Opened]:
    """The bound program, and the release once categories and ranges are known; finding them costs their share."""
    if not opened.domain_share:
        return require(opened.checked, observer), opened
    observer.stage("discovering categories and ranges")
    rho = opened.domain_share * float(opened.ledger.rho)
    schema, ledger = discover_domain(rows, opened.schema, opened.ledger, rho=rho, record=opened.entry.record)
    return require(check(request.filled, schema), observer), replace(opened, ledger=ledger, schema=schema)

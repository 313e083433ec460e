"""The picture: from a program and rows to a model, from a model to a table, from a table to verdicts.

`run` is the whole flow; `fit` and `sample` are its halves. Each orders stages and decides nothing: what is done for a
command is decided by the plan (`cuts.plan`), and how by the passes (`cuts.effects`). What needs no model, checking and
judging tables, is `checks.py` and `judge.py`.

    program ─parse, check─► spec ─plan─► plan
    rows ─sample, count─► what is learned ─fit─► free model ─effects─► model
    model ─draw, calibrate─► table ─verify─► verdicts
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from cuts.assess.discriminator import Discriminator, compare_with_fitted
from cuts.assess.drift import Drift, drifts
from cuts.assess.learners import CLASSIFIERS, Classifier
from cuts.assess.verify import Verdict, holds
from cuts.assess.verify import verify as verify_spec
from cuts.config import Config, config_from
from cuts.data.exchange.csv_dialect import CsvOptions
from cuts.data.exchange.files import FileForm, save_blocks
from cuts.data.schema import Schema, Temporal
from cuts.data.table import Table
from cuts.flow.checks import private_command
from cuts.flow.inputs import open_table, read_program
from cuts.flow.learn import fit_rows
from cuts.flow.private import fit_private, fit_release, kept_release
from cuts.flow.release import read_transcript
from cuts.flow.request import FitRequest, FittedModel, PrivacyOptions
from cuts.lang.syntax import Program
from cuts.model.calibrate import Calibration
from cuts.model.facts import Facts
from cuts.model.rejection import Rejection
from cuts.model.sampling import Chunk, complete_rows, sample_chunks
from cuts.model.store import Model
from cuts.plan import Plan, Step, Way
from cuts.privacy.transcript import Transcript
from cuts.progress import Advanced, Observer

MAX_VERIFIED = 5_000_000  # rows kept in memory for the verdicts


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Rows drawn from a model: the first of them as a table, how many there were, how they were selected or rejected.

    All rows are in the table unless they were written to a file and are more than `MAX_VERIFIED`.
    """

    table: Table
    rows: int
    calibration: Calibration | None
    rejection: Rejection | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RunResult:
    """The outcome of a run: the model, a table drawn from it, and a verdict for every command.

    `discriminator` says how well a classifier separates the table from rows that the model was fitted to; None for a
    private program, whose rows may not be read, and when there are too few rows. `drifts` is what differs from those
    rows, the largest difference first; empty for a private program.
    """

    model: Model
    plan: Plan
    sample: Sample
    verdicts: tuple[Verdict, ...]
    output: Path | None = None
    discriminator: Discriminator | None = None
    drifts: tuple[Drift, ...] = ()

    @property
    def table(self) -> Table:
        """The synthetic rows."""
        return self.sample.table

    @property
    def facts(self) -> Facts:
        """How the model was made."""
        return self.model.facts

    @property
    def holds(self) -> bool:
        """Whether no command fails."""
        return holds(self.verdicts)

    @property
    def departures(self) -> tuple[tuple[Step, Way], ...]:
        """The steps met in another way than planned: the rows' bins called for it, or a target was out of reach."""
        taken = {met.number: met.way for met in self.facts.ways}
        return tuple(
            (step, taken[step.number]) for step in self.plan.steps if taken.get(step.number, step.way) != step.way
        )


def run(
    request: FitRequest,
    *,
    output: Path | None = None,
    panel: Sequence[Classifier] = CLASSIFIERS,
    observer: Observer | None = None,
) -> RunResult:
    """Fit a model, draw a table from it and verify that; with `output` the table is written to a file as well."""
    observer = observer or Observer()
    fitted = fit(request, observer=observer)
    observer.stage("sampling rows")
    with kept_release(request, fitted.model.transcript):
        drawn = sample(
            fitted.model,
            request.rows,
            seed=request.seed,
            output=output,
            form=fitted.form,
            advanced=observer.advanced,
        )
        observer.stage("verifying")
        verdicts = verify_spec(
            fitted.plan.spec,
            drawn.table,
            real=fitted.real,
            reference=fitted.reference,
            model=fitted.model.facts.numbers,
            panel=panel,
            advanced=observer.advanced,
        )
    discriminator: Discriminator | None = None
    differences: tuple[Drift, ...] = ()
    if fitted.real is not None:
        observer.stage("comparing with real rows")
        schema = fitted.model.codec.schema
        discriminator = compare_with_fitted(
            drawn.table, fitted.real, schema, seed=request.seed, advanced=observer.advanced
        )
        differences = drifts(fitted.real, drawn.table, schema)
    return RunResult(fitted.model, fitted.plan, drawn, verdicts, output, discriminator, differences)


def fit(request: FitRequest, *, observer: Observer | None = None) -> FittedModel:
    """The model of a program: fitted to an existing release, to private rows through the trusted core, or to rows."""
    observer = observer or Observer()
    if request.transcript is not None:
        return fit_release(request, observer)
    if private_command(request.program) is not None:
        return fit_private(request, observer)
    return fit_rows(request, observer)


def sample(
    model: Model,
    rows: int | None = None,
    *,
    where: str | None = None,
    seed_rows: Any = None,
    seed: int = 0,
    workers: int = 1,
    output: Path | None = None,
    form: FileForm | None = None,
    advanced: Advanced = lambda _: None,
) -> Sample:
    """Rows of a model; or the `seed_rows` with their missing cells drawn. With `output` they are written to a file."""
    if seed_rows is not None:
        chunks = iter([Chunk(complete_rows(model, open_table(seed_rows), where=where, seed=seed))])
    else:
        chunks = sample_chunks(model, rows, where=where, seed=seed, workers=workers)
    collector = _Collector(rows or model.facts.rows, advanced)
    if output is None:
        collector.drain(chunks)
    else:
        moments = {c.name: c.decimals for c in model.codec.schema if isinstance(c, Temporal)}
        save_blocks(collector.passed(chunks), output, form, decimals=moments)
    return collector.sample()


def verify_sample(model: Model, drawn: Sample, *, only_rules: bool = False) -> tuple[Verdict, ...]:
    """The verdicts on rows of a model, within the tolerances of the rows it was fitted to.

    With `only_rules`, for rows that were restricted or completed: statistics are about a whole table.
    """
    if only_rules:
        return verify_spec(replace(model.spec, commands=model.spec.rules), drawn.table)
    return verify_spec(model.spec, drawn.table, model=model.facts.numbers)


class _Collector:
    """Keeps the first rows that pass, and how all of them were selected."""

    def __init__(self, total: int, advanced: Advanced) -> None:
        self._total, self._advanced = total, advanced
        self._kept: list[Table] = []
        self._rows = 0
        self._calibration: Calibration | None = None
        self._rejection: Rejection | None = None

    def passed(self, chunks: Iterator[Chunk], max_rows: int = MAX_VERIFIED) -> Iterator[Table]:
        """The tables of the chunks, the first `max_rows` rows or so of them kept."""
        for chunk in chunks:
            if self._rows < max_rows:
                self._kept.append(chunk.table)
            self._rows += chunk.table.rows
            if chunk.calibration is not None:
                before = self._calibration
                self._calibration = chunk.calibration if before is None else before.joined(chunk.calibration)
            if chunk.rejection is not None:
                rejected = self._rejection
                self._rejection = chunk.rejection if rejected is None else rejected.joined(chunk.rejection)
            self._advanced(min(1.0, self._rows / self._total))
            yield chunk.table

    def drain(self, chunks: Iterator[Chunk]) -> None:
        """Keep all rows."""
        for _ in self.passed(chunks, max_rows=2**63):
            pass

    def sample(self) -> Sample:
        """What was kept of everything that passed."""
        return Sample(Table.join(self._kept), self._rows, self._calibration, self._rejection)


class RequestOptions(TypedDict, total=False):
    """What a request says beside program and data, as people write it; see `FitRequest`."""

    schema: Schema | str | Path | None
    label: str | None
    rows: int | None
    seed: int
    config: Config | Mapping[str, Any] | None
    values: Mapping[str, str | float] | None
    csv: CsvOptions
    privacy: PrivacyOptions
    transcript: Transcript | str | Path | None


def run_program(
    program: str | Path | Program | None = None,
    data: Any = None,
    *,
    output: str | Path | None = None,
    observer: Observer | None = None,
    **options: Unpack[RequestOptions],
) -> RunResult:
    """`cuts run` as one call: fit the rows, draw a table, verify it.

    `program` is a text, a `Program`, or the path of a `.cuts` file; `data` a frame, the path of a file or another
    location, by default what the program names. With `output` the table is also written to that file.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [20, 30, 40, 50] * 25, "paid": ["no", "yes"] * 50})
    >>> result = run_program("SYNTHESIZE: people; ENFORCE: age > 20; END;", people, rows=10, config={"steps": 50})
    >>> result.table.rows, result.holds
    (10, True)
    """
    path = None if output is None else Path(output)
    return run(make_request(program, data, **options), output=path, observer=observer)


def make_request(
    program: str | Path | Program | None = None, data: Any = None, **options: Unpack[RequestOptions]
) -> FitRequest:
    """A request from what people write: texts, paths and mappings for programs, settings and transcripts."""
    seed, config, transcript = options.get("seed", 0), options.get("config"), options.get("transcript")
    if not 0 <= seed < 2**63:
        raise ValueError(f"a seed is a whole number from 0 to 2**63 - 1, not {seed!r}")
    return FitRequest(
        read_program(program),
        data,
        schema=options.get("schema"),
        label=options.get("label"),
        values=options.get("values") or {},
        config=config if isinstance(config, Config) else config_from(config or {}),
        seed=seed,
        rows=options.get("rows"),
        csv=options.get("csv", CsvOptions()),
        privacy=options.get("privacy", PrivacyOptions()),
        transcript=read_transcript(Path(transcript)) if isinstance(transcript, str | Path) else transcript,
    )

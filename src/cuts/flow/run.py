"""The picture: from a program and rows to a model, from a model to a table, from a table to verdicts.

`run` is the whole flow; `fit` and `sample` (`flow/sample.py`) are its halves. Each orders stages and decides nothing:
what is done for a command is decided by the plan (`cuts.plan`), and how by the passes (`cuts.effects`). What needs no
model, checking and judging tables, is `checks.py` and `judge.py`.

    program ─parse, check─► spec ─plan─► plan
    rows ─sample, count─► what is learned ─fit─► free model ─effects─► model
    model ─draw, calibrate─► table ─verify─► verdicts
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from cuts.assess.discriminator import Discriminator, compare_with_fitted
from cuts.assess.drift import Drift, drifts
from cuts.assess.learners import CLASSIFIERS, Classifier
from cuts.assess.verdicts import Verdicts
from cuts.assess.verify import verify as verify_spec
from cuts.config import Config, config_from
from cuts.data.exchange.csv_dialect import CsvOptions
from cuts.data.exchange.frames import FrameForm, to_native
from cuts.data.exchange.parts import output_at
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.flow.checks import private_command, private_test_rows
from cuts.flow.inputs import open_table, read_program
from cuts.flow.learn import fit_rows
from cuts.flow.native import form_of_sample, with_table
from cuts.flow.private import fit_private, fit_release, kept_release
from cuts.flow.release import read_transcript
from cuts.flow.report import build_report
from cuts.flow.request import FitRequest, FittedModel, PrivacyOptions
from cuts.flow.sample import Output, Sample, sample
from cuts.lang.syntax import Program
from cuts.model.facts import Facts
from cuts.model.store import Model
from cuts.plan import Plan, Step, Way
from cuts.privacy.transcript import Transcript
from cuts.progress import Observer
from cuts.text import html
from cuts.text.diagnostic import CutsError, counted

if TYPE_CHECKING:
    from cuts.report.page import ReportPage


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RunResult:
    """The outcome of a run: the model, a table drawn from it, and a verdict for every command.

    `discriminator` says how well a classifier separates the table from rows that the model was fitted to; None for a
    private program, whose rows may not be read, and when there are too few rows. `drifts` is what differs from those
    rows, the largest difference first; empty for a private program. `real` is a sample of the rows that the model was
    fitted to; None for a private program. `form` is the form of the frame that was given.
    """

    model: Model
    plan: Plan
    sample: Sample
    verdicts: Verdicts
    output: Output | None = None
    discriminator: Discriminator | None = None
    drifts: tuple[Drift, ...] = ()
    real: Table | None = None
    form: FrameForm | None = None

    def __repr__(self) -> str:
        """The outcome in one line: the model and the rows would fill the screen."""
        failing = sum(verdict.holds is False for verdict in self.verdicts)
        verdicts = f"{counted(len(self.verdicts), 'command')}, {failing} failing"
        return f"<RunResult: {self.sample.rows:,} rows, {verdicts}, fit error {self.facts.error:.2g}>"

    @property
    def table(self) -> Table:
        """The synthetic rows."""
        return self.sample.table

    @property
    def frame(self) -> Any:
        """The synthetic rows as the kind of frame that was given: pandas, polars or Arrow; Arrow if it was a file."""
        return self.table.arrow if self.form is None else to_native(self.table, self.form)

    def draw(self, n: int | None = None, *, where: str | None = None, seed: int = 1, workers: int = 1) -> Any:
        """More rows of the model as the same kind of frame; `where` is a condition that all of them satisfy."""
        drawn = sample(self.model, n, where=where, seed=seed, workers=workers)
        return replace(self, sample=drawn).frame

    def _repr_html_(self) -> str:
        return html.paragraph(repr(self)[1:-1]) + self.verdicts._repr_html_()

    @property
    def facts(self) -> Facts:
        """How the model was made."""
        return self.model.facts

    @property
    def holds(self) -> bool:
        """Whether no command fails."""
        return self.verdicts.holds

    @property
    def departures(self) -> tuple[tuple[Step, Way], ...]:
        """The steps met in another way than planned: the rows' bins called for it, or a target was out of reach."""
        taken = {met.number: met.way for met in self.facts.ways}
        return tuple(
            (step, taken[step.number]) for step in self.plan.steps if taken.get(step.number, step.way) != step.way
        )

    def report(self, test: Any = None, *, observer: Observer | None = None) -> ReportPage:
        """The report of the run, as a page that notebooks show and `save` writes.

        `test` are real rows that the model was not fitted to, as a table, a frame or a location: classifiers are scored
        on them, and they show whether rows were memorised. Not for a private program.
        """
        from cuts.report.page import ReportPage

        unseen = None if test is None else test if isinstance(test, Table) else open_table(test)
        return ReportPage(build_report(self, test=unseen, observer=observer))


def run(
    request: FitRequest,
    *,
    output: Output | None = None,
    workers: int = 1,
    panel: Sequence[Classifier] = CLASSIFIERS,
    observer: Observer | None = None,
) -> RunResult:
    """Fit a model, draw a table from it and verify that; with `output` the table is written as well."""
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
            workers=workers,
            observer=observer,
        )
        observer.stage("verifying")
        verdicts = verify_spec(
            fitted.plan.spec,
            drawn.table,
            real=fitted.real,
            reference=fitted.reference,
            model=fitted.model.facts.numbers,
            panel=panel,
            totals=drawn.totals,
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
    return RunResult(
        fitted.model, fitted.plan, drawn, Verdicts(verdicts), output, discriminator, differences, fitted.real
    )


def fit(request: FitRequest, *, observer: Observer | None = None) -> FittedModel:
    """The model of a program: fitted to an existing release, to private rows through the trusted core, or to rows."""
    observer = observer or Observer()
    is_private = request.transcript is not None or private_command(request.program) is not None
    if is_private and request.test is not None:
        raise CutsError([private_test_rows()])
    if request.transcript is not None:
        return fit_release(request, observer)
    if is_private:
        return fit_private(request, observer)
    return fit_rows(request, observer)


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
    test: Table | None


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
    location, by default what the program names. With `output` the table is also written to that file, or to Parquet
    parts in that folder if it ends in a slash. `observer` is told how far the work is; without one nothing is printed.

    The other options, all by keyword:

    - `schema`: a `Schema` or the path of its file; by default inferred from the rows.
    - `label`: the column to predict; overrides the label of the schema.
    - `rows`: number of rows to draw; by default as many as were fitted.
    - `seed`: random seed, 0 by default.
    - `config`: a `Config` or a mapping of its settings, such as `{"steps": 300}`.
    - `values`: values of the placeholders of the program, by name.
    - `test`: a `Table` of real rows for the report that the model is not fitted to.
    - `csv`: delimiter, quote character and encoding of a CSV file, detected if omitted.
    - `privacy`, `transcript`: ledger and limit of a private program; an existing release to fit to.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [20, 30, 40, 50] * 25, "paid": ["no", "yes"] * 50})
    >>> result = run_program("SYNTHESIZE: people; ENFORCE: age > 20; END;", people, rows=10, config={"steps": 50})
    >>> result  # doctest: +ELLIPSIS
    <RunResult: 10 rows, 1 command, 0 failing, fit error ...>
    >>> result.frame.num_rows, result.verdicts, result.draw(5).num_rows
    (10, <Verdicts: 1 hold, 0 fail>, 5)
    """
    place = None if output is None else output_at(output)
    request, form = with_table(make_request(program, data, **options))
    result = run(request, output=place, observer=observer)
    form = form_of_sample(data, form, result.model.codec.schema, result.table)
    model = result.model if form is None else replace(result.model, frame=form.library)
    return replace(result, model=model, form=form)


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
        test=options.get("test"),
    )

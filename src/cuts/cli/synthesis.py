"""The commands that make rows: run, fit, sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from errno import EISDIR
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa
import typer

from cuts import pipeline
from cuts.assess.learners import CLASSIFIERS
from cuts.assess.verify import holds
from cuts.cli import options
from cuts.cli.made import Made, as_data, as_text, fit_facts, summary, write_report
from cuts.cli.progress import watching
from cuts.cli.shared import print_json, say, stoppable, values
from cuts.config import Config, read_config
from cuts.count.sources import FileRows, Rows, spread_sample
from cuts.data.exchange.files import save_blocks
from cuts.data.exchange.streams import check_writable
from cuts.data.table import Table
from cuts.text import render as diagnostics
from cuts.text.diagnostic import CutsError, counted, has_errors, usage_error
from cuts.text.files import unwritable

if TYPE_CHECKING:  # torch is loaded by the commands that need it
    from cuts.model.calibrate import Calibration
    from cuts.model.store import Model

MOST_VERIFIED = 5_000_000  # rows kept in memory for the verdicts
PREVIEW_STEPS = 200

app = typer.Typer()

LabelOption = Annotated[
    str | None, typer.Option("--label", help="The column to predict, if the schema names none.", show_default=False)
]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="Settings, .toml.", show_default=False)]
SeedOption = Annotated[int, typer.Option("--seed", min=0, max=2**63 - 1, help="The same seed gives the same rows.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing while working.")]
DeviceOption = Annotated[str | None, typer.Option("--device", help="auto, cpu, cuda or mps.", show_default=False)]
ThreadsOption = Annotated[int | None, typer.Option("--threads", min=1, help="Cores to use.", show_default=False)]
PreviewOption = Annotated[bool, typer.Option("--preview", help="A quick, less exact fit.")]
RowsOption = Annotated[
    int | None,
    typer.Option("-n", "--rows", min=1, help="How many rows; otherwise as many as fitted.", show_default=False),
]


@app.command()
def run(
    program: options.ProgramPath,
    data: options.DataOption = None,
    rows: RowsOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The table to write; otherwise PROGRAM_synthetic.csv.", show_default=False),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Write verdicts and facts there, .json or .txt.", show_default=False)
    ] = None,
    schema: options.SchemaOption = None,
    label: LabelOption = None,
    set_: options.SetOption = None,
    config: ConfigOption = None,
    seed: SeedOption = 0,
    device: DeviceOption = None,
    threads: ThreadsOption = None,
    preview: PreviewOption = False,
    quiet: QuietOption = False,
    delimiter: options.DelimiterOption = None,
    quote: options.QuoteOption = None,
    encoding: options.EncodingOption = None,
    format: options.FormatOption = options.Format.text,
) -> None:
    """Fit the table, write a synthetic one and give a verdict for every command.

    Example: cuts run fair.cuts -n 10000 -o synthetic.csv
    """
    from cuts import sampling

    target = output or Path(f"{program.stem}_synthetic.csv")
    check_writable(target)
    _check_places(target, report)
    settings = _settings(config, device, threads, preview)
    dialect = (delimiter, quote, encoding)
    source, model = _fit(program, data, schema, label, set_, settings, seed, quiet, dialect, (target, report), rows)
    asked = pipeline.read_program(program)
    kept: list[pa.Table] = []
    chosen: list[Calibration] = []
    with stoppable("the rows were written", "nothing was written; ask for fewer rows with `-n`"):
        blocks = _keeping(sampling.sample_blocks(model, rows, seed=seed, chosen=chosen.append), kept)
        written = save_blocks(blocks, target, source.form)
    table = Table(pa.concat_tables(kept))
    with stoppable("the verdicts were given", f"the table was written; `cuts verify {program} {target}` gives them"):
        outcome = pipeline.verify(
            asked,
            model.codec.schema,
            table,
            values=values(set_),
            real=spread_sample(source),
            model={goal.number: goal.after for goal in model.facts.goals},
            panel=CLASSIFIERS[:1] if preview else CLASSIFIERS,
        )
    made = Made(str(target), written, model, outcome, chosen[0] if chosen else None)
    if report is not None:
        write_report(report, made)
        if not quiet:
            say(f"{report} written")
    if format is options.Format.json:
        print_json(as_data(made))
    else:
        print(as_text(made), end="")
        if written > sum(block.num_rows for block in kept):
            print(f"verdicts are of the first {counted(sum(b.num_rows for b in kept), 'row')}")
        print(f"{target}: {counted(written, 'row')}, {summary(model)}")
    raise typer.Exit(0 if holds(outcome) else 1)


@app.command()
def fit(
    program: options.ProgramPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model to write, .synth.")],
    data: options.DataOption = None,
    schema: options.SchemaOption = None,
    label: LabelOption = None,
    set_: options.SetOption = None,
    config: ConfigOption = None,
    seed: SeedOption = 0,
    device: DeviceOption = None,
    threads: ThreadsOption = None,
    preview: PreviewOption = False,
    quiet: QuietOption = False,
    delimiter: options.DelimiterOption = None,
    quote: options.QuoteOption = None,
    encoding: options.EncodingOption = None,
    format: options.FormatOption = options.Format.text,
) -> None:
    """Fit the table and write the model, to sample from it later without the table.

    Example: cuts fit fair.cuts -o fair.synth
    """
    from cuts.model import store

    if output.suffix != store.ENDING:
        raise usage_error("unknown-format", f"a model is a `{store.ENDING}` file", f"e.g. `-o {output.stem}.synth`")
    _check_places(output)
    settings = _settings(config, device, threads, preview)
    dialect = (delimiter, quote, encoding)
    _, model = _fit(program, data, schema, label, set_, settings, seed, quiet, dialect, (output,))
    store.save(model, output)
    if format is options.Format.json:
        print_json({"output": str(output), **fit_facts(model)})
    else:
        print(f"{output}: {summary(model)}")


@app.command()
def sample(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A .synth file.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="The table to write.")],
    rows: RowsOption = None,
    where: Annotated[
        str | None, typer.Option("--where", help="A condition all rows satisfy.", show_default=False)
    ] = None,
    seed_rows: Annotated[
        str | None,
        typer.Option("--seed-rows", help="A table whose cells are kept and whose gaps are filled.", show_default=False),
    ] = None,
    seed: SeedOption = 0,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Threads that draw; the rows are the same.")] = 1,
    format: options.FormatOption = options.Format.text,
) -> None:
    """Draw rows from a model; the row rules of its program hold in all of them.

    Example: cuts sample fair.synth -n 1000 -o old.csv --where "age > 60 AND sex == Female"
    """
    from cuts import sampling
    from cuts.model import store

    check_writable(output)
    _check_places(output)
    _check_apart([output], [model, seed_rows])
    loaded = store.load(model)
    if seed_rows is not None and rows is not None:
        raise usage_error("bad-count", "give either `-n` or `--seed-rows`", "each seed row makes one row")
    with stoppable("the rows were written", "nothing was written; ask for fewer rows with `-n`"):
        if seed_rows is not None:
            given = pipeline.open_table(seed_rows)
            blocks = iter([sampling.complete_rows(loaded, given, where=where, seed=seed)])
        else:
            blocks = sampling.sample_blocks(loaded, rows, where=where, seed=seed, workers=workers)
        written = save_blocks(blocks, output)
    if format is options.Format.json:
        print_json({"output": str(output), "rows": written})
    else:
        print(f"{output}: {counted(written, 'row')}")


# --- shared steps


def _settings(path: Path | None, device: str | None, threads: int | None, preview: bool) -> Config:
    """The settings of the file, with those of the command line over them."""
    found = read_config(path) if path is not None else Config()
    given: dict[str, Any] = {"device": device, "threads": threads, "steps": PREVIEW_STEPS if preview else None}
    return replace(found, **{name: value for name, value in given.items() if value is not None})


def _fit(
    path: Path,
    data: str | None,
    schema: Path | None,
    label: str | None,
    set_: list[str] | None,
    settings: Config,
    seed: int,
    quiet: bool,
    dialect: tuple[str | None, str | None, str | None],
    written: tuple[Path | None, ...],
    draw: int | None = None,
) -> tuple[Rows, Model]:
    """The rows of a program and their model, once the program has no errors; its warnings are said."""
    from cuts import synthesis

    program = pipeline.read_program(path)
    synthesis.check_supported(program)
    delimiter, quote, encoding = dialect
    rows = pipeline.find_rows(program, data, delimiter=delimiter, quote=quote, encoding=encoding)
    _check_apart(written, (path, schema, rows.path if isinstance(rows, FileRows) else None))
    known = pipeline.schema_of(program, rows, schema=schema, label=label)
    filled = values(set_)
    found = pipeline.check(program, known, values=filled)
    if found.spec is None or has_errors(found.diagnostics):
        raise CutsError(found.diagnostics, program.source)
    warnings = found.diagnostics
    if warnings and not quiet:
        say(diagnostics.as_text(warnings, program.source))
    faster = "nothing was written; `--preview` fits faster"
    with stoppable("the fit was finished", faster), watching(quiet) as watch:
        model = synthesis.fit_model(
            program, known, rows, config=settings, seed=seed, values=filled, draw=draw, watch=watch
        )
    return rows, model


def _check_places(*paths: Path | None) -> None:
    """Refuse before any training what could not be written after it."""
    for path in filter(None, paths):
        try:
            if path.is_dir():
                raise IsADirectoryError(EISDIR, "a folder")
            TemporaryFile(dir=path.parent).close()
        except OSError as error:
            raise unwritable(path, error) from None


def _check_apart(written: Sequence[Path | None], read: Sequence[str | Path | None]) -> None:
    """Refuse to replace what is read."""
    known = {Path(each).resolve() for each in read if each is not None}
    for path in filter(None, written):
        if path.exists() and path.resolve() in known:
            raise usage_error("unwritable-file", f"{path} is read by this command", "give another file to write to")


def _keeping(blocks: Iterator[Table], kept: list[pa.Table]) -> Iterator[Table]:
    """The blocks, the first of them also kept."""
    rows = 0
    for block in blocks:
        if rows < MOST_VERIFIED:
            kept.append(block.arrow)
        rows += block.rows
        yield block

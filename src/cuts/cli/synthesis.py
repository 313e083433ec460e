"""The commands that make rows: run, fit, sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa
import typer

from cuts.assess.learners import CLASSIFIERS
from cuts.assess.verify import holds, verify
from cuts.cli import options
from cuts.cli.fitting import Asked, Dialect, Release, check_apart, check_places, fit_asked
from cuts.cli.made import Made, as_data, as_text, fit_facts, summary, write_report
from cuts.cli.shared import print_json, say, stoppable, values
from cuts.config import Config, read_config
from cuts.data.exchange.files import save_blocks
from cuts.data.exchange.streams import check_writable
from cuts.data.table import Table
from cuts.flow import inputs
from cuts.model.rows import complete_rows, sample_blocks
from cuts.text.diagnostic import counted, usage_error

if TYPE_CHECKING:  # torch is loaded by the commands that need it
    from cuts.model.calibrate import Calibration

MAX_VERIFIED = 5_000_000  # rows kept in memory for the verdicts
PREVIEW_STEPS = 200

app = typer.Typer()

LabelOption = Annotated[
    str | None, typer.Option("--label", help="The column to predict, if the schema names none.", show_default=False)
]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="Settings, .toml.", show_default=False)]
SeedOption = Annotated[
    int, typer.Option("--seed", min=0, max=2**63 - 1, help="The same seed gives the same rows; privacy noise has none.")
]
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
    from_transcript: options.TranscriptOption = None,
    data_id: options.DataIdOption = None,
    ledger: options.LedgerOption = None,
    max_epsilon: options.MaxEpsilonOption = None,
    format: options.FormatOption = options.Format.text,
) -> None:
    """Fit the table, write a synthetic one and give a verdict for every command.

    Example: cuts run fair.cuts -n 10000 -o synthetic.csv
    """

    target = output or Path(f"{program.stem}_synthetic.csv")
    check_writable(target)
    check_places(target, report)
    asked = Asked(
        program,
        data,
        schema,
        label,
        values(set_),
        _settings(config, device, threads, preview),
        seed,
        quiet,
        Dialect(delimiter, quote, encoding),
        (target, report),
        Release(from_transcript, data_id, ledger, max_epsilon),
        rows,
    )
    fitted = fit_asked(asked)
    model = fitted.model
    kept: list[pa.Table] = []
    chosen: list[Calibration] = []
    with stoppable("the rows were written", "nothing was written; ask for fewer rows with `-n`"):
        blocks = _keeping(sample_blocks(model, rows, seed=seed, chosen=chosen.append), kept)
        written = save_blocks(blocks, target, fitted.form)
    table = Table(pa.concat_tables(kept))
    with stoppable("the verdicts were given", f"the table was written; `cuts verify {program} {target}` gives them"):
        outcome = verify(
            fitted.spec,
            table,
            real=fitted.real,
            reference=fitted.reference,
            model=model.facts.numbers,
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
    from_transcript: options.TranscriptOption = None,
    data_id: options.DataIdOption = None,
    ledger: options.LedgerOption = None,
    max_epsilon: options.MaxEpsilonOption = None,
    format: options.FormatOption = options.Format.text,
) -> None:
    """Fit the table and write the model, to sample from it later without the table.

    Example: cuts fit fair.cuts -o fair.synth
    """
    from cuts.model import store

    if output.suffix != store.ENDING:
        raise usage_error("unknown-format", f"a model is a `{store.ENDING}` file", f"e.g. `-o {output.stem}.synth`")
    check_places(output)
    asked = Asked(
        program,
        data,
        schema,
        label,
        values(set_),
        _settings(config, device, threads, preview),
        seed,
        quiet,
        Dialect(delimiter, quote, encoding),
        (output,),
        Release(from_transcript, data_id, ledger, max_epsilon),
    )
    model = fit_asked(asked).model
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
    from cuts.model import store

    check_writable(output)
    check_places(output)
    check_apart([output], [model, seed_rows])
    loaded = store.load(model)
    if seed_rows is not None and rows is not None:
        raise usage_error("bad-count", "give either `-n` or `--seed-rows`", "each seed row makes one row")
    with stoppable("the rows were written", "nothing was written; ask for fewer rows with `-n`"):
        if seed_rows is not None:
            given = inputs.open_table(seed_rows)
            blocks = iter([complete_rows(loaded, given, where=where, seed=seed)])
        else:
            blocks = sample_blocks(loaded, rows, where=where, seed=seed, workers=workers)
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


def _keeping(blocks: Iterator[Table], kept: list[pa.Table]) -> Iterator[Table]:
    """The blocks, the first of them also kept."""
    rows = 0
    for block in blocks:
        if rows < MAX_VERIFIED:
            kept.append(block.arrow)
        rows += block.rows
        yield block

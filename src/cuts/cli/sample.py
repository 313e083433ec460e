"""The command that samples rows from a model: sample."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuts.assess import render
from cuts.assess.verify import holds
from cuts.cli import completion, options
from cuts.cli.progress import show_progress
from cuts.cli.request import check_apart, check_output
from cuts.cli.run_result import rejection_data, rejection_text, written, written_data
from cuts.cli.shared import print_json, stoppable
from cuts.cli.terminal import print_verdicts
from cuts.data.exchange.parts import PartsFolder, output_at
from cuts.lang.spec import Privacy, RowRule
from cuts.sources.spark import SparkPath, spark_path
from cuts.text.diagnostic import usage_error

app = typer.Typer()


@app.command()
def sample(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="Model, a .synth file.", show_default=False, autocompletion=completion.models
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="PLACE",
            help="File to write, its ending decides the format; a folder, ending in `/`, for Parquet parts; or "
            "`spark:PATH` for Parquet parts that Spark draws and writes.",
            show_default=False,
        ),
    ],
    rows: options.RowsOption = None,
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="CONDITION", help="Condition that all rows satisfy.", show_default=False),
    ] = None,
    seed_rows: Annotated[
        str | None,
        typer.Option(
            "--seed-rows",
            metavar="TABLE",
            help="Table to complete: its cells are kept, missing cells and columns are generated. Excludes -n.",
            show_default=False,
        ),
    ] = None,
    seed: options.SeedOption = 0,
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", min=1, help="Processes; the rows do not depend on it.")
    ] = 1,
    quiet: options.QuietOption = False,
    format: options.FormatOption = "text",
) -> None:
    """Sample rows from a model and verify them. All of them satisfy the row rules of its program.

    Example: cuts sample fair.synth -n 1000 -o old.csv --where "age > 60 AND sex == Female"
    """
    from cuts.flow.sample import sample, verify_sample
    from cuts.flow.spark_draw import sample_to_spark
    from cuts.model import store

    target = spark_path(output) or output_at(output)
    if not isinstance(target, SparkPath):
        check_output(target)
        check_apart([target], [model, seed_rows])
    if seed_rows is not None and rows is not None:
        raise usage_error("bad-count", "`-n` and `--seed-rows` exclude each other", "one row is generated per seed row")
    if seed_rows is not None and isinstance(target, SparkPath):
        help = "name a file to write, e.g. `-o completed.parquet`"
        raise usage_error("not-supported", "completed seed rows are written to one file, not by Spark", help)
    loaded = store.load(model)
    with stoppable("the rows were written", _help(target)), show_progress(quiet, "sampling rows") as observer:
        if isinstance(target, SparkPath):
            drawn = sample_to_spark(loaded, rows, target, where=where, seed=seed)
        else:
            drawn = sample(
                loaded,
                rows,
                where=where,
                seed_rows=seed_rows,
                seed=seed,
                workers=workers,
                output=target,
                observer=observer,
            )
    restricted = " and ".join(name for name, given in (("--where", where), ("--seed-rows", seed_rows)) if given)
    verdicts = verify_sample(loaded, drawn, only_rules=bool(restricted))
    others = any(not isinstance(command, RowRule | Privacy) for command in loaded.spec.commands)
    if format == "json":
        data = render.as_data(verdicts)
        rejected = rejection_data(drawn.rejection)
        facts = {"holds": holds(verdicts), "output": str(target), **written_data(drawn)}
        print_json({**facts, **({} if rejected is None else {"rejection": rejected}), "verdicts": data})
    else:
        if verdicts:
            details = render.details(verdicts)
            print_verdicts(verdicts, f"{render.as_text(verdicts)}\n\n", f"{details}\n\n" if details else "")
        if drawn.rejection is not None:
            print(rejection_text(drawn.rejection), end="\n\n")
        if restricted and others:
            print(f"Only row rules were verified: with {restricted}, rows are not selected for the other commands.")
        print(written(drawn, target))
    raise typer.Exit(0 if holds(verdicts) else 1)


def _help(target: Path | PartsFolder | SparkPath) -> str:
    if isinstance(target, PartsFolder):
        return "repeat the command to continue; parts that are finished are kept"
    return "nothing was written; ask for fewer rows with `-n`"

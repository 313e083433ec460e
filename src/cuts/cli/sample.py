"""The command that draws rows from a model: sample."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuts.cli import options
from cuts.cli.request import check_apart, check_places
from cuts.cli.shared import print_json, stoppable
from cuts.data.exchange.streams import check_writable
from cuts.text.diagnostic import counted, usage_error

app = typer.Typer()


@app.command()
def sample(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A .synth file.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Table to write.", show_default=False)],
    rows: options.RowsOption = None,
    where: Annotated[
        str | None, typer.Option("--where", help="Condition that all rows satisfy.", show_default=False)
    ] = None,
    seed_rows: Annotated[
        str | None,
        typer.Option(
            "--seed-rows", help="Table whose cells are kept and whose missing cells are drawn.", show_default=False
        ),
    ] = None,
    seed: options.SeedOption = 0,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Threads that draw; the rows are the same.")] = 1,
    format: options.FormatOption = "text",
) -> None:
    """Draw rows from a model; the row rules of its program hold in all of them.

    Example: cuts sample fair.synth -n 1000 -o old.csv --where "age > 60 AND sex == Female"
    """
    from cuts.flow import run as flow
    from cuts.model import store

    check_writable(output)
    check_places(output)
    check_apart([output], [model, seed_rows])
    if seed_rows is not None and rows is not None:
        raise usage_error("bad-count", "give either `-n` or `--seed-rows`", "each seed row makes one row")
    loaded = store.load(model)
    with stoppable("the rows were written", "nothing was written; ask for fewer rows with `-n`"):
        drawn = flow.sample(loaded, rows, where=where, seed_rows=seed_rows, seed=seed, workers=workers, output=output)
    if format == "json":
        print_json({"output": str(output), "rows": drawn.rows})
    else:
        print(f"{counted(drawn.rows, 'row')} written to {output}")

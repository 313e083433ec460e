"""The command that samples rows from a model: sample."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuts.assess import render
from cuts.assess.verify import holds
from cuts.cli import options
from cuts.cli.request import check_apart, check_places
from cuts.cli.run_result import rejection_data, rejection_text
from cuts.cli.shared import print_json, stoppable
from cuts.data.exchange.streams import check_writable
from cuts.lang.spec import Privacy, RowRule
from cuts.text.diagnostic import counted, usage_error

app = typer.Typer()


@app.command()
def sample(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model, a .synth file.", show_default=False)],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Table to write; its ending decides the format.", show_default=False
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
        int, typer.Option("--workers", metavar="N", min=1, help="Threads; the rows do not depend on it.")
    ] = 1,
    format: options.FormatOption = "text",
) -> None:
    """Sample rows from a model and verify them. All of them satisfy the row rules of its program.

    Example: cuts sample fair.synth -n 1000 -o old.csv --where "age > 60 AND sex == Female"
    """
    from cuts.flow import run as flow
    from cuts.model import store

    check_writable(output)
    check_places(output)
    check_apart([output], [model, seed_rows])
    if seed_rows is not None and rows is not None:
        raise usage_error("bad-count", "`-n` and `--seed-rows` exclude each other", "one row is generated per seed row")
    loaded = store.load(model)
    with stoppable("the rows were written", "nothing was written; ask for fewer rows with `-n`"):
        drawn = flow.sample(loaded, rows, where=where, seed_rows=seed_rows, seed=seed, workers=workers, output=output)
    restricted = " and ".join(name for name, given in (("--where", where), ("--seed-rows", seed_rows)) if given)
    verdicts = flow.verify_sample(loaded, drawn, only_rules=bool(restricted))
    others = any(not isinstance(command, RowRule | Privacy) for command in loaded.spec.commands)
    if format == "json":
        data = render.as_data(verdicts)
        rejected = rejection_data(drawn.rejection)
        facts = {"holds": holds(verdicts), "output": str(output), "rows": drawn.rows}
        print_json({**facts, **({} if rejected is None else {"rejection": rejected}), "verdicts": data})
    else:
        if verdicts:
            print(render.as_text(verdicts), end="\n\n")
        if drawn.rejection is not None:
            print(rejection_text(drawn.rejection), end="\n\n")
        if restricted and others:
            print(f"Only row rules were verified: with {restricted}, rows are not selected for the other commands.")
        if verdicts and drawn.rows > drawn.table.rows:
            print(f"verdicts are about the first {counted(drawn.table.rows, 'row')}")
        print(f"{counted(drawn.rows, 'row')} written to {output}")
    raise typer.Exit(0 if holds(verdicts) else 1)

"""The command about the embedded tables: list them, describe one, write one to a file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cuts import datasets
from cuts.cli.options import FormatOption, Split
from cuts.cli.shared import print_json, say
from cuts.data.column_facts import column_kind, column_values
from cuts.data.schema import Category, Column, Schema, as_data
from cuts.text.columns import align
from cuts.text.diagnostic import counted, usage_error

app = typer.Typer()

MAX_CATEGORIES_SHOWN = 16  # of one column, on one line


@app.command("datasets")
def datasets_command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Table to describe or write; without it, all are listed.", show_default=False
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write the rows to; its ending decides the format. Default: describe the table.",
            show_default=False,
        ),
    ] = None,
    split: Annotated[Split, typer.Option("--split", help="Rows to write.")] = "train",
    format: FormatOption = "text",
) -> None:
    """List the embedded tables, describe one, or write one to a file.

    Example: cuts datasets adult -o adult.csv
    """
    if name is None:
        _list(as_json=format == "json")
        return
    dataset = datasets.find(name)
    if dataset is None:
        names = ", ".join(f"`{known.name}`" for known in datasets.DATASETS)
        raise usage_error("unknown-data", f"there is no embedded table `{name}`", f"choose from {names}")
    if output is None:
        _describe(dataset, as_json=format == "json")
        return
    datasets.export(dataset, output, split)
    say(f"{output} written")


def _list(*, as_json: bool) -> None:
    if as_json:
        print_json([asdict(dataset) for dataset in datasets.DATASETS])
        return
    rows = [[d.name, f"{d.train:,}", f"{d.test:,}", d.licence, d.title] for d in datasets.DATASETS]
    print(align(["name", "train rows", "test rows", "licence", "about"], rows, right=[1, 2]))


def _describe(dataset: datasets.Dataset, *, as_json: bool) -> None:
    schema = datasets.load_schema(dataset)
    if as_json:
        print_json({**asdict(dataset), "schema": as_data(schema)})
        return
    print(dataset.title)
    print(f"source:  {dataset.source}")
    print(f"licence: {dataset.licence}")
    print(f"rows:    {dataset.train:,} train, {dataset.test:,} test; {counted(len(schema.columns), 'column')}\n")
    rows = [[column.name, column_kind(column), _role(column, schema), _values(column)] for column in schema]
    print(align(["column", "kind", "role", "values"], rows))


def _role(column: Column, schema: Schema) -> str:
    roles = {"label": column.name == schema.label, "protected": column.name in schema.protected}
    return ", ".join(role for role, applies in roles.items() if applies)


def _values(column: Column) -> str:
    """The range of a column, or its categories as far as they fit on a line."""
    if not isinstance(column, Category):
        return column_values(column)
    more = len(column.categories) - MAX_CATEGORIES_SHOWN
    shown = ", ".join(column.categories[:MAX_CATEGORIES_SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown

"""The command that evaluates a synthetic table against real rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cuts import datasets
from cuts.assess import render_quality
from cuts.assess.evaluate import evaluate as evaluate_tables
from cuts.assess.features import Features
from cuts.assess.grid import Bins
from cuts.assess.request import PARTS, EvaluateOptions, Part, unknown_column
from cuts.cli import completion
from cuts.cli.options import (
    DelimiterOption,
    DropOption,
    EncodingOption,
    FormatOption,
    ProtectedOption,
    QuietOption,
    QuoteOption,
    SchemaOption,
)
from cuts.cli.shared import print_json, say
from cuts.cli.terminal import print_text
from cuts.data.exchange.csv_dialect import CsvOptions
from cuts.data.schema import Schema
from cuts.data.schema_file import read_schema
from cuts.data.table import Table
from cuts.flow import inputs
from cuts.text.diagnostic import CutsError

app = typer.Typer()


@app.command()
def evaluate(
    synthetic: Annotated[
        str,
        typer.Argument(
            metavar="SYNTHETIC",
            help="Synthetic table: a file.",
            show_default=False,
            autocompletion=completion.tables,
        ),
    ],
    train: Annotated[
        str,
        typer.Option(
            "--train",
            metavar="TABLE",
            help="Real rows it was generated from: a file, or an embedded table such as `adult:train`.",
            show_default=False,
            autocompletion=completion.tables,
        ),
    ],
    test: Annotated[
        str | None,
        typer.Option(
            "--test",
            metavar="TABLE",
            help="Real rows it was not generated from, such as `adult:test`. Default: a quarter of the train rows.",
            show_default=False,
            autocompletion=completion.tables,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", metavar="COLUMN", help="Column to predict. Default: the schema's label.", show_default=False
        ),
    ] = None,
    protected: ProtectedOption = None,
    desired: Annotated[
        str | None,
        typer.Option(
            "--desired",
            metavar="VALUE",
            help="Favourable outcome, for fairness measures. Default: the target's last category.",
            show_default=False,
        ),
    ] = None,
    schema: SchemaOption = None,
    drop: DropOption = None,
    id_: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="Identifier, unique per row; left out as well. Repeatable.",
            show_default=False,
        ),
    ] = None,
    parts: Annotated[
        str | None,
        typer.Option(
            "--parts",
            metavar="A,B",
            help=f"Parts to evaluate, from {', '.join(PARTS)}. Default: all that apply.",
            show_default=False,
        ),
    ] = None,
    features: Annotated[
        Features, typer.Option("--features", help="Numbers as classifiers see them: as they are, or in 32 bins.")
    ] = "raw",
    bins: Annotated[
        Bins, typer.Option("--bins", help="Bins of numbers for marginals: of equal width, or of equal frequency.")
    ] = "uniform",
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Random seed of the rows compared.")] = 0,
    delimiter: DelimiterOption = None,
    quote: QuoteOption = None,
    encoding: EncodingOption = None,
    quiet: QuietOption = False,
    format: FormatOption = "text",
) -> None:
    """Compare a synthetic table with real rows. Measures marginals, prediction, fairness and leakage.

    Example: cuts evaluate synthetic.csv --train adult:train --test adult:test
    """
    chosen = _parts(parts)
    csv = CsvOptions(delimiter, quote, encoding)
    generated, real = (inputs.open_table(table, csv) for table in (synthetic, train))
    held_out = None if test is None else inputs.open_table(test, csv)
    options = EvaluateOptions(target, protected or None, desired, chosen, features, bins, seed)
    known = _schema(schema, train, real, target, drop or [], id_ or [])
    quality = evaluate_tables(generated, real, held_out, known, options, say=(lambda _: None) if quiet else say)
    if format == "json":
        print_json(render_quality.as_data(quality))
    else:
        print_text(render_quality.as_text(quality))


def _parts(given: str | None) -> tuple[Part, ...] | None:
    if given is None:
        return None
    words = [word.strip() for word in given.split(",")]
    for word in words:
        if word not in PARTS:
            raise typer.BadParameter(
                f"there is no part '{word}'; choose from {', '.join(PARTS)}", param_hint="'--parts'"
            )
    return tuple(part for part in PARTS if part in words)


def _schema(path: Path | None, name: str, train: Table, target: str | None, drop: list[str], ids: list[str]) -> Schema:
    """The schema that was given, the one of the embedded table, or one inferred from the train rows."""
    embedded = datasets.find(name.partition(":")[0])
    if path is not None:
        return _without(read_schema(path), {*drop, *ids})
    if embedded is not None and not Path(name).exists():
        return _without(datasets.load_schema(embedded), {*drop, *ids})
    return inputs.infer_for_target(train, inputs.source_name(name), target, drop=drop, ids=ids)


def _without(schema: Schema, names: set[str]) -> Schema:
    """The schema without some of its columns."""
    unknown = sorted(names - {*schema.names})
    if unknown:
        raise CutsError(unknown_column(name, schema) for name in unknown)
    return replace(
        schema,
        columns=tuple(column for column in schema if column.name not in names),
        label=None if schema.label in names else schema.label,
        protected=tuple(name for name in schema.protected if name not in names),
        derived=tuple(pair for pair in schema.derived if not {*pair} & names),
        formulas=tuple((name, of) for name, of in schema.formulas if not {name, *of.columns} & names),
    )

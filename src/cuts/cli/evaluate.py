"""The command that judges a synthetic table: evaluate."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cuts import datasets
from cuts.assess import render_quality
from cuts.assess.evaluate import evaluate as evaluate_tables
from cuts.assess.request import PARTS, EvaluateOptions, Part, unknown_column
from cuts.cli.options import DelimiterOption, EncodingOption, Format, FormatOption, QuoteOption, SchemaOption
from cuts.cli.shared import print_json, say
from cuts.data.schema import Schema
from cuts.data.schema_file import read_schema
from cuts.data.table import Table
from cuts.flow import inputs
from cuts.text.diagnostic import CutsError


class Bins(StrEnum):
    """How numbers are cut to compare marginals."""

    uniform = "uniform"
    quantile = "quantile"


class Features(StrEnum):
    """How learners see numbers."""

    raw = "raw"
    bins = "bins"


app = typer.Typer()


@app.command()
def evaluate(
    synthetic: Annotated[str, typer.Argument(metavar="SYNTHETIC", help="The table to judge: a file.")],
    train: Annotated[str, typer.Option("--train", help="The real rows it was made from: a file, or `adult:train`.")],
    test: Annotated[str, typer.Option("--test", help="Real rows nobody trained on: a file, or `adult:test`.")],
    target: Annotated[str | None, typer.Option("--target", help="The column to predict.")] = None,
    protected: Annotated[list[str] | None, typer.Option("--protected", help="A column to be fair to.")] = None,
    desired: Annotated[str | None, typer.Option("--desired", help="The outcome groups should get alike.")] = None,
    schema: SchemaOption = None,
    drop: Annotated[list[str] | None, typer.Option("--drop", help="A column to leave out.")] = None,
    id_: Annotated[list[str] | None, typer.Option("--id", help="A column that is unique per row.")] = None,
    parts: Annotated[str | None, typer.Option("--parts", help=f"Some of {','.join(PARTS)}.")] = None,
    features: Annotated[Features, typer.Option("--features", help="How learners see numbers.")] = Features.raw,
    bins: Annotated[Bins, typer.Option("--bins", help="How numbers are cut for marginals.")] = Bins.uniform,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the rows drawn to compare.")] = 0,
    delimiter: DelimiterOption = None,
    quote: QuoteOption = None,
    encoding: EncodingOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing while at work.")] = False,
    format: FormatOption = Format.text,
) -> None:
    """Judge a synthetic table against real rows: distance, use, fairness, leakage.

    Example: cuts evaluate synthetic.csv --train adult:train --test adult:test
    """
    chosen = _parts(parts)
    ours, real, unseen = (
        inputs.open_table(where, delimiter=delimiter, quote=quote, encoding=encoding)
        for where in (synthetic, train, test)
    )
    options = EvaluateOptions(target, protected or None, desired, chosen, features.value, bins.value, seed)
    known = _schema(schema, train, real, target, drop or [], id_ or [])
    quality = evaluate_tables(ours, real, unseen, known, options, say=(lambda _: None) if quiet else say)
    if format is Format.json:
        print_json(render_quality.as_data(quality))
    else:
        print(render_quality.as_text(quality))


def _parts(given: str | None) -> tuple[Part, ...] | None:
    if given is None:
        return None
    words = [word.strip() for word in given.split(",")]
    for word in words:
        if word not in PARTS:
            raise typer.BadParameter(f"there is no part '{word}'; there are {', '.join(PARTS)}", param_hint="'--parts'")
    return tuple(part for part in PARTS if part in words)


def _schema(path: Path | None, where: str, train: Table, target: str | None, drop: list[str], ids: list[str]) -> Schema:
    """The schema given, that of the embedded table, or the one the train rows follow."""
    embedded = datasets.find(where.partition(":")[0])
    if path is not None:
        return _without(read_schema(path), {*drop, *ids})
    if embedded is not None and not Path(where).exists():
        return _without(datasets.load_schema(embedded), {*drop, *ids})
    return inputs.infer_for_target(train, Path(where).name.split(".")[0], target, drop=drop, ids=ids)


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
    )

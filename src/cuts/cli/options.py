"""The arguments and options commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """How results are printed."""

    text = "text"
    json = "json"


class SchemaFormat(StrEnum):
    """How a schema is written."""

    toml = "toml"
    json = "json"


class Split(StrEnum):
    """Part of an embedded table."""

    train = "train"
    test = "test"


ProgramPath = Annotated[Path, typer.Argument(metavar="PROGRAM", help="A .cuts file.", show_default=False)]
SchemaOption = Annotated[Path | None, typer.Option("--schema", help="A schema, .toml or .json.", show_default=False)]
DataOption = Annotated[
    str | None, typer.Option("--data", help="The real table: a file, or `adult`.", show_default=False)
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Fill the placeholder <NAME>.", show_default=False),
]
TableArgument = Annotated[
    str, typer.Argument(metavar="TABLE", help="A .csv, .parquet, .feather or .jsonl file, or `adult:test`.")
]
LedgerOption = Annotated[
    Path | None,
    typer.Option("--ledger", help="Where releases of private programs are written down.", show_default=False),
]
DataIdOption = Annotated[
    str | None,
    typer.Option("--data-id", help="Of a private program: the name under which releases add up.", show_default=False),
]
MaxEpsilonOption = Annotated[
    float | None,
    typer.Option("--max-epsilon", min=0, help="Of a private program: spend no more on this data.", show_default=False),
]
TranscriptOption = Annotated[
    Path | None,
    typer.Option(
        "--from-transcript",
        help="A private model or its transcript: work on that, no rows are read.",
        show_default=False,
    ),
]
DelimiterOption = Annotated[str | None, typer.Option("--delimiter", help="Of a CSV file, if it is not found.")]
QuoteOption = Annotated[str | None, typer.Option("--quote", help="Of a CSV file, if it is not found.")]
EncodingOption = Annotated[str | None, typer.Option("--encoding", help="Of a CSV file, if it is not found.")]
FormatOption = Annotated[Format, typer.Option("--format", help="How to print the result.")]

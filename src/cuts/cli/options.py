"""The arguments and options that several commands share, each written once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from cuts.cli import completion
from cuts.cli.shared import values
from cuts.config import Config, config_from, read_config
from cuts.data.exchange.csv_dialect import CsvOptions

OutputFormat = Literal["text", "json"]  # of results
SchemaFormat = Literal["toml", "json"]
Split = Literal["train", "test"]  # of an embedded table

PREVIEW_STEPS = 200


# --- arguments and options


def parse_count(text: str) -> int:
    """A number of rows as people write it.

    >>> parse_count("1e6"), parse_count("1_000_000")
    (1000000, 1000000)
    """
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise typer.BadParameter(f"{text!r} is not a number of rows") from None
    if not number.is_finite() or number != int(number) or not 1 <= number < 2**63:
        raise typer.BadParameter(f"{text!r} is not a whole number of rows of at least 1")
    return int(number)


ProgramPath = Annotated[
    Path,
    typer.Argument(
        metavar="PROGRAM", help="Program, a .cuts file.", show_default=False, autocompletion=completion.programs
    ),
]
TableArgument = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="Table: a .csv, .tsv, .parquet, .feather or .jsonl file, a folder or pattern of such files, "
        "a database such as `duckdb:FILE.db?table=NAME`, or an embedded one such as `adult:test`.",
        show_default=False,
        autocompletion=completion.tables,
    ),
]
DataOption = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="TABLE",
        help="Real table: a file, a pattern, a database such as `duckdb:FILE.db?table=NAME`, or an embedded one, such "
        "as `adult`. Default: the one the program names.",
        show_default=False,
        autocompletion=completion.tables,
    ),
]
SchemaOption = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        metavar="FILE",
        help="Schema, .toml or .json. Default: the embedded table's, or inferred from the rows.",
        show_default=False,
        autocompletion=completion.schemas,
    ),
]
LabelOption = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        help="Column to predict; overrides the schema's label.",
        show_default=False,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Value for the placeholder <NAME>. Repeatable.", show_default=False
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Settings of the fit, .toml.",
        show_default=False,
        autocompletion=completion.settings_files,
    ),
]
PresetOption = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="Settings by name: `paper` is the system of the paper as it is written. --config overrides them.",
        show_default=False,
        autocompletion=completion.presets,
    ),
]
SeedOption = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        max=2**63 - 1,
        help="Random seed: the same seed gives the same rows. It does not apply to privacy noise.",
    ),
]
PreviewOption = Annotated[bool, typer.Option("--preview", help=f"Quick, less exact fit: {PREVIEW_STEPS} steps.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress output, except once a minute on a terminal, and no warnings.")
]
DelimiterOption = Annotated[
    str | None,
    typer.Option("--delimiter", metavar="CHAR", help="CSV delimiter; detected if omitted.", show_default=False),
]
QuoteOption = Annotated[
    str | None,
    typer.Option("--quote", metavar="CHAR", help="CSV quote character; detected if omitted.", show_default=False),
]
EncodingOption = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="CSV encoding; detected if omitted.", show_default=False),
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="NAME",
        help="Device to fit on: auto, cpu, cuda or mps. Default: auto.",
        show_default=False,
    ),
]
ThreadsOption = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        min=1,
        help="CPU threads. Default: one, or all cores for a large table.",
        show_default=False,
    ),
]
TranscriptOption = Annotated[
    Path | None,
    typer.Option(
        "--from-transcript",
        metavar="FILE",
        help="Fit from an existing private release (a private .synth model, or a transcript); no rows are read.",
        show_default=False,
        autocompletion=completion.models,
    ),
]
DataIdOption = Annotated[
    str | None,
    typer.Option(
        "--data-id",
        metavar="NAME",
        help="Private programs: name under which releases of the same data add up. Default: the schema's name.",
        show_default=False,
    ),
]
LedgerOption = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        help="File that records private releases. Default: $CUTS_LEDGER, else ~/.local/state/cuts/ledger.jsonl.",
        show_default=False,
    ),
]
MaxEpsilonOption = Annotated[
    float | None,
    typer.Option(
        "--max-epsilon",
        metavar="E",
        min=0,
        help="Private programs: maximum total epsilon for this data set, over all its releases.",
        show_default=False,
    ),
]
AtDeltaOption = Annotated[
    float | None,
    typer.Option(
        "--at-delta",
        metavar="D",
        min=1e-300,
        max=0.5,
        help="Delta at which --max-epsilon is checked. Default: the smallest delta of all releases of this data set.",
        show_default=False,
    ),
]
RowsOption = Annotated[
    int | None,
    typer.Option(
        "-n",
        "--rows",
        metavar="N",
        parser=parse_count,
        help="Rows to generate, e.g. 1000000, 1_000_000 or 1e6. Default: as many as the real table has.",
        show_default=False,
    ),
]
ExpectedRowsOption = Annotated[
    int | None,
    typer.Option(
        "--rows",
        metavar="N",
        parser=parse_count,
        help="Approximate number of rows, for which memory or, for a private program, the errors of the release are "
        "predicted. Default: any number; 1,000, 10,000 and 100,000 for a private program.",
        show_default=False,
    ),
]
ProtectedOption = Annotated[
    list[str] | None,
    typer.Option(
        "--protected",
        metavar="COLUMN",
        help="Protected column, whose groups are compared. Repeatable.",
        show_default=False,
    ),
]
DropOption = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMN", help="Column to leave out. Repeatable.", show_default=False),
]
IdOption = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="Treat this column as an identifier: generate new unique values. Repeatable.",
        show_default=False,
    ),
]
KeepOption = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="COLUMN",
        help="Learn the real values of this column even if they look like personal data or free text. Repeatable.",
        show_default=False,
    ),
]
FormatOption = Annotated[OutputFormat, typer.Option("--format", help="Output format.")]


# --- groups of options


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """What a model is fitted to, and how: the options of `run`, `fit` and `tune`."""

    data: DataOption = None
    schema: SchemaOption = None
    label: LabelOption = None
    set_: SetOption = None
    config: ConfigOption = None
    preset: PresetOption = None
    seed: SeedOption = 0
    preview: PreviewOption = False
    quiet: QuietOption = False
    delimiter: DelimiterOption = None
    quote: QuoteOption = None
    encoding: EncodingOption = None
    from_transcript: TranscriptOption = None

    @property
    def csv(self) -> CsvOptions:
        """What is stated about CSV files."""
        return CsvOptions(self.delimiter, self.quote, self.encoding)

    @property
    def values(self) -> dict[str, str | float]:
        """The values `--set` gives to placeholders, by name."""
        return values(self.set_)

    @property
    def settings(self) -> Config:
        """The settings of the preset and the `--config` file; `--preview` overrides their number of steps."""
        settings = read_settings(self.config, self.preset)
        return replace(settings, steps=PREVIEW_STEPS) if self.preview else settings


def read_settings(config: Path | None, preset: str | None) -> Config:
    """The settings of a file, those it does not state taken from a preset."""
    if config is not None:
        return read_config(config, preset=preset)
    return config_from({} if preset is None else {"preset": preset})


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineOptions:
    """What the fit runs on: options of `run` and `fit`."""

    device: DeviceOption = None
    threads: ThreadsOption = None

    def override(self, settings: Config) -> Config:
        """The settings with the device and the number of threads that were given."""
        return replace(settings, device=self.device or settings.device, threads=self.threads or settings.threads)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseOptions:
    """What a private release is charged to: options of `run` and `fit`."""

    data_id: DataIdOption = None
    ledger: LedgerOption = None
    max_epsilon: MaxEpsilonOption = None
    at_delta: AtDeltaOption = None


def flatten_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with one option per field in place of each parameter whose type is a dataclass.

    Typer reads the options of a command from its signature. `command` itself is called with the dataclass values.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if isinstance(kind, type) and is_dataclass(kind)}

    @wraps(command)
    def flat(**options: Any) -> None:
        for name, group in groups.items():
            options[name] = group(**{field.name: options.pop(field.name) for field in fields(group)})
        command(**options)

    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if name in groups:
            kinds = get_type_hints(groups[name], include_extras=True)
            parameters += [_option(field, kinds[field.name]) for field in fields(groups[name])]
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[name]))
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    flat.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return flat


def _option(field: Field[Any], kind: Any) -> Parameter:
    default = Parameter.empty if field.default is MISSING else field.default
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)

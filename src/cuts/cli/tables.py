"""Commands about tables and their schemas: schema infer, schema import, schema show, schema check."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from cuts.cli import completion
from cuts.cli.options import (
    DelimiterOption,
    DropOption,
    EncodingOption,
    FormatOption,
    IdOption,
    KeepOption,
    ProtectedOption,
    QuoteOption,
    SchemaFormat,
    TableArgument,
)
from cuts.cli.shared import counts, print_json, say
from cuts.cli.terminal import print_diagnostics
from cuts.data.binning import fit_codec
from cuts.data.column_facts import column_facts, find_derived
from cuts.data.conform import check_table, conform
from cuts.data.exchange.csv_dialect import CsvOptions
from cuts.data.exchange.foreign_schemas import schema_from
from cuts.data.infer import infer_most, infer_schema
from cuts.data.personal import personal_columns
from cuts.data.rare_values import rare_values
from cuts.data.relations import find_relations
from cuts.data.schema import Schema, as_data
from cuts.data.schema_file import read_schema, render_toml
from cuts.flow import inputs
from cuts.text import render as diagnostics
from cuts.text.columns import align
from cuts.text.diagnostic import CutsError, Diagnostic, counted, exit_code
from cuts.text.files import write_text

app = typer.Typer()
schema_app = typer.Typer(help="Infer or import a schema, show it, or check a table against one.", no_args_is_help=True)
app.add_typer(schema_app, name="schema")


@schema_app.command("infer")
def schema_infer(
    table: TableArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File to write, .toml or .json. Default: stdout.", show_default=False
        ),
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", metavar="COLUMN", help="Column to predict.", show_default=False)
    ] = None,
    protected: ProtectedOption = None,
    drop: DropOption = None,
    id_: IdOption = None,
    keep: KeepOption = None,
    keep_derived: Annotated[
        bool,
        typer.Option("--keep-derived", help="Keep columns that other columns determine, and compute them from these."),
    ] = False,
    delimiter: DelimiterOption = None,
    quote: QuoteOption = None,
    encoding: EncodingOption = None,
    format: Annotated[SchemaFormat, typer.Option("--format", help="Format of the schema.")] = "toml",
) -> None:
    """Infer the schema of a table. Review it, and keep it beside the table.

    Example: cuts schema infer people.csv --label salary -o people.toml
    """
    rows = inputs.open_table(table, CsvOptions(delimiter, quote, encoding))
    name = inputs.source_name(table)
    drops, ids, kept = drop or [], id_ or [], keep or []
    schema = infer_schema(rows, name, label, tuple(protected or ()), drop=drops, ids=ids, keep=kept)
    relations = find_relations(conform(rows, schema), schema)
    if keep_derived:
        schema = replace(schema, formulas=relations)
        schema = replace(schema, derived=find_derived(rows, schema))
    else:
        for column, formula in relations:
            say(f'`{column}` equals {formula.text} in every row; `formula = "{formula.text}"` in the schema keeps this')
    warnings = (*personal_columns(schema, [*ids, *kept]), *rare_values(conform(rows, schema), fit_codec(rows, schema)))
    if warnings:
        print_diagnostics(warnings, None, sys.stderr)
    _write_schema(schema, output, format)


def _write_schema(schema: Schema, output: Path | None, format: SchemaFormat) -> None:
    """Write a schema to a file, or print it."""
    as_json = format == "json" or (output is not None and output.suffix.lower() == ".json")
    text = json.dumps(as_data(schema), indent=2, ensure_ascii=False) + "\n" if as_json else render_toml(schema)
    if output is None:
        print(text, end="")
    else:
        write_text(output, text)
        say(f"{counted(len(schema.columns), 'column')} written to {output}")


@schema_app.command("import")
def schema_import(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="SDV metadata, or a schema of pandera, as its JSON file.", show_default=False
        ),
    ],
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="TABLE",
            help="Rows to read ranges and categories from that the file does not state.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File to write, .toml or .json. Default: stdout.", show_default=False
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="Table to import, of metadata with several tables.", show_default=False
        ),
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", metavar="COLUMN", help="Column to predict.", show_default=False)
    ] = None,
    protected: ProtectedOption = None,
    partial: Annotated[bool, typer.Option("--partial", help="Leave out what a schema cannot state.")] = False,
    format: Annotated[SchemaFormat, typer.Option("--format", help="Format of the schema.")] = "toml",
) -> None:
    """Import the schema of another tool. Review it, and keep it beside the table.

    Example: cuts schema import metadata.json --table people.csv -o people.toml
    """
    rows = None if table is None else inputs.open_table(table)
    schema = schema_from(source, table=rows, name=name, label=label, protected=tuple(protected or ()), partial=partial)
    _write_schema(schema, output, format)


@schema_app.command("show")
def schema_show(
    table: TableArgument,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            metavar="FILE",
            help="Schema, .toml or .json; --drop and --id have no effect then. Default: inferred from the rows.",
            show_default=False,
            autocompletion=completion.schemas,
        ),
    ] = None,
    drop: DropOption = None,
    id_: IdOption = None,
    delimiter: DelimiterOption = None,
    quote: QuoteOption = None,
    encoding: EncodingOption = None,
    format: FormatOption = "text",
) -> None:
    """Show the kind, values and bins of every column of a table.

    Example: cuts schema show people.csv
    """
    rows = inputs.open_table(table, CsvOptions(delimiter, quote, encoding))
    name = inputs.source_name(table)
    refused: dict[str, Diagnostic] = {}
    if schema is not None:
        given = read_schema(schema)
    else:
        given, refused = infer_most(rows, name, drop=drop or (), ids=id_ or ())
    if refused and format == "json":  # a machine would take the other columns for the whole table
        raise CutsError(list(refused.values()))
    facts = column_facts(rows, given)
    if format == "json":
        print_json([asdict(fact) for fact in facts])
        return
    cells = [[f.name, f.kind, f.values, f"{100 * f.missing:.1f} %", str(f.bins), "; ".join(f.notes)] for f in facts]
    if refused:
        cells += [
            [column, "undecided", "", "", "", f"{problem.code}: see below"] for column, problem in refused.items()
        ]
        cells.sort(key=lambda line: rows.names.index(line[0]))
    print(align(["column", "kind", "values", "missing", "bins", "notes"], cells, right=[3, 4]))
    if refused:
        sys.stdout.flush()  # the problems refer to the table, which comes first
        print_diagnostics(tuple(refused.values()), None, sys.stderr)
        raise typer.Exit(exit_code(tuple(refused.values())))


@schema_app.command("check")
def schema_check(
    schema: Annotated[
        Path,
        typer.Argument(
            metavar="SCHEMA",
            help="Schema, .toml or .json.",
            show_default=False,
            autocompletion=completion.schemas,
        ),
    ],
    table: TableArgument,
    delimiter: DelimiterOption = None,
    quote: QuoteOption = None,
    encoding: EncodingOption = None,
    format: FormatOption = "text",
) -> None:
    """Check a table against a schema.

    Example: cuts schema check people.toml people.csv
    """
    expected = read_schema(schema)
    rows = inputs.open_table(table, CsvOptions(delimiter, quote, encoding))
    problems = check_table(rows, expected)
    if format == "json":
        print_json({"ok": exit_code(problems) == 0, "diagnostics": diagnostics.as_data(problems)})
    else:
        if problems:
            print_diagnostics(problems, None, sys.stdout, end="\n\n")
        print(f"{'ok' if exit_code(problems) == 0 else 'not ok'}: {counted(rows.rows, 'row')}, {counts(problems)}")
    raise typer.Exit(exit_code(problems))

"""Commands about tables and their schemas: schema infer, schema show, schema check."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

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
from cuts.data.binning import fit_codec
from cuts.data.column_facts import column_facts, find_derived
from cuts.data.conform import check_table, conform
from cuts.data.exchange.csv_dialect import CsvOptions
from cuts.data.infer import infer_schema
from cuts.data.personal import personal_columns
from cuts.data.rare_values import rare_values
from cuts.data.relations import find_relations
from cuts.data.schema import as_data
from cuts.data.schema_file import read_schema, render_toml
from cuts.flow import inputs
from cuts.text import render as diagnostics
from cuts.text.columns import align
from cuts.text.diagnostic import counted, exit_code
from cuts.text.files import write_text

app = typer.Typer()
schema_app = typer.Typer(help="Infer a schema, show it, or check a table against one.", no_args_is_help=True)
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
        say(diagnostics.as_text(warnings))
    as_json = format == "json" or (output is not None and output.suffix.lower() == ".json")
    text = json.dumps(as_data(schema), indent=2, ensure_ascii=False) + "\n" if as_json else render_toml(schema)
    if output is None:
        print(text, end="")
    else:
        write_text(output, text)
        say(f"{counted(len(schema.columns), 'column')} written to {output}")


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
    given = read_schema(schema) if schema is not None else infer_schema(rows, name, drop=drop or (), ids=id_ or ())
    facts = column_facts(rows, given)
    if format == "json":
        print_json([asdict(fact) for fact in facts])
        return
    cells = [[f.name, f.kind, f.values, f"{100 * f.missing:.1f} %", str(f.bins), "; ".join(f.notes)] for f in facts]
    print(align(["column", "kind", "values", "missing", "bins", "notes"], cells, right=[3, 4]))


@schema_app.command("check")
def schema_check(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="Schema, .toml or .json.", show_default=False)],
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
            print(diagnostics.as_text(problems), end="\n\n")
        print(f"{'ok' if exit_code(problems) == 0 else 'not ok'}: {counted(rows.rows, 'row')}, {counts(problems)}")
    raise typer.Exit(exit_code(problems))

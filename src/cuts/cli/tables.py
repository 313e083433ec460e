"""Commands about tables: datasets, schema infer, schema show, schema check."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from cuts import datasets
from cuts.cli.options import (
    DelimiterOption,
    EncodingOption,
    Format,
    FormatOption,
    QuoteOption,
    SchemaFormat,
    SchemaOption,
    Split,
    TableArgument,
)
from cuts.cli.shared import counts, print_json, say
from cuts.data.column_facts import column_facts, find_derived
from cuts.data.conform import check_table
from cuts.data.exchange.csv_dialect import CsvOptions
from cuts.data.infer import infer_schema
from cuts.data.schema import as_data
from cuts.data.schema_file import read_schema, render_toml
from cuts.flow import inputs
from cuts.text import render as diagnostics
from cuts.text.columns import align
from cuts.text.diagnostic import exit_code, usage_error
from cuts.text.files import write_text

app = typer.Typer()
schema_app = typer.Typer(help="Write a schema, or check a table against one.", no_args_is_help=True)
app.add_typer(schema_app, name="schema")


@app.command("datasets")
def datasets_command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Write this one to a file.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file to write.")] = None,
    split: Annotated[Split, typer.Option("--split", help="Which rows.")] = Split.train,
) -> None:
    """List the embedded tables, or write one to a file.

    Example: cuts datasets adult -o adult.csv
    """
    if name is None:
        rows = [[d.name, f"{d.train:,}", f"{d.test:,}", d.licence, d.title] for d in datasets.DATASETS]
        print(align(["name", "train", "test", "licence", "about"], rows, right=[1, 2]))
        return
    found = datasets.find(name)
    example = "e.g. `cuts datasets adult -o adult.csv`"
    if found is None:
        raise usage_error("unknown-data", f"there is no embedded table `{name}`", example)
    if output is None:
        raise usage_error("missing-argument", "a file to write to is needed", example)
    datasets.export(found, output, "test" if split is Split.test else "train")
    say(f"{output} written")


@schema_app.command("infer")
def schema_infer(
    table: TableArgument,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write there instead of stdout.")] = None,
    label: Annotated[str | None, typer.Option("--label", help="The column to predict.")] = None,
    protected: Annotated[list[str] | None, typer.Option("--protected", help="A column to be fair to.")] = None,
    drop: Annotated[list[str] | None, typer.Option("--drop", help="A column to leave out.")] = None,
    id_: Annotated[list[str] | None, typer.Option("--id", help="A column to make fresh, unique per row.")] = None,
    keep_derived: Annotated[
        bool, typer.Option("--keep-derived", help="Keep columns that follow from another one exactly.")
    ] = False,
    delimiter: DelimiterOption = None,
    quote: QuoteOption = None,
    encoding: EncodingOption = None,
    format: Annotated[SchemaFormat, typer.Option("--format", help="How to write it.")] = SchemaFormat.toml,
) -> None:
    """Write the schema a table follows, to be reviewed and kept.

    Example: cuts schema infer people.csv --label salary -o people.toml
    """
    rows = inputs.open_table(table, csv=CsvOptions(delimiter, quote, encoding))
    name = Path(table).name.split(".")[0]
    schema = infer_schema(rows, name, label, tuple(protected or ()), drop=drop or (), ids=id_ or ())
    if keep_derived:
        schema = replace(schema, derived=find_derived(rows, schema))
    as_json = format is SchemaFormat.json or (output is not None and output.suffix.lower() == ".json")
    text = json.dumps(as_data(schema), indent=2, ensure_ascii=False) + "\n" if as_json else render_toml(schema)
    if output is None:
        print(text, end="")
    else:
        write_text(output, text)
        say(f"{output} written: {len(schema.columns)} columns")


@schema_app.command("show")
def schema_show(
    table: TableArgument,
    schema: SchemaOption = None,
    drop: Annotated[list[str] | None, typer.Option("--drop", help="A column to leave out.")] = None,
    id_: Annotated[list[str] | None, typer.Option("--id", help="A column to make fresh, unique per row.")] = None,
    delimiter: DelimiterOption = None,
    quote: QuoteOption = None,
    encoding: EncodingOption = None,
    format: FormatOption = Format.text,
) -> None:
    """Show what each column of a table is taken for.

    Example: cuts schema show people.csv
    """
    rows = inputs.open_table(table, csv=CsvOptions(delimiter, quote, encoding))
    name = Path(table).name.split(".")[0]
    known = read_schema(schema) if schema is not None else infer_schema(rows, name, drop=drop or (), ids=id_ or ())
    facts = column_facts(rows, known)
    if format is Format.json:
        print_json([asdict(fact) for fact in facts])
        return
    cells = [[f.name, f.kind, f.values, f"{100 * f.missing:.1f} %", str(f.bins), "; ".join(f.notes)] for f in facts]
    print(align(["column", "kind", "values", "missing", "bins", "notes"], cells, right=[3, 4]))


@schema_app.command("check")
def schema_check(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="A .toml or .json schema.")],
    table: TableArgument,
    delimiter: DelimiterOption = None,
    quote: QuoteOption = None,
    encoding: EncodingOption = None,
    format: FormatOption = Format.text,
) -> None:
    """Check that a table follows a schema.

    Example: cuts schema check people.toml people.csv
    """
    known = read_schema(schema)
    rows = inputs.open_table(table, csv=CsvOptions(delimiter, quote, encoding))
    found = check_table(rows, known)
    if format is Format.json:
        print_json({"ok": exit_code(found) == 0, "diagnostics": diagnostics.as_data(found)})
    else:
        if found:
            print(diagnostics.as_text(found), end="\n\n")
        print(f"{'ok' if exit_code(found) == 0 else 'not ok'}: {rows.rows:,} rows, {counts(found)}")
    raise typer.Exit(exit_code(found))

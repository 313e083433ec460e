"""The command line: results on stdout, talk on stderr, `--format json` for machines.

Exit codes: 0 ok, 1 the program, the data or a verification is at fault, 2 usage, 3 contradiction or target out of
reach, 5 privacy refused.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from cuts import __version__, datasets, pages, pipeline, plan
from cuts.assess import render as verdicts
from cuts.assess.verify import holds
from cuts.data.conform import check_table
from cuts.data.infer import infer_schema
from cuts.data.schema import as_data
from cuts.data.schema_file import read_schema, render_toml
from cuts.data.survey import find_derived, survey
from cuts.lang.parser import parse_source
from cuts.lang.printer import render
from cuts.lang.syntax import Program
from cuts.text import render as diagnostics
from cuts.text.columns import align
from cuts.text.diagnostic import CutsError, Diagnostic, counted, exit_code, usage_error
from cuts.text.files import read_text, write_text
from cuts.text.source import Source


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
DelimiterOption = Annotated[str | None, typer.Option("--delimiter", help="Of a CSV file, if it is not found.")]
QuoteOption = Annotated[str | None, typer.Option("--quote", help="Of a CSV file, if it is not found.")]
EncodingOption = Annotated[str | None, typer.Option("--encoding", help="Of a CSV file, if it is not found.")]
FormatOption = Annotated[Format, typer.Option("--format", help="How to print the result.")]

app = typer.Typer(
    help="Customizable synthetic tabular data: a program says what the table must be.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
schema_app = typer.Typer(help="Write a schema, or check a table against one.", no_args_is_help=True)
app.add_typer(schema_app, name="schema")


def main() -> None:
    """Run the command line; a problem with the input is a message and an exit code, never a traceback."""
    try:
        app()
    except CutsError as error:
        print(diagnostics.as_text(error.diagnostics, error.source), file=sys.stderr)
        if _wants_json(sys.argv):
            _print_json({"ok": False, "diagnostics": diagnostics.as_data(error.diagnostics, error.source)})
        sys.exit(error.exit_code)
    except BrokenPipeError:  # the reader of our output left
        sys.stderr.close()
        sys.exit(0)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        print(f"cuts {__version__}")
        raise typer.Exit


@app.command()
def check(
    program: ProgramPath,
    data: DataOption = None,
    schema: SchemaOption = None,
    set_: SetOption = None,
    format: FormatOption = Format.text,
) -> None:
    """Find every mistake and contradiction in a program before any training.

    Example: cuts check fair.cuts --set tol=0.01
    """
    found = _checked(program, data, schema, _values(set_))
    source = found.program.source
    if format is Format.json:
        said = diagnostics.as_data(found.diagnostics, source)
        _print_json({"ok": found.exit_code == 0, "diagnostics": said, "share_of_rows": found.share})
    else:
        if found.diagnostics:
            print(diagnostics.as_text(found.diagnostics, source), end="\n\n")
        print(_summary(found))
    raise typer.Exit(found.exit_code)


@app.command()
def fmt(
    program: ProgramPath,
    check: Annotated[bool, typer.Option("--check", help="Change nothing; exit 1 if something would change.")] = False,
) -> None:
    """Rewrite a program in its one canonical spelling; `-` reads stdin and writes stdout.

    Example: cuts fmt fair.cuts --check
    """
    if str(program) == "-":
        source = Source("stdin", sys.stdin.read())
        canonical = render(parse_source(source))
        if not check:
            print(canonical, end="")
        raise typer.Exit(1 if check and canonical != source.text else 0)
    text = read_text(program, "program")
    canonical = render(parse_source(Source(str(program), text)))
    if canonical == text:
        _say(f"{program} is in canonical form")
    elif check:
        _say(f"{program} is not in canonical form: run `cuts fmt {program}`")
        raise typer.Exit(1)
    else:
        write_text(program, canonical)
        _say(f"{program} rewritten")


@app.command("plan")
def plan_command(
    program: ProgramPath,
    data: DataOption = None,
    schema: SchemaOption = None,
    set_: SetOption = None,
    format: FormatOption = Format.text,
) -> None:
    """Show what is promised for each command and how it will be met.

    Example: cuts plan fair.cuts
    """
    found = _checked(program, data, schema, _values(set_))
    if found.spec is None or found.exit_code:
        raise CutsError(found.diagnostics, found.program.source)
    made = plan.plan(found.spec)
    if format is Format.json:
        _print_json(plan.as_data(made))
    else:
        print(plan.as_text(made))


@app.command()
def explain(
    code: Annotated[str | None, typer.Argument(metavar="[CODE]", help="A code, e.g. unknown-column.")] = None,
) -> None:
    """Print the page of a diagnostic's code; without one, list all codes.

    Example: cuts explain unknown-column
    """
    print(pages.page(code) if code is not None else "\n".join(pages.codes()), end="" if code is not None else "\n")


@app.command()
def verify(
    program: ProgramPath,
    table: TableArgument,
    schema: SchemaOption = None,
    set_: SetOption = None,
    delimiter: DelimiterOption = None,
    quote: QuoteOption = None,
    encoding: EncodingOption = None,
    format: FormatOption = Format.text,
) -> None:
    """Give a verdict for every command of a program on a table.

    Example: cuts verify fair.cuts synthetic.csv
    """
    parsed = pipeline.read_program(program)
    rows = pipeline.open_table(table, delimiter=delimiter, quote=quote, encoding=encoding)
    known = pipeline.find_schema(parsed, schema=schema, table=rows)
    outcome = pipeline.verify(parsed, known, rows, values=_values(set_))
    if format is Format.json:
        _print_json({"holds": holds(outcome), "rows": rows.rows, "verdicts": verdicts.as_data(outcome)})
    else:
        print(verdicts.as_text(outcome))
    raise typer.Exit(0 if holds(outcome) else 1)


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
    _say(f"{output} written")


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
    rows = pipeline.open_table(table, delimiter=delimiter, quote=quote, encoding=encoding)
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
        _say(f"{output} written: {len(schema.columns)} columns")


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
    rows = pipeline.open_table(table, delimiter=delimiter, quote=quote, encoding=encoding)
    name = Path(table).name.split(".")[0]
    known = read_schema(schema) if schema is not None else infer_schema(rows, name, drop=drop or (), ids=id_ or ())
    facts = survey(rows, known)
    if format is Format.json:
        _print_json([asdict(fact) for fact in facts])
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
    rows = pipeline.open_table(table, delimiter=delimiter, quote=quote, encoding=encoding)
    found = check_table(rows, known)
    if format is Format.json:
        _print_json({"ok": exit_code(found) == 0, "diagnostics": diagnostics.as_data(found)})
    else:
        if found:
            print(diagnostics.as_text(found), end="\n\n")
        print(f"{'ok' if exit_code(found) == 0 else 'not ok'}: {rows.rows:,} rows, {_counts(found)}")
    raise typer.Exit(exit_code(found))


# --- shared steps


def _checked(path: Path, data: str | None, schema: Path | None, values: dict[str, str | float]) -> pipeline.Checked:
    """What checking finds, syntax errors and unknown data included."""
    try:
        program = pipeline.read_program(path)
        table = pipeline.open_table(data) if data is not None else None
        known = pipeline.find_schema(program, schema=schema, table=table)
    except CutsError as error:
        if error.source is None:  # not about the program's text: a file that cannot be read
            raise
        return pipeline.Checked(Program("", (), error.source), None, error.diagnostics)
    return pipeline.check(program, known, table=table, values=values)


def _summary(found: pipeline.Checked) -> str:
    if found.exit_code:
        return f"not ok: {_counts(found.diagnostics)}"
    summary = f"ok: {counted(len(found.program.commands), 'command')}, {_counts(found.diagnostics)}"
    if found.share is None or found.spec is None or not found.spec.rules:
        return summary
    return f"{summary}\nthe row rules hold together on {100 * found.share:.2f} % of the rows"


def _counts(found: Sequence[Diagnostic]) -> str:
    errors = sum(d.severity == "error" for d in found)
    warnings = len(found) - errors
    return ", ".join(counted(n, word) for n, word in ((errors, "error"), (warnings, "warning")) if n) or "no warnings"


def _values(given: list[str] | None) -> dict[str, str | float]:
    values: dict[str, str | float] = {}
    for item in given or []:
        name, sign, value = item.partition("=")
        if not sign or not name:
            raise usage_error("bad-setting", f"`{item}` is not NAME=VALUE", "e.g. `--set tol=0.01`")
        values[name] = value
    return values


def _wants_json(words: Sequence[str]) -> bool:
    return "--format=json" in words or ("--format", "json") in pairwise(words)


def _print_json(data: Any) -> None:
    print(json.dumps(data, indent=2, ensure_ascii=False))


def _say(text: str) -> None:
    print(text, file=sys.stderr)

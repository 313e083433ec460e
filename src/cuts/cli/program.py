"""Commands about a program: check, fmt, plan, explain, verify."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cuts import plan
from cuts.assess import render as verdicts
from cuts.assess.verify import holds
from cuts.cli import completion, precision
from cuts.cli.options import (
    ConfigOption,
    DelimiterOption,
    EncodingOption,
    ExpectedRowsOption,
    FormatOption,
    PresetOption,
    ProgramPath,
    QuietOption,
    QuoteOption,
    SchemaOption,
    SetOption,
    TableArgument,
    read_settings,
)
from cuts.cli.progress import show_progress
from cuts.cli.shared import checked, counts, print_json, say, values
from cuts.cli.terminal import print_diagnostics, print_text, print_verdicts
from cuts.count import footprint
from cuts.data.exchange.csv_dialect import CsvOptions
from cuts.data.schema import Schema
from cuts.flow import before_release, checks, inputs, judge
from cuts.lang.parser import parse_source
from cuts.lang.printer import render
from cuts.text import pages
from cuts.text import render as diagnostics
from cuts.text.diagnostic import CutsError, counted
from cuts.text.files import read_text, write_text
from cuts.text.source import Source

app = typer.Typer()


@app.command()
def check(
    program: ProgramPath,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="TABLE",
            help="Real table: also warn about conditions and groups with too few rows.",
            show_default=False,
            autocompletion=completion.tables,
        ),
    ] = None,
    schema: SchemaOption = None,
    set_: SetOption = None,
    format: FormatOption = "text",
) -> None:
    """Report every mistake and contradiction in a program. Nothing is trained.

    Example: cuts check fair.cuts --set tol=0.01
    """
    result = checked(program, data, schema, values(set_))
    source = result.program.source
    if format == "json":
        problems = diagnostics.as_data(result.diagnostics, source)
        print_json({"ok": result.exit_code == 0, "diagnostics": problems, "share_of_rows": result.share})
    else:
        if result.diagnostics:
            print_diagnostics(result.diagnostics, source, sys.stdout, end="\n\n")
        print(_summary(result))
    raise typer.Exit(result.exit_code)


@app.command()
def fmt(
    program: ProgramPath,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 1 if the program is not in canonical form.")
    ] = False,
    format: FormatOption = "text",
) -> None:
    """Rewrite a program in canonical form. With - as the program, read stdin and write stdout.

    Example: cuts fmt fair.cuts --check
    """
    if str(program) == "-":
        source = Source("stdin", sys.stdin.read())
        canonical = render(parse_source(source))
        if format == "json":
            print_json({"canonical": canonical == source.text, "program": canonical})
        elif not check:
            print(canonical, end="")
        raise typer.Exit(1 if check and canonical != source.text else 0)
    text = read_text(program, "program")
    canonical = render(parse_source(Source(str(program), text)))
    rewritten = canonical != text and not check
    if rewritten:
        write_text(program, canonical)
    if format == "json":
        print_json({"canonical": canonical == text, "rewritten": rewritten})
    elif canonical == text:
        say(f"{program} is in canonical form")
    elif check:
        say(f"{program} is not in canonical form: run `cuts fmt {program}`")
    else:
        say(f"{program} rewritten")
    raise typer.Exit(1 if check and canonical != text else 0)


@app.command("plan")
def plan_command(
    program: ProgramPath,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="TABLE",
            help="Real table to infer the schema from, if neither the program nor --schema gives one.",
            show_default=False,
            autocompletion=completion.tables,
        ),
    ] = None,
    schema: SchemaOption = None,
    set_: SetOption = None,
    config: ConfigOption = None,
    preset: PresetOption = None,
    rows: ExpectedRowsOption = None,
    format: FormatOption = "text",
) -> None:
    """Show what each command promises, how it will be met and what a fit needs; for a private program how exact it is.

    Example: cuts plan fair.cuts
    """
    result = checked(program, data, schema, values(set_))
    if result.spec is None or result.exit_code:
        raise CutsError(result.diagnostics, result.program.source)
    settings = read_settings(config, preset)
    planned = plan.plan(result.spec, settings)
    expected: tuple[before_release.Expected, ...] = ()
    needs: footprint.Footprint | None = None
    if result.spec.privacy is None:
        binned = plan.with_bins(result.spec.schema, settings)
        needs = footprint.expect_footprint(binned, settings, rows=result.rows if rows is None else rows)
    else:
        expected = before_release.expect(planned, settings, before_release.USUAL_ROWS if rows is None else [rows])
    if format == "json":
        fit = None if needs is None else footprint.as_data(needs)
        print_json({**plan.as_data(planned), "fit": fit, "expected": precision.expected_data(expected)})
    else:
        print_text(plan.as_text(planned))
        if needs is not None:
            print_text(f"\n{footprint.as_text(needs)}")
        if expected:
            print_text(f"\n{precision.expected_text(expected, result.spec.schema)}")


@app.command()
def explain(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="CODE",
            help="Code of an error or warning, such as unknown-column.",
            autocompletion=completion.codes,
        ),
    ] = None,
    format: FormatOption = "text",
) -> None:
    """Explain an error or warning code, or list all codes.

    Example: cuts explain unknown-column
    """
    if format == "json":
        print_json({"codes": pages.codes()} if code is None else {"code": code, "page": pages.page(code)})
        return
    print(pages.page(code) if code is not None else "\n".join(pages.codes()), end="" if code is not None else "\n")


@app.command()
def verify(
    program: ProgramPath,
    table: TableArgument,
    real: Annotated[
        str | None,
        typer.Option(
            "--real",
            metavar="TABLE",
            help="Real table: its statistics are shown too, and classifiers are tested on it.",
            show_default=False,
            autocompletion=completion.tables,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            metavar="FILE",
            help="Model, .synth: default tolerances are those of the rows it was fitted to, unless --real is given.",
            show_default=False,
            autocompletion=completion.models,
        ),
    ] = None,
    schema: SchemaOption = None,
    set_: SetOption = None,
    delimiter: DelimiterOption = None,
    quote: QuoteOption = None,
    encoding: EncodingOption = None,
    quiet: QuietOption = False,
    format: FormatOption = "text",
) -> None:
    """Give a verdict per command of a program on an existing table.

    Example: cuts verify fair.cuts synthetic.csv
    """
    parsed = inputs.read_program(program)
    if real is not None:
        checks.check_shows_real(parsed)  # before it is opened
    csv = CsvOptions(delimiter, quote, encoding)
    rows = inputs.open_table(table, csv)
    real_rows = None if real is None else inputs.open_table(real, csv)
    known = inputs.schema_for_table(parsed, schema, rows, real=real_rows, fitted=_schema_in(model))
    with show_progress(quiet, "verifying") as observer:
        outcome = judge.verify(parsed, known, rows, values=values(set_), real=real_rows, advanced=observer.advanced)
    if format == "json":
        print_json({"holds": holds(outcome), "rows": rows.rows, "verdicts": verdicts.as_data(outcome)})
    else:
        details = verdicts.details(outcome)
        print_verdicts(outcome, f"{outcome}\n", f"{details}\n\n" if details else "")
    raise typer.Exit(0 if holds(outcome) else 1)


def _schema_in(model: Path | None) -> Schema | None:
    """The schema in a model file."""
    if model is None:
        return None
    from cuts.model import store  # a model needs torch

    return store.load(model).codec.schema


def _summary(result: checks.Checked) -> str:
    if result.exit_code:
        return f"not ok: {counts(result.diagnostics)}"
    summary = f"ok: {counted(len(result.program.commands), 'command')}, {counts(result.diagnostics)}"
    if result.share is None or result.spec is None or not result.spec.rules:
        return summary
    return f"{summary}\n{100 * result.share:.2f} % of the real rows satisfy all row rules"

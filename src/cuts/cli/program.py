"""Commands about a program: check, fmt, plan, explain, verify."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cuts import plan
from cuts.assess import render as verdicts
from cuts.assess.verify import holds
from cuts.cli import pages
from cuts.cli.options import (
    DataOption,
    DelimiterOption,
    EncodingOption,
    Format,
    FormatOption,
    ProgramPath,
    QuoteOption,
    SchemaOption,
    SetOption,
    TableArgument,
)
from cuts.cli.shared import checked, counts, print_json, say, values
from cuts.data.exchange.csv_dialect import CsvOptions
from cuts.flow import checks, inputs, judge
from cuts.lang.parser import parse_source
from cuts.lang.printer import render
from cuts.text import render as diagnostics
from cuts.text.diagnostic import CutsError, counted
from cuts.text.files import read_text, write_text
from cuts.text.source import Source

app = typer.Typer()


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
    found = checked(program, data, schema, values(set_))
    source = found.program.source
    if format is Format.json:
        said = diagnostics.as_data(found.diagnostics, source)
        print_json({"ok": found.exit_code == 0, "diagnostics": said, "share_of_rows": found.share})
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
        say(f"{program} is in canonical form")
    elif check:
        say(f"{program} is not in canonical form: run `cuts fmt {program}`")
        raise typer.Exit(1)
    else:
        write_text(program, canonical)
        say(f"{program} rewritten")


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
    found = checked(program, data, schema, values(set_))
    if found.spec is None or found.exit_code:
        raise CutsError(found.diagnostics, found.program.source)
    made = plan.plan(found.spec)
    if format is Format.json:
        print_json(plan.as_data(made))
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
    real: Annotated[
        str | None,
        typer.Option("--real", metavar="TABLE", help="The real table, to print its values beside.", show_default=False),
    ] = None,
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
    parsed = inputs.read_program(program)
    if real is not None:
        checks.check_shows_real(parsed)  # before it is opened
    rows = inputs.open_table(table, csv=CsvOptions(delimiter, quote, encoding))
    beside = None if real is None else inputs.open_table(real, csv=CsvOptions(delimiter, quote, encoding))
    known = inputs.schema_for_table(parsed, schema, rows)
    outcome = judge.verify(parsed, known, rows, values=values(set_), real=beside)
    if format is Format.json:
        print_json({"holds": holds(outcome), "rows": rows.rows, "verdicts": verdicts.as_data(outcome)})
    else:
        print(verdicts.as_text(outcome))
    raise typer.Exit(0 if holds(outcome) else 1)


def _summary(found: checks.Checked) -> str:
    if found.exit_code:
        return f"not ok: {counts(found.diagnostics)}"
    summary = f"ok: {counted(len(found.program.commands), 'command')}, {counts(found.diagnostics)}"
    if found.share is None or found.spec is None or not found.spec.rules:
        return summary
    return f"{summary}\nthe row rules hold together on {100 * found.share:.2f} % of the rows"

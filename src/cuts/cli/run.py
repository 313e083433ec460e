"""The commands that fit a model: run, fit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuts.assess.learners import CLASSIFIERS
from cuts.cli import options
from cuts.cli.options import FitOptions, MachineOptions, ReleaseOptions, flatten_options
from cuts.cli.progress import show_progress
from cuts.cli.request import check_output, check_places, make_request
from cuts.cli.run_result import (
    as_data,
    as_text,
    badly_known,
    details,
    fit_facts,
    is_full,
    is_page,
    overview,
    report_files,
    report_summary,
    run_summary,
    summary,
    write_report,
)
from cuts.cli.shared import interruptible, print_json, say
from cuts.cli.terminal import print_text, print_verdicts
from cuts.data.exchange.parts import PartsFolder, output_at
from cuts.text.diagnostic import usage_error

app = typer.Typer()

_CHARGED = "nothing was written; what the trusted core had read by then stays charged in the ledger"
_HELPS = {  # what to know when the work is interrupted, by stage; without a name: in all others
    "": "no table or model was written; `--preview` fits faster",
    "sampling rows": "no table was written; ask for fewer rows with `-n`",
    "discovering categories and ranges": _CHARGED,
    "counting in the trusted core": _CHARGED,
    "measuring noisy counts": _CHARGED,
}


@app.command()
@flatten_options
def run(
    program: options.ProgramPath,
    fit: FitOptions,
    machine: MachineOptions,
    release: ReleaseOptions,
    rows: options.RowsOption = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PLACE",
            help="File to write, its ending decides the format; or a folder, ending in `/`, for Parquet parts. "
            "Default: PROGRAM_synthetic.csv in this folder.",
            show_default=False,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Also write the report: an .html page with its .json twin, .json alone, or .txt as printed.",
            show_default=False,
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            "--test",
            metavar="TABLE",
            help="Real rows that the model is not fitted to, such as `adult:test`, for the report only.",
            show_default=False,
        ),
    ] = None,
    format: options.FormatOption = "text",
) -> None:
    """Fit a model, write a synthetic table and verify it.

    Example: cuts run fair.cuts -n 10000 -o synthetic.csv
    """
    target = output_at(output or f"{program.stem}_synthetic.csv")
    check_output(target)
    _check_test(test, report)
    reports = () if report is None else report_files(report)
    check_places(*reports)
    request = make_request(program, fit, machine, release, written=(target, *reports), rows=rows, test=test)
    from cuts.flow import run as flow

    panel = CLASSIFIERS[:1] if fit.preview else CLASSIFIERS
    written = f"the table was written; `cuts verify {program} {target}` gives the verdicts"
    helps = {"verifying": written, "comparing with real rows": written, "building the report": written}
    if isinstance(target, PartsFolder):
        written = "the table was written"
        helps = dict.fromkeys(helps, written) | {"sampling rows": "ask for fewer rows with `-n`"}
    with show_progress(fit.quiet) as shown, interruptible(shown, _HELPS | helps) as observer:
        result = flow.run(request, output=target, panel=panel, observer=observer)
        if report is not None:
            write_report(report, result, request.test, observer)
    if not fit.quiet:
        for path in reports:
            say(f"{path} written")
    if format == "json":
        print_json(as_data(result))
    elif report is not None and is_page(report):  # details are in the report
        print_verdicts(result.verdicts, overview(result), "")
        print_text(report_summary(result, report))
    else:
        print_verdicts(result.verdicts, as_text(result), details(result))
        print_text(run_summary(result))
    raise typer.Exit(0 if result.holds and not result.facts.failed else 1)


def _check_test(test: str | None, report: Path | None) -> None:
    """Refuse test rows that no report would use."""
    if test is not None and (report is None or not is_full(report)):
        help = "add `--report FILE.html`, or leave `--test` out"
        raise usage_error("bad-setting", "`--test` has no effect without a report as .html or .json", help)


@app.command()
@flatten_options
def fit(
    program: options.ProgramPath,
    fit: FitOptions,
    machine: MachineOptions,
    release: ReleaseOptions,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Model to write, .synth.", show_default=False)
    ],
    format: options.FormatOption = "text",
) -> None:
    """Fit a model and write it to a file. Sample from it later, without the real table.

    Example: cuts fit fair.cuts -o fair.synth
    """
    from cuts.model import store

    if output.suffix != store.ENDING:
        raise usage_error("unknown-format", f"a model is a `{store.ENDING}` file", f"e.g. `-o {output.stem}.synth`")
    check_places(output)
    request = make_request(program, fit, machine, release, written=(output,))
    from cuts.flow import run as flow

    with show_progress(fit.quiet) as shown, interruptible(shown, _HELPS) as observer:
        model = flow.fit(request, observer=observer).model
    store.save(model, output)
    if format == "json":
        print_json({"output": str(output), **fit_facts(model)})
    else:
        unknown = badly_known(model)
        lead = f"{unknown}\n\n" if unknown else ""
        print_text(f"{lead}{summary(model)}; written to {output}")
    raise typer.Exit(1 if model.facts.failed else 0)

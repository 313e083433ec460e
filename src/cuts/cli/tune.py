"""The command that chooses values for placeholders by cross-validation, or traces accuracy against fairness."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from shlex import quote as shell_quoted
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuts.assess.render import plain
from cuts.assess.tuned import FoldUtility, Outcome, Point, Tuning
from cuts.cli import options
from cuts.cli.frontier import as_data as frontier_data
from cuts.cli.frontier import as_picture
from cuts.cli.frontier import as_text as frontier_text
from cuts.cli.options import FitOptions, flatten_options
from cuts.cli.picture import check_drawable
from cuts.cli.progress import show_progress
from cuts.cli.request import check_no_rows, check_places, read_transcript
from cuts.cli.shared import print_json, say, stoppable
from cuts.cli.terminal import print_text
from cuts.flow import checks, inputs
from cuts.lang import units
from cuts.lang.spec import Level
from cuts.text import render as diagnostics
from cuts.text.columns import align
from cuts.text.diagnostic import counted, usage_error
from cuts.text.files import write_text

if TYPE_CHECKING:  # torch is loaded by the command
    from cuts.flow.learn import OpenedRows
    from cuts.lang.syntax import Program

app = typer.Typer()

POINTS = 6  # of the frontier
_NONE = "-"
_FASTER = "`--preview` or fewer `--folds` are faster"


@app.command()
@flatten_options
def tune(
    program: options.ProgramPath,
    *,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            "--grid",
            metavar="NAME=V1,V2,...",
            help="Values to try for the placeholder <NAME>. Repeatable: all combinations are tried.",
            show_default=False,
        ),
    ] = None,
    frontier: Annotated[
        bool,
        typer.Option(
            "--frontier",
            help="Instead of --grid: show what the program's FAIRNESS command costs in accuracy.",
        ),
    ] = False,
    points: Annotated[
        int | None,
        typer.Option(
            "--points",
            metavar="N",
            min=2,
            max=100,
            help=f"Points of the frontier from strength 0 to 1. Default: {POINTS}.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Picture of the frontier to write, .svg.", show_default=False
        ),
    ] = None,
    folds: Annotated[
        int, typer.Option("--folds", metavar="K", min=2, max=1000, help="Folds of the cross-validation.")
    ] = 5,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            min=1,
            help="Number of folds run in parallel. Default: one per core.",
            show_default=False,
        ),
    ] = None,
    fit: FitOptions,
    format: options.FormatOption = "text",
) -> None:
    """Choose values for placeholders by cross-validation. With --frontier, show what fairness costs in accuracy.

    Example: cuts tune fair.cuts --grid w=0.0001,0.001,0.01
    """
    from cuts.flow import search

    _check_request(grid, frontier, points, output)
    values, candidates = fit.values, _grid(grid or [], fit.values)
    parsed = inputs.read_program(program)
    if fit.from_transcript is None:
        checks.check_not_private(parsed)
    else:
        check_no_rows(fit.data, fit.schema, fit.label)
    public = checks.without_privacy(parsed)
    combinations = search.expand_grid(public, candidates, values)
    opened = _real_rows(parsed, fit) if fit.from_transcript is None else _private_rows(fit.from_transcript, fit)
    warnings = search.check(combinations, opened.schema)
    if warnings and not fit.quiet:
        say(diagnostics.as_text(warnings, parsed.source))
    cores = workers or os.cpu_count() or 1
    if frontier:
        _trace(public, opened, fit, points or POINTS, folds, cores, output, format)
        return
    with stoppable("all values were tried", _FASTER), show_progress(fit.quiet) as observer:
        tuning = search.tune(
            public,
            opened,
            candidates,
            folds=folds,
            config=fit.settings,
            seed=fit.seed,
            values=values,
            workers=cores,
            observer=observer,
        )
    command = None if tuning.best is None else _command(program, {**values, **tuning.best.values}, fit)
    if format == "json":
        print_json(as_data(tuning, command))
    else:
        print_text(as_text(tuning, command))


def _real_rows(program: Program, fit: FitOptions) -> OpenedRows:
    from cuts.flow.learn import open_rows
    from cuts.flow.request import FitRequest

    return open_rows(FitRequest(program, fit.data, fit.schema, fit.label, csv=fit.csv)).with_sample()


def _private_rows(transcript: Path, fit: FitOptions) -> OpenedRows:
    """Rows sampled from the private model of a release: they may be read many times."""
    from cuts.count.rows import rows_of
    from cuts.flow import private
    from cuts.flow.learn import OpenedRows

    with stoppable("the private model was fitted", _FASTER), show_progress(fit.quiet) as observer:
        free = private.fit_free(read_transcript(transcript), fit.settings, seed=fit.seed, observer=observer)
        return OpenedRows(rows_of(private.draw_free(free)), free.codec.schema)


def _trace(
    program: Program,
    opened: OpenedRows,
    fit: FitOptions,
    points: int,
    folds: int,
    workers: int,
    output: Path | None,
    format: options.OutputFormat,
) -> None:
    """Print the frontier of a program, and draw it."""
    from cuts.flow.frontier import trace

    with stoppable("all points were tried", _FASTER), show_progress(fit.quiet) as observer:
        traced = trace(
            program,
            opened,
            points=points,
            folds=folds,
            config=fit.settings,
            seed=fit.seed,
            values=fit.values,
            workers=workers,
            observer=observer,
        )
    if output is not None:
        write_text(output, as_picture(traced))
        if not fit.quiet:
            say(f"picture written to {output}")
    if format == "json":
        print_json(frontier_data(traced))
    else:
        print_text(frontier_text(traced))


def _check_request(grid: Sequence[str] | None, frontier: bool, points: int | None, output: Path | None) -> None:
    """Refuse, before any work, options that exclude each other and a picture that could not be written."""
    if frontier and grid:
        help = "leave one of them out; with `--frontier`, fill placeholders with `--set`"
        raise usage_error("bad-setting", "`--grid` and `--frontier` exclude each other", help)
    if not frontier and not grid:
        raise usage_error("bad-setting", "`--grid` or `--frontier` is missing", "e.g. `--grid w=0.001,0.01`")
    if not frontier and (points is not None or output is not None):
        name = "--points" if points is not None else "--output"
        help = f"leave out `{name}`, or replace `--grid` by `--frontier`"
        raise usage_error("bad-setting", f"`{name}` needs `--frontier`", help)
    if not frontier:
        return
    from cuts.flow.frontier import check_libraries

    check_libraries()
    if output is not None:
        if output.suffix.lower() != ".svg":
            raise usage_error("unknown-format", "the picture must be an `.svg` file", f"e.g. `-o {output.stem}.svg`")
        check_drawable()
        check_places(output)


def _grid(given: Sequence[str], filled: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """The values that `--grid NAME=V1,V2` lists, by name; `filled` are the placeholders `--set` gives a value."""
    grid: dict[str, tuple[str, ...]] = {}
    for item in given:
        name, equals, listed = item.partition("=")
        values = [value.strip() for value in listed.split(",")]
        if not equals or not name or not all(values):
            raise usage_error("bad-setting", f"`{item}` is not NAME=V1,V2,...", "e.g. `--grid w=0.001,0.01`")
        if name in grid:
            raise usage_error("bad-setting", f"`--grid` lists `{name}` twice", "put all its values into one `--grid`")
        grid[name] = tuple(dict.fromkeys(values))
    both = sorted(grid.keys() & filled.keys())
    if both:
        raise usage_error("bad-setting", f"`{both[0]}` is both in `--grid` and in `--set`", "leave one of them out")
    return grid


def _command(program: Path, values: Mapping[str, str | float], fit: FitOptions) -> str:
    """A command line that generates the table with those values."""
    given = {"data": fit.data, "schema": fit.schema, "label": fit.label, "config": fit.config, "seed": fit.seed or None}
    given |= {"delimiter": fit.delimiter, "quote": fit.quote, "encoding": fit.encoding}
    given |= {"from-transcript": fit.from_transcript, "preset": fit.preset}
    words = ["cuts", "run", str(program)]
    words += [word for name, value in values.items() for word in ("--set", f"{name}={value}")]
    words += [word for name, value in given.items() if value is not None for word in (f"--{name}", str(value))]
    return " ".join(map(shell_quoted, words))


# --- what is printed


def as_text(tuning: Tuning, command: str | None) -> str:
    """One line per combination of values, the model without commands first, then the recommendation."""
    names = list(tuning.points[0].values)
    lines = [f"line {outcome.line}" for outcome in tuning.points[0].outcomes]
    header = [*names, "utility", "± std", *lines, "folds that hold"]
    first = ["none", *[""] * (len(names) - 1), *_utility(tuning.free), *[_NONE] * (len(lines) + 1)]
    cells = [first, *(_cells(point, tuning.folds) for point in tuning.points)]
    table = align(header, cells, right=range(len(header)))
    if tuning.label is None:
        what = "closeness of the model's pairs of columns to held-out rows (1 is best)"
    else:
        what = f"accuracy of the model's predictions of `{tuning.label}` on held-out rows (1 is best)"
    about = f"{counted(tuning.rows, 'row')} in {counted(tuning.folds, 'fold')}; utility: {what}"
    return "\n".join([about, "", table, "", _advice(tuning), *([] if command is None else [command])])


def _cells(point: Point, folds: int) -> list[str]:
    measured = [_measured(outcome) for outcome in point.outcomes]
    return [*point.values.values(), *_utility(point.utility), *measured, f"{point.holds} of {folds}"]


def _utility(utility: FoldUtility) -> list[str]:
    return [f"{utility.mean:.4f}", f"{utility.std:.4f}"]


def _measured(outcome: Outcome) -> str:
    """The first number of a command; of a row rule the percentage of rows that satisfy it."""
    if outcome.level is Level.ROW:
        return f"{100 * outcome.values[0]:.2f} %"
    return units.show(outcome.values[0], outcome.unit, 4) if outcome.values else _NONE


def _advice(tuning: Tuning) -> str:
    best, several = tuning.best, len(tuning.points) > 1
    if best is None:
        return "no combination satisfied every command in any fold; try other values"
    if best.holds < tuning.folds:
        folds = f"{best.holds} of {tuning.folds} folds"
        return f"no combination satisfied every command in every fold; the best did in {folds}:"
    if several and all(point.holds == tuning.folds for point in tuning.points):
        return "every combination satisfied every command in every fold; the one with the highest utility:"
    return "highest utility among the combinations that satisfied every command in every fold:"


def as_data(tuning: Tuning, command: str | None) -> dict[str, Any]:
    """The same facts as JSON values."""
    best = tuning.best
    return {
        "rows": tuning.rows,
        "folds": tuning.folds,
        "label": tuning.label,
        "none": plain(asdict(tuning.free)),
        "points": [_point_data(point) for point in tuning.points],
        "recommended": None
        if best is None
        else {"values": dict(best.values), "holds_everywhere": best.holds == tuning.folds, "command": command},
    }


def _point_data(point: Point) -> object:
    commands = [
        {**asdict(outcome), "level": outcome.level.value, "unit": units.name(outcome.unit)}
        for outcome in point.outcomes
    ]
    utility = asdict(point.utility)
    return plain({"values": dict(point.values), "utility": utility, "holds": point.holds, "commands": commands})

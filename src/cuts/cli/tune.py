"""The command that tries a program on rows held out: values for its placeholders, or steps towards fairness."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from errno import EISDIR
from pathlib import Path
from shlex import quote as quoted
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuts.assess.render import plain
from cuts.assess.tuned import Outcome, Point, Tuning, Utility
from cuts.cli import frontier as traced
from cuts.cli import options
from cuts.cli.fitting import check_no_rows, read_transcript
from cuts.cli.progress import show_progress
from cuts.cli.shared import print_json, say, stoppable, values
from cuts.cli.synthesis import PREVIEW_STEPS, ConfigOption, LabelOption, PreviewOption, QuietOption, SeedOption
from cuts.config import Config, read_config
from cuts.data.exchange.csv_dialect import CsvOptions
from cuts.flow import checks, inputs, release, search
from cuts.lang.printer import short
from cuts.lang.spec import Level
from cuts.text import render as diagnostics
from cuts.text.columns import align
from cuts.text.diagnostic import counted, usage_error
from cuts.text.files import unwritable, write_text

if TYPE_CHECKING:  # torch is loaded by the command
    from cuts.count.sources import Rows
    from cuts.data.schema import Schema
    from cuts.lang.syntax import Program

app = typer.Typer()

_NONE = "-"
_POINTS = 6
_FASTER = "`--preview` fits faster, and so do fewer folds"


@app.command()
def tune(
    program: options.ProgramPath,
    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", metavar="NAME=V1,V2,...", help="Values to try for <NAME>; several make all choices."),
    ] = None,
    frontier: Annotated[
        bool, typer.Option("--frontier", help="Instead: what less of a gap between groups costs in accuracy.")
    ] = False,
    points: Annotated[
        int | None,
        typer.Option("--points", min=2, max=100, help=f"Of the frontier; otherwise {_POINTS}.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Draw the frontier there, .svg.", show_default=False)
    ] = None,
    folds: Annotated[int, typer.Option("--folds", min=2, max=1000, help="Parts of the rows, each held out once.")] = 5,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Folds at a time; otherwise as many as there are cores.")
    ] = None,
    data: options.DataOption = None,
    schema: options.SchemaOption = None,
    label: LabelOption = None,
    set_: options.SetOption = None,
    config: ConfigOption = None,
    seed: SeedOption = 0,
    preview: PreviewOption = False,
    quiet: QuietOption = False,
    delimiter: options.DelimiterOption = None,
    quote: options.QuoteOption = None,
    encoding: options.EncodingOption = None,
    from_transcript: options.TranscriptOption = None,
    format: options.FormatOption = options.Format.text,
) -> None:
    """Try values for the placeholders of a program, such as its weights, on rows held out.

    Example: cuts tune fair.cuts --grid w=0.0001,0.001,0.01
    """

    _check_asked(grid, frontier, points, output)
    known, wanted = values(set_), _grid(grid or [], set_)
    asked = inputs.read_program(program)
    settings = read_config(config) if config is not None else Config()
    settings = replace(settings, steps=PREVIEW_STEPS) if preview else settings
    if from_transcript is None:
        checks.check_not_private(asked)
    else:
        check_no_rows(data, schema, label)
    choices = search.choose(checks.without_privacy(asked), wanted, known)
    if from_transcript is None:
        rows = inputs.find_rows(asked, data, csv=CsvOptions(delimiter, quote, encoding))
        columns = inputs.schema_of(asked, rows, schema=schema, label=label)
    else:
        asked = checks.without_privacy(asked)
        columns, rows = _drawn(from_transcript, settings, seed, quiet)
    warnings = search.check(choices, columns)
    if warnings and not quiet:
        say(diagnostics.as_text(warnings, asked.source))
    shared: dict[str, Any] = {"folds": folds, "config": settings, "seed": seed, "values": known}
    shared["workers"] = workers or os.cpu_count() or 1
    if frontier:
        _trace(asked, columns, rows, points or _POINTS, shared, output, quiet, format)
        return
    with stoppable("all values were tried", _FASTER), show_progress(quiet) as observer:
        found = search.tune(asked, columns, rows, wanted, **shared, observer=observer)
    given = {"data": data, "schema": schema, "label": label, "config": config, "seed": seed or None}
    given |= {"delimiter": delimiter, "quote": quote, "encoding": encoding, "from-transcript": from_transcript}
    command = None if found.best is None else _command(program, {**known, **found.best.values}, given)
    if format is options.Format.json:
        print_json(_as_data(found, command))
    else:
        print(_as_text(found, command))


def _drawn(transcript: Path, settings: Config, seed: int, quiet: bool) -> tuple[Schema, Rows]:
    """Rows of the private model of a transcript, and their schema: what tuning may look at."""
    from cuts.count.sources import rows_of

    with stoppable("the private model was fitted", _FASTER), show_progress(quiet) as observer:
        free = release.fit_free(read_transcript(transcript), settings, seed=seed, observer=observer)
        drawn = release.draw_free(free)
    return free.codec.schema, rows_of(drawn)


def _trace(
    program: Program,
    schema: Schema,
    rows: Rows,
    points: int,
    shared: Mapping[str, Any],
    output: Path | None,
    quiet: bool,
    format: options.Format,
) -> None:
    """Print the frontier of a program, and draw it."""
    from cuts.flow.frontier import trace

    with stoppable("all points were tried", _FASTER), show_progress(quiet) as observer:
        found = trace(program, schema, rows, points=points, **shared, observer=observer)
    if output is not None:
        write_text(output, traced.as_picture(found))
        if not quiet:
            say(f"{output} written")
    if format is options.Format.json:
        print_json(traced.as_data(found))
    else:
        print(traced.as_text(found))


def _check_asked(grid: Sequence[str] | None, frontier: bool, points: int | None, output: Path | None) -> None:
    """Refuse options that do not belong together, and what could not be done in the end."""
    if frontier and grid:
        help = "leave one of them out; for the frontier `--set` fills placeholders"
        raise usage_error("bad-setting", "`--grid` and `--frontier` are two different searches", help)
    if not frontier and not grid:
        raise usage_error("bad-setting", "Missing option '--grid' or '--frontier'", "e.g. `--grid w=0.001,0.01`")
    if not frontier and (points is not None or output is not None):
        name = "--points" if points is not None else "--output"
        raise usage_error("bad-setting", f"`{name}` is of the frontier", f"leave out `--grid` for `--frontier {name}`")
    if not frontier:
        return
    from cuts.flow.frontier import check_libraries

    check_libraries()
    if output is not None:
        if output.suffix.lower() != ".svg":
            raise usage_error("unknown-format", "the picture is an `.svg` file", f"e.g. `-o {output.stem}.svg`")
        try:
            if output.is_dir():
                raise IsADirectoryError(EISDIR, "a folder")
            TemporaryFile(dir=output.parent).close()
        except OSError as error:
            raise unwritable(output, error) from None


def _grid(given: Sequence[str], set_: Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    """What `--grid NAME=V1,V2` gives, by name."""
    grid: dict[str, tuple[str, ...]] = {}
    example = "e.g. `--grid w=0.001,0.01`"
    for item in given:
        name, sign, listed = item.partition("=")
        picks = [pick.strip() for pick in listed.split(",")]
        if not sign or not name or not all(picks):
            raise usage_error("bad-setting", f"`{item}` is not NAME=V1,V2,...", example)
        if name in grid:
            raise usage_error("bad-setting", f"`--grid` gives `{name}` twice", "put all its values into one")
        grid[name] = tuple(dict.fromkeys(picks))
    both = sorted(set(grid) & set(values(list(set_ or ()))))
    if both:
        raise usage_error("bad-setting", f"`{both[0]}` is both in `--grid` and in `--set`", "leave one of them out")
    return grid


def _command(program: Path, values: Mapping[str, str | float], given: Mapping[str, object]) -> str:
    """A command that makes the table with those values."""
    words = ["cuts", "run", str(program)]
    words += [word for name, value in values.items() for word in ("--set", f"{name}={value}")]
    words += [word for name, value in given.items() if value is not None for word in (f"--{name}", str(value))]
    return " ".join(map(quoted, words))


# --- what is printed


def _as_text(found: Tuning, command: str | None) -> str:
    """A line a point, the free model first, then the recommendation."""
    names = list(found.points[0].values)
    lines = [f"line {outcome.line}" for outcome in found.points[0].outcomes]
    header = [*names, "utility", "±", *lines, "holds"]
    first = ["none", *[""] * (len(names) - 1), *_utility(found.free), *[_NONE] * (len(lines) + 1)]
    cells = [first, *(_cells(point, found.folds) for point in found.points)]
    table = align(header, cells, right=range(len(header)))
    if found.label is None:
        what = "how near the model's pairs of columns are to held-out rows, 1 at best"
    else:
        what = f"share of held-out rows whose `{found.label}` the model tells"
    about = f"{counted(found.rows, 'row')} in {counted(found.folds, 'fold')}; utility: {what}"
    return "\n".join([about, "", table, "", _advice(found), *([] if command is None else [command])])


def _cells(point: Point, folds: int) -> list[str]:
    measured = [_measured(outcome) for outcome in point.outcomes]
    return [*point.values.values(), *_utility(point.utility), *measured, f"{point.holds} of {folds}"]


def _utility(utility: Utility) -> list[str]:
    return [f"{utility.mean:.4f}", f"{utility.std:.4f}"]


def _measured(outcome: Outcome) -> str:
    """The first number of a command; shares of rows as such."""
    if outcome.level is Level.ROW:
        return f"{100 * outcome.values[0]:.2f} %"
    return short(outcome.values[0], 4) if outcome.values else _NONE


def _advice(found: Tuning) -> str:
    best = found.best
    if best is None:
        return "no choice keeps every command in any fold: try other values"
    if best.holds < found.folds:
        return f"no choice keeps every command in every fold; the best of them does in {best.holds} of {found.folds}:"
    if all(point.holds == found.folds for point in found.points):
        return "every choice keeps every command in every fold; the most useful:"
    return "the most useful choice that keeps every command in every fold:"


def _as_data(found: Tuning, command: str | None) -> dict[str, Any]:
    """The same facts as JSON values."""
    best = found.best
    return {
        "rows": found.rows,
        "folds": found.folds,
        "label": found.label,
        "none": plain(asdict(found.free)),
        "points": [_point_data(point) for point in found.points],
        "recommended": None
        if best is None
        else {"values": dict(best.values), "holds_everywhere": best.holds == found.folds, "command": command},
    }


def _point_data(point: Point) -> object:
    commands = [{**asdict(outcome), "level": outcome.level.value} for outcome in point.outcomes]
    utility = asdict(point.utility)
    return plain({"values": dict(point.values), "utility": utility, "holds": point.holds, "commands": commands})

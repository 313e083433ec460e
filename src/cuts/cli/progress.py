"""Progress of long work: a bar on a terminal, plain lines elsewhere, nothing with `--quiet`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from cuts.cli.shared import say
from cuts.progress import FitStep, Observer, Round
from cuts.text.diagnostic import Diagnostic
from cuts.text.render import as_text
from cuts.text.source import Source

LINE_INTERVAL = 5.0  # seconds between two lines


@contextmanager
def show_progress(quiet: bool) -> Iterator[Observer]:
    """The observer of a fit that shows its progress on stderr."""
    if quiet:
        yield Observer()
    elif sys.stderr.isatty():
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        ) as bar:
            yield _bar(bar)
    else:
        yield _lines()


def warn(diagnostics: Sequence[Diagnostic], source: Source) -> None:
    """Print warnings about a program on stderr."""
    say(as_text(diagnostics, source))


def _bar(bar: Progress) -> Observer:
    task = bar.add_task("", total=None, note="")

    def stage(text: str) -> None:
        nonlocal task
        bar.remove_task(task)  # its length says nothing about the next stage
        task = bar.add_task(text, total=None, note="")

    def counted(rows: int) -> None:
        bar.update(task, note=f"{rows:,} rows counted")

    def fitted(progress: FitStep) -> None:
        note = f"fit error {progress.error:.4f}"
        bar.update(task, completed=progress.step, total=progress.steps, note=note)

    def measured(last: Round) -> None:
        bar.update(task, completed=last.spent, total=1.0, note=f"round {last.number}, privacy budget spent")

    return Observer(stage, counted, fitted, measured, warn, say)


def _lines() -> Observer:
    last = monotonic()
    first: tuple[float, int] | None = None  # time and step of the first report of this fit

    def is_time() -> bool:
        nonlocal last
        if monotonic() - last < LINE_INTERVAL:
            return False
        last = monotonic()
        return True

    def stage(text: str) -> None:
        nonlocal first
        first = None
        say(text)

    def counted(rows: int) -> None:
        if is_time():
            say(f"  {rows:,} rows counted")

    def fitted(progress: FitStep) -> None:
        nonlocal first
        began, step = first = first or (monotonic(), progress.step)
        if progress.step > step and is_time():
            left = (monotonic() - began) / (progress.step - step) * (progress.steps - progress.step)
            say(f"  step {progress.step} of {progress.steps}, fit error {progress.error:.4f}, {left:.0f} s left")

    def measured(last: Round) -> None:
        if is_time():
            say(f"  round {last.number}: {100 * last.spent:.0f} % of the privacy budget spent")

    return Observer(stage, counted, fitted, measured, warn, say)

"""How long work shows: a bar on a terminal, plain lines elsewhere, nothing when asked to be quiet."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from cuts.cli.shared import say
from cuts.progress import FitStep, Observer, Round

LINE_EVERY = 5.0  # seconds between two lines


@contextmanager
def show_progress(quiet: bool) -> Iterator[Observer]:
    """Who the steps of a fit tell how they go."""
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


def _bar(bar: Progress) -> Observer:
    task = bar.add_task("", total=None, note="")

    def stage(text: str) -> None:
        nonlocal task
        bar.remove_task(task)  # a further one knows nothing of the last one's length
        task = bar.add_task(text, total=None, note="")

    def counted(rows: int) -> None:
        bar.update(task, note=f"{rows:,} rows")

    def fitted(progress: FitStep) -> None:
        note = f"error {progress.error:.4f}"
        bar.update(task, completed=progress.step, total=progress.steps, note=note)

    def measured(last: Round) -> None:
        bar.update(task, completed=last.spent, total=1.0, note=f"round {last.number}")

    return Observer(stage, counted, fitted, measured)


def _lines() -> Observer:
    last = monotonic()
    first: tuple[float, int] | None = None  # when the fit was first heard of, and its step

    def is_time() -> bool:
        nonlocal last
        if monotonic() - last < LINE_EVERY:
            return False
        last = monotonic()
        return True

    def stage(text: str) -> None:
        nonlocal first
        first = None
        say(text)

    def counted(rows: int) -> None:
        if is_time():
            say(f"  {rows:,} rows")

    def fitted(progress: FitStep) -> None:
        nonlocal first
        began, step = first = first or (monotonic(), progress.step)
        if progress.step > step and is_time():
            left = (monotonic() - began) / (progress.step - step) * (progress.steps - progress.step)
            say(f"  step {progress.step} of {progress.steps}, error {progress.error:.4f}, {left:.0f} s left")

    def measured(last: Round) -> None:
        if is_time():
            say(f"  round {last.number}: {100 * last.spent:.0f} % of the privacy budget spent")

    return Observer(stage, counted, fitted, measured)

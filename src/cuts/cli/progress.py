"""Progress of long work: a bar on a terminal, plain lines elsewhere; with `--quiet` one line per minute on a terminal.

Every stage that takes long reports how much of it is done, so that the time left can be shown.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from cuts.cli.shared import say
from cuts.cli.terminal import is_coloured, print_diagnostics
from cuts.progress import FitStep, Observer, Round
from cuts.text.diagnostic import Diagnostic
from cuts.text.source import Source

LINE_INTERVAL = 5.0  # seconds between two lines
QUIET_INTERVAL = 60.0  # the same with `--quiet`, on a terminal
BAR_WIDTH = 16  # of a line of 80 characters, most of which say what is done
RATE_SECONDS = 2.0  # several processes may report their first rows at once, which is no rate yet


@contextmanager
def show_progress(quiet: bool, doing: str = "starting") -> Iterator[Observer]:
    """An observer that shows the progress of long work on stderr; `doing` names the work before the first stage."""
    if quiet and sys.stderr.isatty():
        with _signs_of_life(doing) as observer:
            yield observer
    elif quiet:
        yield Observer()
    elif sys.stderr.isatty():
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=BAR_WIDTH),
            TextColumn("{task.fields[note]}"),
            TextColumn("elapsed"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True, color_system="auto" if is_coloured(sys.stderr) else None),
            transient=True,
        ) as bar:
            yield _bar(bar, doing)
    else:
        yield _lines()


@contextmanager
def _signs_of_life(doing: str) -> Iterator[Observer]:
    """An observer that says once in a while what is being done: whoever waits knows that it goes on."""
    current, began, done = doing, monotonic(), Event()

    def stage(text: str) -> None:
        nonlocal current
        current = text

    def speak() -> None:
        while not done.wait(QUIET_INTERVAL):
            say(f"still {current} ({(monotonic() - began) / 60:.0f} min in all)")

    speaker = Thread(target=speak, daemon=True)
    speaker.start()
    try:
        yield Observer(stage)
    finally:
        done.set()
        speaker.join()


def warn(diagnostics: Sequence[Diagnostic], source: Source) -> None:
    """Print warnings about a program on stderr."""
    print_diagnostics(diagnostics, source, sys.stderr)


class _RowRate:
    """Rows per second since the first report: processes that start up draw nothing yet."""

    def __init__(self) -> None:
        self._first: tuple[float, int] | None = None

    def at(self, rows: int) -> float:
        """The rate now that this many rows are drawn; 0 as long as it is not known."""
        began, before = self._first = self._first or (monotonic(), rows)
        seconds = monotonic() - began
        return 0.0 if seconds < RATE_SECONDS else max(rows - before, 0) / seconds


def _bar(bar: Progress, doing: str) -> Observer:
    task = bar.add_task(doing, total=None, note="")

    rate = _RowRate()

    def stage(text: str) -> None:
        nonlocal task, rate
        rate = _RowRate()
        bar.remove_task(task)  # its length says nothing about the next stage
        task = bar.add_task(text, total=None, note="")

    def counted(rows: int) -> None:
        bar.update(task, note=f"{rows:,} rows")

    def fitted(progress: FitStep) -> None:
        note = f"fit error {progress.error:.4f}"
        bar.update(task, completed=progress.step, total=progress.steps, note=note)

    def measured(last: Round) -> None:
        bar.update(task, completed=last.spent, total=1.0, note=f"round {last.number}, privacy budget spent")

    def advanced(share: float) -> None:
        bar.update(task, completed=share, total=1.0)

    def drawn(rows: int, total: int) -> None:
        found = rate.at(rows)
        speed = f", {found:,.0f} rows/s" if found else ""
        bar.update(task, completed=rows, total=total, note=f"{rows:,} of {total:,} rows{speed}")

    def noted(text: str) -> None:
        bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    return Observer(stage, counted, fitted, measured, warn, say, advanced, drawn, noted)


def _lines() -> Observer:
    last = monotonic()
    first: tuple[float, float] | None = None  # time and share done of the first report of this stage

    def is_time() -> bool:
        nonlocal last
        if monotonic() - last < LINE_INTERVAL:
            return False
        last = monotonic()
        return True

    rate = _RowRate()

    def stage(text: str) -> None:
        nonlocal first, rate
        first, rate = None, _RowRate()
        say(text)

    def left(share: float) -> str:
        """The time left in words, once there are two reports to estimate it from."""
        nonlocal first
        began, start = first = first or (monotonic(), share)
        if share <= start:
            return ""
        return f", {(monotonic() - began) / (share - start) * (1.0 - share):.0f} s left"

    def counted(rows: int) -> None:
        if is_time():
            say(f"  {rows:,} rows")

    def fitted(progress: FitStep) -> None:
        time = left(progress.step / progress.steps)
        if time and is_time():
            say(f"  step {progress.step} of {progress.steps}, fit error {progress.error:.4f}{time}")

    def measured(last: Round) -> None:
        time = left(last.spent)
        if is_time():
            say(f"  round {last.number}: {100 * last.spent:.0f} % of the privacy budget spent{time}")

    def advanced(share: float) -> None:
        time = left(share)
        if time and is_time():
            say(f"  {100 * share:.0f} % done{time}")

    def drawn(rows: int, total: int) -> None:
        found = rate.at(rows)
        if found and is_time():
            say(f"  {rows:,} of {total:,} rows, {found:,.0f} rows/s, {(total - rows) / found:.0f} s left")

    def noted(text: str) -> None:
        say(f"  {text}")

    return Observer(stage, counted, fitted, measured, warn, say, advanced, drawn, noted)

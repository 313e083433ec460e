"""What a terminal adds to plain text: colour beside the words, tables that fit its width, verdicts as a table.

Output that is piped or redirected stays plain, and so does everything under `NO_COLOR` or `TERM=dumb`, but for the
width.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from shutil import get_terminal_size
from textwrap import fill
from typing import TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cuts.assess import render
from cuts.assess.verdicts import HEADS
from cuts.assess.verify import Verdict
from cuts.text import columns
from cuts.text import render as diagnostics
from cuts.text.diagnostic import Diagnostic
from cuts.text.source import Source

_STYLES = {"holds": "green", "FAILS": "bold red", "no rows": "yellow", "-": "dim"}
_MARKS = (  # of the lines of a diagnostic
    (r"(?m)^error(?=\[)", "bold red"),
    (r"(?m)^warning(?=\[)", "bold yellow"),
    (r"(?m)^ *\| *\^+.*$", "red"),
    (r"(?m)^ *--> .*$", "blue"),
    (r"(?m)^ *= help:", "bold cyan"),
)


@contextmanager
def fitted_tables() -> Iterator[None]:
    """Tables that are printed meanwhile fit the width of the terminal, if stdout is one."""
    if not sys.stdout.isatty():
        yield
        return
    with columns.at_most(get_terminal_size().columns):
        yield


def is_coloured(stream: TextIO) -> bool:
    """Whether colours are wanted on a stream."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_diagnostics(problems: Iterable[Diagnostic], source: Source | None, stream: TextIO, end: str = "\n") -> None:
    """Print errors and warnings, coloured on a terminal."""
    text = diagnostics.as_text(problems, source)
    if not is_coloured(stream):
        print(text, file=stream, end=end)
        return
    coloured = Text(text)
    for pattern, style in _MARKS:
        coloured.highlight_regex(re.compile(pattern), style)
    Console(file=stream, highlight=False).print(coloured, soft_wrap=True, end=end)


def print_text(text: str, end: str = "\n") -> None:
    """Print a result; on a terminal sentences are broken between words. Rows of tables are left as they are."""
    if not sys.stdout.isatty():
        print(text, end=end)
        return
    width = get_terminal_size().columns
    lines = [_broken(line, width) if len(line) > width else line for line in text.split("\n")]
    print("\n".join(lines), end=end)


def _broken(line: str, width: int) -> str:
    is_row = "  " in line.strip()
    return line if is_row else fill(line, width, break_long_words=False, break_on_hyphens=False)


def print_verdicts(verdicts: Sequence[Verdict], text: str, details: str) -> None:
    """Print `text`, which has the verdicts in it; on a terminal `details`, which has not, and then a table of them."""
    if not sys.stdout.isatty():
        print(text, end="")
        return
    print_text(details, end="")
    if not verdicts:
        return
    plain = not is_coloured(sys.stdout)
    console = Console(file=sys.stdout, highlight=False, color_system=None if plain else "auto")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="" if plain else "bold")
    for head in HEADS:
        table.add_column(head, justify="right" if head == "line" else "left", no_wrap=head in ("line", "verdict"))
    for verdict in verdicts:
        cells = [Text(cell) for cell in render.cells(verdict)]
        cells[1].stylize("" if plain else _STYLES[cells[1].plain])
        table.add_row(*cells)
    console.print(table)
    print_text(f"\n{render.counts(verdicts)}\n")

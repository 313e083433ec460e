"""Markdown pages whose blocks are run: what people read is what is tested.

The fenced blocks of a page are run from top to bottom in one folder. The first word of the info string says how:

- `cuts`, `csv`, `toml`, `json`: the text is written to the file that `file=people.csv` names. The default name of a
  program is `program.cuts`; a block of another kind without `file=` is only shown.
- `console exit=N`: `$ cuts ...` lines, each followed by what the command prints, stdout and stderr together. N is the
  exit code of the last command, 0 if omitted.
- `python`: run with all names that earlier `python` blocks of the page defined. What a block prints stands at its end,
  after an empty line, as comments: one `# ` line per printed line. A block without such comments prints nothing.
- `text`: shown, not run by the tests. If it shows output, its info string says where the output comes from:
    - `text figures`: output of fits, which differs between machines. `make figures` runs the `$ ` lines of the block
      with bash and replaces what follows them. `figures="COMMAND"` runs COMMAND first: as preparation if the block has
      `$ ` lines, otherwise the block is what COMMAND prints. `exit=N` as above. A line `...` stands for lines left out.
    - `text not-run="REASON"`: output that no command on the page can reproduce.

Any other info string is an error, so that no block is skipped by accident.
"""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from cuts.cli import main

FILES = ("cuts", "csv", "toml", "json")
_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
_PRINTED = re.compile(r"(?<=\n)\n(?P<comments>(?:#[^\n]*\n)+)\Z")


@dataclass(frozen=True)
class Block:
    """A fenced block: its info string as written, and its text."""

    info: str
    body: str

    @property
    def kind(self) -> str:
        """The first word of the info string."""
        return self.info.partition(" ")[0]

    @property
    def options(self) -> dict[str, str]:
        """The words after the first one: `key=value`, and "" for a word without a value."""
        pairs = [word.partition("=") for word in shlex.split(self.info)[1:]]
        return {key: value for key, _, value in pairs}

    @property
    def exit(self) -> int:
        """The exit code that the page gives for the last command."""
        return int(self.options.get("exit", "0"))

    def with_output(self, body: str, code: int) -> str:
        """The block as Markdown, with another text and the exit code of its last command."""
        info = re.sub(r" exit=\d+", "", self.info)
        return f"```{info}{f' exit={code}' if code else ''}\n{body}```"


@dataclass(frozen=True)
class Outcome:
    """What a block of a page says it prints, what it really prints, and both exit codes."""

    expected: str
    actual: str
    expected_exit: int
    actual_exit: int


Figures = Callable[[Block, Path], str]
"""The Markdown of a `text figures` block with new output, given the folder of the page."""


def blocks(page: str) -> list[Block]:
    """Every fenced block of a page."""
    return [Block(**match.groupdict()) for match in _FENCE.finditer(page)]


def run_page(page: str, folder: Path, figures: Figures | None = None) -> tuple[list[Outcome], str]:
    """The outcome of every console and python block run in `folder`, and the page with the real output in it."""
    outcomes: list[Outcome] = []
    names: dict[str, Any] = {}

    def replace(match: re.Match[str]) -> str:
        nonlocal names
        block = Block(**match.groupdict())
        match block.kind:
            case "console":
                printed, code = _run_console(block, folder)
                outcomes.append(Outcome(block.body, printed, block.exit, code))
                return block.with_output(printed, code)
            case "python":
                source, expected = split_python(block.body)
                printed, names = run_python(source, folder / f"block_{len(outcomes)}.py", names)
                outcomes.append(Outcome(expected, printed, 0, 0))
                return block.with_output(source + _as_comments(printed), 0)
            case "text":
                return figures(block, folder) if figures and "figures" in block.options else match.group()
            case kind if kind in FILES:
                file = block.options.get("file", "program.cuts" if kind == "cuts" else "")
                if file:
                    (folder / file).write_text(block.body)
                return match.group()
            case kind:
                raise ValueError(f"a block of unknown kind `{kind}`: see {__file__}")

    return outcomes, _FENCE.sub(replace, page)


def run(words: list[str], folder: Path) -> tuple[str, int]:
    """What a `cuts` command prints in `folder`, and its exit code."""
    assert words[0] == "cuts", words
    out = io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
        patch.object(sys, "argv", words),
        patch.dict("os.environ", {"COLUMNS": "100"}),
    ):
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
    return stripped(out.getvalue()), code


def run_python(source: str, script: Path, names: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """What `source` prints when it is run as the file `script`, in its folder, and the names defined afterwards."""
    script.write_text(source)
    out = io.StringIO()
    with contextlib.chdir(script.parent), contextlib.redirect_stdout(out):
        names = runpy.run_path(str(script), init_globals=names)
    return stripped(out.getvalue()), names


def split_python(body: str) -> tuple[str, str]:
    """The source of a python block, and the output that the comments at its end show."""
    comments = _PRINTED.search(body)
    if comments is None:
        return body, ""
    lines = comments["comments"].splitlines()
    return body[: comments.start()], "".join(f"{line.removeprefix('#').removeprefix(' ')}\n" for line in lines)


def shorten(printed: list[str], shown: list[str]) -> list[str]:
    """The lines of `printed` that stand where `shown` has lines, with `...` where `shown` leaves lines out.

    As many lines as before the first `...` are kept from the start, as many as after the last one from the end. Lines
    between two `...` are found by their first line, whatever its numbers are.

    >>> shorten(["one", "read 7", "read 8", "end"], ["one", "...", "read 2", "...", "end"])
    ['one', '...', 'read 7', '...', 'end']
    """
    if "..." not in shown:
        return printed
    parts: list[list[str]] = [[]]
    for line in shown:
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    first, *middle, last = parts
    kept, position = printed[: len(first)], len(first)
    for part in middle:
        masked = [_without_numbers(line) for line in printed]
        position = masked.index(_without_numbers(part[0]), position)
        kept += ["...", *printed[position : position + len(part)]]
        position += len(part)
    return [*kept, "...", *printed[max(position, len(printed) - len(last)) :]]


def stripped(text: str) -> str:
    """`text` without spaces at the end of its lines."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _run_console(block: Block, folder: Path) -> tuple[str, int]:
    printed, code = "", 0
    for line in block.body.splitlines():
        if line.startswith("$ "):
            output, code = run(shlex.split(line[2:]), folder)
            printed += f"{line}\n{output}"
    return printed, code


def _as_comments(printed: str) -> str:
    lines = [f"# {line}".rstrip() for line in printed.splitlines()]
    return "".join(f"{line}\n" for line in ["", *lines]) if lines else ""


def _without_numbers(line: str) -> str:
    return " ".join(re.sub(r"\d[\d.,e+-]*", "0", line).split())

"""Markdown pages whose console blocks are run: what people read is what is tested.

A fenced block `cuts`, `csv` or `toml` is written to the file its info string names (`file=people.csv`; a program is
`program.cuts` unless it says otherwise). A block `console exit=N` holds `$ cuts ...` lines, each followed by what it
prints, stdout and stderr together; N is the exit code of its last command.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from cuts.cli import main

_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """What a console block says and what really happens; `text` is the page with the latter in place."""

    expected: str
    actual: str
    expected_exit: int
    actual_exit: int


def run_page(page: str, folder: Path) -> tuple[list[Outcome], str]:
    """Every console block run in `folder`, and the page with the real output in it."""
    outcomes: list[Outcome] = []

    def replace(match: re.Match[str]) -> str:
        words = shlex.split(match["info"])
        options = dict(word.split("=", 1) for word in words if "=" in word)
        if words and words[0] in ("cuts", "csv", "toml"):
            (folder / options.get("file", "program.cuts")).write_text(match["body"])
            return match.group()
        if not words or words[0] != "console":
            return match.group()
        printed, code = "", 0
        for line in match["body"].splitlines():
            if line.startswith("$ "):
                output, code = run(shlex.split(line[2:]), folder)
                printed += f"{line}\n{output}"
        outcomes.append(Outcome(match["body"], printed, int(options.get("exit", "0")), code))
        return f"```console exit={code}\n{printed}```" if code else f"```console\n{printed}```"

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
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return "".join(f"{line}\n" for line in lines), code

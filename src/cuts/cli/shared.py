"""What commands have in common: reading arguments, printing results and messages, being interrupted."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from cuts.flow import checks, inputs
from cuts.lang.syntax import Program
from cuts.progress import Observer
from cuts.text.diagnostic import CutsError, Diagnostic, counted, usage_error


def checked(path: Path, data: str | None, schema: Path | None, values: dict[str, str | float]) -> checks.Checked:
    """The result of checking a program, syntax errors and unknown data included.

    Rows of a private program are not opened: even whether they can be read would tell something about them.
    """
    try:
        program = inputs.read_program(path)
        is_private = checks.private_command(program) is not None
        if is_private and data is not None:
            say(f"{data} was not opened: the program is private")
        table = None if is_private or data is None else inputs.open_table(data)
        known = inputs.schema_for_table(program, schema, table)
    except CutsError as error:
        if error.source is None:  # not about the program's text: a file that cannot be read
            raise
        return checks.Checked(Program("", (), error.source), None, error.diagnostics)
    return checks.check(program, known, table=table, values=values)


def counts(diagnostics: Sequence[Diagnostic]) -> str:
    """How many errors and warnings, in words."""
    errors = sum(diagnostic.severity == "error" for diagnostic in diagnostics)
    warnings = len(diagnostics) - errors
    return ", ".join(counted(n, word) for n, word in ((errors, "error"), (warnings, "warning")) if n) or "no warnings"


def values(given: list[str] | None) -> dict[str, str | float]:
    """The values that `--set NAME=VALUE` gives to placeholders, by name."""
    values: dict[str, str | float] = {}
    for item in given or []:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise usage_error("bad-setting", f"`{item}` is not NAME=VALUE", "e.g. `--set tol=0.01`")
        values[name] = value
    return values


@contextmanager
def interruptible(observer: Observer, helps: Mapping[str, str]) -> Iterator[Observer]:
    """An observer for work that Ctrl-C stops with a message: the stage it was in, and what to know then.

    `helps` is by stage; the help without a name is for all other stages.
    """
    current = "starting"

    def stage(text: str) -> None:
        nonlocal current
        current = text
        observer.stage(text)

    try:
        yield replace(observer, stage=stage)
    except KeyboardInterrupt as error:
        raise _stopped(f"stopped while {current}", helps.get(current, helps[""]), error) from None


@contextmanager
def stoppable(until: str, help: str) -> Iterator[None]:
    """Work that Ctrl-C stops with a message."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise _stopped(f"stopped before {until}", help, error) from None


def _stopped(title: str, help: str, error: KeyboardInterrupt) -> CutsError:
    stopped = CutsError([Diagnostic("interrupted", title, help=help, exit_code=130)])
    for note in getattr(error, "__notes__", ()):
        stopped.add_note(note)
    return stopped


def wants_json(words: Sequence[str]) -> bool:
    """Whether the command line asks for JSON, even if its arguments are wrong otherwise."""
    return "--format=json" in words or ("--format", "json") in pairwise(words)


def print_json(data: Any) -> None:
    """Print a result as JSON on stdout."""
    print(json.dumps(data, indent=2, ensure_ascii=False))


def say(text: str) -> None:
    """Print a message on stderr."""
    print(text, file=sys.stderr)

"""The command line: results on stdout, talk on stderr, `--format json` for machines.

Exit codes: 0 ok, 1 the program, the data, a verification or a fit is at fault, 2 usage, 3 contradiction or target out
of reach, 5 privacy refused, 130 interrupted. Each module holds the commands of one subject in its own `app`; nothing
here imports torch.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from cuts import __version__
from cuts.cli import datasets, evaluate, ledger, program, run, sample, tables, tune
from cuts.cli.shared import print_json, wants_json
from cuts.data.exchange.streams import kind_of
from cuts.model.openmp import wait_passively
from cuts.text import render as diagnostics
from cuts.text.diagnostic import CutsError

__all__ = ["app", "main"]

app = typer.Typer(
    help="Generate synthetic tables that satisfy the constraints of a program.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for _commands in (run.app, sample.app, tune.app, program.app, evaluate.app, datasets.app, tables.app):
    app.add_typer(_commands)
app.add_typer(ledger.app, name="ledger")


def main() -> None:
    """Run the command line; a problem with the input is a message and an exit code, never a traceback."""
    wait_passively()
    try:
        app()
    except SystemExit as stopped:
        if stopped.code == 2 and _has_replaced_pattern(sys.argv):
            print("Write a pattern such as `*.parquet` in quotes, or the shell replaces it.", file=sys.stderr)
        raise
    except CutsError as error:
        print(diagnostics.as_text(error.diagnostics, error.source), file=sys.stderr)
        _print_notes(error)
        if wants_json(sys.argv):
            print_json({"ok": False, "diagnostics": diagnostics.as_data(error.diagnostics, error.source)})
        sys.exit(error.exit_code)
    except KeyboardInterrupt as error:
        print("stopped", file=sys.stderr)
        _print_notes(error)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output left
        sys.stderr.close()
        sys.exit(0)


def _has_replaced_pattern(words: Sequence[str]) -> bool:
    """Whether the shell seems to have replaced a pattern by the files that match: two tables, one after the other."""
    are_tables = [kind_of(Path(word)) is not None and Path(word).is_file() for word in words]
    return any(this and following for this, following in pairwise(are_tables))


def _print_notes(error: BaseException) -> None:
    for note in getattr(error, "__notes__", ()):
        print(note, file=sys.stderr)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        print(f"cuts {__version__}")
        raise typer.Exit

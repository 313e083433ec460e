"""The command that editors start: lsp."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuts import __version__
from cuts.cli import completion
from cuts.text.diagnostic import usage_error

app = typer.Typer()


@app.command()
def lsp(
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            metavar="FILE",
            help="Schema of all programs, .toml or .json. Default: the embedded table's, `NAME.toml` beside the "
            "program for the data `NAME`, or inferred from the rows.",
            show_default=False,
            autocompletion=completion.schemas,
        ),
    ] = None,
) -> None:
    """Run the language server for editors on stdin and stdout: problems, completion, hover and formatting.

    Example: cuts lsp --schema people.toml
    """
    try:
        from cuts.editor import server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise usage_error("missing-extra", "the language server needs pygls", 'pip install "cuts[lsp]"') from None
    server.serve(__version__, schema)

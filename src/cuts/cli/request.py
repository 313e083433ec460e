"""The arguments of commands that fit a model: checked, and made into a request."""

from __future__ import annotations

from collections.abc import Sequence
from errno import EISDIR
from os.path import realpath
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from cuts.cli.options import FitOptions, MachineOptions, ReleaseOptions
from cuts.data.exchange.parts import PartsFolder, check_parts
from cuts.data.exchange.streams import check_writable
from cuts.flow.checks import private_command, private_test_rows
from cuts.flow.inputs import find_source, open_table, read_program
from cuts.privacy.transcript import Transcript, load
from cuts.sources.registry import open_source
from cuts.text.diagnostic import CutsError, usage_error
from cuts.text.files import unwritable

if TYPE_CHECKING:  # torch is loaded by the commands that need it
    from cuts.flow.request import FitRequest


def make_request(
    path: Path,
    fit: FitOptions,
    machine: MachineOptions,
    release: ReleaseOptions,
    *,
    written: Sequence[Path | PartsFolder | None],
    rows: int | None = None,
    test: str | None = None,
) -> FitRequest:
    """What the command line asks to be fitted; `written` are the files it will write, which it must not read."""
    from cuts.flow.request import PrivacyOptions
    from cuts.flow.run import make_request

    program = read_program(path)
    _check_release(release, fit.from_transcript, is_private=private_command(program) is not None)
    is_private = fit.from_transcript is not None or private_command(program) is not None
    if test is not None and is_private:
        raise CutsError([private_test_rows()])
    if fit.from_transcript is not None:
        check_no_rows(fit.data, fit.schema, fit.label)
        check_apart(written, (path, fit.from_transcript))
    else:
        read = [find_source(program, fit.data, fit.csv), *([] if test is None else [open_source(test, fit.csv)])]
        check_apart(written, (path, fit.schema, *(place for source in read for place in source.paths)))
    folder = next(_path(place) for place in written if place is not None).parent
    keep_at = folder / f"{path.stem}_transcript.json"
    return make_request(
        program,
        fit.data,
        schema=fit.schema,
        label=fit.label,
        rows=rows,
        seed=fit.seed,
        config=machine.override(fit.settings),
        values=fit.values,
        csv=fit.csv,
        privacy=PrivacyOptions(release.ledger, release.data_id, release.max_epsilon, release.at_delta, keep_at),
        transcript=fit.from_transcript,
        test=None if test is None else open_table(test, fit.csv),
    )


def check_no_rows(*given: object) -> None:
    """Refuse options about rows beside a transcript."""
    if any(option is not None for option in given):
        help = "leave them out: the transcript contains the schema"
        raise usage_error(
            "bad-setting", "`--from-transcript` excludes `--data`, `--schema` and `--label`: no rows are read", help
        )


def read_transcript(path: Path) -> Transcript:
    """The transcript in a model or in a file of its own; a `CutsError` if there is none."""
    if path.suffix != ".synth":
        return load(path)
    from cuts.flow import release  # a model needs torch

    return release.read_transcript(path)


def check_output(output: Path | PartsFolder) -> None:
    """Refuse before any work a table that could not be written after it."""
    if isinstance(output, PartsFolder):
        check_parts(output)
        check_places(output.path / "_" if output.path.is_dir() else output.path)
    else:
        if not output.suffix:
            help = f"write `{output}.csv` or `{output}.parquet` for one file, `{output}/` for a folder of Parquet parts"
            raise usage_error("unwritable-file", f"{output} has no file extension", help)
        check_writable(output)
        check_places(output)


def check_places(*paths: Path | None) -> None:
    """Refuse before any training what could not be written after it."""
    for path in filter(None, paths):
        try:
            if path.is_dir():
                raise IsADirectoryError(EISDIR, "a folder")
            TemporaryFile(dir=path.parent).close()
        except OSError as error:
            raise unwritable(path, error) from None


def check_apart(written: Sequence[Path | PartsFolder | None], read: Sequence[str | Path | None]) -> None:
    """Refuse to replace a file that is read."""
    inputs = {realpath(path) for path in read if path is not None}  # `Path.resolve` fails on a link to itself
    for path in (_path(place) for place in written if place is not None):
        if path.exists() and realpath(path) in inputs:
            raise usage_error("unwritable-file", f"{path} is read by this command", "give another file to write to")


def _path(output: Path | PartsFolder) -> Path:
    return output.path if isinstance(output, PartsFolder) else output


def _check_release(release: ReleaseOptions, transcript: Path | None, *, is_private: bool) -> None:
    """Refuse options about a release where none is made."""
    given: dict[str, object] = {"--ledger": release.ledger, "--data-id": release.data_id}
    given |= {"--max-epsilon": release.max_epsilon, "--at-delta": release.at_delta}
    useless = [name for name, value in given.items() if value is not None]
    if useless and (transcript is not None or not is_private):
        why = "fitting from a transcript releases nothing" if is_private else "the program has no privacy command"
        raise usage_error("bad-setting", f"`{useless[0]}` has no effect here: {why}", f"leave `{useless[0]}` out")
    if release.at_delta is not None and release.max_epsilon is None:
        help = "add `--max-epsilon`, the limit that is checked at this delta"
        raise usage_error("bad-setting", "`--at-delta` has no effect without `--max-epsilon`", help)

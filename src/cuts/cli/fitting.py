"""The fit behind `cuts run` and `cuts fit`: from rows, or, of a private program, from the trusted core's answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EISDIR
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from cuts.cli.progress import show_progress
from cuts.cli.shared import say, stoppable
from cuts.config import Config
from cuts.count.sources import FileRows, spread_sample
from cuts.data.exchange.csv_dialect import CsvOptions
from cuts.data.exchange.files import FileForm
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.flow import checks, inputs
from cuts.flow.learn import fit_model
from cuts.lang.binder import bind
from cuts.lang.placeholders import fill
from cuts.lang.spec import Spec
from cuts.lang.syntax import Program
from cuts.privacy.ledger_file import LedgerFile, default_ledger_file
from cuts.privacy.reading import PrivateFile
from cuts.text import render as diagnostics
from cuts.text.diagnostic import CutsError, counted, has_errors, usage_error
from cuts.text.files import unwritable, write_text

if TYPE_CHECKING:  # torch is loaded by the commands that need it
    from cuts.model.store import Model
    from cuts.privacy.transcript import Transcript

_FASTER = "nothing was written; `--preview` fits faster"
_SPENT = "nothing was written; what the core had read by then stays charged in the ledger"
_KEPT = "no model was written"


@dataclass(frozen=True, slots=True)
class Release:
    """What was told about a release: the transcript there is, the data's name, the book, and a limit."""

    transcript: Path | None
    data_id: str | None
    ledger: Path | None
    max_epsilon: float | None


@dataclass(frozen=True, slots=True)
class Asked:
    """What a command asks to be fitted; `written` are the files it will write, which it must not read."""

    program: Path
    data: str | None
    schema: Path | None
    label: str | None
    values: Mapping[str, str | float]
    config: Config
    seed: int
    quiet: bool
    dialect: CsvOptions
    written: tuple[Path | None, ...]
    release: Release
    draw: int | None = None


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model of a program; how the real file looked and a sample of it, or rows of the free private model."""

    model: Model
    spec: Spec
    form: FileForm | None = None
    real: Table | None = None
    reference: Table | None = None


def fit_asked(asked: Asked) -> Fitted:
    """The model of a program, once it has no errors; its warnings are said."""
    program = inputs.read_program(asked.program)
    private, release = checks.private_command(program) is not None, asked.release
    told = {"--ledger": release.ledger, "--data-id": release.data_id, "--max-epsilon": release.max_epsilon}
    useless = [name for name, value in told.items() if value is not None]
    if useless and (release.transcript is not None or not private):
        why = "from a transcript nothing is released" if private else "the program promises no privacy"
        raise usage_error("bad-setting", f"`{useless[0]}` has no use here: {why}", f"leave `{useless[0]}` out")
    if release.transcript is not None:
        return _from_transcript(program, asked)
    return _fit_private(program, asked) if private else _fit(program, asked)


def check_program(program: Program, schema: Schema, values: Mapping[str, str | float], *, quiet: bool) -> None:
    """Raise if a program has errors, and say its warnings."""
    found = checks.check(program, schema, values=values)
    if found.spec is None or has_errors(found.diagnostics):
        raise CutsError(found.diagnostics, program.source)
    if found.diagnostics and not quiet:
        say(diagnostics.as_text(found.diagnostics, program.source))


def check_no_rows(*given: object) -> None:
    """Refuse to be told of rows beside a transcript."""
    if any(each is not None for each in given):
        help = "leave out `--data`, `--schema` and `--label`: the transcript has all that may be known"
        raise usage_error("bad-setting", "with `--from-transcript` no rows are read", help)


def read_transcript(path: Path) -> Transcript:
    """The transcript in a model or a file of its own; a `CutsError` if there is none."""
    from cuts.privacy.transcript import load

    if path.suffix != ".synth":
        return load(path)
    from cuts.model import store

    found = store.load(path).transcript
    if found is None:
        raise usage_error("bad-transcript", f"{path} is no private model", "give a model of a private program")
    return found


def _fit(program: Program, asked: Asked) -> Fitted:
    from cuts.flow import inputs

    rows = inputs.find_rows(program, asked.data, csv=asked.dialect)
    check_apart(asked.written, (asked.program, asked.schema, rows.path if isinstance(rows, FileRows) else None))
    schema = inputs.schema_of(program, rows, schema=asked.schema, label=asked.label)
    check_program(program, schema, asked.values, quiet=asked.quiet)
    with stoppable("the fit was finished", _FASTER), show_progress(asked.quiet) as observer:
        model = fit_model(
            program,
            schema,
            rows,
            config=asked.config,
            seed=asked.seed,
            values=asked.values,
            draw=asked.draw,
            observer=observer,
        )
    return Fitted(model, _spec(program, model, asked), rows.form, spread_sample(rows))


def _fit_private(program: Program, asked: Asked) -> Fitted:
    from cuts.flow import inputs
    from cuts.flow import release as releases

    rows = inputs.find_private_rows(program, asked.data, csv=asked.dialect)
    check_apart(asked.written, (asked.program, asked.schema, rows.path if isinstance(rows, PrivateFile) else None))
    schema = inputs.schema_of(program, None, schema=asked.schema, label=asked.label)
    release = asked.release
    book = default_ledger_file() if release.ledger is None else LedgerFile(release.ledger)
    account = releases.Account(book, release.data_id or schema.name, release.max_epsilon)
    if schema.provenance != "inferred":  # else its names and values are known once they were found
        check_program(program, schema, asked.values, quiet=asked.quiet)
    options: dict[str, Any] = {"config": asked.config, "seed": asked.seed, "values": asked.values}
    with stoppable("the rows were measured", _SPENT), show_progress(asked.quiet) as observer:
        transcript = releases.measure(program, schema, rows, account, **options, observer=observer)
    if not asked.quiet:
        say(_told(account.data, book))
    with _kept(transcript, asked), stoppable("the fit was finished", _KEPT), show_progress(asked.quiet) as observer:
        made = releases.fit_transcript(program, transcript, **options, draw=asked.draw, observer=observer)
    return Fitted(made.model, _spec(program, made.model, asked), reference=made.reference)


@contextmanager
def _kept(transcript: Transcript, asked: Asked) -> Iterator[None]:
    """Work on what was paid for; if it fails, the transcript is written beside what was to be written."""
    from cuts.privacy.transcript import render

    try:
        yield
    except BaseException:
        place = (
            next(path for path in asked.written if path is not None).parent / f"{asked.program.stem}_transcript.json"
        )
        write_text(place, render(transcript))
        say(f"what was released is kept: `--from-transcript {place}` goes on from there at no further cost")
        raise


def _from_transcript(program: Program, asked: Asked) -> Fitted:

    from cuts.flow import release as releases

    assert asked.release.transcript is not None
    check_apart(asked.written, (asked.program, asked.release.transcript))
    check_no_rows(asked.data, asked.schema, asked.label)
    transcript = read_transcript(asked.release.transcript)
    check_program(program, transcript.codec.schema, asked.values, quiet=asked.quiet)
    options: dict[str, Any] = {"config": asked.config, "seed": asked.seed, "values": asked.values}
    with stoppable("the fit was finished", _FASTER), show_progress(asked.quiet) as observer:
        made = releases.fit_transcript(program, transcript, **options, draw=asked.draw, observer=observer)
    return Fitted(made.model, _spec(program, made.model, asked), reference=made.reference)


def _spec(program: Program, model: Model, asked: Asked) -> Spec:
    """The program as it was written, bound to what was learned."""
    return bind(fill(program, asked.values), model.codec.schema)


def _told(data: str, book: LedgerFile) -> str:
    """What has been spent on the data, all releases together."""
    spent = next(each for each in book.spent() if each.data == data)
    return (
        f"{counted(spent.releases, 'release')} of `{data}`, together epsilon {spent.epsilon:.4g} "
        f"at delta {spent.delta:.4g} ({book.path})"
    )


def check_places(*paths: Path | None) -> None:
    """Refuse before any training what could not be written after it."""
    for path in filter(None, paths):
        try:
            if path.is_dir():
                raise IsADirectoryError(EISDIR, "a folder")
            TemporaryFile(dir=path.parent).close()
        except OSError as error:
            raise unwritable(path, error) from None


def check_apart(written: Sequence[Path | None], read: Sequence[str | Path | None]) -> None:
    """Refuse to replace what is read."""
    known = {Path(each).resolve() for each in read if each is not None}
    for path in filter(None, written):
        if path.exists() and path.resolve() in known:
            raise usage_error("unwritable-file", f"{path} is read by this command", "give another file to write to")

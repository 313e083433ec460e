"""What is known about the data of programs: their schemas and, unless they are private, their rows.

It is read once and again when a file changes. The schema is the first of these that exists: the one given to the
server; the schema of an embedded table; `NAME.toml` or `NAME.json` beside the program for the data `NAME` or
`NAME.csv`; one inferred from the file that the program names. Large files, databases and the rows of private programs
are never opened.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeAlias

from cuts.data.conform import conform
from cuts.data.exchange.streams import kind_of
from cuts.data.infer import infer_schema
from cuts.data.middles import with_middles
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.editor.outline import folder_of, mentions_privacy
from cuts.flow import checks, inputs
from cuts.lang.syntax import Program
from cuts.sources.embedded import EmbeddedSource
from cuts.sources.files import FileSource, PartsSource
from cuts.sources.registry import Source
from cuts.text.diagnostic import CutsError, Diagnostic

MAX_BYTES = 64 * 2**20  # of table files: more would take seconds to read
MAX_ROWS = 1_000_000
MAX_KEPT = 4  # tables
_MAX_LISTED = 100  # table files beside a program

Stamp: TypeAlias = tuple[tuple[str, int, int], ...]  # path, time of change and size of files


def _no_rows() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Known:
    """What is known about a program's data; `note` says why its columns are not known, where that is no error."""

    schema: Schema | None = None
    problems: tuple[Diagnostic, ...] = ()
    note: str | None = None
    read: Callable[[], Table | None] = field(default=_no_rows, repr=False)  # once; in the types of the schema

    @property
    def rows(self) -> Table | None:
        """The rows, in the types of the schema; None if they may not or cannot be read."""
        return self.read()


class Library:
    """Looks data up, and keeps what was read until its files change."""

    def __init__(self, schema: Path | None = None) -> None:
        self._schema = schema
        self._kept: OrderedDict[tuple[str, Path, bool], tuple[Stamp, Known]] = OrderedDict()

    def look_up(self, program: Program) -> Known:
        """What is known about the data of a program; problems are reported in the result."""
        is_private = checks.private_command(program) is not None or mentions_privacy(program.source.text)
        key = (program.data, folder_of(program.source), is_private)
        stamp = self._stamp(program, is_private)
        if key in self._kept and self._kept[key][0] == stamp:
            self._kept.move_to_end(key)
            return self._kept[key][1]
        try:
            known = self._read(program, is_private)
        except CutsError as error:
            known = Known(problems=error.diagnostics)
        self._kept[key] = stamp, known
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return known

    def _read(self, program: Program, is_private: bool) -> Known:
        given = self._schema or _schema_beside(program)
        if is_private:
            return Known(inputs.find_schema(program, given, _without_rows(program)))
        source = _source(program) if given is not None else inputs.find_source(program)
        declared = inputs.find_schema(program, given, source)
        if declared is not None and not isinstance(source, EmbeddedSource):
            return Known(declared, read=cache(lambda: _typed(source, declared)))
        rows = _rows(source)
        if rows is None:
            return Known(note=_unread(program, source))
        schema = with_middles(declared or infer_schema(rows, inputs.table_name(program)), rows)
        typed = conform(rows, schema)
        return Known(schema, read=lambda: typed)

    def _stamp(self, program: Program, is_private: bool) -> Stamp:
        """Changes when a file changes that the data of a program is read from."""
        paths = [*_schema_candidates(program), *([] if self._schema is None else [self._schema])]
        source = None if is_private else _source(program)
        if isinstance(source, FileSource | PartsSource):
            paths += _paths(source)
        return tuple(found for path in paths if (found := _stat(path)) is not None)


def tables_beside(folder: Path) -> tuple[str, ...]:
    """The names of the table files in a folder; none if it cannot be read."""
    try:
        names = sorted(path.name for path in folder.iterdir() if kind_of(path) is not None)
    except OSError:
        return ()
    return tuple(names[:_MAX_LISTED])


def _source(program: Program) -> Source | None:
    """The source that a program names; None if there is none, or none that can be opened."""
    try:
        return inputs.find_source(program) if program.data else None
    except (CutsError, OSError, ValueError):
        return None


def _without_rows(program: Program) -> Source | None:
    """An embedded table, whose schema is declared; no other source of a private program is looked at."""
    source = _source(program)
    return source if isinstance(source, EmbeddedSource) else None


def _size(source: Source) -> int | None:
    """The bytes of a source's files; None if it is not made of files."""
    if isinstance(source, EmbeddedSource):
        return 0
    if not isinstance(source, FileSource | PartsSource):
        return None
    return sum(found[2] for path in _paths(source) if (found := _stat(path)) is not None)


def _rows(source: Source | None) -> Table | None:
    """All rows; None if there are too many, or if they are not in files."""
    size = None if source is None else _size(source)
    if source is None or size is None or size > MAX_BYTES:
        return None
    blocks, count = [], 0
    for block in source.rows().blocks():
        blocks.append(block)
        count += block.rows
        if count > MAX_ROWS:
            return None
    return Table.join(blocks)


def _typed(source: Source | None, schema: Schema) -> Table | None:
    """All rows in the types of a schema; None if they have others, which `cuts schema check` explains."""
    try:
        rows = _rows(source)
        return None if rows is None else conform(rows, schema)
    except CutsError:
        return None


def _schema_candidates(program: Program) -> list[Path]:
    name = Path(program.data).name.split(".")[0]
    if not name or any(sign in program.data for sign in ":*?[\0"):
        return []
    return [folder_of(program.source) / f"{name}{ending}" for ending in (".toml", ".json")]


def _schema_beside(program: Program) -> Path | None:
    """The schema file beside a program that belongs to its data; an embedded table has its own schema."""
    if isinstance(_source(program), EmbeddedSource):
        return None
    return next((path for path in _schema_candidates(program) if _stat(path) is not None), None)


def _paths(source: FileSource | PartsSource) -> tuple[Path, ...]:
    try:
        return source.paths
    except (CutsError, OSError):
        return ()


def _stat(path: Path) -> tuple[str, int, int] | None:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return str(path), found.st_mtime_ns, found.st_size


def _unread(program: Program, source: Source | None) -> str:
    size = None if source is None else _size(source)
    what = "is not a file" if size is None else f"has {size / 2**20:,.0f} MB" if size > MAX_BYTES else "has many rows"
    name = inputs.table_name(program)
    return (
        f"the columns of `{program.data}` are not checked here: it {what}, and an editor does not read such tables\n"
        f"write its schema beside the program: `cuts schema infer {program.data} -o {name}.toml`"
    )

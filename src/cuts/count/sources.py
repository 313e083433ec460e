"""What a fit needs from rows that may not fit in memory: blocks again and again, a sample, a schema.

Each of these is one pass over the blocks in flat memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa

from cuts.count.digest import ColumnDigest
from cuts.data.exchange.files import FileForm, blocks, scan
from cuts.data.exchange.readable import check_rows
from cuts.data.exchange.streams import ROWS
from cuts.data.infer import infer_schema
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.text.diagnostic import CutsError, Diagnostic

MAX_ROWS = 200_000  # rows of a sample, and of a table that is looked at as a whole


class Rows(Protocol):
    """Rows that can be read in blocks more than once, always in the same order."""

    @property
    def form(self) -> FileForm | None:
        """How the file looks the rows are in; nothing when they are in memory."""

    def blocks(self) -> Iterator[Table]:
        """The rows from the first on, at most 65,536 at a time."""


@dataclass(frozen=True, slots=True)
class TableRows:
    """The rows of a table in memory."""

    table: Table

    @property
    def form(self) -> None:
        """Nothing: there is no file."""
        return None

    def blocks(self) -> Iterator[Table]:
        """The rows in slices of the table."""
        arrow = self.table.arrow
        return (Table(arrow.slice(start, ROWS)) for start in range(0, max(1, self.table.rows), ROWS))


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows of a file, and how it looked when it was scanned."""

    path: Path
    form: FileForm

    def blocks(self) -> Iterator[Table]:
        """The rows read from the file; a `CutsError` if there are none, or if it is another file by now."""
        rows = 0
        for block in blocks(self.path, self.form):
            rows += block.rows
            yield block
        check_rows(rows, str(self.path))


def rows_of(table: Table) -> TableRows:
    """The rows of a table in memory."""
    return TableRows(table)


def rows_in(
    path: Path | str, *, delimiter: str | None = None, quote: str | None = None, encoding: str | None = None
) -> FileRows:
    """The rows of a CSV, Parquet, Feather or JSON lines file, which is scanned here for the types of its columns."""
    path = Path(path)
    return FileRows(path, scan(path, delimiter=delimiter, quote=quote, encoding=encoding))


def spread_sample(rows: Rows, *, most: int = MAX_ROWS) -> Table:
    """Rows evenly spread over all: every row of at most `most`, else every second, fourth, eighth and so on.

    >>> spread_sample(rows_of(Table(pa.table({"x": range(10)}))), most=4).column("x").to_pylist()
    [0, 4, 8]
    """
    step, offset, kept = 1, 0, 0
    parts: list[pa.Table] = []
    for block in rows.blocks():
        chosen = np.arange(-offset % step, block.rows, step)
        parts.append(block.arrow if step == 1 else block.arrow.take(chosen))
        offset, kept = offset + block.rows, kept + len(chosen)
        while kept > 2 * most:
            parts = [_every_second(parts)]
            step, kept = 2 * step, len(parts[0])
    while kept > most:
        parts = [_every_second(parts)]
        kept = len(parts[0])
    return Table(pa.concat_tables(parts))


def _every_second(parts: Sequence[pa.Table]) -> pa.Table:
    whole = pa.concat_tables(parts)
    return whole.take(np.arange(0, len(whole), 2)).combine_chunks()


def infer_streamed(
    rows: Rows,
    name: str,
    label: str | None = None,
    protected: tuple[str, ...] = (),
    *,
    drop: Sequence[str] = (),
    ids: Sequence[str] = (),
    most: int = MAX_ROWS,
) -> Schema:
    """The schema `infer_schema` gives for all rows, in one pass; up to `most` rows are looked at as a whole.

    Two limits keep the memory flat. A column of more than half a million different values is taken for unique when a
    share of them, chosen by hash, is; and texts that different are free text when they are not unique.
    """
    waiting: list[Table] = []
    digests: list[ColumnDigest] | None = None
    seen = 0
    for block in rows.blocks():
        seen += block.rows
        waiting.append(block)
        if seen > most:
            digests = digests or _digests(block, drop, ids)
            for digest, held in product(digests, waiting):
                digest.add(held)
            waiting = []
    if digests is None:
        whole = Table(pa.concat_tables([block.arrow for block in waiting]))
        return infer_schema(whole, name, label, protected, drop=drop, ids=ids)
    problems: list[Diagnostic] = []
    empty = Table(block.arrow.slice(0, 0))  # without rows every column is empty: only what the names say is checked
    named = _attempt(lambda: infer_schema(empty, name, label, protected, drop=drop, ids=ids), problems)
    columns = [_attempt(digest.infer, problems) for digest in digests]
    if named is None or problems:
        raise CutsError(problems)
    return replace(named, columns=tuple(column for column in columns if column is not None))


_Made = TypeVar("_Made")


def _attempt(make: Callable[[], _Made], problems: list[Diagnostic]) -> _Made | None:
    """What is made, or nothing, with what was wrong added to `problems`."""
    try:
        return make()
    except CutsError as error:
        problems += error.diagnostics
        return None


def _digests(block: Table, drop: Sequence[str], ids: Sequence[str]) -> list[ColumnDigest]:
    kept = [field for field in block.arrow.schema if field.name not in drop]
    return [ColumnDigest(field, declared_id=field.name in ids) for field in kept]

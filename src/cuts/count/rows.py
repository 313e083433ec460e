"""Rows that may not fit in memory: blocks that can be read repeatedly, a sample, an inferred schema.

Sample and schema take one pass over the blocks, in constant memory. A fit without a schema reads a CSV file three
times: for its dialect and types (`rows_in`), for schema and sample (`survey`), and for the counts. Parquet needs only
the last two passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Protocol, TypeVar

import pyarrow as pa

from cuts.count.digest import MAX_DISTINCT, ColumnDigest
from cuts.count.spread_rows import sample_of_rows
from cuts.data.exchange.csv_dialect import DETECT_ALL, CsvOptions
from cuts.data.exchange.files import FileForm, open_blocks, scan
from cuts.data.exchange.readable import check_rows
from cuts.data.exchange.streams import ROWS, check_filled
from cuts.data.infer import infer_schema
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.text.diagnostic import CutsError, Diagnostic

MAX_ROWS = 200_000  # rows of a sample, and of a table whose schema is inferred in memory


class Rows(Protocol):
    """Rows that can be read in blocks more than once, always in the same order."""

    @property
    def form(self) -> FileForm | None:
        """How the file of the rows is written; None when they are in memory."""

    def blocks(self) -> Iterator[Table]:
        """The rows from the beginning, in blocks of at most 65,536 rows."""


@dataclass(frozen=True, slots=True)
class TableRows:
    """The rows of a table in memory."""

    table: Table

    @property
    def form(self) -> None:
        """None: there is no file."""
        return None

    def blocks(self) -> Iterator[Table]:
        """The rows in slices of the table."""
        arrow = self.table.arrow
        return (Table(arrow.slice(start, ROWS)) for start in range(0, max(1, self.table.rows), ROWS))


class FileRows:
    """The rows of a file. A text file is scanned for its types here; a Parquet or Feather file states them.

    The blocks and the form of such a file are read from one opened file, so that a fit opens it once per pass.
    """

    def __init__(self, path: Path, csv: CsvOptions = DETECT_ALL) -> None:
        self.path, self._csv = path, csv
        kind, _ = check_filled(path)
        self._form = None if kind in ("parquet", "feather") else scan(path, csv=csv)

    @property
    def form(self) -> FileForm:
        """How the file is written; a Parquet or Feather file is opened for this unless it was read before."""
        if self._form is None:
            self._form = scan(self.path, csv=self._csv)
        return self._form

    def blocks(self) -> Iterator[Table]:
        """The rows in the file; raises `CutsError` if there are none, or if the file has changed."""
        rows = 0
        with open_blocks(self.path, self._form) as (form, batches):
            self._form = form
            for batch in batches:
                rows += batch.num_rows
                yield Table(pa.Table.from_batches([batch]))
        check_rows(rows, str(self.path))


def rows_of(table: Table) -> TableRows:
    """The rows of a table in memory."""
    return TableRows(table)


def rows_in(path: Path | str, *, csv: CsvOptions = DETECT_ALL) -> FileRows:
    """The rows of a CSV, Parquet, Feather or JSON lines file; a text file is scanned here for its columns' types."""
    return FileRows(Path(path), csv)


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """The schema inferred from all rows, and rows evenly spread over them."""

    schema: Schema
    sample: Table


def survey(
    rows: Rows,
    name: str,
    label: str | None = None,
    protected: tuple[str, ...] = (),
    *,
    drop: Sequence[str] = (),
    ids: Sequence[str] = (),
    max_rows: int = MAX_ROWS,
    max_distinct: int = MAX_DISTINCT,
    seen: Callable[[int], None] = lambda _: None,
) -> Survey:
    """The results of `infer_streamed` and `spread_sample`, in one pass over the rows; `seen` hears how many so far.

    >>> survey(rows_of(Table(pa.table({"x": range(10)}))), "t", max_rows=4).sample.column("x").to_pylist()
    [0, 4, 8]
    """
    inference = _Inference(name, label, protected, drop=drop, ids=ids, max_rows=max_rows, max_distinct=max_distinct)
    sample = sample_of_rows(max_rows)
    for block in rows.blocks():
        inference.add(block)
        sample.add(block.arrow, block.rows)
        seen(sample.seen)
    return Survey(inference.schema(), Table(sample.rows()))


def spread_sample(rows: Rows, *, max_rows: int = MAX_ROWS, seen: Callable[[int], None] = lambda _: None) -> Table:
    """At most `max_rows` rows evenly spread over all: every row, or every second, fourth, eighth and so on.

    >>> spread_sample(rows_of(Table(pa.table({"x": range(10)}))), max_rows=4).column("x").to_pylist()
    [0, 4, 8]
    """
    sample = sample_of_rows(max_rows)
    for block in rows.blocks():
        sample.add(block.arrow, block.rows)
        seen(sample.seen)
    return Table(sample.rows())


def infer_streamed(
    rows: Rows,
    name: str,
    label: str | None = None,
    protected: tuple[str, ...] = (),
    *,
    drop: Sequence[str] = (),
    ids: Sequence[str] = (),
    max_rows: int = MAX_ROWS,
    max_distinct: int = MAX_DISTINCT,
) -> Schema:
    """The schema that `infer_schema` infers from all rows, in one pass; up to `max_rows` rows are kept in memory.

    Two limits keep memory constant. A column with more than `max_distinct` distinct values counts as unique if a sample
    of them, chosen by hash, is unique; and such a column of texts counts as free text if it is not unique.
    """
    inference = _Inference(name, label, protected, drop=drop, ids=ids, max_rows=max_rows, max_distinct=max_distinct)
    for block in rows.blocks():
        inference.add(block)
    return inference.schema()


class _Inference:
    """Inference in progress: blocks are kept up to `max_rows` rows, then digested column by column."""

    def __init__(
        self,
        name: str,
        label: str | None,
        protected: tuple[str, ...],
        *,
        drop: Sequence[str],
        ids: Sequence[str],
        max_rows: int,
        max_distinct: int,
    ) -> None:
        self._infer = partial(infer_schema, name=name, label=label, protected=protected, drop=drop, ids=ids)
        self._drop, self._ids, self._max_rows, self._max_distinct = drop, ids, max_rows, max_distinct
        self._pending: list[Table] = []
        self._rows = 0
        self._digests: list[ColumnDigest] | None = None

    def add(self, block: Table) -> None:
        """Take one more block into account."""
        self._rows += block.rows
        self._pending.append(block)
        if self._rows > self._max_rows:
            self._digests = self._digests or self._new_digests(block)
            for digest, part in product(self._digests, self._pending):
                digest.add(part)
            self._pending = [Table(block.arrow.slice(0, 0))]

    def schema(self) -> Schema:
        """The schema of all rows; raises `CutsError` with every problem."""
        if self._digests is None:
            return self._infer(Table.join(self._pending))
        problems: list[Diagnostic] = []
        # Without rows every column is empty: only the names are checked.
        named = _attempt(lambda: self._infer(self._pending[0]), problems)
        columns = [_attempt(digest.infer, problems) for digest in self._digests]
        if named is None or problems:
            raise CutsError(problems)
        return replace(named, columns=tuple(column for column in columns if column is not None))

    def _new_digests(self, block: Table) -> list[ColumnDigest]:
        return [
            ColumnDigest(field, declared_id=field.name in self._ids, max_distinct=self._max_distinct)
            for field in block.arrow.schema
            if field.name not in self._drop
        ]


_Result = TypeVar("_Result")


def _attempt(compute: Callable[[], _Result], problems: list[Diagnostic]) -> _Result | None:
    """The result of `compute`; if it raises `CutsError`, None, and `problems` gets its diagnostics."""
    try:
        return compute()
    except CutsError as error:
        problems += error.diagnostics
        return None

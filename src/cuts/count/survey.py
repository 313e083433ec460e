"""What one pass over the rows says about them, in constant memory: the schema they have, and a sample of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeVar

import pyarrow as pa

from cuts.count.digest import MAX_DISTINCT, ColumnDigest
from cuts.count.rows import Rows, RowsInPlace, Survey, SurveyOptions
from cuts.count.spread_rows import sample_of_rows
from cuts.data.infer import infer_schema
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.text.diagnostic import CutsError, Diagnostic

MAX_ROWS = 200_000  # rows of a sample, and of a table whose schema is inferred in memory


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
    options = SurveyOptions(name, label, protected, drop, ids, max_rows, max_distinct)
    if isinstance(rows, RowsInPlace):
        return rows.survey(options, seen)
    return survey_blocks(rows.blocks(), options, seen)


def survey_blocks(blocks: Iterable[Table], options: SurveyOptions, seen: Callable[[int], None]) -> Survey:
    """The survey of the rows of some blocks."""
    inference = Inference(options)
    sample = sample_of_rows(options.max_rows)
    for block in blocks:
        inference.add(block)
        sample.add(block.arrow, block.rows)
        seen(sample.seen)
    return Survey(inference.schema(), Table(sample.rows()))


def spread_sample(rows: Rows, *, max_rows: int = MAX_ROWS, seen: Callable[[int], None] = lambda _: None) -> Table:
    """At most `max_rows` rows evenly spread over all: every row, or every second, fourth, eighth and so on.

    >>> spread_sample(rows_of(Table(pa.table({"x": range(10)}))), max_rows=4).column("x").to_pylist()
    [0, 4, 8]
    """
    if isinstance(rows, RowsInPlace):
        return rows.spread_sample(max_rows, seen)
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
    inference = Inference(SurveyOptions(name, label, protected, drop, ids, max_rows, max_distinct))
    for block in rows.blocks():
        inference.add(block)
    return inference.schema()


class Inference:
    """Inference in progress: blocks are kept up to `max_rows` rows, then digested column by column."""

    def __init__(self, options: SurveyOptions) -> None:
        self._options = options
        self._pending: list[Table] = []
        self._rows = 0
        self._digests: list[ColumnDigest] | None = None

    def add(self, block: Table) -> None:
        """Take one more block into account."""
        self._rows += block.rows
        self._pending.append(block)
        if self._rows > self._options.max_rows:
            self._digests = self._digests or new_digests(block.arrow.schema, self._options)
            for digest, part in product(self._digests, self._pending):
                digest.add(part)
            self._pending = [Table(block.arrow.slice(0, 0))]

    def schema(self) -> Schema:
        """The schema of all rows; raises `CutsError` with every problem."""
        if self._digests is None:
            return _infer(Table.join(self._pending), self._options)
        return schema_of(self._digests, self._pending[0].arrow.schema, self._options)


def new_digests(columns: pa.Schema, options: SurveyOptions) -> list[ColumnDigest]:
    """An empty digest of every column that is not left out."""
    return [
        ColumnDigest(field, declared_id=field.name in options.ids, max_distinct=options.max_distinct)
        for field in columns
        if field.name not in options.drop
    ]


def schema_of(digests: Sequence[ColumnDigest], columns: pa.Schema, options: SurveyOptions) -> Schema:
    """The schema of digested columns; raises `CutsError` with every problem."""
    problems: list[Diagnostic] = []
    # Without rows every column is empty: only the names are checked.
    named = _attempt(lambda: _infer(Table(columns.empty_table()), options), problems)
    inferred = [_attempt(digest.infer, problems) for digest in digests]
    if named is None or problems:
        raise CutsError(problems)
    return replace(named, columns=tuple(column for column in inferred if column is not None))


def _infer(table: Table, options: SurveyOptions) -> Schema:
    return infer_schema(table, options.name, options.label, options.protected, drop=options.drop, ids=options.ids)


_Result = TypeVar("_Result")


def _attempt(compute: Callable[[], _Result], problems: list[Diagnostic]) -> _Result | None:
    """The result of `compute`; if it raises `CutsError`, None, and `problems` gets its diagnostics."""
    try:
        return compute()
    except CutsError as error:
        problems += error.diagnostics
        return None

"""What one pass over the rows says about them, in constant memory: the schema they have, and a sample of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeVar

import pyarrow as pa

from cuts.count.digest import MAX_DISTINCT, ColumnDigest
from cuts.count.rows import CodedRows, Rows, RowsInPlace, Survey, SurveyOptions
from cuts.count.spread_rows import EvenSample, sample_of_rows
from cuts.data.exchange.recast import computable
from cuts.data.infer import infer_schema
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.text.diagnostic import CutsError, Diagnostic

MAX_ROWS = 200_000  # rows of a sample, and of a table whose schema is inferred in memory,
MAX_CELLS = 16_000_000  # and cells: so many rows of 80 columns, fewer of more columns,
MIN_ROWS = 20_000  # but this many in any case


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

    >>> import pyarrow as pa
    >>> from cuts.count.rows import rows_of
    >>> survey(rows_of(Table(pa.table({"x": range(10)}))), "t", max_rows=4).sample.column("x").to_pylist()
    [0, 4, 8]
    """
    options = SurveyOptions(name, label, protected, drop, ids, max_rows, max_distinct)
    if isinstance(rows, RowsInPlace):
        surveyed = rows.survey(options, seen)
        return replace(surveyed, sample=_limited(surveyed.sample, max_rows))
    return _survey(_coded(rows), options, seen)


def survey_blocks(blocks: Iterable[Table], options: SurveyOptions, seen: Callable[[int], None]) -> Survey:
    """The survey of the rows of some blocks."""
    return _survey(((block, block.arrow.schema) for block in blocks), options, seen)


def sample_limit(columns: int, max_rows: int = MAX_ROWS) -> int:
    """The maximum number of rows of a sample with that many columns.

    >>> sample_limit(14), sample_limit(200), sample_limit(2_000)
    (200000, 80000, 20000)
    """
    return min(max_rows, max(MAX_CELLS // max(columns, 1), MIN_ROWS))


def spread_sample(rows: Rows, *, max_rows: int = MAX_ROWS, seen: Callable[[int], None] = lambda _: None) -> Table:
    """At most `max_rows` rows evenly spread over all: every row, or every second, fourth, eighth and so on.

    >>> import pyarrow as pa
    >>> from cuts.count.rows import rows_of
    >>> spread_sample(rows_of(Table(pa.table({"x": range(10)}))), max_rows=4).column("x").to_pylist()
    [0, 4, 8]
    """
    if isinstance(rows, RowsInPlace):
        return _limited(rows.spread_sample(max_rows, seen), max_rows)
    return _sample(_coded(rows), max_rows, seen, lambda block, types: None)


def _limited(sample: Table, max_rows: int) -> Table:
    """The sample that a smaller limit would have given."""
    thinner = sample_of_rows(sample_limit(sample.arrow.num_columns, max_rows))
    thinner.add(sample.arrow, sample.rows)
    return Table(thinner.rows())


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
    for block, types in _coded(rows):
        inference.add(block, types)
    return inference.schema()


class Inference:
    """Inference in progress: blocks are kept up to `max_rows` rows, then digested column by column."""

    def __init__(self, options: SurveyOptions) -> None:
        self._options = options
        self._pending: list[Table] = []
        self._types = pa.schema([])
        self._rows = 0
        self._digests: list[ColumnDigest] | None = None

    def add(self, block: Table, types: pa.Schema | None = None) -> None:
        """Take one more block into account; `types` are those of its columns if texts in it are dictionaries."""
        self._types = block.arrow.schema if types is None else types
        self._rows += block.rows
        self._pending.append(block)
        if self._rows > sample_limit(block.arrow.num_columns, self._options.max_rows):
            self._digests = self._digests or new_digests(self._types, self._options)
            for digest, part in product(self._digests, self._pending):
                digest.add(part)
            self._pending = [Table(block.arrow.slice(0, 0))]

    def schema(self) -> Schema:
        """The schema of all rows; raises `CutsError` with every problem."""
        if self._digests is None:
            return _infer(_plain(Table.join(self._pending).arrow, self._types), self._options)
        return schema_of(self._digests, self._types, self._options)


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


_Coded = tuple[Table, pa.Schema]  # a block in which texts may be dictionaries, and the types of its columns without


def _survey(blocks: Iterable[_Coded], options: SurveyOptions, seen: Callable[[int], None]) -> Survey:
    inference = Inference(options)
    sample = _sample(blocks, options.max_rows, seen, inference.add)
    return Survey(inference.schema(), sample)


def _sample(
    blocks: Iterable[_Coded], max_rows: int, seen: Callable[[int], None], also: Callable[[Table, pa.Schema], None]
) -> Table:
    """Rows evenly spread over all; `also` is given all blocks and the types of their columns."""
    sample: EvenSample[pa.Table] | None = None
    types = pa.schema([])
    for block, types in blocks:
        sample = sample or sample_of_rows(sample_limit(block.arrow.num_columns, max_rows))
        also(block, types)
        sample.add(block.arrow, block.rows)
        seen(sample.seen)
    assert sample is not None, "rows have at least one block"
    return _plain(sample.rows(), types)


def _coded(rows: Rows) -> Iterator[_Coded]:
    """All blocks, in which texts may be dictionaries, and the types of the columns without those."""
    if not isinstance(rows, CodedRows):
        yield from ((block, block.arrow.schema) for block in rows.blocks())
        return
    for block in rows.coded_blocks():
        yield block, block.arrow.schema if rows.form is None else computable(rows.form.schema.empty_table()).schema


def _plain(arrow: pa.Table, types: pa.Schema) -> Table:
    return Table(arrow if arrow.schema.equals(types) else arrow.cast(types))


_Result = TypeVar("_Result")


def _attempt(compute: Callable[[], _Result], problems: list[Diagnostic]) -> _Result | None:
    """The result of `compute`; if it raises `CutsError`, None, and `problems` gets its diagnostics."""
    try:
        return compute()
    except CutsError as error:
        problems += error.diagnostics
        return None

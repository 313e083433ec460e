"""Rows that may not fit in memory: blocks that can be read repeatedly.

A fit without a schema reads a CSV file three times: for its dialect and types (`rows_in`), for schema and sample
(`count/survey.py`), and for the counts (`count/kernel.py`). Parquet needs only the last two passes. An engine that does
those passes itself has rows that are `RowsInPlace`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import pyarrow as pa

from cuts.count.marginals import Clique, Marginals
from cuts.data.codec import Codec
from cuts.data.encoder import columns_to_encode
from cuts.data.exchange.csv_dialect import DETECT_ALL, CsvOptions
from cuts.data.exchange.file_sets import FileSet
from cuts.data.exchange.files import FileForm, open_blocks, scan
from cuts.data.exchange.readable import check_rows
from cuts.data.exchange.recast import computable
from cuts.data.exchange.streams import ROWS, check_filled
from cuts.data.schema import Schema
from cuts.data.table import Table


class Rows(Protocol):
    """Rows that can be read in blocks more than once, always in the same order."""

    @property
    def form(self) -> FileForm | None:
        """How the file of the rows is written; None when they are in memory."""

    def blocks(self) -> Iterator[Table]:
        """The rows from the beginning, in blocks of at most 65,536 rows."""


@runtime_checkable
class CodedRows(Protocol):
    """Rows that are read faster if texts may be dictionaries, and if not all columns are needed."""

    def coded_blocks(self, names: Collection[str] | None = None) -> Iterator[Table]:
        """The rows of `blocks`, perhaps without columns other than `names`, perhaps with texts as dictionaries.

        Blocks may end elsewhere. Once there is a block, `form` has the types of the columns without dictionaries.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """The schema inferred from all rows, and rows evenly spread over them."""

    schema: Schema
    sample: Table


@dataclass(frozen=True, slots=True)
class SurveyOptions:
    """Options of a survey: names for the schema, columns to leave out, and limits on memory."""

    name: str
    label: str | None = None
    protected: tuple[str, ...] = ()
    drop: Sequence[str] = ()
    ids: Sequence[str] = ()
    max_rows: int = 0
    max_distinct: int = 0


@runtime_checkable
class RowsInPlace(Protocol):
    """Rows that an engine surveys and counts where they are: only results and samples leave it.

    The results are those of reading `blocks`, bit for bit. `seen` hears how many rows were read so far. `Rows` is not
    a base, because checking for a property such as `form` evaluates it, which can open a file.
    """

    def survey(self, options: SurveyOptions, seen: Callable[[int], None]) -> Survey:
        """The schema inferred from all rows, and rows evenly spread over them."""

    def spread_sample(self, max_rows: int, seen: Callable[[int], None]) -> Table:
        """At most `max_rows` rows evenly spread over all."""

    def count(self, codec: Codec, cliques: Sequence[Clique], seen: Callable[[int], None]) -> Marginals:
        """The counts of the cliques over all rows."""


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
        return (Table(computable(arrow.slice(start, ROWS))) for start in range(0, max(1, self.table.rows), ROWS))


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
        return self._read()

    def coded_blocks(self, names: Collection[str] | None = None) -> Iterator[Table]:
        """The same; of a Parquet or Feather file only the columns `names`, if it has all of them."""
        return self._read(only=names, coded=True)

    def _read(self, *, only: Collection[str] | None = None, coded: bool = False) -> Iterator[Table]:
        rows = 0
        with open_blocks(self.path, self._form, only=only, coded=coded) as (form, batches):
            self._form = form
            for batch in batches:
                rows += batch.num_rows
                yield Table(computable(pa.Table.from_batches([batch])))
        check_rows(rows, str(self.path))


@dataclass(frozen=True, slots=True, eq=False)
class FileSetRows:
    """The rows of several files."""

    files: FileSet

    @property
    def form(self) -> FileForm:
        """How the first file is written, with the types of all."""
        return self.files.form

    def blocks(self) -> Iterator[Table]:
        """The rows of the files in order; raises `CutsError` if a file has changed or is gone."""
        return self.files.blocks()

    def coded_blocks(self, names: Collection[str] | None = None) -> Iterator[Table]:
        """The same; of Parquet and Feather files only the columns `names`, with texts as dictionaries."""
        # Without names the rows are surveyed, which takes texts of one type in all blocks.
        return self.files.blocks() if names is None else self.files.blocks(names, coded=True)


def blocks_to_encode(rows: Rows, codec: Codec) -> Iterator[Table]:
    """The rows in blocks that can be encoded: without columns that need not be read, where reading them costs time."""
    return rows.coded_blocks(columns_to_encode(codec)) if isinstance(rows, CodedRows) else rows.blocks()


def rows_of(table: Table) -> TableRows:
    """The rows of a table in memory."""
    return TableRows(table)


def rows_in(path: Path | str, *, csv: CsvOptions = DETECT_ALL) -> FileRows:
    """The rows of a CSV, Parquet, Feather or JSON lines file; a text file is scanned here for its columns' types."""
    return FileRows(Path(path), csv)

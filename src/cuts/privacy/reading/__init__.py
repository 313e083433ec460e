"""Private rows as cells, block by block. What becomes of a row depends on that row alone, and no row raises an error.

Cells of text files stay texts: `coding.py` decides one by one what they mean, never by the rest of the column. One line
is one row, read by itself; a line that is no row is left out. Names of columns are public, so only they can be wrong in
a message. No message quotes anything but the names that were asked for: the first line of a file without a header is a
row. One module reads each kind of source: `frames`, `csv_rows`, `json_rows` and `arrow_rows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from cuts.count.marginals import Clique, Marginals
from cuts.data.codec import Codec
from cuts.data.exchange.streams import check_present
from cuts.data.table import Table
from cuts.privacy.reading.arrow_rows import arrow_blocks
from cuts.privacy.reading.columns import check_header, sliced, wanted_columns
from cuts.privacy.reading.csv_rows import csv_blocks
from cuts.privacy.reading.frames import frame_cells
from cuts.privacy.reading.json_rows import json_blocks


class PrivateRows(Protocol):
    """Rows that only the trusted core may read."""

    def blocks(self, names: Sequence[str]) -> Iterator[Table]:
        """The columns `names` of all rows, at most 65,536 rows per block; `CutsError` if a column is absent."""


@runtime_checkable
class PrivateRowsInPlace(PrivateRows, Protocol):
    """Private rows that an engine counts where they are: only sums leave it, and only the trusted core gets them.

    Every row is encoded as `coding.encode_cells` does it. Of each person the first `max_rows` rows count, in an order
    that the source states; rows without a person do not count.
    """

    def count(self, codec: Codec, cliques: Sequence[Clique], person: str | None, max_rows: int) -> Marginals:
        """The counts of the cliques over the rows that are kept."""

    def count_values(self, columns: Sequence[str], person: str | None, max_rows: int) -> dict[str, dict[str, int]]:
        """How often each text occurs in some columns, without surrounding blanks; empty texts do not count."""


@dataclass(frozen=True, slots=True)
class PrivateFile:
    """The rows of a file; `delimiter`, `quote` and `encoding` apply to CSV files."""

    path: Path
    delimiter: str | None = None  # default: the one that splits the header into most of the names asked for
    quote: str | None = None  # default: "
    encoding: str | None = None  # default: UTF-8

    def blocks(self, names: Sequence[str]) -> Iterator[Table]:
        """The columns `names` of all rows: texts, or the types of a Parquet or Feather file."""
        wanted = list(dict.fromkeys(names))
        kind, _ = check_present(self.path)
        match kind:
            case "csv":
                return csv_blocks(self.path, wanted, delimiter=self.delimiter, quote=self.quote, encoding=self.encoding)
            case "jsonl":
                return json_blocks(self.path, wanted)
            case "parquet" | "feather":
                return arrow_blocks(self.path, kind, wanted)


@dataclass(frozen=True, slots=True)
class PrivateFiles:
    """The rows of several files for the trusted core: the first rows of a person are those of the first files."""

    files: tuple[PrivateFile, ...]

    def blocks(self, names: Sequence[str]) -> Iterator[Table]:
        """The columns `names` of all rows of all files."""
        for file in self.files:
            yield from file.blocks(names)


@dataclass(frozen=True, slots=True)
class PrivateFrame:
    """The rows of a frame; `cells_of` makes one."""

    table: Table

    def blocks(self, names: Sequence[str]) -> Iterator[Table]:
        """The columns `names` of all rows, at most 65,536 rows per block."""
        wanted = list(dict.fromkeys(names))
        check_header(self.table.names, wanted, "the frame")
        return sliced(wanted_columns(self.table.arrow, wanted))


def cells_of(frame: Any) -> PrivateFrame:
    """The rows of a pandas, polars or Arrow frame or a `Table`; `TypeError` for anything else.

    Typed columns are taken as they are. The objects of a pandas column become texts one by one.

    >>> import pyarrow as pa
    >>> next(cells_of(pa.table({"age": [30, 40]})).blocks(["age"])).rows
    2
    """
    return PrivateFrame(frame if isinstance(frame, Table) else Table(frame_cells(frame)))

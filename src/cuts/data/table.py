"""A table backed by Arrow. `data/exchange/tables.py` reads tables from files and frames."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cuts.text import html
from cuts.text.diagnostic import counted

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
IntArray = NDArray[np.int64]
NUMBER_OR_TEXT = pa.struct({"number": pa.float64(), "text": pa.string()})  # a cell that is one or the other
_SHOWN_NAMES, _SHOWN_ROWS = 8, 10


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """Rows and named columns; `arrow` is the Arrow table, and notebooks show the first rows.

    >>> Table(pa.table({"age": [30, 40], "sex": ["f", "m"]}))
    <Table: 2 rows, age, sex>
    """

    arrow: pa.Table

    def __repr__(self) -> str:
        names = [*self.names[:_SHOWN_NAMES], *(["..."] if len(self.names) > _SHOWN_NAMES else [])]
        return f"<Table: {counted(self.rows, 'row')}, {', '.join(names)}>"

    def _repr_html_(self) -> str:
        rows = self.first([*range(min(self.rows, _SHOWN_ROWS))], list(self.names))
        cells = [["" if cell is None else str(cell) for cell in row.values()] for row in rows]
        return html.table(self.names, cells) + html.paragraph(counted(self.rows, "row"))

    @classmethod
    def join(cls, blocks: Iterable[Table]) -> Table:
        """The rows of all blocks in order; there must be at least one block.

        >>> Table.join([Table(pa.table({"x": [1]})), Table(pa.table({"x": [2, 3]}))]).rows
        3
        """
        return cls(pa.concat_tables([block.arrow for block in blocks]))

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(self.arrow.column_names)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.arrow.num_rows)

    def column(self, name: str) -> pa.ChunkedArray:
        """A column in its own type."""
        return self.arrow.column(name)

    def numbers(self, name: str) -> Floats:
        """A numeric column as float64; missing is NaN, and so is a text beside the numbers."""
        column = self.column(name).combine_chunks()
        if pa.types.is_struct(column.type):
            column = pc.struct_field(column, "number")
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)

    def texts(self, name: str) -> pa.Array:
        """A column of texts, or the texts beside the numbers of a column; null elsewhere."""
        column = self.column(name).combine_chunks()
        return pc.struct_field(column, "text") if pa.types.is_struct(column.type) else column

    def missing(self, name: str) -> Bools:
        """Where the column has no value."""
        column = self.column(name)
        nulls = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
        return np.asarray(nulls.combine_chunks().to_numpy(zero_copy_only=False), dtype=bool)

    def first(self, rows: list[int], names: list[str]) -> list[dict[str, Any]]:
        """The rows with these indices, limited to these columns, as plain values."""
        cells = self.arrow.select(names).take(pa.array(rows, pa.int64())).to_pylist()
        return [{name: _plain(cell) for name, cell in row.items()} for row in cells]


def _plain(cell: Any) -> Any:
    """A cell that may be a number or a text as the one that it is."""
    if not isinstance(cell, dict):
        return cell
    return cell["text"] if cell["number"] is None else cell["number"]

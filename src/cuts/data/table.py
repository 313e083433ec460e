"""A table over Arrow: read from a file or a frame, its columns as numbers or texts.

A value is missing when it is null or not a number; in CSV an empty unquoted cell is missing and every other text is a
value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cuts.text.diagnostic import usage_error
from cuts.text.files import present, unwritable

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows and named columns."""

    arrow: pa.Table

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(self.arrow.column_names)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.arrow.num_rows)

    def column(self, name: str) -> pa.ChunkedArray:
        """A column as it is."""
        return self.arrow.column(name)

    def numbers(self, name: str) -> Floats:
        """A numeric column as float64; missing is NaN."""
        column = self.column(name).combine_chunks()
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)

    def missing(self, name: str) -> Bools:
        """Where the column has no value."""
        column = self.column(name)
        nulls = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
        return np.asarray(nulls.combine_chunks().to_numpy(zero_copy_only=False), dtype=bool)

    def first(self, rows: list[int], names: list[str]) -> list[dict[str, Any]]:
        """Some rows of some columns as plain values."""
        return self.arrow.select(names).take(pa.array(rows, pa.int64())).to_pylist()  # type: ignore[no-any-return]


def from_frame(frame: Any) -> Table:
    """The table held by a pandas, polars or Arrow frame.

    >>> from_frame(pa.table({"age": [30, 40]})).rows
    2
    """
    if isinstance(frame, Table):
        return frame
    if isinstance(frame, pa.Table):
        check_names(frame.column_names, "the table")
        return Table(frame)
    native = nw.from_native(frame)
    eager = native.collect() if isinstance(native, nw.LazyFrame) else native
    arrow = eager.to_arrow()
    index = [name for name in arrow.column_names if name.startswith("__index_level_")]  # pandas adds it
    return Table(arrow.drop_columns(index))


def read_table(path: Path | str) -> Table:
    """The table in a CSV (optionally compressed) or Parquet file."""
    path = Path(path)
    present(path, "table")
    if path.stat().st_size == 0:
        raise usage_error("unreadable-table", f"{path} is empty")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    try:
        if ".parquet" in suffixes or ".pq" in suffixes:
            import pyarrow.parquet as pq

            arrow = pq.read_table(path)
        elif ".csv" in suffixes:
            arrow = _read_csv(path)
        else:
            raise usage_error(
                "unreadable-table", f"{path} has no known ending", "tables are .csv, .csv.gz or .parquet files"
            )
        names = arrow.column_names
    except UnicodeDecodeError:
        raise usage_error("unreadable-table", f"{path} is not UTF-8 text", "save the file as UTF-8") from None
    except (pa.ArrowException, OSError) as error:
        raise usage_error("unreadable-table", f"{path} is not a table: {_reason(error)}") from None
    check_names(names, str(path))
    if arrow.num_rows == 0:
        raise usage_error("unreadable-table", f"{path} has no rows")
    return Table(arrow)


def check_names(names: list[str], what: str) -> None:
    """Raise when two columns share a name."""
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise usage_error("unreadable-table", f"{what} has two columns named `{duplicate}`", "rename one of them")


def _read_csv(path: Path) -> pa.Table:
    from pyarrow import csv

    convert = csv.ConvertOptions(null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False)
    try:
        arrow = csv.read_csv(path, convert_options=convert)
    except pa.ArrowInvalid:  # once more on one thread: then the message says which row
        arrow = csv.read_csv(path, csv.ReadOptions(use_threads=False), convert_options=convert)
    for field in arrow.schema:
        if pa.types.is_binary(field.type):
            raise usage_error(
                "unreadable-table", f"{path}: the column `{field.name}` is not UTF-8 text", "save the file as UTF-8"
            )
    return arrow


def _reason(error: Exception) -> str:
    """Arrow's message without the row it quotes."""
    text = str(error).split("\n")[0]
    ragged = re.match(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", text)
    if ragged is not None:
        where = f"row {ragged[1]} " if ragged[1] else "a row "
        return f"{where}has {ragged[3]} cells instead of {ragged[2]}"
    if "Parquet" in text:
        return "it is no Parquet file, or a damaged one"
    return text.split(": '")[0][:200]


def write_table(table: Table, path: Path) -> None:
    """Write the whole table to a `.csv` or `.parquet` file, or nothing: a temporary file is renamed."""
    from pyarrow import csv
    from pyarrow import parquet as pq

    if path.suffix.lower() not in (".csv", ".parquet"):
        raise usage_error("unwritable-file", f"{path} has no known ending", "tables are .csv or .parquet files")
    temporary = path.with_name(f".{path.name}.part")
    try:
        if path.suffix.lower() == ".csv":
            csv.write_csv(table.arrow, temporary, csv.WriteOptions(quoting_style="needed"))
        else:
            pq.write_table(table.arrow, temporary, compression="zstd")
        temporary.replace(path)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        temporary.unlink(missing_ok=True)

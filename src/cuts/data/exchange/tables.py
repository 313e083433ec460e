"""Tables from files and data frames, as `Table`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cuts.data.exchange.csv_dialect import CsvOptions
from cuts.data.exchange.files import load
from cuts.data.exchange.frames import from_native
from cuts.data.table import Table


def read_table(
    path: Path | str, *, delimiter: str | None = None, quote: str | None = None, encoding: str | None = None
) -> Table:
    """The table in a CSV, Parquet, Feather or JSON lines file, compressed or not.

    Options that are None are detected from the file. Raises `CutsError` naming the file, line and column that cannot be
    read.
    """
    return load(path, csv=CsvOptions(delimiter, quote, encoding))[0]


def from_frame(frame: Any) -> Table:
    """The table in a pandas, polars or Arrow frame; a `Table` is returned unchanged.

    >>> import pyarrow as pa
    >>> from_frame(pa.table({"age": [30, 40]})).rows
    2
    """
    return frame if isinstance(frame, Table) else from_native(frame)[0]

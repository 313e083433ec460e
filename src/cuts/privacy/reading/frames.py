"""Frames of pandas, polars and Arrow as Arrow tables, without an error that depends on a cell."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa
from narwhals.stable.v2 import dependencies

from cuts.privacy.reading.texts import object_texts


def frame_cells(frame: Any) -> pa.Table:
    """The columns of a frame that have a text for a name; `TypeError` for what is not a frame."""
    if dependencies.is_pandas_dataframe(frame):
        columns = [(name, _pandas_column(frame.iloc[:, index])) for index, name in enumerate(frame.columns)]
    elif dependencies.is_polars_dataframe(frame) or dependencies.is_polars_lazyframe(frame):
        eager = frame.collect() if dependencies.is_polars_lazyframe(frame) else frame
        columns = [(series.name, _polars_column(series)) for series in eager.get_columns()]
    else:
        return _arrow_table(frame)
    named = [(name, column) for name, column in columns if isinstance(name, str)]
    return pa.table([column for _, column in named], names=[name for name, _ in named])


def _arrow_table(frame: Any) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if hasattr(frame, "__arrow_c_stream__"):  # readers, and libraries with Arrow's stream protocol, such as DuckDB
        return pa.RecordBatchReader.from_stream(frame).read_all()
    if hasattr(frame, "to_table"):  # datasets
        return frame.to_table()
    raise TypeError(f"{type(frame).__name__} is not a frame: pass a pandas, polars or Arrow table, or a file path")


def _pandas_column(series: Any) -> pa.Array:
    if str(series.dtype) == "category":
        codes = series.cat.codes.to_numpy()
        labels = _pandas_column(series.cat.categories.to_series())
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), labels)
    if series.dtype == object:
        return object_texts(series.array)
    return _typed(partial(pa.array, series, from_pandas=True), series.array.__iter__)


def _polars_column(series: Any) -> pa.Array:
    if nw.from_native(series, series_only=True).dtype == nw.Object:  # polars would convert these to addresses
        return object_texts(series.to_list())
    return _typed(series.to_arrow, series.to_list)


def _typed(convert: Callable[[], Any], cells: Callable[[], Any]) -> pa.Array:
    """The column in Arrow's type, or as texts where Arrow has none; both mean the same to `coding.py`."""
    try:
        column = convert()
    except Exception:
        return object_texts(cells())
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

"""Frames in, the same kind of frame out: `from_native` reads a frame and its form, `to_native` writes a table in it.

pandas (numpy, nullable, Arrow and categorical dtypes, objects of one plain kind), polars (eager and lazy) and Arrow
(tables, batches, readers, datasets) are supported. The index of a pandas frame is not data: a new one is returned under
its name. pandas and polars are imported only when such a frame is passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from narwhals.stable.v2 import dependencies

from cuts.data.columns import is_written_as_text
from cuts.data.exchange.pandas_columns import PandasDtype, from_pandas_column, to_pandas_column
from cuts.data.exchange.readable import check_names, check_rows, check_type, not_plain
from cuts.data.exchange.recast import dictionaries_of, is_text, plain_values, recast, recast_column
from cuts.data.schema import Schema
from cuts.data.table import Table

Library = Literal["arrow", "pandas", "polars", "polars-lazy"]
_WHERE = "the frame"
_NESTED = (nw.Object, nw.List, nw.Array, nw.Struct)


@dataclass(frozen=True, slots=True)
class FrameForm:
    """The form of a frame: its library, the Arrow types of its columns, and their dtypes in that library."""

    library: Library
    schema: pa.Schema
    dictionaries: Mapping[str, pa.Array] = field(default_factory=dict)  # the categories of dictionary columns
    dtypes: tuple[Any, ...] = ()  # polars: one per column
    pandas_dtypes: tuple[PandasDtype, ...] = ()  # pandas: one per column
    header: Any = None  # pandas: the index of the columns
    index_name: Any = None  # pandas: the name of the index of the rows


def from_native(frame: Any) -> tuple[Table, FrameForm]:
    """The table in a frame, and the form of the frame.

    A lazy frame, a reader or a dataset is read completely. Raises `CutsError` naming the column that cannot be
    read, `TypeError` for anything that is not a data frame.

    >>> table, form = from_native(pa.table({"age": pa.array([30, 40], pa.int8())}))
    >>> to_native(table, form).schema.types
    [DataType(int8)]
    """
    if isinstance(frame, Table):
        return from_native(frame.arrow)
    if dependencies.is_pandas_dataframe(frame):
        return _from_pandas(frame)
    if dependencies.is_polars_lazyframe(frame):
        return _from_polars(frame.collect(), "polars-lazy")
    if dependencies.is_polars_dataframe(frame):
        return _from_polars(frame, "polars")
    return _from_arrow(_arrow_table(frame))


def to_native(table: Table, form: FrameForm) -> Any:
    """The table as a frame of that form: same library, names, order and dtypes, with any number of rows.

    Columns may be of the canonical types `recast.py` lists. Arrow batches, readers and datasets come back as one
    `pyarrow.Table`.

    >>> _, form = from_native(pa.table({"paid": [True, False]}))
    >>> to_native(Table(pa.table({"paid": ["false", None, "true"]})), form).column("paid").to_pylist()
    [False, None, True]
    """
    match form.library:
        case "arrow":
            return recast(table.arrow, form.schema, form.dictionaries)
        case "pandas":
            return _to_pandas(table, form)
        case "polars":
            return _to_polars(table, form)
        case "polars-lazy":
            return _to_polars(table, form).lazy()


def with_texts(form: FrameForm, names: Iterable[str]) -> FrameForm:
    """The form with these columns as text, for values that cannot be of the column's own type."""
    changed = {name for name in names if not is_text(form.schema.field(name).type)}
    if not changed:
        return form
    is_changed = [name in changed for name in form.schema.names]
    fields = [pa.field(field.name, pa.string()) if field.name in changed else field for field in form.schema]
    dtypes = [
        import_module("polars").String if new else dtype for new, dtype in zip(is_changed, form.dtypes, strict=False)
    ]
    objects = PandasDtype(np.dtype(object))
    pandas_dtypes = [objects if new else dtype for new, dtype in zip(is_changed, form.pandas_dtypes, strict=False)]
    return replace(form, schema=pa.schema(fields), dtypes=tuple(dtypes), pandas_dtypes=tuple(pandas_dtypes))


def form_of_columns(form: FrameForm, schema: Schema) -> FrameForm:
    """How a frame of the schema's columns alone would have looked."""
    places = [place for place, name in enumerate(form.schema.names) if name in schema]
    texts = [column.name for column in schema if is_written_as_text(column)]
    if len(places) == len(form.schema.names):
        return with_texts(form, texts)
    form = replace(
        form,
        schema=pa.schema([form.schema.field(place) for place in places]),
        dtypes=tuple(form.dtypes[place] for place in places) if form.dtypes else (),
        pandas_dtypes=tuple(form.pandas_dtypes[place] for place in places) if form.pandas_dtypes else (),
        header=None if form.header is None else form.header[places],
    )
    return with_texts(form, texts)


def form_like(frame: Any, table: Table) -> FrameForm:
    """The form of a table as a frame of the same library as `frame`; nothing but the type of `frame` is read."""
    if dependencies.is_pandas_dataframe(frame):
        return form_in("pandas", table)
    if dependencies.is_polars_lazyframe(frame):
        return form_in("polars-lazy", table)
    return form_in("polars" if dependencies.is_polars_dataframe(frame) else "arrow", table)


def form_in(library: Library, table: Table) -> FrameForm:
    """The form of a table as a frame of a library, with the dtypes that the library itself chooses."""
    return from_native(arrow_as(table.arrow, library))[1]


def arrow_as(arrow: pa.Table, library: Library) -> Any:
    """An Arrow table as a frame of a library, with the dtypes that the library itself chooses."""
    if library == "arrow":
        return arrow
    if library == "pandas":
        return arrow.to_pandas()
    converted = import_module("polars").from_arrow(arrow)
    return converted.lazy() if library == "polars-lazy" else converted


# --- Arrow


def _arrow_table(frame: Any) -> pa.Table:
    from pyarrow import dataset

    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if isinstance(frame, dataset.Dataset | dataset.Scanner):
        return frame.to_table()
    if hasattr(frame, "__arrow_c_stream__"):  # readers, and libraries that implement Arrow's protocol, such as DuckDB
        try:
            return pa.RecordBatchReader.from_stream(frame).read_all()
        except pa.ArrowInvalid:  # a single column
            pass
    raise TypeError(
        f"{type(frame).__name__} is not a data frame: give a pandas, polars or Arrow table, or the path of a file"
    )


def _from_arrow(arrow: pa.Table) -> tuple[Table, FrameForm]:
    check_names(arrow.column_names, _WHERE)
    check_rows(arrow.num_rows, _WHERE)
    for column in arrow.schema:
        check_type(column.name, column.type, _WHERE)
    return Table(arrow), FrameForm("arrow", arrow.schema, dictionaries_of(arrow))


# --- pandas


def _from_pandas(frame: Any) -> tuple[Table, FrameForm]:
    names = frame.columns.tolist()
    check_names(names, _WHERE)
    check_rows(len(frame), _WHERE)
    converted = [from_pandas_column(frame[name], name) for name in names]
    arrow = pa.Table.from_arrays([array for array, _ in converted], names=names)
    pandas_dtypes = tuple(pandas_dtype for _, pandas_dtype in converted)
    form = FrameForm(
        "pandas", arrow.schema, pandas_dtypes=pandas_dtypes, header=frame.columns, index_name=frame.index.name
    )
    return Table(arrow), form


def _to_pandas(table: Table, form: FrameForm) -> Any:
    pandas = import_module("pandas")
    columns = {
        position: to_pandas_column(_typed(table, column, pandas_dtype), pandas_dtype)
        for position, (column, pandas_dtype) in enumerate(zip(form.schema, form.pandas_dtypes, strict=True))
    }
    frame = pandas.DataFrame(columns, index=pandas.RangeIndex(table.rows, name=form.index_name))
    frame.columns = form.header
    return frame


def _typed(table: Table, column: pa.Field, pandas_dtype: PandasDtype) -> pa.ChunkedArray:
    return recast_column(table.column(column.name), column.type, pandas_dtype.labels)


# --- polars


def _from_polars(frame: Any, library: Library) -> tuple[Table, FrameForm]:
    check_names(frame.columns, _WHERE)
    check_rows(frame.height, _WHERE)
    for name, dtype in nw.from_native(frame).schema.items():
        if isinstance(dtype, _NESTED):
            raise not_plain(name, f"is of dtype {dtype}", _WHERE)
    arrays = [_polars_column(column) for column in frame.get_columns()]
    arrow = pa.Table.from_arrays(arrays, names=frame.columns)
    return Table(arrow), FrameForm(library, arrow.schema, dictionaries_of(arrow), dtypes=tuple(frame.dtypes))


def _polars_column(series: Any) -> pa.Array:
    try:
        return series.to_arrow()
    except (pa.ArrowException, TypeError, ValueError):
        raise not_plain(series.name, f"is of dtype {series.dtype}, which Arrow does not have", _WHERE) from None


def _to_polars(table: Table, form: FrameForm) -> Any:
    polars = import_module("polars")
    arrow = recast(table.arrow, form.schema, form.dictionaries)
    plain = [plain_values(column) for column in arrow.columns]  # polars makes its own categories, by its dtypes
    frame = polars.from_arrow(pa.Table.from_arrays(plain, names=arrow.column_names))
    # By position, not by name: polars reads a name such as ^a$ as a pattern.
    return polars.DataFrame(
        [column.cast(dtype) for column, dtype in zip(frame.get_columns(), form.dtypes, strict=True)]
    )

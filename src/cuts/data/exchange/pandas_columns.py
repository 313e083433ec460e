"""Columns of a pandas frame converted to Arrow arrays, and back to their original dtype.

pandas is imported only when a pandas frame is read or written.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.exchange.readable import check_type, not_plain
from cuts.data.exchange.recast import recast_column
from cuts.text.diagnostic import CutsError

# Values Arrow can hold in one column; a datetime is also a date and a bool also a number, so the first family wins.
_FAMILIES: tuple[tuple[type, ...], ...] = (
    (str,),
    (bool, np.bool_),
    (int, float, np.integer, np.floating),
    (Decimal,),
    (dt.datetime,),
    (dt.date,),
    (dt.time,),
    (dt.timedelta,),
    (bytes,),
)


@dataclass(frozen=True, slots=True)
class PandasDtype:
    """A column's dtype in pandas, the labels of its categories in order, and its object for missing values."""

    dtype: Any
    labels: pa.Array | None = None
    absent: Any = None  # the missing value of an object column: None, nan, NA or NaT


def from_pandas_column(series: Any, name: str) -> tuple[pa.Array, PandasDtype]:
    """The column as an Arrow array, and its dtype; raises `CutsError` if its values are not plain."""
    pandas = import_module("pandas")
    if isinstance(series.dtype, pandas.CategoricalDtype):
        labels = _labels(series.cat.categories, name)
        codes = series.cat.codes.to_numpy()
        coded = pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), labels, ordered=series.cat.ordered)
        return coded, PandasDtype(series.dtype, labels)
    absent = _check_objects(series, name) if series.dtype == object else None
    array = _arrow(series, name)
    return array, PandasDtype(series.dtype, None, absent)


def to_pandas_column(values: pa.ChunkedArray, dtype: PandasDtype) -> Any:
    """The values, which have their original Arrow type, as an array or series that pandas does not convert further."""
    if dtype.labels is not None:
        codes = pc.index_in(recast_column(values, dtype.labels.type), value_set=dtype.labels).fill_null(-1)
        return import_module("pandas").Categorical.from_codes(np.asarray(codes), dtype=dtype.dtype)
    if dtype.dtype == object:
        objects = [dtype.absent if value is None else value for value in values.to_pylist()]
        return import_module("pandas").Series(objects, dtype=object)  # an array would be inferred to be strings
    if hasattr(dtype.dtype, "__from_arrow__"):
        return dtype.dtype.__from_arrow__(values)
    return np.array(values.to_numpy(), dtype=dtype.dtype)  # a copy: Arrow's own memory is read-only


def _labels(categories: Any, name: str) -> pa.Array:
    """The categories as Arrow values, or as texts if Arrow has no such type, as for the intervals of `pandas.cut`."""
    try:
        return from_pandas_column(categories.to_series(), name)[0]
    except CutsError:
        texts = [str(category) for category in categories]
        if len(set(texts)) < len(texts):
            raise
        return pa.array(texts, pa.string())


def _check_objects(series: Any, name: str) -> Any:
    """The missing value of an object column, or None; raises `CutsError` unless all values are of one plain family."""
    missing = series.isna().to_numpy()
    kinds = set(map(type, series.to_numpy()[~missing]))
    families = {_family(kind) for kind in kinds}
    if None in families:
        raise not_plain(name, f"holds Python objects ({_named(kinds)})", "the frame")
    if len(families) > 1:
        raise not_plain(name, f"mixes types of values ({_named(kinds)})", "the frame")
    return series.to_numpy()[missing.argmax()] if missing.any() else None


def _family(kind: type) -> int | None:
    return next((position for position, family in enumerate(_FAMILIES) if issubclass(kind, family)), None)


def _named(kinds: set[type]) -> str:
    return ", ".join(sorted(kind.__name__ for kind in kinds))


def _arrow(series: Any, name: str) -> pa.Array:
    try:
        array = pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # a message could quote a value
        raise not_plain(
            name, f"of dtype {series.dtype} holds values that Arrow cannot represent", "the frame"
        ) from None
    check_type(name, array.type, "the frame")
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array

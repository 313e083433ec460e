"""Numbers of a column as Arrow arrays of its own type, and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.columns import Integer, Numeric, Temporal
from cuts.data.table import Bools, Floats

_MICROS_PER_SECOND = 1_000_000
_UNITS_PER_SECOND = {"s": 1, "ms": 1_000, "us": _MICROS_PER_SECOND, "ns": 1_000 * _MICROS_PER_SECOND}


def as_arrow(numbers: Floats, column: Numeric, missing: Bools) -> pa.Array:
    """The column's values as its own Arrow type: int64, float64, date32, time, timestamp or duration."""
    if isinstance(column, Integer):
        return pa.array(np.rint(numbers).astype(np.int64), mask=missing)
    if not isinstance(column, Temporal):
        return pa.array(numbers, mask=missing)
    if column.kind == "date":
        return pa.array(np.rint(numbers).astype(np.int32), pa.int32(), mask=missing).cast(pa.date32())
    kind = _arrow_type(column)
    units = pa.array(np.rint(numbers * _UNITS_PER_SECOND[kind.unit]).astype(np.int64), mask=missing)
    return (units.cast(pa.int32()) if pa.types.is_time32(kind) else units).cast(kind)


def as_numbers(values: pa.Array) -> pa.Array | None:
    """The numbers of a numeric, temporal or text column as float64; None if it cannot be converted.

    Dates count days; times, timestamps and durations count seconds, truncated to microseconds.
    """
    kind = values.type
    if pa.types.is_date(kind):
        return values.cast(pa.date32()).cast(pa.int32()).cast(pa.float64())
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time(kind):
        wide = values.cast(pa.time64("us")) if pa.types.is_time32(kind) else values
        per_second = _UNITS_PER_SECOND[wide.type.unit]
        units = wide.cast(pa.int64())
        if per_second > _MICROS_PER_SECOND:
            units = pc.divide(pc.subtract(units, pc.cast(0, pa.int64())), per_second // _MICROS_PER_SECOND)
            per_second = _MICROS_PER_SECOND
        return pc.divide(units.cast(pa.float64(), safe=False), float(per_second))
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if (
        not numeric
        and not pa.types.is_string(kind)
        and not pa.types.is_large_string(kind)
        and not pa.types.is_null(kind)
    ):
        return None
    try:
        numbers = values.cast(pa.float64(), safe=False)
    except pa.ArrowInvalid:
        return None
    if pa.types.is_decimal(kind):  # Arrow's conversion need not give the nearest float
        numbers = pa.array(np.round(numbers.to_numpy(zero_copy_only=False), kind.scale), from_pandas=True)
    return pc.if_else(pc.is_nan(numbers), None, numbers)


def _arrow_type(column: Temporal) -> pa.DataType:
    """The type with the column's decimals, so that a file without a format of its own shows no more of them."""
    unit = "s" if column.decimals == 0 else "ms" if column.decimals <= 3 else "us"
    match column.kind:
        case "time":
            return pa.time64(unit) if unit == "us" else pa.time32(unit)
        case "duration":
            return pa.duration(unit)
        case _:
            return pa.timestamp(unit, column.zone)

"""The Arrow type that holds the values of two types without loss, and columns converted to it."""

from __future__ import annotations

import pyarrow as pa

from cuts.data.exchange.recast import is_text, plain_values

_UNITS = ("s", "ms", "us", "ns")
_MAX_DIGITS = 38  # of a decimal128


def joint_type(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    """The type for columns of both types together, or None if they are not of one kind.

    >>> joint_type(pa.int16(), pa.int64()), joint_type(pa.int64(), pa.float32()), joint_type(pa.int64(), pa.string())
    (DataType(int64), DataType(double), None)
    """
    if first == second or pa.types.is_null(second):
        return first
    if pa.types.is_null(first):
        return second
    if pa.types.is_dictionary(first) and pa.types.is_dictionary(second):
        alike = first.value_type == second.value_type and first.ordered == second.ordered
        return pa.dictionary(pa.int32(), first.value_type, first.ordered) if alike else None
    one, other = _plain(first), _plain(second)
    if one == other:
        return one
    if is_text(one) and is_text(other):
        return pa.large_string()
    if _is_number(one) and _is_number(other):
        return _number(one, other)
    if pa.types.is_decimal(one) and pa.types.is_decimal(other):
        return _decimal(one, other)
    return _moment(one, other)


def as_type(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """The values in a joint type; `ArrowInvalid` for a number that it cannot hold exactly."""
    if pa.types.is_dictionary(values.type) and pa.types.is_dictionary(kind):
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices.cast(kind.index_type), chunk.dictionary, ordered=kind.ordered)
            for chunk in values.chunks
        ]
        return pa.chunked_array(chunks, kind)
    if pa.types.is_null(values.type) and pa.types.is_dictionary(kind):
        return pa.chunked_array([pa.nulls(len(values), kind)])
    return plain_values(values).cast(kind)


def _plain(kind: pa.DataType) -> pa.DataType:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.string() if pa.types.is_string_view(plain) else plain


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _number(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    if pa.types.is_floating(one) or pa.types.is_floating(other):  # pandas makes whole numbers with gaps floats
        return pa.float64()
    unsigned = [pa.types.is_unsigned_integer(kind) for kind in (one, other)]
    if all(unsigned):
        return pa.uint64()
    return None if pa.uint64() in (one, other) else pa.int64()


def _decimal(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    scale = max(one.scale, other.scale)
    digits = scale + max(one.precision - one.scale, other.precision - other.scale)
    return pa.decimal128(digits, scale) if digits <= _MAX_DIGITS else None


def _moment(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The finer of two types of the same kind of moment."""
    finest = max((one, other), key=lambda kind: _UNITS.index(getattr(kind, "unit", "s")))
    if pa.types.is_timestamp(one) and pa.types.is_timestamp(other):
        return finest if one.tz == other.tz else None
    same = (pa.types.is_time(one) and pa.types.is_time(other)) or (
        pa.types.is_duration(one) and pa.types.is_duration(other)
    )
    return finest if same else None

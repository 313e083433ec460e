"""A codec as JSON values, and back: the schema, the bins of every column, the contents of each bin.

Numbers are written so that they are read back as the same float64, so the codec that is read back encodes and decodes
every row as the one that was written. What is read is checked: a damaged codec is a `ValueError`, or the schema's own
`CutsError`, never a wrong value later.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import numpy as np
from msgspec import Meta, Struct, ValidationError, convert

from cuts.data.bin_contents import Members, Pieces
from cuts.data.codec import CategoryBins, Codec, ColumnBins, Follows, NumericBins, bin_limits, clean_edges, even_piece
from cuts.data.columns import Category, Modelled, Numeric
from cuts.data.schema import Schema, as_data
from cuts.data.schema_file import schema_from
from cuts.data.table import Bools, Floats, IntArray
from cuts.data.ties import Tie, can_tie, coordinates, make_tie
from cuts.vocab.interval import Interval


def codec_data(codec: Codec) -> dict[str, Any]:
    """The codec as JSON values; `codec_from` reads them back, whatever the order of their keys."""
    return {
        "schema": as_data(codec.schema),
        "names": list(codec.schema.names),  # the columns are ordered, the keys of a JSON object are not
        "columns": [_bins_data(bins) for bins in codec.columns],
        "derived": [
            {"column": name, "from": source, "keys": list(values), "values": list(values.values())}
            for name, source, values in codec.derived
        ],
        **({"ties": [_tie_data(tie) for tie in codec.ties]} if codec.ties else {}),
        **({"middles": _middles_data(codec.schema)} if codec.schema.middles else {}),
    }


def codec_from(data: object, schema: Schema | None = None) -> Codec:
    """The codec that `codec_data` wrote; `schema`, if not None, must be the schema it was fitted for.

    Raises `ValueError` naming what is damaged and where, or `CutsError` when it is the schema.
    """
    stored_codec = _converted(data, _CodecData, "the codec")
    stored = _stored_schema(stored_codec)
    if schema is not None and schema != stored:
        raise ValueError("the codec was fitted for another schema")
    ties = _ties(stored_codec.ties, stored)
    modelled = coordinates(stored, ties).modelled
    if len(stored_codec.columns) != len(modelled):
        raise _damaged("the codec", "it does not have the columns of its schema")
    bins = tuple(_bins(fields, column) for fields, column in zip(stored_codec.columns, modelled, strict=True))
    return Codec(stored, bins, tuple(_follows(fields, stored) for fields in stored_codec.derived), ties)


def fingerprint(codec: Codec) -> str:
    """A hash that changes exactly when the codec does: SHA-256 in hexadecimal digits."""
    text = json.dumps(codec_data(codec), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


# --- writing


def _bins_data(bins: ColumnBins) -> dict[str, Any]:
    shares = {"owner": bins.contents.owner.tolist(), "until": bins.contents.until.tolist()}
    if isinstance(bins, CategoryBins):
        groups = [list(group) for group in bins.groups]
        return {"column": bins.column.name, "groups": groups, "places": bins.contents.places.tolist(), **shares}
    low, high = bins.contents.low.tolist(), bins.contents.high.tolist()
    texts = {"texts": [list(group) for group in bins.texts]} if bins.texts else {}
    return {"column": bins.column.name, "edges": list(bins.edges), "low": low, "high": high, **shares, **texts}


def _tie_data(tie: Tie) -> dict[str, Any]:
    return {"column": tie.column, "anchor": tie.anchor, "sign": tie.sign}  # the hidden column follows from the schema


def _middles_data(schema: Schema) -> dict[str, list[float]]:
    return {name: [middle.low, middle.high] for name, middle in schema.middles}


# --- reading


_Number: TypeAlias = Annotated[float, Meta(ge=-1.7e308, le=1.7e308)]
_Index: TypeAlias = Annotated[int, Meta(ge=0, le=1 << 53)]


class _SchemaData(Struct, frozen=True):
    columns: dict[str, Any]  # checked by `schema_from`


class _DerivedData(Struct, frozen=True, rename={"source": "from"}):
    column: str
    source: str
    keys: list[str]
    values: list[str | _Number | None]


class _TieData(Struct, frozen=True):
    column: str
    anchor: str
    sign: Literal[1, -1]


class _CodecData(Struct, frozen=True):
    schema: dict[str, Any]
    names: list[str]
    columns: list[dict[str, Any]]  # `_NumericData` or `_CategoryData`, as the schema says
    derived: list[_DerivedData]
    ties: list[_TieData] = []
    middles: dict[str, tuple[_Number, _Number]] = {}


class _NumericData(Struct, frozen=True):
    column: str
    edges: list[_Number]
    low: list[_Number]
    high: list[_Number]
    owner: list[_Index]
    until: list[_Number]
    texts: list[list[str]] = []


class _CategoryData(Struct, frozen=True):
    column: str
    groups: list[list[str]]
    places: list[_Index]
    owner: list[_Index]
    until: list[_Number]


_Data = TypeVar("_Data")


def _converted(data: object, kind: type[_Data], where: str) -> _Data:
    """The values as `kind`; raises `ValueError` naming the path of the first value of another type."""
    try:
        return convert(data, kind)
    except ValidationError as error:
        raise _damaged(where, str(error)) from None


def _damaged(where: str, what: str) -> ValueError:
    return ValueError(f"{where}: {what}; the codec is damaged")


def _stored_schema(codec: _CodecData) -> Schema:
    where = "the schema of the codec"
    columns = _converted(codec.schema, _SchemaData, where).columns
    if sorted(codec.names) != sorted(columns):
        raise _damaged("the codec", "`names` are not the columns of its schema")
    schema = schema_from({**codec.schema, "columns": {name: columns[name] for name in codec.names}}, where)
    if any(not isinstance(schema[name], Numeric) if name in schema else True for name in codec.middles):
        raise _damaged("the codec", "`middles` are not of numeric columns of its schema")
    return replace(schema, middles=tuple((name, Interval(*ends)) for name, ends in codec.middles.items()))


def _bins(fields: dict[str, Any], column: Modelled) -> ColumnBins:
    where = f"the bins of `{column.name}`"
    if fields.get("column") != column.name:
        raise _damaged(where, "these are the bins of another column")
    if isinstance(column, Category):
        return _category(_converted(fields, _CategoryData, where), column, where)
    return _numeric(_converted(fields, _NumericData, where), column, where)


def _numeric(fields: _NumericData, column: Numeric, where: str) -> NumericBins:
    edges = tuple(fields.edges)
    if edges != clean_edges(column, edges[1:]):
        raise _damaged(where, "`edges` are not increasing values of the column")
    owner, until = _shares(fields, len(edges), where)
    if not len(fields.low) == len(fields.high) == len(owner):
        raise _damaged(where, "`low` and `high` do not have one number per piece")
    low, high = np.array(fields.low, dtype=np.float64), np.array(fields.high, dtype=np.float64)
    ends = [even_piece(column, *limits) for limits in bin_limits(column, edges)]
    lowest, highest = (np.concatenate([end[i] for end in ends])[owner] for i in (0, 1))
    if not ((lowest <= low) & (low <= high) & (high <= highest)).all():
        raise _damaged(where, "a piece lies outside its bin")
    texts = tuple(map(tuple, fields.texts))
    if not all(texts) or sorted(text for group in texts for text in group) != sorted(column.texts):
        raise _damaged(where, "`texts` are not the column's texts")
    return NumericBins(column, edges, Pieces(low, high, owner, until, column.per_unit), texts)


def _category(fields: _CategoryData, column: Category, where: str) -> CategoryBins:
    groups = tuple(map(tuple, fields.groups))
    if not all(groups) or sorted(c for group in groups for c in group) != sorted(column.categories):
        raise _damaged(where, "`groups` are not the column's categories")
    owner, until = _shares(fields, len(groups), where)
    if len(fields.places) != len(owner) or max(fields.places) >= len(column.categories):
        raise _damaged(where, "`places` are not positions of categories, one per member")
    group_of = {category: i for i, group in enumerate(groups) for category in group}
    if [group_of[column.categories[index]] for index in fields.places] != owner.tolist():
        raise _damaged(where, "a member lies outside its bin")
    return CategoryBins(column, groups, Members(np.array(fields.places, dtype=np.int64), owner, until))


def _shares(fields: _NumericData | _CategoryData, bins: int, where: str) -> tuple[IntArray, Floats]:
    """The bin of every piece and the cumulative share at its end; every bin has a piece, and its last one ends it."""
    owner, until = np.array(fields.owner, dtype=np.int64), np.array(fields.until, dtype=np.float64)
    step = np.diff(owner, prepend=-1)
    if not (len(owner) and owner[-1] == bins - 1 and ((step == 0) | (step == 1)).all() and step[0] == 1):
        raise _damaged(where, "`owner` does not number the bins in order")
    if len(until) != len(owner):
        raise _damaged(where, "`until` does not have one number per piece")
    last: Bools = np.diff(owner, append=bins) != 0
    within = (owner <= until) & (until <= owner + 1) & (np.diff(until, prepend=0.0) >= 0)
    if not within.all() or (until[last] != owner[last] + 1).any():
        raise _damaged(where, "`until` does not divide the bins")
    return owner, until


def _follows(fields: _DerivedData, schema: Schema) -> Follows:
    """The values of one derived column."""
    if (fields.column, fields.source) not in schema.derived:
        raise _damaged(f"the derived column `{fields.column}`", "it is not derived in the schema")
    kind = str if isinstance(schema[fields.column], Category) else float
    is_valid = all(value is None or isinstance(value, kind) for value in fields.values)
    if len(set(fields.keys)) != len(fields.values) or not is_valid:
        raise _damaged(f"the derived column `{fields.column}`", "`values` are not values of the column")
    return fields.column, fields.source, dict(zip(fields.keys, fields.values, strict=True))


def _ties(stored: list[_TieData], schema: Schema) -> tuple[Tie, ...]:
    """The ties of the codec; their hidden columns follow from the schema."""
    ties: list[Tie] = []
    for fields in stored:
        where = f"the tied column `{fields.column}`"
        if fields.column not in schema or fields.anchor not in schema or fields.column == fields.anchor:
            raise _damaged(where, "it is not a column of its schema")
        used = {name for tie in ties for name in (tie.column, tie.anchor)}
        if not can_tie(schema[fields.column], schema[fields.anchor], schema) or fields.column in used:
            raise _damaged(where, "it cannot be computed from its anchor")
        ties.append(make_tie(fields.column, fields.anchor, fields.sign, schema))
    return tuple(ties)

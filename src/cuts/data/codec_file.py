"""A codec as JSON values, and back: the schema, the bins of every column, what each bin holds.

Numbers are written so that they are read back as the same float64, so the codec that is read back encodes and decodes
every row as the one that was written. What is read is checked: a damaged codec is a `ValueError`, or the schema's own
`CutsError`, never a wrong value later.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from cuts.data.bin_contents import Members, Pieces
from cuts.data.codec import CategoryBins, Codec, ColumnBins, Follows, NumericBins, bin_limits, clean_edges, even_piece
from cuts.data.columns import Category, Modelled, Numeric
from cuts.data.schema import Schema, as_data
from cuts.data.schema_file import schema_from
from cuts.data.table import Bools, Floats, IntArray


def codec_data(codec: Codec) -> dict[str, Any]:
    """The codec as JSON values; `codec_from` reads them back, whatever the order of their keys."""
    return {
        "schema": as_data(codec.schema),
        "names": list(codec.schema.names),  # a table of JSON has no order, the columns of a schema do
        "columns": [_bins_data(bins) for bins in codec.columns],
        "derived": [
            {"column": name, "from": source, "keys": list(values), "values": list(values.values())}
            for name, source, values in codec.derived
        ],
    }


def codec_from(data: object, schema: Schema | None = None) -> Codec:
    """The codec `codec_data` wrote; `schema`, if given, must be the one it was made for.

    Raises `ValueError` saying what is damaged, or `CutsError` when it is the schema.
    """
    given = _table(data, "the codec")
    stored = _stored_schema(given)
    if schema is not None and schema != stored:
        raise ValueError("the codec was made for another schema")
    columns = _list(given, "columns", "the codec")
    if len(columns) != len(stored.modelled):
        raise _damaged("the codec", "it does not have the columns of its schema")
    bins = tuple(_bins(fields, column) for fields, column in zip(columns, stored.modelled, strict=True))
    return Codec(stored, bins, _derived(_list(given, "derived", "the codec"), stored))


def fingerprint(codec: Codec) -> str:
    """A hash that changes exactly when the codec does: SHA-256 in hexadecimal digits."""
    text = json.dumps(codec_data(codec), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


# --- writing


def _bins_data(bins: ColumnBins) -> dict[str, Any]:
    inside = {"owner": bins.inside.owner.tolist(), "until": bins.inside.until.tolist()}
    if isinstance(bins, CategoryBins):
        groups = [list(group) for group in bins.groups]
        return {"column": bins.column.name, "groups": groups, "places": bins.inside.places.tolist(), **inside}
    low, high = bins.inside.low.tolist(), bins.inside.high.tolist()
    return {"column": bins.column.name, "edges": list(bins.edges), "low": low, "high": high, **inside}


# --- reading


def _stored_schema(given: Mapping[str, Any]) -> Schema:
    written = _table(given.get("schema"), "the schema of the codec")
    columns = _table(written.get("columns"), "the schema of the codec")
    names = _texts(given, "names", "the codec")
    if sorted(names) != sorted(columns):
        raise _damaged("the codec", "`names` are not the columns of its schema")
    return schema_from({**written, "columns": {name: columns[name] for name in names}}, "the schema of the codec")


def _bins(data: object, column: Modelled) -> ColumnBins:
    where = f"the bins of `{column.name}`"
    fields = _table(data, where)
    if fields.get("column") != column.name:
        raise _damaged(where, "another column stands in their place")
    return _category(fields, column, where) if isinstance(column, Category) else _numeric(fields, column, where)


def _numeric(fields: Mapping[str, Any], column: Numeric, where: str) -> NumericBins:
    edges = tuple(_floats(fields, "edges", where).tolist())
    if edges != clean_edges(column, edges[1:]):
        raise _damaged(where, "`edges` do not rise through the values of the column")
    owner, until = _shares(fields, len(edges), where)
    low, high = (_floats(fields, key, where, len(owner)) for key in ("low", "high"))
    ends = [even_piece(column, *limits) for limits in bin_limits(column, edges)]
    least, most = (np.concatenate([end[i] for end in ends])[owner] for i in (0, 1))
    if not ((least <= low) & (low <= high) & (high <= most)).all():
        raise _damaged(where, "a piece lies outside its bin")
    return NumericBins(column, edges, Pieces(low, high, owner, until, column.per_unit))


def _category(fields: Mapping[str, Any], column: Category, where: str) -> CategoryBins:
    groups = tuple(tuple(_texts({"group": group}, "group", where)) for group in _list(fields, "groups", where))
    if not all(groups) or sorted(c for group in groups for c in group) != sorted(column.categories):
        raise _damaged(where, "`groups` are not the column's categories")
    owner, until = _shares(fields, len(groups), where)
    places = _ints(fields, "places", where, len(owner), below=len(column.categories))
    home = {category: i for i, group in enumerate(groups) for category in group}
    if [home[column.categories[place]] for place in places.tolist()] != owner.tolist():
        raise _damaged(where, "a member lies outside its bin")
    return CategoryBins(column, groups, Members(places, owner, until))


def _shares(fields: Mapping[str, Any], bins: int, where: str) -> tuple[IntArray, Floats]:
    """The bin of every piece and where its share of the bin ends; every bin has a piece, and its last one ends it."""
    owner = _ints(fields, "owner", where, None, below=bins)
    until = _floats(fields, "until", where, len(owner))
    step = np.diff(owner, prepend=-1)
    last: Bools = np.diff(owner, append=bins) != 0
    inside = (owner <= until) & (until <= owner + 1) & (np.diff(until, prepend=0.0) >= 0)
    if not (len(owner) and owner[-1] == bins - 1 and ((step == 0) | (step == 1)).all() and step[0] == 1):
        raise _damaged(where, "`owner` does not go through the bins")
    if not inside.all() or (until[last] != owner[last] + 1).any():
        raise _damaged(where, "`until` does not divide the bins")
    return owner, until


def _derived(data: list[Any], schema: Schema) -> tuple[Follows, ...]:
    found: list[Follows] = []
    for fields in (_table(each, "a derived column") for each in data):
        name, source = fields.get("column"), fields.get("from")
        if (name, source) not in schema.derived:
            raise _damaged("a derived column", "the schema does not know it")
        where = f"the derived column `{name}`"
        keys, values = _texts(fields, "keys", where), _list(fields, "values", where)
        text = isinstance(schema[str(name)], Category)
        if len(set(keys)) != len(values) or not all(v is None or _fits(v, text=text) for v in values):
            raise _damaged(where, "`values` are not values of the column")
        found.append((str(name), str(source), dict(zip(keys, values, strict=True))))
    return tuple(found)


# --- plain values


def _damaged(where: str, what: str) -> ValueError:
    return ValueError(f"{where}: {what}; the codec is damaged")


def _table(data: object, where: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping) or not all(isinstance(key, str) for key in data):
        raise _damaged(where, "a table of keys was expected")
    return data


def _list(fields: Mapping[str, Any], key: str, where: str) -> list[Any]:
    found = fields.get(key)
    if not isinstance(found, list):
        raise _damaged(where, f"`{key}` is no list")
    return found


def _texts(fields: Mapping[str, Any], key: str, where: str) -> list[str]:
    found = _list(fields, key, where)
    if not all(_fits(each, text=True) for each in found):
        raise _damaged(where, f"`{key}` is no list of texts")
    return found


def _floats(fields: Mapping[str, Any], key: str, where: str, length: int | None = None) -> Floats:
    found = _list(fields, key, where)
    if (length is not None and len(found) != length) or not all(_fits(each, text=False) for each in found):
        raise _damaged(where, f"`{key}` is no list of numbers, one a piece")
    return np.array(found, dtype=np.float64)


def _ints(fields: Mapping[str, Any], key: str, where: str, length: int | None, *, below: int) -> IntArray:
    found = _list(fields, key, where)
    whole = all(isinstance(each, int) and not isinstance(each, bool) and 0 <= each < below for each in found)
    if (length is not None and len(found) != length) or not whole:
        raise _damaged(where, f"`{key}` is no list of numbers below {below}, one a piece")
    return np.array(found, dtype=np.int64)


def _fits(value: object, *, text: bool) -> bool:
    """Whether a value is a text, or else a finite number."""
    if text:
        return isinstance(value, str)
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1.7e308

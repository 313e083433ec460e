"""Private rows of JSON lines: one object per line, read by itself; a line that is no object is left out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from cuts.data.exchange.streams import reading
from cuts.data.table import Table
from cuts.privacy.reading.columns import sliced
from cuts.privacy.reading.texts import lines_of, object_texts


def json_blocks(path: Path, names: list[str]) -> Iterator[Table]:
    """The columns `names` of all objects; a key that an object lacks is a missing cell."""
    with reading(path) as stream:
        for lines in lines_of(stream):
            rows = [row for row in map(_object, lines) if row is not None]
            columns = [object_texts(row.get(name) for row in rows) for name in names]
            yield from sliced(pa.table(columns, names=names))


def _object(line: bytes) -> dict[str, Any] | None:
    """The object of a line, with whole numbers as they are written."""
    try:
        value = json.loads(line.decode("utf-8", "replace"), parse_int=lambda digits: "0" if digits == "-0" else digits)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None

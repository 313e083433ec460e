"""Cells and lines as text: objects one by one, and the lines of a stream of bytes."""

from __future__ import annotations

import codecs
import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from cuts.data.temporal import show_moment
from cuts.privacy.coding import float_text

MAX_LINE_BYTES = 32 << 20  # a longer line is left out, so that no row can exhaust the memory
_CHUNK_BYTES = 4 << 20


def object_texts(cells: Iterable[Any]) -> pa.Array:
    """The texts of objects, each by itself."""
    return text_array([cell if type(cell) is str else _text(cell) for cell in cells])


def text_array(texts: Sequence[str | None]) -> pa.Array:
    """Texts as an Arrow column; half of a surrogate pair becomes a replacement character."""
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can spell
        return pa.array([None if text is None else _whole_characters(text) for text in texts], pa.large_string())


def lines_of(stream: BinaryIO) -> Iterator[list[bytes]]:
    """The lines without their ends, many at a time; those longer than `MAX_LINE_BYTES` are left out."""
    rest = stream.read(len(codecs.BOM_UTF8)).removeprefix(codecs.BOM_UTF8)
    while chunk := stream.read(_CHUNK_BYTES):
        whole, end, rest = (rest + chunk).rpartition(b"\n")
        if end:
            yield _short_lines(whole)
        rest = rest[: MAX_LINE_BYTES + 2]  # long enough to be left out, with a carriage return or without
    if rest:
        yield _short_lines(rest.removesuffix(b"\n"))


def _text(cell: Any) -> str | None:
    """One object as a text; None if it is missing or nested, or has no text."""
    try:
        match cell:
            case str():
                return cell
            case bool() | np.bool_():
                return "true" if cell else "false"
            case float() | np.floating():
                return float_text(float(cell))
            case bytes():
                return cell.decode("utf-8", "replace")
            case dt.timedelta():
                return show_moment("duration", cell.total_seconds())
            case None | list() | tuple() | dict() | set() | np.ndarray():
                return None
            case _:
                return None if cell != cell else str(cell)
    except Exception:  # an object can do anything when asked for its text, as pandas.NA does when compared
        return None


def _whole_characters(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _short_lines(text: bytes) -> list[bytes]:
    lines = text.replace(b"\r\n", b"\n").removesuffix(b"\r").split(b"\n")
    return lines if len(text) <= MAX_LINE_BYTES else [line for line in lines if len(line) <= MAX_LINE_BYTES]

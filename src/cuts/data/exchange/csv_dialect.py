"""How a CSV file is put together: encoding, delimiter, quotes, line ends and header, found in the file itself."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from cuts.data.exchange.readable import check_names, undecodable, unreadable
from cuts.data.exchange.streams import reading

# Commas stand in texts and numbers more often than the others do, so on equal terms they come last.
DELIMITERS = "\t|;,"
_HEAD = 100  # rows looked at to find the delimiter
_NOTHING = (0.0, 1)
_CHUNK = 1 << 20
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True, slots=True)
class Dialect:
    """The signs a CSV file is written with; `encoding` as Python names it, `utf-8-sig` and `utf-16` with their mark."""

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    newline: str = "\n"


def find_dialect(path: Path, *, delimiter: str | None, quote: str | None, encoding: str | None) -> Dialect:
    """The dialect of a CSV file, what is given being taken as given; the whole file is read once to be sure.

    UTF-8 and UTF-16 are told by their mark or by the bytes; else it is cp1252, or latin-1 where cp1252 has no sign.
    """
    _check_sign(delimiter, "delimiter")
    _check_sign(quote, "quote")
    quote = quote or '"'
    if delimiter == quote:
        raise unreadable(f"{delimiter!r} cannot be both the delimiter and the quote", "name another one of them")
    encoding, newline, quotes = _survey(path, encoding, quote)
    dialect = Dialect(delimiter or _delimiter(path, encoding, quote), quote, encoding, newline)
    if quotes % 2:
        _check_closed(path, dialect)
    return dialect


def header(path: Path, dialect: Dialect) -> tuple[str, ...]:
    """The column names, all different and none empty."""
    names: tuple[str, ...] = ()
    with rows(path, dialect) as found:
        names = next((tuple(cells) for _, cells in found if cells), ())
    if not any(names):
        raise unreadable(f"{path} has no header", "begin the file with a line of column names")
    check_names(names, str(path))
    return names


def blank_lines(path: Path, dialect: Dialect) -> int:
    """How many lines without anything stand before the header."""
    with rows(path, dialect) as found:
        return next((line for line, cells in found if cells), 1) - 1
    return 0


@contextmanager
def rows(path: Path, dialect: Dialect, *, strict: bool = False) -> Iterator[Iterator[tuple[int, list[str]]]]:
    """The rows with the line each begins on, one at a time: exact about lines, but slow.

    A cell too long for this reader, or if `strict` a quote out of place, ends the `with` block.
    """
    with reading(path) as stream, suppress(csv.Error):
        yield _numbered(_reader(stream, dialect, strict=strict))


def line_of(path: Path, dialect: Dialect, row: int, width: int) -> int | None:
    """The line on which a row of data begins, the first row being 0."""
    with rows(path, dialect) as found:
        filled = (line for line, cells in found if cells or width == 1)
        return next(islice(filled, row + 1, None), None)
    return None


def ragged_row(path: Path, dialect: Dialect, width: int) -> tuple[int, int] | None:
    """The line and the number of cells of the first row that has more or fewer than `width`."""
    with rows(path, dialect) as found:
        return next(((line, len(cells)) for line, cells in found if cells and len(cells) != width), None)
    return None


def _reader(stream: Any, dialect: Dialect, *, strict: bool = False) -> Any:
    text = io.TextIOWrapper(stream, encoding=dialect.encoding, newline="")
    return csv.reader(text, delimiter=dialect.delimiter, quotechar=dialect.quote, strict=strict)


def _numbered(reader: Any) -> Iterator[tuple[int, list[str]]]:
    line = 1
    for cells in reader:
        yield line, cells
        line = reader.line_num + 1


# --- encoding


class _Undecodable(Exception):
    """Bytes that are no text, on that line; `is_ascii` if all before them are ASCII, so that nothing speaks for it."""

    def __init__(self, line: int, is_ascii: bool) -> None:
        self.line, self.is_ascii = line, is_ascii
        super().__init__(line)


def _survey(path: Path, encoding: str | None, quote: str) -> tuple[str, str, int]:
    """The encoding all bytes have, the sign at the end of the first line, and the number of quotes."""
    candidates = _candidates(path, encoding)
    for candidate in candidates:
        try:
            return candidate, *_facts(path, candidate, quote)
        except _Undecodable as error:
            if candidate == candidates[-1] or (candidate == "utf-8" and not error.is_ascii):
                raise undecodable(path, error.line, candidate) from None
    raise AssertionError("the last candidate decodes or raises")


def _candidates(path: Path, encoding: str | None) -> tuple[str, ...]:
    with reading(path) as stream:
        start = stream.read(3)
    marked = next((found for mark, found in _BOMS if start.startswith(mark)), None)
    if encoding is None:
        return ("utf-8", "cp1252", "latin-1") if marked is None else (marked,)
    try:
        "a".encode(encoding)
    except LookupError:
        raise unreadable(f"there is no encoding `{encoding}`", "try utf-8, utf-16 or cp1252") from None
    name = codecs.lookup(encoding).name
    return ("utf-8-sig" if name == "utf-8" and marked == "utf-8-sig" else name,)


def _facts(path: Path, encoding: str, quote: str) -> tuple[str, int]:
    """The sign at the end of the first line and the number of quotes, if all bytes are text of the encoding."""
    quotes, newline = 0, ""
    for text in _texts(path, encoding):
        if "\x00" in text:
            raise unreadable(f"{path} is not a text file", "save the table as CSV, or give the file its true ending")
        newline = newline or _newline(text)
        quotes += text.count(quote)
    return newline or "\n", quotes


def _texts(path: Path, encoding: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)()
    lines, is_ascii = 1, True
    with reading(path) as stream:
        chunk = stream.read(_CHUNK)
        while True:
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                before = error.object[: error.start]
                raise _Undecodable(lines + before.count(b"\n"), is_ascii and before.isascii()) from None
            yield text
            if not chunk:
                return
            lines, is_ascii = lines + text.count("\n"), is_ascii and text.isascii()
            chunk = stream.read(_CHUNK)


def _newline(text: str) -> str:
    at = text.find("\n")
    if at < 0:
        return "\r" if "\r" in text else ""
    return "\r\n" if text[:at].endswith("\r") else "\n"


# --- delimiter and quotes


def _delimiter(path: Path, encoding: str, quote: str) -> str:
    """The delimiter that cuts most of the first rows into as many cells as the header, and into most cells."""
    for strict in (True, False):  # first those by which every quote stands at the end of a cell
        scores = {sign: _score(path, Dialect(sign, quote, encoding), strict) for sign in DELIMITERS}
        best = max(scores, key=lambda sign: scores[sign])
        if scores[best] != _NOTHING:
            return best
    return ","


def _score(path: Path, dialect: Dialect, strict: bool) -> tuple[float, int]:
    """The share of rows as wide as the header, and its width; nothing if the header or most rows are not cut at all."""
    with rows(path, dialect, strict=strict) as found:
        widths = [len(cells) for _, cells in islice(found, _HEAD) if cells]
        if widths and widths[0] > 1 and Counter(widths[1:] or widths).most_common(1)[0][0] > 1:
            return widths.count(widths[0]) / len(widths), widths[0]
    return _NOTHING


def _check_sign(sign: str | None, what: str) -> None:
    if sign is not None and (len(sign) != 1 or not sign.isascii() or sign in "\r\n"):
        raise unreadable(f"the {what} {sign!r} is not one ASCII sign", "give one such as , or ; or a tab")


def _check_closed(path: Path, dialect: Dialect) -> None:
    """Raise if a quote is still open at the end: then the rest of the file would be one cell."""
    with reading(path) as stream:
        reader = _reader(stream, dialect, strict=True)
        line = 1
        try:
            for _ in reader:
                line = reader.line_num + 1
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                raise unreadable(f"{path}, line {line}: a quote is opened and never closed", "close it") from None

"""The dialect of a CSV file: encoding, delimiter, quotes and line ends, detected from the beginning of its text."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cuts.data.exchange.readable import check_names, unreadable
from cuts.data.exchange.streams import reading

# Commas occur in texts and numbers more often than the others, so they lose ties.
DELIMITERS = "\t|;,"
_SAMPLE_ROWS = 100  # rows on which the delimiter is decided
_NO_SCORE = (0.0, 1)


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """What the caller states about a CSV file; None means detected from the file (for the quote: `"`)."""

    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None

    def check(self) -> None:
        """Raise `CutsError` unless delimiter and quote are two different ASCII characters."""
        for name, character in (("delimiter", self.delimiter), ("quote", self.quote)):
            if character is not None and (len(character) != 1 or not character.isascii() or character in "\r\n"):
                raise unreadable(
                    f"the {name} {character!r} is not a single ASCII character",
                    "give one character, such as a comma, a semicolon or a tab",
                )
        if self.delimiter is not None and self.delimiter == (self.quote or '"'):
            raise unreadable(
                f"{self.delimiter!r} cannot be both the delimiter and the quote",
                "choose a different character for one of them",
            )


DETECT_ALL = CsvOptions()


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is written; `encoding` is Python's name, with byte order mark for `utf-8-sig` and `utf-16`."""

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    newline: str = "\n"


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a CSV file's text; `is_whole` if it is the complete text."""

    text: str
    is_whole: bool

    def dialect(self, options: CsvOptions, encoding: str) -> Dialect:
        """The dialect as stated in `options`, else as detected here."""
        quote = options.quote or '"'
        delimiter = options.delimiter or _detect_delimiter(self, Dialect(",", quote, encoding))
        return Dialect(delimiter, quote, encoding, _detect_newline(self.text))

    def names(self, path: Path, dialect: Dialect) -> tuple[str, ...]:
        """The column names in the header; raises `CutsError` unless all are different and none is empty."""
        names: tuple[str, ...] = ()
        with suppress(csv.Error):
            names = next((tuple(cells) for _, cells in _numbered_rows(self.text, dialect) if cells), ())
        if not any(names):
            raise unreadable(f"{path} has no header", "begin the file with a line of column names")
        check_names(names, str(path))
        return names

    def blank_lines(self, dialect: Dialect) -> int:
        """The number of empty lines before the header."""
        with suppress(csv.Error):
            return next((line for line, cells in _numbered_rows(self.text, dialect) if cells), 1) - 1
        return 0


# --- lines of a file, for messages; these open the file again


@contextmanager
def rows(path: Path, dialect: Dialect, *, strict: bool = False) -> Iterator[Iterator[tuple[int, list[str]]]]:
    """The rows of a file, each with the line it begins on; exact about lines, but slow.

    A cell longer than Python's csv reader accepts, or if `strict` a misplaced quote, ends the `with` block.
    """
    with reading(path) as stream, suppress(csv.Error):
        yield _numbered_rows(io.TextIOWrapper(stream, encoding=dialect.encoding, newline=""), dialect, strict=strict)


def line_of(path: Path, dialect: Dialect, row: int, width: int) -> int | None:
    """The line on which a row of data begins; the first row is row 0."""
    with rows(path, dialect) as numbered:
        lines = (line for line, cells in numbered if cells or width == 1)
        return next(islice(lines, row + 1, None), None)
    return None


def ragged_row(path: Path, dialect: Dialect, width: int) -> tuple[int, int] | None:
    """The line and the number of cells of the first row that has more or fewer than `width` cells."""
    with rows(path, dialect) as numbered:
        return next(((line, len(cells)) for line, cells in numbered if cells and len(cells) != width), None)
    return None


def check_quotes_closed(path: Path, dialect: Dialect) -> None:
    """Raise if a quote is still open at the end of the file: then the rest of the file would be one cell."""
    with reading(path) as stream:
        text = io.TextIOWrapper(stream, encoding=dialect.encoding, newline="")
        reader = csv.reader(text, delimiter=dialect.delimiter, quotechar=dialect.quote, strict=True)
        line = 1
        try:
            for _ in reader:
                line = reader.line_num + 1
        except csv.Error as error:
            if _is_open_quote(error):
                raise unreadable(
                    f"{path}, line {line}: a quote is opened and never closed", "add the closing quote"
                ) from None


def _numbered_rows(
    text: str | io.TextIOBase, dialect: Dialect, *, strict: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """The rows of a text, each with the line it begins on."""
    lines = io.StringIO(text, newline="") if isinstance(text, str) else text
    reader = csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote, strict=strict)
    line = 1
    for cells in reader:
        yield line, cells
        line = reader.line_num + 1


def _is_open_quote(error: csv.Error) -> bool:
    return "unexpected end of data" in str(error)


# --- detection


def _detect_newline(text: str) -> str:
    end = text.find("\n")
    if end < 0:
        return "\r" if "\r" in text else "\n"
    return "\r\n" if text[:end].endswith("\r") else "\n"


def _detect_delimiter(head: Head, dialect: Dialect) -> str:
    """The delimiter with which the largest share of the first rows is as wide as the header; the widest breaks ties."""
    for strict in (True, False):  # first delimiters with which every quote is at the end of a cell
        scores = {
            delimiter: _score(head, Dialect(delimiter, dialect.quote, dialect.encoding), strict=strict)
            for delimiter in DELIMITERS
        }
        best = max(scores, key=lambda delimiter: scores[delimiter])
        if scores[best] != _NO_SCORE:
            return best
    return ","


def _score(head: Head, dialect: Dialect, *, strict: bool) -> tuple[float, int]:
    """The share of rows as wide as the header, and its width; `_NO_SCORE` if header or most rows are a single cell."""
    widths: list[int] = []
    try:
        for _, cells in islice(_numbered_rows(head.text, dialect, strict=strict), _SAMPLE_ROWS):
            widths += [len(cells)] if cells else []
    except csv.Error as error:
        if head.is_whole or not _is_open_quote(error):
            return _NO_SCORE
    else:
        if not head.is_whole and 1 < len(widths) < _SAMPLE_ROWS:
            widths.pop()  # the last row may be cut
    if widths and widths[0] > 1 and Counter(widths[1:] or widths).most_common(1)[0][0] > 1:
        return widths.count(widths[0]) / len(widths), widths[0]
    return _NO_SCORE

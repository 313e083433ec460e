"""Private rows of CSV files: a cutter of its own, because every line must be read by itself.

A CSV reader lets one line decide about others: an open quote swallows the lines after it, a bad line stops the file,
and types are inferred from whole columns. Here one person's row would then change how other rows are counted, and the
sensitivity of a count would not be one. So a line break always ends a row, a line with an open quote or another number
of cells than the header is left out, and cells stay texts. Well-formed files without line breaks inside cells are cut
as Python's `csv` module cuts them, which a property test checks.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.exchange.csv_dialect import DELIMITERS
from cuts.data.exchange.readable import unreadable
from cuts.data.exchange.streams import reading
from cuts.data.table import Bools, Table
from cuts.privacy.reading.columns import HEADER_HELP, check_header, sliced
from cuts.privacy.reading.texts import lines_of, text_array


@dataclass(frozen=True, slots=True)
class _Layout:
    """How lines are cut: into `width` cells, of which those at `indices` are wanted."""

    delimiter: str
    quote: bytes
    cell: re.Pattern[bytes]  # with the delimiter after it; all the rest if a quote is open
    quoted: re.Pattern[bytes]  # a cell that begins with a quote: what is inside, what comes after
    width: int = 0
    indices: tuple[int, ...] = ()


def csv_blocks(
    path: Path, names: list[str], *, delimiter: str | None, quote: str | None, encoding: str | None
) -> Iterator[Table]:
    """The columns `names` of all lines that are rows, as texts."""
    decode = _decoder(encoding)
    layout = None
    with reading(path) as stream:
        for lines in map(decode, lines_of(stream)):
            if layout is None:
                start = next((index for index, line in enumerate(lines) if line.strip()), len(lines))
                if start < len(lines):
                    layout = _find_layout(path, lines[start], names, delimiter, quote or '"')
                lines = lines[start + 1 :]
            if layout is not None:
                yield from sliced(pa.table(_cut_lines(lines, layout), names=names))
    if layout is None:
        raise unreadable(f"{path} has no header", "start the file with a line of column names")


# --- encoding and layout


def _decoder(encoding: str | None) -> Callable[[list[bytes]], list[bytes]]:
    """What turns lines into UTF-8, each by itself; invalid UTF-8 is replaced cell by cell later."""
    name = (encoding or "utf-8").lower().replace("_", "-")
    if name in ("utf-8", "utf8", "utf-8-sig"):
        return lambda lines: lines
    if not _keeps_ascii(name):
        raise unreadable(f"the encoding `{encoding}` cannot be read line by line", "save the file as UTF-8")
    return lambda lines: [line.decode(name, "replace").encode("utf-8", "replace") for line in lines]


def _keeps_ascii(encoding: str) -> bool:
    """Whether ASCII characters are the same bytes in that encoding, so that bytes can be cut into lines."""
    try:
        b"\xff".decode(encoding, "replace")
        return all(chr(code).encode(encoding) == bytes([code]) for code in range(128))
    except (LookupError, UnicodeError):
        return False


def _find_layout(path: Path, header: bytes, names: list[str], delimiter: str | None, quote: str) -> _Layout:
    """The layout by the header: the delimiter that was given, or the one that yields most of the names asked for."""
    if header.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise unreadable(f"{path} is in UTF-16", "save the file as UTF-8")
    for character in (delimiter or ",", quote):
        if len(character) != 1 or not character.isascii() or character in "\r\n" or delimiter == quote:
            raise unreadable(
                "delimiter and quote must be two different ASCII characters", "pass one such as , or ; or a tab"
            )
    layouts = [_layout(character, quote) for character in delimiter or DELIMITERS if character != quote]
    headers = [[_unquoted(cell, each).decode("utf-8", "replace") for cell in _cut(header, each)] for each in layouts]
    best = max(range(len(layouts)), key=lambda index: len(set(names) & set(headers[index])))
    check_header(headers[best], names, str(path), HEADER_HELP)
    indices = tuple(headers[best].index(name) for name in names)
    return replace(layouts[best], width=len(headers[best]), indices=indices)


def _layout(delimiter: str, quote: str) -> _Layout:
    d, q = re.escape(delimiter.encode()), re.escape(quote.encode())
    inside, after = rb"[^%b]*+(?:%b%b[^%b]*+)*+" % (q, q, q, q), rb"[^%b]*+" % d
    cell = re.compile(rb"(%b%b%b%b|(?!%b)%b|(?s:.+))%b" % (q, inside, q, after, q, after, d))
    return _Layout(delimiter, quote.encode(), cell, re.compile(rb"%b(%b)%b(%b)" % (q, inside, q, after)))


# --- lines to cells


def _cut_lines(lines: list[bytes], layout: _Layout) -> list[pa.Array]:
    """The wanted columns of all lines that have as many cells as the header, in order."""
    has_quote: Bools = np.fromiter((layout.quote in line for line in lines), np.bool_, len(lines))
    if not has_quote.any():
        return [_decoded(column) for column in _split(lines, layout)[1]]
    cut = {index: _cut(lines[index], layout) for index in np.flatnonzero(has_quote).tolist()}
    rows = {index: cells for index, cells in cut.items() if len(cells) == layout.width}
    plain = np.flatnonzero(~has_quote)
    fits, plain_columns = _split([lines[index] for index in plain.tolist()], layout)
    order = pa.array(np.argsort(np.concatenate([plain[fits], np.array(list(rows), dtype=np.int64)])))
    quoted_columns = [_all_unquoted([cells[index] for cells in rows.values()], layout) for index in layout.indices]
    both = zip(plain_columns, quoted_columns, strict=True)
    return [_decoded(pa.concat_arrays(pair).take(order)) for pair in both]


def _split(lines: list[bytes], layout: _Layout) -> tuple[Bools, list[pa.Array]]:
    """Which lines without quotes have as many cells as the header, and their wanted cells; an empty one is missing."""
    cells = pc.split_pattern(pa.array(lines, pa.binary()), layout.delimiter, max_splits=layout.width)
    fits: Bools = cells.value_lengths().to_numpy(zero_copy_only=False) == layout.width
    flat = (cells if fits.all() else cells.filter(pa.array(fits))).flatten()
    starts = np.arange(0, len(flat), layout.width)
    columns = [flat.take(pa.array(starts + index)) for index in layout.indices]
    return fits, [pc.if_else(pc.equal(pc.binary_length(column), 0), None, column) for column in columns]


def _cut(line: bytes, layout: _Layout) -> list[bytes]:
    """The cells of one line as the `csv` module cuts it, of any length; no cells if a quote is open."""
    cells: list[bytes] = layout.cell.findall(line + layout.delimiter.encode())
    is_open = cells[-1].startswith(layout.quote) and not layout.quoted.match(cells[-1])
    return [] if is_open else cells


def _all_unquoted(cells: list[bytes], layout: _Layout) -> pa.Array:
    """The cells without their quotes; an empty cell is missing, two quotes are the empty text."""
    coded = pa.array(cells, pa.binary()).dictionary_encode()
    values = [_unquoted(cell, layout) if cell else None for cell in coded.dictionary.to_pylist()]
    return pa.array(values, pa.binary()).take(coded.indices)


def _unquoted(cell: bytes, layout: _Layout) -> bytes:
    match = layout.quoted.match(cell)
    return cell if match is None else match[1].replace(layout.quote * 2, layout.quote) + match[2]


def _decoded(cells: pa.Array) -> pa.Array:
    try:
        return cells.cast(pa.string())
    except pa.ArrowInvalid:
        return text_array([None if cell is None else cell.decode("utf-8", "replace") for cell in cells.to_pylist()])

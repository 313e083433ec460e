"""CSV files, read in blocks of typed columns and written in the same format."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from cuts.data.exchange.csv_dialect import (
    DELIMITERS,
    CsvOptions,
    Dialect,
    check_quotes_closed,
    line_of,
    ragged_row,
)
from cuts.data.exchange.csv_text import TextStream, reading_text
from cuts.data.exchange.evidence import Evidence, misfit, narrow, settle
from cuts.data.exchange.readable import check_same_columns, other_columns, unreadable
from cuts.data.exchange.streams import ROWS, Write, reason
from cuts.data.exchange.text_format import TextFormat, describe, parse, show
from cuts.text.diagnostic import CutsError, counted, usage_error

_BLOCK_BYTES = 1 << 20  # read by Arrow at a time; no row may be longer


def scan(path: Path, options: CsvOptions) -> tuple[Dialect, dict[str, TextFormat]]:
    """The dialect of a file and the format of every column, from all rows in constant memory; the file is opened once.

    If the number of quotes is odd, the file is read again to distinguish an open quote from an inch sign.
    """
    [(dialect, _)], formats = scan_together([path], options)
    return dialect, formats


def scan_together(
    paths: Sequence[Path], options: CsvOptions
) -> tuple[list[tuple[Dialect, tuple[str, ...]]], dict[str, TextFormat]]:
    """The dialect and header of each file, and the format of every column, from all rows of all files.

    All have the delimiter of the first. Raises `CutsError` naming the file and column that the first has not.
    """
    options.check()
    headers: list[tuple[Dialect, tuple[str, ...]]] = []
    evidence: dict[str, Evidence] = {}
    rows = 0
    for path in paths:
        with reading_text(path, options) as text:
            dialect = text.head.dialect(options, text.encoding)
            names = text.head.names(path, dialect)
            if headers:
                check_same_columns(path, names, paths[0], headers[0][1])
            else:
                points = "." if dialect.delimiter == "," else ".,"
                evidence = {name: Evidence(name, points=points) for name in names}
            columns, added = _gather(path, text, dialect, [evidence[name] for name in names])
            rows += added
            dialect = replace(dialect, encoding=text.encoding)  # certain only at the end, like the names
            names = text.head.names(path, dialect)
            evidence = {name: replace(column, name=name) for name, column in zip(names, columns, strict=True)}
        if text.quotes % 2:
            check_quotes_closed(path, dialect)
        headers.append((dialect, names))
        options = replace(options, delimiter=dialect.delimiter)
    if rows == 0:
        raise no_rows(paths[0])
    return headers, {name: settle(evidence[name]) for name in headers[0][1]}


def _gather(path: Path, text: TextStream, dialect: Dialect, evidence: list[Evidence]) -> tuple[list[Evidence], int]:
    """The formats that all texts of each column have, those seen before included; and the number of rows."""
    rows = 0
    for block in _text_blocks(path, text, dialect, [column.name for column in evidence]):
        rows += block.num_rows
        evidence = [narrow(column, cells) for column, cells in zip(evidence, block.columns, strict=True)]
    return evidence, rows


def read_blocks(path: Path, dialect: Dialect, formats: Mapping[str, TextFormat]) -> Iterator[pa.RecordBatch]:
    """The rows as typed columns; raises `CutsError` naming line and column if a cell does not fit its column."""
    names = list(formats)
    with reading_text(path, CsvOptions(dialect.delimiter, dialect.quote, dialect.encoding)) as text:
        if text.head.names(path, dialect) != tuple(names):
            raise other_columns(path)
        before = 0
        for block in _text_blocks(path, text, dialect, names):
            typed = [_typed(path, dialect, block, name, format, before) for name, format in formats.items()]
            yield pa.record_batch(typed, names)
            before += block.num_rows


@contextmanager
def writing(stream: Any, dialect: Dialect, formats: Mapping[str, TextFormat]) -> Iterator[Write]:
    """A function that writes rows below the header; the columns are those of `formats`, in the types of their formats.

    Text is quoted only where necessary; the empty string always is.
    """
    encoder = codecs.getincrementalencoder(dialect.encoding)()
    names = _quoted(pa.array(list(formats)), dialect, DELIMITERS).to_pylist()  # so that the delimiter is clear
    stream.write(encoder.encode(dialect.delimiter.join(names) + dialect.newline))

    def write(table: pa.Table) -> None:
        for block in table.to_batches(max_chunksize=ROWS):
            cells = [_cells(block.column(name), name, format, dialect) for name, format in formats.items()]
            lines = pc.binary_join_element_wise(*cells, dialect.delimiter).to_pylist()
            stream.write(encoder.encode("".join(line + dialect.newline for line in lines)))

    yield write


def _text_blocks(path: Path, text: TextStream, dialect: Dialect, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The cells as texts in blocks; null where an unquoted cell is empty."""
    options = csv.ReadOptions(block_size=_BLOCK_BYTES, skip_rows=text.head.blank_lines(dialect))
    try:
        for block in csv.open_csv(
            text.for_arrow(), options, _parse_options(dialect, len(names)), _convert_options(names)
        ):
            yield from (block.slice(start, ROWS) for start in range(0, block.num_rows, ROWS))
    except pa.ArrowInvalid as error:
        raise _broken(path, dialect, len(names), error) from None


def _parse_options(dialect: Dialect, width: int) -> csv.ParseOptions:
    return csv.ParseOptions(
        delimiter=dialect.delimiter,
        quote_char=dialect.quote,
        newlines_in_values=True,
        ignore_empty_lines=width > 1,  # in a single column an empty line is a missing value
    )


def _convert_options(names: Sequence[str]) -> csv.ConvertOptions:
    return csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )


def _broken(path: Path, dialect: Dialect, width: int, error: Exception) -> CutsError:
    """The error of a file that cannot be split into rows and cells."""
    check_quotes_closed(path, dialect)
    ragged = ragged_row(path, dialect, width)
    if ragged is not None:
        line, cells = ragged
        return unreadable(
            f"{path}, line {line}: the row has {counted(cells, 'cell')} instead of {width}",
            f"put cells that contain {dialect.delimiter!r} in quotes, or state another delimiter",
        )
    if "straddl" in str(error):
        return unreadable(f"{path}: a row is longer than a megabyte", "check that every quote is closed")
    if "Empty CSV" in str(error):
        return no_rows(path)
    return unreadable(f"{path} is not a table: {reason(error)}", "save the table as CSV again")


def no_rows(path: Path) -> CutsError:
    """A header with nothing below it."""
    return unreadable(f"{path} has a header but no rows", "give a table with at least one row")


def _typed(path: Path, dialect: Dialect, block: pa.RecordBatch, name: str, format: TextFormat, before: int) -> pa.Array:
    texts = block.column(name)
    try:
        return parse(texts, format)
    except ValueError:
        row = before + (misfit(texts, format) or 0)
    line = line_of(path, dialect, row, block.num_columns)
    where = f"{path}, row {row + 1}" if line is None else f"{path}, line {line}"
    raise unreadable(
        f"{where}: the column `{name}` should hold {describe(format)}, as it did when the file was scanned",
        f"correct the line, or scan the whole file again so that `{name}` becomes text",
    )


def _cells(values: pa.Array, name: str, format: TextFormat, dialect: Dialect) -> pa.Array:
    texts = show(values, format)
    if format.kind == "text" and pc.any(pc.match_substring(texts, "\x00")).as_py():
        raise usage_error(
            "unwritable-file",
            f"the column `{name}` contains a NUL character, which CSV cannot hold",
            "write a .parquet file",
        )
    signs = format.style + format.grouping
    needs_quotes = format.kind == "text" or dialect.delimiter in signs or dialect.delimiter not in DELIMITERS
    return pc.fill_null(_quoted(texts, dialect) if needs_quotes else texts, "")


def _quoted(texts: pa.Array, dialect: Dialect, others: str = "") -> pa.Array:
    specials = re.escape(dialect.delimiter + dialect.quote + others)
    special = pc.match_substring_regex(texts, f"^$|[{specials}\r\n\ufeff]")
    if not pc.any(special).as_py():
        return texts
    quote = dialect.quote
    doubled = pc.replace_substring(texts, quote, quote * 2)
    return pc.if_else(special, pc.binary_join_element_wise(quote, doubled, quote, ""), texts)

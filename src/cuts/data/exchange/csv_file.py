"""A CSV file in blocks of typed columns, and typed columns as a CSV file of the same look."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from cuts.data.exchange.csv_dialect import DELIMITERS, Dialect, blank_lines, header, line_of, ragged_row
from cuts.data.exchange.evidence import Evidence, misfit, narrow, settle
from cuts.data.exchange.readable import other_columns, unreadable
from cuts.data.exchange.streams import ROWS, Write, reading, reason
from cuts.data.exchange.text_format import TextFormat, described, parse, show
from cuts.text.diagnostic import CutsError, counted, usage_error

_BLOCK = 1 << 20  # bytes Arrow reads at a time; no row may be longer


def find_formats(path: Path, dialect: Dialect) -> dict[str, TextFormat]:
    """The look of every column, found in all rows with flat memory."""
    points = "." if dialect.delimiter == "," else ".,"
    found = [Evidence(name, points=points) for name in header(path, dialect)]
    count = 0
    for block in _text_blocks(path, dialect, [evidence.name for evidence in found]):
        count += block.num_rows
        found = [narrow(evidence, texts) for evidence, texts in zip(found, block.columns, strict=True)]
    if count == 0:
        raise no_rows(path)
    return {evidence.name: settle(evidence) for evidence in found}


def read_blocks(path: Path, dialect: Dialect, looks: Mapping[str, TextFormat]) -> Iterator[pa.RecordBatch]:
    """The rows as typed columns; `CutsError` naming line and column if a text has another look than its column."""
    names = list(looks)
    if header(path, dialect) != tuple(names):
        raise other_columns(path)
    before = 0
    for block in _text_blocks(path, dialect, names):
        typed = [_typed(path, dialect, block, name, look, before) for name, look in looks.items()]
        yield pa.record_batch(typed, names)
        before += block.num_rows


@contextmanager
def writing(stream: Any, dialect: Dialect, looks: Mapping[str, TextFormat]) -> Iterator[Write]:
    """What writes rows below the header: the columns of `looks`, each of its look's type.

    Texts are quoted only where they must be, the empty text always.
    """
    encoder = codecs.getincrementalencoder(dialect.encoding)()
    names = _quoted(pa.array(list(looks)), dialect, DELIMITERS).to_pylist()  # so that the delimiter is clear
    stream.write(encoder.encode(dialect.delimiter.join(names) + dialect.newline))

    def write(table: pa.Table) -> None:
        for block in table.to_batches(max_chunksize=ROWS):
            cells = [_cells(block.column(name), name, look, dialect) for name, look in looks.items()]
            lines = pc.binary_join_element_wise(*cells, dialect.delimiter).to_pylist()
            stream.write(encoder.encode("".join(line + dialect.newline for line in lines)))

    yield write


def _text_blocks(path: Path, dialect: Dialect, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The cells as texts, null where an unquoted cell is empty."""
    encoding = "utf8" if dialect.encoding in ("utf-8", "utf-8-sig") else dialect.encoding
    read = csv.ReadOptions(block_size=_BLOCK, encoding=encoding, skip_rows=blank_lines(path, dialect))
    with reading(path) as stream:
        try:
            for block in csv.open_csv(stream, read, _signs(dialect, len(names)), _texts(names)):
                yield from (block.slice(start, ROWS) for start in range(0, block.num_rows, ROWS))
        except pa.ArrowInvalid as error:
            raise _broken(path, dialect, len(names), error) from None


def _signs(dialect: Dialect, width: int) -> csv.ParseOptions:
    return csv.ParseOptions(
        delimiter=dialect.delimiter,
        quote_char=dialect.quote,
        newlines_in_values=True,
        ignore_empty_lines=width > 1,  # in a single column an empty line is a missing value
    )


def _texts(names: Sequence[str]) -> csv.ConvertOptions:
    return csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )


def _broken(path: Path, dialect: Dialect, width: int, error: Exception) -> CutsError:
    """What is wrong with a file that cannot be cut into rows and cells."""
    ragged = ragged_row(path, dialect, width)
    if ragged is not None:
        line, cells = ragged
        return unreadable(
            f"{path}, line {line}: the row has {counted(cells, 'cell')} instead of {width}",
            f"put a text that contains {dialect.delimiter!r} in quotes, or name another delimiter",
        )
    if "straddl" in str(error):
        return unreadable(f"{path}: a row is longer than a megabyte", "check that every quote is closed")
    if "Empty CSV" in str(error):
        return no_rows(path)
    return unreadable(f"{path} is not a table: {reason(error)}", "save the table as CSV again")


def no_rows(path: Path) -> CutsError:
    """A header with nothing below it."""
    return unreadable(f"{path} has a header but no rows", "give a table with at least one row")


def _typed(path: Path, dialect: Dialect, block: pa.RecordBatch, name: str, look: TextFormat, before: int) -> pa.Array:
    texts = block.column(name)
    try:
        return parse(texts, look)
    except ValueError:
        row = before + (misfit(texts, look) or 0)
    line = line_of(path, dialect, row, block.num_columns)
    where = f"{path}, row {row + 1}" if line is None else f"{path}, line {line}"
    raise unreadable(
        f"{where}: the column `{name}` holds {described(look)} before, but not here",
        f"correct the line, or read the whole file first so that `{name}` becomes text",
    )


def _cells(values: pa.Array, name: str, look: TextFormat, dialect: Dialect) -> pa.Array:
    texts = show(values, look)
    if look.kind == "text" and pc.any(pc.match_substring(texts, "\x00")).as_py():
        raise usage_error(
            "unwritable-file",
            f"the column `{name}` has a text with the sign 0, which no CSV file can hold",
            "write a .parquet file",
        )
    needs_quotes = look.kind == "text" or dialect.delimiter in look.style or dialect.delimiter not in DELIMITERS
    return pc.fill_null(_quoted(texts, dialect) if needs_quotes else texts, "")


def _quoted(texts: pa.Array, dialect: Dialect, others: str = "") -> pa.Array:
    signs = re.escape(dialect.delimiter + dialect.quote + others)
    special = pc.match_substring_regex(texts, f"^$|[{signs}\r\n\ufeff]")
    if not pc.any(special).as_py():
        return texts
    quote = dialect.quote
    doubled = pc.replace_substring(texts, quote, quote * 2)
    return pc.if_else(special, pc.binary_join_element_wise(quote, doubled, quote, ""), texts)

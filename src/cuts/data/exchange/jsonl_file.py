"""JSON lines files (one object per line), read in blocks of typed columns and written.

JSON distinguishes texts, numbers and truth values; dates, times and durations are texts of one format, as in CSV. An
absent key is a missing value. JSON has no NaN, which is written as null, and no infinity, written as `Infinity`.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from cuts.data.exchange.evidence import Evidence, misfit, narrow, settle
from cuts.data.exchange.readable import check_names, check_rows, check_type, undecodable, unreadable
from cuts.data.exchange.streams import ROWS, Write, reading
from cuts.data.exchange.text_format import TextFormat, describe, format_of, parse, show, type_of
from cuts.text.diagnostic import CutsError

_CHUNK_BYTES = 4 << 20  # read at a time
_TYPES = {pa.bool_(): "true or false", pa.int64(): "numbers", pa.float64(): "numbers", pa.string(): "text"}


def find_formats(*paths: Path) -> dict[str, TextFormat]:
    """The format of every column in order of appearance, from all rows of the files in constant memory."""
    kinds: dict[str, pa.DataType] = {}
    evidence: dict[str, Evidence] = {}
    rows = 0
    for lines in chain.from_iterable(map(_chunks, paths)):
        table = _inferred(lines)
        rows += table.num_rows
        for name in table.column_names:
            values = table.column(name).combine_chunks()
            kinds[name] = _joined(kinds.get(name, pa.null()), values, name, lines)
            if pa.types.is_string(values.type):
                evidence[name] = narrow(evidence.get(name) or Evidence(name, ("moment", "span")), values)
    check_rows(rows, str(paths[0]))
    check_names(list(kinds), str(paths[0]))
    return {name: settle(evidence[name]) if name in evidence else _plain(kind) for name, kind in kinds.items()}


def read_blocks(path: Path, formats: Mapping[str, TextFormat]) -> Iterator[pa.RecordBatch]:
    """The rows as typed columns; raises `CutsError` naming line and column if a value does not fit its column."""
    texts = ("text", "moment", "span")
    kinds = {name: pa.string() if format.kind in texts else type_of(format) for name, format in formats.items()}
    for lines in _chunks(path):
        before = 0
        for block in _parsed(lines, pa.schema(kinds)).to_batches(max_chunksize=ROWS):
            typed = [_typed(block.column(name), name, format, lines, before) for name, format in formats.items()]
            yield pa.record_batch(typed, list(formats))
            before += block.num_rows


@contextmanager
def writing(stream: Any, formats: Mapping[str, TextFormat]) -> Iterator[Write]:
    """A function that writes rows, one object per line; the columns are those of `formats`, in their types."""

    def write(table: pa.Table) -> None:
        for block in table.to_batches(max_chunksize=ROWS):
            members = [_members(block.column(name), name, format) for name, format in formats.items()]
            lines = pc.binary_join_element_wise(*members, ",").to_pylist()
            stream.write("".join(f"{{{line}}}\n" for line in lines).encode())

    yield write


# --- lines


@dataclass(frozen=True, slots=True)
class _Lines:
    """Complete lines of a file, and the number of lines before them."""

    path: Path
    text: bytes
    before: int

    def location(self, row: int) -> str:
        """File and line of a row; blank lines are not rows."""
        filled = (number for number, line in enumerate(self.text.split(b"\n"), start=1) if line.strip())
        within = next((number for count, number in enumerate(filled) if count == row), 1)
        return f"{self.path}, line {self.before + within}"


def _chunks(path: Path) -> Iterator[_Lines]:
    rest, before = b"", 0
    with reading(path) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            whole, end, rest = (rest + chunk).rpartition(b"\n")
            if end:
                yield _checked(_Lines(path, whole + end, before))
                before += whole.count(b"\n") + 1
    if rest.strip():
        yield _checked(_Lines(path, rest + b"\n", before))


def _checked(lines: _Lines) -> _Lines:
    """The lines without a byte order mark; raises `CutsError` if they are not UTF-8."""
    text = lines.text if lines.before else lines.text.removeprefix(codecs.BOM_UTF8)
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise undecodable(lines.path, lines.before + text.count(b"\n", 0, error.start) + 1, "UTF-8") from None
    return _Lines(lines.path, text, lines.before)


# --- reading


def _inferred(lines: _Lines) -> pa.Table:
    """The lines with JSON types; texts that Arrow takes for timestamps stay text and are parsed later."""
    table = _parsed(lines, None)
    for field in table.schema:
        check_type(field.name, field.type, str(lines.path))
    kinds = [(field.name, pa.string() if pa.types.is_timestamp(field.type) else field.type) for field in table.schema]
    return table if pa.schema(kinds) == table.schema else _parsed(lines, pa.schema(kinds))


def _parsed(lines: _Lines, schema: pa.Schema | None) -> pa.Table:
    if not lines.text.strip():
        return pa.table({}) if schema is None else schema.empty_table()
    read = arrow_json.ReadOptions(block_size=len(lines.text) + 1)
    kinds = arrow_json.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="infer" if schema is None else "error"
    )
    try:
        return arrow_json.read_json(pa.BufferReader(lines.text), read, kinds)
    except pa.ArrowInvalid as error:
        raise _broken(lines, str(error)) from None


def _broken(lines: _Lines, message: str) -> CutsError:
    """The error for lines that Arrow cannot read, without its message, which could quote a value."""
    row = re.search(r"in row (\d+)", message)
    where = f"{lines.path}, after line {lines.before}" if row is None else lines.location(int(row[1]))
    column = re.search(r"Column\(/([^)]*)\)", message)
    if column is not None and "twice" in message:
        return unreadable(f"{where}: the key `{column[1]}` occurs twice", "keep one of them")
    if column is not None:
        return unreadable(f"{where}: `{column[1]}` has a different type than in earlier lines", "use one type per key")
    if row is not None:
        return unreadable(f"{where}: this is not a JSON object", "write one object per line")
    return unreadable(f"{where}: a value has a different type than in earlier lines", "use one type per key")


def _joined(before: pa.DataType, values: pa.Array, name: str, lines: _Lines) -> pa.DataType:
    """The type of a column after these values."""
    kind = values.type
    if before == kind or pa.types.is_null(kind):
        return before
    if pa.types.is_null(before):
        return kind
    if {before, kind} == {pa.int64(), pa.float64()}:
        return pa.float64()
    row = int(pc.index(pc.is_valid(values), True).as_py())
    raise unreadable(
        f"{lines.location(row)}: `{name}` holds {_TYPES[before]} in earlier lines and {_TYPES[kind]} here",
        "use one type per key",
    )


def _plain(kind: pa.DataType) -> TextFormat:
    format = format_of(kind)
    assert format is not None, kind
    return format


def _typed(values: pa.Array, name: str, format: TextFormat, lines: _Lines, before: int) -> pa.Array:
    if format.kind not in ("moment", "span"):
        return values
    try:
        return parse(values, format)
    except ValueError:
        row = before + (misfit(values, format) or 0)
    raise unreadable(
        f"{lines.location(row)}: the column `{name}` should hold {describe(format)}, "
        "as it did when the file was scanned",
        f"correct the line, or scan the whole file again so that `{name}` becomes text",
    )


# --- writing


def _members(values: pa.Array, name: str, format: TextFormat) -> pa.Array:
    """The column's part of every object."""
    key = json.dumps(name, ensure_ascii=False) + ":"
    return pc.binary_join_element_wise(key, pc.fill_null(_as_json(values, format), "null"), "")


def _as_json(values: pa.Array, format: TextFormat) -> pa.Array:
    match format.kind:
        case "text":
            return _escaped(values.cast(pa.string()))
        case "moment" | "span":
            return pc.binary_join_element_wise('"', show(values, format), '"', "")
        case "real":
            shown = show(values, format)
            return pc.replace_substring(pc.if_else(pc.equal(shown, "NaN"), None, shown), "inf", "Infinity")
        case _:
            return show(values, format)


def _escaped(texts: pa.Array) -> pa.Array:
    coded = texts.dictionary_encode()  # every text is escaped once
    escaped = [json.dumps(text, ensure_ascii=False) for text in coded.dictionary.to_pylist()]
    return pa.array(escaped, pa.string()).take(coded.indices)

"""Private rows as cells, block by block. What becomes of a row depends on that row alone, and nothing in it raises.

Cells of text files stay texts: what they mean is decided one by one in `coding.py`, never by the rest of the column.
One line is one row, read by itself; a line that is none is left out. Names of columns are public, so they alone can be
wrong aloud. No message quotes anything but the names that were asked for: a file without a header begins with a row.
"""

from __future__ import annotations

import codecs
import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from narwhals.stable.v2 import dependencies
from pyarrow import ipc
from pyarrow import parquet as pq

from cuts.data.exchange.csv_dialect import DELIMITERS
from cuts.data.exchange.readable import unreadable
from cuts.data.exchange.streams import ROWS, check_present, damaged, reading
from cuts.data.table import Bools, Table
from cuts.data.temporal import show_moment
from cuts.privacy.coding import float_text
from cuts.text.diagnostic import CutsError, Diagnostic

LONGEST = 32 << 20  # bytes of a line; a longer one is left out, so that no row can exhaust the memory
_CHUNK = 4 << 20
_FRAME = "the frame"
_BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}


class PrivateRows(Protocol):
    """Rows nobody but the trusted core may see."""

    def blocks(self, names: Sequence[str]) -> Iterator[Table]:
        """The columns `names` of all rows, at most 65,536 at a time; `CutsError` if one is absent."""


@dataclass(frozen=True, slots=True)
class PrivateFile:
    """The rows of a file; `delimiter`, `quote` and `encoding` are of CSV files."""

    path: Path
    delimiter: str | None = None  # else the one that cuts the header into most of the names asked for
    quote: str | None = None  # else "
    encoding: str | None = None  # else UTF-8

    def blocks(self, names: Sequence[str]) -> Iterator[Table]:
        """The columns `names` of all rows, at most 65,536 at a time: texts, or the types a Parquet file has."""
        wanted = list(dict.fromkeys(names))
        kind, _ = check_present(self.path)
        match kind:
            case "csv":
                return _csv_blocks(self, wanted)
            case "jsonl":
                return _json_blocks(self.path, wanted)
            case "parquet" | "feather":
                return _arrow_blocks(self.path, kind, wanted)


@dataclass(frozen=True, slots=True)
class PrivateFrame:
    """The rows of a frame, as `cells_of` makes it."""

    table: Table

    def blocks(self, names: Sequence[str]) -> Iterator[Table]:
        """The columns `names` of all rows, at most 65,536 at a time."""
        wanted = list(dict.fromkeys(names))
        _check_header(self.table.names, wanted, _FRAME)
        return _sliced(_plain(self.table.arrow, wanted))


def cells_of(frame: Any) -> PrivateFrame:
    """The rows of a pandas, polars or Arrow frame or a `Table`; `TypeError` for what is no frame.

    Typed columns are taken as they are. The objects of a pandas column become texts one by one.

    >>> next(cells_of(pa.table({"age": [30, 40]})).blocks(["age"])).rows
    2
    """
    if isinstance(frame, Table):
        return PrivateFrame(frame)
    if dependencies.is_pandas_dataframe(frame):
        columns = [(name, _pandas_column(frame.iloc[:, place])) for place, name in enumerate(frame.columns)]
    elif dependencies.is_polars_dataframe(frame) or dependencies.is_polars_lazyframe(frame):
        eager = frame.collect() if dependencies.is_polars_lazyframe(frame) else frame
        columns = [(series.name, _polars_column(series)) for series in eager.get_columns()]
    else:
        return PrivateFrame(Table(_arrow_table(frame)))
    named = [(name, column) for name, column in columns if isinstance(name, str)]
    return PrivateFrame(Table(pa.table([column for _, column in named], names=[name for name, _ in named])))


# --- frames


def _arrow_table(frame: Any) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if hasattr(frame, "__arrow_c_stream__"):  # readers, and libraries that speak Arrow's protocol, as DuckDB does
        return pa.RecordBatchReader.from_stream(frame).read_all()
    if hasattr(frame, "to_table"):  # datasets
        return frame.to_table()
    raise TypeError(f"{type(frame).__name__} is no frame: give a pandas, polars or Arrow table, or the path of a file")


def _pandas_column(series: Any) -> pa.Array:
    if str(series.dtype) == "category":
        codes = series.cat.codes.to_numpy()
        labels = _pandas_column(series.cat.categories.to_series())
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), labels)
    if series.dtype == object:
        return _texts(series.array)
    return _typed(partial(pa.array, series, from_pandas=True), series.array.__iter__)


def _polars_column(series: Any) -> pa.Array:
    if nw.from_native(series, series_only=True).dtype == nw.Object:  # to Arrow, polars would give addresses
        return _texts(series.to_list())
    return _typed(series.to_arrow, series.to_list)


def _typed(convert: Callable[[], Any], cells: Callable[[], Any]) -> pa.Array:
    """The column as Arrow holds it, or texts where Arrow has no such type, which mean the same to `coding.py`."""
    try:
        column = convert()
    except Exception:
        return _texts(cells())
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _texts(cells: Iterable[Any]) -> pa.Array:
    return _array([cell if type(cell) is str else _text(cell) for cell in cells])


def _text(cell: Any) -> str | None:
    """One object as a text; nothing if it is missing, nested, or has none."""
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


def _array(texts: Sequence[str | None]) -> pa.Array:
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can spell
        return pa.array([None if text is None else _whole_signs(text) for text in texts], pa.large_string())


def _whole_signs(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# --- CSV


@dataclass(frozen=True, slots=True)
class _Form:
    """How lines are cut: into `width` cells, of which those at `places` are wanted."""

    delimiter: str
    quote: bytes
    cell: re.Pattern[bytes]  # with the delimiter after it; all the rest if a quote is open
    quoted: re.Pattern[bytes]  # a cell that begins with a quote: what is in it, what comes after it
    width: int = 0
    places: tuple[int, ...] = ()


def _csv_blocks(file: PrivateFile, names: list[str]) -> Iterator[Table]:
    decode = _decoder(file.encoding)
    form = None
    with reading(file.path) as stream:
        for lines in map(decode, _lines(stream)):
            if form is None:
                start = next((place for place, line in enumerate(lines) if line.strip()), len(lines))
                form = _find_form(file, lines[start], names) if start < len(lines) else None
                lines = lines[start + 1 :]
            if form is not None:
                yield from _sliced(pa.table(_cut_lines(lines, form), names=names))
    if form is None:
        raise unreadable(f"{file.path} has no header", "begin the file with a line of column names")


def _decoder(encoding: str | None) -> Callable[[list[bytes]], list[bytes]]:
    """What turns lines into UTF-8, each by itself; UTF-8 that is none is dealt with cell by cell."""
    name = (encoding or "utf-8").lower().replace("_", "-")
    if name in ("utf-8", "utf8", "utf-8-sig"):
        return lambda lines: lines
    if not _keeps_ascii(name):
        raise unreadable(f"the encoding `{encoding}` cannot be read line by line", "save the file as UTF-8")
    return lambda lines: [line.decode(name, "replace").encode("utf-8", "replace") for line in lines]


def _keeps_ascii(encoding: str) -> bool:
    """Whether ASCII signs are the same bytes there, so that bytes can be cut into lines."""
    try:
        b"\xff".decode(encoding, "replace")
        return all(chr(sign).encode(encoding) == bytes([sign]) for sign in range(128))
    except (LookupError, UnicodeError):
        return False


def _find_form(file: PrivateFile, header: bytes, names: list[str]) -> _Form:
    if header.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise unreadable(f"{file.path} is in UTF-16", "save the file as UTF-8")
    quote = file.quote or '"'
    for sign in (file.delimiter or ",", quote):
        if len(sign) != 1 or not sign.isascii() or sign in "\r\n" or file.delimiter == quote:
            raise unreadable("delimiter and quote are not two ASCII signs", "give one such as , or ; or a tab")
    forms = [_form(sign, quote) for sign in file.delimiter or DELIMITERS if sign != quote]
    heads = [[_unquoted(cell, form).decode("utf-8", "replace") for cell in _cut(header, form)] for form in forms]
    best = max(range(len(forms)), key=lambda place: len(set(names) & set(heads[place])))
    _check_header(heads[best], names, str(file.path))
    places = tuple(heads[best].index(name) for name in names)
    return replace(forms[best], width=len(heads[best]), places=places)


def _form(delimiter: str, quote: str) -> _Form:
    d, q = re.escape(delimiter.encode()), re.escape(quote.encode())
    inside, after = rb"[^%b]*+(?:%b%b[^%b]*+)*+" % (q, q, q, q), rb"[^%b]*+" % d
    cell = re.compile(rb"(%b%b%b%b|(?!%b)%b|(?s:.+))%b" % (q, inside, q, after, q, after, d))
    return _Form(delimiter, quote.encode(), cell, re.compile(rb"%b(%b)%b(%b)" % (q, inside, q, after)))


def _cut_lines(lines: list[bytes], form: _Form) -> list[pa.Array]:
    """The wanted columns of all lines that have as many cells as the header, in order."""
    quoted: Bools = np.fromiter((form.quote in line for line in lines), np.bool_, len(lines))
    if not quoted.any():
        return [_decoded(column) for column in _split(lines, form)[1]]
    hard = {place: _cut(lines[place], form) for place in np.flatnonzero(quoted).tolist()}
    cells = {place: cut for place, cut in hard.items() if len(cut) == form.width}
    easy = np.flatnonzero(~quoted)
    fits, columns = _split([lines[place] for place in easy.tolist()], form)
    order = pa.array(np.argsort(np.concatenate([easy[fits], np.array(list(cells), dtype=np.int64)])))
    further = [_all_unquoted([cut[place] for cut in cells.values()], form) for place in form.places]
    both = zip(columns, further, strict=True)
    return [_decoded(pa.concat_arrays(pair).take(order)) for pair in both]


def _split(lines: list[bytes], form: _Form) -> tuple[Bools, list[pa.Array]]:
    """Which lines without quotes have as many cells as the header, and their wanted cells; an empty one is missing."""
    cut = pc.split_pattern(pa.array(lines, pa.binary()), form.delimiter, max_splits=form.width)
    fits: Bools = cut.value_lengths().to_numpy(zero_copy_only=False) == form.width
    flat = (cut if fits.all() else cut.filter(pa.array(fits))).flatten()
    starts = np.arange(0, len(flat), form.width)
    columns = [flat.take(pa.array(starts + place)) for place in form.places]
    return fits, [pc.if_else(pc.equal(pc.binary_length(column), 0), None, column) for column in columns]


def _cut(line: bytes, form: _Form) -> list[bytes]:
    """The cells of one line as the `csv` module cuts it, of any length; none if a quote is open."""
    found = form.cell.findall(line + form.delimiter.encode())
    is_open = found[-1].startswith(form.quote) and not form.quoted.match(found[-1])
    return [] if is_open else found


def _all_unquoted(cells: list[bytes], form: _Form) -> pa.Array:
    """The cells without their quotes; an empty one is missing, two quotes are the empty text."""
    coded = pa.array(cells, pa.binary()).dictionary_encode()
    meant = [_unquoted(cell, form) if cell else None for cell in coded.dictionary.to_pylist()]
    return pa.array(meant, pa.binary()).take(coded.indices)


def _unquoted(cell: bytes, form: _Form) -> bytes:
    found = form.quoted.match(cell)
    return cell if found is None else found[1].replace(form.quote * 2, form.quote) + found[2]


def _decoded(cells: pa.Array) -> pa.Array:
    try:
        return cells.cast(pa.string())
    except pa.ArrowInvalid:
        return _array([None if cell is None else cell.decode("utf-8", "replace") for cell in cells.to_pylist()])


# --- JSON lines


def _json_blocks(path: Path, names: list[str]) -> Iterator[Table]:
    with reading(path) as stream:
        for lines in _lines(stream):
            rows = [row for row in map(_object, lines) if row is not None]
            columns = [_texts(row.get(name) for row in rows) for name in names]
            yield from _sliced(pa.table(columns, names=names))


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line.decode("utf-8", "replace"), parse_int=lambda digits: "0" if digits == "-0" else digits)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


# --- Parquet and Feather


def _arrow_blocks(path: Path, kind: str, names: list[str]) -> Iterator[Table]:
    with _opened(path, kind) as (header, batches):
        _check_header(header, names, str(path))
        for batch in batches:
            table = _plain(pa.Table.from_batches([batch]), names)
            for chunk in (chunk for column in table.columns for chunk in column.chunks):
                _check_buffers(chunk)
            yield from _sliced(table)


@contextmanager
def _opened(path: Path, kind: str) -> Iterator[tuple[list[str], Iterator[pa.RecordBatch]]]:
    """The names of the columns, and the rows; whatever Arrow finds wrong with the file is a `CutsError`."""
    try:
        with reading(path) as stream:
            source = stream if stream.seekable() else pa.BufferReader(stream.read())
            if kind == "parquet":
                parquet = pq.ParquetFile(source, pre_buffer=False)
                yield parquet.schema_arrow.names, parquet.iter_batches(batch_size=ROWS)
            elif source.read(6) == b"ARROW1":
                source.seek(0)
                file = ipc.open_file(source)
                yield file.schema.names, map(file.get_batch, range(file.num_record_batches))
            else:
                source.seek(0)
                batches = ipc.open_stream(source)
                yield batches.schema.names, iter(batches)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise damaged(path, error) from None


def _check_buffers(column: pa.Array) -> None:
    """Raise if the file is damaged: computing then would end the process. What cells say is not looked at."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        _check_buffers(column.storage)
    elif pa.types.is_dictionary(kind):
        _check_buffers(column.dictionary)
        ends = pc.min_max(column.indices.cast(pa.int64(), safe=False)).as_py()
        if ends["max"] is not None and not 0 <= ends["min"] <= ends["max"] < len(column.dictionary):
            raise pa.ArrowInvalid("an index without a value")
    elif pa.types.is_temporal(kind) or pa.types.is_decimal(kind):
        column.validate()  # in full it would look at the values
    else:
        column.cast(_BYTES.get(kind, kind)).validate(full=True)


# --- all of them


def _check_header(header: Sequence[str], names: Sequence[str], where: str) -> None:
    """Raise unless every column asked for is there, and once."""
    problems = [missing_column(name, where) for name in names if name not in header]
    if problems:
        raise CutsError(problems)
    twice = next((name for name in names if header.count(name) > 1), None)
    if twice is not None:
        raise unreadable(f"{where} has two columns named `{twice}`", "rename one of them")


def missing_column(name: str, where: str) -> Diagnostic:
    """A column that was asked for and is not there; what is there instead could be a row, so it is not told."""
    return Diagnostic(
        "missing-column", f"{where} has no column `{name}`", help="check the names in its first line, and the delimiter"
    )


def _lines(stream: Any) -> Iterator[list[bytes]]:
    """The lines without their ends, many at a time; those longer than `LONGEST` are left out."""
    rest = stream.read(len(codecs.BOM_UTF8)).removeprefix(codecs.BOM_UTF8)
    while chunk := stream.read(_CHUNK):
        whole, end, rest = (rest + chunk).rpartition(b"\n")
        if end:
            yield _short(whole)
        rest = rest[: LONGEST + 2]  # long enough to be left out, with a carriage return or without
    if rest:
        yield _short(rest.removesuffix(b"\n"))


def _short(text: bytes) -> list[bytes]:
    lines = text.replace(b"\r\n", b"\n").removesuffix(b"\r").split(b"\n")
    return lines if len(text) <= LONGEST else [line for line in lines if len(line) <= LONGEST]


def _plain(table: pa.Table, names: list[str]) -> pa.Table:
    """The wanted columns; those of lists and the like are missing altogether."""
    columns = [table.column(name) for name in names]
    nested = [pa.types.is_nested(column.type) for column in columns]
    kept = [pa.nulls(table.num_rows) if lists else column for column, lists in zip(columns, nested, strict=True)]
    return pa.table(kept, names=names)


def _sliced(table: pa.Table) -> Iterator[Table]:
    return (Table(table.slice(start, ROWS)) for start in range(0, table.num_rows, ROWS))

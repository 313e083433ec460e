"""Tables in files: read with their types, written again in the same format.

Supported are CSV (.csv, .tsv), Parquet (.parquet, .pq), Feather or Arrow (.feather, .arrow) and JSON lines (.jsonl,
.ndjson), each also compressed (.gz, .zst).

A CSV file is read in one way only. An empty cell without quotes is missing; `""` is the empty string; every other text
is a value, including NA, null and None, and NaN unless all other cells of its column are numbers. In a file of one
column an empty line is a missing value. All rows together determine the type of a column, see `evidence.py`; the
`FileForm` keeps how its texts are written (decimals, patterns of dates, spelling of truth values).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa

from cuts.data.exchange import arrow_file, csv_file, jsonl_file
from cuts.data.exchange.csv_dialect import DETECT_ALL, CsvOptions, Dialect
from cuts.data.exchange.readable import check_rows, other_columns, unreadable
from cuts.data.exchange.recast import dictionaries_of, is_text, plain_values, recast
from cuts.data.exchange.streams import Compression, Kind, Write, check_filled, check_writable, whole_or_nothing
from cuts.data.exchange.text_format import TextFormat, format_of, type_of
from cuts.data.table import Table
from cuts.text.diagnostic import usage_error

NONE: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class FileForm:
    """How a file is written: its kind, its columns' Arrow types, and for CSV and JSON lines how texts are formatted."""

    kind: Kind
    compression: Compression | None
    schema: pa.Schema
    dictionaries: Mapping[str, pa.Array] = field(default_factory=dict)  # the categories of dictionary columns
    dialect: Dialect = field(default_factory=Dialect)  # of a CSV file
    formats: Mapping[str, TextFormat] = field(default_factory=dict)  # one per column of a CSV or JSON lines file


def load(path: Path | str, *, csv: CsvOptions = DETECT_ALL) -> tuple[Table, FileForm]:
    """The table in a file, and how the file is written.

    `csv` states what should not be detected from a CSV file. Raises `CutsError` naming the file, line and column that
    cannot be read.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "prices.csv")
    ...     written = path.write_text("day;price\\n31.12.2020;1,50\\n")
    ...     table, form = load(path)
    ...     save(table, path, form)
    ...     path.read_text()
    'day;price\\n31.12.2020;1,50\\n'
    >>> table.arrow.schema.types, form.formats["day"].style, form.formats["price"].decimals
    ([DataType(date32[day]), DataType(double)], '%d.%m.%Y', 2)
    """
    path = Path(path)
    with open_blocks(path, csv=csv) as (form, batches):
        arrow = pa.Table.from_batches(batches, schema=form.schema)
    check_rows(arrow.num_rows, str(path))
    return Table(arrow), replace(form, dictionaries=dictionaries_of(arrow))


def blocks(path: Path | str, form: FileForm | None = None, *, csv: CsvOptions = DETECT_ALL) -> Iterator[Table]:
    """The table in a file in blocks of at most 65,536 rows, with the types of `load`, in constant memory.

    With `form`, from `scan` or `load`, the file is opened once. Without it a text file is read twice, first for the
    types. A row that does not fit the form raises `CutsError` naming file, line and column.
    """
    _check_kind(Path(path), form)
    return _tables(Path(path), form, csv)


def scan(path: Path | str, *, csv: CsvOptions = DETECT_ALL) -> FileForm:
    """How a file is written, including the types of its columns; a text file is read completely, in constant memory."""
    path = Path(path)
    kind, compression = check_filled(path)
    match kind:
        case "csv":
            dialect, formats = csv_file.scan(path, csv)
            return FileForm(kind, compression, schema_of(formats), dialect=dialect, formats=formats)
        case "jsonl":
            formats = jsonl_file.find_formats(path)
            return FileForm(kind, compression, schema_of(formats), formats=formats)
        case "parquet" | "feather":
            with arrow_file.reading_arrow(path, kind) as file:
                return FileForm(kind, compression, file.schema)


@contextmanager
def open_blocks(
    path: Path, form: FileForm | None = None, *, csv: CsvOptions = DETECT_ALL
) -> Iterator[tuple[FileForm, Iterator[pa.RecordBatch]]]:
    """The form of a file and its rows; a Parquet or Feather file, which states its types, is opened once for both."""
    kind, compression = _check_kind(path, form)
    if kind in ("parquet", "feather"):
        with arrow_file.reading_arrow(path, kind) as file:
            form = form or FileForm(kind, compression, file.schema)
            if not set(form.schema.names) <= set(file.schema.names):
                raise other_columns(path)
            yield form, file.blocks(form.schema.names)
    else:
        form = form or scan(path, csv=csv)
        if kind == "csv":
            yield form, csv_file.read_blocks(path, form.dialect, form.formats)
        else:
            yield form, jsonl_file.read_blocks(path, form.formats)


def save(table: Table, path: Path | str, form: FileForm | None = None) -> None:
    """Write the table to a file of the kind its extension says; if writing fails, the file is unchanged.

    With the form of a file the columns get the types and order they had there, and if it is of the same kind, also
    the text format.
    """
    save_blocks([table], path, form)


def save_blocks(
    blocks: Iterable[Table], path: Path | str, form: FileForm | None = None, *, decimals: Mapping[str, int] = NONE
) -> int:
    """Write the rows of all blocks to one file as `save` does, in constant memory; returns the number of rows.

    In a text file, moments without a format of their own have as many decimals of a second as `decimals` says. If
    reading a block fails, the file is unchanged. Raises `ValueError` for blocks of different columns, or no block.
    """
    path = Path(path)
    kind, _ = check_writable(path)
    shape = form if form is not None and form.kind == kind else None
    parts = (_prepared(block.arrow, kind, form) for block in blocks)
    first = next(parts, None)
    if first is None:
        raise ValueError("there is no block to write; a table without rows is one block")
    rows = 0
    with _writing(path, kind, first.schema, shape, decimals) as write:
        for part in chain([first], parts):
            if not part.schema.equals(first.schema):
                raise ValueError(f"the block after row {rows} does not have the columns and types of the first block")
            write(part)
            rows += part.num_rows
    return rows


def with_texts(form: FileForm, names: Iterable[str]) -> FileForm:
    """The form with these columns as text, for values that cannot be of the column's own type."""
    changed = {name for name in names if name in form.schema.names and not is_text(form.schema.field(name).type)}
    if not changed:
        return form
    fields = [pa.field(field.name, pa.string()) if field.name in changed else field for field in form.schema]
    formats = {name: format for name, format in form.formats.items() if name not in changed}
    return replace(form, schema=pa.schema(fields), formats=formats)


def _tables(path: Path, form: FileForm | None, csv: CsvOptions) -> Iterator[Table]:
    with open_blocks(path, form, csv=csv) as (_, batches):
        yield from (Table(pa.Table.from_batches([batch])) for batch in batches)


def _check_kind(path: Path, form: FileForm | None) -> tuple[Kind, Compression | None]:
    """The kind and compression of a file; it must be of the kind of `form` unless that is None."""
    kind, compression = check_filled(path)
    if form is not None and form.kind != kind:
        raise unreadable(f"{path} is not a {form.kind} file", "give a file of the same kind as the one read first")
    return kind, compression


def schema_of(formats: Mapping[str, TextFormat]) -> pa.Schema:
    """The columns of a text file with these formats."""
    return pa.schema([(name, type_of(format)) for name, format in formats.items()])


def _arranged(arrow: pa.Table, form: FileForm) -> pa.Table:
    """The columns in the form's order and types; columns the form lacks come last, unchanged."""
    shared = [name for name in form.schema.names if name in arrow.column_names]
    others = [name for name in arrow.column_names if name not in shared]
    fields = [*(form.schema.field(name) for name in shared), *(arrow.schema.field(name) for name in others)]
    metadata = form.schema.metadata if shared == form.schema.names and not others else None
    return recast(arrow, pa.schema(fields, metadata), form.dictionaries)


def _prepared(arrow: pa.Table, kind: Kind, form: FileForm | None) -> pa.Table:
    """The table in the form's order and types; without dictionaries where the file is text."""
    arranged = arrow if form is None else _arranged(arrow, form)
    if kind in ("parquet", "feather"):
        return arranged
    return pa.table([plain_values(column) for column in arranged.columns], names=arranged.column_names)


@contextmanager
def _writing(
    path: Path, kind: Kind, schema: pa.Schema, shape: FileForm | None, decimals: Mapping[str, int]
) -> Iterator[Write]:
    """A function that writes tables of that schema to the file, which appears when everything is written."""
    match kind:
        case "parquet":
            with whole_or_nothing(path) as stream, arrow_file.writing_parquet(stream, schema) as write:
                yield write
        case "feather":
            with whole_or_nothing(path) as stream, arrow_file.writing_feather(stream, schema) as write:
                yield write
        case "jsonl":
            formats = _formats(path, schema, shape, decimals)
            with whole_or_nothing(path) as stream, jsonl_file.writing(stream, formats) as write:
                yield write
        case "csv":
            formats = _formats(path, schema, shape, decimals)
            dialect = Dialect("\t" if ".tsv" in path.name.lower() else ",") if shape is None else shape.dialect
            try:
                with whole_or_nothing(path) as stream, csv_file.writing(stream, dialect, formats) as write:
                    yield write
            except UnicodeEncodeError:
                raise usage_error(
                    "unwritable-file",
                    f"{path} cannot be written: a text has characters that {dialect.encoding} lacks",
                    "save the table you read as UTF-8 first, or write a .parquet file",
                ) from None


def _formats(
    path: Path, schema: pa.Schema, shape: FileForm | None, decimals: Mapping[str, int]
) -> dict[str, TextFormat]:
    kept = {} if shape is None else shape.formats
    return {column.name: kept.get(column.name) or _format(path, column, decimals) for column in schema}


def _format(path: Path, column: pa.Field, decimals: Mapping[str, int]) -> TextFormat:
    format = format_of(column.type)
    if format is not None and column.name in decimals and not pa.types.is_date(column.type):
        return replace(format, min_decimals=decimals[column.name], max_decimals=decimals[column.name])
    if format is None:
        raise usage_error(
            "unwritable-file",
            f"{path} cannot be written: the column `{column.name}` is of type {column.type}",
            f"drop `{column.name}`, or write a .parquet file",
        )
    return format

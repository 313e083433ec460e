"""Tables in files: read with the types they mean, written again so that they look the same.

Known are CSV (.csv, .tsv), Parquet (.parquet, .pq), Feather or Arrow (.feather, .arrow) and JSON lines (.jsonl,
.ndjson), each also compressed (.gz, .zst).

A CSV file has one reading. An empty cell without quotes is missing; `""` is the empty text; every other text is a
value: NA, null and None too, and NaN unless all the rest of its column are numbers. In a file of one column an empty
line is a missing value. All rows decide what a column is, as `evidence.py` tells; how its texts looked (decimals,
formats of dates, spelling of truth values) is kept in the `FileForm`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import pyarrow as pa

from cuts.data.exchange import arrow_file, csv_file, jsonl_file
from cuts.data.exchange.csv_dialect import Dialect, find_dialect
from cuts.data.exchange.readable import check_rows, unreadable
from cuts.data.exchange.recast import dictionaries_of, plain_values, recast
from cuts.data.exchange.streams import Compression, Kind, Write, check_present, check_writable, whole_or_nothing
from cuts.data.exchange.text_format import TextFormat, format_of, type_of
from cuts.data.table import Table
from cuts.text.diagnostic import usage_error

_ISO = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%H:%M:%S")


@dataclass(frozen=True, slots=True)
class FileForm:
    """How a file looked: its kind, its columns' Arrow types, and for CSV and JSON lines how texts were written."""

    kind: Kind
    compression: Compression | None
    schema: pa.Schema
    dictionaries: Mapping[str, pa.Array] = field(default_factory=dict)  # the categories of dictionary columns
    dialect: Dialect = field(default_factory=Dialect)  # of a CSV file
    looks: Mapping[str, TextFormat] = field(default_factory=dict)  # of every column of a CSV or JSON lines file

    @property
    def decimals(self) -> dict[str, int]:
        """For every column whose numbers all show the same number of decimals, that number."""
        return {name: look.decimals for name, look in self.looks.items() if look.decimals is not None}

    @property
    def moments(self) -> dict[str, str]:
        """For every column of dates, times or timestamps not written as ISO says, their `strptime` format."""
        kept = {name: look.style for name, look in self.looks.items() if look.kind == "moment"}
        return {name: style for name, style in kept.items() if style not in _ISO}


def load(
    path: Path | str, *, delimiter: str | None = None, quote: str | None = None, encoding: str | None = None
) -> tuple[Table, FileForm]:
    """The table in a file, and how the file looked.

    `delimiter`, `quote` and `encoding` are of CSV files, and found in the file unless given. Raises `CutsError` naming
    file, line and column of what cannot be read.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "prices.csv")
    ...     written = path.write_text("day;price\\n31.12.2020;1,50\\n")
    ...     table, form = load(path)
    ...     save(table, path, form)
    ...     path.read_text()
    'day;price\\n31.12.2020;1,50\\n'
    >>> table.arrow.schema.types, form.decimals, form.moments
    ([DataType(date32[day]), DataType(double)], {'price': 2}, {'day': '%d.%m.%Y'})
    """
    path = Path(path)
    form = scan(path, delimiter=delimiter, quote=quote, encoding=encoding)
    arrow = pa.Table.from_batches(_batches(path, form), schema=form.schema)
    check_rows(arrow.num_rows, str(path))
    return Table(arrow), replace(form, dictionaries=dictionaries_of(arrow))


def blocks(
    path: Path | str,
    form: FileForm | None = None,
    *,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
) -> Iterator[Table]:
    """The table in a file in blocks of at most 65,536 rows, of the types `load` gives, in flat memory.

    A text file is read twice, first for the types: `form`, from `scan` or `load`, spares that. A row that does not fit
    the form then is a `CutsError` naming file, line and column.
    """
    path = Path(path)
    if form is None:
        form = scan(path, delimiter=delimiter, quote=quote, encoding=encoding)
    elif check_present(path)[0] != form.kind:
        raise unreadable(f"{path} is no {form.kind} file", "give a file of the kind that was read first")
    return (Table(pa.Table.from_batches([batch])) for batch in _batches(path, form))


def scan(
    path: Path | str, *, delimiter: str | None = None, quote: str | None = None, encoding: str | None = None
) -> FileForm:
    """How a file looks, and so the types of its columns; a text file is read to its end, in flat memory."""
    path = Path(path)
    kind, compression = check_present(path)
    if kind == "csv":
        dialect = find_dialect(path, delimiter=delimiter, quote=quote, encoding=encoding)
        looks = csv_file.find_formats(path, dialect)
        return FileForm(kind, compression, _schema_of(looks), dialect=dialect, looks=looks)
    if kind == "jsonl":
        looks = jsonl_file.find_formats(path)
        return FileForm(kind, compression, _schema_of(looks), looks=looks)
    return FileForm(kind, compression, arrow_file.find_schema(path, kind))


def save(table: Table, path: Path | str, form: FileForm | None = None) -> None:
    """Write the whole table to a file of the kind its ending tells, or nothing: a temporary file is renamed.

    With the form of a file the columns get the types and order they had there; with one of the same kind, also the
    look.
    """
    save_blocks([table], path, form)


def save_blocks(blocks: Iterable[Table], path: Path | str, form: FileForm | None = None) -> int:
    """Write the rows of all blocks to one file as `save` does, in flat memory; returns how many there were.

    If a block fails to come, everything is left as it was. Blocks of different columns, or none, are a `ValueError`.
    """
    path = Path(path)
    kind, _ = check_writable(path)
    shape = form if form is not None and form.kind == kind else None
    parts = (_prepared(block.arrow, kind, form) for block in blocks)
    first = next(parts, None)
    if first is None:
        raise ValueError("there is no block to write; a table without rows is one block")
    rows = 0
    with _writing(path, kind, first.schema, shape) as write:
        for part in chain([first], parts):
            if not part.schema.equals(first.schema):
                raise ValueError(f"the block after row {rows} has other columns than the first, or other types")
            write(part)
            rows += part.num_rows
    return rows


def _batches(path: Path, form: FileForm) -> Iterator[pa.RecordBatch]:
    match form.kind:
        case "csv":
            return csv_file.read_blocks(path, form.dialect, form.looks)
        case "jsonl":
            return jsonl_file.read_blocks(path, form.looks)
        case "parquet" | "feather":
            return arrow_file.read_blocks(path, form.kind, form.schema)


def _schema_of(looks: Mapping[str, TextFormat]) -> pa.Schema:
    return pa.schema([(name, type_of(look)) for name, look in looks.items()])


def _arranged(arrow: pa.Table, form: FileForm) -> pa.Table:
    """The columns in the form's order and of its types; those it does not know come last, as they are."""
    known = [name for name in form.schema.names if name in arrow.column_names]
    others = [name for name in arrow.column_names if name not in known]
    fields = [*(form.schema.field(name) for name in known), *(arrow.schema.field(name) for name in others)]
    metadata = form.schema.metadata if known == form.schema.names and not others else None
    return recast(arrow, pa.schema(fields, metadata), form.dictionaries)


def _prepared(arrow: pa.Table, kind: Kind, form: FileForm | None) -> pa.Table:
    """The table in the form's order and types; without dictionaries where the file is text."""
    arranged = arrow if form is None else _arranged(arrow, form)
    if kind in ("parquet", "feather"):
        return arranged
    return pa.table([plain_values(column) for column in arranged.columns], names=arranged.column_names)


@contextmanager
def _writing(path: Path, kind: Kind, schema: pa.Schema, shape: FileForm | None) -> Iterator[Write]:
    """What writes tables of that schema to the file, which is there when all went well at the end."""
    match kind:
        case "parquet":
            with whole_or_nothing(path) as stream, arrow_file.writing_parquet(stream, schema) as write:
                yield write
        case "feather":
            with whole_or_nothing(path) as stream, arrow_file.writing_feather(stream, schema) as write:
                yield write
        case "jsonl":
            looks = _looks(path, schema, shape)
            with whole_or_nothing(path) as stream, jsonl_file.writing(stream, looks) as write:
                yield write
        case "csv":
            looks = _looks(path, schema, shape)
            dialect = Dialect("\t" if ".tsv" in path.name.lower() else ",") if shape is None else shape.dialect
            try:
                with whole_or_nothing(path) as stream, csv_file.writing(stream, dialect, looks) as write:
                    yield write
            except UnicodeEncodeError:
                raise usage_error(
                    "unwritable-file",
                    f"{path} cannot be written: a text has signs {dialect.encoding} does not have",
                    "save the table you brought as UTF-8 first, or write a .parquet file",
                ) from None


def _looks(path: Path, schema: pa.Schema, shape: FileForm | None) -> dict[str, TextFormat]:
    kept = {} if shape is None else shape.looks
    return {column.name: kept.get(column.name) or _look(path, column) for column in schema}


def _look(path: Path, column: pa.Field) -> TextFormat:
    look = format_of(column.type)
    if look is None:
        raise usage_error(
            "unwritable-file",
            f"{path} cannot be written: the column `{column.name}` is of type {column.type}",
            f"drop `{column.name}`, or write a .parquet file",
        )
    return look

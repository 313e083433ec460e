"""Parquet and Feather (Arrow) files in blocks of columns, and columns as such files. Types come with the file.

The unnamed index of a pandas frame, which pandas stores as a column, is not data and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pyarrow import ipc
from pyarrow import parquet as pq

from cuts.data.exchange.readable import check_names, check_type, other_columns
from cuts.data.exchange.recast import dictionaries_of, joined, recoded
from cuts.data.exchange.streams import ROWS, Write, damaged, kind_of, reading

ArrowKind = Literal["parquet", "feather"]
GROUP = 32 << 20  # bytes in memory from which rows are written as a row group


def find_schema(path: Path, kind: ArrowKind) -> pa.Schema:
    """The names and types of the columns, without a stored index; `CutsError` if a table cannot have them."""
    with _opened(path, kind) as file:
        schema = _without_index(file.schema_arrow if kind == "parquet" else file.schema)
    check_names(schema.names, str(path))
    for field in schema:
        check_type(field.name, field.type, str(path))
    return schema


def read_blocks(path: Path, kind: ArrowKind, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of the schema's columns, in flat memory as far as the file's own blocks allow."""
    if not set(schema.names) <= set(find_schema(path, kind).names):
        raise other_columns(path)
    with _opened(path, kind) as file:
        for block in file.iter_batches(batch_size=ROWS) if kind == "parquet" else _stored(file):
            block.validate(full=True)  # computing with damaged buffers would end the process
            chosen = block.select(schema.names)
            yield from (chosen.slice(start, ROWS) for start in range(0, chosen.num_rows, ROWS))


@contextmanager
def writing_parquet(stream: Any, schema: pa.Schema) -> Iterator[Write]:
    """What writes rows as Parquet; small tables are gathered to row groups that are worth reading."""
    held: list[pa.Table] = []
    with pq.ParquetWriter(stream, schema, compression="zstd") as writer:

        def flush() -> None:
            writer.write_table(pa.concat_tables(held))
            held.clear()

        def write(table: pa.Table) -> None:
            held.append(table)
            if sum(each.nbytes for each in held) >= GROUP:
                flush()

        yield write
        if held:
            flush()


@contextmanager
def writing_feather(stream: Any, schema: pa.Schema) -> Iterator[Write]:
    """What writes rows as Feather version 2, which is Arrow's file format."""
    known: dict[str, pa.Array] = {}
    options = ipc.IpcWriteOptions(compression="lz4", emit_dictionary_deltas=True)
    with ipc.new_file(stream, schema, options=options) as writer:

        def write(table: pa.Table) -> None:
            # Such a file can make a dictionary longer, but not replace it.
            for name, found in dictionaries_of(table).items():
                known[name] = joined(known[name], found) if name in known else found
            writer.write_table(recoded(table, known), max_chunksize=ROWS)

        yield write


@contextmanager
def _opened(path: Path, kind: ArrowKind) -> Iterator[Any]:
    """The file, open; whatever Arrow finds wrong with it is a `CutsError`."""
    try:
        with _random_access(path) as source:
            yield pq.ParquetFile(source, pre_buffer=False) if kind == "parquet" else _ipc(source)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise damaged(path, error) from None


@contextmanager
def _random_access(path: Path) -> Iterator[Any]:
    _, compression = kind_of(path) or (None, None)
    if compression is None:
        with pa.OSFile(str(path)) as file:
            yield file
    else:
        with reading(path) as stream:
            yield pa.BufferReader(stream.read())


def _ipc(source: Any) -> Any:
    """A reader of Arrow's file format, or of its stream format, which is named .arrow too."""
    is_file = source.read(6) == b"ARROW1"
    source.seek(0)
    return ipc.open_file(source) if is_file else ipc.open_stream(source)


def _stored(file: Any) -> Iterator[pa.RecordBatch]:
    if isinstance(file, ipc.RecordBatchFileReader):
        return (file.get_batch(number) for number in range(file.num_record_batches))
    return iter(file)


def _without_index(schema: pa.Schema) -> pa.Schema:
    kept = [field for field in schema if not re.fullmatch(r"__index_level_\d+__", field.name)]
    if len(kept) == len(schema):
        return schema
    metadata = {key: value for key, value in (schema.metadata or {}).items() if key != b"pandas"}  # it names the index
    return pa.schema(kept, metadata or None)

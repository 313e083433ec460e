"""Parquet and Feather (Arrow) files, read in blocks and written. The types of columns come with the file.

The unnamed index of a pandas frame, which pandas stores as a column, is not data and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pyarrow import ipc
from pyarrow import parquet as pq

from cuts.data.exchange.readable import check_names, check_type
from cuts.data.exchange.recast import dictionaries_of, joined, recoded
from cuts.data.exchange.streams import ROWS, Write, damaged, reading_anywhere

ArrowKind = Literal["parquet", "feather"]
MAX_CODED_BYTES = 4  # per value: up to this size, texts are read as dictionaries
ROW_GROUP_BYTES = 32 << 20  # size in memory at which pending rows are written as a row group


@dataclass(frozen=True, slots=True, eq=False)
class ArrowFile:
    """An open file: the names and types of its columns, without a stored index, and its rows."""

    schema: pa.Schema
    _source: Any
    _reader: Any

    def with_coded_texts(self, names: Collection[str]) -> ArrowFile:
        """The same file, in which those of these columns that Parquet stores as dictionaries of texts are read as such.

        A text is then decoded once per row group, not once per row. `schema` still has the types without dictionaries.
        """
        if not isinstance(self._reader, pq.ParquetFile):
            return self
        metadata = self._reader.metadata
        repetitive = _repetitive(metadata)
        texts = [field.name for field in self.schema if field.name in names and pa.types.is_string(field.type)]
        coded = [name for name in texts if name in repetitive]
        return ArrowFile(self.schema, self._source, _parquet(self._source, metadata, coded))

    def blocks(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        """The rows of these columns in blocks; memory is limited only by the file's own blocks."""
        is_parquet = isinstance(self._reader, pq.ParquetFile)
        batches = self._reader.iter_batches(batch_size=ROWS, columns=names) if is_parquet else _stored(self._reader)
        for block in batches:
            block.validate(full=True)  # computing with damaged buffers would end the process
            chosen = block.select(names)
            yield from (chosen.slice(start, ROWS) for start in range(0, chosen.num_rows, ROWS))


@contextmanager
def reading_arrow(path: Path, kind: ArrowKind) -> Iterator[ArrowFile]:
    """The file, opened once; raises `CutsError` if it is damaged or has columns that a table cannot have."""
    try:
        with reading_anywhere(path) as source:
            reader = _parquet(source) if kind == "parquet" else _ipc(source)
            schema = _without_index(reader.schema_arrow if kind == "parquet" else reader.schema)
            check_names(schema.names, str(path))
            for field in schema:
                check_type(field.name, field.type, str(path))
            yield ArrowFile(schema, source, reader)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise damaged(path, error) from None


@contextmanager
def writing_parquet(stream: Any, schema: pa.Schema) -> Iterator[Write]:
    """A function that writes rows as Parquet; small tables are collected into row groups of a useful size."""
    pending: list[pa.Table] = []
    with pq.ParquetWriter(stream, schema, compression="zstd") as writer:

        def flush() -> None:
            writer.write_table(pa.concat_tables(pending))
            pending.clear()

        def write(table: pa.Table) -> None:
            pending.append(table)
            if sum(part.nbytes for part in pending) >= ROW_GROUP_BYTES:
                flush()

        yield write
        if pending:
            flush()


@contextmanager
def writing_feather(stream: Any, schema: pa.Schema) -> Iterator[Write]:
    """A function that writes rows as Feather version 2, which is Arrow's file format."""
    dictionaries: dict[str, pa.Array] = {}
    options = ipc.IpcWriteOptions(compression="lz4", emit_dictionary_deltas=True)
    with ipc.new_file(stream, schema, options=options) as writer:

        def write(table: pa.Table) -> None:
            # In this format a dictionary can be extended, but not replaced.
            for name, dictionary in dictionaries_of(table).items():
                dictionaries[name] = joined(dictionaries[name], dictionary) if name in dictionaries else dictionary
            writer.write_table(recoded(table, dictionaries), max_chunksize=ROWS)

        yield write


def _parquet(source: Any, metadata: Any = None, coded: Sequence[str] = ()) -> Any:
    # Reading ahead would keep whole row groups in memory.
    return pq.ParquetFile(source, metadata=metadata, read_dictionary=list(coded) or None, pre_buffer=False)


def _repetitive(metadata: Any) -> set[str]:
    """The columns that have a dictionary in the first row group, of much fewer values than there are rows."""
    if metadata.num_row_groups == 0:
        return set()
    first = metadata.row_group(0)
    columns = [first.column(place) for place in range(first.num_columns)]
    return {
        column.path_in_schema
        for column in columns
        if column.has_dictionary_page and column.total_uncompressed_size <= MAX_CODED_BYTES * column.num_values
    }


def _ipc(source: Any) -> Any:
    """A reader of Arrow's file format, or of its stream format, which also has the extension .arrow."""
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

"""Private rows of Parquet and Feather files, in the types of the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc
from pyarrow import parquet as pq

from cuts.data.exchange.streams import ROWS, damaged, reading
from cuts.data.table import Table
from cuts.privacy.reading.columns import check_header, sliced, wanted_columns

_BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}


def arrow_blocks(path: Path, kind: str, names: list[str]) -> Iterator[Table]:
    """The columns `names` of all rows; a `CutsError` if the file is damaged."""
    with _opened(path, kind) as (header, batches):
        check_header(header, names, str(path))
        for batch in batches:
            table = wanted_columns(pa.Table.from_batches([batch]), names)
            for chunk in (chunk for column in table.columns for chunk in column.chunks):
                _check_buffers(chunk)
            yield from sliced(table)


@contextmanager
def _opened(path: Path, kind: str) -> Iterator[tuple[list[str], Iterator[pa.RecordBatch]]]:
    """The names of the columns, and the rows; whatever Arrow finds wrong with the file becomes a `CutsError`."""
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
    """Raise if the file is damaged, because computing with it could end the process; cells are not interpreted."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        _check_buffers(column.storage)
    elif pa.types.is_dictionary(kind):
        _check_buffers(column.dictionary)
        ends = pc.min_max(column.indices.cast(pa.int64(), safe=False)).as_py()
        if ends["max"] is not None and not 0 <= ends["min"] <= ends["max"] < len(column.dictionary):
            raise pa.ArrowInvalid("an index without a value")
    elif pa.types.is_temporal(kind) or pa.types.is_decimal(kind):
        column.validate()  # a full validation would look at the values
    else:
        column.cast(_BYTES.get(kind, kind)).validate(full=True)

"""Messages between a process and its workers, over pipes: a JSON object, and bytes that need not be copied into it.

A worker is a program of its own (`model/worker.py`) and reads no code from its pipe, unlike one that unpickles.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import ipc

from cuts.data.exchange.files import FileForm

_LENGTHS = struct.Struct("<QQ")  # of the JSON text and of the bytes


def send(stream: BinaryIO, data: Mapping[str, Any], content: Any = b"") -> None:
    """Write a message."""
    text = json.dumps(data).encode()
    stream.write(_LENGTHS.pack(len(text), len(content)))
    stream.write(text)
    stream.write(content)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[dict[str, Any], bytes]:
    """Read a message; EOFError if the other side is gone."""
    text, content = _LENGTHS.unpack(_exactly(stream, _LENGTHS.size))
    return json.loads(_exactly(stream, text)), _exactly(stream, content)


def _exactly(stream: BinaryIO, count: int) -> bytes:
    found = stream.read(count)
    if len(found) < count:
        raise EOFError
    return found


def pack_table(table: pa.Table) -> pa.Buffer:
    """The rows of a table."""
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def unpack_table(content: bytes) -> pa.Table:
    """The rows in a message; they are not copied."""
    return ipc.open_stream(content).read_all()


def pack_form(form: FileForm | None) -> Any:
    """What the types of a Parquet file depend on: a table of these types without rows."""
    if form is None:
        return b""
    columns = [
        pa.DictionaryArray.from_arrays(pa.array([], field.type.index_type), form.dictionaries[field.name])
        if field.name in form.dictionaries
        else pa.array([], field.type)
        for field in form.schema
    ]
    return pack_table(pa.table(columns, schema=form.schema))


def unpack_form(content: bytes) -> FileForm | None:
    """The types in a message."""
    if not content:
        return None
    table = unpack_table(content)
    dictionaries = {
        field.name: column.chunk(0).dictionary
        for field, column in zip(table.schema, table.columns, strict=True)
        if pa.types.is_dictionary(field.type) and column.num_chunks
    }
    return FileForm("parquet", None, table.schema, dictionaries)

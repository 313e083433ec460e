"""The bytes of a table file: its kind by its extension, decompressed reading, atomic writing."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from cuts.data.exchange.readable import unreadable
from cuts.text.diagnostic import CutsError, usage_error
from cuts.text.files import replacing

Kind = Literal["csv", "parquet", "feather", "jsonl"]
Compression = Literal["gz", "zst"]
Write: TypeAlias = Callable[[pa.Table], None]  # writes further rows to an open file

ROWS = 65_536  # per block, at most
EXTENSIONS_HELP = "tables are .csv, .tsv, .parquet, .feather, .arrow or .jsonl files, also with .gz or .zst at the end"
_KINDS: dict[str, Kind] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_COMPRESSIONS: dict[str, Compression] = {".gz": "gz", ".zst": "zst"}
_CODECS = {None: None, "gz": "gzip", "zst": "zstd"}


def kind_of(path: Path) -> tuple[Kind, Compression | None] | None:
    """The kind and compression according to the file extension, or None if it is unknown.

    >>> kind_of(Path("visits.TSV.gz")), kind_of(Path("visits.xlsx"))
    (('csv', 'gz'), None)
    """
    name = path.name.lower()
    compression = next((method for ending, method in _COMPRESSIONS.items() if name.endswith(ending)), None)
    stem = name if compression is None else name.rpartition(".")[0]
    kind = next((format for ending, format in _KINDS.items() if stem.endswith(ending)), None)
    return None if kind is None else (kind, compression)


def check_present(path: Path) -> tuple[Kind, Compression | None]:
    """The kind and compression of a file; raises `CutsError` if it does not exist or is of an unknown kind."""
    if os.path.isdir(path):  # these are False for impossible names, where `Path` raises
        raise unreadable(f"{path} is a directory", "name the table file in it")
    if not os.path.exists(path):
        raise unreadable(f"{path} does not exist", "give the path of a table")
    file_kind = kind_of(path)
    if file_kind is None:
        raise unreadable(f"{path} has an unknown file extension", _database_help(path) or EXTENSIONS_HELP)
    return file_kind


def _database_help(path: Path) -> str | None:
    """How to name a table of a file that looks like a database of DuckDB."""
    if path.suffix.lower() not in (".duckdb", ".db", ".ddb"):
        return None
    return f"name a table of a DuckDB database by `duckdb:{path}?table=NAME`"


def check_filled(path: Path) -> tuple[Kind, Compression | None]:
    """The same; an empty file raises `CutsError` as well."""
    file_kind = check_present(path)
    if path.stat().st_size == 0:
        raise unreadable(f"{path} is empty", "give a table with a header and rows")
    return file_kind


@contextmanager
def reading(path: Path) -> Iterator[Any]:
    """The file's bytes as an Arrow stream, decompressed; errors of the system or of Arrow become `CutsError`."""
    _, compression = kind_of(path) or (None, None)
    try:
        with pa.input_stream(str(path), compression=_CODECS[compression]) as stream:
            yield stream
    except OSError as error:
        raise damaged(path, error) from None


@contextmanager
def reading_anywhere(path: Path) -> Iterator[Any]:
    """The file's bytes as an Arrow file that can be read in any order; a compressed file is decompressed in memory."""
    _, compression = kind_of(path) or (None, None)
    if compression is None:
        with pa.OSFile(str(path)) as file:
            yield file
    else:
        with reading(path) as stream:
            yield pa.BufferReader(stream.read())


def damaged(path: Path, error: Exception) -> CutsError:
    """The error of a file that cannot be read, is not of the kind its extension says, or is truncated."""
    if isinstance(error, OSError) and error.errno:
        reason = os.strerror(error.errno)
        return unreadable(f"{path} cannot be read: {reason}", "check the permissions of the file and the disk")
    kind, compression = kind_of(path) or (None, None)
    names = {"gz": "gzip", "zst": "Zstandard"}
    what = "table" if kind is None else names.get(compression or "", kind.capitalize())
    return unreadable(f"{path} is not a {what} file, or it is damaged", "create or copy the file again")


@contextmanager
def whole_or_nothing(path: Path) -> Iterator[Any]:
    """A stream, compressed as the extension says; the file appears at the end, or not at all if anything fails."""
    _, compression = kind_of(path) or (None, None)
    with replacing(path) as temporary, _compressed(temporary, compression) as stream:
        yield stream


def check_writable(path: Path) -> tuple[Kind, Compression | None]:
    """The kind and compression of a new file of that name; raises `CutsError` for an unknown extension."""
    file_kind = kind_of(path)
    if file_kind is None:
        raise usage_error("unwritable-file", f"{path} has an unknown file extension", EXTENSIONS_HELP)
    return file_kind


def reason(error: Exception) -> str:
    """Arrow's message in one short line, without values that it quotes.

    >>> reason(ValueError("Failed to parse: 'Jane Doe' as int64"))
    'Failed to parse'
    """
    return re.split(r"[:'\"\n]", str(error))[0].strip()[:200]


def _compressed(path: Path, compression: Compression | None) -> Any:
    if compression == "gz":  # Arrow would use the maximum compression level, which takes three times as long
        return gzip.GzipFile(path, "wb", compresslevel=6)
    return pa.output_stream(str(path), compression=_CODECS[compression])

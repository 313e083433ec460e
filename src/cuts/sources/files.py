"""Files on this machine: CSV, Parquet, Feather and JSON lines, also compressed.

A location is one file, a pattern such as `parts/*.parquet`, or a folder of part files. The files of a pattern or a
folder are one table: they are of one kind, have the same columns, and are read in the order of their names. Files whose
names begin with `_` or `.` are not data.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path

from cuts.count.rows import FileRows, FileSetRows, rows_in
from cuts.data.exchange.csv_dialect import CsvOptions
from cuts.data.exchange.file_sets import scan_set
from cuts.data.exchange.readable import unreadable
from cuts.data.exchange.streams import EXTENSIONS_HELP, kind_of
from cuts.privacy.reading import PrivateFile, PrivateFiles
from cuts.sources.registry import SourceKind, add_source

_SCHEMES_HELP = (
    "give a file, a pattern, a folder, or a location that starts with `duckdb:`, `postgresql://` or `spark:`"
)
_NOT_DATA = ("_", ".")  # how the names of files begin that engines write beside parts


@dataclass(frozen=True, slots=True)
class FileSource:
    """The rows of a file."""

    path: Path
    csv: CsvOptions = CsvOptions()

    @property
    def name(self) -> str:
        """The file's name without its endings."""
        return self.path.name.split(".")[0]

    @property
    def schema(self) -> None:
        """None: a file comes without a schema."""
        return None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The file itself."""
        return (self.path,)

    def rows(self) -> FileRows:
        """The rows; a text file is scanned here for the types of its columns."""
        return rows_in(self.path, csv=self.csv)

    def private_rows(self) -> PrivateFile:
        """The rows as the trusted core reads them, each line by itself."""
        return PrivateFile(self.path, self.csv.delimiter, self.csv.quote, self.csv.encoding)


@dataclass(frozen=True, slots=True)
class PartsSource:
    """The rows of all files that match a pattern, or of all files in a folder."""

    path: Path
    csv: CsvOptions = CsvOptions()

    @property
    def name(self) -> str:
        """The folder; or what the names of all files begin with, as `sales` of `sales-*.csv`."""
        if not has_magic(str(self.path)):
            return self.path.name.split(".")[0] or "table"
        start = self.path.name.split("*")[0].split("?")[0].split("[")[0].rstrip("-_. ")
        folders = [part for part in self.path.parts[:-1] if not has_magic(part) and part.strip("./\\")]
        return start or (folders[-1] if folders else "table")

    @property
    def schema(self) -> None:
        """None: files come without a schema."""
        return None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files in the order of their names; raises `CutsError` if there are none."""
        return find_parts(self.path)

    def rows(self) -> FileRows | FileSetRows:
        """The rows of all files; they are opened here for the types of their columns."""
        paths = self.paths
        return rows_in(paths[0], csv=self.csv) if len(paths) == 1 else FileSetRows(scan_set(paths, self.csv))

    def private_rows(self) -> PrivateFiles:
        """The rows as the trusted core reads them, file by file."""
        files = (FileSource(path, self.csv).private_rows() for path in self.paths)
        return PrivateFiles(tuple(files))


def find_parts(path: Path) -> tuple[Path, ...]:
    """The table files that a pattern matches or that are in a folder, in the order of their names.

    Raises `CutsError` if there are none, or if a file beside them is not a table.
    """
    found = _files(path)
    if not found:
        what = "contains no table files" if os.path.isdir(path) else "matches no files"
        folders = os.path.isdir(path) and any(each.is_dir() for each in path.iterdir())
        raise unreadable(
            f"{path} {what}", f"give a pattern such as `{path}/**/*.parquet`" if folders else EXTENSIONS_HELP
        )
    for file in found:
        if kind_of(file) is None:
            raise unreadable(
                f"{file} is not a table: its file extension is unknown",
                f"move it elsewhere, or name the files by a pattern such as `{found[0].parent}/*.parquet`",
            )
    return tuple(file for file in found if not _is_empty_text(file)) or found


def has_files(path: Path) -> bool:
    """Whether something can be read at a path: a file, a pattern that matches one, or a folder with a table in it."""
    return os.path.isfile(path) or (_is_parts(path) and any(kind_of(file) is not None for file in _files(path)))


def _files(path: Path) -> tuple[Path, ...]:
    """The files of a pattern or a folder that may be data, in the order of their names."""
    if os.path.isdir(path):
        found = [each for each in path.iterdir() if each.is_file()]
    else:
        found = [each for each in map(Path, glob(str(path), recursive=True)) if each.is_file()]
    hidden = () if path.name.startswith(_NOT_DATA) and not os.path.isdir(path) else _NOT_DATA
    return tuple(sorted(each for each in found if not (hidden and each.name.startswith(hidden))))


def _is_empty_text(path: Path) -> bool:
    """Whether a file is a part without rows, as jobs write them; an empty Parquet file is damaged instead."""
    kind, _ = kind_of(path) or (None, None)
    return kind in ("csv", "jsonl") and path.stat().st_size == 0


def _is_parts(data: object) -> bool:
    """Whether a location is a folder or a pattern; a file of that name wins."""
    if not isinstance(data, str | Path):
        return False
    path = Path(data)
    return os.path.isdir(path) or (has_magic(str(data)) and not os.path.exists(path))  # False for impossible names


def _open(data: str | Path, csv: CsvOptions) -> FileSource | PartsSource:
    scheme = re.match(r"([a-z][a-z0-9+.-]*)://", str(data), re.IGNORECASE) if isinstance(data, str) else None
    if scheme is not None:
        raise unreadable(f"`{scheme[1]}://` is not a kind of location that can be read", _SCHEMES_HELP)
    return PartsSource(Path(data), csv) if _is_parts(data) else FileSource(Path(data), csv)


def _is_path(data: object) -> bool:
    return isinstance(data, str | Path)


add_source(SourceKind("file", _is_path, _open, is_fallback=True))

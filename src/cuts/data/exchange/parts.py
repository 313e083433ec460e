"""A table in a folder of Parquet files: parts that are written in any order, and a manifest that says of what.

The manifest is written first and states what determines the rows; it is completed when all parts are there. A part gets
its name when it is whole. So an interrupted command continues where it stopped, and a folder never mixes two tables.
Readers of Parquet folders skip the manifest, whose name starts with an underscore.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from filelock import FileLock, Timeout
from pyarrow import parquet as pq

from cuts.data.exchange.streams import kind_of
from cuts.text.diagnostic import CutsError, listed, usage_error
from cuts.text.files import unwritable, write_text

FORMAT, VERSION = "cuts-parts", 1
MANIFEST = "_manifest.json"
_LOCK = ".lock"
_MAX_MANIFEST = 1 << 20  # bytes
_UNFINISHED = re.compile(r"\.(part-\d+\.parquet|_manifest\.json)\.[0-9a-f]{16}\.part")  # names of `text/files.py`


@dataclass(frozen=True, slots=True)
class PartsFolder:
    """A folder that a table is written to as Parquet parts."""

    path: Path

    def __str__(self) -> str:
        return f"{self.path}/"

    def part(self, number: int, count: int) -> Path:
        """The file of a part; names sort in the order of the rows.

        >>> PartsFolder(Path("out")).part(7, 20).name
        'part-00007.parquet'
        """
        return self.path / f"part-{number:0{max(5, len(str(count - 1)))}}.parquet"


def output_at(place: str | Path) -> Path | PartsFolder:
    """Where a table is written: a folder if the name ends in a slash or is one without a table's ending, else a file.

    >>> output_at("synthetic/"), output_at("synthetic.csv")
    (PartsFolder(path=PosixPath('synthetic')), PosixPath('synthetic.csv'))
    """
    path = Path(place)
    is_folder = str(place).endswith(("/", os.sep)) or (path.is_dir() and kind_of(path) is None)
    return PartsFolder(path) if is_folder else path


@contextmanager
def open_parts(folder: PartsFolder, identity: Mapping[str, Any], rows: Mapping[str, int]) -> Iterator[frozenset[str]]:
    """The names of the parts that are finished, in a folder that no other command writes to meanwhile.

    `identity` says what the rows depend on, in words; `rows` has the rows of every part, by name. Raises `CutsError` if
    the folder holds anything else. When the block ends without an error, all parts must be there, and the manifest says
    so.
    """
    path = folder.path
    try:
        path.mkdir(exist_ok=True)
        lock = FileLock(path / _LOCK, timeout=0)
        with lock:
            try:
                finished = _finished(folder, identity, rows)
                if finished != rows.keys():
                    _write_manifest(path, identity, complete=False)
                yield finished
                _write_manifest(path, identity, complete=True)
            finally:
                _remove_unfinished(path)
                (path / _LOCK).unlink(missing_ok=True)
    except Timeout:
        raise usage_error(
            "other-draw",
            f"another command is writing to {folder}",
            "wait until it has finished, or name another folder",
        ) from None
    except OSError as error:
        raise unwritable(path, error) from None


def check_parts(folder: PartsFolder) -> None:
    """Raise `CutsError` if a table cannot be written to the folder, as far as this is known before its rows are."""
    if folder.path.exists() and not folder.path.is_dir():
        raise usage_error("unwritable-file", f"{folder.path} is a file", "name a folder, or leave the slash out")
    if folder.path.is_dir() and not (folder.path / MANIFEST).exists():
        _check_known(folder, frozenset())


def is_complete(folder: PartsFolder) -> bool:
    """Whether the folder holds a whole table."""
    return _read_manifest(folder).get("complete") is True


def _finished(folder: PartsFolder, identity: Mapping[str, Any], rows: Mapping[str, int]) -> frozenset[str]:
    """The parts that are whole; raises if the folder holds another table or other files."""
    if not (folder.path / MANIFEST).exists():
        _check_known(folder, frozenset())
        return frozenset()
    found = _read_manifest(folder)
    differing = [
        _difference(name, found.get(name), value)
        for name, value in identity.items()
        if found.get(name) != value and not (name == "rows_per_part" and found.get("rows") != identity.get("rows"))
    ]
    if differing:
        raise usage_error(
            "other-draw",
            f"{folder} holds a table of another draw ({'; '.join(differing)})",
            "repeat the command of that draw to continue it, or name another folder",
        )
    _check_known(folder, frozenset(rows))
    finished = frozenset(name for name, count in rows.items() if _rows_in(folder.path / name) == count)
    for name in rows.keys() - finished:
        (folder.path / name).unlink(missing_ok=True)  # damaged: it must not count as a part
    return finished


def _check_known(folder: PartsFolder, names: frozenset[str]) -> None:
    """Raise if there are files that are no parts of this table. Hidden files do not count: readers skip them."""
    others = sorted(
        entry.name
        for entry in folder.path.iterdir()
        if entry.name not in names and entry.name != MANIFEST and not entry.name.startswith(".")
    )
    if others:
        raise usage_error(
            "other-draw",
            f"{folder} has files that are not parts of this table: {listed(others, limit=3)}",
            "name a new or empty folder, or move these files elsewhere",
        )


def _rows_in(part: Path) -> int | None:
    """The rows that a part says it has; None if it is not there, or not whole."""
    try:
        return int(pq.read_metadata(part).num_rows)
    except (OSError, pa.ArrowException):
        return None


def _read_manifest(folder: PartsFolder) -> dict[str, Any]:
    path = folder.path / MANIFEST
    try:
        if path.stat().st_size > _MAX_MANIFEST:
            raise ValueError
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict) or found.get("format") != FORMAT or found.get("version") != VERSION:
            raise ValueError
        return found
    except (OSError, ValueError, RecursionError):
        raise other_manifest(folder) from None


def _write_manifest(path: Path, identity: Mapping[str, Any], *, complete: bool) -> None:
    data = {"format": FORMAT, "version": VERSION, **identity, "complete": complete}
    write_text(path / MANIFEST, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def _remove_unfinished(path: Path) -> None:
    for entry in path.iterdir():
        if _UNFINISHED.fullmatch(entry.name):
            entry.unlink(missing_ok=True)


def _difference(name: str, there: Any, now: Any) -> str:
    """In what two draws differ; a fingerprint tells nothing more than that it is another one."""
    words = name.replace("_", " ")
    if any(re.fullmatch("[0-9a-f]{64}", str(value)) for value in (there, now)):
        return f"other {words}" if words.endswith("s") else f"another {words}"
    return f"{words}: {_shown(there)} there, {_shown(now)} now"


def _shown(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return "none" if value is None else str(value)[:60]


def other_manifest(folder: PartsFolder) -> CutsError:
    """A manifest that this version did not write."""
    return usage_error(
        "other-draw",
        f"{folder.path / MANIFEST} is not a manifest of `cuts`, is damaged, or was written by a newer version",
        "name a new or empty folder",
    )

"""The lines of a ledger file: a hash chain that one process at a time reads and extends.

Each line is a JSON object with the hash of the line before it: `begin` once, `open` when a release begins, `charge`
before each read. `<ledger>.head`, beside the real path of the ledger, holds the number of lines and the hash of the
last one, so lines that are cut off at the end, or a file that is gone, are noticed too. `<ledger>.lock` beside it is
the lock; two paths to one ledger, such as a symbolic link, share both.

This detects accidents: an edited line, a restored backup, a file cut short. It cannot stop somebody who may write the
files: they can compute hashes as well as we can.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TypeAlias

from filelock import FileLock, Timeout
from msgspec import Meta, Struct

from cuts.privacy.release_json import from_data
from cuts.privacy.units import Relation
from cuts.text.diagnostic import CutsError, usage_error
from cuts.text.files import unwritable, write_text


class Begin(Struct, frozen=True, tag_field="type", tag="begin"):
    """The first line: the salt with which names of data are hashed."""

    prev: str  # hash of the line before, as in all lines
    salt: str


class Opening(Struct, frozen=True, tag_field="type", tag="open"):
    """The begin of a release: the data, and what is promised."""

    prev: str
    release: str
    data: str
    delta: Annotated[float, Meta(gt=0, lt=1)]
    relation: Relation
    max_rows_per_person: Annotated[int, Meta(ge=1)]
    person: str | None


class Charge(Struct, frozen=True, tag_field="type", tag="charge"):
    """One read of a release."""

    prev: str
    release: str
    rho: Fraction
    delta: Annotated[float, Meta(ge=0, lt=1)] = 0.0

    def __post_init__(self) -> None:
        if self.rho <= 0:
            raise ValueError("a charge is positive")


Line: TypeAlias = Begin | Opening | Charge


@dataclass(frozen=True, slots=True)
class Position:
    """Where a line begins: how many bytes and lines are before it, and the hash of the last of them."""

    offset: int = 0
    lines: int = 0
    prev: str = ""


START = Position()


class Head(Struct, frozen=True):
    """What `<ledger>.head` holds."""

    lines: Annotated[int, Meta(ge=0)]
    hash: str


class Chain:
    """The lines of a ledger from some position on, while its lock is held."""

    def __init__(self, path: Path, lines: Sequence[Line], end: Position) -> None:
        self._path, self._end = path, end
        self.lines = lines

    def append(self, line: Mapping[str, Any]) -> Position:
        """Write a line, to the disk; the position where it begins."""
        chained = {**line, "prev": self._end.prev}
        text = json.dumps(chained).encode() + b"\n"
        with self._path.open("ab+") as stream:
            gap = b"" if _at_line_start(stream) else b"\n"
            stream.write(gap + text)
            stream.flush()
            os.fsync(stream.fileno())
        begins = Position(self._end.offset + len(gap), self._end.lines, self._end.prev)
        self._end = Position(begins.offset + len(text), begins.lines + 1, _hash(chained))
        write_text(head_path(self._path), json.dumps({"lines": self._end.lines, "hash": self._end.prev}) + "\n")
        return begins


@contextmanager
def locked(path: Path, max_wait: float, begin: Position = START) -> Iterator[Chain]:
    """The chain of a ledger file from a position on, while no other process reads or writes the file."""
    real = Path(os.path.realpath(path))
    lock = real.with_name(f"{real.name}.lock")
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock, timeout=max_wait):
            yield _read(path, begin)
    except Timeout:
        raise ledger_in_use(path, lock, max_wait) from None
    except OSError as error:
        raise unwritable(path, error) from None


def head_path(path: Path) -> Path:
    """The head file of a ledger, beside its real path."""
    real = Path(os.path.realpath(path))
    return real.with_name(f"{real.name}.head")


def _read(path: Path, begin: Position) -> Chain:
    """The lines from a position on, each holding the hash of the one before it, up to the head and maybe further."""
    text = b""
    if path.exists():
        with path.open("rb") as stream:
            stream.seek(begin.offset)
            text = stream.read()
    lines: list[Line] = []
    head, last_hash, hashes = _head(path), begin.prev, {begin.lines: begin.prev}
    for number, written in enumerate(text.removesuffix(b"\n").split(b"\n") if text else (), start=begin.lines + 1):
        try:
            data = json.loads(written)
            line: Line = from_data(data, Line)
            if line.prev != last_hash:
                raise ValueError("another line stood before this one")
        except (ValueError, RecursionError):
            raise bad_ledger(path, f"line {number} does not follow from the lines before it") from None
        lines.append(line)
        hashes[number] = last_hash = _hash(data)
    count = begin.lines + len(lines)
    if head is not None and hashes.get(head.lines) != head.hash:
        raise bad_ledger(path, f"it has {count} of the {head.lines} lines that were written, or its end was changed")
    return Chain(path, lines, Position(begin.offset + len(text), count, last_hash))


def _head(path: Path) -> Head | None:
    """What the head file says; None without one, as beside a ledger of an earlier version."""
    try:
        head: Head = from_data(json.loads(head_path(path).read_bytes()), Head)
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError):
        raise bad_ledger(path, f"{head_path(path).name} beside it was changed") from None
    return head


def _at_line_start(stream: BinaryIO) -> bool:
    if stream.seek(0, os.SEEK_END) == 0:
        return True
    stream.seek(-1, os.SEEK_END)
    return stream.read(1) == b"\n"


def _hash(line: object) -> str:
    return hashlib.sha256(json.dumps(line, sort_keys=True).encode()).hexdigest()


# --- diagnostics


def bad_ledger(path: Path, what: str) -> CutsError:
    """A ledger file that was changed, damaged or removed."""
    return usage_error(
        "bad-ledger",
        f"{path}: {what}",
        "the ledger was changed, damaged or removed; restore it from a backup, or move it away to start a new one\n"
        f"(with {head_path(path).name}, which counts its lines)",
    )


def ledger_in_use(path: Path, lock: Path, seconds: float) -> CutsError:
    """A ledger file that another process did not give back in time."""
    return usage_error(
        "bad-ledger",
        f"{path} is in use: another process held its lock for more than {seconds:g} seconds",
        f"no rows were read; wait until other runs with this ledger have ended, then try again (lock file: {lock})",
    )

"""The ledger file: all releases of private rows on this machine, so that what is spent on the same data adds up.

Each line is a JSON object with the hash of the line before it: `begin` once, `open` when a release begins, `charge`
before each read, so a crashed run counts too. Lines are only ever appended. Data goes by a name that its owner gives;
a model holds that name salted and hashed.

One process at a time reads or writes the file: it holds the lock `<ledger>.lock`, an empty file beside the real path
of the ledger, which stays there. Two paths to one ledger, such as a symbolic link, therefore share one lock.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TypeAlias

from filelock import FileLock, Timeout
from msgspec import Meta, Struct

from cuts.privacy.accountant import epsilon_of
from cuts.privacy.ledger import Event, History, ReleaseLedger
from cuts.privacy.release_json import from_data, to_data
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic, counted, usage_error
from cuts.text.files import unwritable

VARIABLE = "CUTS_LEDGER"


@dataclass(frozen=True, slots=True)
class Spent:
    """The total of all releases of one data set."""

    data: str
    releases: int
    rho: Fraction
    converted: float  # the largest delta that was left to convert rho into epsilon
    domains: float  # delta spent on discovering domains

    @property
    def delta(self) -> float:
        """The delta of all releases together."""
        return self.converted + self.domains

    @property
    def epsilon(self) -> float:
        """The epsilon of all releases together at that delta, rounded up."""
        return 0.0 if self.rho == 0 else epsilon_of(self.rho, self.converted)


@dataclass(frozen=True, slots=True)
class LedgerFile:
    """The file of all releases."""

    path: Path
    max_wait: float = 60.0  # seconds for other processes to finish with the file

    def open(self, data: str, ledger: ReleaseLedger, schema_hash: str, *, max_epsilon: float | None = None) -> Entry:
        """The entry of a new release; a `CutsError` if the data's total epsilon would exceed `max_epsilon`."""
        with self._locked() as chain:
            before = _spent(chain.entries, data)
            terms = ledger.terms
            _check_limit(before, ledger.rho, terms.delta, max_epsilon)
            salt = next((entry.salt for entry in chain.entries if isinstance(entry, _Begin)), None)
            if salt is None:
                salt = secrets.token_hex(16)
                self._append(chain, {"type": "begin", "salt": salt})
            release = secrets.token_hex(8)
            line = {
                **{"type": "open", "release": release, "data": data, "at": _now()},
                **{"epsilon": terms.epsilon, "delta": terms.delta, "relation": terms.relation},
                **{"max_rows_per_person": terms.max_rows_per_person, "person": terms.person},
                **{"rho": str(ledger.rho), "schema": schema_hash},
            }
            self._append(chain, line)
            salted = hashlib.sha256(f"{salt} {data}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
            history = History(salted, before.releases, before.rho, before.domains)
            return Entry(self, release, data, terms.delta, history, max_epsilon)

    def spent(self) -> tuple[Spent, ...]:
        """The total of each data set, in order of first releases."""
        if not self.path.exists():
            return ()
        with self._locked() as chain:
            names = dict.fromkeys(entry.data for entry in chain.entries if isinstance(entry, _Opening))
            return tuple(_spent(chain.entries, name) for name in names)

    def charge(self, entry: Entry, event: Event) -> None:
        """Append a read of a release; a `CutsError` if it would exceed the limit of the release."""
        with self._locked(whole=entry.max_epsilon is not None) as chain:
            if entry.max_epsilon is not None:  # another release may have been charged since this one began
                before = _spent(chain.entries, entry.data)
                _check_limit(before, event.cost, entry.delta, entry.max_epsilon)
            line = {**to_data(event), "kind": event.kind, "type": "charge", "release": entry.release}
            self._append(chain, line)

    def _append(self, chain: _Chain, line: Mapping[str, Any]) -> None:
        chained = {**line, "prev": chain.last_hash}
        with self.path.open("ab+") as stream:
            if stream.tell() and not _ends_line(stream):
                stream.write(b"\n")
            stream.write(json.dumps(chained).encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
        chain.last_hash = _hash(chained)

    @contextmanager
    def _locked(self, *, whole: bool = True) -> Iterator[_Chain]:
        """The chain of entries, or only its end, while no other process reads or writes the file."""
        real = self.path.resolve()
        lock = real.with_name(f"{real.name}.lock")
        try:
            real.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(lock, timeout=self.max_wait):
                yield _read(self.path) if whole else _read_end(self.path)
        except Timeout:
            raise ledger_in_use(self.path, lock, self.max_wait) from None
        except OSError as error:
            raise unwritable(self.path, error) from None


@dataclass(frozen=True, slots=True)
class Entry:
    """One release in the ledger file."""

    ledger_file: LedgerFile
    release: str
    data: str
    delta: float
    history: History
    max_epsilon: float | None = None

    def record(self, event: Event) -> None:
        """Append a charge, before the rows are read for it."""
        self.ledger_file.charge(self, event)


def default_ledger_file() -> LedgerFile:
    """The ledger file of this user: the path in CUTS_LEDGER, or one in the user's state folder."""
    named = os.environ.get(VARIABLE)
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return LedgerFile(Path(named) if named else Path(state) / "cuts" / "ledger.jsonl")


# --- lines


class _Begin(Struct, frozen=True, tag_field="type", tag="begin"):
    prev: str  # hash of the line before, as in all lines
    salt: str


class _Opening(Struct, frozen=True, tag_field="type", tag="open"):
    prev: str
    release: str
    data: str
    delta: Annotated[float, Meta(gt=0, lt=1)]


class _Charge(Struct, frozen=True, tag_field="type", tag="charge"):
    prev: str
    release: str
    rho: Fraction
    delta: Annotated[float, Meta(ge=0)] = 0.0

    def __post_init__(self) -> None:
        if self.rho <= 0:
            raise ValueError("a charge is positive")


_Line: TypeAlias = _Begin | _Opening | _Charge


@dataclass(slots=True)
class _Chain:
    """What is read of the lines, and the hash of the last one, which the next line must hold."""

    entries: Sequence[_Line] = ()
    last_hash: str = ""


def _read(path: Path) -> _Chain:
    """All lines of the file, each holding the hash of the one before it."""
    if not path.exists():
        return _Chain()
    entries: list[_Line] = []
    last_hash = ""
    for number, text in enumerate(path.read_bytes().removesuffix(b"\n").split(b"\n"), start=1):
        try:
            line = json.loads(text)
            entry: _Line = from_data(line, _Line)
            if entry.prev != last_hash:
                raise ValueError("another line stood before this one")
            last_hash = _hash(line)
        except (ValueError, RecursionError):
            raise bad_ledger(path, number) from None
        entries.append(entry)
    return _Chain(entries, last_hash)


def _read_end(path: Path) -> _Chain:
    """The end of the chain: the hash of the last line alone."""
    size, length, end = path.stat().st_size, 1 << 12, b""
    with path.open("rb") as stream:
        while b"\n" not in end.rstrip(b"\n") and len(end) < size:
            stream.seek(-min(length, size), os.SEEK_END)
            end, length = stream.read(), 2 * length
    try:
        return _Chain(last_hash=_hash(json.loads(end.rstrip(b"\n").rpartition(b"\n")[2])))
    except (ValueError, RecursionError):
        raise bad_ledger(path, path.read_bytes().count(b"\n")) from None


def _ends_line(stream: BinaryIO) -> bool:
    stream.seek(-1, os.SEEK_END)
    return stream.read(1) == b"\n"


def _hash(line: object) -> str:
    return hashlib.sha256(json.dumps(line, sort_keys=True).encode()).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


# --- totals


def _spent(entries: Sequence[_Line], data: str) -> Spent:
    openings = {entry.release: entry for entry in entries if isinstance(entry, _Opening) and entry.data == data}
    charges = [entry for entry in entries if isinstance(entry, _Charge) and entry.release in openings]
    domains = dict.fromkeys(openings, 0.0)
    for charge in charges:
        domains[charge.release] += charge.delta
    rho = sum((charge.rho for charge in charges), Fraction(0))
    releases = {charge.release for charge in charges}  # one that read nothing does not count
    converted = [openings[release].delta - domains[release] for release in releases]
    return Spent(data, len(releases), rho, max(converted, default=0.0), sum(domains.values(), 0.0))


def _check_limit(before: Spent, rho: Fraction, delta: float, max_epsilon: float | None) -> None:
    """Raise if `rho` more than was spent before would exceed a limit on epsilon."""
    total = epsilon_of(before.rho + rho, max(before.converted, delta))
    if max_epsilon is not None and total > max_epsilon:
        raise CutsError([beyond_limit(before, total, max_epsilon)])


# --- diagnostics


def beyond_limit(before: Spent, total: float, max_epsilon: float) -> Diagnostic:
    """A release that would exceed the limit of its owner."""
    spent = f"{counted(before.releases, 'release')} already spent {before.epsilon:.4g}. " if before.releases else ""
    return Diagnostic(
        "budget-spent",
        f"`{before.data}` would reach a total epsilon of {total:.4g}, above the limit of {max_epsilon:g}",
        help=f"{spent}No rows were read. Fitting from an existing release is free: pass `--from-transcript`.",
        exit_code=PRIVACY,
    )


def bad_ledger(path: Path, line: int) -> CutsError:
    """A ledger file that was changed or damaged."""
    return usage_error(
        "bad-ledger",
        f"{path}, line {line}: it does not follow from the lines before it",
        "the ledger file was changed or damaged; restore it from a backup, or move it away to start a new one",
    )


def ledger_in_use(path: Path, lock: Path, seconds: float) -> CutsError:
    """A ledger file that another process did not give back in time."""
    return usage_error(
        "bad-ledger",
        f"{path} is in use: another process held its lock for more than {seconds:g} seconds",
        f"no rows were read; wait until other runs with this ledger have ended, then try again (lock file: {lock})",
    )

"""All releases of private rows on this machine, in one file: what is spent on the same data adds up.

Every line is a JSON object with the hash of the line before it: `open` when a release begins, `charge` before each
read, so what a crashed run spent counts too. Lines are only ever added. Data goes by a name its owner gives; a model
shows it salted and hashed.
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
from typing import Any

from cuts.privacy.accountant import epsilon_of
from cuts.privacy.ledger import Event, History, ReleaseLedger, Terms
from cuts.privacy.release_json import event_data
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic, counted, usage_error
from cuts.text.files import unwritable

VARIABLE = "CUTS_LEDGER"


@dataclass(frozen=True, slots=True)
class Spent:
    """What the releases of some data came to."""

    data: str
    releases: int
    rho: Fraction
    converted: float  # the largest delta that was left to turn rho into epsilon
    domains: float  # delta spent on domains

    @property
    def delta(self) -> float:
        """The delta of all of them together."""
        return self.converted + self.domains

    @property
    def epsilon(self) -> float:
        """The epsilon of all of them together at that delta, rounded up."""
        return 0.0 if self.rho == 0 else epsilon_of(self.rho, self.converted)


@dataclass(frozen=True, slots=True)
class LedgerFile:
    """The file of all releases."""

    path: Path

    def open(self, data: str, ledger: ReleaseLedger, schema_hash: str, *, max_epsilon: float | None = None) -> Entry:
        """Begin a release; a `CutsError` if with it more would be spent on the data than `max_epsilon`."""
        with self._locked() as lines:
            before = _spent(lines, data)
            terms = ledger.terms
            _check_limit(before, ledger.rho, terms.delta, max_epsilon)
            salt = next((line["salt"] for line in lines if line["type"] == "begin"), None)
            if salt is None:
                salt = secrets.token_hex(16)
                self._add(lines, {"type": "begin", "salt": salt})
            release = secrets.token_hex(8)
            told = {"type": "open", "release": release, "data": data, "at": _now(), **_terms(terms)}
            self._add(lines, {**told, "rho": str(ledger.rho), "schema": schema_hash})
            hidden = hashlib.sha256(f"{salt} {data}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
            history = History(hidden, before.releases, before.rho, before.domains)
            return Entry(self, release, data, terms.delta, history, max_epsilon)

    def spent(self) -> tuple[Spent, ...]:
        """What was spent on each data, in order of their first release."""
        if not self.path.exists():
            return ()
        with self._locked() as lines:
            names = dict.fromkeys(line["data"] for line in lines if line["type"] == "open")
            return tuple(_spent(lines, name) for name in names)

    def charge(self, entry: Entry, event: Event) -> None:
        """Write a read of a release down; a `CutsError` if that is beyond its limit."""
        with self._locked(whole=entry.max_epsilon is not None) as lines:
            if entry.max_epsilon is not None:  # another release may have been charged since this one began
                before = _spent(lines, entry.data)
                _check_limit(before, event.cost, entry.delta, entry.max_epsilon)
            told = {**event_data(event), "kind": event.kind, "type": "charge", "release": entry.release}
            self._add(lines, told)

    def _add(self, lines: list[dict[str, Any]], told: Mapping[str, Any]) -> None:
        line = {**told, "prev": _hash(lines[-1]) if lines else ""}
        with self.path.open("ab+") as stream:
            if stream.tell() and not self._ends_line(stream):
                stream.write(b"\n")
            stream.write(json.dumps(line).encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
        lines.append(line)

    @staticmethod
    def _ends_line(stream: Any) -> bool:
        stream.seek(-1, os.SEEK_END)
        return bool(stream.read(1) == b"\n")

    @contextmanager
    def _locked(self, *, whole: bool = True) -> Iterator[list[dict[str, Any]]]:
        """The lines so far, or only the last one, while nobody else adds any."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.with_name(self.path.name + ".lock").open("w") as lock, _only_one(lock):
                yield _read(self.path) if whole else _read_last(self.path)
        except OSError as error:
            raise unwritable(self.path, error) from None


@dataclass(frozen=True, slots=True)
class Entry:
    """One release in the book."""

    book: LedgerFile
    release: str
    data: str
    delta: float
    history: History
    max_epsilon: float | None = None

    def record(self, event: Event) -> None:
        """Write a charge down, before the rows are read for it."""
        self.book.charge(self, event)


def default_ledger_file() -> LedgerFile:
    """The book of this user: where CUTS_LEDGER says, or in the folder programs keep their state in."""
    given = os.environ.get(VARIABLE)
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return LedgerFile(Path(given) if given else Path(state) / "cuts" / "ledger.jsonl")


def _spent(lines: Sequence[Mapping[str, Any]], data: str) -> Spent:
    opened = {line["release"]: line for line in lines if line["type"] == "open" and line["data"] == data}
    charges = [line for line in lines if line["type"] == "charge" and line["release"] in opened]
    domains = dict.fromkeys(opened, 0.0)
    for line in charges:
        domains[line["release"]] += line.get("delta", 0.0)
    rho = sum((Fraction(line["rho"]) for line in charges), Fraction(0))
    used = {line["release"] for line in charges}
    left = [opened[release]["delta"] - domains[release] for release in used]
    return Spent(data, len(used), rho, max(left, default=0.0), sum(domains.values()))


def _check_limit(before: Spent, rho: Fraction, delta: float, most: float | None) -> None:
    """Raise if with so much more than was spent before epsilon would be beyond a limit."""
    total = epsilon_of(before.rho + rho, max(before.converted, delta))
    if most is not None and total > most:
        raise CutsError([beyond_limit(before, total, most)])


def _terms(terms: Terms) -> dict[str, Any]:
    return {
        "epsilon": terms.epsilon,
        "delta": terms.delta,
        "relation": terms.relation,
        "max_rows_per_person": terms.rows_each,
        "person": terms.person,
    }


def _read(path: Path) -> list[dict[str, Any]]:
    """The lines of the file, each following the one before it."""
    if not path.exists():
        return []
    lines: list[dict[str, Any]] = []
    for number, text in enumerate(path.read_bytes().removesuffix(b"\n").split(b"\n"), start=1):
        try:
            line = json.loads(text)
            is_fine = line["prev"] == (_hash(lines[-1]) if lines else "") and _is_entry(line)
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
            is_fine = False
        if not is_fine:
            raise CutsError([bad_book(path, number)])
        lines.append(line)
    return lines


def _read_last(path: Path) -> list[dict[str, Any]]:
    """The last line of the file alone."""
    size, length, end = path.stat().st_size, 1 << 12, b""
    with path.open("rb") as stream:
        while b"\n" not in end.rstrip(b"\n") and len(end) < size:
            stream.seek(-min(length, size), os.SEEK_END)
            end, length = stream.read(), 2 * length
    try:
        return [json.loads(end.rstrip(b"\n").rpartition(b"\n")[2])]
    except (ValueError, RecursionError):
        raise CutsError([bad_book(path, path.read_bytes().count(b"\n"))]) from None


def _is_entry(line: Mapping[str, Any]) -> bool:
    """Whether a line has what is read of it."""
    match line["type"]:
        case "begin":
            return isinstance(line["salt"], str)
        case "open":
            return all(isinstance(line[key], str) for key in ("release", "data")) and 0 < line["delta"] < 1
        case "charge":
            return isinstance(line["release"], str) and Fraction(line["rho"]) > 0 and line.get("delta", 0.0) >= 0
        case _:
            return False


def _hash(line: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(line, sort_keys=True).encode()).hexdigest()


@contextmanager
def _only_one(lock: Any) -> Iterator[None]:
    """Wait until nobody else holds the lock; it is given back at the end."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(lock.fileno(), msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
        yield
        return
    fcntl.flock(lock, fcntl.LOCK_EX)
    yield


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def beyond_limit(before: Spent, total: float, most: float) -> Diagnostic:
    """A release that would spend more than its owner allows."""
    spent = (
        f"{counted(before.releases, 'release')} spent {before.epsilon:.4g} of it before; " if before.releases else ""
    )
    return Diagnostic(
        "budget-spent",
        f"epsilon {total:.4g} would be spent on `{before.data}`, more than {most:g}",
        help=f"{spent}this was not read. Models of a release there is cost nothing: `--from-transcript`",
        exit_code=PRIVACY,
    )


def bad_book(path: Path, line: int) -> Diagnostic:
    """A file of releases that was changed or damaged."""
    return usage_error(
        "bad-ledger",
        f"{path}, line {line}: it does not follow from the lines before it",
        "the file was changed or damaged; restore it, or move it away to begin a new one",
    ).diagnostics[0]

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
from cuts.privacy.ledger import Event, History, Ledger, Terms
from cuts.privacy.ledger_file import event_data
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic, counted, usage_error
from cuts.text.files import unwritable

VARIABLE = "CUTS_LEDGER"


@dataclass(frozen=True, slots=True)
class Spent:
    """What the releases of some data came to."""

    data: str
    releases: int
    rho: Fraction
    delta: float  # the largest promised, plus what was spent on domains

    @property
    def epsilon(self) -> float:
        """The epsilon of all of them together at that delta, rounded up."""
        return epsilon_of(self.rho, self.delta)


@dataclass(frozen=True, slots=True)
class Book:
    """The file of all releases."""

    path: Path

    def open(self, data: str, ledger: Ledger, schema_hash: str, *, most_epsilon: float | None = None) -> Entry:
        """Begin a release; a `CutsError` if with it more would be spent on the data than `most_epsilon`."""
        with self._locked() as lines:
            before = _spent(lines, data)
            terms = ledger.terms
            total = epsilon_of(before.rho + ledger.rho, terms.delta)
            if most_epsilon is not None and total > most_epsilon:
                raise CutsError([beyond_limit(data, before, total, most_epsilon)])
            salt = next((line["salt"] for line in lines if line["type"] == "begin"), None)
            if salt is None:
                salt = secrets.token_hex(16)
                self._add(lines, {"type": "begin", "salt": salt})
            release = secrets.token_hex(8)
            told = {"type": "open", "release": release, "data": data, "at": _now(), **_terms(terms)}
            self._add(lines, {**told, "rho": str(ledger.rho), "schema": schema_hash})
            hidden = hashlib.sha256(f"{salt} {data}".encode()).hexdigest()[:16]
            return Entry(self, release, History(hidden, before.releases, before.rho))

    def spent(self) -> tuple[Spent, ...]:
        """What was spent on each data, in order of their first release."""
        with self._locked() as lines:
            names = dict.fromkeys(line["data"] for line in lines if line["type"] == "open")
            return tuple(_spent(lines, name) for name in names)

    def _charge(self, release: str, event: Event) -> None:
        with self._locked() as lines:
            self._add(lines, {**event_data(event), "kind": event.kind, "type": "charge", "release": release})

    def _add(self, lines: list[dict[str, Any]], told: Mapping[str, Any]) -> None:
        line = {**told, "prev": _hash(lines[-1]) if lines else ""}
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        lines.append(line)

    @contextmanager
    def _locked(self) -> Iterator[list[dict[str, Any]]]:
        """The lines so far, while nobody else adds any."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.with_name(self.path.name + ".lock").open("w") as lock, _only_one(lock):
                yield _read(self.path)
        except OSError as error:
            raise unwritable(self.path, error) from None


@dataclass(frozen=True, slots=True)
class Entry:
    """One release in the book."""

    book: Book
    release: str
    history: History

    def record(self, event: Event) -> None:
        """Write a charge down, before the rows are read for it."""
        self.book._charge(self.release, event)


def default_book() -> Book:
    """The book of this user: where CUTS_LEDGER says, or in the folder programs keep their state in."""
    given = os.environ.get(VARIABLE)
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Book(Path(given) if given else Path(state) / "cuts" / "ledger.jsonl")


def _spent(lines: Sequence[Mapping[str, Any]], data: str) -> Spent:
    opened = {line["release"]: line for line in lines if line["type"] == "open" and line["data"] == data}
    charges = [line for line in lines if line["type"] == "charge" and line["release"] in opened]
    rho = sum((Fraction(line["rho"]) for line in charges), Fraction(0))
    delta = max((float(line["delta"]) for line in opened.values()), default=0.0)
    counted_releases = len({line["release"] for line in charges})
    return Spent(data, counted_releases, rho, delta)


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
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            line = json.loads(text)
            followed = line["prev"] == (_hash(lines[-1]) if lines else "")
        except (ValueError, LookupError, TypeError, RecursionError):
            followed = False
        if not followed:
            raise CutsError([bad_book(path, number)])
        lines.append(line)
    return lines


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


def beyond_limit(data: str, before: Spent, total: float, most: float) -> Diagnostic:
    """A release that would spend more than its owner allows."""
    return Diagnostic(
        "budget-spent",
        f"with this release epsilon {total:.4g} would be spent on `{data}`, more than {most:g}",
        help=f"{counted(before.releases, 'release')} spent {before.epsilon:.4g} before; nothing was read. "
        "Make models from a release there is with `--from-transcript`, which costs nothing",
        exit_code=PRIVACY,
    )


def bad_book(path: Path, line: int) -> Diagnostic:
    """A file of releases that was changed or damaged."""
    return usage_error(
        "bad-ledger",
        f"{path}, line {line}: it does not follow from the lines before it",
        "the file was changed or damaged; restore it, or move it away to begin a new one",
    ).diagnostics[0]

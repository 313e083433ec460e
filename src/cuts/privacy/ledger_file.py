"""The ledger file: all releases of private rows on this machine, so that what is spent on the same data adds up.

Charges are written before each read, so a crashed run counts too, and lines are only ever appended. Data goes by a name
that its owner gives; a model holds that name salted and hashed. What a line holds, and how changes of the file are
noticed, is in `ledger_chain.py`; how releases add up is in `units.py`.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

from cuts.privacy.ledger import Event, History, ReleaseLedger
from cuts.privacy.ledger_chain import Begin, Charge, Line, Opening, Position, bad_ledger, head_path, locked
from cuts.privacy.release_json import to_data
from cuts.privacy.units import Spending, Total, Unit, by_unit, total
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic, counted, usage_error

VARIABLE = "CUTS_LEDGER"
NONE: Mapping[str, Opening] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on the epsilon of all releases of the same data together, at a given delta.

    Without a delta it is the smallest that any of these releases promised.
    """

    epsilon: float
    delta: float | None = None

    def __post_init__(self) -> None:
        if not self.epsilon >= 0 or not (self.delta is None or 0 < self.delta < 1):
            raise ValueError("a limit on epsilon is at least 0, and its delta lies between 0 and 1")


@dataclass(frozen=True, slots=True)
class DataSpending:
    """What the releases of one data set cost: one spending per unit that they protect."""

    data: str
    by_unit: tuple[Spending, ...] = ()

    @property
    def releases(self) -> int:
        """How many releases there were; one that read nothing does not count."""
        return sum(spending.releases for spending in self.by_unit)

    @property
    def total(self) -> Total | None:
        """What they cost together; None if there are none, or if no bound is known for a common unit."""
        return total(self.by_unit) if self.by_unit else None


@dataclass(frozen=True, slots=True)
class LedgerFile:
    """The file of all releases."""

    path: Path
    max_wait: float = 60.0  # seconds for other processes to finish with the file

    def open(self, data: str, ledger: ReleaseLedger, schema_hash: str, *, limit: Limit | None = None) -> Entry:
        """The entry of a new release; a `CutsError` if the releases of the data could exceed the limit."""
        data = data.strip()
        if not data:
            raise usage_error("bad-setting", "the name of the data is blank", "name it with `--data-id`")
        with locked(self.path, self.max_wait) as chain:
            before = _spending(chain.lines, data)
            _check_limit(before, ledger.planned, limit)
            salt = next((line.salt for line in chain.lines if isinstance(line, Begin)), None)
            if salt is None:
                salt = secrets.token_hex(16)
                chain.append({"type": "begin", "salt": salt})
            release, terms = secrets.token_hex(8), ledger.terms
            opening = {
                **{"type": "open", "release": release, "data": data, "at": _now()},
                **{"epsilon": terms.epsilon, "delta": terms.delta, "relation": terms.relation},
                **{"max_rows_per_person": terms.max_rows_per_person, "person": terms.person},
                **{"rho": str(ledger.rho), "schema": schema_hash},
            }
            position = chain.append(opening)
            salted = hashlib.sha256(f"{salt} {data}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
            history, others = History(salted, before.by_unit), _openings(chain.lines, data)
            return Entry(self, release, data, ledger, history, position, others, limit)

    def spent(self) -> tuple[DataSpending, ...]:
        """What each data set cost, in order of first releases."""
        if not self.path.exists() and not head_path(self.path).exists():
            return ()
        with locked(self.path, self.max_wait) as chain:
            names = dict.fromkeys(line.data for line in chain.lines if isinstance(line, Opening))
            return tuple(_spending(chain.lines, name) for name in names)

    def charge(self, entry: Entry, event: Event) -> None:
        """Append a read of a release; a `CutsError` if it would exceed the limit, or if the release is not there."""
        with locked(self.path, self.max_wait, entry.position) as chain:
            opening = next(iter(chain.lines), None)
            if not isinstance(opening, Opening) or opening.release != entry.release:
                raise bad_ledger(self.path, "the release that is running is no longer in it")
            since = _spending(chain.lines, entry.data, entry.others)  # other releases may go on as well
            before = DataSpending(entry.data, by_unit((*entry.history.spent, *since.by_unit)))
            terms = entry.ledger.terms
            _check_limit(before, Spending(terms.unit, 0, event.cost, terms.delta, Fraction(event.delta)), entry.limit)
            chain.append({**to_data(event), "kind": event.kind, "type": "charge", "release": entry.release})


@dataclass(frozen=True, slots=True)
class Entry:
    """One release in the ledger file."""

    ledger_file: LedgerFile
    release: str
    data: str
    ledger: ReleaseLedger  # as it was opened
    history: History
    position: Position  # of its opening line
    others: Mapping[str, Opening]  # earlier releases of the same data, which may not have ended yet
    limit: Limit | None = None

    def record(self, event: Event) -> None:
        """Append a charge, before the rows are read for it."""
        self.ledger_file.charge(self, event)


def default_ledger_file() -> LedgerFile:
    """The ledger file of this user: the path in CUTS_LEDGER, or one in the user's state folder."""
    named = os.environ.get(VARIABLE)
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return LedgerFile(Path(named) if named else Path(state) / "cuts" / "ledger.jsonl")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


# --- totals


def _spending(lines: Iterable[Line], data: str, others: Mapping[str, Opening] = NONE) -> DataSpending:
    """What the charges among these lines cost; `others` are releases of the data that opened before these lines."""
    lines = tuple(lines)
    openings = {**others, **_openings(lines, data)}
    spent: dict[str, Spending] = {}
    for line in lines:
        if isinstance(line, Charge) and line.release in openings:
            opening = openings[line.release]
            unit = Unit(opening.max_rows_per_person, opening.person, opening.relation)
            charge = Spending(unit, 0, line.rho, opening.delta, Fraction(line.delta))
            first = Spending(unit, 1, Fraction(0), opening.delta)
            spent[line.release] = spent.get(line.release, first) + charge
    return DataSpending(data, by_unit(spent.values()))


def _openings(lines: Iterable[Line], data: str) -> dict[str, Opening]:
    return {line.release: line for line in lines if isinstance(line, Opening) and line.data == data}


def _check_limit(before: DataSpending, more: Spending, limit: Limit | None) -> None:
    """Raise if the releases of the data would exceed a limit on epsilon, or if nothing can be said about them."""
    if limit is None:
        return
    after = total(by_unit((*before.by_unit, more)))
    if after is None:
        raise CutsError([no_common_unit(before.data, [*before.by_unit, more])])
    delta = after.spent.delta if limit.delta is None else limit.delta
    if not after.epsilon_at(delta) <= limit.epsilon:
        raise CutsError([beyond_limit(before, after, limit.epsilon, delta)])


# --- diagnostics


def beyond_limit(before: DataSpending, after: Total, max_epsilon: float, delta: float) -> Diagnostic:
    """A release that would exceed the limit of its owner."""
    spent = before.total
    already = ""
    if spent is not None:
        already = f"{counted(before.releases, 'release')} already spent {spent.epsilon_at(delta):.4g}. "
    return Diagnostic(
        "budget-spent",
        f"`{before.data}` would reach a total epsilon of {after.epsilon_at(delta):.4g} at delta {delta:g} for "
        f"{after.unit_in_words}, above the limit of {max_epsilon:g}",
        help=f"{already}No rows were read. Fitting from an existing release is free: pass `--from-transcript`.",
        exit_code=PRIVACY,
    )


def no_common_unit(data: str, spendings: Sequence[Spending]) -> Diagnostic:
    """A limit on releases whose costs cannot be added up."""
    units = "; ".join(dict.fromkeys(f"{each.unit}, {each.unit.relation}" for each in spendings))
    return Diagnostic(
        "budget-spent",
        f"the releases of `{data}` cannot be added up, because they protect different units",
        help=f"the units: {units}.\nNo rows were read. Use the same `person`, `max_rows_per_person` and `relation` for "
        "all releases of this data, or leave out `--max-epsilon`.",
        exit_code=PRIVACY,
    )

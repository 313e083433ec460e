"""Releases as JSON values and back, with strict types: costs are written as fractions, so nothing is lost."""

from __future__ import annotations

import re
from dataclasses import asdict
from fractions import Fraction
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from cuts.privacy.ledger import Event, History, ReleaseLedger, Terms
from cuts.privacy.units import Relation

_FRACTION = re.compile(r"[0-9]{1,4000}(/[0-9]{1,4000})?")


class LedgerJson(Struct, frozen=True):
    """A ledger as it is written: its terms, its budget, and what was read."""

    epsilon: Annotated[float, Meta(gt=0)]
    delta: Annotated[float, Meta(gt=0, lt=1)]
    max_rows_per_person: Annotated[int, Meta(ge=1, le=2**53)]
    person: str | None
    relation: Relation
    rho: Fraction
    discovery_delta: Fraction
    history: History
    events: tuple[Event, ...]

    def ledger(self) -> ReleaseLedger:
        """The ledger; a `ValueError` or `CutsError` if it breaks its promise.

        So it does if the budget exceeds what epsilon and delta allow, if an event costs too little, or if the budget
        does not cover it.
        """
        terms = Terms(self.epsilon, self.delta, self.max_rows_per_person, self.person, self.relation)
        ledger = ReleaseLedger(terms, self.rho, self.discovery_delta, self.history)
        for event in self.events:
            ledger = ledger.charged(event)
        return ledger


def ledger_json(ledger: ReleaseLedger) -> LedgerJson:
    """The ledger as it is written."""
    return LedgerJson(
        **asdict(ledger.terms),
        rho=ledger.rho,
        discovery_delta=ledger.discovery_delta,
        history=ledger.history,
        events=ledger.events,
    )


def ledger_data(ledger: ReleaseLedger) -> dict[str, Any]:
    """The ledger as JSON values."""
    data: dict[str, Any] = to_data(ledger_json(ledger))
    return data


def to_data(value: object) -> Any:
    """JSON values of a struct or dataclass; fractions become texts such as `1/3`.

    >>> to_data(Event("measure", ("age",), 2.0, 1.0, Fraction(1, 8)))["rho"]
    '1/8'
    """
    return msgspec.to_builtins(value, enc_hook=str)


def from_data(data: object, kind: Any) -> Any:
    """The value of type `kind` that JSON values stand for; a `ValueError` if their types differ.

    >>> from_data({"type": "select", "clique": [], "scale": 1, "sensitivity": 1.0, "rho": "1/2", "of": 3}, Event).cost
    Fraction(1, 2)
    """
    try:
        return msgspec.convert(data, kind, dec_hook=_fraction)
    except (msgspec.ValidationError, ArithmeticError) as error:
        raise ValueError(str(error)) from None


def _fraction(kind: type, text: object) -> Fraction:
    if kind is not Fraction or not isinstance(text, str) or not _FRACTION.fullmatch(text):
        raise TypeError("a fraction is written as a text such as 1/3")
    return Fraction(text)

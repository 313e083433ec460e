"""Ledgers as JSON values and back: costs are fractions, so nothing is lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any, get_args

from cuts.privacy.ledger import Event, History, Relation, ReleaseLedger, Terms


def ledger_data(ledger: ReleaseLedger) -> dict[str, Any]:
    """A ledger as JSON values, costs as fractions."""
    terms = ledger.terms
    return {
        "epsilon": terms.epsilon,
        "delta": terms.delta,
        "max_rows_per_person": terms.rows_each,
        "person": terms.person,
        "relation": terms.relation,
        "rho": str(ledger.rho),
        "history": {**asdict(ledger.history), "rho": str(ledger.history.rho)},
        "events": [event_data(event) for event in ledger.events],
    }


def ledger_from(data: Mapping[str, Any]) -> ReleaseLedger:
    """The ledger of JSON values."""
    terms = Terms(
        float(data["epsilon"]),
        float(data["delta"]),
        int(data["max_rows_per_person"]),
        data["person"],
        data["relation"],
    )
    history = History(**{**data["history"], "rho": Fraction(data["history"]["rho"])})
    if not (
        terms.epsilon > 0 and 0 < terms.delta < 1 and terms.rows_each >= 1 and terms.relation in get_args(Relation)
    ):
        raise ValueError("these are no terms of privacy")
    ledger = ReleaseLedger(terms, Fraction(data["rho"]), history)
    for event in data["events"]:
        ledger = ledger.charged(event_from(event))
    return ledger


def event_data(event: Event) -> dict[str, Any]:
    """A charge as JSON values."""
    return {
        "type": event.kind,
        "clique": list(event.clique),
        "scale": event.scale,
        "sensitivity": event.sensitivity,
        "rho": str(event.cost),
        **({"delta": event.delta} if event.delta else {}),
        **({"of": event.candidates} if event.candidates else {}),
    }


def event_from(data: Mapping[str, Any]) -> Event:
    """The charge of JSON values."""
    kind, clique = data["type"], tuple(map(str, data["clique"]))
    cost = Fraction(data["rho"])
    return Event(kind, clique, data["scale"], data["sensitivity"], cost, data.get("delta", 0.0), data.get("of", 0))

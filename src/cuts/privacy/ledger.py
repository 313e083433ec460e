"""The reads of one release and their exact cost in rho and delta; what the release promises."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from msgspec import Struct

from cuts.count.cover import Clique
from cuts.privacy.accountant import RESERVED_SHARE, above, below, delta_of, epsilon_of
from cuts.privacy.units import Relation, Spending, Unit
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic

Kind = Literal["measure", "select", "discover"]


class Event(Struct, frozen=True, omit_defaults=True, rename={"kind": "type", "cost": "rho", "candidates": "of"}):
    """One private read: its columns, its noise and its cost.

    `scale` is the standard deviation of the Gaussian noise on counts when columns are measured, and the scale of the
    Gumbel noise on scores when one of `candidates` sets of columns is selected. `sensitivity` is how far one protected
    unit can move the numbers that the noise is added to.
    """

    kind: Kind
    clique: Clique
    scale: float
    sensitivity: float
    cost: Fraction  # in rho
    delta: float = 0.0  # spent on discovering categories
    candidates: int = 0
    threshold: int = 0  # that noisy counts of discovered categories reach


@dataclass(frozen=True, slots=True)
class Terms:
    """The promise: (epsilon, delta) for tables that differ in one unit, which is a row or all rows of a person."""

    epsilon: float
    delta: float
    max_rows_per_person: int = 1
    person: str | None = None  # the column that identifies persons
    relation: Relation = "add/remove"

    @property
    def unit(self) -> Unit:
        """The unit that the promise protects."""
        return Unit(self.max_rows_per_person, self.person, self.relation)


class History(Struct, frozen=True):
    """Earlier releases of the same data: its name as a salted hash, and what they cost, one spending per unit."""

    data: str = ""
    spent: tuple[Spending, ...] = ()

    @property
    def releases(self) -> int:
        """How many earlier releases there were."""
        return sum(spending.releases for spending in self.spent)


@dataclass(frozen=True, slots=True)
class ReleaseLedger:
    """The budget of one release, and every read charged to it.

    The budget is `rho` of zCDP for all reads, and for discovering categories a part of the promised delta; the rest of
    delta converts `rho` into epsilon. A budget that exceeds the promise is a `ValueError`.
    """

    terms: Terms
    rho: Fraction
    discovery_delta: Fraction = Fraction(0)
    history: History = History()
    events: tuple[Event, ...] = ()

    def __post_init__(self) -> None:
        epsilon, left = self.terms.epsilon, below(Fraction(self.terms.delta) - self.discovery_delta)
        if not 0 < epsilon < math.inf or self.discovery_delta < 0:
            raise ValueError("epsilon is positive and finite, and delta is not negative")
        if left <= 0 or delta_of(above(self._spendable), epsilon) > left:
            raise ValueError("the budget exceeds what epsilon and delta promise")

    @property
    def spent(self) -> Fraction:
        """The total rho of all reads.

        Costs add up although later reads depend on earlier answers: a privacy filter for zCDP (Feldman and Zrnic,
        "Individual Privacy Accounting via a Rényi Filter", 2021) refuses the read that would exceed the budget.
        """
        return sum((event.cost for event in self.events), Fraction(0))

    @property
    def left(self) -> Fraction:
        """The rho that may still be spent."""
        return self._spendable - self.spent

    @property
    def delta_spent(self) -> Fraction:
        """The delta spent on discovering categories."""
        return sum((Fraction(event.delta) for event in self.events), Fraction(0))

    @property
    def epsilon_spent(self) -> float:
        """The epsilon of all reads at the promised delta, rounded up."""
        return epsilon_of(self.spent, below(Fraction(self.terms.delta) - self.delta_spent))

    @property
    def spending(self) -> Spending:
        """What this release adds to those of the same data."""
        return Spending(self.terms.unit, 1, self.spent, self.terms.delta, self.delta_spent)

    @property
    def planned(self) -> Spending:
        """What this release adds if it spends all of its budget."""
        return Spending(self.terms.unit, 1, self.rho, self.terms.delta, self.discovery_delta)

    def charged(self, event: Event) -> ReleaseLedger:
        """The ledger with one read more; a `CutsError` if the budget does not cover it.

        A sensitivity of D under noise of scale s costs at least `D^2 / (2 s^2)`. For the Gaussian mechanism this is
        its exact price (Bun and Steinke 2016, Proposition 1.6).
        """
        if not (0 < event.scale < math.inf and 0 <= event.sensitivity < math.inf and 0 <= event.delta < 1):
            raise ValueError("noise is positive, sensitivity is not negative, both are finite, and delta is below 1")
        if event.cost < Fraction(event.sensitivity) ** 2 / (2 * Fraction(event.scale) ** 2):
            raise ValueError("a read costs at least sensitivity^2 / (2 scale^2)")
        if event.cost > self.left or Fraction(event.delta) > self.discovery_delta - self.delta_spent:
            raise CutsError([budget_spent()])
        return replace(self, events=(*self.events, event))

    @property
    def _spendable(self) -> Fraction:
        return self.rho * (1 - RESERVED_SHARE)


def budget_spent() -> Diagnostic:
    """A read that the budget does not cover."""
    return Diagnostic(
        "budget-spent",
        "the privacy budget does not cover this read, so it was refused",
        help="no rows were read for it; raise EPSILON, or measure fewer columns",
        exit_code=PRIVACY,
    )

"""The reads of one release and their exact cost in rho; what the release promises."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from msgspec import Struct

from cuts.count.cover import Clique
from cuts.privacy.accountant import RESERVED_SHARE, epsilon_of
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic, counted

Kind = Literal["measure", "select", "discover"]
Relation = Literal["add/remove", "replace"]


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
    delta: float = 0.0  # spent on discovering a domain
    candidates: int = 0


@dataclass(frozen=True, slots=True)
class Terms:
    """The promise: (epsilon, delta) for tables that differ in one unit, which is a row or all rows of a person."""

    epsilon: float
    delta: float
    max_rows_per_person: int = 1
    person: str | None = None  # the column that identifies persons
    relation: Relation = "add/remove"

    @property
    def unit(self) -> str:
        """The unit that the promise protects, in words."""
        rows = counted(self.max_rows_per_person, "row")
        if self.person is not None:
            return f"one person (`{self.person}`) with at most {rows}"
        return "one row" if self.max_rows_per_person == 1 else f"one person with at most {rows} (assumed, not enforced)"


@dataclass(frozen=True, slots=True)
class History:
    """Earlier releases of the same data: its name as a salted hash, how many there were, and their total cost."""

    data: str = ""
    releases: int = 0
    rho: Fraction = Fraction(0)
    delta: float = 0.0  # spent on discovering domains


@dataclass(frozen=True, slots=True)
class ReleaseLedger:
    """The budget of one release, `rho` of zCDP, and every read charged to it."""

    terms: Terms
    rho: Fraction
    history: History = History()
    events: tuple[Event, ...] = ()

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
        return self.rho * (1 - RESERVED_SHARE) - self.spent

    def charged(self, event: Event) -> ReleaseLedger:
        """The ledger with one read more; a `CutsError` if the budget does not cover it.

        A sensitivity of D under noise of scale s costs at least `D^2 / (2 s^2)`. For the Gaussian mechanism this is
        its exact price (Bun and Steinke 2016, Proposition 1.6).
        """
        if not (0 < event.scale < math.inf and 0 <= event.sensitivity < math.inf):
            raise ValueError("noise is positive, sensitivity is not negative, and both are finite")
        if event.cost < Fraction(event.sensitivity) ** 2 / (2 * Fraction(event.scale) ** 2):
            raise ValueError("a read costs at least sensitivity^2 / (2 scale^2)")
        if event.cost > self.left:
            raise CutsError([budget_spent()])
        return replace(self, events=(*self.events, event))

    @property
    def delta_spent(self) -> float:
        """The delta spent on discovering the domain; the rest is used to convert rho."""
        return sum(event.delta for event in self.events)

    @property
    def epsilon_spent(self) -> float:
        """The epsilon of all reads at the promised delta, rounded up."""
        return epsilon_of(self.spent, self.terms.delta - self.delta_spent)


def budget_spent() -> Diagnostic:
    """A read that the budget does not cover."""
    return Diagnostic(
        "budget-spent",
        "the privacy budget does not cover this read, so it was refused",
        help="no rows were read for it; raise EPSILON, or measure fewer columns",
        exit_code=PRIVACY,
    )

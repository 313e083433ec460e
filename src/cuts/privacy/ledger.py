"""What was read of private rows and what it cost, in exact fractions of rho; the promise that follows from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from cuts.count.cover import Clique
from cuts.privacy.accountant import KEPT, epsilon_of
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic, counted

Kind = Literal["measure", "select", "discover"]
Relation = Literal["add/remove", "replace"]


@dataclass(frozen=True, slots=True)
class Event:
    """One private read: of which columns, with which noise, and its cost.

    `scale` is that of the noise: of the Gaussian on counts when columns are measured, of the Gumbel on scores when one
    of `candidates` sets of columns is selected. `sensitivity` is how far one unit moves what the noise is added to.
    """

    kind: Kind
    clique: Clique
    scale: float
    sensitivity: float
    cost: Fraction  # in rho
    delta: float = 0.0  # of the discovery of a domain
    candidates: int = 0


@dataclass(frozen=True, slots=True)
class Terms:
    """What is promised: (epsilon, delta) for tables that differ in one unit, a row or a person of so many rows."""

    epsilon: float
    delta: float
    rows_each: int = 1
    person: str | None = None  # the column that tells persons apart
    relation: Relation = "add/remove"

    @property
    def unit(self) -> str:
        """Whom the promise protects."""
        if self.person is None:
            return (
                "one row" if self.rows_each == 1 else f"one person with at most {self.rows_each} rows, which is trusted"
            )
        return f"one person (`{self.person}`) with at most {counted(self.rows_each, 'row')}"


@dataclass(frozen=True, slots=True)
class History:
    """What was released of the same data before: the data as a salted hash, how often, at what cost together."""

    data: str = ""
    releases: int = 0
    rho: Fraction = Fraction(0)
    delta: float = 0.0  # spent on domains


@dataclass(frozen=True, slots=True)
class ReleaseLedger:
    """The budget of a release, `rho` of zCDP, and every read charged to it."""

    terms: Terms
    rho: Fraction
    history: History = History()
    events: tuple[Event, ...] = ()

    @property
    def spent(self) -> Fraction:
        """The rho of all reads together."""
        return sum((event.cost for event in self.events), Fraction(0))

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return self.rho * (1 - KEPT) - self.spent

    def charged(self, event: Event) -> ReleaseLedger:
        """The ledger with one read more; a `CutsError` if it is not affordable."""
        if event.cost < Fraction(event.sensitivity) ** 2 / (2 * Fraction(event.scale) ** 2):
            raise ValueError("a read costs at least its sensitivity over its noise, squared and halved")
        if event.cost > self.left:
            raise CutsError([budget_spent()])
        return replace(self, events=(*self.events, event))

    @property
    def delta_spent(self) -> float:
        """The delta used to discover the domain; the rest belongs to the conversion of rho."""
        return sum(event.delta for event in self.events)

    @property
    def epsilon_spent(self) -> float:
        """What the reads amount to at the promised delta, rounded up."""
        return epsilon_of(self.spent, self.terms.delta - self.delta_spent)


def budget_spent() -> Diagnostic:
    """A read that the budget does not cover."""
    return Diagnostic(
        "budget-spent",
        "the privacy budget does not cover this read, so it was refused",
        help="nothing was read; raise EPSILON, or ask for less",
        exit_code=PRIVACY,
    )

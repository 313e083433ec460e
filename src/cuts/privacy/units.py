"""The unit that a release protects, and what several releases of the same data cost together.

Costs of different units cannot simply be added. A release that protects one row protects a person with three rows less:
going from a table to its neighbour takes three steps, and by the group privacy of zCDP (Bun and Steinke 2016,
Proposition 1.9) k steps cost k^2 times as much. So the total is stated for the largest unit of all releases, or, if no
such bound is known, not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from msgspec import Struct

from cuts.privacy.accountant import below, epsilon_of
from cuts.text.diagnostic import counted

Relation = Literal["add/remove", "replace"]


class Unit(Struct, frozen=True):
    """One row, or all rows of a person: its presence is protected (`add/remove`), or only its values (`replace`).

    A person is identified by a column, and at most `max_rows_per_person` of its rows are counted; without such a column
    that number is an assumption about the table.
    """

    max_rows_per_person: int = 1
    person: str | None = None  # the column that identifies persons
    relation: Relation = "add/remove"

    def __post_init__(self) -> None:
        if self.max_rows_per_person < 1:
            raise ValueError("a person has at least one row")

    def __str__(self) -> str:
        return self.in_words(assumed=self.person is None)

    def in_words(self, *, assumed: bool) -> str:
        """The unit in words; `assumed` if nothing makes sure that a person has no more rows.

        >>> str(Unit()), str(Unit(3, "id"))
        ('one row', 'one person (`id`) with at most 3 rows')
        """
        if self.person is None and self.max_rows_per_person == 1:
            return "one row"
        person = "one person" if self.person is None else f"one person (`{self.person}`)"
        note = " (assumed, not enforced)" if assumed else ""
        return f"{person} with at most {counted(self.max_rows_per_person, 'row')}{note}"


class Spending(Struct, frozen=True):
    """Releases of the same data that protect the same unit: how many, and what they cost together."""

    unit: Unit
    releases: int
    rho: Fraction
    delta: float  # the smallest that one of them promised
    discovery_delta: Fraction = Fraction(0)  # spent on discovering categories

    def __post_init__(self) -> None:
        if self.releases < 0 or self.rho < 0 or not 0 < self.delta < 1 or not 0 <= self.discovery_delta < 1:
            raise ValueError("nothing costs less than nothing, and delta lies between 0 and 1")

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            self.unit,
            self.releases + other.releases,
            self.rho + other.rho,
            min(self.delta, other.delta),
            self.discovery_delta + other.discovery_delta,
        )


@dataclass(frozen=True, slots=True)
class Total:
    """What all releases of the same data cost together, for the largest of their units."""

    unit: Unit
    is_assumed: bool  # whether a release relied on a number of rows per person that it did not enforce
    spent: Spending

    @property
    def unit_in_words(self) -> str:
        """The unit that the total protects."""
        return self.unit.in_words(assumed=self.is_assumed)

    @property
    def delta(self) -> float:
        """The delta at which epsilon is stated: the smallest promised one, unless discovery spent as much."""
        discovery = float(self.spent.discovery_delta)
        return self.spent.delta if discovery < self.spent.delta else 2 * discovery

    @property
    def epsilon(self) -> float:
        """The epsilon of all releases together at that delta, rounded up."""
        return self.epsilon_at(self.delta)

    def epsilon_at(self, delta: float) -> float:
        """The epsilon at a given delta, rounded up; infinite if discovery alone spent that delta."""
        left = below(Fraction(delta) - self.spent.discovery_delta)
        return epsilon_of(self.spent.rho, left) if left > 0 else float("inf")


def by_unit(spendings: Iterable[Spending]) -> tuple[Spending, ...]:
    """The spendings with those of the same unit added up, in order of their first release."""
    sums: dict[Unit, Spending] = {}
    for each in spendings:
        sums[each.unit] = sums[each.unit] + each if each.unit in sums else each
    return tuple(sums.values())


def total(spendings: Sequence[Spending]) -> Total | None:
    """The cost of all releases for the largest of their units; None if no bound on it is known.

    >>> row = Spending(Unit(), 1, Fraction(1, 100), 1e-9)
    >>> person = Spending(Unit(3, "id"), 1, Fraction(1, 100), 1e-9)
    >>> total([row, person]).spent.rho  # for a person, the first release costs 9 times as much
    Fraction(1, 10)
    """
    persons = {each.unit.person for each in spendings} - {None}
    if len(persons) > 1:
        return None  # how persons of one column relate to those of another is not known
    largest = Unit(
        max(each.unit.max_rows_per_person for each in spendings),
        next(iter(persons), None),
        "replace" if any(each.unit.relation == "replace" for each in spendings) else "add/remove",
    )
    converted = [_converted(each, largest) for each in spendings]
    if any(each is None for each in converted):
        return None
    (spent,) = by_unit(each for each in converted if each is not None)
    is_row = largest.person is None and largest.max_rows_per_person == 1
    return Total(largest, not is_row and any(each.unit.person is None for each in spendings), spent)


def _converted(spending: Spending, unit: Unit) -> Spending | None:
    """The spending for a larger unit; None if it discovered categories, whose delta does not follow the same rule."""
    steps = _steps(spending.unit, unit)
    if steps > 1 and spending.discovery_delta:
        return None
    return Spending(unit, spending.releases, steps**2 * spending.rho, spending.delta, spending.discovery_delta)


def _steps(small: Unit, large: Unit) -> int:
    """How many steps between neighbours of a smaller unit lead from a table to its neighbour of a larger unit.

    A release that counts a limited number of rows per person protects persons with any number of rows. Replacing a unit
    is removing one and adding another.
    """
    rows = 1 if small.person is not None else -(-large.max_rows_per_person // small.max_rows_per_person)
    return rows * (2 if (small.relation, large.relation) == ("add/remove", "replace") else 1)

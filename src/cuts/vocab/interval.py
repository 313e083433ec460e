"""Closed intervals of numbers and their arithmetic (Moore, "Interval Analysis", 1966): bounds on expressions."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isnan


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers from `low` to `high`.

    >>> Interval(0, 2) * Interval(-1, 3)
    Interval(low=-2, high=6)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"no interval from {self.low} to {self.high}")

    def __contains__(self, other: Interval) -> bool:
        """Whether all of another interval lies in this one."""
        return self.low <= other.low and other.high <= self.high

    @property
    def width(self) -> float:
        """Distance from the low end to the high end."""
        return 0.0 if self.low == self.high else self.high - self.low

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __add__(self, other: Interval) -> Interval:
        low, high = self.low + other.low, self.high + other.high
        return Interval(-inf if isnan(low) else low, inf if isnan(high) else high)  # inf - inf can be any number

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        ends = [times(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(ends), max(ends))

    def __truediv__(self, other: Interval) -> Interval:
        if other.low <= 0 <= other.high:
            return EVERYTHING
        return self * Interval(1 / other.high, 1 / other.low)


def times(a: float, b: float) -> float:
    """The product of two ends of intervals, with 0 times infinity as 0."""
    return 0.0 if a == 0 or b == 0 else a * b  # the factor 0 is attained, infinity is not


EVERYTHING = Interval(-inf, inf)

"""Units of time: what a number counts, so that days, seconds and plain numbers are never mixed.

A date is a number of days, a time, a timestamp and a duration are numbers of seconds (`data/columns.py`). The readings
of a program compute with these numbers as they are; the units decide beforehand what may be added, subtracted,
multiplied and compared, and by which factors numbers of different size are brought together.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from cuts.data.columns import Column, Temporal
from cuts.data.temporal import parse_duration, parse_moment

Axis = Literal["moment", "time"]  # on which points lie: dates and timestamps, times of day
DAY = 86_400  # seconds


@dataclass(frozen=True, slots=True)
class Unit:
    """What a number counts: with `power` 0 things, with 1 lengths of time of so many `seconds`, with 2 their squares.

    With an `axis` the number is not a length but a point: a moment, counted from 1970-01-01, or a time of day, counted
    from midnight. Midnight of a day is the moment that a date is.
    """

    power: int = 0
    seconds: int = 1
    axis: Axis | None = None

    @property
    def is_time(self) -> bool:
        """Whether it counts time at all."""
        return self.power != 0

    def per(self, seconds: int) -> Fraction:
        """The factor that turns a number of this unit into one that counts so many seconds."""
        return Fraction(self.seconds, seconds) ** self.power


NUMBER = Unit()
SECONDS = Unit(1)


def unit_of(column: Column) -> Unit:
    """What the numbers of a column count; a category counts as its position.

    >>> unit_of(Temporal("admitted", "date", 0.0, 9.0))
    Unit(power=1, seconds=86400, axis='moment')
    """
    if not isinstance(column, Temporal):
        return NUMBER
    match column.kind:
        case "date":
            return Unit(1, DAY, "moment")
        case "timestamp":
            return Unit(1, 1, "moment")
        case "time":
            return Unit(1, 1, "time")
        case "duration":
            return SECONDS


def written_time(text: str) -> tuple[float, Unit] | None:
    """The seconds of a duration, date, timestamp or time of day written as text; None for any other text.

    >>> written_time("36 h"), written_time("08:30")
    ((129600.0, Unit(power=1, seconds=1, axis=None)), (30600.0, Unit(power=1, seconds=1, axis='time')))
    """
    length = parse_duration(text)
    if length is not None:
        return length, SECONDS
    moment = parse_moment("timestamp", text)  # a date is midnight of its day
    if moment is not None:
        return moment, Unit(1, 1, "moment")
    clock = parse_moment("time", text) if ":" in text else None  # `time` also reads "12"
    return None if clock is None else (clock, Unit(1, 1, "time"))


def common_seconds(*units: Unit) -> int:
    """The seconds that numbers of several units can all count without rounding."""
    sizes = {unit.seconds for unit in units if unit.is_time}
    return sizes.pop() if len(sizes) == 1 else 1


def combined(op: str, left: Unit, right: Unit) -> Unit | None:
    """The unit of `left op right` for `+ - * /`, both counting the same seconds; None where that has no meaning.

    >>> date = unit_of(Temporal("admitted", "date", 0.0, 9.0))
    >>> combined("-", date, date), combined("+", date, NUMBER)
    (Unit(power=1, seconds=86400, axis=None), None)
    """
    seconds = common_seconds(left, right)
    match op:
        case "+" if left.power == right.power and None in (left.axis, right.axis):
            return _unit(left.power, seconds, left.axis or right.axis)
        case "-" if left.power == right.power and right.axis in (None, left.axis):
            return _unit(left.power, seconds, None if right.axis else left.axis)
        case "*" | "/" if left.axis is right.axis is None:
            return _unit(left.power + (right.power if op == "*" else -right.power), seconds)
        case _:
            return None


def comparable(left: Unit, right: Unit) -> bool:
    """Whether two numbers can be compared once they count the same seconds."""
    return (left.power, left.axis) == (right.power, right.axis)


def spread(unit: Unit) -> Unit:
    """The unit of a distance between two numbers of a unit."""
    return _unit(unit.power, unit.seconds)


def _unit(power: int, seconds: int, axis: Axis | None = None) -> Unit:
    return Unit(power, seconds, axis) if power else NUMBER

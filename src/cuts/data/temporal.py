"""Dates, times, timestamps and durations as numbers: days for dates, seconds for the rest."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal

from cuts.data.columns import MomentKind

_EPOCH = dt.date(1970, 1, 1)
_FIRST_DAY, _LAST_DAY = (dt.date.min - _EPOCH).days, (dt.date.max - _EPOCH).days
_DAY_SECONDS = 86_400
_BARE = re.compile(r"-?\d+(?:\.\d+)?")  # in schemas and tables, a duration without a unit counts seconds
_SECONDS_PER_UNIT = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(weeks?|w|days?|d|hours?|h|minutes?|min|m|seconds?|s)\s*", re.IGNORECASE)
_WORDS = re.compile(rf"-?(?:{_PART.pattern})+", re.IGNORECASE)
_ISO = re.compile(r"-?P(?=.*\d)(?:[\d.]+W)?(?:[\d.]+D)?(?:T(?=\d)(?:[\d.]+H)?(?:[\d.]+M)?(?:[\d.]+S)?)?", re.IGNORECASE)


def parse_moment(kind: MomentKind, text: str) -> float | None:
    """The number that a text means in a column of that kind, or None if it cannot be parsed.

    >>> parse_moment("date", "1970-01-11"), parse_moment("time", "01:00"), parse_moment("duration", "2 days")
    (10.0, 3600.0, 172800.0)
    """
    try:
        match kind:
            case "date":
                return float((dt.date.fromisoformat(text) - _EPOCH).days)
            case "time":
                return _seconds(dt.time.fromisoformat(text))
            case "timestamp":
                moment = dt.datetime.fromisoformat(text)
                aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)
                return round((aware - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) / dt.timedelta(microseconds=1)) / 1e6
            case "duration":
                return float(text) if _BARE.fullmatch(text.strip()) else parse_duration(text)
    except (ValueError, OverflowError):
        return None


def parse_duration(text: str) -> float | None:
    """The seconds of a duration with its units, as ISO 8601 or in words; None for any other text.

    Months and years are none: they have no fixed length.

    >>> parse_duration("30 days"), parse_duration("1 day 12 h"), parse_duration("P1DT12H"), parse_duration("30")
    (2592000.0, 129600.0, 129600.0, None)
    """
    written = text.strip()
    if _ISO.fullmatch(written):
        written = re.sub("[PT]", "", written, flags=re.IGNORECASE)
    if not _WORDS.fullmatch(written):
        return None
    parts = [Decimal(amount) * _SECONDS_PER_UNIT[unit[0].lower()] for amount, unit in _PART.findall(written)]
    return float(-sum(parts) if written.startswith("-") else sum(parts))


def show_moment(kind: MomentKind, value: float) -> str:
    """The number of a column of that kind as text: ISO 8601, or seconds for a duration.

    A moment outside the years 1 to 9999 is shown by its distance from 1970.

    >>> show_moment("date", 10.0), show_moment("timestamp", 3600.0), show_moment("duration", 90.5)
    ('1970-01-11', '1970-01-01T01:00:00', '90.5 s')
    """
    if not is_in_calendar(kind, value):
        return f"1970-01-01 {value:+,.0f} {'days' if kind == 'date' else 's'}"
    match kind:
        case "date":
            return (_EPOCH + dt.timedelta(days=value)).isoformat()
        case "time":
            return (dt.datetime(1970, 1, 1) + dt.timedelta(seconds=value)).time().isoformat()
        case "timestamp":
            return (dt.datetime(1970, 1, 1) + dt.timedelta(seconds=value)).isoformat()
        case "duration":
            return f"{value:.6f}".rstrip("0").rstrip(".") + " s"


def is_in_calendar(kind: MomentKind, value: float) -> bool:
    """Whether a number is a date or timestamp from year 1 to 9999; times and durations always are.

    >>> is_in_calendar("date", 0.0), is_in_calendar("date", 2**31 - 1)
    (True, False)
    """
    if kind not in ("date", "timestamp"):
        return True
    days = value if kind == "date" else value / _DAY_SECONDS
    return _FIRST_DAY <= days < _LAST_DAY + 1


def show_duration(seconds: float) -> str:
    """A duration exactly, in the largest unit of which it is a whole number, otherwise in seconds.

    >>> show_duration(129_600.0), show_duration(86_400.0), show_duration(0.5)
    ('36 h', '1 day', '0.5 s')
    """
    for size, one, many in ((86_400, "day", "days"), (3_600, "h", "h"), (60, "min", "min")):
        if seconds and seconds % size == 0:
            return f"{seconds / size:.0f} {one if abs(seconds) == size else many}"
    return show_moment("duration", seconds)


def _seconds(time: dt.time) -> float:
    seconds = time.hour * 3600 + time.minute * 60 + time.second
    return (seconds * 1_000_000 + time.microsecond) / 1e6

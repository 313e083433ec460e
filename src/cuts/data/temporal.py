"""Dates, times, timestamps and durations as numbers: days for dates, seconds for the rest."""

from __future__ import annotations

import datetime as dt
import re

from cuts.data.columns import MomentKind

_EPOCH = dt.date(1970, 1, 1)
_DURATION = re.compile(
    r"(?P<amount>-?\d+(?:\.\d+)?)\s*(?P<unit>days?|d|hours?|h|minutes?|min|m|seconds?|s)?", re.IGNORECASE
)
_SECONDS_PER_UNIT = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


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
                parts = _DURATION.fullmatch(text.strip())
                unit = (parts["unit"] or "s")[0].lower() if parts else ""
                return float(parts["amount"]) * _SECONDS_PER_UNIT[unit] if parts else None
    except (ValueError, OverflowError):
        return None


def show_moment(kind: MomentKind, value: float) -> str:
    """The number of a column of that kind as text: ISO 8601, or seconds for a duration.

    >>> show_moment("date", 10.0), show_moment("timestamp", 3600.0), show_moment("duration", 90.5)
    ('1970-01-11', '1970-01-01T01:00:00', '90.5 s')
    """
    match kind:
        case "date":
            return (_EPOCH + dt.timedelta(days=value)).isoformat()
        case "time":
            return (dt.datetime(1970, 1, 1) + dt.timedelta(seconds=value)).time().isoformat()
        case "timestamp":
            return (dt.datetime(1970, 1, 1) + dt.timedelta(seconds=value)).isoformat()
        case "duration":
            return f"{value:.6f}".rstrip("0").rstrip(".") + " s"


def _seconds(time: dt.time) -> float:
    seconds = time.hour * 3600 + time.minute * 60 + time.second
    return (seconds * 1_000_000 + time.microsecond) / 1e6

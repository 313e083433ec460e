"""Dates, times and timestamps written in one format throughout a column.

A format is a `strptime` format with two extensions: `%-d` is a day without a leading zero, and `%S` may be followed by
up to nine decimals, which are counted separately. A zone is at the end: `Z`, an offset as it is written, or `%z` if
offsets vary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.exchange.recast import times_from

_TOKENS = {
    "%Y": "[0-9]{4}",
    "%m": "0[1-9]|1[0-2]",
    "%-m": "[1-9]|1[0-2]",
    "%d": "0[1-9]|[12][0-9]|3[01]",
    "%-d": "[1-9]|[12][0-9]|3[01]",
    "%H": "[01][0-9]|2[0-3]",
    "%-H": "1?[0-9]|2[0-3]",
    "%M": "[0-5][0-9]",
    "%S": r"[0-5][0-9](?:\.[0-9]{1,9})?",
    "%z": "Z|[+-][0-9]{2}(?::?[0-9]{2})?",
}
_TOKEN = re.compile("%-?[A-Za-z]")
_CLOCKS = ("%H:%M", "%H:%M:%S")
_DATES = ("%Y-%m-%d", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%m.%d.%Y", "%d-%m-%Y", "%m-%d-%Y")
_LOOSE_DATES = ("%-d/%-m/%Y", "%-m/%-d/%Y", "%-d.%-m.%Y", "%-m.%-d.%Y")
_ISO_DATE = "%Y-%m-%d"
_COMPACT_DATE = "%Y%m%d"
_UNITS = ("s", "ms", "us", "ns")


def formats_of(text: str, name: str) -> tuple[str, ...]:
    """The formats that fit the text; a bare 20201231 is a date only where `name` contains `date`.

    >>> formats_of("05/04/2020", "seen"), formats_of("20201231", "birth date"), formats_of("20201231", "cost")
    (('%d/%m/%Y', '%m/%d/%Y'), ('%Y%m%d',), ())
    """
    zone = re.search(r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)$", text)
    dated = "date" in name.casefold()
    return tuple(format for format in _formats(zone[0] if zone else "", dated) if re.fullmatch(pattern(format), text))


def is_ambiguous(formats: tuple[str, ...]) -> bool:
    """Whether the formats read the same texts as different moments: day first or month first.

    >>> is_ambiguous(("%d/%m/%Y", "%m/%d/%Y")), is_ambiguous(("%d/%m/%Y", "%-d/%-m/%Y"))
    (True, False)
    """
    bare = {format.replace("%-", "%") for format in formats if "%z" not in format}
    return len(bare) > 1


@cache
def pattern(format: str) -> str:
    """The regular expression of texts in that format, with one group per part."""
    literals = _TOKEN.split(format)
    groups = [f"({_TOKENS[token]})" for token in _TOKEN.findall(format)]
    return "".join(re.escape(text) + group for text, group in zip(literals, [*groups, ""], strict=True))


def moment_type(format: str, digits: int) -> pa.DataType:
    """The Arrow type of moments in that format with `digits` decimals of a second."""
    if "%Y" not in format:
        return pa.time64("us" if digits <= 6 else "ns")
    return pa.timestamp(unit_of(digits), _zone(format)) if "%M" in format else pa.date32()


def unit_of(digits: int) -> str:
    """The coarsest unit that holds `digits` decimals of a second."""
    return _UNITS[-(-digits // 3)]


def parse_moments(texts: pa.Array, format: str, digits: int) -> pa.Array:
    """The moments of texts that match the format's pattern; raises `ArrowInvalid` if a day does not exist."""
    kind = moment_type(format, digits)
    iso = texts if format.startswith(_ISO_DATE) else _as_iso(texts, format)
    if pa.types.is_time(kind):
        return times_from(iso).cast(kind)
    if pa.types.is_date(kind):
        return iso.cast(kind)
    return iso.cast(pa.timestamp(kind.unit, "UTC" if kind.tz else None)).cast(kind)


def show_moments(values: pa.Array, format: str, min_decimals: int, max_decimals: int) -> pa.Array:
    """The moments as texts in that format; seconds have `max_decimals`, or none if whole and `min_decimals` is 0."""
    unit = unit_of(max_decimals)
    if pa.types.is_time(values.type):
        values = values.cast(pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit), safe=False)
    elif pa.types.is_timestamp(values.type):
        values = _local(values, _zone(format)).cast(pa.timestamp(unit), safe=False)
    plain = format.replace("%-", "%").replace("%z", "+00:00")
    return _loose(trim_digits(pc.strftime(values, format=plain), min_decimals, max_decimals), format)


def count_digits(texts: pa.Array) -> tuple[int, int]:
    """The minimum and maximum number of decimals of the seconds."""
    if not pc.any(pc.match_substring_regex(texts, r":[0-9]{2}\.[0-9]")).as_py():
        return 0, 0
    decimals = pc.struct_field(pc.extract_regex(texts, r":[0-9]{2}\.(?P<digits>[0-9]+)"), "digits")
    counts = pc.min_max(pc.fill_null(pc.utf8_length(decimals), 0)).as_py()
    return counts["min"], counts["max"]


def trim_digits(texts: pa.Array, min_decimals: int, max_decimals: int) -> pa.Array:
    """The texts with at most `max_decimals` for seconds; whole seconds show none if `min_decimals` is 0."""
    if max_decimals % 3:
        texts = pc.replace_substring_regex(texts, rf"(:[0-9]{{2}}\.[0-9]{{{max_decimals}}})[0-9]+", r"\1")
    if min_decimals == 0 < max_decimals:
        texts = pc.replace_substring_regex(texts, r"(:[0-9]{2})\.0+\b", r"\1")
    return texts


def _formats(zone: str, dated: bool) -> Iterator[str]:
    yield from _CLOCKS
    for date in (*_DATES, *_LOOSE_DATES, *((_COMPACT_DATE,) if dated else ())):
        yield date
        for clock in _CLOCKS:
            yield from (f"{date} {clock}", f"{date}T{clock}")
            if date in _LOOSE_DATES:
                yield f"{date} {clock.replace('%H', '%-H')}"
    if zone:
        yield from (f"{_ISO_DATE}{gap}{clock}{end}" for gap in " T" for clock in _CLOCKS for end in (zone, "%z"))


def _zone(format: str) -> str | None:
    parts = re.search(r"%[MS](?:(Z|%z)|([+-][0-9]{2}):?([0-9]{2})?)$", format)
    if parts is None:
        return None
    offset = f"{parts[2]}:{parts[3] or '00'}"
    return "UTC" if parts[1] or offset == "+00:00" else offset


def _local(values: pa.Array, zone: str | None) -> pa.Array:
    """Local time in the zone, or in the zone of the values if it is None."""
    if values.type.tz is None:
        return values
    return pc.local_timestamp(values.cast(pa.timestamp(values.type.unit, zone or values.type.tz)))


def _as_iso(texts: pa.Array, format: str) -> pa.Array:
    """The texts in the order Arrow reads: the year first, every part with its leading zero."""
    if "%-" in format:
        texts = pc.replace_substring_regex(texts, r"\b([0-9])([/.:])", r"0\1\2")
        return _as_iso(texts, format.replace("%-", "%"))
    if "%Y" not in format:
        return texts
    group = {token: rf"\{number}" for number, token in enumerate(_TOKEN.findall(format), start=1)}
    date = f"{group['%Y']}-{group['%m']}-{group['%d']}"
    clock = ":".join(group[token] for token in ("%H", "%M", "%S") if token in group)
    return pc.replace_substring_regex(texts, f"^{pattern(format)}$", f"{date} {clock}".strip())


def _loose(texts: pa.Array, format: str) -> pa.Array:
    """The texts without the leading zeros that the format omits."""
    if "%-d" in format:
        texts = pc.replace_substring_regex(texts, "^0", "")
        texts = pc.replace_substring_regex(texts, "^([0-9]+[/.])0", r"\1")
    if "%-H" in format:
        texts = pc.replace_substring_regex(texts, " 0([0-9]:)", r" \1")
    return texts

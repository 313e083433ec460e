"""Whole numbers, real numbers and durations as texts, and back. Blanks around a number do not count."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.recast import times_from
from cuts.data.text_moments import trim_digits

MOST = 15  # decimals a float64 shows again as they were
ANY = 17  # stands for numbers of any precision
WHOLE = " *(?:0|-?[1-9][0-9]{0,18}) *"
SPAN = r"(-?[0-9]{1,9}) days \+?([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?"
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_DAY = 86_400


def real(point: str) -> str:
    """The pattern of real numbers with that decimal point; 19 digits and more need it, else they are too exact."""
    whole, dot = "(?:0|[1-9][0-9]*)", f"[{point}]"
    plain = rf"(?:0|[1-9][0-9]{{0,17}})|{whole}?{dot}[0-9]+|{whole}{dot}"
    exponent = rf"{whole}(?:{dot}[0-9]*)?[eE][+-]?[0-9]{{1,3}}"
    return rf" *(?:-?(?:{plain}|{exponent}|(?i:inf|infinity))|(?i:nan)) *"


def parse_wholes(texts: pa.Array) -> pa.Array:
    """The numbers as int64; `ArrowInvalid` beyond it."""
    return pc.utf8_trim(texts, characters=" ").cast(pa.int64())


def parse_reals(texts: pa.Array, point: str) -> pa.Array:
    """The numbers as float64."""
    trimmed = pc.utf8_trim(texts, characters=" ")
    return (trimmed if point == "." else pc.replace_substring(trimmed, point, ".")).cast(pa.float64())


def count_decimals(texts: pa.Array, point: str) -> tuple[int, int]:
    """The fewest and the most decimals shown; none to `ANY` as soon as there is an exponent."""
    shown = pc.utf8_trim(texts, characters=" ")
    if pc.any(pc.match_substring_regex(shown, "[0-9.,][eE]")).as_py():
        return 0, ANY
    at = pc.find_substring(shown, point)
    behind = pc.subtract(pc.subtract(pc.utf8_length(shown), at), 1)
    finite = pc.match_substring_regex(shown, "[0-9]$|[.,]$")
    counts = pc.min_max(pc.if_else(finite, pc.if_else(pc.less(at, 0), 0, behind), None)).as_py()
    return (ANY, 0) if counts["min"] is None else (counts["min"], counts["max"])


def show_reals(values: pa.Array, point: str, least: int, decimals: int | None) -> pa.Array:
    """The shortest texts that mean the numbers, with `least` decimals or more; with exactly `decimals` if given."""
    exact = decimals if decimals is not None else values.type.scale if pa.types.is_decimal(values.type) else None
    texts = [None if value is None else _shown(value, least, exact) for value in values.to_pylist()]
    shown = pa.array(texts, pa.string())
    return shown if point == "." else pc.replace_substring(shown, ".", point)


def _shown(value: float | Decimal, least: int, decimals: int | None) -> str:
    if not math.isfinite(value):
        return "NaN" if value != value else "inf" if value > 0 else "-inf"
    if decimals is not None:
        return f"{value:.{max(decimals, 0)}f}"
    text = repr(value)
    if "e" in text:
        return text
    whole, _, behind = text.partition(".")
    behind = behind.rstrip("0").ljust(least, "0")
    return f"{whole}.{behind}" if behind else whole


def parse_spans(texts: pa.Array, unit: str) -> pa.Array:
    """Texts such as `2 days 01:30:00.5` or `-1 days +23:00:00` as durations; `ArrowInvalid` if too long."""
    parts = pc.extract_regex(texts, r"^(?P<days>-?[0-9]+) days \+?(?P<clock>.*)$")
    days = pc.struct_field(parts, "days").cast(pa.int64())
    clock = times_from(pc.struct_field(parts, "clock")).cast(pa.int64())
    seconds = pc.multiply_checked(days, _DAY * _PER_SECOND[unit])
    within = pc.divide(clock, _PER_SECOND["ns"] // _PER_SECOND[unit])
    return pc.add_checked(seconds, within).cast(pa.duration(unit))


def show_spans(values: pa.Array, least: int, most: int) -> pa.Array:
    """Durations as pandas writes them, with `most` decimals of a second, or none where `least` allows."""
    unit = values.type.unit
    per_day = _DAY * _PER_SECOND[unit]
    counts = np.asarray(values.cast(pa.int64()).fill_null(0))
    days = pa.array(counts // per_day, mask=np.asarray(values.is_null()))
    clocks = pc.strftime(pa.array(counts % per_day).cast(pa.timestamp(unit)), format="%H:%M:%S")
    gap = pc.if_else(pc.less(days, 0), " days +", " days ")
    return pc.binary_join_element_wise(days.cast(pa.string()), gap, trim_digits(clocks, least, most), "")

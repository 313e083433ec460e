"""Whole numbers, real numbers and durations as texts, and back. Blanks around a number are ignored.

With a thousands separator (`grouping`) every number from 1,000 on has it, between every three digits.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.exchange.recast import times_from
from cuts.data.exchange.text_temporal import trim_digits

MAX_DECIMALS = 15  # a float64 reproduces up to so many decimals
ANY_PRECISION = 17  # stands for numbers of any precision
MAX_EXACT_DIGITS = 18  # of a whole number that is read as a real number
GROUPINGS = (",", ".", " ", "'", "\u2019", "\u00a0", "\u202f")  # thousands separators; the last two are blanks too
SPAN = r"(-?[0-9]{1,9}) days \+?([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?"
_UNITS_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_SECONDS_PER_DAY = 86_400


def whole(grouping: str = "") -> str:
    """The pattern of whole numbers, with that thousands separator unless it is empty."""
    return f" *(?:0|-?{_digits(18, grouping)}) *"


def real(point: str, grouping: str = "") -> str:
    """The pattern of real numbers with these separators, or without decimals and up to `MAX_EXACT_DIGITS` digits."""
    dot, short = f"[{point}]", f"(?:0|{_digits(MAX_EXACT_DIGITS - 1, grouping)})"
    whole = short if grouping else "(?:0|[1-9][0-9]*)"
    exponent = "" if grouping else rf"|{whole}(?:{dot}[0-9]*)?[eE][+-]?[0-9]{{1,3}}"
    plain = rf"{short}|{whole}?{dot}[0-9]+|{whole}{dot}"
    return rf" *(?:-?(?:{plain}{exponent}|(?i:inf|infinity))|(?i:nan)) *"


def _digits(more: int, grouping: str) -> str:
    """The pattern of one digit other than 0 and up to about `more` others."""
    return rf"[1-9][0-9]{{0,2}}(?:[{grouping}][0-9]{{3}}){{0,{more // 3}}}" if grouping else rf"[1-9][0-9]{{0,{more}}}"


def groupings_in(texts: pa.Array) -> list[str]:
    """The characters inside the texts that could separate thousands."""
    trimmed = _trimmed(texts)
    return [sign for sign in GROUPINGS if _any(trimmed, sign)]


def parse_wholes(texts: pa.Array, grouping: str = "") -> pa.Array:
    """The numbers as int64; raises `ArrowInvalid` if one is too large."""
    return _ungrouped(_trimmed(texts), grouping).cast(pa.int64())


def parse_reals(texts: pa.Array, point: str, grouping: str = "") -> pa.Array:
    """The numbers as float64."""
    digits = _ungrouped(_trimmed(texts), grouping)
    return (digits if point == "." else pc.replace_substring(digits, point, ".")).cast(pa.float64())


def grouped(texts: pa.Array, grouping: str) -> pa.Array:
    """Texts of numbers with the separator between every three digits of their whole part.

    >>> grouped(pa.array(["-1234567,5", "999", None]), ".").to_pylist()
    ['-1.234.567,5', '999', None]
    """
    ungrouped = "^(-?[0-9]+)([0-9]{3})"
    while grouping and pc.any(pc.match_substring_regex(texts, ungrouped)).as_py():  # once per separator
        texts = pc.replace_substring_regex(texts, ungrouped, rf"\1{grouping}\2")
    return texts


def count_decimals(texts: pa.Array, point: str) -> tuple[int, int]:
    """The minimum and maximum number of decimals; the maximum is `ANY_PRECISION` if a number has an exponent.

    Without any number they are `ANY_PRECISION` and 0, so that any number replaces them.
    """
    shown, max_decimals = _trimmed(texts), 0
    if _any(shown, "e") or _any(shown, "E"):
        shown, max_decimals = shown.filter(pc.invert(pc.match_substring_regex(shown, "[eE]"))), ANY_PRECISION
    if _any(shown, "n") or _any(shown, "N"):  # NaN and infinity
        shown = shown.filter(pc.match_substring_regex(shown, "[0-9]"))
    point_index = pc.find_substring(shown, point)
    decimals = pc.subtract(pc.subtract(pc.binary_length(shown), point_index), 1)  # the index counts bytes
    counts = pc.min_max(pc.if_else(pc.less(point_index, 0), 0, decimals)).as_py()
    return (ANY_PRECISION, max_decimals) if counts["min"] is None else (counts["min"], max(counts["max"], max_decimals))


def show_reals(values: pa.Array, point: str, min_decimals: int, decimals: int | None) -> pa.Array:
    """The shortest exact texts with at least `min_decimals` decimals, or exactly `decimals` unless that is None."""
    exact = values.type.scale if pa.types.is_decimal(values.type) else decimals
    if exact is None:
        shown = _shortest(values, min_decimals)
    else:
        texts = [None if value is None else _fixed(value, exact) for value in values.to_pylist()]
        shown = pa.array(texts, pa.string())
    return shown if point == "." else pc.replace_substring(shown, ".", point)


def parse_spans(texts: pa.Array, unit: str) -> pa.Array:
    """Texts such as `2 days 01:30:00.5` or `-1 days +23:00:00` as durations; raises `ArrowInvalid` if too long."""
    parts = pc.extract_regex(texts, r"^(?P<days>-?[0-9]+) days \+?(?P<clock>.*)$")
    days = pc.struct_field(parts, "days").cast(pa.int64())
    clock = times_from(pc.struct_field(parts, "clock")).cast(pa.int64())
    seconds = pc.multiply_checked(days, _SECONDS_PER_DAY * _UNITS_PER_SECOND[unit])
    within = pc.divide(clock, _UNITS_PER_SECOND["ns"] // _UNITS_PER_SECOND[unit])
    return pc.add_checked(seconds, within).cast(pa.duration(unit))


def show_spans(values: pa.Array, min_decimals: int, max_decimals: int) -> pa.Array:
    """Durations as pandas writes them; seconds have `max_decimals`, or none if whole and `min_decimals` is 0."""
    unit = values.type.unit
    per_day = _SECONDS_PER_DAY * _UNITS_PER_SECOND[unit]
    counts = np.asarray(values.cast(pa.int64()).fill_null(0))
    days = pa.array(counts // per_day, mask=np.asarray(values.is_null()))
    clocks = pc.strftime(pa.array(counts % per_day).cast(pa.timestamp(unit)), format="%H:%M:%S")
    gap = pc.if_else(pc.less(days, 0), " days +", " days ")
    return pc.binary_join_element_wise(days.cast(pa.string()), gap, trim_digits(clocks, min_decimals, max_decimals), "")


def _fixed(value: float | Decimal, decimals: int) -> str:
    return f"{value:.{max(decimals, 0)}f}" if math.isfinite(value) else _unbounded(value)


def _shortest(values: pa.Array, min_decimals: int) -> pa.Array:
    """The texts of Arrow, which are fast; those with an exponent or too few decimals are formatted again."""
    texts = values.cast(pa.string())
    if pa.types.is_float16(values.type) or pa.types.is_float32(values.type):
        values = texts.cast(pa.float64())  # 0.1 of float32 is shown as 0.1, not as its neighbour in float64
    short = "|^[^.]*$" if min_decimals == 1 else rf"|^[^.]*$|\.[0-9]{{1,{min_decimals - 1}}}$" if min_decimals else ""
    wrong = pc.match_substring_regex(texts, f"[en]{short}")
    again = [_long(value, min_decimals) for value in values.filter(wrong).to_pylist() if value is not None]
    return pc.replace_with_mask(texts, pc.fill_null(wrong, False), pa.array(again, pa.string()))


def _long(value: float, min_decimals: int) -> str:
    text = repr(value)
    if not math.isfinite(value):
        return _unbounded(value)
    if "e" in text:
        return text
    whole, _, behind = text.partition(".")
    behind = behind.rstrip("0").ljust(min_decimals, "0")
    return f"{whole}.{behind}" if behind else whole


def _unbounded(value: float | Decimal) -> str:
    return "NaN" if value != value else "inf" if value > 0 else "-inf"


def _ungrouped(texts: pa.Array, grouping: str) -> pa.Array:
    return pc.replace_substring(texts, grouping, "") if grouping else texts


def _trimmed(texts: pa.Array) -> pa.Array:
    return pc.utf8_trim(texts, characters=" ") if _any(texts, " ") else texts


def _any(texts: pa.Array, sign: str) -> bool:
    return bool(pc.any(pc.match_substring(texts, sign)).as_py())

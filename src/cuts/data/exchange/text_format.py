"""Formats of text columns: texts parsed to values, and values written in the same format.

`data/exchange/evidence.py` detects the format of a column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.exchange import text_numbers, text_temporal

Kind = Literal["empty", "text", "truth", "moment", "span", "whole", "real"]

TRUTHS = {"true": "false", "True": "False", "TRUE": "FALSE"}


@dataclass(frozen=True, slots=True)
class TextFormat:
    """A kind of values and how it is written.

    `style` is the word for true, the pattern of dates and times, or the decimal separator of real numbers;
    `min_decimals` and `max_decimals` are the minimum and maximum number of decimals, of seconds or of real numbers;
    `grouping` is the thousands separator of whole and real numbers.
    """

    kind: Kind
    style: str = ""
    min_decimals: int = 0
    max_decimals: int = 0
    grouping: str = ""

    @property
    def decimals(self) -> int | None:
        """The number of decimals of the real numbers if it is the same for all, else None."""
        uniform = self.kind == "real" and 0 < self.min_decimals == self.max_decimals <= text_numbers.MAX_DECIMALS
        return self.min_decimals if uniform else None


def type_of(format: TextFormat) -> pa.DataType:
    """The Arrow type of the values.

    >>> type_of(TextFormat("moment", "%d.%m.%Y"))
    DataType(date32[day])
    """
    match format.kind:
        case "empty":
            return pa.null()
        case "text":
            return pa.string()
        case "truth":
            return pa.bool_()
        case "moment":
            return text_temporal.moment_type(format.style, format.max_decimals)
        case "span":
            return pa.duration(text_temporal.unit_of(format.max_decimals))
        case "whole":
            return pa.int64()
        case "real":
            return pa.float64()


def format_of(kind: pa.DataType) -> TextFormat | None:
    """A format from which values of this type can be read back unchanged; None for bytes and lists."""
    if pa.types.is_boolean(kind):
        return TextFormat("truth", "true")
    if pa.types.is_integer(kind):
        return TextFormat("whole")
    if pa.types.is_floating(kind):
        return TextFormat("real", ".", 1, text_numbers.ANY_PRECISION)
    if pa.types.is_decimal(kind):
        return TextFormat("real", ".", max(kind.scale, 0), max(kind.scale, 0))
    if pa.types.is_temporal(kind):
        return _moment_format(kind)
    if pa.types.is_null(kind):
        return TextFormat("empty")
    return TextFormat("text") if kind in (pa.string(), pa.large_string(), pa.string_view()) else None


def parse(texts: pa.Array, format: TextFormat) -> pa.Array:
    """The values of the texts, in the format's type; raises `ValueError` if a text does not fit the format."""
    present = texts.drop_null() if texts.null_count else texts
    if format.kind == "text":
        return texts
    if len(present) == 0:
        return pa.nulls(len(texts), type_of(format))
    if format.kind == "empty" or not pc.all(matching(present, format)).as_py():
        raise ValueError("a text of another format")
    match format.kind:
        case "truth":
            return texts.cast(pa.bool_())
        case "moment":
            return text_temporal.parse_moments(texts, format.style, format.max_decimals)
        case "span":
            return text_numbers.parse_spans(texts, text_temporal.unit_of(format.max_decimals))
        case "whole":
            return text_numbers.parse_wholes(texts, format.grouping)
        case _:
            return text_numbers.parse_reals(texts, format.style, format.grouping)


def matching(texts: pa.Array, format: TextFormat) -> pa.Array:
    """Where a text is written as the format says; null where it is missing."""
    return pc.match_substring_regex(texts, f"^(?:{pattern_of(format)})$")


def show(values: pa.Array, format: TextFormat) -> pa.Array:
    """The values, which must have the format's type, as texts in that format; missing values stay missing.

    >>> show(pa.array([2303.5, None]), TextFormat("real", ",", 2, 2, grouping=".")).to_pylist()
    ['2.303,50', None]
    """
    match format.kind:
        case "truth":
            return pc.if_else(values, format.style, TRUTHS[format.style])
        case "moment":
            return text_temporal.show_moments(values, format.style, format.min_decimals, format.max_decimals)
        case "span":
            in_unit = values.cast(pa.duration(text_temporal.unit_of(format.max_decimals)), safe=False)
            return text_numbers.show_spans(in_unit, format.min_decimals, format.max_decimals)
        case "real":
            shown = text_numbers.show_reals(values, format.style, format.min_decimals, format.decimals)
            return text_numbers.grouped(shown, format.grouping)
        case "whole":
            return text_numbers.grouped(values.cast(pa.string()), format.grouping)
        case _:
            return values.cast(pa.string())


def describe(format: TextFormat) -> str:
    """The kind of values of a format, in words for messages.

    >>> describe(TextFormat("moment", "%d.%m.%Y"))
    'dates or times written as %d.%m.%Y'
    """
    words = {
        "empty": "no values",
        "text": "text",
        "truth": f"{format.style} and {TRUTHS.get(format.style)}",
        "moment": f"dates or times written as {format.style}",
        "span": "durations",
        "whole": "whole numbers",
        "real": "numbers",
    }
    return words[format.kind]


def pattern_of(format: TextFormat) -> str:
    """The regular expression that a text of this format matches completely."""
    match format.kind:
        case "truth":
            return f"{format.style}|{TRUTHS[format.style]}"
        case "moment":
            return text_temporal.pattern(format.style)
        case "span":
            return text_numbers.SPAN
        case "whole":
            return text_numbers.whole(format.grouping)
        case _:
            return text_numbers.real(format.style, format.grouping)


def _moment_format(kind: pa.DataType) -> TextFormat | None:
    if pa.types.is_date(kind):
        return TextFormat("moment", "%Y-%m-%d")
    if pa.types.is_interval(kind):
        return None
    digits = {"s": 0, "ms": 3, "us": 6, "ns": 9}[kind.unit]
    if pa.types.is_duration(kind):
        return TextFormat("span", "", digits, digits)
    clock = "%H:%M:%S"
    if pa.types.is_time(kind):
        return TextFormat("moment", clock, digits, digits)
    return TextFormat("moment", f"%Y-%m-%d {clock}{'' if kind.tz is None else '%z'}", digits, digits)

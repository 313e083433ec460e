"""The format of a column of texts, detected block by block.

Every column has one format, the narrowest that parses every text and writes it back unchanged: truth values of one
spelling, dates and times of one pattern, durations, whole numbers, real numbers, else text. Two rules prevent loss: a
column with a leading zero or plus (007, +1), or with a whole number beyond int64, is text. A column in which day and
month are ambiguous throughout (03/04/2020) is text too.

All texts of a column decide whether a sign separates decimals or thousands: 1.234 is 1234 beside 2.303,15 or 1.234.567.
If both readings fit every text, as of 1.234 and 12.345, the sign separates decimals; but thousands if a number without
the sign is among them, such as 567, because decimals rarely are either three or none. The exception is a file whose
delimiter is the comma: there an ambiguous point separates decimals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.exchange import text_numbers, text_temporal
from cuts.data.exchange.text_format import TRUTHS, Kind, TextFormat, parse

EVERY_KIND: tuple[Kind, ...] = ("truth", "moment", "span", "whole", "real")
_UNSEEN_DECIMALS = 99  # before any text is seen
_UNSEEN_GROUPING = "?"  # before any number from 1,000 on is seen
_SHORT = 3  # digits of a number without thousands


@dataclass(frozen=True, slots=True)
class Evidence:
    """The formats that fit all texts of a column so far, the preferred one first; None before the first text."""

    name: str
    kinds: tuple[Kind, ...] = EVERY_KIND
    points: str = "."  # the decimal separators to expect without thousands separators
    formats: tuple[TextFormat, ...] | None = None
    has_short: bool = False  # a whole number from 1 to 999 was seen


def narrow(evidence: Evidence, texts: pa.Array) -> Evidence:
    """The evidence after these additional texts.

    >>> settle(narrow(Evidence("age"), pa.array(["31", "32.5"])))
    TextFormat(kind='real', style='.', min_decimals=0, max_decimals=1, grouping='')
    """
    present = texts.drop_null()
    if len(present) == 0:
        return evidence
    possible = _possible(evidence, present[0].as_py()) if evidence.formats is None else evidence.formats
    kept: list[TextFormat] = []
    for format in possible:
        widened = _narrowed(format, kept, present)
        kept += [] if widened is None else [widened]
    has_short = evidence.has_short or (any(format.grouping for format in kept) and _has_short(present))
    return replace(evidence, formats=tuple(kept), has_short=has_short)


def settle(evidence: Evidence) -> TextFormat:
    """The format of a column after its last text."""
    if evidence.formats is None:
        return TextFormat("empty")
    formats = [format for format in evidence.formats if format.grouping != _UNSEEN_GROUPING]
    if not formats or text_temporal.is_ambiguous(tuple(format.style for format in formats if format.kind == "moment")):
        return TextFormat("text")
    best = formats[0]
    thousands = [format for format in formats if format.kind == "whole" and format.grouping == best.style]
    if best.kind == "real" and thousands and evidence.has_short and len(evidence.points) > 1:
        best = thousands[0]
    return replace(best, min_decimals=min(best.min_decimals, best.max_decimals))


def misfit(texts: pa.Array, format: TextFormat) -> int | None:
    """The position of the first text that does not fit the format, or None.

    >>> misfit(pa.array(["1", None, "07", "x"]), TextFormat("whole"))
    2
    """
    if _fits(texts, format):
        return None
    fitting, failing = 0, len(texts)  # the first `fitting` texts fit; the first `failing` do not all fit
    while failing - fitting > 1:
        middle = (fitting + failing) // 2
        fitting, failing = (middle, failing) if _fits(texts[:middle], format) else (fitting, middle)
    return fitting


def _possible(evidence: Evidence, text: str) -> tuple[TextFormat, ...]:
    """The formats that fit one text."""
    formats = [TextFormat("truth", word) for word in TRUTHS]
    formats += [
        TextFormat("moment", format, _UNSEEN_DECIMALS) for format in text_temporal.formats_of(text, evidence.name)
    ]
    formats += [TextFormat("span", "", _UNSEEN_DECIMALS), TextFormat("whole")]
    formats += [TextFormat("real", point, _UNSEEN_DECIMALS) for point in evidence.points]
    formats += [TextFormat("whole", grouping=_UNSEEN_GROUPING)]
    formats += [TextFormat("real", point, _UNSEEN_DECIMALS, grouping=_UNSEEN_GROUPING) for point in ".,"]
    texts = pa.array([text])
    return tuple(format for format in formats if format.kind in evidence.kinds and _widened(format, texts) is not None)


def _narrowed(format: TextFormat, kept: list[TextFormat], texts: pa.Array) -> TextFormat | None:
    """The format after these texts, or None; what is known from the formats kept before it is not checked again."""
    if _is_certain(format, kept, texts):
        return replace(format, min_decimals=0)
    twin = next((f for f in kept if (f.kind, f.style, f.grouping) == (format.kind, format.style, "")), None)
    if format.grouping == _UNSEEN_GROUPING and twin is not None:  # the same without thousands separators fits
        return None if _has_long(texts) else replace(twin, grouping=_UNSEEN_GROUPING)
    return _widened(format, texts)


def _is_certain(format: TextFormat, kept: list[TextFormat], texts: pa.Array) -> bool:
    """Whether the texts are whole numbers short enough to fit a format of numbers: then no check is needed."""
    is_whole = format.kind in ("whole", "real") and any(other.kind == "whole" for other in kept)
    max_length = _SHORT if format.grouping else text_numbers.MAX_EXACT_DIGITS
    return is_whole and pc.max(pc.utf8_length(texts)).as_py() <= max_length


def _has_long(texts: pa.Array) -> bool:
    """Whether a number without thousands separators is one that would have them, or has an exponent."""
    return bool(pc.any(pc.match_substring_regex(texts, f"^ *-?[0-9]{{{_SHORT + 1}}}|[0-9.,][eE]")).as_py())


def _has_short(texts: pa.Array) -> bool:
    return bool(pc.any(pc.match_substring_regex(texts, f"^ *-?[1-9][0-9]{{0,{_SHORT - 1}}} *$")).as_py())


def _widened(format: TextFormat, texts: pa.Array) -> TextFormat | None:
    """The format with the separators and room for the decimals of these texts, or None if they do not fit it."""
    if format.grouping == _UNSEEN_GROUPING:
        seen = [sign for sign in text_numbers.groupings_in(texts) if sign != format.style]
        format = replace(format, grouping=seen[0]) if len(seen) == 1 else format
    match format.kind:
        case "moment" | "span":
            min_decimals, max_decimals = text_temporal.count_digits(texts)
        case "real":
            min_decimals, max_decimals = text_numbers.count_decimals(texts, format.style)
        case _:
            min_decimals, max_decimals = 0, 0
    widened = replace(
        format,
        min_decimals=min(format.min_decimals, min_decimals),
        max_decimals=max(format.max_decimals, max_decimals),
    )
    return widened if _fits(texts, widened) else None


def _fits(texts: pa.Array, format: TextFormat) -> bool:
    try:
        parse(texts, format)
    except ValueError:  # includes ArrowInvalid
        return False
    return True

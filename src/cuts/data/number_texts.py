"""Numbers in text cells: the format they are written in, and the texts among them that are no numbers.

The format of a column is a pattern as in spreadsheets, with its own separators: `2.303,15` is written as `#.##0,00`.
`0` stands for a digit that is always written, `#` for one that is written where it is needed; `decimals` of the column
limits their number. Without a pattern numbers are written plainly, with a point before their decimals.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cuts.data.columns import Integer, Real
from cuts.data.exchange.evidence import Evidence, narrow, settle
from cuts.data.exchange.text_format import TextFormat, matching, parse, show
from cuts.data.exchange.text_numbers import ANY_PRECISION, GROUPINGS
from cuts.data.table import Floats

MAX_TEXTS = 20  # distinct texts that a column of numbers may have,
MIN_NUMBERS = 10  # beside at least this many distinct numbers,
NUMBERS_PER_TEXT = 2  # and this many for every text
_PATTERN = re.compile(rf"(?:#(?P<grouping>[{''.join(GROUPINGS)}])##)?0(?:(?P<point>[.,])(?P<always>0*)#*)?")
_LOOKS_LIKE_A_NUMBER = rf"^ *-?[.,]?[0-9][0-9{''.join(GROUPINGS)}]*(?:[eE][+-]?[0-9]+)? *$"


@dataclass(frozen=True, slots=True, eq=False)
class Recognised:
    """The numbers among texts, as values of a whole or real type, their pattern, and the other texts in order."""

    numbers: pa.Array
    pattern: str
    texts: tuple[str, ...]


def format_of(column: Integer | Real) -> TextFormat:
    """How the numbers of a column are written; raises `ValueError` if its pattern cannot be read.

    >>> format_of(Real("amount", 0.0, 9999.0, decimals=2, format="#.##0,00"))
    TextFormat(kind='real', style=',', min_decimals=2, max_decimals=2, grouping='.')
    """
    found = _PATTERN.fullmatch(column.format or "0")
    if found is None or (found["point"] and found["point"] == found["grouping"]):
        raise ValueError('`format` must be a pattern of separators and digits, e.g. "#,##0.00" or "0,0"')
    grouping, point, always = (found[part] or "" for part in ("grouping", "point", "always"))
    if isinstance(column, Integer) and not point:
        return TextFormat("whole", grouping=grouping)
    decimals = 0 if isinstance(column, Integer) else ANY_PRECISION if column.decimals is None else column.decimals
    return TextFormat(
        "real", point or ("," if grouping == "." else "."), len(always), max(decimals, len(always)), grouping
    )


def recognise(texts: Sequence[str]) -> Recognised | None:
    """What a column with these distinct texts is, if it is numbers with a few other texts; else None.

    Plain numbers alone are not recognised: somebody made them text. Numbers with separators that most programs do not
    read, such as `2.303,15`, are.
    """
    cells = pa.array(texts, pa.string())
    is_number = pc.match_substring_regex(cells, _LOOKS_LIKE_A_NUMBER)
    numbers, others = cells.filter(is_number), cells.filter(pc.invert(is_number)).to_pylist()
    if len(others) > MAX_TEXTS or len(numbers) < max(MIN_NUMBERS, NUMBERS_PER_TEXT * len(others)):
        return None
    format = settle(narrow(Evidence("", kinds=("whole", "real"), points=".,"), numbers))
    if format.kind == "text" or (not others and format.style in ("", ".") and not format.grouping):
        return None
    return Recognised(parse(numbers, format), _pattern_of(format), tuple(sorted(others)))


def count_numbers(texts: Sequence[str]) -> int:
    """How many of the texts look like numbers, codes with a leading zero left out.

    >>> count_numbers(["2.303,15", "1234,5", "007", "n.a."])
    2
    """
    cells = pa.array(texts, pa.string())
    is_number = pc.match_substring_regex(cells, _LOOKS_LIKE_A_NUMBER)
    return int(pc.sum(pc.and_not(is_number, pc.match_substring_regex(cells, "^ *-?0[0-9]"))).as_py() or 0)


def split_cells(cells: pa.Array, column: Integer | Real) -> tuple[pa.Array, pa.Array]:
    """The numbers of text cells as float64, and the cells that are no numbers; null elsewhere.

    Raises `ValueError` if a number is too large.
    """
    format = format_of(column)
    is_text = pc.or_(pc.is_in(cells, value_set=pa.array(column.texts, pa.string())), pc.invert(matching(cells, format)))
    numbers = parse(pc.if_else(is_text, None, cells), format).cast(pa.float64())
    return pc.if_else(pc.is_nan(numbers), None, numbers), pc.if_else(is_text, cells, None)


def write_cells(numbers: Floats, texts: pa.Array | None, column: Integer | Real) -> pa.Array:
    """The cells of numbers, NaN where there is none, and of texts, null where there is none."""
    format, absent = format_of(column), np.isnan(numbers)
    filled = np.where(absent, 0.0, numbers)
    values = pa.array(np.rint(filled).astype(np.int64) if format.kind == "whole" else filled, mask=absent)
    cells = show(values, format)
    return cells if texts is None else pc.coalesce(cells, texts)


def _pattern_of(format: TextFormat) -> str:
    """The pattern of a format; empty if its numbers are written plainly."""
    whole = f"#{format.grouping}##0" if format.grouping else "0"
    more = "#" if format.max_decimals > format.min_decimals else ""
    decimals = f"{format.style}{'0' * format.min_decimals}{more}" if format.max_decimals else ""
    pattern = whole + decimals
    return "" if pattern in ("0", "0.#") else pattern

"""Plain text tables: aligned columns, no colour, the same in every terminal but for its width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import zip_longest
from textwrap import wrap

GAP = 2  # spaces between columns
MIN_WIDTH = 10  # of a column that is wrapped

_width: ContextVar[int | None] = ContextVar("width", default=None)


@contextmanager
def at_most(width: int) -> Iterator[None]:
    """Tables that are aligned meanwhile fit this width, if they can: their longest cells are wrapped."""
    token = _width.set(width)
    try:
        yield
    finally:
        _width.reset(token)


def align(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """The rows below the header, with two spaces between columns; the columns in `right` are right-aligned.

    >>> print(align(["line", "level"], [["3", "ROW"]], right=[0]))
    line  level
       3  ROW
    >>> with at_most(24):
    ...     print(align(["line", "command"], [["3", "age > 18 IMPLIES paid == yes"]], right=[0]))
    line  command
       3  age > 18 IMPLIES
          paid == yes
    """
    table = [[_on_one_line(cell) for cell in row] for row in (header, *rows)]
    widths = _narrowed([max(len(cell) for cell in column) for column in zip(*table, strict=True)])
    lines = []
    for row in table:
        wrapped = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
        for parts in zip_longest(*wrapped, fillvalue=""):
            cells = [
                part.rjust(width) if index in right else part.ljust(width)
                for index, (part, width) in enumerate(zip(parts, widths, strict=True))
            ]
            lines.append((" " * GAP).join(cells).rstrip())
    return "\n".join(lines)


def _narrowed(widths: list[int]) -> list[int]:
    """The widths with the widest columns narrowed until the table fits, but none below `MIN_WIDTH`."""
    limit = _width.get()
    if limit is None:
        return widths
    widths = [*widths]
    for _ in range(sum(widths) + GAP * (len(widths) - 1) - limit):
        widest = max(range(len(widths)), key=widths.__getitem__)
        if widths[widest] <= MIN_WIDTH:
            break
        widths[widest] -= 1
    return widths


def _wrapped(cell: str, width: int) -> list[str]:
    """The cell in lines of that width; as it is if it fits."""
    return [cell] if len(cell) <= width else wrap(cell, width, break_on_hyphens=False) or [""]


def _on_one_line(cell: str) -> str:
    """The cell with its line breaks and tabs written as in a program: names of real tables have them."""
    return cell.translate({ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", 0x2028: "\\u2028", 0x85: "\\x85"})

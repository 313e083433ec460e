"""Plain text tables: aligned columns, no colour, the same in every terminal."""

from __future__ import annotations

from collections.abc import Sequence


def align(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """The rows below the header, with two spaces between columns; the columns in `right` are right-aligned.

    >>> print(align(["line", "level"], [["3", "ROW"]], right=[0]))
    line  level
       3  ROW
    """
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in (header, *rows):
        cells = [
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)

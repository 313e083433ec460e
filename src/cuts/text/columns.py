"""Plain text tables: aligned columns, no colour, the same in every terminal."""

from __future__ import annotations

from collections.abc import Sequence


def align(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """The rows below the header, with two spaces between columns; the columns in `right` are right-aligned.

    >>> print(align(["line", "level"], [["3", "ROW"]], right=[0]))
    line  level
       3  ROW
    """
    table = [[_on_one_line(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    lines = []
    for row in table:
        cells = [
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _on_one_line(cell: str) -> str:
    """The cell with its line breaks and tabs written as in a program: names of real tables have them."""
    return cell.translate({ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", 0x2028: "\\u2028", 0x85: "\\x85"})

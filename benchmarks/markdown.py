"""Markdown tables and numbers, as the page of the benchmarks shows them."""

from __future__ import annotations

from collections.abc import Sequence

NOT_YET = "No results yet.\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; every column after the first ends at the right.

    >>> print(table(["", "s"], [["fit", "3"]]))
    |  | s |
    |---|--:|
    | fit | 3 |
    <BLANKLINE>
    """
    ruler = ["---", *("--:" for _ in header[1:])]
    lines = [f"| {' | '.join(header)} |", f"|{'|'.join(ruler)}|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def spread(mean: float | None, std: float | None, digits: int = 2) -> str:
    """A mean with its standard deviation.

    >>> spread(85.371, 0.16), spread(84.0, None, 1), spread(None, None)
    ('85.37 ± 0.16', '84.0', '–')
    """
    if mean is None:
        return "–"
    return f"{mean:.{digits}f}" + ("" if std is None else f" ± {std:.{digits}f}")


def scientific(value: float | None) -> str:
    """A small number with three digits.

    >>> scientific(2.0679e-05)
    '2.07e-5'
    """
    if value is None:
        return "–"
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}e{int(exponent)}"

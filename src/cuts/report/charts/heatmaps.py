"""A number for every pair of columns as coloured cells: in the real rows, in the table, and the difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from markupsafe import Markup

from cuts.report.charts.svg import CHAR, chart, clip, element, label, rectangle, squeeze
from cuts.report.facts import Matrix
from cuts.report.words import decimal

Numbers = Sequence[Sequence[float | None]]
Which = Literal["real", "synthetic", "difference"]

MAX_COLUMNS = 40  # in a heat map
STEPS = (0.02, 0.05, 0.1, 0.2, 0.4)  # of differences: the lower ends of the five shades
_MAX_LABEL, _MAX_WIDE_LABEL = 16, 22  # letters
_WIDE = 20  # from here on the three maps are below each other


def is_wide(matrix: Matrix) -> bool:
    """Whether three of these maps are too wide to stand side by side."""
    return len(matrix.columns) > _WIDE


def difference(matrix: Matrix) -> list[list[float | None]]:
    """Synthetic less real; None where either is undefined."""
    return [
        [None if a is None or b is None else b - a for a, b in zip(real, synthetic, strict=True)]
        for real, synthetic in zip(matrix.real, matrix.synthetic, strict=True)
    ]


def largest(matrix: Matrix, columns: int = MAX_COLUMNS) -> Matrix:
    """The matrix, or its part for the columns with the largest differences in their given order."""
    if len(matrix.columns) <= columns:
        return matrix
    apart = [max((abs(d) for d in row if d is not None), default=0.0) for row in difference(matrix)]
    kept = sorted(sorted(range(len(apart)), key=lambda i: -apart[i])[:columns])

    def part(numbers: Numbers) -> tuple[tuple[float | None, ...], ...]:
        return tuple(tuple(numbers[i][j] for j in kept) for i in kept)

    return Matrix(tuple(matrix.columns[i] for i in kept), part(matrix.real), part(matrix.synthetic))


def heat_map(id: str, matrix: Matrix, which: Which, *, what: str, signed: bool) -> Markup:
    """One map; `signed` numbers go from -1 to 1, others from 0 to 1."""
    numbers: Numbers = difference(matrix) if which == "difference" else getattr(matrix, which)
    names = [squeeze(name, _MAX_WIDE_LABEL if is_wide(matrix) else _MAX_LABEL) for name in matrix.columns]
    cell = 15.0 if is_wide(matrix) else 16.0 if len(names) > 9 else 24.0
    margin = 10 + CHAR * max(map(len, names), default=0)
    marks: list[Markup] = []
    for i, row in enumerate(numbers):
        y = margin + i * cell
        marks.append(label(margin - 5, y + cell / 2 + 3.5, names[i], anchor="end"))
        x = margin + i * cell + cell / 2 + 3.5
        marks.append(
            element("text", names[i], transform=f"translate({x:.1f} {margin - 5:.1f}) rotate(-90)", class_="label")
        )
        for j, value in enumerate(row):
            kind = _shade(value, which, signed) if i != j else "same"
            tip = None if i == j else f"{names[i]} and {names[j]}: {decimal(value, 2)}"
            marks.append(rectangle(margin + j * cell, y, cell - 1, cell - 1, kind, tip=tip))
    side = margin + len(names) * cell
    scale = "heat signed" if signed and which != "difference" else "heat"
    name = f"{what}, {'synthetic less real' if which == 'difference' else which + ' rows'}"
    return chart(id, (side, side), marks, name=name, text=_description(matrix, numbers), kind=scale)


def legend(which: Which, *, signed: bool) -> list[tuple[str, str]]:
    """The shades of a map, each with what it stands for."""
    if which == "difference":
        words = {3: f"{STEPS[2]:g}", 5: f"{STEPS[4]:g}"}
        less = [(f"n{i}", f"−{words[i]}" if i in words else "") for i in (5, 4, 3, 2, 1)]
        return [*less, ("z", "0"), *((f"p{i}", f"+{words[i]}" if i in words else "") for i in (1, 2, 3, 4, 5))]
    if signed:
        return [
            ("n5", "−1"),
            *((f"n{i}", "") for i in (4, 3, 2, 1)),
            ("z", "0"),
            *((f"p{i}", "") for i in (1, 2, 3, 4)),
            ("p5", "1"),
        ]
    return [(f"q{i}", {0: "0", 5: "0.5", 10: "1"}.get(i, "")) for i in range(0, 11)]


def _shade(value: float | None, which: Which, signed: bool) -> str:
    if value is None:
        return "none"
    if which == "difference":
        step = sum(abs(value) >= low for low in STEPS)
    elif signed:
        step = min(5, round(abs(value) * 5))
    else:
        return f"q{min(10, max(0, round(value * 10)))}"
    return "z" if step == 0 else f"{'p' if value > 0 else 'n'}{step}"


def _description(matrix: Matrix, numbers: Numbers) -> str:
    pairs = [
        (abs(value), i, j, value)
        for i, row in enumerate(numbers)
        for j, value in enumerate(row[:i])
        if value is not None
    ]
    first = sorted(pairs, reverse=True)[:3]
    words = [
        f"{clip(matrix.columns[j], 40)} and {clip(matrix.columns[i], 40)} {decimal(value, 2)}"
        for _, i, j, value in first
    ]
    return f"{len(matrix.columns)} columns. Largest: {'; '.join(words)}." if words else "There are no pairs."

"""The distribution of one column in both tables: bars for categories, a histogram with a step line for the rest."""

from __future__ import annotations

from itertools import pairwise

from markupsafe import Markup

from cuts.report.charts.svg import chart, clip, element, label, line, points, rectangle, squeeze
from cuts.report.facts import Distribution
from cuts.report.words import percent, points_apart

WIDTH = 300.0
MAX_BARS = 7  # categories in a chart, the most frequent ones; all are in the table below it
MISSING = "missing"
_LABELS, _DIFFERENCES, _ROW = 108.0, 40.0, 19.0
_HEIGHT, _BOTTOM = 137.0, 18.0


def distribution(id: str, column: Distribution) -> Markup:
    """The chart of a column."""
    marks, height = _bars(column) if column.kind == "category" else _histogram(column)
    order = sorted(range(len(column.bins)), key=lambda i: -abs(column.synthetic[i] - column.real[i]))
    parts = [
        f"{clip(column.bins[i], 40)}: real {percent(column.real[i])}, synthetic {percent(column.synthetic[i])}"
        for i in order[:3]
    ]
    text = f"The largest differences are {'; '.join(parts)}." if parts else "There are no values."
    name = f"Distribution of {clip(column.column, 60)}, real and synthetic"
    return chart(id, (WIDTH, height), marks, name=name, text=text, kind="distribution")


def tip(column: Distribution, index: int) -> str:
    """The shares of one bin in words."""
    real, synthetic = column.real[index], column.synthetic[index]
    return f"{clip(column.bins[index], 80)}: real {percent(real)}, synthetic {percent(synthetic)}"


def _bars(column: Distribution) -> tuple[list[Markup], float]:
    """Two bars per category, the real one above, and the difference in percentage points."""
    most = sorted(range(len(column.bins)), key=lambda i: -max(column.real[i], column.synthetic[i]))
    shown = sorted(most if len(most) <= MAX_BARS else most[: MAX_BARS - 1])
    room = WIDTH - _LABELS - _DIFFERENCES
    largest = max([*column.real, *column.synthetic, 1e-9])
    marks = []
    for place, i in enumerate(shown):
        y = 2 + place * _ROW
        real, synthetic = column.real[i], column.synthetic[i]
        marks += [
            label(_LABELS - 8, y + 13, squeeze(column.bins[i], 16), anchor="end"),
            rectangle(_LABELS, y + 2, room * real / largest, 6.5, "real"),
            rectangle(_LABELS, y + 9.5, room * synthetic / largest, 6.5, "synthetic"),
            label(WIDTH, y + 13, points_apart(synthetic - real), anchor="end", kind="label quiet"),
            rectangle(0, y, WIDTH, _ROW, "target", tip=tip(column, i)),
        ]
    if len(shown) < len(column.bins):
        words = f"{len(column.bins) - len(shown)} more below"
        marks.append(label(_LABELS, 2 + len(shown) * _ROW + 13, words, kind="label quiet"))
    return marks, 4 + min(len(column.bins), MAX_BARS) * _ROW


def _histogram(column: Distribution) -> tuple[list[Markup], float]:
    """The real shares as bars, the synthetic ones as a step line; missing values stand apart on the right."""
    bins = len(column.bins)
    has_missing = bins > 1 and column.bins[-1] == MISSING
    numbers = bins - has_missing
    gap = 14.0 if has_missing else 0.0
    step = (WIDTH - gap) / max(bins, 1)
    largest = max([*column.real, *column.synthetic, 1e-9])
    base = _HEIGHT - _BOTTOM

    def left(i: int) -> float:
        return i * step + (gap if i >= numbers else 0.0)

    def top(share: float) -> float:
        return base - (base - 6) * share / largest

    inset = 0.5 if step > 4 else 0.0
    marks = [
        rectangle(left(i) + inset, top(column.real[i]), step - 2 * inset, base - top(column.real[i]), "real soft")
        for i in range(bins)
    ]
    for group in (range(numbers), range(numbers, bins)):
        corners = [(x, top(column.synthetic[i])) for i in group for x in (left(i), left(i) + step)]
        if corners:
            outline = [(corners[0][0], base), *corners, (corners[-1][0], base)]
            marks.append(element("polyline", points=points(_without_repeats(outline)), class_="synthetic-line"))
    marks.append(line(0, base, WIDTH, base, "axis"))
    marks += [rectangle(left(i), 0, step, base, "target", tip=tip(column, i)) for i in range(bins)]
    return [*marks, *_ends(column, numbers, has_missing)], _HEIGHT


def _ends(column: Distribution, numbers: int, has_missing: bool) -> list[Markup]:
    """The first and last range below the axis, and `missing` if it has a bar."""
    y = _HEIGHT - 4
    if numbers < 2:
        marks = [label(0, y, clip(words, 40)) for words in column.bins[:numbers]]
    else:
        last_x = WIDTH - 48 if has_missing else WIDTH
        marks = [
            label(0, y, clip(column.bins[0], 22)),
            label(last_x, y, clip(column.bins[numbers - 1], 22), anchor="end"),
        ]
    return [*marks, label(WIDTH, y, MISSING, anchor="end")] if has_missing else marks


def _without_repeats(places: list[tuple[float, float]]) -> list[tuple[float, float]]:
    return [places[0], *(after for before, after in pairwise(places) if after != before)]

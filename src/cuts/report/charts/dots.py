"""Dots and whiskers: one row per learner, one dot per table or measurement, on a common axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite

from markupsafe import Markup

from cuts.lang.printer import short
from cuts.report.charts.svg import chart, element, label, line, squeeze, ticks

_LABELS, _RIGHT, _ROW, _TOP = 112.0, 16.0, 26.0, 8.0


@dataclass(frozen=True, slots=True)
class Dot:
    """A value of one series; the interval is drawn as a whisker."""

    series: str  # "real" or "synthetic"
    value: float
    text: str  # the value as people write it
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """The dots of one name."""

    name: str
    dots: tuple[Dot, ...]


def dots(
    id: str,
    rows: Sequence[Row],
    *,
    name: str,
    width: float = 300.0,
    start: float | None = None,
    target: tuple[float, str] | None = None,
) -> Markup:
    """A chart of all rows; `start` is a value the axis must include, `target` a line with its name."""
    numbers = [n for row in rows for dot in row.dots for n in (dot.value, *(dot.interval or ())) if isfinite(n)]
    numbers += [n for n in (start, target[0] if target else None) if n is not None]
    low, high = _range(numbers)

    def x(value: float) -> float:
        return _LABELS + (width - _LABELS - _RIGHT) * (value - low) / (high - low)

    base = _TOP + _ROW * len(rows)
    marks: list[Markup] = []
    for tick in ticks(low, high, 3 if width < 400 else 4):
        marks += [
            line(x(tick), _TOP, x(tick), base, "grid"),
            label(x(tick), base + 15, short(tick, 6), anchor="middle"),
        ]
    if target is not None:
        words = f"target {target[1]}"
        anchor = "end" if x(target[0]) > width - 90 else "start"
        marks.append(line(x(target[0]), _TOP - 4, x(target[0]), base + 20, "limit"))
        marks.append(label(x(target[0]), base + 32, words, anchor=anchor, kind="label limit-text"))
    for index, row in enumerate(rows):
        y = _TOP + _ROW * (index + 0.5)
        marks.append(label(_LABELS - 10, y + 4, squeeze(row.name, 20), anchor="end"))
        if len(row.dots) > 1 and all(isfinite(dot.value) for dot in row.dots):
            ends = sorted(x(dot.value) for dot in row.dots)
            marks.append(line(ends[0], y, ends[-1], y, "between"))
        marks += [mark for dot in row.dots if isfinite(dot.value) for mark in _dot(row.name, dot, y, x)]
    text = "; ".join(f"{row.name}: {', '.join(_said(row, dot) for dot in row.dots)}" for row in rows)
    height = base + (40 if target is not None else 22)
    return chart(id, (width, height), marks, name=name, text=f"{text}.", kind="dots")


def _dot(name: str, dot: Dot, y: float, place: Callable[[float], float]) -> list[Markup]:
    """Real rows are circles, synthetic ones diamonds: the shapes differ as the colours do."""
    x, marks = place(dot.value), []
    tip = f"{name}, {dot.series}: {dot.text}"
    if dot.interval is not None:
        left, right = (place(end) for end in dot.interval)
        marks.append(
            element(
                "path",
                d=f"M{left:.1f} {y - 5:.1f}v10M{left:.1f} {y:.1f}H{right:.1f}M{right:.1f} {y - 5:.1f}v10",
                class_="whisker",
            )
        )
        tip += f", 95 % interval {short(dot.interval[0], 3)} to {short(dot.interval[1], 3)}"
    if dot.series == "real":
        return [*marks, element("circle", cx=x, cy=y, r=5.5, class_="real", data_t=tip)]
    shape = f"M{x:.1f} {y - 7:.1f}l7 7l-7 7l-7 -7z"
    return [*marks, element("path", d=shape, class_="synthetic", data_t=tip)]


def _said(row: Row, dot: Dot) -> str:
    return dot.text if len(row.dots) == 1 else f"{dot.series} {dot.text}"


def _range(numbers: Sequence[float]) -> tuple[float, float]:
    if not numbers:
        return 0.0, 1.0
    low, high = min(numbers), max(numbers)
    room = (high - low) * 0.06 or max(abs(high), 1.0) * 0.05
    return (low - room if low != 0 else -room / 3), high + room

"""Numbers on a line with their yardsticks, and small bars for tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from cuts.report.charts.svg import chart, element, label, line, rectangle, ticks

_WIDTH, _MARGIN = 520.0, 20.0


@dataclass(frozen=True, slots=True)
class Mark:
    """A number on a scale: the one that counts (`is_main`) or a yardstick; `error` is half the width of its bar."""

    value: float
    name: str
    is_main: bool
    error: float = 0.0


def scale(id: str, marks: Sequence[Mark], *, ends: tuple[float, float], words: tuple[str, str], name: str) -> Markup:
    """A line from one end to the other, both in words, with the main number above it and the yardsticks below."""
    low, high = ends

    def x(value: float) -> float:
        return _MARGIN + (_WIDTH - 2 * _MARGIN) * (min(high, max(low, value)) - low) / (high - low)

    y, drawn = 44.0, [line(_MARGIN, 44, _WIDTH - _MARGIN, 44, "axis thick")]
    for tick in ticks(low, high, 5):
        drawn += [line(x(tick), y - 4, x(tick), y + 4, "axis"), label(x(tick), y + 20, f"{tick:g}", anchor="middle")]
    for mark in marks:
        tip = f"{mark.name}: {mark.value:.3f}"
        if mark.is_main:
            if mark.error:
                left, right = x(mark.value - mark.error), x(mark.value + mark.error)
                drawn.append(rectangle(left, y - 4, right - left, 8, "interval"))
            drawn.append(element("circle", cx=x(mark.value), cy=y, r=7, class_="synthetic", data_t=tip))
            drawn.append(
                label(
                    x(mark.value),
                    y - 16,
                    f"{mark.name} {mark.value:.3f}",
                    anchor=_anchor(x(mark.value)),
                    kind="label strong",
                )
            )
        else:
            drawn.append(element("path", d=f"M{x(mark.value):.1f} {y - 9:.1f}v18", class_="yardstick", data_t=tip))
    below = [mark for mark in marks if not mark.is_main]
    for mark in below:
        drawn.append(
            label(
                x(mark.value),
                y + 41,
                f"{mark.name} {mark.value:.3f}",
                anchor=_anchor(x(mark.value)),
                kind="label real-text",
            )
        )
    depth = 62.0 if below else 41.0
    drawn += [
        label(_MARGIN, y + depth, words[0], kind="label quiet"),
        label(_WIDTH - _MARGIN, y + depth, words[1], anchor="end", kind="label quiet"),
    ]
    numbers = "; ".join(f"{mark.name} {mark.value:.3f}" for mark in marks)
    text = f"From {low:g} ({words[0]}) to {high:g} ({words[1]}): {numbers}."
    return chart(id, (_WIDTH, y + depth + 8), drawn, name=name, text=text, kind="scale")


def bar(share: float, *, mark: float | None = None, kind: str = "ink") -> Markup:
    """A bar from 0 to 1 without a name, for a table cell that has the number; `mark` is a tick for the yardstick."""
    marks = [rectangle(0, 3, 120, 6, "track"), rectangle(0, 3, 120 * min(1.0, max(0.0, share)), 6, kind)]
    if mark is not None:
        marks.append(line(120 * min(1.0, mark), 0, 120 * min(1.0, mark), 12, "yardstick"))
    return element("svg", *marks, class_="bar", viewBox="0 0 120 12", width=120, height=12, aria_hidden="true")


def _anchor(x: float) -> str:
    return "start" if x < 110 else "end" if x > _WIDTH - 110 else "middle"

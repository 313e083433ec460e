"""A picture of points with error bars, as the text of an SVG file: readable in light and dark, without a library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isfinite, log10

WIDTH, HEIGHT = 720, 480
LEFT, RIGHT, TOP, BOTTOM = 78, 24, 108, 64  # margins
TICKS = 8  # of an axis, about
LETTER = 6.6  # width of one in a label, about
LONGEST = 100  # letters of a note

# Plain rules: many viewers know neither variables nor dark mode, and show the light colours.
_STYLE = """
    text { font: 12px system-ui, sans-serif; fill: #1c1c1c }
    .title { font-size: 15px; font-weight: 600 }
    .soft { fill: #5f5f5f }
    .strong { font-weight: 600 }
    .paper { fill: #ffffff }
    .grid { stroke: #dddddd }
    .axis { stroke: #5f5f5f }
    .bar { stroke: #0b63b6; stroke-opacity: 0.45 }
    .line { stroke: #0b63b6; stroke-dasharray: 5 4; fill: none }
    .point { stroke: #0b63b6; stroke-width: 1.8; fill: #ffffff }
    .full { fill: #0b63b6 }
    .ring { stroke: #1c1c1c; stroke-width: 1.4; fill: none }
    @media (prefers-color-scheme: dark) {
      text { fill: #ededed }
      .soft { fill: #a8a8a8 }
      .paper { fill: #161616 }
      .grid { stroke: #3a3a3a }
      .axis { stroke: #a8a8a8 }
      .bar, .line { stroke: #6cb4ff }
      .point { stroke: #6cb4ff; fill: #161616 }
      .full { fill: #6cb4ff }
      .ring { stroke: #ededed }
    }
"""


@dataclass(frozen=True, slots=True)
class Mark:
    """A point with the half lengths of its error bars; `about` is told when one points at it."""

    x: float
    y: float
    dx: float
    dy: float
    label: str
    about: str
    is_full: bool  # filled, and joined to the others that are
    is_chosen: bool  # with a ring around it


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis is called, and the range that cannot be left."""

    name: str
    low: float
    high: float


def draw_picture(marks: Sequence[Mark], across: Axis, up: Axis, *, title: str, notes: Sequence[str]) -> str:
    """The picture as the text of an SVG file; `notes` are up to three lines below the title."""
    shown = [mark for mark in marks if isfinite(mark.x) and isfinite(mark.y)]
    xs = _Scale(across, [(m.x, m.dx) for m in shown], LEFT, WIDTH - RIGHT)
    ys = _Scale(up, [(m.y, m.dy) for m in shown], HEIGHT - BOTTOM, TOP)
    inside = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        f' role="img" aria-label="{_safe(title)}">',
        f"<title>{_safe(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>',
        _text(LEFT, 28, _cut(title), "title"),
        *(_text(LEFT, 49 + 18 * place, _cut(note), "soft") for place, note in enumerate(notes)),
        *_axes(xs, ys),
        *_marks(shown, xs, ys),
        "</svg>",
    ]
    return "\n".join(inside) + "\n"


# --- scales


class _Scale:
    """Numbers of an axis to places on the page, and its ticks."""

    def __init__(self, axis: Axis, found: Sequence[tuple[float, float]], start: int, end: int) -> None:
        self.axis, self._start, self._end = axis, start, end
        ends = [max(axis.low, v - _half(d)) for v, d in found] + [min(axis.high, v + _half(d)) for v, d in found]
        low, high = (min(ends), max(ends)) if ends else (axis.low, axis.high)
        room = max(0.08 * (high - low), 0.005)
        self.low, self.high = max(axis.low, low - room), min(axis.high, high + room)

    def place(self, value: float) -> float:
        """Where a number lies; beyond the range of the axis it is at its end."""
        within = min(max(value, self.low), self.high)
        return self._start + (within - self.low) / (self.high - self.low) * (self._end - self._start)

    def ticks(self) -> list[tuple[float, str]]:
        """Places of round numbers, and these."""
        step = _round_step((self.high - self.low) / TICKS)
        digits = max(0, -floor(log10(step)))
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [(self.place(number * step), f"{number * step:.{digits}f}") for number in range(first, last + 1)]


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, 20 and so on, or of 0.1, 0.2, 0.5 and so on, that is not below.

    >>> _round_step(0.013)
    0.02
    """
    power = floor(log10(least))
    return next(factor * 10.0**power for factor in (1, 2, 5, 10) if factor * 10.0**power >= least)


def _half(length: float) -> float:
    return length if isfinite(length) else 0.0


# --- parts


def _axes(xs: _Scale, ys: _Scale) -> Iterator[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for at, text in xs.ticks():
        yield _line(at, TOP, at, bottom, "grid")
        yield _text(at, bottom + 18, text, "soft", "middle")
    for at, text in ys.ticks():
        yield _line(LEFT, at, right, at, "grid")
        yield _text(LEFT - 8, at + 4, text, "soft", "end")
    yield _line(LEFT, bottom, right, bottom, "axis")
    yield _line(LEFT, TOP, LEFT, bottom, "axis")
    yield _text((LEFT + right) / 2, HEIGHT - 18, xs.axis.name, "", "middle")
    middle = (TOP + bottom) / 2
    yield (
        f'<text x="20" y="{middle:.1f}" text-anchor="middle" transform="rotate(-90 20 {middle:.1f})">'
        f"{_safe(ys.axis.name)}</text>"
    )


def _marks(marks: Sequence[Mark], xs: _Scale, ys: _Scale) -> Iterator[str]:
    places = [(xs.place(mark.x), ys.place(mark.y)) for mark in marks]
    full = sorted(place for mark, place in zip(marks, places, strict=True) if mark.is_full)
    if len(full) > 1:
        yield f'<polyline class="line" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in full)}"/>'
    for mark, (x, y) in zip(marks, places, strict=True):
        yield _line(xs.place(mark.x - _half(mark.dx)), y, xs.place(mark.x + _half(mark.dx)), y, "bar")
        yield _line(x, ys.place(mark.y - _half(mark.dy)), x, ys.place(mark.y + _half(mark.dy)), "bar")
    for mark, (x, y) in zip(marks, places, strict=True):
        if mark.is_chosen:
            yield f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="9.5"/>'
        kind = "point full" if mark.is_full else "point"
        about = f"<title>{_safe(mark.about)}</title>"
        yield f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5">{about}</circle>'
    for mark, (x, y) in zip(marks, _label_places(marks, places), strict=True):
        yield _text(x, y, mark.label, "strong" if mark.is_chosen else "")


def _label_places(marks: Sequence[Mark], places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Where each label begins: beside its point, at the first place that no point and no earlier label takes."""
    taken = [_Box(x - 7, y - 7, x + 7, y + 7) for x, y in places]
    page = _Box(LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)
    found = []
    for mark, (x, y) in zip(marks, places, strict=True):
        width = LETTER * len(mark.label)
        downs = [down for far in (0, 14, 28) for down in (-8 - far, 17 + far)]
        around = [_label_box(start, y + down, width) for down in downs for start in (x + 11, x - 11 - width)]
        free = [box for box in around if box.is_within(page) and not any(box.meets(other) for other in taken)]
        chosen = (free or around)[0]
        taken.append(chosen)
        found.append((chosen.left, chosen.bottom - 2))
    return found


@dataclass(frozen=True, slots=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        apart = self.right < other.left or other.right < self.left
        return not apart and self.top < other.bottom and other.top < self.bottom

    def is_within(self, other: _Box) -> bool:
        across = other.left <= self.left and self.right <= other.right
        return across and other.top <= self.top and self.bottom <= other.bottom


def _label_box(x: float, y: float, width: float) -> _Box:
    return _Box(x, y - 10, x + width, y + 2)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_safe(text)}</text>'


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _safe(text: str) -> str:
    """The text as XML: signs escaped, what cannot be in XML replaced."""
    return escape("".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text))

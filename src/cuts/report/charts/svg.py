"""SVG elements as escaped text, and what all charts share: the frame, marks with tooltips, and axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import floor, isfinite
from re import compile as pattern

from markupsafe import Markup, escape

from cuts.assess.readable_bins import round_step

_INVISIBLE = pattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
CHAR = 5.9  # mean width of a letter of a label, in units of the drawing


def element(name: str, *children: str, **attributes: object) -> Markup:
    """An element; children and attributes are escaped unless they are `Markup`, and None leaves an attribute out.

    >>> element("text", "<b>", x=1.0, class_="label", data_t='"')
    Markup('<text x="1" class="label" data-t="&#34;">&lt;b&gt;</text>')
    """
    words = "".join(
        f' {key.rstrip("_").replace("_", "-") if key != "viewBox" else key}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(escape(visible(child)) for child in children)
    return Markup(f"<{name}{words}>{inner}</{name}>" if inner else f"<{name}{words}/>")


def chart(id: str, size: tuple[float, float], marks: Iterable[str], *, name: str, text: str, kind: str) -> Markup:
    """A drawing of this size with an accessible name and description; it takes the focus, its marks do not."""
    width, height = size
    return element(
        "svg",
        element("desc", text, id=f"{id}-text"),
        *marks,
        id=id,
        class_=f"chart {kind}",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=round(width),
        height=round(height),
        role="img",
        tabindex=0,
        aria_label=name,
        aria_describedby=f"{id}-text",
    )


def label(x: float, y: float, words: str, *, anchor: str = "start", kind: str = "label") -> Markup:
    """A text at a place."""
    return element("text", words, x=x, y=y, text_anchor=None if anchor == "start" else anchor, class_=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def rectangle(x: float, y: float, width: float, height: float, kind: str, *, tip: str | None = None) -> Markup:
    """A rectangle, with a tooltip if `tip` is given."""
    return element("rect", x=x, y=y, width=max(width, 0.0), height=max(height, 0.0), class_=kind, data_t=tip)


def ticks(low: float, high: float, count: int) -> list[float]:
    """About `count` round numbers inside a range.

    >>> ticks(0, 0.037, 4)
    [0.0, 0.01, 0.02, 0.03]
    """
    if not (isfinite(low) and isfinite(high) and high > low):
        return [low]
    step = round_step((high - low) / count)
    first = -floor(-low / step + 1e-9)
    return [round(step * index, 12) + 0.0 for index in range(first, floor(high / step + 1e-9) + 1)]


def clip(words: str, length: int) -> str:
    """The text, or its beginning and an ellipsis, in one line.

    >>> clip("never married", 8)
    'never m…'
    """
    flat = " ".join(words[: 4 * length + 40].split())
    return flat if len(flat) <= length and len(words) <= 4 * length + 40 else f"{flat[: length - 1]}…"


def squeeze(words: str, length: int) -> str:
    """The text, or its beginning and its end: names of columns often differ in their last letters.

    >>> squeeze("measurement_of_sensor_003", 12)
    'measure…_003'
    """
    flat = clip(words, len(words) + 1)
    tail = length // 3
    return flat if len(flat) <= length else f"{flat[: length - tail - 1]}…{flat[-tail:]}"


def visible(words: str) -> str:
    r"""The text with replacements for control characters and those that turn the direction of writing; not of `Markup`.

    >>> visible("a\x07b") == "a\ufffdb"
    True
    """
    return words if isinstance(words, Markup) else _INVISIBLE.sub("\ufffd", words)


def points(places: Sequence[tuple[float, float]]) -> str:
    """The places as the `points` of a polyline."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _attribute(value: object) -> Markup:
    if isinstance(value, float):
        return Markup(f"{value:.1f}".removesuffix(".0"))
    return escape(visible(value) if isinstance(value, str) else value)

"""A picture of points with error bars, as the text of an SVG file; drawn by matplotlib, part of `cuts[report]`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from io import StringIO
from math import isfinite
from typing import TYPE_CHECKING, Any

from cuts.text.diagnostic import usage_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOUR = "#0b63b6"
MAX_LINE = 110  # characters


@dataclass(frozen=True, slots=True)
class Mark:
    """A point with the half lengths of its error bars; a filled one is joined to the others that are."""

    x: float
    y: float
    x_error: float
    y_error: float
    label: str
    is_filled: bool
    is_chosen: bool  # with a ring around it


@dataclass(frozen=True, slots=True)
class Picture:
    """Points in the unit square, the names of the axes, a title, lines below it, and the whole in words."""

    marks: Sequence[Mark]
    x_name: str
    y_name: str
    title: str
    notes: Sequence[str]
    description: str


def check_drawable() -> None:
    """Raise when the library that draws is not installed."""
    if find_spec("matplotlib") is None:
        raise usage_error("missing-extra", "drawing a picture needs matplotlib", 'pip install "cuts[report]"')


def as_svg(picture: Picture) -> str:
    """The text of an SVG file, the same for equal pictures; screen readers find the title and the description."""
    check_drawable()
    from matplotlib import rc_context

    text = StringIO()
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",  # text stays text: it can be searched, and read aloud
        "svg.hashsalt": "cuts",  # equal pictures are equal files
        "text.parse_math": False,  # a name may contain dollar signs
    }
    with rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # of a letter outside the font that measures; viewers have others
        build_figure(picture).savefig(text, format="svg", metadata={"Date": None, "Title": _printable(picture.title)})
    named = text.getvalue().replace("<svg ", '<svg role="img" ', 1)
    return named.replace("</title>", f"</title>\n <desc>{escape(_printable(picture.description))}</desc>", 1)


def build_figure(picture: Picture) -> Figure:
    """The figure, outside the global state of `pyplot`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5.4), layout="constrained")
    axes = figure.add_subplot()
    axes.set_axisbelow(True)
    axes.grid(color="#dddddd")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(_line(picture.x_name))
    axes.set_ylabel(_line(picture.y_name))
    figure.suptitle(_line(picture.title), x=0.02, ha="left", fontweight="bold")
    axes.set_title("\n".join(map(_line, picture.notes)), loc="left", fontsize=8.5, color="#5f5f5f")
    _draw_marks(axes, [mark for mark in picture.marks if isfinite(mark.x) and isfinite(mark.y)])
    return figure


def _draw_marks(axes: Axes, marks: Sequence[Mark]) -> None:
    for mark in marks:
        errors = _length(mark.y_error), _length(mark.x_error)
        axes.errorbar(mark.x, mark.y, *errors, fmt="none", ecolor=COLOUR, alpha=0.45)
    joined = sorted((mark.x, mark.y) for mark in marks if mark.is_filled)
    axes.plot([x for x, _ in joined], [y for _, y in joined], "--", color=COLOUR, linewidth=1)
    for number, mark in enumerate(marks):
        face, kind = (COLOUR, "filled") if mark.is_filled else ("white", "open")
        axes.plot(mark.x, mark.y, "o", markersize=7, color=COLOUR, markerfacecolor=face, gid=f"{kind}-point-{number}")
        if mark.is_chosen:
            axes.plot(mark.x, mark.y, "o", markersize=13, color="black", fillstyle="none", gid=f"ring-{number}")
        weight = "bold" if mark.is_chosen else "normal"
        axes.annotate(_line(mark.label), (mark.x, mark.y), (9, -14), textcoords="offset points", fontweight=weight)
    for limits, set_limits in ((axes.get_xlim(), axes.set_xlim), (axes.get_ylim(), axes.set_ylim)):
        set_limits(max(limits[0], -0.02), min(limits[1], 1.02))


def _length(error: float) -> float:
    return error if isfinite(error) else 0.0


def _line(text: str) -> str:
    shown = _printable(text)
    return shown if len(shown) <= MAX_LINE else f"{shown[: MAX_LINE - 1]}…"


def _printable(text: str) -> str:
    """The text, with a replacement for every character that XML does not allow."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)

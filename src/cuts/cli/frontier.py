"""The frontier of a fairness command as text, as JSON values and as a picture."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

from cuts.assess.render import plain
from cuts.cli.picture import Axis, Mark, draw_picture
from cuts.lang.printer import short
from cuts.text.columns import align
from cuts.text.diagnostic import counted

if TYPE_CHECKING:  # torch is loaded by the commands that need it
    from cuts.flow.frontier import Figure, Frontier, Point


def as_text(found: Frontier) -> str:
    """A line a point."""
    header = ["turned", "gap", "±", "accuracy", "±", "frontier"]
    cells = [
        [short(point.fraction, 3), *_figure(point.gap), *_figure(point.accuracy), _marked(point)]
        for point in found.points
    ]
    origin = found.command.origin
    return "\n".join(
        [
            f"{counted(found.rows, 'row')} in {counted(found.folds, 'fold')}; line {origin.line}: {origin.title}",
            "gap and accuracy: of XGBoost trained on drawn tables, on held-out rows",
            "turned: how far from the table without the command, 0, to the one the program makes, 1",
            "",
            align(header, cells, right=range(len(header) - 1)),
        ]
    )


def _figure(figure: Figure) -> list[str]:
    return [f"{number:.4f}" if isfinite(number) else "-" for number in (figure.mean, figure.std)]


def _marked(point: Point) -> str:
    return " ".join(word for word, holds in (("*", point.on_frontier), ("chosen", point.is_chosen)) if holds)


def as_data(found: Frontier) -> dict[str, Any]:
    """The same facts as JSON values."""
    origin, measure = found.command.origin, found.command.measure
    points = [{**asdict(point), "is_chosen": point.is_chosen} for point in found.points]
    return {
        "rows": found.rows,
        "folds": found.folds,
        "command": {
            "number": origin.number,
            "line": origin.line,
            "command": origin.title,
            "measure": measure.name,
            "target": measure.target,
            "protected": list(measure.protected),
        },
        "points": plain(points),
    }


def as_picture(found: Frontier) -> str:
    """The text of an SVG file."""
    measure = found.command.measure
    return draw_picture(
        [_mark(point) for point in found.points],
        Axis(f"gap: {measure.name} (smaller is fairer)", 0.0, 1.0),
        Axis(f"accuracy for {measure.target}", 0.0, 1.0),
        title="The price of fairness",
        notes=[
            found.command.origin.title,
            f"XGBoost on held-out rows, mean and standard deviation over {counted(found.folds, 'fold')} "
            f"of {counted(found.rows, 'row')}",
            "filled: on the frontier; numbers: from the table without the command (0) to the program's (1)",
        ],
    )


def _mark(point: Point) -> Mark:
    label = short(point.fraction, 3)
    gap, accuracy = (" ± ".join(_figure(figure)) for figure in (point.gap, point.accuracy))
    return Mark(
        point.gap.mean,
        point.accuracy.mean,
        point.gap.std,
        point.accuracy.std,
        f"{label} chosen" if point.is_chosen else label,
        f"turned by {label}: gap {gap}, accuracy {accuracy}",
        point.on_frontier,
        point.is_chosen,
    )

"""The frontier of a fairness command as text, as JSON values and as a picture."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

from cuts.assess.render import plain
from cuts.cli.picture import Mark, Picture, as_svg
from cuts.lang.printer import short
from cuts.text.columns import align
from cuts.text.diagnostic import counted

if TYPE_CHECKING:  # torch is loaded by the commands that need it
    from cuts.flow.frontier import Figure, Frontier, Point


def as_text(frontier: Frontier) -> str:
    """One line per point, below an explanation of the columns."""
    header = ["strength", "gap", "± std", "accuracy", "± std", "frontier"]
    cells = [
        [short(point.fraction, 3), *_figure(point.gap), *_figure(point.accuracy), _marks(point)]
        for point in frontier.points
    ]
    origin = frontier.command.origin
    return "\n".join(
        [
            f"{counted(frontier.rows, 'row')} in {counted(frontier.folds, 'fold')}; line {origin.line}: {origin.title}",
            "strength: 0 is the table without the command, 1 the table of the program",
            f"gap (0 is fair) and accuracy: of XGBoost, trained on synthetic rows and tested on held-out real rows; "
            f"mean over {counted(frontier.folds, 'fold')}",
            "frontier: * where no other point has both a smaller gap and a higher accuracy",
            "",
            align(header, cells, right=range(len(header) - 1)),
        ]
    )


def as_data(frontier: Frontier) -> dict[str, Any]:
    """The same facts as JSON values."""
    origin, measure = frontier.command.origin, frontier.command.measure
    points = [{**asdict(point), "is_chosen": point.is_chosen} for point in frontier.points]
    return {
        "rows": frontier.rows,
        "folds": frontier.folds,
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


def as_picture(frontier: Frontier) -> str:
    """The text of an SVG file: accuracy over the gap, one mark per point."""
    measure = frontier.command.measure
    return as_svg(
        Picture(
            [_mark(point) for point in frontier.points],
            f"gap: {measure.name} (0 is fair)",
            f"accuracy of predicting {measure.target}",
            "The price of fairness",
            [
                frontier.command.origin.title,
                f"XGBoost on held-out rows: mean ± standard deviation over {counted(frontier.folds, 'fold')} "
                f"of {counted(frontier.rows, 'row')}",
                "numbers: strength of the command, 1 is the program; filled: on the frontier",
            ],
            f"{frontier.command.origin.title}: {'; '.join(map(_described, frontier.points))}",
        )
    )


def _mark(point: Point) -> Mark:
    strength = short(point.fraction, 3)
    label = f"{strength} program" if point.is_chosen else strength
    gap, accuracy = point.gap, point.accuracy
    return Mark(gap.mean, accuracy.mean, gap.std, accuracy.std, label, point.on_frontier, point.is_chosen)


def _described(point: Point) -> str:
    gap, accuracy = (" ± ".join(_figure(figure)) for figure in (point.gap, point.accuracy))
    return f"strength {short(point.fraction, 3)}: gap {gap}, accuracy {accuracy}"


def _figure(figure: Figure) -> list[str]:
    return [f"{number:.4f}" if isfinite(number) else "-" for number in (figure.mean, figure.std)]


def _marks(point: Point) -> str:
    return " ".join(word for word, holds in (("*", point.on_frontier), ("program", point.is_chosen)) if holds)

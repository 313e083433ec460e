"""What a better value of a measure costs: the trials as points, joined in the order of the measure."""

from __future__ import annotations

from markupsafe import Markup

from cuts.lang.printer import short
from cuts.report.charts.svg import chart, clip, element, label, line, points, ticks
from cuts.report.facts import TradeOffFacts, TradeOffPoint
from cuts.report.words import percent

WIDTH, HEIGHT = 460.0, 230.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 18.0, 34.0, 40.0


def trade_off(id: str, facts: TradeOffFacts) -> Markup:
    """Utility against the measure: the start, the trials, and the chosen one."""
    measure = facts.measure.replace("`", "")
    utility = facts.utility.replace("`", "")
    every = sorted({facts.start, *facts.trials}, key=lambda point: (point.value, point.utility))
    x_low, x_high = _padded([p.value for p in every] + [0.0])
    y_low, y_high = _padded([p.utility for p in every])

    def place(point: TradeOffPoint) -> tuple[float, float]:
        x = _LEFT + (WIDTH - _LEFT - _RIGHT) * (point.value - x_low) / (x_high - x_low)
        y = HEIGHT - _BOTTOM - (HEIGHT - _BOTTOM - _TOP) * (point.utility - y_low) / (y_high - y_low)
        return x, y

    marks = []
    for tick in ticks(max(0.0, x_low), x_high, 5):
        x, _ = place(TradeOffPoint(tick, y_low))
        marks += [line(x, _TOP, x, HEIGHT - _BOTTOM, "grid"), label(x, HEIGHT - 24, short(tick, 4), anchor="middle")]
    for tick in ticks(y_low, y_high, 4):
        _, y = place(TradeOffPoint(x_low, tick))
        marks += [
            line(_LEFT, y, WIDTH - _RIGHT, y, "grid"),
            label(_LEFT - 8, y + 4, _utility(tick, y_high - y_low), anchor="end"),
        ]
    marks.append(label(_LEFT - 50, 13, clip(utility, 70), kind="label quiet"))
    marks.append(label(WIDTH - _RIGHT, HEIGHT - 6, clip(measure, 60), anchor="end", kind="label quiet"))
    marks.append(element("polyline", points=points([place(point) for point in every]), class_="between"))
    chosen = min(facts.trials or (facts.start,), key=lambda point: abs(point.value - facts.chosen))
    for point in sorted(every, key=lambda point: (point == chosen, point == facts.start)):  # the chosen one on top
        words = "before" if point == facts.start else "chosen" if point == chosen else "trial"
        marks += _point(
            place(point),
            words,
            f"{words}: {measure} {short(point.value, 3)}, {utility} {percent(point.utility, 2)}",
        )
    text = (
        f"Before: {measure} {short(facts.start.value, 3)} at {utility} {percent(facts.start.utility, 2)}. "
        f"Chosen: {short(chosen.value, 3)} at {percent(chosen.utility, 2)}, after {len(facts.trials)} trials."
    )
    return chart(
        id,
        (WIDTH, HEIGHT),
        marks,
        name=f"Line {facts.line}: {utility} against {measure}",
        text=text,
        kind="curve",
    )


def _point(place: tuple[float, float], words: str, tip: str) -> list[Markup]:
    x, y = place
    if words == "trial":
        return [element("circle", cx=x, cy=y, r=4.5, class_="trial", data_t=tip)]
    anchor, shift = ("end", -10) if x > WIDTH - 90 else ("start", 10)
    name = label(x + shift, y - 10 if words == "before" else y + 16, words, anchor=anchor, kind="label strong")
    if words == "before":
        return [element("circle", cx=x, cy=y, r=5.5, class_="real", data_t=tip), name]
    return [element("path", d=f"M{x:.1f} {y - 7:.1f}l7 7l-7 7l-7 -7z", class_="synthetic", data_t=tip), name]


def _padded(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = (high - low) * 0.1 or max(abs(high), 1.0) * 0.05
    return low - room, high + room


def _utility(value: float, span: float) -> str:
    return percent(value, 0 if span > 0.05 else 1) if 0 <= value <= 1 else short(value, 3)

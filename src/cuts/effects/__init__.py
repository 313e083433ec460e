"""A program's commands on a model: one pass per kind of command, each in a module of its own.

A pass takes its commands from the plan, by their way, and leaves the model alone if there are none.
"""

from __future__ import annotations

from collections.abc import Callable

from cuts.effects import fairness, hiding, penalties, rules, sharpening, statistics, trained
from cuts.effects.shaping import Learned, Shaping
from cuts.model.cells import Statistics
from cuts.model.device import use_threads
from cuts.model.store import Model
from cuts.progress import Observer

Pass = Callable[[Shaping], Shaping]

PASSES: tuple[Pass, ...] = (
    penalties.penalise,  # alone: where one command is met by a penalty, all are
    rules.enforce,  # first, so that everything after is about rows that satisfy them
    hiding.hide,
    sharpening.sharpen,
    trained.train,
    statistics.meet,
    fairness.equalise,  # last: it measures the finished model, and meets the statistics again with every trial
)


def shape(free: Model, learned: Learned, *, rows: int | None = None, observer: Observer | None = None) -> Shaping:
    """A free model shaped by the program it was learned for; `rows` is how many will be drawn from it."""
    drawn = rows or free.facts.rows
    shaping = Shaping(free, learned, drawn, observer or Observer(), Statistics(free.codec, drawn), base=free)
    with use_threads(learned.config.threads or 1):  # small matrices: more threads would mostly wait for each other
        for apply in PASSES:
            shaping = apply(shaping)
    return shaping

"""The price of fairness: how accurate classifiers stay while the gap between groups is turned down, step by step.

A fairness command is met by knobs (`model/knobs.py`): differences between groups in the synthetic table, turned from
where the real rows have them, the fraction 0, to where the program wants them, the fraction 1. Here they are held on
the way, and a bit beyond. For every fold of the rows a model is fitted to the others, and classifiers trained on tables
drawn from it are tried on the fold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from statistics import fmean, stdev

import numpy as np
import pyarrow as pa

from cuts.assess.learners import CLASSIFIERS, missing_libraries
from cuts.assess.panel import ReferenceRows, value_of
from cuts.config import Config
from cuts.count.sources import Rows
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.effects import effects_in, finish_model, is_trained, make_ready
from cuts.effects.fairness import MAX_DRAWS, MIN_ROWS
from cuts.flow.learn import make_model
from cuts.flow.search import Cut, cut, on_every_fold
from cuts.lang.binder import bind
from cuts.lang.placeholders import fill
from cuts.lang.spec import MeasureOf, ModelAim, ModelGoal, Spec
from cuts.lang.syntax import Program
from cuts.model.group_shares import GroupShare, share
from cuts.model.rows import sample_blocks
from cuts.model.store import Model
from cuts.progress import Observer, Say
from cuts.text.diagnostic import CutsError, usage_error
from cuts.vocab.names import measures

HELD_OUT = 20_000  # rows of a fold that classifiers are tried on
BEYOND = 1.25  # the last fraction
FURTHEST = 0.95  # a difference between groups, beyond what the program chose


@dataclass(frozen=True, slots=True)
class Figure:
    """The mean over the folds, and the standard deviation; not a number where no fold knows it."""

    mean: float
    std: float


@dataclass(frozen=True, slots=True)
class Point:
    """What classifiers do when the knobs stand at a fraction of the way from the free model to the program's."""

    fraction: float
    gap: Figure
    accuracy: Figure
    on_frontier: bool  # no other point has both a smaller gap and a higher accuracy

    @property
    def is_chosen(self) -> bool:
        """Whether this is where the program itself turns the knobs."""
        return self.fraction == 1.0


@dataclass(frozen=True, slots=True)
class Frontier:
    """All points of a command, by fraction."""

    rows: int
    folds: int
    command: ModelGoal | ModelAim
    points: tuple[Point, ...]


def trace(
    program: Program,
    schema: Schema,
    rows: Rows,
    *,
    points: int = 6,
    folds: int = 5,
    config: Config | None = None,
    seed: int = 0,
    values: Mapping[str, str | float] | None = None,
    workers: int = 1,
    observer: Observer | None = None,
) -> Frontier:
    """The fairness command of a program at so many fractions from 0 to 1 and at one beyond, on every fold.

    The rows are read twice, as for one fit. The result is the same for any number of workers.
    """
    check_libraries()
    if points < 2:
        raise usage_error("bad-count", f"a frontier of {points} points is none", "ask for more: `--points 6`")
    observer = observer or Observer()
    filled = fill(program, values or {})
    command = find_command(bind(filled, schema))
    fractions = (*(place / (points - 1) for place in range(points)), BEYOND)
    settings = config or Config()
    found = cut([filled], schema, rows, folds, config=settings, seed=seed, observer=observer, keep_rows=HELD_OUT)
    tried = on_every_fold(
        _Search(found, command.measure, fractions).try_fold, found, workers=workers, observer=observer
    )
    gaps = [figure([fold[place].gap for fold in tried]) for place in range(len(fractions))]
    accuracies = [figure([fold[place].accuracy for fold in tried]) for place in range(len(fractions))]
    marks = undominated([gap.mean for gap in gaps], [accuracy.mean for accuracy in accuracies])
    every = map(Point, fractions, gaps, accuracies, marks)
    return Frontier(found.learned.counts.rows, folds, command, tuple(every))


def check_libraries() -> None:
    """Raise when the classifiers' libraries are not installed."""
    problems = missing_libraries()
    if problems:
        raise CutsError([replace(problem, help='pip install "cuts[report]"') for problem in problems])


def find_command(spec: Spec) -> ModelGoal | ModelAim:
    """The fairness command of a program; a `CutsError` unless there is exactly one, and it is met by turning knobs."""
    fair = [command for command in effects_in(spec) if measures()[command.measure.name].kind == "FAIRNESS"]
    lines = [str(command.origin.line) for command in fair]
    if not fair:
        example = "e.g. `MINIMIZE: FAIRNESS: DEMOGRAPHIC_PARITY(protected=sex, target=salary);`"
        raise usage_error("bad-setting", "`--frontier` is of a FAIRNESS command, and the program has none", example)
    if len(fair) > 1:
        title = f"`--frontier` is of one FAIRNESS command, and the program has {len(fair)}: lines {_and(lines)}"
        raise usage_error("bad-setting", title, "leave out all but one of them")
    if is_trained(fair[0]):
        title = f"the FAIRNESS command of line {lines[0]} states its weight or method: there is nothing to turn"
        raise usage_error("bad-setting", title, "leave out `PARAM` and `method`")
    return fair[0]


def undominated(gaps: Sequence[float], accuracies: Sequence[float]) -> list[bool]:
    """For each point whether no other has both a smaller gap and a higher accuracy; never where one is unknown.

    >>> undominated([0.3, 0.1, 0.2], [0.8, 0.7, 0.6])
    [True, True, False]
    """
    points = list(zip(gaps, accuracies, strict=True))
    return [
        isfinite(gap) and isfinite(accuracy) and not any(g < gap and a > accuracy for g, a in points)
        for gap, accuracy in points
    ]


def figure(found: Sequence[float]) -> Figure:
    """The numbers of all folds taken together, those that are undefined left out.

    >>> figure([0.25, 0.75, 0.5, nan])
    Figure(mean=0.5, std=0.25)
    """
    known = [value for value in found if isfinite(value)]
    return Figure(fmean(known) if known else nan, stdev(known) if len(known) > 1 else nan)


# --- one fold


@dataclass(frozen=True, slots=True)
class _Tried:
    """The gap and the accuracy of classifiers, on average over the draws."""

    gap: float
    accuracy: float


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """What is tried on every fold."""

    found: Cut
    measure: MeasureOf
    fractions: Sequence[float]

    def try_fold(self, place: int, say: Say, observer: Observer) -> list[_Tried]:
        """Every fraction with a model of the rows outside a fold."""
        outside, drawn = self.found.outside(place), self.found.learned.counts.rows
        say("fitting")
        free = make_model(replace(outside, spec=replace(outside.spec, commands=())), observer=observer)
        ready = make_ready(outside, free, drawn, observer)
        say("steering classifiers")
        chosen = finish_model(outside, ready, observer).facts.group_shares
        start = ready.build(())
        from_where = [ready.stats.known(share(knob), start.mixture) for knob in chosen]
        held_out = self.found.parts[place].rows
        assert held_out is not None
        bench = ReferenceRows(held_out, outside.codec.schema)
        if not chosen:  # the free model does what is asked for
            return [self._try_model(start, bench, drawn)] * len(self.fractions)
        tried = []
        for fraction in self.fractions:
            say(f"turned by {fraction:.3g}")
            model = ready.build([turned(*pair, fraction) for pair in zip(chosen, from_where, strict=True)])
            tried.append(self._try_model(model, bench, drawn))
        return tried

    def _try_model(self, model: Model, bench: ReferenceRows, drawn: int) -> _Tried:
        """The classifier that counts, trained on tables drawn from a model: small ones are drawn several times."""
        repeats = int(np.clip(MIN_ROWS // drawn, 1, MAX_DRAWS))
        gaps, accuracies = [], []
        for repeat in range(repeats):
            blocks = sample_blocks(model, drawn, seed=self.found.learned.seed + repeat)
            table = Table(pa.concat_tables([block.arrow for block in blocks]))
            predicted = bench.predict(CLASSIFIERS[0], table, self.measure)
            gaps.append(value_of(self.measure, predicted, bench.schema))
            accuracies.append(predicted.accuracy)
        return _Tried(fmean(gaps), fmean(accuracies))


def turned(chosen: GroupShare, free: float, fraction: float) -> GroupShare:
    """The knob at a fraction of the way from its free value to the chosen one; beyond that only as far as is sensible.

    >>> turned(GroupShare(3, "hired", "yes", -0.1, "sex", "female"), -0.3, 0.5).value
    -0.2
    """
    lowest = -FURTHEST if chosen.group is not None else 1.0 - FURTHEST  # of all rows it is a share
    low, high = min(lowest, free, chosen.value), max(FURTHEST, free, chosen.value)
    return replace(chosen, value=float(np.clip(free + fraction * (chosen.value - free), low, high)))


def _and(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"

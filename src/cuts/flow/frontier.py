"""The price of fairness: how accurate classifiers stay while the gap between groups is closed, step by step.

A fairness command is met by moving group shares (`model/group_shares.py`), the differences between groups in the
synthetic table, from where the real rows have them, the fraction 0, to where the program wants them, the fraction 1.
Here they are kept at fractions in between, and one beyond. For every fold of the rows a model is fitted to the others,
and classifiers trained on tables drawn from it are tried on the fold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from statistics import fmean, stdev

import numpy as np

from cuts.assess.learners import CLASSIFIERS, missing_libraries
from cuts.assess.panel import ReferenceRows, value_of
from cuts.config import Config
from cuts.effects import shape
from cuts.effects.fairness import FairnessSettings, repeats
from cuts.effects.statistics import with_shares
from cuts.flow.checks import check_not_private
from cuts.flow.folds import FoldedRows, on_every_fold, split_into_folds
from cuts.flow.learn import OpenedRows, fit_free
from cuts.lang import examples, printer
from cuts.lang.binder import bind
from cuts.lang.placeholders import fill
from cuts.lang.printer import render
from cuts.lang.spec import MeasureOf, ModelAim, ModelGoal
from cuts.lang.syntax import Program
from cuts.model.group_shares import GroupShare, share
from cuts.model.sampling import sample_table
from cuts.model.store import Model
from cuts.plan import Plan, plan
from cuts.progress import Observer, Say
from cuts.text.diagnostic import CutsError, usage_error
from cuts.vocab.names import measures

HELD_OUT_ROWS = 20_000  # of a fold, that classifiers are tried on
FRACTION_BEYOND = 1.25  # the last fraction
MAX_DIFFERENCE = 0.95  # between groups, beyond what the program chose


@dataclass(frozen=True, slots=True)
class Figure:
    """The mean over the folds and the standard deviation; not a number where it is undefined in every fold."""

    mean: float
    std: float


@dataclass(frozen=True, slots=True)
class Point:
    """What classifiers do when shares are moved a fraction of the way from the free model to the program's."""

    fraction: float
    gap: Figure
    accuracy: Figure
    on_frontier: bool  # no other point has both a smaller gap and a higher accuracy

    @property
    def is_chosen(self) -> bool:
        """Whether this is where the program itself moves the shares."""
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
    opened: OpenedRows,
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
        raise usage_error("bad-count", "a frontier needs at least two points", "ask for more: `--points 6`")
    observer, settings = observer or Observer(), config or Config()
    filled = fill(program, values or {})
    check_not_private(filled)
    planned = plan(bind(filled, opened.schema), settings)
    command = find_command(planned)
    fractions = (*(index / (points - 1) for index in range(points)), FRACTION_BEYOND)
    folded = split_into_folds(
        [planned],
        opened,
        folds,
        config=settings,
        seed=seed,
        observer=observer,
        keep_rows=HELD_OUT_ROWS,
    )
    search = _Search(folded, command.measure, fractions, render(filled))
    trials = on_every_fold(search.try_fold, folded, workers=workers, observer=observer)
    gaps = [figure([fold[index].gap for fold in trials]) for index in range(len(fractions))]
    accuracies = [figure([fold[index].accuracy for fold in trials]) for index in range(len(fractions))]
    marks = undominated([gap.mean for gap in gaps], [accuracy.mean for accuracy in accuracies])
    every = map(Point, fractions, gaps, accuracies, marks)
    return Frontier(folded.learned.counts.rows, folds, command, tuple(every))


def check_libraries() -> None:
    """Raise when the classifiers' libraries are not installed."""
    problems = missing_libraries()
    if problems:
        raise CutsError([replace(problem, help='pip install "cuts[report]"') for problem in problems])


def find_command(planned: Plan) -> ModelGoal | ModelAim:
    """The fairness command of a program; a `CutsError` unless there is exactly one, and it is met by steering."""
    fair = [
        command
        for command in planned.spec.commands
        if isinstance(command, ModelGoal | ModelAim) and measures()[command.measure.name].kind == "FAIRNESS"
    ]
    lines = [str(command.origin.line) for command in fair]
    if not fair:
        example = printer.code(f"MINIMIZE: {examples.measure('DEMOGRAPHIC_PARITY', planned.spec.schema)};")
        title = "`--frontier` needs a FAIRNESS command, and the program has none"
        raise usage_error("bad-setting", title, f"e.g. {example}")
    if len(fair) > 1:
        title = f"`--frontier` traces one FAIRNESS command, and the program has {len(fair)}: lines {_and(lines)}"
        raise usage_error("bad-setting", title, "leave out all but one of them")
    if planned.way(fair[0]) == "penalty":
        title = '`--frontier` steers group rates, which `method = "penalty"` does not have'
        raise usage_error("bad-setting", title, "leave out the preset, or search over weights with `--grid`")
    if planned.way(fair[0]) == "train":
        title = (
            f"the FAIRNESS command of line {lines[0]} sets its own weight or method, so its strength cannot be varied"
        )
        raise usage_error("bad-setting", title, "leave out `PARAM` and `method`")
    if planned.way(fair[0]) != "steer":
        title = f"the FAIRNESS command of line {lines[0]} asks for a larger gap, so it is only measured"
        raise usage_error("bad-setting", title, "bound the gap from above, or minimise it")
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


def figure(values: Sequence[float]) -> Figure:
    """Mean and standard deviation over the folds, those where the number is undefined left out.

    >>> figure([0.25, 0.75, 0.5, nan])
    Figure(mean=0.5, std=0.25)
    """
    known = [value for value in values if isfinite(value)]
    return Figure(fmean(known) if known else nan, stdev(known) if len(known) > 1 else nan)


# --- one fold


@dataclass(frozen=True, slots=True)
class _Trial:
    """The gap and the accuracy of classifiers, on average over the draws."""

    gap: float
    accuracy: float


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """What is tried on every fold."""

    rows: FoldedRows
    measure: MeasureOf
    fractions: Sequence[float]
    program: str

    def try_fold(self, index: int, say: Say, observer: Observer) -> list[_Trial]:
        """Every fraction with a model of the rows outside a fold."""
        outside, drawn = self.rows.outside(index), self.rows.learned.counts.rows
        say("fitting")
        free, outside = fit_free(outside, self.program, observer)
        say("steering classifiers")
        shaping = shape(free, outside, rows=drawn, observer=observer)
        chosen = shaping.model.facts.group_shares
        start = with_shares(shaping, ())
        values = [shaping.stats.known(share(moved), start.mixture) for moved in chosen]
        held_out = self.rows.folds[index].rows
        assert held_out is not None
        bench = ReferenceRows(held_out, outside.codec.schema)
        if not chosen:  # the free model does what is asked for
            return [self._try_model(start, bench, drawn)] * len(self.fractions)
        trials = []
        for fraction in self.fractions:
            say(f"at the fraction {fraction:.3g}")
            model = with_shares(shaping, [partly_moved(*pair, fraction) for pair in zip(chosen, values, strict=True)])
            trials.append(self._try_model(model, bench, drawn))
        return trials

    def _try_model(self, model: Model, bench: ReferenceRows, drawn: int) -> _Trial:
        """The classifier that decides, trained on tables drawn from a model: small ones are drawn several times."""
        gaps, accuracies = [], []
        for repeat in range(repeats(drawn, FairnessSettings())):
            table = sample_table(model, drawn, seed=self.rows.learned.seed + repeat)
            predicted = bench.predict(CLASSIFIERS[0], table, self.measure)
            gaps.append(value_of(self.measure, predicted, bench.schema))
            accuracies.append(predicted.accuracy)
        return _Trial(fmean(gaps), fmean(accuracies))


def partly_moved(chosen: GroupShare, free: float, fraction: float) -> GroupShare:
    """The share at a fraction of the way from its free value to the chosen one; beyond that only within limits.

    >>> partly_moved(GroupShare(3, "hired", "yes", -0.1, "sex", "female"), -0.3, 0.5).value
    -0.2
    """
    lowest = -MAX_DIFFERENCE if chosen.group is not None else 1.0 - MAX_DIFFERENCE  # of all rows it is a share
    low, high = min(lowest, free, chosen.value), max(MAX_DIFFERENCE, free, chosen.value)
    return replace(chosen, value=float(np.clip(free + fraction * (chosen.value - free), low, high)))


def _and(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"

"""What a search over values for the placeholders of a program found: every point of the grid, over all folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from cuts.assess.verify import Fact, Verdict, holds
from cuts.lang.spec import Level


@dataclass(frozen=True, slots=True)
class Utility:
    """The mean over the folds, and the standard deviation."""

    mean: float
    std: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """One command over the folds: in how many it holds, if a table can tell, and its numbers on average.

    Of a row rule the number is the share of rows that satisfy it; of a comparison of two statistics their difference.
    """

    number: int
    line: int
    command: str
    level: Level
    holds: int | None
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """What came of one choice of values."""

    values: Mapping[str, str]
    utility: Utility
    holds: int  # folds in which no command fails
    outcomes: tuple[Outcome, ...]  # of the commands a table says something about


@dataclass(frozen=True, slots=True)
class Tuning:
    """All choices tried, and the utility of the model without any command."""

    rows: int
    folds: int
    label: str | None  # whose prediction is the utility; else it is how near the pairs of columns are
    free: Utility
    points: tuple[Point, ...]

    @property
    def best(self) -> Point | None:
        """The most useful of the points where no command fails in any fold; if there is none, in the fewest folds.

        Nothing when something fails at every point in every fold.
        """
        found = max(self.points, key=lambda point: (point.holds, point.utility.mean))
        return found if found.holds else None


def sum_up(values: Mapping[str, str], utilities: Sequence[float], verdicts: Sequence[tuple[Verdict, ...]]) -> Point:
    """The utilities and verdicts of a choice, one each for every fold, as a point."""
    told = [[verdict for verdict in fold if verdict.rows is not None or verdict.facts] for fold in verdicts]
    outcomes = tuple(_outcome(same) for same in zip(*told, strict=True))
    return Point(values, find_utility(utilities), sum(holds(fold) for fold in verdicts), outcomes)


def find_utility(found: Sequence[float]) -> Utility:
    """The utility of one fold after the other, taken together.

    >>> find_utility([0.25, 0.75, 0.5])
    Utility(mean=0.5, std=0.25)
    """
    return Utility(fmean(found), stdev(found))


def _outcome(folds: Sequence[Verdict]) -> Outcome:
    """One command's verdicts on all folds."""
    first = folds[0]
    held = None if first.holds is None else sum(verdict.holds is True for verdict in folds)
    means = tuple(fmean(numbers) for numbers in zip(*map(_numbers, folds), strict=True))
    return Outcome(first.number, first.line, first.title, first.level, held, means)


def _numbers(verdict: Verdict) -> list[float]:
    if verdict.rows is not None:
        return [verdict.rows.satisfied / verdict.rows.total]
    return [_number(fact) for fact in verdict.facts]


def _number(fact: Fact) -> float:
    return fact.value - fact.target if fact.gap and fact.target is not None else fact.value

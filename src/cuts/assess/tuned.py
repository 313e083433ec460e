"""The result of a search over placeholder values: every point of the grid, over all folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from cuts.assess.verify import Verdict, holds
from cuts.data.units import NUMBER, Unit
from cuts.lang.spec import Level


@dataclass(frozen=True, slots=True)
class FoldUtility:
    """The mean over the folds, and the standard deviation."""

    mean: float
    std: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """One command over the folds: the number of folds in which it holds (None if a table cannot tell), and its means.

    The mean is over the folds: of the share of rows that satisfy a row rule, of the difference of two statistics that
    are compared, else of the statistic itself.
    """

    number: int
    line: int
    command: str
    level: Level
    holds: int | None
    values: tuple[float, ...]
    unit: Unit = NUMBER  # what the first of them counts


@dataclass(frozen=True, slots=True)
class Point:
    """The result of one combination of values."""

    values: Mapping[str, str]
    utility: FoldUtility
    holds: int  # folds in which no command fails
    outcomes: tuple[Outcome, ...]  # of the commands that can be checked from a table


@dataclass(frozen=True, slots=True)
class Tuning:
    """All combinations tried, and the utility of the model without any command."""

    rows: int
    folds: int
    label: str | None  # utility is the accuracy of predicting the label; if None, the closeness of pairs of columns
    free: FoldUtility
    points: tuple[Point, ...]

    @property
    def best(self) -> Point | None:
        """The point with the highest utility among those where every command holds in the most folds.

        None when at every point some command fails in every fold.
        """
        best = max(self.points, key=lambda point: (point.holds, point.utility.mean))
        return best if best.holds else None


def sum_up(values: Mapping[str, str], utilities: Sequence[float], verdicts: Sequence[tuple[Verdict, ...]]) -> Point:
    """The point of a combination of values, from the utility and the verdicts of every fold."""
    checked = [[verdict for verdict in fold if verdict.rows is not None or verdict.facts] for fold in verdicts]
    outcomes = tuple(_outcome(by_fold) for by_fold in zip(*checked, strict=True))
    return Point(values, summarise_folds(utilities), sum(holds(fold) for fold in verdicts), outcomes)


def summarise_folds(utilities: Sequence[float]) -> FoldUtility:
    """The mean and standard deviation of the utilities of the folds.

    >>> summarise_folds([0.25, 0.75, 0.5])
    FoldUtility(mean=0.5, std=0.25)
    """
    return FoldUtility(fmean(utilities), stdev(utilities))


def _outcome(folds: Sequence[Verdict]) -> Outcome:
    """One command's verdicts on all folds."""
    first = folds[0]
    folds_held = None if first.holds is None else sum(verdict.holds is True for verdict in folds)
    means = tuple(fmean(numbers) for numbers in zip(*map(_numbers, folds), strict=True))
    unit = first.facts[0].measured_unit if first.facts else NUMBER
    return Outcome(first.number, first.line, first.title, first.level, folds_held, means, unit)


def _numbers(verdict: Verdict) -> list[float]:
    if verdict.rows is not None:
        return [verdict.rows.satisfied / verdict.rows.total]
    return [fact.measured for fact in verdict.facts]

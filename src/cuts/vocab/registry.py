"""The entries of the vocabulary and the decorators that add one.

A statistic is one formula in operations numpy and torch share: checking feeds it counts, training the model's
marginals. A new entry is one new file in `vocab/statistics` or `vocab/measures`, or an outside package that names a
module under the entry point group `cuts.vocabulary`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from cuts.vocab.interval import Interval

Array = Any  # numpy or torch: the formulas use only what both have
Formula = TypeVar("Formula", bound=Callable[..., Array])
Argument = Literal["number", "condition", "column"]
Unit = Literal["value", "squared", "product", "share", "nats", "rows"]
LEARNER_OPTIONS = ("lr", "n_epochs", "batch_size")  # of the classifiers a measure trains
Direction = Literal["lower is fairer", "higher is more useful", "lower is more useful"]


@dataclass(frozen=True, slots=True)
class Reach:
    """What a statistic's arguments can be: their ranges, and the number of cells of each column (inf if unbounded)."""

    ranges: tuple[Interval, ...]
    sizes: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Statistic:
    """A number of a table.

    `formula(p, *v)`: for numbers and conditions, `p` weighs the rows (or cells) and `v` are their values; for columns,
    `p` is their joint distribution and `v` the distribution of each alone. `p` sums to one, or to the number of rows
    when `unit` is "rows". `levels` is how many numbers stand in parentheses; they come last.
    `sql(args, relation, where, levels)` is a scalar query.
    """

    name: str
    formula: Callable[..., Array]
    argument: Argument
    least: int
    most: int | None
    levels: int
    unit: Unit
    sql: Callable[[Sequence[str], str, str, Sequence[float]], str]
    reach: Callable[[Reach], Interval]


@dataclass(frozen=True, slots=True)
class Rate:
    """How often an event happens among some rows: the conditional probability P(event | among).

    `event` and `among` are functions of `(chosen, deserving)`: whether the desired outcome is predicted for a row, and
    whether it is the true one, each 0, 1 or a probability between. They return a number between 0 and 1 per row.
    """

    event: Callable[[Array, Array], Array]
    among: Callable[[Array, Array], Array]


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of a classifier trained on the table; `kind` is the command kind it belongs to.

    `formula(probabilities, truth)` of UTILITY: see `vocab/measures`. A FAIRNESS measure is declared by the `rates` it
    compares between groups (`vocab/rates.py`), from which `formula(chosen, deserving, members)` follows.
    """

    name: str
    kind: Literal["FAIRNESS", "UTILITY"]
    required: tuple[str, ...]
    optional: tuple[str, ...]
    direction: Direction
    range: Interval
    meaning: str
    formula: Callable[..., Array]
    heading: str  # of its column in a table
    rates: tuple[Rate, ...] = ()


STATISTICS: dict[str, Statistic] = {}
MEASURES: dict[str, Measure] = {}


def statistic(
    name: str,
    *,
    unit: Unit,
    argument: Argument = "number",
    least: int = 1,
    most: int | None = 1,
    levels: int = 0,
    sql: Callable[[Sequence[str], str, str, Sequence[float]], str],
    reach: Callable[[Reach], Interval],
) -> Callable[[Formula], Formula]:
    """Add a formula to the statistics under `name`."""

    def add(formula: Formula) -> Formula:
        taken = STATISTICS.get(name)
        if taken is not None:
            raise ValueError(f"statistic {name} of {formula.__module__} is taken by {taken.formula.__module__}")
        STATISTICS[name] = Statistic(name, formula, argument, least, most, levels, unit, sql, reach)
        return formula

    return add


def add_measure(measure: Measure) -> None:
    """Add a measure under its name; a name that is taken is a ValueError."""
    if measure.name in MEASURES:
        raise ValueError(f"the measure name {measure.name} is taken: {MEASURES[measure.name].meaning}")
    MEASURES[measure.name] = measure


def aggregate(template: str) -> Callable[[Sequence[str], str, str, Sequence[float]], str]:
    """The query of a plain SQL aggregate; `{0}` is the first argument, `{level}` the first level."""

    def query(args: Sequence[str], relation: str, where: str, levels: Sequence[float]) -> str:
        value = template.format(*args, level=levels[0] if levels else "")
        return f"(SELECT {value} FROM {relation} WHERE {where})"

    return query

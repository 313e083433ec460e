"""The entries of the vocabulary and the decorators that add one.

A statistic is one formula in operations that numpy and torch share: checking feeds it counts, training feeds it the
model's marginals. A new entry is one new file in `vocab/statistics` or `vocab/measures`, or a module of another package
that its entry points list under the group `cuts.vocabulary`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

from cuts.vocab.interval import Interval

Array = Any  # numpy or torch: the formulas use only what both have
Formula = TypeVar("Formula", bound=Callable[..., Array])
Argument = Literal["number", "condition", "column"]
Unit = Literal["value", "spread", "squared", "product", "share", "nats", "rows"]
Query = Callable[[Sequence[str], str, str, Sequence[float]], str]
LEARNER_OPTIONS = ("lr", "n_epochs", "batch_size")  # of the classifiers a measure trains
Direction = Literal["lower is fairer", "higher is more useful", "lower is more useful"]


@dataclass(frozen=True, slots=True)
class Reach:
    """What the arguments of a statistic can be: their ranges, and each column's number of values (inf if unbounded)."""

    ranges: tuple[Interval, ...]
    sizes: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Statistic:
    """A number of a table. Everything the rest of the code asks about a statistic is a field here, never its name.

    `formula(p, *v)`: for numbers and conditions, `p` holds the weights of the rows (or cells) and `v` their values; for
    columns, `p` is their joint distribution and `v` the distribution of each alone. `p` sums to one, or to the number
    of rows when `unit` is "rows". `levels` is how many numbers stand in parentheses; the formula takes them last.
    `unit` is what the number counts, which decides its default tolerance and, for dates and times, what it is compared
    with: a "value" is one like those of the argument, a "spread" a difference of two of them.
    `sql(args, relation, where, levels)` is a scalar query. `reach` bounds the value, given bounds on the arguments.
    """

    name: str
    noun: str  # in messages: "the {noun} of `age` can only lie between 17 and 90"
    formula: Callable[..., Array]
    argument: Argument
    min_args: int
    max_args: int | None  # None: any number
    levels: int
    unit: Unit
    sql: Query
    reach: Callable[[Reach], Interval]
    needs_order: bool
    """Whether the value depends on more than the first three moments of each argument, e.g. on the order of values.

    A model then evaluates it on several points of every bin instead of two that match the bin's moments.
    """
    is_mean: bool
    """Whether it is the mean of its one argument, a condition counting as 1 or 0.

    Bounds on such statistics are linear in the numbers of rows, and their standard error is known.
    """
    quantile_level: Callable[[Sequence[float]], float] | None
    """For a quantile of its one argument: its level, from the numbers in parentheses; otherwise None.

    A bound on a quantile is a bound on a share of rows, which a model can be trained for.
    """


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
    compares between groups (`vocab/fairness_measures.py`), from which `formula(chosen, deserving, members)` follows.
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
    noun: str,
    unit: Unit,
    argument: Argument = "number",
    min_args: int = 1,
    max_args: int | None = 1,
    levels: int = 0,
    sql: Query,
    reach: Callable[[Reach], Interval],
    needs_order: bool = False,
    is_mean: bool = False,
    quantile_level: Callable[[Sequence[float]], float] | None = None,
) -> Callable[[Formula], Formula]:
    """Add a formula to the statistics under `name`; see `Statistic` for what the options mean."""
    if not (name.isidentifier() and name.isupper()):
        raise ValueError(f"the name of a statistic is an upper-case word, not {name!r}")
    if unit not in get_args(Unit):
        raise ValueError(f"statistic {name} has the unit {unit!r}; it is one of {', '.join(get_args(Unit))}")

    def add(formula: Formula) -> Formula:
        taken = STATISTICS.get(name)
        if taken is not None:
            raise ValueError(f"statistic {name} of {formula.__module__} is taken by {taken.formula.__module__}")
        STATISTICS[name] = Statistic(
            name,
            noun,
            formula,
            argument,
            min_args,
            max_args,
            levels,
            unit,
            sql,
            reach,
            needs_order,
            is_mean,
            quantile_level,
        )
        return formula

    return add


def add_measure(measure: Measure) -> None:
    """Add a measure under its name; a name that is taken is a ValueError."""
    if measure.name in MEASURES:
        raise ValueError(f"the measure name {measure.name} is taken: {MEASURES[measure.name].meaning}")
    MEASURES[measure.name] = measure


def aggregate(template: str) -> Query:
    """The query of a plain SQL aggregate; `{0}` is the first argument, `{level}` the first level."""

    def query(args: Sequence[str], relation: str, where: str, levels: Sequence[float]) -> str:
        value = template.format(*args, level=levels[0] if levels else "")
        return f"(SELECT {value} FROM {relation} WHERE {where})"

    return query

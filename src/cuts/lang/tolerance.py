"""Default tolerances of equalities, and sums of weighted terms."""

from __future__ import annotations

from cuts.data.schema import Schema
from cuts.lang.spec import Apply, ColumnValue, Const, Quantity, Statistic
from cuts.lang.syntax import CompareOp
from cuts.lang.walks import statistics_of
from cuts.vocab.functions import FUNCTIONS
from cuts.vocab.interval import Interval
from cuts.vocab.names import statistics

SHARE_TOLERANCE = 0.005
RANGE_TOLERANCE = 0.005  # of a column's range
NATS_TOLERANCE = 0.01
ROWS_TOLERANCE = 0.5
GAP_TOLERANCE = 0.01  # between groups, of a fairness measure
ONE = Const(1.0)  # the term whose weight is a sum's constant part


def default_tolerance(left: Quantity, op: CompareOp, right: Quantity, schema: Schema) -> float:
    """The tolerance of a comparison without `WITHIN`: for `==` by the units of the statistics, otherwise 0.

    A sum of statistics takes the largest of their tolerances; products and quotients of statistics have no unit of
    their own and take the tolerance of a correlation.
    """
    if op != "==":
        return 0.0
    terms = weighted_sum(Apply("-", (left, right)))
    if any(isinstance(term, Apply) and any(statistics_of(term)) for term in terms):
        return SHARE_TOLERANCE
    weights = {term: weight for term, weight in terms.items() if isinstance(term, Statistic)}
    return max((abs(weight) * _unit_tolerance(stat, schema) for stat, weight in weights.items()), default=0.0)


def weighted_sum(value: Quantity) -> dict[Quantity, float]:
    """The terms of a sum and their weights: columns, statistics, anything that is no sum; numbers are weights of `ONE`.

    >>> weighted_sum(Apply("-", (Apply("*", (Const(2.0), ColumnValue("age"))), Const(3.0))))
    {ColumnValue(column='age'): 2.0, Const(value=1.0): -3.0}
    """
    match value:
        case Const(number):
            return {ONE: number}
        case Apply("negate", (inner,)):
            return _times(weighted_sum(inner), -1.0)
        case Apply("+" | "-" as op, (left, right)):
            one, other = weighted_sum(left), _times(weighted_sum(right), 1.0 if op == "+" else -1.0)
            return {term: one.get(term, 0.0) + other.get(term, 0.0) for term in {**one, **other}}
        case Apply("*", (Const(by), inner)) | Apply("*", (inner, Const(by))):
            return _times(weighted_sum(inner), by)
        case Apply("/", (inner, Const(by))) if by != 0:
            return _times(weighted_sum(inner), 1 / by)
        case _:
            return {value: 1.0}


def _times(weights: dict[Quantity, float], by: float) -> dict[Quantity, float]:
    return {term: weight * by for term, weight in weights.items()}


def _unit_tolerance(stat: Statistic, schema: Schema) -> float:
    entry = statistics()[stat.name]
    widths = [_range(arg, schema).width for arg in stat.args if isinstance(arg, ColumnValue | Apply | Const)]
    match entry.unit:
        case "value" | "spread":
            return RANGE_TOLERANCE * widths[0]
        case "squared":
            return RANGE_TOLERANCE * widths[0] * widths[0] / 4
        case "product":
            return RANGE_TOLERANCE * widths[0] * widths[1] / 4
        case "nats":
            return NATS_TOLERANCE
        case "share":
            return SHARE_TOLERANCE
        case "rows":
            return ROWS_TOLERANCE


def _range(value: Quantity, schema: Schema) -> Interval:
    match value:
        case Const(number):
            return Interval(number, number)
        case ColumnValue(column):
            return schema.learned(column).range
        case Apply(function, args):
            return FUNCTIONS[function].reach(*(_range(arg, schema) for arg in args))
        case Statistic():
            raise AssertionError("a statistic inside a statistic is refused by the binder")

"""How near is near enough when a program does not say."""

from __future__ import annotations

from cuts.data.schema import Schema
from cuts.lang.spec import Apply, ColumnValue, Const, Quantity, Statistic, statistics_of
from cuts.lang.syntax import CompareOp
from cuts.vocab.functions import FUNCTIONS
from cuts.vocab.interval import Interval
from cuts.vocab.names import statistics

SHARE_TOLERANCE = 0.005
RANGE_TOLERANCE = 0.005  # of a column's range
NATS_TOLERANCE = 0.01
ROWS_TOLERANCE = 0.5
GAP_TOLERANCE = 0.01  # between groups, of a fairness measure


def default_tolerance(left: Quantity, op: CompareOp, right: Quantity, schema: Schema) -> float:
    """How near is near enough when the program does not say: for `==` by the statistics' units, else nothing.

    An inequality holds as written. A sum of statistics takes the largest of their tolerances; products and quotients of
    statistics have no unit of their own and take that of a correlation.
    """
    if op != "==":
        return 0.0
    weights = _weights(Apply("-", (left, right)))
    if weights is None:
        return SHARE_TOLERANCE
    return max((abs(weight) * _unit_tolerance(stat, schema) for stat, weight in weights.items()), default=0.0)


def _weights(value: Quantity) -> dict[Statistic, float] | None:
    """The statistics in a weighted sum, or nothing when it is no such sum."""
    match value:
        case Const():
            return {}
        case Statistic():
            return {value: 1.0}
        case Apply("negate", (inner,)):
            return _times(_weights(inner), -1.0)
        case Apply("+" | "-" as op, (left, right)):
            one, other = _weights(left), _times(_weights(right), 1.0 if op == "+" else -1.0)
            if one is None or other is None:
                return None
            return {stat: one.get(stat, 0.0) + other.get(stat, 0.0) for stat in {**one, **other}}
        case Apply("*", (Const(by), inner)) | Apply("*", (inner, Const(by))):
            return _times(_weights(inner), by)
        case Apply("/", (inner, Const(by))) if by != 0:
            return _times(_weights(inner), 1 / by)
        case _:
            return {} if not any(statistics_of(value)) else None


def _times(weights: dict[Statistic, float] | None, by: float) -> dict[Statistic, float] | None:
    return None if weights is None else {stat: weight * by for stat, weight in weights.items()}


def _unit_tolerance(stat: Statistic, schema: Schema) -> float:
    entry = statistics()[stat.name]
    widths = [_range(arg, schema).width for arg in stat.args if isinstance(arg, ColumnValue | Apply | Const)]
    match entry.unit:
        case "value":
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
            raise AssertionError("a statistic of a statistic is refused before")

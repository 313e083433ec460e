"""Default tolerances of equalities, and sums of weighted terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from cuts.data.schema import Schema
from cuts.data.units import NUMBER, Unit
from cuts.lang import units
from cuts.lang.spec import Apply, Basis, ColumnValue, Const, Quantity, Statistic
from cuts.lang.syntax import CompareOp
from cuts.lang.walks import columns_of, statistics_of
from cuts.vocab.functions import FUNCTIONS
from cuts.vocab.interval import Interval
from cuts.vocab.names import statistics

SHARE_TOLERANCE = 0.005
RANGE_TOLERANCE = 0.005  # of a column's range
MAX_RANGE = 2.0  # interquartile ranges: what of a range counts, so that outliers do not; evenly spread values fill it
NATS_TOLERANCE = 0.01
ROWS_TOLERANCE = 0.5
GAP_TOLERANCE = 0.01  # between groups, of a fairness measure
ONE = Const(1.0)  # the term whose weight is a sum's constant part


@dataclass(frozen=True, slots=True, order=True)
class Tolerance:
    """How far apart two numbers may be, and where that comes from."""

    value: float
    basis: Basis


def default_tolerance(left: Quantity, op: CompareOp, right: Quantity, schema: Schema) -> Tolerance:
    """The tolerance of a comparison without `WITHIN`: for `==` by the units of the statistics, otherwise 0.

    A sum of statistics takes the largest of their tolerances; products and quotients of statistics have no unit of
    their own and take the tolerance of a correlation.
    """
    if op != "==":
        return Tolerance(0.0, "unit")
    terms = weighted_sum(Apply("-", (left, right)))
    if any(isinstance(term, Apply) and any(statistics_of(term)) for term in terms):
        return Tolerance(SHARE_TOLERANCE, "unit")
    weights = {term: weight for term, weight in terms.items() if isinstance(term, Statistic)}
    own = [(abs(weight), _unit_tolerance(stat, schema)) for stat, weight in weights.items()]
    return max((Tolerance(factor * of.value, of.basis) for factor, of in own), default=Tolerance(0.0, "unit"))


def shown(value: float, basis: Basis, unit: Unit = NUMBER) -> str:
    """A tolerance, and where it comes from unless that is plain.

    >>> shown(0.19, "rows"), shown(0.1, "stated")
    ('0.19 (from the rows)', '0.1')
    """
    origins = {"rows": " (from the rows)", "range": " (from the range)"}
    return units.show(value, unit) + (origins.get(basis, "") if value else "")


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


def _unit_tolerance(stat: Statistic, schema: Schema) -> Tolerance:
    match statistics()[stat.name].unit:
        case "nats":
            return Tolerance(NATS_TOLERANCE, "unit")
        case "share":
            return Tolerance(SHARE_TOLERANCE, "unit")
        case "rows":
            return Tolerance(ROWS_TOLERANCE, "unit")
        case unit:
            sizes = [_size(arg, schema) for arg in stat.args if isinstance(arg, ColumnValue | Apply | Const)]
    one, other = sizes[0], sizes[1] if unit == "product" else sizes[0]
    basis: Basis = "rows" if "rows" in (one.basis, other.basis) else "range"
    scale = one.value if unit in ("value", "spread") else one.value * other.value / 4
    tolerance = RANGE_TOLERANCE * scale
    return Tolerance(float(f"{tolerance:.2g}") if basis == "rows" else tolerance, basis)


def _size(value: Quantity, schema: Schema) -> Tolerance:
    """The width of a number's range; of a number whose rows are known, at most so many interquartile ranges."""
    declared = _reach(value, {}, schema).width
    middles = dict(schema.middles)
    if not any(name in middles for name in columns_of(value)):
        return Tolerance(declared, "range")
    spread = MAX_RANGE * _reach(value, middles, schema).width
    return Tolerance(spread, "rows") if 0 < spread < declared < inf else Tolerance(declared, "range")


def _reach(value: Quantity, middles: Mapping[str, Interval], schema: Schema) -> Interval:
    """The values of a number for all values of its columns, or for the middle half of them where that is given."""
    match value:
        case Const(number):
            return Interval(number, number)
        case ColumnValue(column):
            return middles.get(column, schema.learned(column).range)
        case Apply(function, args):
            return FUNCTIONS[function].reach(*(_reach(arg, middles, schema) for arg in args))
        case Statistic():
            raise AssertionError("a statistic inside a statistic is refused by the binder")

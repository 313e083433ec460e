"""Bins of numbers and moments as people would choose them: round edges, and a range in words for each.

The edges are even where that shows the distribution; where more than half of the rows would be in one bin they follow
the quantiles of the values. The first and the last bin are open.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from math import floor, log10

import numpy as np

from cuts.data.columns import Numeric
from cuts.data.schema import Temporal
from cuts.data.table import Floats
from cuts.data.temporal import is_in_calendar, show_duration, show_moment
from cuts.lang.printer import short

MAX_BINS = 20
EVEN_BINS = 12  # about so many, between the lowest and the highest percentile
MAX_SHARE = 0.5  # of the rows in one even bin; otherwise the bins follow quantiles
_TAILS = (0.01, 0.99)
_DAY = 86_400.0
_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200)
_DAYS = (1, 2, 7, 14)
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1_200)


@dataclass(frozen=True, slots=True)
class NumberBins:
    """The edges between bins, and the name of each bin: one more than there are edges. An edge is in the upper bin."""

    edges: tuple[float, ...]
    labels: tuple[str, ...]


def choose_bins(column: Numeric, real: Floats, synthetic: Floats) -> NumberBins:
    """At most `MAX_BINS` bins for the numbers of a column; no value is missing. The real ones decide where edges are.

    >>> from cuts.data.schema import Integer
    >>> choose_bins(Integer("age", 0, 99), np.arange(20.0, 70.0), np.arange(20.0, 70.0)).labels[:3]
    ('below 25', '25 to 29', '30 to 34')
    """
    together = np.unique(np.concatenate([real, synthetic]))
    if len(together) == 0:
        return NumberBins((), ("any value",))
    if len(together) <= MAX_BINS:
        return NumberBins(tuple(together[1:].tolist()), tuple(_shown(column, value) for value in together.tolist()))
    source = real if len(real) else synthetic
    low, high = np.quantile(source, _TAILS).tolist()
    edges = _even_edges(column, low, high)
    is_even = _largest_share(edges, source) <= MAX_SHARE
    if not is_even:
        edges = _quantile_edges(source, together)
    edges = tuple(edge for edge in edges if together[0] < edge <= together[-1])
    return NumberBins(edges, _labels(column, edges, () if is_even else together))


def _largest_share(edges: tuple[float, ...], values: Floats) -> float:
    return float(np.bincount(np.searchsorted(np.array(edges), values, side="right")).max() / len(values))


def _quantile_edges(values: Floats, together: Floats) -> tuple[float, ...]:
    """Edges between equal shares of the rows; a value with more than such a share has a bin of its own."""
    distinct, counts = np.unique(values, return_counts=True)
    is_common = counts > len(values) / EVEN_BINS
    rest = values[~np.isin(values, distinct[is_common])]
    edges: set[float] = set()
    for value in distinct[is_common].tolist():
        above = together[together > value]
        edges |= {value, *above[:1].tolist()}
    left = max(2, MAX_BINS // 2 - int(is_common.sum()))
    if len(rest):
        edges |= set(np.quantile(rest, np.arange(1, left) / left, method="inverted_cdf").tolist())
    return tuple(sorted(edges))[: MAX_BINS - 1]


def _even_edges(column: Numeric, low: float, high: float) -> tuple[float, ...]:
    if isinstance(column, Temporal):
        return _moment_edges(column, low, high)
    step = round_step((high - low) / EVEN_BINS)
    if column.per_unit is not None:
        step = max(step, 1 / column.per_unit)
    return _multiples(step, low, high)


def round_step(step: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is at least the step.

    >>> round_step(0.03), round_step(7.0)
    (0.05, 10.0)
    """
    if step <= 0:
        return 1.0
    power = 10.0 ** floor(log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9))


def _multiples(step: float, low: float, high: float) -> tuple[float, ...]:
    """The multiples of a step inside a range."""
    first, last = floor(low / step) + 1, floor(high / step)
    digits = max(0, 2 - floor(log10(step)))
    return tuple(round(number * step, digits) for number in range(int(first), int(last) + 1))


def _moment_edges(column: Temporal, low: float, high: float) -> tuple[float, ...]:
    """Edges at whole years, months, days or parts of a day."""
    unit = 1.0 if column.kind == "date" else _DAY  # of a day
    span = (high - low) / unit / EVEN_BINS
    if column.kind in ("date", "timestamp") and is_in_calendar(column.kind, low) and is_in_calendar(column.kind, high):
        if span > _DAYS[-1]:
            return _month_edges(low / unit, high / unit, unit)
        if span > 0.5:
            return _multiples(next(days for days in _DAYS if days >= span) * unit, low, high)
    elif span > 0.5:
        return _multiples(round_step(span) * unit, low, high)
    seconds = span * _DAY
    whole = next((float(step) for step in _SECONDS if step >= seconds), _DAY)
    step = (whole if seconds > 0.5 else round_step(seconds)) * unit / _DAY
    return _multiples(max(step, 1 / column.per_unit), low, high)


def _month_edges(low: float, high: float, unit: float) -> tuple[float, ...]:
    epoch = dt.date(1970, 1, 1)
    first, last = (epoch + dt.timedelta(days=floor(day)) for day in (low, high))
    span = (last.year - first.year) * 12 + last.month - first.month
    step = next((months for months in _MONTHS if months * EVEN_BINS >= span), _MONTHS[-1])
    starts = range(first.year * 12 // step * step, last.year * 12 + 12, step)
    days = [(dt.date(start // 12, start % 12 + 1, 1) - epoch).days for start in starts if start >= 12]
    return tuple(day * unit for day in days if low < day <= high)


def _labels(column: Numeric, edges: tuple[float, ...], values: Floats | tuple[()]) -> tuple[str, ...]:
    """Names of the bins between edges: `below 20`, `20 to 24`, `25 or more`; a bin of one value has that."""
    bins = np.searchsorted(np.array(edges), values, side="right")
    inside = [np.asarray(values)[bins == number].tolist() for number in range(len(edges) + 1)]
    before, after = ("before {}", "from {}") if _is_moment(column) else ("below {}", "{} or more")
    labels = []
    for number, within in enumerate(inside):
        if len(within) == 1:
            labels.append(_shown(column, within[0]))
        elif number == 0:
            labels.append(before.format(_shown(column, edges[0])) if edges else "any value")
        elif number == len(edges):
            labels.append(after.format(_shown(column, edges[-1])))
        else:
            labels.append(_range(column, edges[number - 1], edges[number]))
    return tuple(labels)


def _is_moment(column: Numeric) -> bool:
    return isinstance(column, Temporal) and column.kind != "duration"


def _range(column: Numeric, low: float, high: float) -> str:
    """The values from `low` to just below `high`: on a lattice the last of them is named."""
    if isinstance(column, Temporal) and column.kind == "timestamp" and low % _DAY == high % _DAY == 0:
        last = high - _DAY  # whole days
    elif column.per_unit is not None and not (isinstance(column, Temporal) and column.kind != "date"):
        last = high - 1 / column.per_unit
    else:
        below = "before" if _is_moment(column) else "below"
        return f"{_shown(column, low)} to {below} {_shown(column, high)}"
    return _shown(column, low) if low == last else f"{_shown(column, low)} to {_shown(column, last)}"


def _shown(column: Numeric, value: float) -> str:
    if not isinstance(column, Temporal):
        return f"{value:,.0f}" if abs(value) >= 10_000 and value == floor(value) else short(value)
    if column.kind == "duration":
        return show_duration(value)
    shown = show_moment(column.kind, value).removesuffix("T00:00:00").replace("T", " ")
    return shown.removesuffix(":00") if shown.count(":") == 2 else shown

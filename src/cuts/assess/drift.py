"""What changed between the real rows and a synthetic table, column by column: the differences that are largest.

A mean or a share is compared in standard deviations (the standardised mean difference of clinical trials; Austin,
Statistics in Medicine 2009): differences in years, in money and in shares can then be sorted, and below 0.1 is small.
The standard deviation of numbers is estimated from their quartiles where that is smaller, so that outliers hide
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import cast, get_args

import numpy as np

from cuts.data.columns import MomentKind
from cuts.data.conform import conform
from cuts.data.describe import kind_in_words
from cuts.data.schema import Category, Modelled, Schema, Unmodelled
from cuts.data.table import Floats, Table
from cuts.data.temporal import show_moment
from cuts.lang.printer import short
from cuts.text.columns import align
from cuts.text.diagnostic import counted

MAX_SHOWN = 5
MAX_DIGITS = 9  # of a mean
MEAN, MISSING = "mean", "missing"
SMALL = 0.1  # standard deviations
NORMAL_QUARTILES = 1.349  # standard deviations between the quartiles of a normal distribution


@dataclass(frozen=True, slots=True)
class Drift:
    """A mean or a share of a column in the real rows and in the table, and their difference in standard deviations."""

    column: str
    what: str  # "mean", "missing" or "share of `category`"
    real: float
    synthetic: float
    difference: float


def drifts(real: Table, synthetic: Table, schema: Schema) -> tuple[Drift, ...]:
    """What differs, the largest difference first: of each column its mean or most changed share, and missing values."""
    before, after = conform(real, schema), conform(synthetic, schema)
    columns = [column for column in schema if not isinstance(column, Unmodelled)]
    found = [drift for column in columns for drift in _of_column(column, before, after)]
    return tuple(sorted(found, key=lambda drift: -drift.difference))


def as_text(found: Sequence[Drift], schema: Schema, rows: int) -> str:
    """The largest differences as a table; `rows` is the size of the smaller table, which says how much chance does."""
    chance = sqrt(2 / rows)
    cells = [
        [drift.column, drift.what, *_both(drift, schema), f"{drift.difference:.2f}"]
        for drift in found[:MAX_SHOWN]
        if drift.difference > chance
    ]
    if not cells:
        return "No mean, no share of missing values and no category differs from the real rows by more than chance."
    head = (
        f"What differs most from the real rows, in standard deviations without outliers (below {SMALL:g} is small; two "
        f"samples of {counted(rows, 'row')} differ by about {chance:.2f} by chance):"
    )
    return f"{head}\n{align(['column', 'what', 'real', 'synthetic', 'difference'], cells, right=[2, 3, 4])}"


def _both(drift: Drift, schema: Schema) -> list[str]:
    """Both numbers as people write them."""
    column, numbers = schema[drift.column], (drift.real, drift.synthetic)
    if drift.what != MEAN:
        return [f"{100 * share:.2f} %" for share in numbers]
    return list(means_in_words(*numbers, kind_in_words(column)))


def means_in_words(real: float, synthetic: float, kind: str) -> tuple[str, str]:
    """Two means of a column of that kind, with as many digits as it takes to see that they differ.

    >>> means_in_words(32.37, 30.19, "integer"), means_in_words(-118.2871, -118.2694, "real, 6 decimals")
    (('32.37', '30.19'), ('-118.29', '-118.27'))
    >>> means_in_words(8155.0, 8156.0, "date")
    ('1992-04-30', '1992-05-01')
    """
    if kind in get_args(MomentKind):
        first, second = (show_moment(cast(MomentKind, kind), float(round(mean))) for mean in (real, synthetic))
        return first, second
    for digits in range(4, MAX_DIGITS):
        first, second = short(real, digits), short(synthetic, digits)
        if first != second:
            break
    return first, second


@dataclass(frozen=True, slots=True)
class _Moments:
    """A mean and a variance."""

    mean: float
    variance: float


def _of_column(column: Modelled, before: Table, after: Table) -> Iterator[Drift]:
    name = column.name
    missing = [table.missing(name) for table in (before, after)]
    if any(part.any() for part in missing):
        yield _drift(name, MISSING, *(_of_share(float(part.mean())) for part in missing))
    if any(part.all() for part in missing):
        return  # nothing to compare but that
    texts = column.categories if isinstance(column, Category) else column.texts
    if texts:
        real, synthetic = (_shares(table, name) for table in (before, after))
        shares = [
            _drift(
                name,
                f"share of `{category}`",
                _of_share(real.get(category, 0.0)),
                _of_share(synthetic.get(category, 0.0)),
            )
            for category in texts
        ]
        yield max(shares, key=lambda drift: drift.difference)
    if isinstance(column, Category):
        return
    values = [numbers[~np.isnan(numbers)] for numbers in (before.numbers(name), after.numbers(name))]
    if all(map(len, values)):
        yield _drift(name, MEAN, *map(_of_numbers, values))


def _shares(table: Table, name: str) -> dict[str, float]:
    """The share of each category, or of each text beside numbers, among the rows that have a value."""
    present = table.rows - int(table.missing(name).sum())
    counts = table.texts(name).drop_null().value_counts()
    return {str(entry["values"]): entry["counts"] / present for entry in counts.to_pylist()}


def _of_numbers(values: Floats) -> _Moments:
    low, high = np.quantile(values, [0.25, 0.75]).tolist()
    robust = ((high - low) / NORMAL_QUARTILES) ** 2
    variance = float(values.var())
    return _Moments(float(values.mean()), min(variance, robust) if robust else variance)


def _of_share(share: float) -> _Moments:
    return _Moments(share, share * (1.0 - share))


def _drift(column: str, what: str, real: _Moments, synthetic: _Moments) -> Drift:
    deviation = sqrt((real.variance + synthetic.variance) / 2)
    difference = abs(synthetic.mean - real.mean)
    return Drift(
        column, what, real.mean, synthetic.mean, difference / deviation if deviation else float(difference > 0)
    )

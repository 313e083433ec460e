"""The distribution of every column in the real rows and in a synthetic table, on bins that both share.

Categories are sorted by their share of the real rows, unless they have an order of their own; the rarest are joined.
The floor of a distance is the same for as many real rows resampled with replacement: what a perfect table would have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cuts.assess.distance import variation
from cuts.assess.readable_bins import MAX_BINS, choose_bins
from cuts.assess.table_arrays import Sample, text_codes
from cuts.data.columns import Modelled
from cuts.data.schema import Category, Numeric, Temporal
from cuts.data.table import Floats, IntArray

ColumnKind = Literal["category", "number", "time"]
RESAMPLES = 20  # of a floor
MAX_TEXTS = 5  # beside numbers that have bins of their own
OTHER, MISSING = "other", "missing"


@dataclass(frozen=True, slots=True)
class Distribution:
    """The shares of one column in both tables, over the same bins; the last bin is `missing` if any value is.

    The distance is the total variation, half the sum of |p - q|; the floor is that of as many real rows resampled.
    """

    column: str
    kind: ColumnKind
    bins: tuple[str, ...]  # a category, or a range in words
    real: tuple[float, ...]
    synthetic: tuple[float, ...]
    distance: float
    floor: float
    other_values: int = 0  # categories that were joined in the bin `other`

    @property
    def excess(self) -> float:
        """How far the distance is above its floor."""
        return self.distance - self.floor


@dataclass(frozen=True, slots=True, eq=False)
class SharedBins:
    """The bins of a column with their names, and the bin of every row of both tables."""

    column: Modelled
    labels: tuple[str, ...]
    real: IntArray
    synthetic: IntArray
    other_values: int = 0

    @property
    def shares(self) -> tuple[Floats, Floats]:
        """The share of each bin in the real and in the synthetic rows."""
        real, synthetic = (
            np.bincount(rows, minlength=len(self.labels)) / len(rows) for rows in (self.real, self.synthetic)
        )
        return real, synthetic


def share_bins(real: Sample, synthetic: Sample) -> tuple[SharedBins, ...]:
    """The bins of every column that can be compared; both tables have rows."""
    return tuple(
        _of_categories(column, real, synthetic)
        if isinstance(column, Category)
        else _of_numbers(column, real, synthetic)
        for column in real.columns
    )


def distributions(columns: Iterable[SharedBins], *, seed: int) -> tuple[Distribution, ...]:
    """The distribution of every column, in the order given."""
    rng = np.random.default_rng(seed)
    found = []
    for bins in columns:
        real, synthetic = bins.shares
        found.append(
            Distribution(
                bins.column.name,
                kind_of(bins.column),
                bins.labels,
                tuple(real.tolist()),
                tuple(synthetic.tolist()),
                variation(real, synthetic),
                resampled_distance(real, len(bins.synthetic), rng),
                bins.other_values,
            )
        )
    return tuple(found)


def resampled_distance(shares: Floats, rows: int, rng: np.random.Generator, resamples: int = RESAMPLES) -> float:
    """The mean distance from `shares` to those of that many rows drawn from them."""
    drawn = rng.multinomial(rows, shares / shares.sum(), size=resamples) / rows
    return float(np.abs(drawn - shares).sum(axis=1).mean() / 2)


def kind_of(column: Modelled) -> ColumnKind:
    """What the values of a column are."""
    return "category" if isinstance(column, Category) else "time" if isinstance(column, Temporal) else "number"


def _of_categories(column: Category, real: Sample, synthetic: Sample) -> SharedBins:
    ours, theirs = (sample.values[column.name].astype(np.int64) for sample in (real, synthetic))
    size = len(column.categories)  # then missing, then unknown
    counts, others = (np.bincount(codes, minlength=size + 2) for codes in (ours, theirs))
    present = np.flatnonzero((counts + others)[:size])
    by_share = sorted(present.tolist(), key=lambda code: (-counts[code], -others[code], code))
    is_full = len(by_share) > MAX_BINS
    shown = by_share[: MAX_BINS - 1] if is_full else by_share
    if column.ordered:
        shown = sorted(shown)
    labels = [column.categories[code] for code in shown]
    places = np.full(size + 2, len(shown), dtype=np.int64)
    places[shown] = np.arange(len(shown))
    if is_full or counts[size + 1] or others[size + 1]:
        labels.append(_unused(OTHER, labels))
    if counts[size] or others[size]:
        places[size] = len(labels)
        labels.append(_unused(MISSING, labels))
    return SharedBins(column, tuple(labels), places[ours], places[theirs], len(by_share) - len(shown))


def _of_numbers(column: Numeric, real: Sample, synthetic: Sample) -> SharedBins:
    samples = (real, synthetic)
    numbers = [sample.values[column.name].astype(np.float64) for sample in samples]
    bins = choose_bins(column, *(values[~np.isnan(values)] for values in numbers))
    texts = [text_codes(sample, column) for sample in samples]
    has_numbers = any((~np.isnan(values)).any() for values in numbers)
    labels = [*bins.labels] if has_numbers else []
    counts = np.bincount(texts[0], minlength=len(column.texts) + 1)[1:]
    totals = counts + np.bincount(texts[1], minlength=len(column.texts) + 1)[1:]
    by_share = sorted(np.flatnonzero(totals).tolist(), key=lambda code: (-counts[code], code))
    places = np.zeros(len(column.texts) + 1, dtype=np.int64)
    shown = by_share if len(by_share) <= MAX_TEXTS else by_share[: MAX_TEXTS - 1]
    for code in shown:
        places[code + 1] = len(labels)
        labels.append(_unused(column.texts[code], labels))
    joined = by_share[len(shown) :]
    if joined:
        places[np.array(joined) + 1] = len(labels)
        labels.append(_unused(OTHER, labels))
    absent = [np.isnan(values) & (codes == 0) for values, codes in zip(numbers, texts, strict=True)]
    missing = len(labels)
    if any(rows.any() for rows in absent):
        labels.append(_unused(MISSING, labels))
    coded = []
    for values, codes, rows in zip(numbers, texts, absent, strict=True):
        placed = np.searchsorted(np.array(bins.edges), values, side="right")
        coded.append(np.where(rows, missing, np.where(codes > 0, places[codes], placed)).astype(np.int64))
    return SharedBins(column, tuple(labels), coded[0], coded[1], len(joined))


def _unused(label: str, labels: Sequence[str]) -> str:
    """The label, in parentheses as long as a value has that name."""
    while label in labels:
        label = f"({label})"
    return label

"""The cells on which tables are compared: one per category, and bins over the range of the train rows for numbers.

Equal-width bins follow the paper, so that distances are comparable with its tables; models learn on other bins. Missing
values and categories outside the schema have a cell of their own if there are any; so has every text beside numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cuts.assess.table_arrays import Sample, text_codes
from cuts.data.schema import Category, Modelled, Numeric
from cuts.data.table import Floats, IntArray

Bins = Literal["uniform", "quantile"]
BINS = 32  # per numeric column
_MARGIN = 1e-7  # above the highest value, which then lies inside the last bin


@dataclass(frozen=True, slots=True)
class Axis:
    """The cells of one column; `low`, `high`, `step` and `edges` apply to a numeric column."""

    column: Modelled
    size: int
    low: float = 0.0
    high: float = 0.0
    step: float = 1.0
    edges: tuple[float, ...] | None = None  # of quantile bins
    missing: int | None = None  # the cell of missing values
    unknown: int | None = None  # the cell of categories outside the schema
    first_text: int | None = None  # the first of the cells of texts beside numbers


@dataclass(frozen=True, slots=True)
class Grid:
    """The axes of all columns, in the order of the schema."""

    bins: Bins
    axes: tuple[Axis, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of every column."""
        return tuple(axis.size for axis in self.axes)


def build_grid(train: Sample, others: Sequence[Sample], bins: Bins) -> Grid:
    """The grid of the train rows; `others` only decide whether missing and unknown values need a cell."""
    samples = (train, *others)
    return Grid(bins, tuple(_axis(column, train, samples, bins) for column in train.columns))


def cells(sample: Sample, grid: Grid) -> IntArray:
    """The cell of every value: shape (columns, rows)."""
    return np.stack([cell(sample, axis) for axis in grid.axes])


def cell(sample: Sample, axis: Axis) -> IntArray:
    """The cell of every value of one column; values outside the train range are in the first or last bin."""
    values = sample.values[axis.column.name]
    if isinstance(axis.column, Category):
        indices = values.astype(np.int64)
        category_count = len(axis.column.categories)
        if axis.unknown is None:
            return indices
        return np.where(indices > category_count, axis.unknown, indices)
    missing = np.isnan(values)
    numbers = np.where(missing, axis.low, values)
    if axis.edges is not None:
        bin_numbers = np.searchsorted(np.array(axis.edges), numbers, side="right").astype(np.int64)
    else:
        bin_numbers = np.clip(np.floor((numbers - axis.low) / axis.step), 0, BINS - 1).astype(np.int64)
    bin_numbers = bin_numbers if axis.missing is None else np.where(missing, axis.missing, bin_numbers)
    if axis.first_text is None:
        return bin_numbers
    texts = text_codes(sample, axis.column)
    return np.where(texts > 0, axis.first_text + texts - 1, bin_numbers)


def _axis(column: Modelled, train: Sample, samples: Sequence[Sample], bins: Bins) -> Axis:
    if isinstance(column, Category):
        category_count = len(column.categories)
        highest = max(int(sample.values[column.name].max()) for sample in samples)
        has_missing = column.missing or any((sample.values[column.name] == category_count).any() for sample in samples)
        missing = category_count if has_missing else None
        unknown = category_count + has_missing if highest > category_count else None
        return Axis(column, category_count + has_missing + (unknown is not None), missing=missing, unknown=unknown)
    absent = [np.isnan(sample.values[column.name]) & (text_codes(sample, column) == 0) for sample in samples]
    has_missing = column.missing or any(rows.any() for rows in absent)
    low, high, edges = _numbers(column, train, bins)
    size = BINS if edges is None else len(edges) + 1
    step = (high + _MARGIN - low) / BINS
    missing = size if has_missing else None
    first_text = size + has_missing if column.texts else None
    cells = size + has_missing + len(column.texts)
    return Axis(column, cells, low, high, step, edges, missing=missing, first_text=first_text)


def _numbers(column: Numeric, train: Sample, bins: Bins) -> tuple[float, float, tuple[float, ...] | None]:
    """Lowest and highest value of the train rows, and the edges between quantile bins."""
    values: Floats = train.values[column.name].astype(np.float64)
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return float(column.low), float(column.high), None if bins == "uniform" else ()
    low, high = float(values.min()), float(values.max())
    if bins == "uniform":
        return low, high, None
    through = np.quantile(values, np.arange(1, BINS) / BINS, method="inverted_cdf")
    return low, high, tuple(sorted({float(edge) for edge in through} - {low}))

"""Feature matrices for learners: categories one-hot or as codes, numbers scaled or one-hot by bin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cuts.assess.grid import Axis, Grid, cell
from cuts.assess.table_arrays import Sample
from cuts.data.schema import Category
from cuts.data.table import IntArray

Features = Literal["raw", "bins"]
Matrix: TypeAlias = NDArray[np.float32]

MAX_LEVELS = 256  # one-hot columns per category column; rarer categories share the last one
MAX_CODES = 255  # of a category column as codes, the limit of scikit-learn; rarer categories share the last one
MAX_ROWS = 200_000  # rows a learner is trained on


def build_matrix(sample: Sample, train: Sample, grid: Grid, names: Sequence[str], features: Features) -> Matrix:
    """The named columns of a sample; the train rows determine which categories are rare and the scale of numbers."""
    parts: list[Matrix] = [np.zeros((sample.rows, 0), np.float32)]
    for axis in grid.axes:
        if axis.column.name not in names:
            continue
        if isinstance(axis.column, Category) or features == "bins":
            parts.append(_one_hot(sample, train, axis))
        else:
            parts.append(_numbers(sample, train, axis))
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True, slots=True)
class Coded:
    """One feature per column, for trees that support categories: codes, or scaled numbers with NaN for missing ones."""

    matrix: Matrix
    is_category: list[bool]


def build_codes(first: Sample, second: Sample) -> Coded:
    """All columns of two samples, the rows of the first before those of the second.

    Both determine which categories are rare: if one did so alone, more categories would be rare in the other.
    """
    parts: list[Matrix] = []
    for column in first.columns:
        values = np.concatenate([first.values[column.name], second.values[column.name]])
        if isinstance(column, Category):
            codes, size = values.astype(np.int64), len(column.categories) + 2  # missing and unknown are codes too
            if size > MAX_CODES:
                codes = _shared(codes, size, MAX_CODES)[codes]
            parts.append(codes.astype(np.float32))
        else:
            scaled = (values - column.low) / ((column.high - column.low) or 1.0)  # large moments keep their digits
            parts.append(scaled.astype(np.float32))
    matrix: Matrix = np.stack(parts, axis=1)
    return Coded(matrix, [isinstance(column, Category) for column in first.columns])


def _one_hot(sample: Sample, train: Sample, axis: Axis) -> Matrix:
    cells, size = cell(sample, axis), axis.size
    if size > MAX_LEVELS:
        owner = _shared(cell(train, axis), size, MAX_LEVELS)
        cells, size = owner[cells], MAX_LEVELS
    matrix: Matrix = np.zeros((sample.rows, size), np.float32)
    matrix[np.arange(sample.rows), cells] = 1.0
    return matrix


def _shared(seen: IntArray, size: int, levels: int) -> IntArray:
    """The level of every category: the most frequent have their own, the others share the last one."""
    frequent = np.argsort(-np.bincount(seen, minlength=size), kind="stable")[: levels - 1]
    owner = np.full(size, levels - 1, dtype=np.int64)
    owner[frequent] = np.arange(len(frequent))
    return owner


def _numbers(sample: Sample, train: Sample, axis: Axis) -> Matrix:
    """The numbers in units of the train range; missing ones are the train median, marked by a second column."""
    name = axis.column.name
    values = (sample.values[name] - axis.low) / ((axis.high - axis.low) or 1.0)  # large moments keep their digits
    missing = np.isnan(values)
    if axis.missing is None:
        return values.astype(np.float32)[:, None]
    present = train.values[name][~np.isnan(train.values[name])]
    median = (float(np.median(present)) - axis.low) / ((axis.high - axis.low) or 1.0) if len(present) else 0.0
    return np.stack([np.where(missing, median, values), missing], axis=1).astype(np.float32)

"""Feature matrices for learners: categories one-hot or as codes, numbers scaled or one-hot by bin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cuts.assess.grid import Axis, Grid, cell
from cuts.assess.table_arrays import Sample, text_codes
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
    """One feature per column, for trees that support categories: codes, or scaled numbers with NaN for missing ones.

    A numeric column with texts has a second feature, which of them it is.
    """

    matrix: Matrix
    is_category: list[bool]


def build_codes(first: Sample, second: Sample) -> Coded:
    """All columns of two samples, the rows of the first before those of the second.

    Both determine which categories are rare: if one did so alone, more categories would be rare in the other.
    """
    parts: list[tuple[Matrix, bool]] = []
    for column in first.columns:
        values = np.concatenate([first.values[column.name], second.values[column.name]])
        if isinstance(column, Category):
            codes, size = values.astype(np.int64), len(column.categories) + 2  # missing and unknown are codes too
            if size > MAX_CODES:
                codes = _shared(codes, size, MAX_CODES)[codes]
            parts.append((codes.astype(np.float32), True))
        else:
            scaled = (values - column.low) / ((column.high - column.low) or 1.0)  # large moments keep their digits
            parts.append((scaled.astype(np.float32), False))
            if column.texts:
                texts = np.concatenate([text_codes(sample, column) for sample in (first, second)])
                parts.append((texts.astype(np.float32), True))
    return Coded(np.stack([part for part, _ in parts], axis=1), [is_category for _, is_category in parts])


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
    """The numbers in units of the train range; the others are the train median, marked by one column per reason."""
    name = axis.column.name
    values = (sample.values[name] - axis.low) / ((axis.high - axis.low) or 1.0)  # large moments keep their digits
    absent = np.isnan(values)
    if axis.missing is None and axis.first_text is None:
        return values.astype(np.float32)[:, None]
    present = train.values[name][~np.isnan(train.values[name])]
    median = (float(np.median(present)) - axis.low) / ((axis.high - axis.low) or 1.0) if len(present) else 0.0
    first = axis.missing if axis.missing is not None else axis.first_text
    assert first is not None
    reasons = [cell(sample, axis) == reason for reason in range(first, axis.size)]
    return np.stack([np.where(absent, median, values), *reasons], axis=1).astype(np.float32)

"""Whether synthetic rows are closer to the train rows than to other rows of the same source.

The model has not seen the test rows, so a synthetic row should be as close to them as to equally many train rows: half
of the synthetic rows should be closer to a train row. A larger share, or more exact copies of train rows, means that
rows were memorised. These are indications, not proofs; only differential privacy is a guarantee.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cuts.assess.grid import Grid, cells
from cuts.assess.table_arrays import Sample, text_codes, thin
from cuts.data.schema import Category
from cuts.data.table import Bools, Floats, IntArray

MAX_SYNTHETIC_ROWS = 5_000  # rows whose closest real row is searched for
MAX_REAL_ROWS = 10_000  # per table
PAIRS_PER_BLOCK = 2_000_000  # pairs of rows compared at once


@dataclass(frozen=True, slots=True)
class Nearness:
    """Distances, from 0 to 1, between synthetic rows and the closest of equally many train and test rows.

    `nearer_to_train` is the share of rows closer to a train row, ties counted as one half; its standard error is over
    the synthetic rows.
    """

    synthetic_rows: int
    real_rows: int  # per table
    nearer_to_train: float
    standard_error: float
    train_5th: float
    train_median: float
    test_5th: float
    test_median: float
    copy_would_give: float  # `nearer_to_train` if distinct train rows were copied; only some of them are searched


@dataclass(frozen=True, slots=True)
class Copies:
    """The share of synthetic rows that are equal to a real row in every column."""

    all_train: float
    train: float  # among `real_rows` train rows
    test: float  # among `real_rows` test rows
    real_rows: int


@dataclass(frozen=True, slots=True)
class Leakage:
    """Distances to the closest rows, and copies: exact copies, and rows with equal bins."""

    nearness: Nearness
    copies: Copies
    copies_on_bins: Copies


def measure_leakage(
    synthetic: Sample, train: Sample, test: Sample, grid: Grid, *, seed: int, say: Callable[[str], None]
) -> Leakage:
    """Indications that train rows were memorised; identifiers are left out."""
    rng = np.random.default_rng(seed)
    say("searching for the closest real rows")
    nearness = _nearness(synthetic, train, test, grid, rng)
    samples = (synthetic, train, test)
    as_written = _row_numbers([_distinct(samples, name) for name in train.names])
    on_bins = _row_numbers(list(np.concatenate([cells(sample, grid) for sample in samples], axis=1)))
    n, m = synthetic.rows, synthetic.rows + train.rows
    real_rows = min(train.rows, test.rows)
    train_part, test_part = (rng.choice(rows, real_rows, replace=False) for rows in (train.rows, test.rows))

    def copies(rows: IntArray) -> Copies:
        ours, of_train, of_test = rows[:n], rows[n:m], rows[m:]
        return Copies(
            _share(ours, of_train), _share(ours, of_train[train_part]), _share(ours, of_test[test_part]), real_rows
        )

    return Leakage(nearness, copies(as_written), copies(on_bins))


def copies_and_twins(synthetic: Sample, real: Sample) -> tuple[float, float]:
    """The share of synthetic rows that equal a real row in every column, and of real rows that equal another one.

    The second is a yardstick for the first: rows that occur several times are copied without being memorised.
    """
    numbers = _row_numbers([_distinct((synthetic, real), name) for name in real.names])
    ours, theirs = numbers[: synthetic.rows], numbers[synthetic.rows :]
    twins = np.bincount(theirs)[theirs] > 1
    return _share(ours, theirs), float(twins.mean())


def closest(rows: Sample, real: Sample, grid: Grid) -> Floats:
    """The Gower (1971) distance from each row to the closest real row: the mean over columns of 0 or 1 for categories,
    and of the difference in units of the train range for numbers; a missing value has distance 1 to any value."""
    ours, theirs = _coordinates(rows, grid), _coordinates(real, grid)
    distances = np.empty(rows.rows)
    step = max(1, PAIRS_PER_BLOCK // max(1, real.rows))
    for start in range(0, rows.rows, step):
        total = np.zeros((min(step, rows.rows - start), real.rows), dtype=np.float32)
        for mine, others in zip(ours, theirs, strict=True):
            apart = np.abs(mine[start : start + step, None] - others[None, :])
            total += np.minimum(apart, np.float32(1.0), out=apart)
        distances[start : start + step] = total.min(axis=1)
    return distances / len(ours)


def _nearness(synthetic: Sample, train: Sample, test: Sample, grid: Grid, rng: np.random.Generator) -> Nearness:
    real_rows = min(train.rows, test.rows, MAX_REAL_ROWS)
    rows = thin(synthetic, MAX_SYNTHETIC_ROWS, rng)
    to_train, to_test = (closest(rows, thin(real, real_rows, rng), grid) for real in (train, test))
    nearer = np.where(to_train < to_test, 1.0, np.where(to_train > to_test, 0.0, 0.5))
    (train_5th, train_median), (test_5th, test_median) = (
        np.quantile(distances, [0.05, 0.5]).tolist() for distances in (to_train, to_test)
    )
    return Nearness(
        synthetic_rows=rows.rows,
        real_rows=real_rows,
        nearer_to_train=float(nearer.mean()),
        standard_error=float(nearer.std() / sqrt(len(nearer))),
        train_5th=train_5th,
        train_median=train_median,
        test_5th=test_5th,
        test_median=test_median,
        copy_would_give=0.5 + 0.5 * real_rows / train.rows,
    )


def _coordinates(sample: Sample, grid: Grid) -> list[NDArray[np.float32]]:
    """One coordinate per column and row; values that differ fully, such as two categories, are at least 1 apart."""
    coordinates = []
    for axis in grid.axes:
        values = sample.values[axis.column.name]
        if isinstance(axis.column, Category):
            coordinates.append(values.astype(np.float32))
        else:
            scaled = np.clip((values - axis.low) / ((axis.high - axis.low) or 1.0), -1.0, 2.0)
            apart = 4.0 + text_codes(sample, axis.column)
            coordinates.append(np.where(np.isnan(scaled), apart, scaled).astype(np.float32))
    return coordinates


def _distinct(samples: tuple[Sample, ...], name: str) -> IntArray:
    """One number per row of all samples; equal values of the column, as written, have equal numbers."""
    values = pa.chunked_array([chunk for sample in samples for chunk in sample.table.column(name).chunks])
    parts = values.combine_chunks().flatten() if pa.types.is_struct(values.type) else [values.combine_chunks()]
    codes = [part.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False) for part in parts]
    return _row_numbers([code.astype(np.int64) for code in codes])


def _row_numbers(columns: list[IntArray]) -> IntArray:
    """One number per row; equal rows have equal numbers."""
    number = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        _, number = np.unique(number * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    return number.astype(np.int64)


def _share(rows: IntArray, real: IntArray) -> float:
    is_copy: Bools = np.isin(rows, real)
    return float(is_copy.mean())

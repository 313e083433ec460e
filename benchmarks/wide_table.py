"""A wide table as they occur: blocks of ten columns that share latent factors, a few functions of others, a label.

A block has categories of 2 to 30 values, counts, whole numbers, reals, missing values, the sum of two of its columns, a
threshold of one and a column of noise. One common factor ties all blocks, weakly. The label is a logistic function of
columns of the first four blocks, some of them only in combination with each other. A wider table has the same first
columns, and rows are made in groups, each from its own seed, in the memory of one group.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

GROUP = 50_000  # rows made and written at once
BLOCK = 10  # columns that share their latent factors
LABEL = "label"

Numbers: TypeAlias = NDArray[Any]


def write_wide(path: Path, columns: int, rows: int, *, seed: int = 0) -> None:
    """Write a table with that many columns, the label included, to a Parquet file."""
    writer: pq.ParquetWriter | None = None
    for start in range(0, rows, GROUP):
        group = wide_rows(columns, min(GROUP, rows - start), seed=(seed, start))
        writer = writer or pq.ParquetWriter(path, group.schema, compression="zstd")
        writer.write_table(group)
    assert writer is not None
    writer.close()


def wide_rows(columns: int, rows: int, *, seed: tuple[int, int]) -> pa.Table:
    """Some rows of the table; other seeds give other rows of the same population."""
    common = np.random.default_rng([*seed, 0]).normal(size=rows)
    arrays: dict[str, pa.Array] = {}
    score = np.zeros(rows)
    for block in range(-(-(columns - 1) // BLOCK)):
        made, part = _block(block, common, np.random.default_rng([*seed, block + 1]))
        arrays |= made
        score += part if block < 4 else 0.0
    named = {name: arrays[name] for name in list(arrays)[: columns - 1]}
    chance = 1.0 / (1.0 + np.exp(-1.5 * score))
    drawn = np.random.default_rng([*seed, 10**6]).random(rows) < chance
    return pa.table({**named, LABEL: pa.array(np.where(drawn, "yes", "no"))})


def _block(block: int, common: Numbers, rng: np.random.Generator) -> tuple[dict[str, pa.Array], Numbers]:
    """The columns of one block, and what it adds to the score of the label."""
    fixed = np.random.default_rng([7, block])  # what does not differ between rows: sizes, loadings, orders
    rows = len(common)
    a = 0.3 * common + rng.normal(size=rows)
    b = 0.5 * a + rng.normal(size=rows)

    def mixed(noise: float) -> Numbers:
        first, second = fixed.normal(size=2)
        return (first * a + second * b) / np.hypot(first, second) + noise * rng.normal(size=rows)

    def category(values: Numbers, size: int) -> Numbers:
        edges = np.sort(fixed.normal(size=size - 1)) * 1.3
        return fixed.permutation(size)[np.searchsorted(edges, values)]

    large = category(mixed(0.5), int(fixed.integers(12, 31)))
    count = rng.poisson(np.exp(np.clip(0.8 * mixed(0.2) + 0.5, -3, 3)))
    real = np.round(20 + 5 * mixed(0.4), 2)
    small = category(mixed(0.6), int(fixed.integers(2, 6)))
    whole = np.clip(np.round(45 + 12 * mixed(0.5)), 17, 90).astype(np.int64)
    skewed = np.round(np.exp(6 + 0.7 * mixed(0.4)), 1)
    is_missing = rng.random(rows) < 0.2 / (1 + np.exp(-2 * a))
    follows = np.where(rng.random(rows) < 0.75, fixed.permutation(30)[large] % 10, rng.integers(0, 10, rows))
    total = count + whole
    above = real > 20
    noise = np.round(rng.gamma(2.0, 10.0, rows), 1)
    names = [f"b{block:02d}_{kind}" for kind in KINDS]
    columns = [
        _texts(large),
        pa.array(count),
        pa.array(real),
        _texts(small),
        pa.array(whole),
        pa.array(skewed, mask=is_missing),
        _texts(follows),
        pa.array(total),
        pa.array(above),
        pa.array(noise),
    ]
    score = 0.6 * (real - 20) / 5 + np.where(small % 2, 0.8, -0.8) * (whole - 45) / 12 + 0.4 * (large % 3 - 1)
    return dict(zip(names, columns, strict=True)), score


KINDS = ("large", "count", "real", "small", "whole", "skewed", "follows", "total", "above", "noise")


def _texts(codes: Numbers) -> pa.Array:
    return pa.array(np.array([f"v{value:02d}" for value in range(30)])[codes])

"""The counts of `tables/count.py` by other engines: DuckDB and polars on the same file, with the same bins.

Both make a table of codes first, one byte per cell, with the bins as expressions of their own, and group it once per
triple. Of the ways tried this was the fastest: GROUPING SETS over the file take DuckDB half as much again. Each engine
has one thread. The codec must have one bin per category and no missing values.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cuts.count.marginals import Clique
from cuts.data.codec import CategoryBins, Codec, ColumnBins
from cuts.data.table import IntArray

if TYPE_CHECKING:
    import polars as pl

Tables = dict[Clique, IntArray]


def by_duckdb(path: Path, codec: Codec, triples: Sequence[Clique]) -> Tables:
    """One GROUP BY per triple over a temporary table of codes."""
    import duckdb

    database = duckdb.connect(config={"threads": 1})
    columns = [f'({_sql_code(bins)})::UTINYINT AS "{bins.column.name}"' for bins in codec.columns]
    database.execute(f"CREATE TEMP TABLE codes AS SELECT {', '.join(columns)} FROM read_parquet('{path}')")
    found: Tables = {}
    for triple in triples:
        names = ", ".join(f'"{name}"' for name in triple)
        groups = database.execute(f"SELECT {names}, count(*) AS rows FROM codes GROUP BY {names}").fetchnumpy()
        found[triple] = np.zeros([codec.sizes[name] for name in triple], dtype=np.int64)
        found[triple][tuple(groups[name].astype(np.int64) for name in triple)] = groups["rows"]
    return found


def by_polars(path: Path, codec: Codec, triples: Sequence[Clique]) -> Tables:
    """One group-by per triple over a frame of codes; the three codes are one number, which polars groups faster."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    import polars as pl

    codes = pl.scan_parquet(path).select(_polars_code(bins) for bins in codec.columns).collect()
    found: Tables = {}
    for triple in triples:
        sizes = [codec.sizes[name] for name in triple]
        first, second, third = (pl.col(name).cast(pl.UInt32) for name in triple)
        key = (first * sizes[1] + second) * sizes[2] + third
        groups = codes.select(key.alias("key")).group_by("key").len()
        flat = np.zeros(int(np.prod(sizes)), dtype=np.int64)
        flat[groups["key"].to_numpy()] = groups["len"].to_numpy()
        found[triple] = flat.reshape(sizes)
    return found


def _sql_code(bins: ColumnBins) -> str:
    name = f'"{bins.column.name}"'
    if isinstance(bins, CategoryBins):
        texts = ", ".join("'" + text.replace("'", "''") + "'" for text in _single(bins))
        return f"enum_code({name}::ENUM({texts}))"
    return _sql_search(name, bins.edges, 0, len(bins.edges))


def _sql_search(name: str, edges: Sequence[float], low: int, high: int) -> str:
    """The bin from `low` on and before `high`, found by halving."""
    if high - low == 1:
        return str(low)
    middle = (low + high) // 2
    left, right = _sql_search(name, edges, low, middle), _sql_search(name, edges, middle, high)
    return f"CASE WHEN {name} < {edges[middle]!r} THEN {left} ELSE {right} END"


def _polars_code(bins: ColumnBins) -> pl.Expr:
    import polars as pl

    column = pl.col(bins.column.name)
    if isinstance(bins, CategoryBins):
        return column.cast(pl.Enum(_single(bins))).to_physical().cast(pl.UInt8)
    place = pl.lit(pl.Series(bins.edges)).search_sorted(column.cast(pl.Float64), side="right")
    return (place - 1).cast(pl.UInt8).alias(bins.column.name)


def _single(bins: CategoryBins) -> list[str]:
    assert all(len(group) == 1 for group in bins.groups), bins.column.name
    return [text for (text,) in bins.groups]

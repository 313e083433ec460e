"""Adult resampled into a Parquet file of any number of rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.paper_tables import load_table

GROUP = 100_000  # rows of a row group
NOISE = 500  # in `fnlwgt`, so that rows are not copies


def write_adult(data: Path | None, path: Path, rows: int) -> None:
    """Write resampled rows of Adult in row groups, in the memory of one group."""
    real = load_table(data, "adult", "default")
    whole, column = real.train.arrow, real.schema.learned("fnlwgt")
    place = whole.column_names.index("fnlwgt")
    with pq.ParquetWriter(path, whole.schema, compression="zstd") as writer:
        for start in range(0, rows, GROUP):
            rng = np.random.default_rng(start)
            part = whole.take(rng.integers(0, len(whole), min(GROUP, rows - start)))
            noisy = part.column("fnlwgt").to_numpy() + rng.integers(-NOISE, NOISE + 1, len(part))
            inside = np.clip(noisy, column.range.low, column.range.high).astype(np.int64)
            writer.write_table(part.set_column(place, "fnlwgt", pa.array(inside)))

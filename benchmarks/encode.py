"""CPU time and memory of encoding a large mixed table from Parquet.

    python benchmarks/encode.py [--rows 1000000]

The table has 15 columns of every kind: categories few and many, integers, reals, decimals, dates, timestamps, missing
values. The codec is fitted first; what is timed is reading the file block by block and encoding each block.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cuts.data.binning import fit_codec
from cuts.data.codec import decode, encode
from cuts.data.exchange.files import blocks, load, save
from cuts.data.infer import infer_schema
from cuts.data.table import Table


def main() -> None:
    """Print CPU seconds and the peak of memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mixed.parquet"
        write(path, rows)
        head = Table(pq.ParquetFile(path).read_row_group(0))
        codec = fit_codec(head, infer_schema(pq.read_table(path), "mixed"))
        before = peak()
        began = time.process_time()
        codes = [encode(block, codec) for block in blocks(path)]
        spent = time.process_time() - began
        count = sum(len(next(iter(block.values()))) for block in codes)
        print(f"encode {count:,} rows x {len(codec.columns)} columns: {spent:.2f} CPU s, peak {peak():.0f} MB")
        print(f"peak before encoding (writing and fitting included): {before:.0f} MB")
        began = time.process_time()
        for seed, block in enumerate(codes):
            decode(block, codec, seed=seed)
        print(f"decode the same: {time.process_time() - began:.2f} CPU s")
        save(Table(pq.read_table(path)), path.with_suffix(".csv"))
        began = time.process_time()
        load(path.with_suffix(".csv"))
        megabytes = path.with_suffix(".csv").stat().st_size / 1e6
        print(f"load the same as CSV, {megabytes:.0f} MB: {time.process_time() - began:.2f} CPU s")


def peak() -> float:
    """Peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def write(path: Path, rows: int) -> None:
    """A mixed table, written in row groups of 100,000."""
    writer: pq.ParquetWriter | None = None
    for start in range(0, rows, 100_000):
        table = mixed(min(100_000, rows - start), start)
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    assert writer is not None
    writer.close()


def mixed(rows: int, seed: int) -> pa.Table:
    """Rows of 15 columns of every kind."""
    rng = np.random.default_rng(seed)
    day = 86_400_000_000
    few = np.array(["red", "green", "blue", "black"])
    many = np.array([f"code{i:03d}" for i in range(500)])
    columns: dict[str, pa.Array] = {
        "sex": pa.array(rng.choice(["Female", "Male"], rows)),
        "colour": pa.array(rng.choice(few, rows), mask=rng.random(rows) < 0.1),
        "code": pa.array(many[np.minimum(rng.zipf(1.3, rows), 500) - 1]),
        "member": pa.array(rng.random(rows) < 0.3),
        "age": pa.array(rng.integers(0, 100, rows)),
        "children": pa.array(rng.poisson(1.2, rows), mask=rng.random(rows) < 0.05),
        "gain": pa.array(np.where(rng.random(rows) < 0.9, 0, rng.lognormal(8, 1, rows)).astype(np.int64)),
        "income": pa.array(np.round(rng.lognormal(10, 0.5, rows), 2)),
        "height": pa.array(rng.normal(1.7, 0.1, rows)),
        "weight": pa.array(np.round(rng.normal(75, 12, rows), 1), mask=rng.random(rows) < 0.2),
        "score": pa.array(rng.random(rows).astype(np.float32)),
        "born": pa.array(rng.integers(0, 18_000, rows).astype(np.int32)).cast(pa.date32()),
        "seen": pa.array(rng.integers(0, 400, rows) * day + rng.integers(0, day, rows)).cast(pa.timestamp("us")),
        "stay": pa.array(rng.integers(0, 40, rows) * 3_600).cast(pa.duration("s")),
        "label": pa.array(rng.choice(["yes", "no"], rows)),
    }
    return pa.table(columns)


if __name__ == "__main__":
    main()

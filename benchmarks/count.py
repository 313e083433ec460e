"""CPU time and memory of counting a large table from Parquet.

    python benchmarks/count.py [--rows 30000 1000000]

The rows are Adult's, drawn again and again with a little noise in the numbers. Counted are the triples with the label,
which have all pairs in them, and once all triples. Every line is a process of its own: reading the file block by
block, encoding each block, counting it. numba is switched on from the first block or off; `cuts` itself begins without
and switches it on when it pays. The last lines are the two other passes a fit makes: the schema and a sample.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cuts.count.kernel import count, numba_tally, numpy_tally
from cuts.count.marginals import Clique
from cuts.count.rows import blocks_to_encode, rows_in
from cuts.count.survey import infer_streamed, spread_sample
from cuts.data.binning import fit_codec
from cuts.data.codec import Codec
from cuts.datasets import DATASETS, load, load_schema

ADULT = DATASETS[0]
ROWS = (30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
ALL_TRIPLES = 1_000_000  # rows for which all triples are counted, too


def main() -> None:
    """Print rows, CPU seconds and the peak of memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    asked = parser.parse_args().rows
    codec = fit_codec(load(ADULT), load_schema(ADULT))
    workloads = {"triples with label": with_label(codec), "all triples": list(combinations(names_of(codec), 3))}
    print(f"{'rows':>12}  {'what':<28}  {'CPU s':>7}  {'peak MB':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for rows in asked:
            path = Path(folder) / "adult.parquet"
            alone(write, path, rows)
            for what, cliques in workloads.items():
                if what == "all triples" and rows != min(asked, key=lambda n: abs(n - ALL_TRIPLES)):
                    continue
                for engine in ("numpy", "numba"):
                    report(rows, f"{what}, {engine}", tally, path, codec, cliques, engine)
            if rows == max(asked):
                report(rows, "reading alone", reading, path)
                report(rows, "schema", schema, path)
                report(rows, "sample", sample, path)
            path.unlink()


def report(rows: int, what: str, task: Callable[..., None], *args: object) -> None:
    """Run a task in a process of its own and print what it took, imports not included."""
    seconds, megabytes = alone(task, *args)
    print(f"{rows:>12,}  {what:<28}  {seconds:>7.2f}  {megabytes:>7.0f}", flush=True)


def alone(task: Callable[..., None], *args: object) -> tuple[float, float]:
    """CPU seconds and peak MB of a task in a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measured, (task, *args))


def measured(task: Callable[..., None], *args: object) -> tuple[float, float]:
    """CPU seconds of a task, and the peak MB of this process."""
    began = time.process_time()
    task(*args)
    return time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# --- tasks


def tally(path: Path, codec: Codec, cliques: list[Clique], engine: str) -> None:
    """Count the cliques with numba from the start, or without."""
    chosen = numba_tally() if engine == "numba" else numpy_tally
    assert chosen is not None, "numba is not installed"
    found = count(blocks_to_encode(rows_in(path), codec), codec, cliques, tally=chosen)
    assert found.rows == pq.ParquetFile(path).metadata.num_rows


def reading(path: Path) -> None:
    """Read all blocks."""
    for _ in rows_in(path).blocks():
        pass


def schema(path: Path) -> None:
    """Infer the schema."""
    infer_streamed(rows_in(path), "adult", label="salary")


def sample(path: Path) -> None:
    """Take an even sample."""
    spread_sample(rows_in(path))


# --- rows


def names_of(codec: Codec) -> list[str]:
    """The columns that are counted."""
    return [bins.column.name for bins in codec.columns]


def with_label(codec: Codec) -> list[Clique]:
    """All triples with the label, and all pairs."""
    label = str(codec.schema.label)
    others = [name for name in names_of(codec) if name != label]
    return [*((*pair, label) for pair in combinations(others, 2)), *combinations(names_of(codec), 2)]


def write(path: Path, rows: int) -> None:
    """Rows of Adult drawn again, `fnlwgt` with noise so that they are not copies, in row groups of 100,000."""
    whole = load(ADULT).arrow
    column = load_schema(ADULT).learned("fnlwgt")
    with pq.ParquetWriter(path, whole.schema, compression="zstd") as writer:
        for start in range(0, rows, 100_000):
            rng = np.random.default_rng(start)
            part = whole.take(rng.integers(0, len(whole), min(100_000, rows - start)))
            place = part.column_names.index("fnlwgt")
            noisy = part.column("fnlwgt").to_numpy() + rng.integers(-500, 501, len(part))
            inside = np.clip(noisy, column.range.low, column.range.high).astype(np.int64)
            writer.write_table(part.set_column(place, "fnlwgt", pa.array(inside)))


if __name__ == "__main__":
    main()

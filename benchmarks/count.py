"""CPU time and memory of counting a large table from Parquet, beside DuckDB and polars on the same work.

    python benchmarks/count.py [--rows 30000 1000000]

The rows are Adult's, drawn again and again with a little noise in the numbers; nine of the 14 columns are texts.
Counted are the 78 triples with the label, which have all pairs in them, and once all triples. Every line is a process
of its own: reading the file block by block, encoding each block, counting it. numba is switched on from the first block
or off; `cuts` itself begins without and switches it on when it pays. DuckDB and polars (`count_engines.py`) must find
the same counts. The last lines are the other pass a fit makes, a survey for the schema and a sample, and reading alone.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import count_engines
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import alone, peak

from cuts.count.kernel import count, numba_tally, numpy_tally
from cuts.count.marginals import Clique
from cuts.count.rows import blocks_to_encode, rows_in
from cuts.count.survey import survey
from cuts.data.binning import fit_codec
from cuts.data.codec import Codec
from cuts.datasets import DATASETS, load, load_schema

ADULT = DATASETS[0]
ROWS = (30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
ALL_TRIPLES = 1_000_000  # rows for which all triples are counted, too


def main() -> None:
    """Print rows, CPU seconds, their ratio to the first line of so many rows, and the peak of memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    asked = parser.parse_args().rows
    codec = fit_codec(load(ADULT), load_schema(ADULT))
    print(f"{'rows':>12}  {'what':<28}  {'CPU s':>7}  {'ratio':>6}  {'peak MB':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for rows in asked:
            path = Path(folder) / "adult.parquet"
            alone(write, path, rows)
            label = str(codec.schema.label)
            triples = [(*pair, label) for pair in combinations([n for n in names_of(codec) if n != label], 2)]
            expected, first = report(rows, "triples with label, numpy", tally, path, codec, triples, "numpy")
            report(rows, "triples with label, numba", tally, path, codec, triples, "numba", first=first)
            for engine, task in (("DuckDB", count_engines.by_duckdb), ("polars", count_engines.by_polars)):
                found, _ = report(rows, f"triples with label, {engine}", task, path, codec, triples, first=first)
                assert all((found[triple] == counts).all() for triple, counts in expected.items()), engine
            if rows == min(asked, key=lambda n: abs(n - ALL_TRIPLES)):
                every = list(combinations(names_of(codec), 3))
                for engine in ("numpy", "numba"):
                    report(rows, f"all triples, {engine}", tally, path, codec, every, engine, first=first)
            if rows == max(asked):
                report(rows, "survey: schema and sample", surveyed, path, first=first)
                report(rows, "reading alone", reading, path, codec, first=first)
            path.unlink()


def report(
    rows: int, what: str, task: Callable[..., Any], *args: object, first: float | None = None
) -> tuple[Any, float]:
    """Run a task in a process of its own and print what it took, imports not included; its result and CPU seconds."""
    made, seconds, megabytes = alone(measured, task, *args)
    ratio = seconds / (first or seconds)
    print(f"{rows:>12,}  {what:<28}  {seconds:>7.2f}  {ratio:>6.2f}  {megabytes:>7.0f}", flush=True)
    return made, seconds


def measured(task: Callable[..., Any], *args: object) -> tuple[Any, float, float]:
    """What a task makes, its CPU seconds in all threads, and the peak MB of this process."""
    began = time.process_time()
    made = task(*args)
    return made, time.process_time() - began, peak()


# --- tasks


def tally(path: Path, codec: Codec, cliques: list[Clique], engine: str) -> count_engines.Tables:
    """The counts of the cliques with numba from the start, or without."""
    chosen = numba_tally() if engine == "numba" else numpy_tally
    assert chosen is not None, "numba is not installed"
    found = count(blocks_to_encode(rows_in(path), codec), codec, cliques, tally=chosen)
    assert found.rows == pq.ParquetFile(path).metadata.num_rows
    return {clique: found.table(clique) for clique in cliques}


def surveyed(path: Path) -> None:
    """Infer the schema and take an even sample."""
    survey(rows_in(path), "adult", label="salary")


def reading(path: Path, codec: Codec) -> None:
    """Read all blocks as for counting."""
    for _ in blocks_to_encode(rows_in(path), codec):
        pass


# --- rows


def names_of(codec: Codec) -> list[str]:
    """The columns that are counted."""
    return [bins.column.name for bins in codec.columns]


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

"""CPU time and memory of reading and encoding a large mixed table.

The table has 15 columns of every kind: categories few and many, integers, reals, decimals, dates, timestamps, missing
values. The codec is fitted first; what is timed is reading the file block by block and encoding each block, decoding
the same codes, and loading the same rows from CSV.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.digits import digits
from benchmarks.harness import Clock, alone
from benchmarks.markdown import NOT_YET, table
from benchmarks.records import Records
from benchmarks.table import Measured, Options, Table, Task
from cuts.data.binning import fit_codec
from cuts.data.codec import Codec, decode, encode
from cuts.data.exchange.files import blocks, load, save
from cuts.data.infer import infer_schema
from cuts.data.table import Table as Rows

FILE = "encoding"
ROWS, QUICK_ROWS = 1_000_000, 20_000
GROUP = 100_000  # rows of a row group
LINES = {
    "encode": "encode from Parquet, block by block",
    "decode": "decode the same codes",
    "load-csv": "load the same rows from CSV",
}


def tables() -> Iterator[Table]:
    """The one table of this module."""
    yield Table("encoding", "Read, encode and decode rows", "speed", tasks, page)


def tasks(options: Options) -> list[Task]:
    """One process per line."""
    rows = QUICK_ROWS if options.quick else ROWS
    return [Task(f"encoding: {what}, {rows:,} rows", FILE, (f"{what}/{rows}",), measure, (rows,)) for what in LINES]


def measure(keys: tuple[str, ...], rows: int) -> Measured:
    """CPU seconds of each line on a mixed table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mixed.parquet"
        alone(write, path, rows)
        for key in keys:
            what = key.split("/")[0]
            yield key, {"rows": rows, **(load_csv(path) if what == "load-csv" else through_codec(what, path))}


def through_codec(what: str, path: Path) -> dict[str, Any]:
    """CPU seconds of encoding a file, or of decoding its codes."""
    codec = alone(fitted, path)  # so that the peak is of encoding alone
    encoding, decoding = Clock(), Clock()
    with encoding.running():
        codes = [encode(block, codec) for block in blocks(path)]
    if what == "decode":
        with decoding.running():
            for seed, block in enumerate(codes):
                decode(block, codec, seed=seed)
    return {"columns": len(codec.columns), "cpu_seconds": (decoding if what == "decode" else encoding).seconds}


def fitted(path: Path) -> Codec:
    """The codec of a file: the schema of all rows, bins of the first row group."""
    head = Rows(pq.ParquetFile(path).read_row_group(0))
    return fit_codec(head, infer_schema(pq.read_table(path), "mixed"))


def load_csv(path: Path) -> dict[str, Any]:
    """CPU seconds of loading the rows of a file from CSV; the types are found in a pass of its own."""
    written = path.with_suffix(".csv")
    alone(convert, path, written)
    clock = Clock()
    with clock.running():
        rows, _ = load(written)
    return {"columns": len(rows.names), "cpu_seconds": clock.seconds, "file_mb": written.stat().st_size / 1e6}


def convert(path: Path, written: Path) -> None:
    """Write the rows of a Parquet file as CSV."""
    save(Rows(pq.read_table(path)), written)


def write(path: Path, rows: int) -> None:
    """A mixed table, written in row groups."""
    writer: pq.ParquetWriter | None = None
    for start in range(0, rows, GROUP):
        part = mixed(min(GROUP, rows - start), start)
        writer = writer or pq.ParquetWriter(path, part.schema, compression="zstd")
        writer.write_table(part)
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


def page(records: Records) -> str:
    """One line per way through the codec and number of rows."""
    found = records.read(FILE)
    lines = [
        [
            f"{what}, {result['file_mb']:.0f} MB" if "file_mb" in result else what,
            f"{result['rows']:,}",
            digits(result["cpu_seconds"]),
            digits(1e6 * result["cpu_seconds"] / result["rows"]),
            f"{result['peak_mb']:,}",
        ]
        for name, what in LINES.items()
        for key, result in sorted(found.items(), key=lambda each: each[1]["rows"])
        if key.startswith(f"{name}/")
    ]
    if not lines:
        return NOT_YET
    intro = (
        "A generated table with 15 columns of every kind (categories, numbers, dates, missing values). Each line is a "
        "process of its own; the codec is fitted before and not included. Decoding includes the memory of all codes."
    )
    header = ["what", "rows", "CPU s", "CPU µs per row", "peak MB"]
    return f"{intro}\n\n{table(header, lines)}"

"""CPU time and memory of counting a large table from Parquet, beside DuckDB and polars on the same work.

The rows are Adult's, resampled with a little noise in one number; nine of the 14 columns are texts. Counted are the 78
triples with the label, which contain all pairs, and all 364 triples. Every line is a process of its own: reading the
file block by block, encoding each block, counting it. numba is switched on from the first block or off; `cuts` itself
begins without and switches it on when it pays. DuckDB and polars (`count_engines.py`) must find the same counts. The
last lines are the other pass that a fit makes, a survey for the schema and a sample, and reading alone.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as pq

from benchmarks import count_engines
from benchmarks.digits import digits
from benchmarks.harness import Clock, alone, peak
from benchmarks.many_rows import write_adult
from benchmarks.markdown import NOT_YET, table
from benchmarks.paper_tables import load_table
from benchmarks.records import Records
from benchmarks.table import Measured, Options, Table, Task
from cuts.count.kernel import count, numba_tally, numpy_tally
from cuts.count.marginals import Clique
from cuts.count.rows import blocks_to_encode, rows_in
from cuts.count.survey import survey
from cuts.data.binning import fit_codec
from cuts.data.codec import Codec

FILE = "counting"
ROWS, QUICK_ROWS = 10_000_000, 200_000
Wanted = Literal["label", "all", "none"]  # the triples that are counted


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement: its title, how it works, and the triples that it counts."""

    title: str
    work: Callable[[Path, Codec, list[Clique]], count_engines.Tables]
    triples: Wanted


def tables() -> Iterator[Table]:
    """The one table of this module."""
    yield Table("counting", "Count marginals, beside DuckDB and polars", "speed", tasks, page)


def tasks(options: Options) -> list[Task]:
    """All lines in one task, which writes the file once; each is a process of its own."""
    rows = QUICK_ROWS if options.quick else ROWS
    keys = tuple(f"{rows}/{name}" for name in LINES)
    return [Task(f"counting: {rows:,} rows", FILE, keys, measure, (options.data, rows))]


def measure(keys: tuple[str, ...], data: Path | None, rows: int) -> Measured:
    """CPU seconds and peak memory of each line, and a hash of the counts."""
    real = load_table(data, "adult", "default")
    codec = fit_codec(real.train, real.schema)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adult.parquet"
        alone(write_adult, data, path, rows)
        for key in keys:
            yield key, {"rows": rows, **alone(measured, key.split("/")[1], path, codec)}


def measured(name: str, path: Path, codec: Codec) -> dict[str, Any]:
    """What one line took in this process, imports of `cuts` not included."""
    line, clock = LINES[name], Clock()
    cliques = triples(codec, line.triples)
    with clock.running():
        found = line.work(path, codec, cliques)
    result = {"cpu_seconds": clock.seconds, "line_peak_mb": peak(), "triples": len(cliques)}
    return {**result, "counts": digest(found)} if found else result


def triples(codec: Codec, wanted: Wanted) -> list[Clique]:
    """The triples of columns to count; the label is last."""
    names, label = [bins.column.name for bins in codec.columns], str(codec.schema.label)
    match wanted:
        case "label":
            return [(*pair, label) for pair in combinations([name for name in names if name != label], 2)]
        case "all":
            return list(combinations(names, 3))
        case "none":
            return []


def digest(found: count_engines.Tables) -> str:
    """A hash of all counts, in the order of the triples."""
    text = hashlib.sha256()
    for clique in sorted(found):
        text.update(found[clique].astype("<i8").tobytes())
    return text.hexdigest()[:16]


# --- work


def by_numpy(path: Path, codec: Codec, cliques: list[Clique]) -> count_engines.Tables:
    """The counts without numba."""
    found = count(blocks_to_encode(rows_in(path), codec), codec, cliques, tally=numpy_tally)
    assert found.rows == pq.ParquetFile(path).metadata.num_rows
    return {clique: found.table(clique) for clique in cliques}


def by_numba(path: Path, codec: Codec, cliques: list[Clique]) -> count_engines.Tables:
    """The counts with numba from the first block."""
    chosen = numba_tally()
    assert chosen is not None, "numba is not installed"
    found = count(blocks_to_encode(rows_in(path), codec), codec, cliques, tally=chosen)
    return {clique: found.table(clique) for clique in cliques}


def surveyed(path: Path, codec: Codec, cliques: list[Clique]) -> count_engines.Tables:
    """Infer the schema and take an even sample; nothing is counted."""
    survey(rows_in(path), "adult", label=codec.schema.label)
    return {}


def reading(path: Path, codec: Codec, cliques: list[Clique]) -> count_engines.Tables:
    """Read all blocks as for counting; nothing is counted."""
    for _ in blocks_to_encode(rows_in(path), codec):
        pass
    return {}


BASE = "numpy"
LINES = {
    BASE: Line("cuts, numpy", by_numpy, "label"),
    "numba": Line("cuts, numba", by_numba, "label"),
    "duckdb": Line("DuckDB", count_engines.by_duckdb, "label"),
    "polars": Line("polars", count_engines.by_polars, "label"),
    "all-numpy": Line("cuts, numpy", by_numpy, "all"),
    "all-numba": Line("cuts, numba", by_numba, "all"),
    "survey": Line("cuts, survey: schema and sample", surveyed, "none"),
    "reading": Line("cuts, reading alone", reading, "none"),
}


# --- page


def page(records: Records) -> str:
    """One line per number of rows and engine, with its time as a multiple of the first."""
    found = records.read(FILE)
    lines, agree = [], True
    for rows in sorted({result["rows"] for result in found.values()}):
        results = {name: found[f"{rows}/{name}"] for name in LINES if f"{rows}/{name}" in found}
        base = results[BASE]["cpu_seconds"] if BASE in results else None
        lines += [_cells(rows, LINES[name], result, base) for name, result in results.items()]
        for wanted in ("label", "all"):
            agree &= len({each["counts"] for name, each in results.items() if LINES[name].triples == wanted}) <= 1
    if not lines:
        return NOT_YET
    intro = (
        "Adult resampled into a Parquet file, and from that file to three-way tables of counts: the 78 with the label "
        "or all 364. DuckDB and polars do the same work with the same bins and one thread each. CPU seconds of all "
        "threads and peak memory; each line is a process of its own."
    )
    ending = "All engines found the same counts." if agree else "**The engines found different counts.**"
    header = ["engine", "rows", "tables", "CPU s", "multiple of the first line", "peak MB"]
    return f"{intro}\n\n{table(header, lines)}\n{ending}\n"


def _cells(rows: int, line: Line, result: dict[str, Any], base: float | None) -> list[str]:
    return [
        line.title,
        f"{rows:,}",
        str(result["triples"] or ""),
        digits(result["cpu_seconds"]),
        f"{result['cpu_seconds'] / base:.2f}" if base else "",
        f"{result['line_peak_mb']:,.0f}",
    ]

"""How the cost of a fit grows: with rows, with columns, and with the components of the mixture.

    python benchmarks/growth.py --data DIR [--what rows columns components] [--plots FOLDER]
    python benchmarks/growth.py --what columns --columns 200 --column-rows 1000000

Rows: Adult's, drawn again and again into a Parquet file, `fnlwgt` with a little noise; the whole fit from that file.
Its schema and its sample are a pass over the file each, but only `counting` looks at every row's cells; fitting must
not grow. Columns: a made table (`wide_table.py`: categories, numbers, missing values, blocks of columns that depend on
each other) in a Parquet file, and the whole fit from it. Components: Adult with mixtures of different sizes, drawing
included. Every line is a process of its own; times are CPU seconds of all its
threads, imports not included, memory is its peak.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import Clock, alone, peak, say, show, write_json
from paper_tables import load_table
from wide_table import LABEL, write_wide

from cuts.config import Config, read_config
from cuts.data.schema import Schema

ROWS = (30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)  # up to 50,000,000 and beyond fit as well
COLUMNS = (10, 20, 40, 70, 100, 200)
COMPONENTS = (100, 300, 1_000, 2_000, 4_000)
GROUP = 100_000  # rows of a row group
NOISE = 500  # in `fnlwgt`, so that rows are not copies

SCHEMA, DRAWING = "schema", "drawing"
SHORT = {
    "reading a sample of the rows": "sample",
    "choosing the tables to count": "tables",
    "choosing the smoothing": "smoothing",
    "learning values inside bins": "fine level",
}  # of what a fit says it begins


@dataclass(slots=True)
class Cost:
    """What one fit took, stage by stage, and what came out."""

    size: int
    stages: dict[str, float] = field(default_factory=dict)  # CPU seconds
    steps: int = 0
    step_ms: float = 0.0  # CPU milliseconds
    components: int = 0
    smoothing: float = 0.0
    error: float = 0.0
    peak_mb: float = 0.0

    @property
    def seconds(self) -> float:
        """CPU seconds of all stages."""
        return sum(self.stages.values())


def main() -> None:
    """Print one table for each way to grow, and draw it if asked."""
    asked = arguments()
    results: dict[str, list[dict[str, Any]]] = {}
    for what in asked.what:
        costs: list[Cost] = []
        for cost in GROWTHS[what](asked):
            say(f"{what} {cost.size:,}: {cost.seconds:.1f} CPU s, {cost.peak_mb:.0f} MB")
            costs.append(cost)
        report(what, costs)
        results[what] = [asdict(cost) for cost in costs]
        if asked.plots is not None:
            plot(what, costs, asked.plots, asked.format)
    write_json(asked.json, results)


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the tables, of which Adult is used; not for columns")
    parser.add_argument("--what", nargs="+", choices=GROWTHS, default=list(GROWTHS))
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--columns", type=int, nargs="+", default=COLUMNS)
    parser.add_argument("--column-rows", type=int, default=100_000, help="rows of the table that grows in columns")
    parser.add_argument("--components", type=int, nargs="+", default=COMPONENTS)
    parser.add_argument("--config", type=Path, help="settings, .toml")
    parser.add_argument("--threads", type=int, help="of the fit; 1 unless the settings say otherwise")
    parser.add_argument("--plots", type=Path, help="draw there; needs matplotlib")
    parser.add_argument("--format", choices=("svg", "png"), default="svg", help="of the plots")
    parser.add_argument("--json", type=Path, help="write all figures there")
    asked = parser.parse_args()
    if asked.data is None and asked.what != ["columns"]:
        parser.error("rows and components need --data")
    config = Config() if asked.config is None else read_config(asked.config)
    asked.config = replace(config, threads=asked.threads or config.threads or 1)
    return asked


# --- ways to grow


def grow_rows(asked: argparse.Namespace) -> Iterator[Cost]:
    """The whole fit from a Parquet file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adult.parquet"
        for rows in asked.rows:
            alone(write_rows, asked.data, path, rows)
            yield alone(fit_file, path, rows, asked.config)
            path.unlink()


def grow_columns(asked: argparse.Namespace) -> Iterator[Cost]:
    """The whole fit of a made table from a Parquet file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wide.parquet"
        for columns in asked.columns:
            alone(write_wide, path, columns, asked.column_rows)
            yield alone(fit_wide, path, columns, asked.config)
            path.unlink()


def grow_components(asked: argparse.Namespace) -> Iterator[Cost]:
    """The fit of Adult, and as many rows drawn from it."""
    for components in asked.components:
        yield alone(fit_adult, asked.data, replace(asked.config, components=components))


GROWTHS: dict[str, Callable[[argparse.Namespace], Iterator[Cost]]] = {
    "rows": grow_rows,
    "columns": grow_columns,
    "components": grow_components,
}


# --- tasks, each in a process of its own


def fit_file(path: Path, rows: int, config: Config) -> Cost:
    """Find the schema of a file and fit it, reading from the file only."""
    return fitted(rows, "adult", path, config, label="salary")[0]


def fit_wide(path: Path, columns: int, config: Config) -> Cost:
    """The same for a table of that many columns."""
    return fitted(columns, "wide", path, config, label=LABEL)[0]


def fit_adult(data: Path, config: Config) -> Cost:
    """Fit Adult, and draw as many rows."""
    from cuts.model.sampling import sample_blocks

    real = load_table(data, "adult", "default")
    cost, model = fitted(config.components or 0, "adult", real.train, config, schema=real.schema)
    clock = Clock()
    with clock.running():
        for _ in sample_blocks(model, real.train.rows):
            pass
    cost.stages[DRAWING] = clock.seconds
    cost.peak_mb = peak()
    return cost


def fitted(
    size: int, name: str, data: Any, config: Config, *, schema: Schema | None = None, label: str | None = None
) -> tuple[Cost, Any]:
    """The cost of fitting some rows, and the model; without a schema it is inferred first."""
    from cuts.flow.run import fit, make_request
    from cuts.progress import Observer

    marks: list[tuple[str, float]] = [(SCHEMA, time.process_time())]
    observer = Observer(stage=lambda text: marks.append((SHORT.get(text, text), time.process_time())))
    request = make_request(f"SYNTHESIZE: {name}; END;", data, schema=schema, label=label, config=config)
    model = fit(request, observer=observer).model
    ends = [*(began for _, began in marks[1:]), time.process_time()]
    stages: dict[str, float] = {}
    for (name, began), end in zip(marks, ends, strict=True):
        stages[name] = stages.get(name, 0.0) + end - began
    facts = model.facts
    step_ms = 1000 * facts.cpu_seconds / facts.steps
    K = model.mixture.components
    return Cost(size, stages, facts.steps, step_ms, K, facts.smoothing, facts.error, peak()), model


# --- tables


def write_rows(data: Path, path: Path, rows: int) -> None:
    """Rows of Adult drawn again, in row groups."""
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


# --- results


def report(what: str, costs: Sequence[Cost]) -> None:
    """Print the costs of one way to grow."""
    stages = all_stages(costs)
    header = [what, *(f"{stage} s" for stage in stages), "total s", "peak MB", "steps", "ms / step"]
    lines = [
        [
            f"{cost.size:,}",
            *(f"{cost.stages.get(stage, 0.0):.2f}" for stage in stages),
            f"{cost.seconds:.2f}",
            f"{cost.peak_mb:.0f}",
            str(cost.steps),
            f"{cost.step_ms:.1f}",
            f"{cost.components:,}",
            f"{cost.smoothing:.4f}",
            f"{cost.error:.4f}",
        ]
        for cost in costs
    ]
    show(f"{what}: CPU seconds and memory", [*header, "components", "smoothed by", "error"], lines, left=0)


def all_stages(costs: Sequence[Cost]) -> list[str]:
    """The stages of all costs in order; wide tables have more than narrow ones."""
    return list(max(costs, key=lambda cost: len(cost.stages)).stages)


def plot(what: str, costs: Sequence[Cost], folder: Path, format: str) -> None:
    """Draw the CPU seconds of every stage, and the memory."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sizes = [cost.size for cost in costs]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
    for stage in all_stages(costs):
        left.plot(sizes, [cost.stages.get(stage, np.nan) for cost in costs], marker="o", label=stage)
    left.plot(sizes, [cost.seconds for cost in costs], color="black", linestyle=":", label="total")
    right.plot(sizes, [cost.peak_mb for cost in costs], color="black", marker="o")
    left.set(ylabel="CPU seconds", yscale="log")
    right.set(ylabel="peak MB", ylim=(0, 1.1 * max(cost.peak_mb for cost in costs)))
    for panel in (left, right):
        panel.set(xlabel=what, xscale="log")
        panel.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=30)
        panel.minorticks_off()
    figure.legend(frameon=False, loc="outside right center")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"growth-{what}.{format}"
    figure.savefig(path, metadata={"Date": None} if format == "svg" else None)
    plt.close(figure)
    say(f"{path} written")


if __name__ == "__main__":
    main()

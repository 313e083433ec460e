"""How the cost of a fit grows: with rows, with columns, and with the components of the mixture.

Rows: Adult, resampled into a Parquet file (`many_rows.py`); the whole fit from that file. Its schema and its sample are
a pass over the file each, but only `counting` looks at every row's cells; fitting must not grow. Columns: a generated
table (`wide_table.py`: categories, numbers, missing values, blocks of columns that depend on each other) in a Parquet
file, and the whole fit from it. Components: Adult with mixtures of different sizes, sampling included. Every line is a
process of its own; times are CPU seconds of all its threads, imports not included, memory is its peak.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.digits import digits
from benchmarks.harness import Clock, alone
from benchmarks.many_rows import write_adult
from benchmarks.markdown import NOT_YET, table
from benchmarks.paper_tables import load_table
from benchmarks.records import Records
from benchmarks.table import Measured, Options, Table, Task
from benchmarks.wide_table import LABEL, write_wide
from cuts.config import Config
from cuts.data.schema import Schema

QUICK_STEPS = 30
WIDE_ROWS, QUICK_WIDE_ROWS = 100_000, 5_000

SCHEMA, DRAWING = "schema", "sampling"
SHORT = {
    "reading a sample of the rows": "sample",
    "choosing the tables to count": "tables",
    "choosing the smoothing": "smoothing",
    "learning values inside bins": "fine level",
}  # of what a fit says it begins


@dataclass(frozen=True, slots=True)
class Growth:
    """One way to grow: what is counted in sizes, how one size is measured, and the sentence above its table."""

    what: str
    sizes: tuple[int, ...]
    quick_sizes: tuple[int, ...]
    measure: Callable[[int, Path | None, bool], dict[str, Any]]
    intro: str

    @property
    def file(self) -> str:
        """Where the results are, and the name of the table."""
        return f"growth-{self.what}"


def tables() -> Iterator[Table]:
    """One table per way to grow."""
    for growth in GROWTHS:
        title = f"How a fit grows with {growth.what}"
        yield Table(growth.file, title, "speed", partial(tasks, growth), partial(page, growth))


def tasks(growth: Growth, options: Options) -> list[Task]:
    """One process per size."""
    given = (growth.what, options.data, options.quick)
    sizes = growth.quick_sizes if options.quick else growth.sizes
    return [Task(f"growth: {size:,} {growth.what}", growth.file, (str(size),), measure, given) for size in sizes]


def measure(keys: tuple[str, ...], what: str, data: Path | None, quick: bool) -> Measured:
    """The cost of each size."""
    growth = next(each for each in GROWTHS if each.what == what)
    for key in keys:
        yield key, {"size": int(key), **growth.measure(int(key), data, quick)}


# --- ways to grow


def grow_rows(rows: int, data: Path | None, quick: bool) -> dict[str, Any]:
    """The whole fit from a Parquet file of that many rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adult.parquet"
        alone(write_adult, data, path, rows)
        return fitted("adult", path, settings(quick), label="salary")[0]


def grow_columns(columns: int, data: Path | None, quick: bool) -> dict[str, Any]:
    """The whole fit of a generated table from a Parquet file of that many columns."""
    rows = QUICK_WIDE_ROWS if quick else WIDE_ROWS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wide.parquet"
        alone(write_wide, path, columns, rows)
        return {"rows": rows, **fitted("wide", path, settings(quick), label=LABEL)[0]}


def grow_components(components: int, data: Path | None, quick: bool) -> dict[str, Any]:
    """The fit of Adult with that many components, and as many rows sampled as it has."""
    from cuts.model.sampling import sample_blocks

    real = load_table(data, "adult", "default")
    cost, model = fitted("adult", real.train, settings(quick, components), schema=real.schema)
    clock = Clock()
    with clock.running():
        for _ in sample_blocks(model, real.train.rows):
            pass
    cost["stages"][DRAWING] = clock.seconds
    return cost


GROWTHS = (
    Growth(
        "rows",
        (30_000, 100_000, 1_000_000, 10_000_000),
        (30_000,),
        grow_rows,
        "Adult resampled into a Parquet file, and the whole fit from that file. By design, only the passes over the "
        "file grow with the rows.",
    ),
    Growth(
        "columns",
        (10, 40, 100, 200),
        (10,),
        grow_columns,
        f"A generated table of categories, numbers and missing values, {WIDE_ROWS:,} rows in a Parquet file, and the "
        "whole fit from that file. In wide tables each step uses only some of the columns.",
    ),
    Growth(
        "components",
        (100, 300, 1_000, 2_000),
        (100,),
        grow_components,
        "Adult with mixtures of different sizes, and as many rows sampled as the table has.",
    ),
)


def settings(quick: bool, components: int | None = None) -> Config:
    """One thread, and few steps in a trial run."""
    return Config(threads=1, components=components, steps=QUICK_STEPS if quick else Config().steps)


def fitted(
    name: str, data: Any, config: Config, *, schema: Schema | None = None, label: str | None = None
) -> tuple[dict[str, Any], Any]:
    """The cost of fitting some rows stage by stage, and the model; without a schema it is inferred first."""
    from cuts.flow.run import fit, make_request
    from cuts.progress import Observer

    marks: list[tuple[str, float]] = [(SCHEMA, time.process_time())]
    observer = Observer(stage=lambda text: marks.append((SHORT.get(text, text), time.process_time())))
    request = make_request(f"SYNTHESIZE: {name}; END;", data, schema=schema, label=label, config=config)
    model = fit(request, observer=observer).model
    ends = [*(began for _, began in marks[1:]), time.process_time()]
    stages: dict[str, float] = {}
    for (stage, began), end in zip(marks, ends, strict=True):
        stages[stage] = stages.get(stage, 0.0) + end - began
    facts = model.facts
    cost = {
        "stages": stages,  # CPU seconds
        "steps": facts.steps,
        "step_ms": 1000 * facts.cpu_seconds / facts.steps,  # CPU milliseconds
        "components": model.mixture.components,
        "smoothing": facts.smoothing,
        "error": facts.error,
    }
    return cost, model


# --- results


def costs_of(file: str, records: Records) -> list[dict[str, Any]]:
    """The costs of one way to grow, from the smallest size on."""
    return sorted(records.read(file).values(), key=lambda cost: cost["size"])


def all_stages(costs: Sequence[dict[str, Any]]) -> list[str]:
    """The stages of all costs in order; wide tables have more than narrow ones."""
    most = max(costs, key=lambda cost: len(cost["stages"]))["stages"]
    others = [stage for cost in costs for stage in cost["stages"] if stage not in most]
    return [*most, *dict.fromkeys(others)]


def total(cost: dict[str, Any]) -> float:
    """CPU seconds of all stages."""
    return float(sum(cost["stages"].values()))


def page(growth: Growth, records: Records) -> str:
    """One line per size: the stages, and the total as a multiple of the first line's."""
    costs = costs_of(growth.file, records)
    if not costs:
        return NOT_YET
    stages = all_stages(costs)
    header = [growth.what, *(f"{stage} s" for stage in stages), "total s", "multiple of the first line"]
    lines = [
        [
            f"{cost['size']:,}",
            *(digits(cost["stages"][stage]) if stage in cost["stages"] else "" for stage in stages),
            digits(total(cost)),
            f"{total(cost) / total(costs[0]):.2f}",
            f"{cost['peak_mb']:,}",
            f"{cost['steps']:,}",
            digits(cost["step_ms"]),
            *([] if growth.what == "components" else [f"{cost['components']:,}"]),
            f"{cost['error']:.4f}",
        ]
        for cost in costs
    ]
    header += ["peak MB", "steps", "ms per step", *([] if growth.what == "components" else ["components"]), "fit error"]
    intro = (
        f"{growth.intro} CPU seconds per stage on one thread, imports not included; each line is a process of its own."
    )
    return f"{intro}\n\n{table(header, lines)}"

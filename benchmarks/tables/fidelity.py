"""How close synthetic rows are to real ones, of `cuts` and of other generators, on six tables.

Every generator gets the same train rows, one thread and one process; the measures (`fidelity_measures.py`) use the test
rows. A generator that takes more than the cap of CPU seconds is stopped and has no figures. On Adult the rows are also
scored as in the paper.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import fidelity_page
from benchmarks.cuts_command import synthesize
from benchmarks.fidelity_measures import measure_real, measure_synthetic
from benchmarks.fidelity_tables import ADULT, GIVEN, NAMES, Folder, open_folder
from benchmarks.paper_tables import load_table, predict, predict_gaps, score
from benchmarks.peers.environments import PEERS, python_of, run_peer
from benchmarks.table import Measured, Options, Table, Task
from cuts.data.exchange.tables import read_table

FILE = "fidelity"
CUTS, REAL = "cuts", "real"
GENERATORS = ("cart", "mostly", "arf", "tvae", "ctgan")
CUTS_SEEDS = 3
QUICK_GENERATORS = ("cart",)


def tables() -> Iterator[Table]:
    """One table per set of rows."""
    for name in NAMES:
        needs = (f"fidelity/{name}",) if name in GIVEN else ()
        title = f"Fidelity on {name}: cuts, trees, MOSTLY AI, TVAE, CTGAN, ARF"
        yield Table(
            f"fidelity-{name}", title, "fidelity", partial(tasks, name), partial(fidelity_page.page, name), needs
        )


def tasks(name: str, options: Options) -> list[Task]:
    """The real rows and one fit of each generator; `cuts` is fitted three times."""
    if options.quick and name != "nursery" and name != ADULT:
        return []
    seeds = 1 if options.quick else CUTS_SEEDS
    fits = [(REAL, 0), *((CUTS, seed) for seed in range(seeds))]
    fits += [(peer, 0) for peer in (QUICK_GENERATORS if options.quick else GENERATORS)]
    given = (name, options.data, options.peers, options.cap, options.quick)
    return [
        Task(f"{name}: {generator}, seed {seed}", FILE, (f"{name}/{generator}/{seed}",), measure, given)
        for generator, seed in fits
    ]


def measure(
    keys: tuple[str, ...], name: str, data: Path | None, environments: Path, cap: float, quick: bool
) -> Measured:
    """The measures of each generator and seed."""
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        folder = open_folder(name, data, environments, work)
        for key in keys:
            _, generator, seed = key.split("/")
            yield key, _measured(generator, int(seed), folder, work, environments, cap, quick=quick)


def _measured(
    generator: str, seed: int, folder: Folder, work: Path, environments: Path, cap: float, *, quick: bool
) -> dict[str, Any]:
    real = folder.real()
    if generator == REAL:
        return {"measures": measure_real(real), "rows": [len(real.train), len(real.test)]}
    made = work / f"{generator}-{seed}.csv"
    if generator == CUTS:
        options = _few_steps(work) if quick else ()
        ran = synthesize(folder, made, seed=seed, options=options)
        cost = {"cpu_seconds": ran.cpu_seconds, "generator_peak_mb": ran.peak_mb}
    else:
        ran = run_generator(generator, folder, made, seed=seed, environments=environments, cap=cap)
        cost = {"cpu_seconds": ran.cpu_seconds, "generator_peak_mb": ran.peak_mb, "cap": cap}
    if ran.failed:
        return {**cost, "failed": ran.failed}
    rows = folder.read(made)[real.columns]
    found = {**cost, "measures": measure_synthetic(rows, real), "rows": [len(rows)]}
    if folder.path.name == ADULT:
        found["paper"] = paper_figures(made)
    return found


def run_generator(
    name: str, folder: Folder, made: Path, *, seed: int, environments: Path, cap: float, options: tuple[str, ...] = ()
) -> Any:
    """Another generator, fitted to the train rows of a table; as many rows as these."""
    peer, meta = PEERS[name], made.with_suffix(".json")
    meta.write_text(json.dumps(folder.meta()))
    rows = len(pd.read_csv(folder.train, usecols=[0]))
    words = ["--train", folder.train, "--meta", meta, "--out", made, "--rows", rows, "--seed", seed, *options]
    return run_peer(peer, python_of(peer, environments), [str(word) for word in words], cap)


def paper_figures(made: Path) -> dict[str, float]:
    """Rows of Adult scored as in the paper: accuracy on its bins, total variation, gaps between the sexes."""
    real = load_table(None, ADULT, "uniform")
    rows = read_table(made)
    scores = score(rows, real, "bins")
    return {"accuracy": scores.accuracy, "tv": scores.tv_all, **predict_gaps(predict(rows, real, "bins"), real)}


def _few_steps(work: Path) -> tuple[str, ...]:
    config = work / "quick.toml"
    config.write_text("steps = 300\n")
    return ("--config", str(config))

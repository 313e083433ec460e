"""Other generators on Adult under the paper's protocol: private, fair, and with row rules.

Generators without either are part of the fidelity tables, where their Adult rows are scored in the paper's way as well.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import peers_page
from benchmarks.fidelity_tables import ADULT, open_folder
from benchmarks.harness import Clock
from benchmarks.measure import satisfaction
from benchmarks.paper_tables import load_table
from benchmarks.programs import program_of
from benchmarks.shared_fit import SharedFit
from benchmarks.table import Measured, Options, Table, Task
from benchmarks.tables.fidelity import paper_figures, run_generator
from cuts.assess.verify import verify
from cuts.config import Config
from cuts.data.exchange.files import save
from cuts.data.exchange.tables import read_table
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.model.sampling import sample_table

FILE = "peers"
CUTS = "cuts"


@dataclass(frozen=True, slots=True)
class Contest:
    """Generators that are asked for the same, with the options that say what."""

    title: str
    generators: tuple[str, ...]
    options: tuple[str, ...]
    seeds: int


CONTESTS = {
    "private": Contest(
        "other private generators on Adult, epsilon 1", ("mst", "aim"), ("--epsilon", "1", "--delta", "1e-9"), 3
    ),
    "fair": Contest(
        "other fair generators on Adult",
        ("massaging", "tabfairgdt"),
        ("--protected", "sex", "--desired", ">50K"),
        3,
    ),
    "rule-I2": Contest("SDV and cuts on rule I2 of Adult", ("sdv_rules", CUTS), ("--rule", "I2"), 1),
    "rule-RC1": Contest("SDV and cuts on rule RC1 of Adult", ("sdv_rules", CUTS), ("--rule", "RC1"), 1),
}


def tables() -> Iterator[Table]:
    """One table per contest."""
    for name, contest in CONTESTS.items():
        title = contest.title[0].upper() + contest.title[1:]
        yield Table(f"peers-{name}", title, "peers", partial(tasks, name), partial(peers_page.page, name))


def tasks(name: str, options: Options) -> list[Task]:
    """One task per generator and seed; a trial run has the cheapest of all, massaging."""
    contest = CONTESTS[name]
    generators = [each for each in contest.generators if not options.quick or each == "massaging"]
    return [
        Task(
            f"peers, {name}: {generator}, seed {seed}",
            FILE,
            (f"{name}/{generator}/{seed}",),
            measure,
            (options.peers, options.cap),
        )
        for generator in generators
        for seed in range(1 if options.quick else contest.seeds)
    ]


def measure(keys: tuple[str, ...], environments: Path, cap: float) -> Measured:
    """The rows of each generator, scored as in the paper."""
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        folder = open_folder(ADULT, None, environments, work)
        for key in keys:
            name, generator, seed = key.split("/")
            made = work / "made.csv"
            rule = name.removeprefix("rule-") if name.startswith("rule-") else None
            if generator == CUTS:
                assert rule is not None
                cost = _own(rule, int(seed), made)
            else:
                options = CONTESTS[name].options
                ran = run_generator(
                    generator, folder, made, seed=int(seed), environments=environments, cap=cap, options=options
                )
                cost = {"cpu_seconds": ran.cpu_seconds, "generator_peak_mb": ran.peak_mb, "cap": cap}
                if ran.failed:
                    yield key, {**cost, "failed": ran.failed}
                    continue
            yield key, {**cost, **_scored(made, rule)}


def _own(rule: str, seed: int, made: Path) -> dict[str, Any]:
    """Rows of `cuts` under a rule, with the default settings."""
    real = load_table(None, ADULT, "default")
    clock = Clock()
    with clock.running():
        model, _, _ = SharedFit(real, Config(threads=1), seed).shaped(program_of(ADULT, rule))
        save(sample_table(model, real.train.rows, seed=seed), made)
    return {"cpu_seconds": clock.seconds}


def _scored(made: Path, rule: str | None) -> dict[str, Any]:
    rows = read_table(made)
    found: dict[str, Any] = {"rows": rows.rows}
    if rule is not None:
        spec = bind(parse(program_of(ADULT, rule)), load_table(None, ADULT, "default").schema)
        found["satisfied"] = satisfaction(verify(spec, rows, interval=False)[0]) if rows.rows else None
    return {**found, "paper": paper_figures(made)} if rows.rows > 100 else found

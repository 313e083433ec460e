"""The tables of the paper, one per table of rows and kind of program, such as `adult-logical`.

Each program is measured in the paper's setting (`uniform`: its 32 even bins without values inside of them, and no
smoothing, which protects small tables from memorisation and which the paper does not have), with the default settings
(`default`), and, where the paper has a private figure, under epsilon 1 with the paper's bins (`private`). One process
fits one table of rows with one seed and shapes it by all programs that were asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, get_args

from benchmarks import paper_page
from benchmarks.measure import measure_private, measure_programs
from benchmarks.programs import RULE_NAMES
from benchmarks.table import Options, Table, Task
from cuts.config import Config

Way = Literal["uniform", "default", "private"]
WAYS: tuple[Way, ...] = get_args(Way)
EPSILON = 1.0
QUICK_STEPS = 300
STACKED = ("free", "parity", "stacked-2", "stacked-3", "stacked-4", "stacked-5")
EMBEDDED = ("adult", "german")  # the package has their rows


@dataclass(frozen=True, slots=True)
class Cell:
    """One program on one table of rows: what is measured in every way it is listed for."""

    rows: str
    program: str
    ways: tuple[Way, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """The programs of one kind on one table of rows, and those of them that are measured under privacy."""

    rows: str
    programs: tuple[str, ...]
    private: tuple[str, ...] = ()

    def cells(self) -> list[Cell]:
        """One cell per program."""
        return [
            Cell(self.rows, name, WAYS if name in self.private else ("uniform", "default")) for name in self.programs
        ]


FREE = ("free",)
TITLES = {
    "unconstrained": "no commands",
    "fairness": "fairness of classifiers",
    "predictability": "a column that cannot be predicted",
    "statistics": "statistics",
    "logical": "row rules",
    "stacked": "stacked programs",
}
STUDIES: dict[str, dict[str, Kind]] = {
    "adult": {
        "unconstrained": Kind("adult", FREE, FREE),
        "fairness": Kind("adult", ("parity", "odds", "opportunity"), ("parity", "odds", "opportunity")),
        "predictability": Kind("adult", ("hide",)),
        "statistics": Kind("adult", ("S1", "S2", "S3", "ten", "H")),
        "logical": Kind("adult", (*RULE_NAMES, "all"), RULE_NAMES),
        "stacked": Kind("adult", STACKED),
    },
    "german": {
        "unconstrained": Kind("german", FREE, FREE),
        "fairness": Kind("german", ("parity",)),
        "statistics": Kind("german", ("S1", "S2")),
        "logical": Kind("german", RULE_NAMES, RULE_NAMES),
        "stacked": Kind("german", STACKED),
    },
    "compas": {
        "unconstrained": Kind("compas", FREE, FREE),
        "fairness": Kind("compas_binary_race", ("parity",), ("parity",)),
        "statistics": Kind("compas_binary_race", ("S1", "S2")),
        "logical": Kind("compas", RULE_NAMES, RULE_NAMES),
        "stacked": Kind("compas_binary_race", STACKED),
    },
    "health": {
        "unconstrained": Kind("health_heritage", FREE, FREE),
        "fairness": Kind("health_heritage_binary_age", ("parity",), ("parity",)),
        "logical": Kind("health_heritage", RULE_NAMES, RULE_NAMES),
        "stacked": Kind("health_heritage_binary_age", STACKED),
    },
}


def tables() -> Iterator[Table]:
    """One table per study and kind."""
    for study, kinds in STUDIES.items():
        for name, kind in kinds.items():
            yield Table(
                f"{study}-{name}",
                f"{study.capitalize()}: {TITLES[name]}",
                "paper",
                partial(tasks, study, kind.cells()),
                partial(paper_page.kind_page, study, name, kind),
                needs=() if kind.rows in EMBEDDED else (kind.rows,),
            )


EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
BOUNDS = ("parity-0.15", "parity-0.10", "parity-0.05", "parity-0.02")


def further_tables() -> Iterator[Table]:
    """What stands beside the paper's tables: the curve of epsilon, the frontier of parity, ways to the same end."""
    yield Table(
        "adult-epsilon",
        "Adult: accuracy and distance for several values of epsilon",
        "paper",
        epsilon_tasks,
        paper_page.epsilon_page,
    )
    yield Table(
        "adult-frontier",
        "Adult: accuracy against the bound on the parity gap",
        "paper",
        partial(tasks, "adult", [Cell("adult", name, ("uniform",)) for name in BOUNDS]),
        paper_page.frontier_page,
    )
    for study, rules in (("adult", ("I3", "RC1", "RC2")), ("german", RULE_NAMES), ("compas", RULE_NAMES)):
        cells = [Cell(study, name, ("uniform",)) for rule in rules for name in (rule, f"{rule}-condition")]
        yield Table(
            f"{study}-ways",
            f"{study.capitalize()}: rules by repair and by conditioning" + "; table and network" * (study == "adult"),
            "paper",
            partial(ways_tasks, study, cells),
            partial(paper_page.ways_page, study, rules),
            needs=() if study in EMBEDDED else (study,),
        )


def epsilon_tasks(options: Options) -> list[Task]:
    """One release per value of epsilon and seed."""
    found = []
    for epsilon in EPSILONS if not options.quick else EPSILONS[2:3]:
        for seed in range(options.fits):
            given = (options.data, "adult", epsilon, seed, options.samples, _config("private", options))
            title = f"adult, epsilon {epsilon:g}, release {seed + 1} of {options.fits}"
            found.append(Task(title, "adult", (f"adult/epsilon-{epsilon:g}/free/{seed}",), measure_private, given))
    return found


def ways_tasks(study: str, cells: list[Cell], options: Options) -> list[Task]:
    """The rules in both ways; on Adult also the model made by a network instead of tables, with one fit."""
    found = tasks(study, cells, options)
    if study == "adult":
        config = replace(_config("uniform", options), backbone="neural", steps=QUICK_STEPS if options.quick else 600)
        keys = tuple(f"adult/neural/{name}/0" for name in ("free", "I3", "S1"))
        given = (options.data, "adult", "uniform", 0, options.samples, config)
        found.append(Task("adult, network", study, keys, measure_programs, given))
    return found


def tasks(study: str, cells: list[Cell], options: Options) -> list[Task]:
    """One task per table of rows, way and seed; a trial run has the first and last program, in the paper's ways."""
    found = []
    ways = [way for way in WAYS if way in (options.ways or WAYS) and not (options.quick and way == "default")]
    for rows in dict.fromkeys(cell.rows for cell in cells):
        for way in ways:
            names = [cell.program for cell in cells if cell.rows == rows and way in cell.ways]
            if options.quick:
                names = list(dict.fromkeys([*names[:1], *names[-1:]]))
            for seed in range(options.fits if names else 0):
                keys = tuple(f"{rows}/{way}/{name}/{seed}" for name in names)
                found.append(task(study, rows, way, seed, keys, options))
    return found


def task(study: str, rows: str, way: Way, seed: int, keys: tuple[str, ...], options: Options) -> Task:
    """The measurement of some programs on one table of rows, in one way, with one seed."""
    title = f"{rows}, {way}, fit {seed + 1} of {options.fits}"
    if options.quick:  # in more processes, which share no fits but fill all cores
        title += f", {keys[0].split('/')[-2]}"
    config = _config(way, options)
    if way == "private":
        given = (options.data, rows, EPSILON, seed, options.samples, config, options.held_out)
        return Task(title, study, keys, measure_private, given)
    given = (options.data, rows, way, seed, options.samples, config, options.held_out)
    return Task(title, study, keys, measure_programs, given)


def _config(way: Way, options: Options) -> Config:
    """The settings of a way."""
    config = Config(threads=1)
    if way == "uniform":  # the paper's numbers are bins: there are no values inside of them to learn
        config = replace(config, smoothing=0.0, fine="none")
    return replace(config, steps=QUICK_STEPS) if options.quick else config

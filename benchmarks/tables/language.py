"""CPU time of compiling row rules, and of the commands that need no training."""

from __future__ import annotations

import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.digits import digits
from benchmarks.markdown import NOT_YET, table
from benchmarks.records import Records
from benchmarks.table import Measured, Options, Table, Task
from cuts import datasets
from cuts.data.columns import Category, Numeric
from cuts.data.schema import Schema
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import And, Implies, InSet, Linear, LinearCompare, Or, Pred
from cuts.logic.core import build_grid
from cuts.logic.diagram import compile_rules
from cuts.logic.feasible import check_rules

FILE = "language"
PROGRAM = Path(__file__).parents[2] / "examples" / "paper_rules.cuts"
REPEATS = 5
RANDOM_RULES = 40

COMPILE, FINDINGS = "paper-rules/compile", "paper-rules/findings"
COMMANDS: dict[str, tuple[str, ...]] = {
    "command/check": ("check", str(PROGRAM)),
    "command/plan": ("plan", str(PROGRAM)),
    "command/verify": ("verify", str(PROGRAM), "adult"),
}
LINES = {
    COMPILE: "compile the paper's five rules for Adult",
    FINDINGS: "the same rules with all findings",
    "random-simple": f"compile {RANDOM_RULES} random rules `A IMPLIES B`",
    "random-entangled": f"compile {RANDOM_RULES} random rules `A AND B IMPLIES C OR D`",
    "command/check": "`cuts check` of the five rules, whole process",
    "command/plan": "`cuts plan` of the five rules, whole process",
    "command/verify": "`cuts verify` of Adult (30,162 rows), whole process",
}


def tables() -> Iterator[Table]:
    """The one table of this module."""
    yield Table("language", "Compile rules, run commands", "speed", tasks, page)


def tasks(options: Options) -> list[Task]:
    """All rules in one process; each command is a process of its own anyway."""
    repeats = 1 if options.quick else REPEATS
    rules = [COMPILE, FINDINGS, *(f"{name}/{seed}" for name in RANDOM for seed in range(repeats))]
    return [
        Task("language: rules", FILE, tuple(rules), measure_rules, (repeats,)),
        Task("language: commands", FILE, tuple(COMMANDS), measure_commands, (repeats,)),
    ]


def measure_rules(keys: tuple[str, ...], repeats: int) -> Measured:
    """CPU seconds of compiling rules: of one random set per key, or the median of several runs."""
    dataset = datasets.find("adult")
    assert dataset is not None
    adult = datasets.load_schema(dataset)
    spec = bind(parse(PROGRAM.read_text(encoding="utf-8")), adult)
    rules = [rule.pred for rule in spec.rules]
    compile_rules(rules, build_grid(rules, adult))  # the first call also imports
    for key in keys:
        name, seed = key.split("/")
        if key == COMPILE:
            seconds = median_seconds(lambda: compile_rules(rules, build_grid(rules, adult)), repeats)
            yield key, {"cpu_seconds": seconds, "nodes": compile_rules(rules, build_grid(rules, adult)).size}
        elif key == FINDINGS:
            yield key, {"cpu_seconds": median_seconds(lambda: check_rules(spec.rules, adult), repeats)}
        else:
            yield key, random_rules(RANDOM[name], int(seed), adult)


def measure_commands(keys: tuple[str, ...], repeats: int) -> Measured:
    """Median CPU seconds of whole commands, start-up included."""
    for key in keys:
        times = []
        for _ in range(repeats):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            ran = subprocess.run([sys.executable, "-m", "cuts", *COMMANDS[key]], capture_output=True, check=False)
            if ran.returncode > 1:  # real rows break rules, which is exit code 1
                raise RuntimeError(f"{' '.join(COMMANDS[key])}: {ran.stderr.decode()}")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        yield key, {"cpu_seconds": statistics.median(times), "runs": times}


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    """The median CPU seconds of some work."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return statistics.median(times)


# --- random rules


def random_rules(make: Callable[[random.Random, Schema], Pred], seed: int, schema: Schema) -> dict[str, Any]:
    """CPU seconds of compiling random rules together, and the size of their diagram."""
    rng = random.Random(seed)
    many = [make(rng, schema) for _ in range(RANDOM_RULES)]
    grid = build_grid(many, schema, coarse=True)
    began = time.process_time()
    size = compile_rules(many, grid).size
    return {"cpu_seconds": time.process_time() - began, "nodes": size}


def simple(rng: random.Random, schema: Schema) -> Pred:
    """One condition implies another."""
    return Implies(leaf(rng, schema), leaf(rng, schema))


def entangled(rng: random.Random, schema: Schema) -> Pred:
    """Two conditions imply one of two others."""
    left, right = (leaf(rng, schema), leaf(rng, schema)), (leaf(rng, schema), leaf(rng, schema))
    return Implies(And(left), Or(right))


RANDOM: dict[str, Callable[[random.Random, Schema], Pred]] = {"random-simple": simple, "random-entangled": entangled}


def leaf(rng: random.Random, schema: Schema) -> Pred:
    """A random condition on a random column."""
    column = rng.choice(schema.columns)
    if isinstance(column, Category):
        return InSet(column.name, frozenset(rng.sample(column.categories, rng.randint(1, len(column.categories) - 1))))
    assert isinstance(column, Numeric)
    form = Linear(((column.name, 1.0),))
    return LinearCompare(
        form, rng.choice(["<", "<=", ">", ">="]), float(rng.randint(int(column.low), int(column.high)))
    )


# --- page


def page(records: Records) -> str:
    """One line per measurement; random rules have the range over their seeds."""
    found = records.read(FILE)
    lines = []
    for name, what in LINES.items():
        results = [result for key, result in found.items() if key == name or key.startswith(f"{name}/")]
        if results:
            lines.append([what, _range([each["cpu_seconds"] for each in results], digits), _nodes(results)])
    if not lines:
        return NOT_YET
    intro = (
        "CPU seconds of compiling row rules into a diagram over Adult's columns, and of whole commands including "
        "start-up. Medians of repeated runs; random rules show the range over several seeds."
    )
    return f"{intro}\n\n{table(['what', 'CPU s', 'nodes of the diagram'], lines)}"


def _nodes(results: list[dict[str, Any]]) -> str:
    sizes = [each["nodes"] for each in results if "nodes" in each]
    return _range(sizes, lambda size: f"{size:,}") if sizes else ""


def _range(values: list[float], form: Callable[[float], str]) -> str:
    low, high = form(min(values)), form(max(values))
    return low if low == high else f"{low} to {high}"

"""CPU time of compiling rules and of the commands that need no training.

python benchmarks/language.py [--repeats 5]
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cuts import datasets
from cuts.data.schema import Category, Schema
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import And, Implies, InSet, Linear, LinearCompare, Or, Pred
from cuts.logic.core import build_grid
from cuts.logic.diagram import compile_rules
from cuts.logic.feasible import check_rules

EXAMPLES = Path(__file__).parent.parent / "examples"


def main() -> None:
    """Print one line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    dataset = datasets.find("adult")
    assert dataset is not None
    adult = datasets.load_schema(dataset)
    spec = bind(parse((EXAMPLES / "paper_rules.cuts").read_text()), adult)
    rules = [rule.pred for rule in spec.rules]
    size = compile_rules(rules, build_grid(rules, adult)).size
    report(
        "paper's five rules, compile", lambda: compile_rules(rules, build_grid(rules, adult)), repeats, f"{size} nodes"
    )
    report("paper's five rules, all findings", lambda: check_rules(spec.rules, adult), repeats)
    for name, make in (("A => B", simple), ("A, B => C or D", entangled)):
        for seed in range(repeats):
            rng = random.Random(seed)
            many = [make(rng, adult) for _ in range(40)]
            grid = build_grid(many, adult, coarse=True)
            began = time.process_time()
            size = compile_rules(many, grid).size
            spent = time.process_time() - began
            print(f"40 random implications {name}, seed {seed}: {spent:.3f} CPU s, {size:,} nodes")
    for words in (["check"], ["plan"], ["verify"]):
        table = ["adult"] if words == ["verify"] else []
        spent_by = command([*words, str(EXAMPLES / "paper_rules.cuts"), *table], repeats)
        print(f"cuts {words[0]} on Adult, whole process: {spent_by}")


def report(name: str, work: Callable[[], object], repeats: int, note: str = "") -> None:
    """The median CPU time of some work."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    print(f"{name}: {1000 * statistics.median(times):.2f} ms CPU (median of {repeats}) {note}".rstrip())


def command(words: list[str], repeats: int) -> str:
    """The median CPU time of a command, start-up included."""
    times = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "cuts", *words], capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return f"{statistics.median(times):.2f} CPU s (median of {repeats})"


def leaf(rng: random.Random, schema: Schema) -> Pred:
    """A random condition on a random column."""
    column = rng.choice(schema.columns)
    if isinstance(column, Category):
        return InSet(column.name, frozenset(rng.sample(column.categories, rng.randint(1, len(column.categories) - 1))))
    form = Linear(((column.name, 1.0),))
    return LinearCompare(
        form, rng.choice(["<", "<=", ">", ">="]), float(rng.randint(int(column.low), int(column.high)))
    )


def simple(rng: random.Random, schema: Schema) -> Pred:
    """One condition implies another."""
    return Implies(leaf(rng, schema), leaf(rng, schema))


def entangled(rng: random.Random, schema: Schema) -> Pred:
    """Two conditions imply one of two others."""
    left, right = (leaf(rng, schema), leaf(rng, schema)), (leaf(rng, schema), leaf(rng, schema))
    return Implies(And(left), Or(right))


if __name__ == "__main__":
    main()

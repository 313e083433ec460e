"""A whole command of `cuts` in a process of its own: what it prints as JSON, and what it took."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.fidelity_tables import Folder


@dataclass(frozen=True, slots=True)
class Ran:
    """The facts that a command printed, its CPU seconds, its peak memory, and why it failed if it did."""

    facts: dict[str, Any]
    cpu_seconds: float
    peak_mb: float
    failed: str | None = None


def run_cuts(words: Sequence[Any]) -> Ran:
    """Run `cuts` with some words and `--format json`."""
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as errors:
        command = [sys.executable, "-m", "cuts", *map(str, words), "--format", "json"]
        process = subprocess.Popen(command, stdout=printed, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)  # of this process alone, unlike `RUSAGE_CHILDREN`
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        errors.seek(0)
        seconds, memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
        if process.returncode != 0:
            return Ran({}, seconds, memory, f"exit code {process.returncode}: {errors.read()[-2000:]}")
        return Ran(json.load(printed), seconds, memory)


def synthesize(folder: Folder, made: Path, *, seed: int, options: Sequence[str] = ()) -> Ran:
    """`cuts run` without commands on a table, its label named, the listed columns as categories."""
    program, schema = made.parent / "table.cuts", made.parent / "schema.json"
    program.write_text("SYNTHESIZE: train;\n\nEND;\n")
    infer_schema(folder, schema)
    words = ["run", program, "--data", folder.train, "--schema", schema, "--label", folder.label, "--threads", 1]
    return run_cuts([*words, "--seed", seed, "--quiet", "-o", made, *options])


def infer_schema(folder: Folder, path: Path) -> None:
    """Write the inferred schema of the train rows, with the listed columns as categories even if they have numbers."""
    ran = run_cuts(["schema", "infer", folder.train])
    if ran.failed:
        raise SystemExit(f"{folder.path}: {ran.failed}")
    facts, rows = ran.facts, folder.read(folder.train)
    for name in folder.categories:
        column = facts["columns"][name]
        if column["kind"] != "category":
            kept = {key: column[key] for key in ("missing", "derived_from") if key in column}
            facts["columns"][name] = {"kind": "category", "categories": sorted(rows[name].dropna().unique()), **kept}
    path.write_text(json.dumps(facts, indent=2))

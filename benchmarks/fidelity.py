"""How close synthetic tables are to real rows, and what a whole `cuts run` costs.

    python benchmarks/fidelity.py --data DIR [--tables magic diamonds] [--seeds 3] [--out results.json] [--threads 1]

DIR has one folder per table with `train.csv.gz`, `test.csv.gz` and `meta.json`: the `label`, the `task`
(`classification` or `regression`) and the `categories`, the columns that are no numbers. Every fit is one `cuts run`
in a process of its own, with the inferred schema in which all of these columns are categories. The CPU seconds are
those of that whole process, from start-up to verification. The measures are in `fidelity_measures.py`; `real rows`
are the same measures of the train rows, and the copies among the test rows.

With `--train-holdout` 70 % of the train rows are fitted and the other 30 % are the test rows: use it to choose
settings, so that the test rows stay unseen.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fidelity_measures import RealTable, measure_real, measure_synthetic
from harness import say, show, write_json

from cuts.text.diagnostic import counted

HELD_OUT = 0.3  # of the train rows
MEASURES = {
    "r2": ("TSTR R2", "{:.4f}"),
    "accuracy": ("TSTR accuracy", "{:.4f}"),
    "auc": ("TSTR AUC", "{:.4f}"),
    "c2st": ("C2ST AUC, 0.5 is perfect", "{:.4f}"),
    "tv2": ("TV of pairs", "{:.4f}"),
    "spearman": ("rank correlation error", "{:.4f}"),
    "copies": ("copies of train rows", "{:.4f}"),
    "nearer": ("nearer to train rows, 0.5 is perfect", "{:.4f}"),
    "cpu_seconds": ("cuts run, CPU s", "{:.1f}"),
}
SUMMARY = {
    "c2st": "C2ST AUC",
    "r2": "TSTR R2",
    "accuracy": "TSTR accuracy",
    "auc": "TSTR AUC",
    "tv2": "TV of pairs",
    "nearer": "nearer",
    "copies": "copies",
    "cpu_seconds": "CPU s",
}


@dataclass(frozen=True)
class Folder:
    """The files of one table and what `meta.json` says of it."""

    path: Path
    label: str
    task: str
    categories: tuple[str, ...]

    @property
    def train(self) -> Path:
        """The rows to fit."""
        return self.path / "train.csv.gz"

    @property
    def test(self) -> Path:
        """The rows to measure with."""
        return self.path / "test.csv.gz"


def main() -> None:
    """Print the measures of every table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with one folder per table")
    parser.add_argument("--tables", nargs="+", help="names of folders; default: all with a meta.json")
    parser.add_argument("--seeds", type=int, default=3, help="fits of each table")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of a fit")
    parser.add_argument("--config", type=Path, help="settings of the fits, .toml")
    parser.add_argument("--no-label", action="store_true", help="do not name the label in the fit")
    parser.add_argument("--train-holdout", action="store_true", help="hold out 30 %% of the train rows as test rows")
    parser.add_argument("--keep", type=Path, help="folder to write the synthetic tables to")
    parser.add_argument("--out", "--json", type=Path, help="JSON file to write all results to")
    args = parser.parse_args()
    options = ["--threads", str(args.threads), *(["--config", str(args.config.resolve())] if args.config else [])]
    found: dict[str, Any] = {}
    for name in args.tables or sorted(path.parent.name for path in args.data.glob("*/meta.json")):
        with tempfile.TemporaryDirectory() as temporary:
            folder = read_folder(args.data / name)
            if args.train_holdout:
                folder = hold_out(folder, Path(temporary))
            label = None if args.no_label else folder.label
            runs = run_table(folder, options, label=label, seeds=args.seeds, work=Path(temporary), keep=args.keep)
            found[name] = {**runs, "label": label, "task": folder.task, "holdout": args.train_holdout}
        report(name, found[name])
        write_json(args.out, found)
    if len(found) > 1:
        summarise(found)


def read_folder(path: Path) -> Folder:
    """The table of a folder."""
    try:
        meta = json.loads((path / "meta.json").read_text())
    except FileNotFoundError as error:
        raise SystemExit(f"{path} has no meta.json") from error
    return Folder(path, meta["label"], meta["task"], tuple(meta["categories"]))


def hold_out(folder: Folder, work: Path) -> Folder:
    """A folder whose train and test rows are both train rows of this one, always split the same way."""
    rows = read_text(folder.train)
    order = np.random.default_rng(0).permutation(len(rows))
    split = Folder(work / "holdout", folder.label, folder.task, folder.categories)
    split.path.mkdir()
    fitted, held = np.split(order, [round(len(rows) * (1 - HELD_OUT))])
    rows.iloc[fitted].to_csv(split.train, index=False)
    rows.iloc[held].to_csv(split.test, index=False)
    return split


def read_text(path: Path) -> pd.DataFrame:
    """The rows of a file with every value as written."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def read_rows(path: Path, folder: Folder) -> pd.DataFrame:
    """The rows of a file: categories as text, numbers as numbers."""
    return pd.read_csv(path, dtype=dict.fromkeys(folder.categories, str), na_values=[""])


# --- the command line


def run_table(
    folder: Folder, options: list[str], *, label: str | None, seeds: int, work: Path, keep: Path | None
) -> dict[str, Any]:
    """The measures of one synthetic table per seed, and of the real rows."""
    train, test = (read_rows(path, folder) for path in (folder.train, folder.test))
    real = RealTable(train, test, folder.label, folder.task, folder.categories)
    program, schema = work / "table.cuts", work / "schema.json"
    program.write_text("SYNTHESIZE: train;\n\nEND;\n")
    infer_schema(folder, schema)
    named = [] if label is None else ["--label", label]
    runs = []
    for seed in range(seeds):
        made = work / f"synthetic-{seed}.csv"
        words = ["run", program, "--data", folder.train, "--schema", schema, *named, *options, "--seed", seed]
        facts, seconds = run_cuts([*words, "--quiet", "--format", "json", "-o", made])
        runs.append({"seed": seed, "cpu_seconds": seconds, "fit": facts.get("fit")})
        if "failed" in facts:
            runs[-1] |= facts
            continue
        runs[-1] |= measure_synthetic(read_rows(made, folder)[real.columns], real)
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{folder.path.name}-{seed}.csv").write_bytes(made.read_bytes())
    return {"rows": [len(train), len(test)], "runs": runs, "real": measure_real(real)}


def infer_schema(folder: Folder, path: Path) -> None:
    """Write the inferred schema of the train rows, with the listed columns as categories even if they have numbers.

    The schema names no label: `cuts run` gets it as an option.
    """
    facts, _ = run_cuts(["schema", "infer", folder.train, "--format", "json"])
    if "failed" in facts:
        raise SystemExit(f"{folder.path}: {facts['failed']}")
    rows = read_text(folder.train)
    for name in folder.categories:
        column = facts["columns"][name]
        if column["kind"] != "category":
            values = sorted(set(rows[name]) - {""})
            kept = {key: column[key] for key in ("missing", "derived_from") if key in column}
            facts["columns"][name] = {"kind": "category", "categories": values, **kept}
    path.write_text(json.dumps(facts, indent=2))


def run_cuts(words: list[Any]) -> tuple[dict[str, Any], float]:
    """What a command of `cuts` prints as JSON, and the CPU seconds of its whole process, all threads together."""
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as errors:
        command = [sys.executable, "-m", "cuts", *map(str, words)]
        process = subprocess.Popen(command, stdout=printed, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)  # of this process alone, unlike `RUSAGE_CHILDREN`
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            return {
                "failed": f"exit code {process.returncode}: {errors.read()[-2000:]}"
            }, usage.ru_utime + usage.ru_stime
        return json.load(printed), usage.ru_utime + usage.ru_stime


# --- tables of the results


def report(name: str, found: dict[str, Any]) -> None:
    """Print one line per measure: mean and standard deviation over seeds, and the real rows beside them."""
    runs = [run for run in found["runs"] if "failed" not in run]
    for run in found["runs"]:
        if "failed" in run:
            say(f"{name}, seed {run['seed']}: {run['failed']}")
    if not runs:
        return
    lines = []
    for measure, (words, form) in MEASURES.items():
        values = [run[measure] for run in runs if run.get(measure) is not None]
        if values:
            real = found["real"].get(measure)
            lines.append(
                [
                    words,
                    form.format(np.mean(values)),
                    form.format(np.std(values)),
                    "" if real is None else form.format(real),
                ]
            )
    train, test = found["rows"]
    title = f"{name}: {counted(len(runs), 'fit')} of {train:,} rows, {test:,} test rows"
    show(title, ["", "mean", "std", "real rows"], lines)


def summarise(found: dict[str, Any]) -> None:
    """Print one line per table with the means over seeds, and the real rows' numbers after a slash."""
    lines = []
    for name, each in found.items():
        runs = [run for run in each["runs"] if "failed" not in run]
        cells = []
        for measure in SUMMARY:
            values = [run[measure] for run in runs if run.get(measure) is not None]
            form = "{:.0f}" if measure == "cpu_seconds" else "{:.3f}"
            real = each["real"].get(measure)
            mean = form.format(np.mean(values)) if values else ""
            cells.append(mean if real is None else f"{mean} / {form.format(real)}")
        lines.append([name, *cells])
    show("All tables: synthetic rows / real rows", ["", *SUMMARY.values()], lines)


if __name__ == "__main__":
    main()

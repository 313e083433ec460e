"""Accuracy, distance, cost and memorisation of tables made without any constraint.

    python benchmarks/unconstrained.py --data DIR [--tables adult german/default] [--seeds 3] [--samples 3]

Every table and setting is fitted with several seeds and drawn several times, in a process of its own. In the setting
`uniform` numbers are cut into the paper's 32 even bins and the learner sees bins; in `default` both are ours: bins of
equally many rows, and a learner that sees the numbers. Accuracy is XGBoost's on the test rows in percent, the distance
is total variation over triples of columns as the paper divides it. `train rows` and `bootstrap` are what the real
rows, and as many of them drawn again, would give.

`found` is the percentage of rows that are also among the train rows, and among as many rows never shown: more among
the former is memory. It is given on the paper's bins and for the values as written.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from harness import Clock, alone, peak, show, write_json
from paper_tables import SETTINGS, PaperTable, Setting, bootstrap, leakage, load_table, score

from cuts.config import Config, read_config
from cuts.data.table import Table
from cuts.flow.run import fit, make_request
from cuts.lang.parser import parse
from cuts.model.sampling import sample_blocks

CASES: tuple[tuple[str, Setting], ...] = (
    ("adult", "uniform"),
    ("adult", "default"),
    ("german", "default"),
    ("compas", "default"),
)
MEASURES = {
    "accuracy": ("accuracy %", "{:.2f}"),
    "tv_all": ("TV, all triples", "{:.3g}"),
    "tv_label": ("TV, triples with the label", "{:.3g}"),
    "fit_seconds": ("fit, CPU s", "{:.1f}"),
    "draw_seconds": ("draw, CPU s", "{:.2f}"),
    "bins_train": ("found on bins, train, %", "{:.2f}"),
    "bins_held": ("found on bins, never shown, %", "{:.2f}"),
    "bins_excess": ("    more, points", "{:+.2f}"),
    "written_train": ("found as written, train, %", "{:.2f}"),
    "written_held": ("found as written, never shown, %", "{:.2f}"),
    "written_excess": ("    more, points", "{:+.2f}"),
}


def main() -> None:
    """Print the figures of every table and setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with adult/, german/, compas/")
    parser.add_argument("--tables", nargs="+", default=["adult", "german", "compas"], help="`adult` or `adult/uniform`")
    parser.add_argument("--seeds", type=int, default=3, help="fits of each")
    parser.add_argument("--samples", type=int, default=3, help="draws from every fit")
    parser.add_argument("--config", type=Path, help="settings of the fits, .toml")
    parser.add_argument("--json", type=Path, help="write all figures there")
    args = parser.parse_args()
    config = Config() if args.config is None else read_config(args.config)
    found: dict[str, Any] = {}
    for table, setting in [case for word in args.tables for case in cases_of(word)]:
        made = alone(measure, args.data, table, setting, config, args.seeds, args.samples)
        report(f"{table}, {setting}", made)
        found[f"{table}/{setting}"] = made
        write_json(args.json, found)


def cases_of(word: str) -> list[tuple[str, Setting]]:
    """The table and setting of `adult/uniform`, or the ones that are run of `adult`.

    >>> cases_of("compas/uniform"), cases_of("german")
    ([('compas', 'uniform')], [('german', 'default')])
    """
    table, _, asked = word.partition("/")
    found = [(table, setting) for setting in SETTINGS if setting == asked] or [
        case for case in CASES if case[0] == word
    ]
    if not found:
        raise SystemExit(f"{word} is no table, nor a table and one of {', '.join(SETTINGS)}")
    return found


def measure(data: Path, table: str, setting: Setting, config: Config, seeds: int, samples: int) -> dict[str, Any]:
    """The figures of every draw, and of the real rows.

    All is fitted and drawn before anything is scored, so that the peak of memory has no learner in it.
    """
    real = load_table(data, table, setting)
    program = parse(f"SYNTHESIZE: {table}; END;")
    drawn: list[tuple[dict[str, float], Table]] = []
    for seed in range(seeds):
        fitting = Clock()
        with fitting.running():
            model = fit(make_request(program, real.train, schema=real.schema, config=config, seed=seed)).model
        for sample in range(samples):
            drawing = Clock()
            with drawing.running():
                blocks = [block.arrow for block in sample_blocks(model, real.train.rows, seed=sample)]
            facts = {"seed": seed, "sample": sample, "fit_seconds": fitting.seconds, "draw_seconds": drawing.seconds}
            facts |= {"steps": model.facts.steps, "error": model.facts.error, "smoothing": model.facts.smoothing}
            drawn.append((facts, Table(pa.concat_tables(blocks))))
    megabytes = peak()
    return {
        "rows": real.train.rows,
        "peak_mb": megabytes,
        "draws": [{**facts, **figures(rows, real)} for facts, rows in drawn],
        "train": [figures(real.train, real)],
        "bootstrap": [figures(bootstrap(real.train, seed=seed), real) for seed in range(seeds)],
    }


def figures(rows: Table, real: PaperTable) -> dict[str, float]:
    """All figures of some rows by name."""
    found: dict[str, float] = asdict(score(rows, real, real.features))
    leaked = leakage(rows, real, seed=0)
    for where, copies in (("bins", leaked.copies_on_bins), ("written", leaked.copies)):
        found[f"{where}_train"], found[f"{where}_held"] = 100 * copies.train, 100 * copies.test
        found[f"{where}_excess"] = 100 * (copies.train - copies.test)
    return found


def report(title: str, made: dict[str, Any]) -> None:
    """Print a line a measure: the draws, and the real rows beside them."""
    draws = made["draws"]
    fits = len({draw["seed"] for draw in draws})
    lines = []
    for name, (words, form) in MEASURES.items():
        values = [draw[name] for draw in draws]
        summary = [np.median(values), np.mean(values), np.std(values)]
        others = [
            form.format(np.mean([each[name] for each in made[kind]])) if name in made[kind][0] else ""
            for kind in ("train", "bootstrap")
        ]
        lines.append([words, *(form.format(value) for value in summary), *others])
    lines.append(["peak of fits and draws, MB", f"{made['peak_mb']:.0f}", "", "", "", ""])
    header = ["", "median", "mean", "std", "train rows", "bootstrap"]
    show(f"{title}: {fits} fits, {len(draws)} draws of {made['rows']:,} rows", header, lines)


if __name__ == "__main__":
    main()

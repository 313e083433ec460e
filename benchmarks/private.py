"""Differential privacy: accuracy and distance of private tables, alone, under rules, fair, and along epsilon.

    python benchmarks/private.py --data DIR [--parts tables rules fair curve raw] [--transcripts 5] [--samples 5]
    python benchmarks/private.py --data DIR --parts tables --tables adult --config paper.toml --transcripts 1

Every transcript is a release of its own, with fresh noise, made by the trusted core as `cuts fit` makes it. Programs
with commands share the transcripts of their table: shaping costs no privacy. Numbers are cut into the paper's 32 even
bins over the range of the train rows, which this benchmark takes as public, and the learner sees bins; the drawn table
has as many rows as the noisy count says. In the part `raw` the learner sees numbers as they are, and numbers are cut as
`cuts` does by default, or into 32 even bins. With `--config` the release and the models have other settings, such as
those of the preset `paper`, whose network then learns along. Accuracy, parity and distance are the paper's, on test
rows nobody trained on.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from harness import Clock, alone, say, show, write_json
from paper_tables import PaperTable, load_table, score
from rules import RULES

from cuts.config import Config, read_config
from cuts.data.columns import Binning
from cuts.data.table import Table
from cuts.flow import private, release
from cuts.flow.run import make_request
from cuts.lang.parser import parse
from cuts.model.sampling import sample_table
from cuts.privacy.ledger_file import LedgerFile
from cuts.privacy.reading import cells_of
from cuts.privacy.transcript import Transcript, render, transcript_from
from cuts.progress import Observer, Round

PARTS = ("tables", "rules", "fair", "curve", "raw")
TABLES = ("adult", "german", "compas")
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
DELTA = 1e-9
FAIR = "ENFORCE: FAIRNESS: DEMOGRAPHIC_PARITY(protected=sex, target=salary) <= 0.01;"
PAPER = {"I1": 83.8, "I2": 83.7, "I3": 83.9, "RC1": 83.1, "RC2": 83.4, "fair": 80.9}


def main() -> None:
    """Print a table of figures for every part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with adult/, german/, compas/")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS), help="of the curve")
    parser.add_argument("--transcripts", type=int, default=5)
    parser.add_argument("--samples", type=int, default=5, help="draws from every model")
    parser.add_argument("--held-out", action="store_true", help="of train, a quarter, instead of the test rows")
    parser.add_argument("--config", type=Path, help="settings of the releases and fits, .toml")
    parser.add_argument("--json", type=Path, help="write all figures there")
    args = parser.parse_args()
    found: dict[str, Any] = {}

    def run(part: str, table: str, epsilon: float, programs: dict[str, str], binning: Binning | None = None) -> None:
        say(f"{part}: {table}, epsilon {epsilon:g}")
        config = replace(Config() if args.config is None else read_config(args.config), bins=None, binning=binning)
        options = (args.transcripts, args.samples, args.held_out, config)
        draws = alone(measure, args.data, table, epsilon, programs, *options)
        lines = [line(name, [each for each in draws if each["program"] == name]) for name in programs]
        heads = ["program", "accuracy %", "std", "TV all e-5", "std", "parity", "std", "release CPU s", "fit CPU s"]
        title = f"{part}: {table}, epsilon {epsilon:g}, {args.transcripts} transcripts, {args.samples} draws of each"
        show(title, [*heads, "tables"], lines)
        found[f"{part}/{table}/{epsilon:g}" + (f"/{binning}" if binning else "")] = draws
        write_json(args.json, found)

    if "tables" in args.parts:
        for table in args.tables:
            run("tables", table, 1.0, {"free": ""})
    if "rules" in args.parts:
        run("rules", "adult", 1.0, {name: f"ENFORCE: {rule};" for name, rule in RULES["adult"].items()})
    if "fair" in args.parts:
        run("fair", "adult", 1.0, {"fair": FAIR})
    if "curve" in args.parts:
        for epsilon in args.epsilons:
            run("curve", "adult", epsilon, {"free": ""})
    if "raw" in args.parts:
        run("raw", "adult", 1.0, {"natural bins": ""}, "quantile")
        run("raw", "adult", 1.0, {"even bins": ""}, "uniform")


def measure(
    data: Path,
    name: str,
    epsilon: float,
    programs: dict[str, str],
    transcripts: int,
    samples: int,
    held_out: bool,
    config: Config,
) -> list[dict[str, Any]]:
    """The figures of every draw of every program; with a binning of its own, the learner sees numbers as they are."""
    base = load_table(data, name, "default" if config.binning else "uniform")
    found = []
    for seed in range(transcripts):
        real = base.held_out(seed) if held_out else base
        clock = Clock()
        with clock.running():
            transcript = make_release(real, epsilon, seed, config)
        fitting = Clock()
        with fitting.running():
            free = private.fit_free(transcript, config, seed=seed, observer=Observer())
        for title, command in programs.items():
            fit = Clock()
            with fit.running():
                made = private.shape_free(parse(f"SYNTHESIZE: {name}; {command} END;"), free, observer=Observer())
            for sample in range(samples):
                table = sample_table(made.model, seed=sample)
                facts = {"program": title, "seed": seed, "sample": sample, "tables": len(transcript.measurements)}
                facts |= {
                    "release_seconds": clock.seconds,
                    "fit_seconds": fitting.seconds + fit.seconds,
                    "rows": table.rows,
                }
                found.append({**facts, **figures(table, real)})
    return found


def make_release(real: PaperTable, epsilon: float, seed: int, config: Config) -> Transcript:
    """A fresh transcript of the train rows, as it would be read from a file."""
    program = parse(f"SYNTHESIZE: {real.name}; ENSURE: EPSILON={epsilon!r}, DELTA={DELTA!r}; END;")
    with tempfile.TemporaryDirectory() as folder:
        account = release.Account(LedgerFile(Path(folder) / "ledger.jsonl"), real.name)
        request = make_request(program, seed=seed, config=config)
        made = release.measure(request, real.schema, cells_of(real.train), account, Observer(measured=say_round))
    return transcript_from(json.loads(render(made)))


def say_round(last: Round) -> None:
    """Print every tenth round of a release."""
    if last.number % 10 == 0:
        say(f"  round {last.number}: {100 * last.spent:.1f} % of the budget spent, noise {last.sigma:.0f}")


def figures(table: Table, real: PaperTable) -> dict[str, float | None]:
    """Accuracy in percent, distance and parity of one drawn table."""
    found = score(table, real, real.features)
    return {"accuracy": found.accuracy, "tv": 1e5 * found.tv_all, "parity": found.demographic_parity}


def line(name: str, draws: list[dict[str, Any]]) -> list[str]:
    """Means and standard deviations over all draws."""
    cells = [name]
    for key, shown in (("accuracy", "{:.2f}"), ("tv", "{:.2f}"), ("parity", "{:.3f}")):
        values = [draw[key] for draw in draws if draw[key] is not None]
        cells += [shown.format(np.mean(values)), shown.format(np.std(values))] if values else ["-", "-"]
    seconds = [f"{np.mean([draw[key] for draw in draws]):.0f}" for key in ("release_seconds", "fit_seconds")]
    return [*cells, *seconds, f"{np.mean([draw['tables'] for draw in draws]):.0f}"]


if __name__ == "__main__":
    main()

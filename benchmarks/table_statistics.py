"""The paper's statistics, an entropy, and ten statistics at once: accuracy and values of tables that have them.

    python benchmarks/table_statistics.py --data DIR [--paper results.json] [--tables adult] [--programs S1 ten]

Each program is fitted several times and drawn several times from every fit. In the setting `uniform` numbers are cut
into the paper's 32 even bins and the learner sees bins, in `default` both are ours. Values are those of the drawn
tables as written; the paper takes lower edges of bins, so its mean age of 30 is about 31 here. `off` is the largest
distance of any number from its target in any draw, in tolerances: 1 is just within. No command has a weight. Time is
CPU seconds: of the fit of the free table, and of everything the program adds to fitting and drawing.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from harness import Clock, alone, say, show, write_json
from paper_tables import SETTINGS, Setting, load_table, predict

from cuts.assess.verify import Fact, holds, verify
from cuts.config import Config, read_config
from cuts.data.table import Table
from cuts.flow.run import fit, make_request
from cuts.lang.parser import parse
from cuts.model.sampling import sample_blocks

CORRELATION = "(E[{0} * {1}] - E[{0}] * E[{1}]) / (STD[{0}] * STD[{1}] + 0.00001) == 0 WITHIN 0.005"
PROGRAMS: dict[str, dict[str, tuple[str, ...]]] = {
    "adult": {
        "S1": ("ENFORCE: E[age] == 30 WITHIN 0.05",),
        "S2": ("ENFORCE: E[age | sex == Male] == E[age | sex == Female] WITHIN 0.05",),
        "S3": ("ENFORCE: " + CORRELATION.format("sex", "salary"),),
        "H": ("MAXIMIZE: H[occupation] WITH budget=1%",),
        "ten": (
            "ENFORCE: age >= 18 AND hours_per_week <= 80",
            "ENFORCE: marital_status IN {Divorced, Never_married} IMPLIES relationship NOT IN {Husband, Wife}",
            "ENFORCE: E[age] == 35 WITHIN 0.05",
            "ENFORCE: E[age | sex == Male] == E[age | sex == Female] WITHIN 0.05",
            "ENFORCE: CORR[sex, salary] == -0.1 WITHIN 0.005",
            "ENFORCE: H[race] == 0.7 WITHIN 0.005",
            "ENFORCE: MEDIAN[hours_per_week] == 40",
            "ENFORCE: P[age > 40 | sex == Male AND race == White] == 0.3 WITHIN 0.002",
            "ENFORCE: STD[capital_loss] <= 350",
            "ENFORCE: DIST[workclass] == {Private: 60%, Local_gov: 10%, *: proportional}",
            "ENFORCE: COUNT[education == Masters] == 2000 WITHIN 10",
            "ENFORCE: MI[sex, occupation] <= 0.05",
        ),
    },
    "german": {
        "S1": ("ENFORCE: E[A13] == 40 WITHIN 0.05",),
        "S2": ("ENFORCE: " + CORRELATION.format("A20", "A17"),),
    },
    "compas": {
        "S1": ("ENFORCE: E[age] == 40 WITHIN 0.05",),
        "S2": ("ENFORCE: " + CORRELATION.format("sex", "two_year_recid"),),
    },
    "compas_binary_race": {
        "S1": ("ENFORCE: E[age] == 40 WITHIN 0.05",),
        "S2": ("ENFORCE: " + CORRELATION.format("sex", "two_year_recid"),),
    },
}
NONE = "none"  # the table as it is, to compare with


def main() -> None:
    """Print a table of figures for every table and setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with adult/, german/, compas/")
    parser.add_argument("--paper", type=Path, help="the paper's figures, .json")
    parser.add_argument("--tables", nargs="+", choices=list(PROGRAMS), default=list(PROGRAMS))
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--programs", nargs="+", default=[NONE, *PROGRAMS["adult"]])
    parser.add_argument("--fits", type=int, default=5)
    parser.add_argument("--samples", type=int, default=5, help="draws from every fit")
    parser.add_argument("--config", type=Path, help="settings of the fits, .toml")
    parser.add_argument("--json", type=Path, help="write all figures there")
    args = parser.parse_args()
    config = Config() if args.config is None else read_config(args.config)
    paper = {} if args.paper is None else json.loads(args.paper.read_text())["statistical_adult"]
    found: dict[str, Any] = {}
    for table in args.tables:
        for setting in args.settings:
            lines = []
            for name in args.programs:
                if name not in (NONE, *PROGRAMS[table]):
                    continue
                say(f"{table}, {setting}: {name}")
                draws = alone(measure, args.data, table, setting, name, config, args.fits, args.samples)
                printed = paper.get(name, {}).get("xgb") if table == "adult" else None
                lines.append(line(name, draws, printed))
                found[f"{table}/{setting}/{name}"] = {"draws": draws, "paper": printed}
                write_json(args.json, found)
            header = [
                "program",
                "accuracy %",
                "std",
                "first value",
                "std",
                "off",
                "all hold %",
                "fit",
                "rest",
                "paper %",
            ]
            show(f"{table}, {setting}: {args.fits} fits, {args.samples} draws of each", header, lines)


def measure(
    data: Path, table: str, setting: Setting, name: str, config: Config, fits: int, samples: int
) -> list[dict[str, float]]:
    """Accuracy and the program's numbers of every draw, and what making it took."""
    real = load_table(data, table, setting)
    program = parse(program_of(table, name))
    found = []
    for seed in range(fits):
        fitting = Clock()
        with fitting.running():
            model = fit(make_request(program, real.train, schema=real.schema, config=config, seed=seed)).model
        spec = model.spec
        for sample in range(samples):
            drawing = Clock()
            with drawing.running():
                blocks = sample_blocks(model, real.train.rows, seed=sample)
                rows = Table(pa.concat_tables([block.arrow for block in blocks]))
            verdicts = verify(spec, rows, interval=False)
            facts = [fact for verdict in verdicts for fact in verdict.facts]
            found.append(
                {
                    "seed": seed,
                    "sample": sample,
                    "accuracy": predict(rows, real, real.features).accuracy,
                    "value": facts[0].value - (facts[0].target or 0.0 if facts[0].gap else 0.0) if facts else 0.0,
                    "off": max((off(fact) for fact in facts), default=0.0),
                    "holds": float(holds(verdicts)),
                    "fit_seconds": model.facts.cpu_seconds,
                    "rest_seconds": fitting.seconds - model.facts.cpu_seconds + drawing.seconds,
                }
            )
    return found


def off(fact: Fact) -> float:
    """How far a number is from its target in tolerances; of an inequality, whether it is broken."""
    if fact.target is None or fact.op is None:
        return 0.0
    if fact.op == "==":
        assert fact.tolerance
        return abs(fact.value - fact.target) / fact.tolerance
    return 0.0 if fact.holds else float("inf")


def program_of(table: str, name: str) -> str:
    """The program of a name.

    >>> program_of("compas", "S1")
    'SYNTHESIZE: compas; ENFORCE: E[age] == 40 WITHIN 0.05; END;'
    """
    commands = "".join(f"{command}; " for command in PROGRAMS[table].get(name, ()))
    return f"SYNTHESIZE: {table}; {commands}END;"


def line(name: str, draws: list[dict[str, float]], printed: float | None) -> list[str]:
    """The cells of a program."""
    cells = [name]
    for measure, form in (("accuracy", "{:.2f}"), ("value", "{:.4f}")):
        values = [draw[measure] for draw in draws]
        cells += [form.format(np.mean(values)), form.format(np.std(values))]
    cells.append(f"{max(draw['off'] for draw in draws):.2f}")
    cells.append(f"{100 * np.mean([draw['holds'] for draw in draws]):.0f}")
    cells += [f"{np.mean([draw[each] for draw in draws]):.1f}" for each in ("fit_seconds", "rest_seconds")]
    return [*cells, "" if printed is None else f"{printed}"]


if __name__ == "__main__":
    main()

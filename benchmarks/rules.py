"""The paper's row rules: accuracy and satisfaction of tables in which they hold.

    python benchmarks/rules.py --data DIR [--paper results.json] [--tables adult] [--rules I1 all] [--fits 5]

Each rule is a program of its own, on Adult also all five together; it is fitted several times and drawn several times
from every fit. In the setting `uniform` numbers are cut into the paper's 32 even bins and the learner sees bins, in
`default` both are ours. A rule holds in a row as its values are written; the paper decides by bins. Satisfaction is
the percentage of rows that satisfy a rule, of those its condition holds in, measured on the drawn table; of all five
the lowest. Beside it are the paper's accuracies at 100 % satisfaction, which belong to `uniform`: violating rows drawn
again (RS), and after its fine-tuning (FT+RS).
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

from cuts.assess.verify import Verdict, verify
from cuts.config import Config, read_config
from cuts.data.table import Table
from cuts.flow.run import fit, make_request
from cuts.lang.parser import parse
from cuts.model.sampling import sample_blocks

RULES: dict[str, dict[str, str]] = {
    "adult": {
        "I1": "marital_status == Widowed OR relationship == Wife IMPLIES sex == Female",
        "I2": "marital_status in {Divorced, Never_married} IMPLIES relationship not in {Husband, Wife}",
        "I3": "workclass in {Federal_gov, Local_gov, State_gov} "
        "IMPLIES education in {Bachelors, Some_college, Masters, Doctorate}",
        "RC1": "sex == Female",
        "RC2": "age > 35 AND age < 55",
    },
    "german": {
        "I1": "A20 == A201 OR A17 in {A171, A172} IMPLIES A17 in {A171, A172, A173}",
        "I2": "A15 in {A151, A153} IMPLIES A17 == A173",
        "I3": "A12 == A121 AND A13 < 40 IMPLIES A9 == A91",
        "RC1": "A13 > 30 AND A13 < 50",
        "RC2": "A15 not in {A151, A153} AND A6 != A61",
    },
    "compas": {
        "I1": "age < 30 IMPLIES priors_count <= 1",
        "I2": "c_charge_degree == F AND v_score_text == Low IMPLIES diff_jail <= 75000",
        "I3": "priors_count > 2 OR diff_jail > 200000 IMPLIES c_charge_degree == M",
        "RC1": "age < 30",
        "RC2": "priors_count <= 1",
    },
}
ALL = "all"  # rules together
TOGETHER = ("adult",)  # tables the paper has them together of
METHODS = ("CuTS RS", "CuTS FT+RS")


def main() -> None:
    """Print a table of figures for every table and setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with adult/, german/, compas/")
    parser.add_argument("--paper", type=Path, help="the paper's figures, .json")
    parser.add_argument("--tables", nargs="+", choices=list(RULES), default=list(RULES))
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--rules", nargs="+", choices=[*RULES["adult"], ALL], default=[*RULES["adult"], ALL])
    parser.add_argument("--fits", type=int, default=5)
    parser.add_argument("--samples", type=int, default=5, help="draws from every fit")
    parser.add_argument("--config", type=Path, help="settings of the fits, .toml")
    parser.add_argument("--json", type=Path, help="write all figures there")
    args = parser.parse_args()
    config = Config() if args.config is None else read_config(args.config)
    paper = {} if args.paper is None else json.loads(args.paper.read_text())["logical_csr100"]
    found: dict[str, Any] = {}
    for table in args.tables:
        for setting in args.settings:
            lines = []
            for name in args.rules:
                if name == ALL and table not in TOGETHER:
                    continue
                say(f"{table}, {setting}: {name}")
                draws = alone(measure, args.data, table, setting, name, config, args.fits, args.samples)
                printed = of_paper(paper.get(table, {}), name)
                lines.append(line(name, draws, printed))
                found[f"{table}/{setting}/{name}"] = {"draws": draws, "paper": printed}
                write_json(args.json, found)
            header = ["rule", "accuracy %", "std", "holds %", "std", "fit, CPU s", "of it rules", *METHODS]
            show(f"{table}, {setting}: {args.fits} fits, {args.samples} draws of each", header, lines)


def measure(
    data: Path, table: str, setting: Setting, name: str, config: Config, fits: int, samples: int
) -> list[dict[str, float]]:
    """Accuracy and satisfaction of every draw, and what its fit took."""
    real = load_table(data, table, setting)
    program = parse(program_of(table, name))
    found = []
    for seed in range(fits):
        clock = Clock()
        with clock.running():
            model = fit(make_request(program, real.train, schema=real.schema, config=config, seed=seed)).model
        spec = model.spec
        for sample in range(samples):
            blocks = sample_blocks(model, real.train.rows, seed=sample)
            rows = Table(pa.concat_tables([block.arrow for block in blocks]))
            facts = {
                "seed": seed,
                "sample": sample,
                "rows": rows.rows,
                "accuracy": predict(rows, real, real.features).accuracy,
                "satisfaction": min(satisfaction(verdict) for verdict in verify(spec, rows)),
                "fit_seconds": clock.seconds,
            }
            if hasattr(model.facts, "shape_seconds"):
                facts["rule_seconds"] = model.facts.shape_seconds
            found.append(facts)
    return found


def program_of(table: str, name: str) -> str:
    """The program of one rule, or of all of a table.

    >>> program_of("compas", "RC1")
    'SYNTHESIZE: compas; ENFORCE: ROW CONSTRAINT: age < 30; END;'
    """
    names = RULES[table] if name == ALL else [name]
    commands = [
        f"ENFORCE: {'ROW CONSTRAINT' if each.startswith('RC') else 'IMPLICATION'}: {RULES[table][each]};"
        for each in names
    ]
    return f"SYNTHESIZE: {table}; {' '.join(commands)} END;"


def satisfaction(verdict: Verdict) -> float:
    """The percentage of rows a rule holds in, of those it applies to."""
    assert verdict.rows is not None
    return 100 * verdict.rows.applicable_satisfied / verdict.rows.applicable if verdict.rows.applicable else 100.0


def of_paper(printed: dict[str, Any], name: str) -> dict[str, list[float]]:
    """The paper's accuracies of a rule, mean and standard deviation; of all together only a mean."""
    if name == ALL:
        together = printed.get("all_five_together")
        return {METHODS[-1]: [together["xgb"]]} if together else {}
    return {method: printed[method][name] for method in METHODS if printed.get(method, {}).get(name)}


def line(name: str, draws: list[dict[str, float]], printed: dict[str, list[float]]) -> list[str]:
    """The cells of a rule."""
    cells = [name]
    for measure, form in (("accuracy", "{:.2f}"), ("satisfaction", "{:.3f}")):
        values = [draw[measure] for draw in draws]
        cells += [form.format(np.mean(values)), form.format(np.std(values))]
    for measure in ("fit_seconds", "rule_seconds"):
        known = [draw[measure] for draw in draws if measure in draw]
        cells.append(f"{np.mean(known):.1f}" if known else "")
    return [*cells, *(" ± ".join(map(str, printed.get(method, ()))) for method in METHODS)]


if __name__ == "__main__":
    main()

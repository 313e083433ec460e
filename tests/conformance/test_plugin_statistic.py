"""A statistic is one file: one that another package adds is checked, planned, trained for and verified."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from conformance.together import Outcomes, run_with_plugin

SOURCE = """
from cuts.vocab.arrays import exp, ln
from cuts.vocab.interval import Interval
from cuts.vocab.registry import aggregate, statistic
from cuts.vocab.statistics.order import quantile


@statistic(
    "GEOMEAN",
    noun="geometric mean",
    unit="value",
    sql=aggregate("EXP(AVG(LN({0})))"),
    reach=lambda r: r.ranges[0],
)
def geometric_mean(p, v):
    return exp((p * ln(v)).sum())


@statistic(
    "IQR",
    noun="interquartile range",
    unit="value",
    sql=aggregate(
        "PERCENTILE_DISC(0.75) WITHIN GROUP (ORDER BY {0}) - PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY {0})"
    ),
    reach=lambda r: Interval(0.0, r.ranges[0].width),
    needs_order=True,
)
def interquartile_range(p, v):
    return quantile(p, v, 0.75) - quantile(p, v, 0.25)


@statistic(
    "QUINTILE",
    noun="first quintile",
    unit="value",
    sql=aggregate("PERCENTILE_DISC(0.2) WITHIN GROUP (ORDER BY {0})"),
    reach=lambda r: r.ranges[0],
    needs_order=True,
    quantile_level=lambda levels: 0.2,
)
def first_quintile(p, v):
    return quantile(p, v, 0.2)
"""
SCHEMA = """
name = "people"
provenance = "declared"

[columns.income]
kind = "real"
range = [1.0, 200.0]
bins = 12

[columns.hours]
kind = "real"
range = [0.0, 80.0]
bins = 8

[columns.sex]
kind = "category"
categories = ["Female", "Male"]
"""
COMMANDS = """
    ENFORCE: GEOMEAN[income | sex == Female] == 50 WITHIN 3;
    ENFORCE: iqr[hours] == 8 WITHIN 2;
    ENFORCE: QUINTILE[income] >= 25 WITHIN 2;
"""

COMMANDS_RUN = {
    "check": "check program.cuts --schema people.toml",
    "plan": "plan program.cuts --schema people.toml",
    "run": "run program.cuts --data people.csv --schema people.toml -o made.csv --config fast.toml -n 1000 --seed 1",
    "verify": "verify program.cuts made.csv --schema people.toml",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 300 people, its schema and a program that uses the statistics of the plug-in."""
    folder = tmp_path_factory.mktemp("people")
    rng = np.random.default_rng(3)
    income = np.clip(np.exp(rng.normal(3.5, 0.5, 300)), 1, 200)
    hours = np.clip(rng.normal(40, 10, 300), 0, 80)
    sex = rng.choice(["Female", "Male"], 300)
    with (folder / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["income", "hours", "sex"])
        writer.writerows(zip(income.round(3), hours.round(3), sex, strict=True))
    (folder / "people.toml").write_text(SCHEMA)
    (folder / "program.cuts").write_text(f"SYNTHESIZE: people;{COMMANDS}END;\n")
    (folder / "fast.toml").write_text("components = 30\nsteps = 100\n")
    return folder


@pytest.fixture(scope="module")
def outcomes(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    site = tmp_path_factory.mktemp("site")
    return run_with_plugin(site, "cuts.vocabulary", "more_statistics", SOURCE, COMMANDS_RUN, folder)


@pytest.mark.parametrize("command", ["check", "plan"])
def test_its_statistics_are_checked_and_planned(command: str, outcomes: Outcomes) -> None:
    output, code = outcomes[command]
    assert code == 0, output
    assert command == "check" or "IQR[hours]" in output


def test_its_statistics_are_trained_for_and_verified(folder: Path, outcomes: Outcomes) -> None:
    for command in ("run", "verify"):
        output, code = outcomes[command]
        assert code == 0, output
    assert measured(folder / "people.csv") != pytest.approx((50, 8), abs=4)
    assert measured(folder / "made.csv") == pytest.approx((50, 8), abs=3.1)


def measured(path: Path) -> tuple[float, float]:
    """The geometric mean of the women's income and the interquartile range of the hours, in plain numpy."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    income = np.array([float(row["income"]) for row in rows if row["sex"] == "Female"])
    quartiles = np.quantile([float(row["hours"]) for row in rows], [0.25, 0.75])
    return float(np.exp(np.log(income).mean())), float(quartiles[1] - quartiles[0])

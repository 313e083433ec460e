"""T7: the whole pipeline from rows to drawn rows, seen from outside; it finds gross leaks only. Run with `-m audit`."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from cuts.config import Config
from cuts.data.schema import Category, Integer, Schema
from cuts.flow.release import Account
from cuts.flow.request import PrivacyOptions
from cuts.lang.parser import parse
from cuts.model.sampling import sample_blocks
from cuts.privacy.accountant import rho_of
from cuts.privacy.ledger_file import LedgerFile
from cuts.privacy.reading import cells_of
from models import fit_private
from privacy.checks import DEAR_ROUNDS, epsilon_seen

pytestmark = pytest.mark.audit

RUNS = 60  # a side
SCHEMA = Schema(
    "people",
    (
        Integer("age", 0, 99, (20.0, 40.0, 60.0, 80.0)),
        Category("city", ("oslo", "rome", "lima", "nowhere")),
        Category("job", ("cook", "smith", "none")),
    ),
)
PROGRAM = parse(
    "SYNTHESIZE: people; ENSURE: DIFFERENTIAL PRIVACY: EPSILON=1.0, DELTA=0.01;"
    " ENFORCE: age < 20 IMPLIES job != smith; ENFORCE: E[age] >= 45; END;"
)


def people(canary: bool) -> pa.Table:
    """500 rows, and perhaps one more, of an age, a city and a job nobody else has."""
    rng = np.random.default_rng(3)
    columns = {
        "age": rng.integers(20, 80, 500).tolist(),
        "city": rng.choice(["oslo", "rome", "lima"], 500).tolist(),
        "job": rng.choice(["cook", "smith"], 500).tolist(),
    }
    if canary:
        for name, value in (("age", 99), ("city", "nowhere"), ("job", "none")):
            columns[name].append(value)
    return pa.table(columns)


def attack(rows: pa.Table, ledger_file: LedgerFile, seed: int) -> float:
    """How much of the canary is in rows drawn from a private model: the black-box statistic."""
    config = Config(components=10, steps=80, threads=1)
    account, options = Account(ledger_file, "people"), PrivacyOptions(rounds=DEAR_ROUNDS)
    made = fit_private(PROGRAM, SCHEMA, cells_of(rows), account, config=config, seed=seed, options=options)
    drawn = pa.concat_tables([block.arrow for block in sample_blocks(made.model, 2_000, seed=seed)]).to_pydict()
    alike = np.stack(
        [
            np.array(drawn["age"]) >= 80,
            np.array(drawn["city"]) == "nowhere",
            np.array(drawn["job"]) == "none",
        ]
    )
    return float(alike.sum() + 10 * alike.all(0).sum())


def test_drawn_rows_tell_no_more_of_a_row_than_was_promised(tmp_path: Path) -> None:
    sides = [
        [attack(people(canary), LedgerFile(tmp_path / f"{canary}{run}.jsonl"), seed=run) for run in range(RUNS)]
        for canary in (False, True)
    ]
    shown = epsilon_seen(*sides, delta=0.01, wrong=1e-6)
    one, other = np.array(sides[0]), np.array(sides[1])
    gap = abs(other.mean() - one.mean()) / math.sqrt((one.var() + other.var()) / 2)
    print(f"black box, {RUNS} models a side: mu {gap:.2f}, epsilon >= {shown:.2f}")
    assert shown <= 1.0
    assert gap - 4.75 * math.sqrt(2 / RUNS) <= math.sqrt(math.expm1(2 * rho_of(1.0, 0.01)))

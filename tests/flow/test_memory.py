"""The guard against memorised rows: a trial on held-out rows, with the row rules in place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from cuts.config import Config
from cuts.count.kernel import count
from cuts.effects.shaping import Learned, Shaping
from cuts.flow import memory
from cuts.flow.checks import check, require
from cuts.flow.learn import open_rows, prepare
from cuts.flow.memory import MemorySettings, choose_smoothing, is_accepted, least_smoothing
from cuts.flow.run import make_request, run_program
from cuts.model.facts import Memory
from cuts.plan import plan
from cuts.progress import Observer

FAST = Config(steps=60, components=30, threads=1)
RULE = "ENFORCE: arm == a IMPLIES age > 30;"


def patients(rows: int, seed: int) -> pa.Table:
    """A small trial: few categories that belong together, an age and a score."""
    rng = np.random.default_rng(seed)
    arm = rng.choice(["a", "b"], rows)
    score = rng.normal(50, 10, rows).round(1) + np.where(arm == "a", 5.0, 0.0)
    return pa.table(
        {
            "arm": arm,
            "age": rng.integers(18, 80, rows),
            "sex": rng.choice(["m", "f"], rows),
            "site": rng.choice(list("xyz"), rows),
            "score": score,
            "better": np.where(score > 52, "yes", "no"),
        }
    )


def learned(table: pa.Table, program: str = "", config: Config = FAST) -> Learned:
    """What a fit knows about a table."""
    request = make_request(f"SYNTHESIZE: people; {program} END;", table, config=config)
    opened = open_rows(request)
    spec = require(check(request.filled, opened.schema), Observer())
    prepared = prepare([plan(spec, config)], opened, config, 0)
    return prepared.with_counts(count(opened.rows.blocks(), prepared.codec, prepared.cliques))


def copies(made: pa.Table, real: pa.Table) -> float:
    """The share of rows that are among the real ones, to the last digit."""
    known = {tuple(row.values()) for row in real.to_pylist()}
    return float(np.mean([tuple(row.values()) in known for row in made.to_pylist()]))


@pytest.mark.parametrize("program", ["", RULE])
def test_a_small_table_is_not_copied_whatever_the_program(program: str) -> None:
    train, unseen = patients(60, 1), patients(600, 2)
    result = run_program(f"SYNTHESIZE: people; {program} END;", train, rows=2_000, config={"steps": 200, "threads": 1})
    assert result.facts.smoothing > 0
    assert result.facts.memory is not None
    assert copies(result.table.arrow, train) <= copies(unseen, train) + 0.01


def test_the_trial_is_made_with_the_row_rules_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    enforced, original = [], memory.enforce

    def enforce(shaping: Shaping) -> Shaping:
        enforced.append(shaping.plan.spec.rules)
        return original(shaping)

    monkeypatch.setattr(memory, "enforce", enforce)
    choose_smoothing(learned(patients(60, 1), RULE), RULE, Observer(), settings=MemorySettings(candidates=(1.0,)))
    assert [len(rules) for rules in enforced] == [1, 1]  # once per half


def test_a_configured_smoothing_is_taken_without_a_trial() -> None:
    chosen = choose_smoothing(learned(patients(60, 1), config=replace(FAST, smoothing=0.25)), "", Observer())
    assert chosen == (0.25, None)


def test_large_tables_and_single_columns_are_not_tried() -> None:
    settings = MemorySettings(max_rows=50)
    assert choose_smoothing(learned(patients(60, 1)), "", Observer(), settings=settings) == (0.0, None)
    assert choose_smoothing(learned(patients(60, 1).select(["age"])), "", Observer()) == (0.0, None)


def test_too_few_rows_to_hold_some_out_are_smoothed() -> None:
    smoothing, found = choose_smoothing(learned(patients(16, 1)), "", Observer())
    assert smoothing == pytest.approx(0.75)
    assert found is None


def test_the_smallest_smoothing_that_passes_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_try", lambda _, __, smoothing, *___, **____: Memory(0.6 - smoothing, 0.0, 0.0))
    table = learned(patients(100, 1))
    settings = MemorySettings(candidates=(0.0, 0.3, 0.6, 1.0), nearer_noise=0.0)
    assert choose_smoothing(table, "", Observer(), settings=settings)[0] == pytest.approx(0.06)


@pytest.mark.parametrize(
    ("found", "accepted"),
    [
        (Memory(0.5, 0.02, 0.02), True),
        (Memory(0.56, 0.0, 0.0), False),
        (Memory(0.5, 0.02, 0.005), False),
        (Memory(0.5, 0.22, 0.2), True),  # most possible rows exist
        (Memory(0.5, 0.25, 0.2), False),
    ],
)
def test_what_is_accepted(found: Memory, accepted: bool) -> None:
    assert is_accepted(found, rows=1_000_000) == accepted


def test_smoothing_that_does_not_help_is_not_used() -> None:
    tried = [(0.0, Memory(0.6, 0.0, 0.0)), (0.1, Memory(0.595, 0.0, 0.0)), (0.5, Memory(0.59, 0.0, 0.0))]
    assert least_smoothing(tried, 100)[0] == 0.0
    tried = [(0.0, Memory(0.8, 0.0, 0.0)), (0.1, Memory(0.6, 0.0, 0.0)), (0.5, Memory(0.59, 0.0, 0.0))]
    assert least_smoothing(tried, 100)[0] == 0.1

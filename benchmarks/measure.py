"""Measure programs: fit, shape, sample, and score every sample on the real test rows as the paper does."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Clock
from benchmarks.paper_tables import PaperTable, Setting, leakage, load_table, predict, predict_gaps, score
from benchmarks.programs import program_of
from benchmarks.shared_fit import SharedFit
from benchmarks.table import Measured
from cuts.assess.panel import ReferenceRows, evaluate_panel
from cuts.assess.verdicts import Verdict
from cuts.assess.verify import Fact, verify
from cuts.config import Config
from cuts.data.table import Table
from cuts.flow import private, release
from cuts.flow.run import make_request
from cuts.lang.parser import parse
from cuts.lang.spec import ModelAim
from cuts.model.sampling import sample_table
from cuts.model.store import Model
from cuts.privacy.ledger_file import LedgerFile
from cuts.privacy.reading import cells_of
from cuts.privacy.transcript import Transcript, render, transcript_from
from cuts.progress import Observer

DELTA = 1e-9


def measure_programs(
    keys: tuple[str, ...],
    data: Path | None,
    rows: str,
    setting: Setting,
    seed: int,
    samples: int,
    config: Config,
    held_out: bool = False,
) -> Measured:
    """The samples of each program, without privacy; the last but one part of a key is the name of a program."""
    real = load_table(data, rows, setting)
    real = real.held_out(seed) if held_out else real
    fits = SharedFit(real, config, seed)
    for key in keys:
        name = key.split("/")[-2]
        model, fit_seconds, program_seconds = fits.shaped(program_of(rows, name))
        facts = {"fit_seconds": fit_seconds, "program_seconds": program_seconds, "components": model.mixture.w.numel()}
        yield key, {**facts, "draws": list(_draws(model, real, name, samples, real.train.rows))}


def measure_private(
    keys: tuple[str, ...],
    data: Path | None,
    rows: str,
    epsilon: float,
    seed: int,
    samples: int,
    config: Config,
    held_out: bool = False,
) -> Measured:
    """The samples of each program of one release: what shapes a model after it costs no privacy.

    Numbers are in the paper's bins, whose ranges are treated as public. The noise has no seed: a key that is measured
    again is measured with another release.
    """
    real = load_table(data, rows, "uniform")
    real = real.held_out(seed) if held_out else real
    clock, fitting = Clock(), Clock()
    with clock.running():
        transcript = make_release(real, epsilon, seed, config)
    with fitting.running():
        free = private.fit_free(transcript, config, seed=seed, observer=Observer())
    for key in keys:
        name = key.split("/")[-2]
        shaping = Clock()
        with shaping.running():
            model = private.shape_free(parse(program_of(rows, name)), free, observer=Observer()).model
        facts = {"release_seconds": clock.seconds, "fit_seconds": fitting.seconds, "program_seconds": shaping.seconds}
        facts["tables"] = len(transcript.measurements)
        yield key, {**facts, "draws": list(_draws(model, real, name, samples, None))}


def make_release(real: PaperTable, epsilon: float, seed: int, config: Config) -> Transcript:
    """A new release of the train rows, as it would be read from a file."""
    program = parse(f"SYNTHESIZE: {real.name}; ENSURE: EPSILON={epsilon!r}, DELTA={DELTA!r}; END;")
    with tempfile.TemporaryDirectory() as folder:
        account = release.Account(LedgerFile(Path(folder) / "ledger.jsonl"), real.name)
        request = make_request(program, seed=seed, config=config)
        made = release.measure(request, real.schema, cells_of(real.train), account, Observer())
    return transcript_from(json.loads(render(made)))


def _draws(model: Model, real: PaperTable, name: str, samples: int, rows: int | None) -> Iterator[dict[str, Any]]:
    for seed in range(samples):
        clock = Clock()
        with clock.running():
            table = sample_table(model, rows, seed=seed)
        yield {"sample": seed, "rows": table.rows, "draw_seconds": clock.seconds, **figures(table, model, real, name)}


def figures(table: Table, model: Model, real: PaperTable, name: str) -> dict[str, Any]:
    """All figures of one sample: of the classifier, of the groups, of the program's commands."""
    found: dict[str, Any] = {}
    if name == "free":
        scores = score(table, real, real.features)
        found |= {"tv": scores.tv_all, "tv_label": scores.tv_label}
        found["nearer"] = leakage(table, real, seed=0).nearness.nearer_to_train
    predictions = predict(table, real, real.features)
    found["accuracy"] = predictions.accuracy
    if real.schema.protected and len(real.groups) == 2:
        found |= predict_gaps(predictions, real)
    aims = [command for command in model.spec.commands if isinstance(command, ModelAim)]
    if name == "hide":
        hidden = replace(aims[0].measure, name="DOWNSTREAM_BALANCED_ACCURACY")
        panel = evaluate_panel(hidden, table, ReferenceRows(real.test, real.schema))
        found["balanced_accuracy"] = 100 * panel.deciding.value
    checked = verify(
        replace(model.spec, commands=tuple(c for c in model.spec.commands if c not in aims)), table, interval=False
    )
    if shares := [satisfaction(verdict) for verdict in checked if verdict.rows is not None]:
        found["satisfied"] = min(shares)
    if facts := [fact for verdict in checked for fact in verdict.facts]:
        found["values"] = [fact.value - (fact.target or 0.0) if fact.gap else fact.value for fact in facts]
        found["off"] = max(map(off, facts))
    return found


def satisfaction(verdict: Verdict) -> float:
    """The percentage of rows that satisfy a rule, of those it applies to."""
    assert verdict.rows is not None
    return 100 * verdict.rows.applicable_satisfied / verdict.rows.applicable if verdict.rows.applicable else 100.0


def off(fact: Fact) -> float:
    """How far a number is from its target in tolerances; for an inequality, 0 or infinite."""
    if fact.target is None or fact.op is None:
        return 0.0
    if fact.op == "==":
        assert fact.tolerance
        return abs(fact.value - fact.target) / fact.tolerance
    return 0.0 if fact.holds else float(np.inf)

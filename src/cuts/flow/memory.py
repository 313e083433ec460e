"""How much a model is smoothed, so that it does not memorise rows.

In a small table a component can come to stand for single rows. So a trial is made before the fit: some rows are held
out, a model of the others is fitted, the row rules are enforced in it and rows are drawn, values inside bins included.
As many fitted as held-out rows are then searched for the closest row of each drawn one, and for copies. The smallest
smoothing is chosen at which drawn rows resemble fitted rows hardly more than held-out ones. Every component keeps that
share of the columns' own distributions, however long and for whatever command it is trained. Large tables do not need
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import pyarrow as pa

from cuts.assess.grid import build_grid
from cuts.assess.leakage import measure_leakage
from cuts.assess.table_arrays import read_sample
from cuts.config import Config
from cuts.count.kernel import count_codes
from cuts.data.table import IntArray, Table
from cuts.effects.rules import enforce
from cuts.effects.shaping import Learned, Shaping
from cuts.flow.free_model import fit_smoothed
from cuts.model.cells import Statistics
from cuts.model.facts import Memory
from cuts.model.sampling import sample_table
from cuts.progress import Observer


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """Which tables are tried, and what is accepted."""

    max_rows: int = 5_000  # larger tables are not tried
    min_rows: int = 20  # smaller ones have too few rows to hold some out
    max_halved_rows: int = 1_000  # up to this half of the rows are held out, then the other half; else a fifth
    trial_steps: int = 300
    candidates: tuple[float, ...] = (0.0, 1.0, 3.0, 6.0, 10.0)  # smoothing tried, in units of 1 / sqrt(rows)
    large_candidates: tuple[float, ...] = (0.0, 1.0, 3.0)  # the same for tables that are not halved
    nearer_noise: float = 0.25  # standard error of the share of closer rows, times sqrt(rows)
    excess_noise: float = 0.05  # the same for the excess of copies
    max_smoothing: float = 0.8
    max_drawn_rows: int = 2_000
    max_nearer: float = 0.55  # share of drawn rows closer to a fitted row than to a held-out one; 0.5 is ideal
    max_excess: float = 0.01  # share of drawn rows that copy a fitted row minus that of copies of held-out rows,
    max_relative_excess: float = 0.15  # or this times the latter, where there are so few possible rows that most exist


MEMORY_SETTINGS = MemorySettings()


def choose_smoothing(
    learned: Learned, program: str, observer: Observer, *, settings: MemorySettings = MEMORY_SETTINGS
) -> tuple[float, Memory | None]:
    """The smoothing for a fit, the configured one or the smallest that passes the trial; and what the trial showed."""
    rows = learned.sample.rows
    if learned.config.smoothing is not None:
        return learned.config.smoothing, None
    if rows > settings.max_rows or len(learned.codes) < 2:
        return 0.0, None
    if rows < settings.min_rows:
        return min(settings.max_smoothing, 3.0 / sqrt(rows)), None
    is_halved = rows <= settings.max_halved_rows
    tried: list[tuple[float, Memory]] = []
    candidates = settings.candidates if is_halved else settings.large_candidates
    observer.stage("choosing the smoothing")
    for index, scale in enumerate(candidates):  # usually not all of them are needed: the time left is the longest
        smoothing = min(scale / sqrt(rows), settings.max_smoothing)
        trial = observer.part(index, len(candidates))
        memory = _try(learned, program, smoothing, trial, settings, is_halved=is_halved)
        if is_accepted(memory, rows, settings):
            return smoothing, memory
        tried.append((smoothing, memory))
    return least_smoothing(tried, rows, settings)


def is_accepted(memory: Memory, rows: int, settings: MemorySettings = MEMORY_SETTINGS) -> bool:
    """Whether a model resembles the rows it was fitted to hardly more than others, within the noise of so few rows."""
    allowed = max(settings.max_excess, settings.max_relative_excess * memory.unseen_copies)
    is_near = memory.nearer > settings.max_nearer + settings.nearer_noise / sqrt(rows)
    return not is_near and _excess(memory) <= allowed


def least_smoothing(
    tried: Sequence[tuple[float, Memory]], rows: int, settings: MemorySettings = MEMORY_SETTINGS
) -> tuple[float, Memory]:
    """The smallest smoothing that is as good as any, if none is good enough: more would only cost accuracy."""
    nearer = min(memory.nearer for _, memory in tried) + settings.nearer_noise / sqrt(rows)
    excess = min(_excess(memory) for _, memory in tried) + settings.excess_noise / sqrt(rows)
    as_good = (pair for pair in tried if pair[1].nearer <= nearer and _excess(pair[1]) <= excess)
    return next(as_good, tried[-1])


def _excess(memory: Memory) -> float:
    """How many more rows copy a fitted row than an unseen one."""
    return memory.copies - memory.unseen_copies


def _try(
    learned: Learned, program: str, smoothing: float, observer: Observer, settings: MemorySettings, *, is_halved: bool
) -> Memory:
    """How much rows drawn from a model of some rows resemble these more than the rows held out."""
    schema, results = learned.codec.schema, []
    trial = replace(learned.config, steps=min(learned.config.steps, settings.trial_steps))
    splits = tuple(_splits(learned.sample.rows, learned.seed, is_halved=is_halved))
    for index, (fitted, held_out) in enumerate(splits):
        part = _part(learned, fitted, trial)
        model, part = fit_smoothed(part, program, smoothing, observer.part(index, len(splits)))
        shaping = Shaping(model, part, len(fitted), Observer(), Statistics(model.codec, len(fitted)), base=model)
        shaped = enforce(shaping).model
        shaped = replace(shaped, spec=replace(shaped.spec, commands=shaped.spec.rules))  # statistics only select rows
        drawn = sample_table(shaped, min(settings.max_drawn_rows, 4 * len(fitted)), seed=learned.seed)
        synthetic = read_sample(drawn, schema, "synthetic")
        train, test = (read_sample(_taken(learned.sample, rows), schema, "train") for rows in (fitted, held_out))
        grid = build_grid(train, (synthetic, test), "quantile")
        results.append(measure_leakage(synthetic, train, test, grid, seed=learned.seed, say=lambda _: None))
    return Memory(
        nearer=float(np.mean([found.nearness.nearer_to_train for found in results])),
        copies=float(np.mean([found.copies.train for found in results])),
        unseen_copies=float(np.mean([found.copies.test for found in results])),
    )


def _splits(rows: int, seed: int, *, is_halved: bool) -> Iterator[tuple[IntArray, IntArray]]:
    """The rows to fit and to hold out: both halves in turn, or a fifth of the rows once."""
    order = np.random.default_rng([seed, 9]).permutation(rows)
    if is_halved:
        first, second = order[: rows // 2], order[rows // 2 :]
        yield first, second
        yield second, first
    else:
        yield order[rows // 5 :], order[: rows // 5]


def _part(learned: Learned, rows: IntArray, config: Config) -> Learned:
    """What is known about some of the rows."""
    codes = {name: values[rows] for name, values in learned.codes.items()}
    counts = count_codes(codes, learned.codec, tuple(learned.counts.tables))
    return replace(learned, codes=codes, counts=counts, sample=_taken(learned.sample, rows), config=config)


def _taken(table: Table, rows: IntArray) -> Table:
    return Table(table.arrow.take(pa.array(rows)))

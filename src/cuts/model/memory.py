"""How much of the columns' own distributions every component keeps, so that the model does not memorise rows.

In a small table a component can come to stand for single rows. A fifth of the rows is held out, a short fit is made to
the rest, and rows drawn from it are looked up in both parts. The smallest smoothing is chosen at which drawn rows match
training rows hardly more often than as many held-out rows. Larger tables do not need it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from cuts.config import Config
from cuts.count.kernel import count_codes
from cuts.count.workload import choose_workload, fits_whole, measure_dependence
from cuts.data.codec import Codec, Codes
from cuts.data.table import IntArray
from cuts.model.draw import draw, supply
from cuts.model.fit import fit


@dataclass(frozen=True, slots=True)
class SmoothingSettings:
    """Which tables are tested for memorised rows, and how."""

    max_rows: int = 20_000  # larger tables are not tested
    min_rows: int = 20  # smaller ones have too few rows to hold some out
    trial_steps: int = 200
    candidates: tuple[float, ...] = (0.0, 0.3, 1.0, 3.0)  # smoothing tried, in units of 1 / sqrt(rows)
    max_excess: float = 0.01  # share of drawn rows found in the training rows minus that in as many held-out ones


SMOOTHING_SETTINGS = SmoothingSettings()


def choose_smoothing(
    codes: Codes,
    codec: Codec,
    label: str | None,
    config: Config,
    *,
    seed: int,
    settings: SmoothingSettings = SMOOTHING_SETTINGS,
) -> float:
    """The smoothing for the fit of a table: the configured one, else the smallest that passes the held-out test."""
    rows = len(next(iter(codes.values())))
    if config.smoothing is not None:
        return config.smoothing
    if rows > settings.max_rows or len(codes) < 2:
        return 0.0
    if rows < settings.min_rows:
        return min(0.5, 1.0 / sqrt(rows))
    order = np.random.Generator(np.random.Philox(seed)).permutation(rows)
    fitted = {name: values[order[rows // 5 :]] for name, values in codes.items()}
    held_out = {name: values[order[: rows // 5]] for name, values in codes.items()}
    sizes = {bins.column.name: bins.size for bins in codec.columns}
    dependence = None if fits_whole(sizes) else measure_dependence(fitted, sizes)
    counts = count_codes(fitted, codec, choose_workload(sizes, label, dependence))
    trial = replace(config, steps=min(config.steps, settings.trial_steps))
    candidates = [scale / sqrt(rows) for scale in settings.candidates]
    for smoothing in candidates:
        mixture = fit(counts, label, trial, seed=seed, smoothing=smoothing).mixture
        drawn = draw(supply(mixture), rows, seed=seed).codes
        if _excess_matches(drawn, fitted, held_out) <= settings.max_excess:
            return smoothing
    return candidates[-1]


def _excess_matches(drawn: Codes, fitted: Codes, held_out: Codes) -> float:
    """The share of drawn rows that occur in the training rows, minus that in as many held-out rows."""
    rows = _rows(drawn)
    count = len(next(iter(held_out.values())))
    return _share_in(rows, _rows(fitted)[:count]) - _share_in(rows, _rows(held_out))


def _rows(codes: Codes) -> IntArray:
    return np.stack(list(codes.values()), axis=1)


def _share_in(rows: IntArray, others: IntArray) -> float:
    """The share of the rows that also occur among the others."""
    distinct = {row.tobytes() for row in others}
    return sum(row.tobytes() in distinct for row in rows) / len(rows)

"""How much of the columns' own distributions every component keeps, so that rows are not learned by heart.

In small tables a component can come to stand for single rows. A fifth of the rows is held out, a short fit is made to
the rest, and rows drawn from it are looked up in both: the least smoothing is taken at which they are found among the
rows fitted to hardly more often than among as many rows never seen. Larger tables do not need it.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np

from cuts.config import Config
from cuts.count.kernel import count_codes
from cuts.count.workload import choose_workload, fits_whole, measure_dependence
from cuts.data.codec import Codec, Codes
from cuts.data.table import IntArray
from cuts.model.draw import draw, supply
from cuts.model.fit import fit

MAX_ROWS = 20_000  # of tables that are checked
TRIAL_STEPS = 200
TIMES = (0.0, 0.3, 1.0, 3.0)  # smoothing tried, in units of one over the root of the rows
EXCESS = 0.01  # share of rows found among those fitted to beyond that among those held out


def choose_smoothing(codes: Codes, codec: Codec, label: str | None, config: Config, *, seed: int) -> float:
    """The smoothing of a table's fit: the setting if there is one, else what the held-out rows ask for."""
    rows = len(next(iter(codes.values())))
    if config.smoothing is not None:
        return config.smoothing
    if rows > MAX_ROWS or len(codes) < 2:
        return 0.0
    if rows < 20:  # too few to hold some out
        return min(0.5, 1.0 / sqrt(rows))
    order = np.random.Generator(np.random.Philox(seed)).permutation(rows)
    held, kept = order[: rows // 5], order[rows // 5 :]
    fitted = {name: values[kept] for name, values in codes.items()}
    unseen = {name: values[held] for name, values in codes.items()}
    sizes = {bins.column.name: bins.size for bins in codec.columns}
    dependence = None if fits_whole(sizes) else measure_dependence(fitted, sizes)
    counts = count_codes(fitted, codec, choose_workload(sizes, label, dependence))
    trial = replace(config, steps=min(config.steps, TRIAL_STEPS))
    scales = [times / sqrt(rows) for times in TIMES]
    for smoothing in scales:
        made = fit(counts, label, trial, seed=seed, smoothing=smoothing)
        drawn = draw(supply(made.mixture), rows, seed=seed).codes
        if _found_more(drawn, fitted, unseen) <= EXCESS:
            return smoothing
    return scales[-1]


def _found_more(drawn: Codes, fitted: Codes, unseen: Codes) -> float:
    """How much larger a share of rows is found among those fitted to than among as many unseen ones."""
    rows = _rows(drawn)
    among = len(next(iter(unseen.values())))
    return _share(rows, _rows(fitted)[:among]) - _share(rows, _rows(unseen))


def _rows(codes: Codes) -> IntArray:
    return np.stack(list(codes.values()), axis=1)


def _share(rows: IntArray, known: IntArray) -> float:
    seen = {row.tobytes() for row in known}
    return sum(row.tobytes() in seen for row in rows) / len(rows)

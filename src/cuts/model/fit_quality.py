"""Whether a fit succeeded: how far the model's tables are from the counts, compared with a new sample of rows.

Two samples of one population differ, and in sparse tables they differ much, so a distance means little by itself. The
yardstick is the expected total variation between a table and that of as many new rows: for `n` rows and the shares `p`,
half the sum of `sqrt(2 p (1 - p) / (pi n))` over the cells, because a share in a new sample is about normal around `p`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import pi

import numpy as np

from cuts.count.cover import Clique, cells, in_order
from cuts.count.marginals import Marginals
from cuts.data.table import Floats, IntArray
from cuts.model.facts import Facts
from cuts.model.mixture import Mixture, marginal
from cuts.text.diagnostic import Diagnostic, listed

MAX_TABLES = 200  # compared; of more, some are chosen at random
MAX_CELLS = 1_000_000  # of all tables compared
MAX_ERROR = 0.1  # of a table that is not far off, however many rows there are
MAX_NOISE = 3.0  # the same in units of the sampling noise; a perfect model of a sparse table is off by up to 2.5
MAX_SHARE = 0.05  # of the tables, or of the columns, that may be far off
MAX_NAMED = 3  # columns furthest off
MAX_SMOOTHING = 0.1  # above this a model is away from the counts on purpose


@dataclass(frozen=True, slots=True)
class TableError:
    """The total variation between a table of the model and its counts, and that expected of a new sample of rows."""

    clique: Clique
    error: float
    noise: float

    @property
    def is_far_off(self) -> bool:
        """Whether the error is far above what the counts allow."""
        return self.error > max(MAX_ERROR, MAX_NOISE * self.noise)


def with_quality(facts: Facts, mix: Mixture, counts: Marginals, label: str | None) -> Facts:
    """The facts with the error of a mixture that was fitted to the counts, its floor, and whether the fit failed.

    A fit has failed if too many of the fitted tables, or of the columns' own distributions, are far off. The columns
    are compared too because a sparse table can hide a large error in its noise.
    """
    tables = [compare(mix, counts, clique) for clique in choose_tables(counts, label, seed=facts.seed)]
    columns = [compare(mix, counts, (name,)) for name in counts.sizes]
    far_off = any(np.mean([table.is_far_off for table in part]) > MAX_SHARE for part in (tables, columns))
    failed = far_off and facts.smoothing <= MAX_SMOOTHING
    return replace(
        facts,
        error=float(np.mean([table.error for table in tables])),
        error_floor=float(np.mean([table.noise for table in tables])),
        failed=bool(failed),
        furthest=_furthest([*tables, *columns]) if failed else (),
    )


def compare(mix: Mixture, counts: Marginals, clique: Clique) -> TableError:
    """The error of the table of some columns."""
    table = counts.table(clique)
    shares: Floats = table / max(counts.rows, 1)
    model = marginal(mix, clique).detach().cpu().numpy()
    return TableError(clique, float(np.abs(model - shares).sum() / 2), expected_noise(table))


def expected_noise(counts: IntArray) -> float:
    """The expected total variation between a table of counts and one of as many new rows of the same population.

    >>> round(expected_noise(np.array([50, 50])), 3)
    0.04
    """
    rows = max(int(counts.sum()), 1)
    shares: Floats = counts / rows
    return float(np.sqrt(2 * shares * (1 - shares) / (pi * rows)).sum() / 2)


def choose_tables(
    counts: Marginals, label: str | None, *, seed: int, max_tables: int = MAX_TABLES, max_cells: int = MAX_CELLS
) -> tuple[Clique, ...]:
    """The tables to compare: of the label with two other columns; of pairs without a label or where none is counted."""
    names = tuple(counts.sizes)
    rng = np.random.default_rng(seed)
    for fixed in ((label,), ()) if label in counts.sizes and len(names) > 2 else ((),):
        others = [name for name in names if name not in fixed]
        chosen: list[Clique] = []
        left = max_cells
        for pair in _shuffled_pairs(others, rng):
            clique = in_order((*pair, *fixed), counts.sizes)
            size = cells(clique, counts.sizes)
            if size <= left and counts.covers(clique):
                chosen.append(clique)
                left -= size
            if len(chosen) == max_tables:
                break
        if chosen:
            return tuple(chosen)
    return tuple((name,) for name in names)


def _shuffled_pairs(names: Sequence[str], rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    pairs = list(combinations(names, 2))
    return (pairs[position] for position in rng.permutation(len(pairs)))


def _furthest(tables: Sequence[TableError]) -> tuple[str, ...]:
    """The columns whose tables are furthest above the noise on average, the furthest first."""
    excess: dict[str, list[float]] = {}
    for table in tables:
        for name in table.clique:
            excess.setdefault(name, []).append(table.error - table.noise)
    return tuple(sorted(excess, key=lambda name: -float(np.mean(excess[name])))[:MAX_NAMED])


def failed_fit(facts: Facts) -> Diagnostic:
    """A model that is far from the rows it was fitted to."""
    return Diagnostic(
        "failed-fit",
        f"the fit failed: its error is {facts.error:.2g}, sampling noise alone gives {facts.error_floor:.2g}; "
        f"furthest from the real rows: {listed(facts.furthest)}",
        help=f"allow more than {facts.steps:,} `steps` or use fewer `bins` in `--config`, "
        "drop columns whose values hardly repeat, or choose another label",
        severity="warning",
    )

"""How strongly columns depend on each other, measured on encoded rows: what decides which tables of a wide table count.

The measure is mutual information in nats, and for the label also the information two columns have about each other
where the label is known. Both are zero for independent columns, but not when they are estimated from `n` rows: they are
then `f / 2n` on average, where `f` is the degrees of freedom (Miller 1955), and `2n` times the estimate follows the
chi-squared distribution with `f` degrees (Wilks 1938). What is left after the bias is taken off may be noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import prod, sqrt

import numpy as np

from cuts.count.cover import Clique, in_order
from cuts.count.marginals import Marginals
from cuts.data.table import Floats, IntArray

MAX_ROWS = 50_000  # that dependence is measured on
MAX_LABEL_BINS = 16  # of a label with more, dependence given the label is not measured: its tables have too few rows
NOISE_DEVIATIONS = 3.0  # standard deviations of the estimate for independent columns, up to which it is noise


@dataclass(frozen=True, slots=True)
class Dependence:
    """The mutual information of every pair of columns, and of every pair given the label, less their bias."""

    pairs: Mapping[Clique, float]
    given_label: Mapping[Clique, float] = field(default_factory=dict)  # by the triple; empty unless it was measured
    noise: Mapping[Clique, float] = field(default_factory=dict)  # by pair or triple: below this it may be zero

    def is_noise(self, clique: Clique) -> bool:
        """Whether a pair, or two columns given the label, may be independent."""
        value = self.pairs.get(clique, 0.0) if len(clique) == 2 else self.given_label.get(clique, 0.0)
        return value <= self.noise.get(clique, 0.0)


def measure_dependence(
    codes: Mapping[str, IntArray],
    sizes: Mapping[str, int],
    label: str | None = None,
    *,
    advanced: Callable[[float], None] = lambda _: None,
) -> Dependence:
    """The dependence of all pairs of columns on some of the rows, evenly spread; `advanced` hears the share done."""
    step = max(1, -(-max(map(len, codes.values()), default=0) // MAX_ROWS))
    thin = {name: np.ascontiguousarray(values[::step]) for name, values in codes.items()}
    rows = max(map(len, thin.values()), default=0)
    given = label if label is not None and 1 < sizes[label] <= MAX_LABEL_BINS else None
    pairs: dict[Clique, float] = {}
    given_label: dict[Clique, float] = {}
    noise: dict[Clique, float] = {}
    names = tuple(sizes)
    for number, a in enumerate(names):
        with_label = thin[a] if given is None else thin[a] * sizes[given] + thin[given]
        for b in names[number + 1 :]:
            if given is None or given in (a, b):
                counts = _joint(thin[a], thin[b], (sizes[a], 1, sizes[b]))
            else:
                counts = _joint(with_label, thin[b], (sizes[a], sizes[given], sizes[b]))
                triple = in_order((a, b, given), sizes)
                given_label[triple], noise[triple] = _above_bias(counts, rows)
            pairs[a, b], noise[a, b] = _above_bias(counts.sum(1, keepdims=True), rows)
        advanced((number + 1) / len(names))
    return Dependence(pairs, given_label, noise)


def strongest_partners(marginals: Marginals, count: int) -> dict[str, tuple[str, ...]]:
    """By column, the columns counted with it that it depends on most, the strongest first; empty if all were counted.

    Where all triples are counted, no pair is counted by itself.
    """
    pairs: list[Clique] = [clique for clique in marginals.tables if len(clique) == 2]
    if not pairs or len(marginals.sizes) == 2:
        return {}
    strength: dict[Clique, float] = {
        pair: _above_bias(marginals.tables[pair][:, None, :], marginals.rows)[0] for pair in pairs
    }
    return {name: tuple(partners) for name, partners in partners_by_strength(marginals.sizes, strength, count).items()}


def partners_by_strength(names: Iterable[str], strength: Mapping[Clique, float], count: int) -> dict[str, list[str]]:
    """By column, the columns whose pairs with it are strongest, the strongest first."""
    near: dict[str, list[str]] = {name: [] for name in names}
    for a, b in sorted(strength, key=lambda pair: -strength[pair]):
        for column, other in ((a, b), (b, a)):
            if len(near[column]) < count:
                near[column].append(other)
    return near


def _joint(first: IntArray, last: IntArray, shape: tuple[int, int, int]) -> IntArray:
    """The counts of all combinations; `first` numbers those of the first two axes."""
    return np.bincount(first * shape[2] + last, minlength=prod(shape)).reshape(shape)


def _above_bias(counts: IntArray, rows: int) -> tuple[float, float]:
    """The information of the first and last axis about each other given the middle one less its bias, and its noise."""
    outer, inner = counts.sum(2, keepdims=True), counts.sum(0, keepdims=True)
    degrees = float(((outer > 0).sum((0, 2)) - 1).clip(0) @ ((inner > 0).sum((0, 2)) - 1).clip(0))
    # With counts n_abc: sum n_abc log(n_abc n_b / (n_ab n_bc)) is a sum of terms n log n.
    total = _n_log_n(counts) - _n_log_n(outer) - _n_log_n(inner) + _n_log_n(counts.sum((0, 2)))
    return (total - degrees / 2) / max(rows, 1), NOISE_DEVIATIONS * sqrt(2 * degrees) / (2 * max(rows, 1))


def _n_log_n(counts: IntArray) -> float:
    present: Floats = counts[counts > 0].astype(np.float64)
    return float(present @ np.log(present))

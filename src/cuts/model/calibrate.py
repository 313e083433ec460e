"""Rows chosen so that the drawn table itself has the statistics: from a pool of valid rows, never edited.

The rows of the pool are weighed by `exp` of the influence functions of all numbers wanted (Newton's method, a few
steps), drawn by these weights in evenly spaced steps, and then exchanged for others a few at a time until what chance
left over is within the tolerances too. How many rows the weights leave effective, and how often a row was taken, is
reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, nan

import numpy as np
import torch
from torch import Tensor

from cuts.data.schema import Schema
from cuts.data.table import Floats, IntArray, Table
from cuts.lang.spec import Quantity, Statistic
from cuts.lang.targets import Target, Targets, nearest_targets, violation
from cuts.lang.walks import statistics_of
from cuts.read import exact, relaxed
from cuts.vocab.names import statistics

STEPS = 25  # of Newton's method
NEAR = 0.02  # tolerances from the aim at which it ends
LARGEST_STEP = 0.5  # nats
MAX_TAKEN = 3  # times one row of the pool may be in the table
CORRECTIONS = 4  # times the weights are sought again
EXCHANGES = 60  # rounds
PAIRS = 4_096  # exchanges tried in a round
WITHIN = 0.25  # of the way from the aim to the bounds: what exchanging rows ends with


@dataclass(frozen=True, slots=True)
class Calibration:
    """How rows were chosen: from how many, how many of these the weights left effective, how often one was taken."""

    rows: int
    pool: int
    effective: float
    most_taken: int
    off: float  # the worst number, in tolerances out of its bounds

    def joined(self, other: Calibration) -> Calibration:
        """Both choices as one."""
        return Calibration(
            self.rows + other.rows,
            self.pool + other.pool,
            self.effective + other.effective,
            max(self.most_taken, other.most_taken),
            max(self.off, other.off),
        )


def choose(
    pool: Table, wanted: Sequence[Targets], schema: Schema, rows: int, *, total: int, seed: int
) -> tuple[IntArray, Calibration]:
    """The rows of the pool to take, in random order; `total` is the number of rows of the whole table."""
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, rows, pool.rows])))
    numbers = _Numbers(pool, schema, total)
    even = torch.full((pool.rows,), 1.0 / pool.rows, dtype=torch.float64)
    wants = [
        each
        for want in wanted
        for each in nearest_targets(want, lambda w: violation(w, float(numbers.value(w.value, even))))
    ]
    sought = [want for want in wants if isfinite(float(numbers.value(want.value, even)))]
    aimed, weights = sought, even
    for _ in range(CORRECTIONS):
        weights = _weights(aimed, numbers, weights)
        taken = _exchanged(_taken(weights, rows, rng), sought, numbers, rng)
        share = torch.as_tensor(taken / rows)
        if all(violation(want, float(numbers.value(want.value, share))) == 0.0 for want in sought):
            break
        # Some statistics of few rows differ from those of many: information and entropy seem higher, say.
        aimed = [_corrected(want, numbers, weights, _taken(weights, rows, rng)) for want in sought]
    chosen = np.repeat(np.arange(pool.rows), taken)
    off = max((violation(want, float(numbers.value(want.value, share))) for want in wants), default=0.0)
    effective = float(1.0 / (weights**2).sum())
    facts = Calibration(rows, pool.rows, effective, int(taken.max()), off)
    return rng.permutation(chosen), facts


class _Numbers:
    """The quantities of a table's rows, at any weights."""

    def __init__(self, table: Table, schema: Schema, total: int) -> None:
        self._table, self._schema, self._total = table, schema, total
        self._at: dict[Statistic, Callable[[Tensor], Tensor]] = {}

    def value(self, quantity: Quantity, weights: Tensor) -> Tensor:
        """A quantity of the rows with these weights, which sum to one."""
        found: Tensor = relaxed.value(
            quantity,
            lambda number: torch.tensor(number, dtype=torch.float64),
            lambda stat: self._statistic(stat)(weights),
        )
        return found

    def influence(self, want: Target, weights: Tensor) -> tuple[float, Tensor]:
        """A number, and how it changes with the weight of each row, in tolerances; centred."""
        at = weights.detach().clone().requires_grad_()
        value = self.value(want.value, at)
        if not bool(torch.isfinite(value)) or not any(statistics_of(want.value)):
            return float(value.detach()), torch.zeros_like(weights)
        (value / want.unit).backward()  # type: ignore[no-untyped-call]
        assert at.grad is not None
        return float(value.detach()), at.grad - (at.grad * weights).sum()

    def _statistic(self, stat: Statistic) -> Callable[[Tensor], Tensor]:
        if stat not in self._at:
            self._at[stat] = self._prepared(stat)
        return self._at[stat]

    def _prepared(self, stat: Statistic) -> Callable[[Tensor], Tensor]:
        """The statistic at any weights of the rows; equal rows are one cell of it."""
        found = exact.merged(exact.prepare(stat, self._table, self._schema))
        rows = slice(None) if found.rows is None else torch.as_tensor(np.flatnonzero(found.rows))
        cells = None if found.cells is None else torch.as_tensor(found.cells)
        values = [torch.as_tensor(each) for each in found.values]

        def at(weights: Tensor) -> Tensor:
            mass = weights[rows] if cells is None else _sums(weights[rows], cells)
            if statistics()[stat.name].unit != "rows" and not bool(mass.sum() > 0):
                return mass.new_full((), nan)  # it is about no row
            if statistics()[stat.name].argument == "column":
                alone = [_sums(mass, codes) for codes in values]
                return relaxed.of_columns(stat, mass, alone)  # type: ignore[no-any-return]
            return relaxed.of_numbers(stat, mass, values, self._total)  # type: ignore[no-any-return]

        return at


def _sums(weights: Tensor, codes: Tensor) -> Tensor:
    return weights.new_zeros(int(codes.max()) + 1 if len(codes) else 0).index_add(0, codes, weights)


def _corrected(want: Target, numbers: _Numbers, weights: Tensor, taken: IntArray) -> Target:
    """The same number wanted of the pool such that so many rows taken from it have it."""
    share = torch.as_tensor(taken / taken.sum())
    bias = float(numbers.value(want.value, share)) - float(numbers.value(want.value, weights))
    return replace(want, low=want.low - bias, high=want.high - bias) if isfinite(bias) else want


# --- weights


def _weights(wants: Sequence[Target], numbers: _Numbers, even: Tensor) -> Tensor:
    """The weights nearest to even ones with which the rows have all numbers wanted."""
    weights = even
    pushed = np.zeros(len(wants))
    for _ in range(STEPS):
        found = [numbers.influence(want, weights) for want in wants]
        off = np.array([want.off(value) for want, (value, _) in zip(wants, found, strict=True)])
        active = np.flatnonzero(np.isfinite(off) & ((np.abs(off) > NEAR) | (pushed != 0)) & (off != 0))
        if not len(active) or np.abs(off[active]).max() <= NEAR:
            break
        phi = torch.stack([found[j][1] for j in active], 1)  # (rows, active)
        spread = phi.T @ (phi * weights[:, None])
        step = -torch.linalg.pinv(spread, rtol=1e-9) @ torch.as_tensor(off[active])
        nats = 0.5 * float(step @ spread @ step)
        if nats > LARGEST_STEP:
            step = step * (LARGEST_STEP / nats) ** 0.5
        pushed[active] += step.numpy()
        weights = torch.softmax(weights.log() + phi @ step, 0)
    return weights


# --- rows


def _taken(weights: Tensor, rows: int, rng: np.random.Generator) -> IntArray:
    """How often each row is taken: by its weight, in evenly spaced steps through the pool, at most a few times."""
    wanted: Floats = np.maximum(weights.numpy() * rows, 1e-12)  # rows without weight come last
    full = np.zeros(len(wanted), dtype=np.bool_)
    while ((wanted > MAX_TAKEN) & ~full).any():
        full |= wanted > MAX_TAKEN
        left = rows - MAX_TAKEN * full.sum()
        wanted = np.where(full, MAX_TAKEN, wanted * left / max(wanted[~full].sum(), 1e-300))
    order = rng.permutation(len(wanted))
    ends = np.floor(np.cumsum(wanted[order]) / wanted.sum() * rows + rng.random() + 1e-9).astype(np.int64)
    ends[-1] = max(ends[-1], rows)
    counts = np.diff(np.minimum(ends, rows), prepend=0)
    taken = np.empty(len(wanted), dtype=np.int64)
    taken[order] = counts
    return taken


def _exchanged(taken: IntArray, wants: Sequence[Target], numbers: _Numbers, rng: np.random.Generator) -> IntArray:
    """The same with some rows exchanged for others of the pool, until every number is well within its bounds."""
    rows = int(taken.sum())
    best, best_off = taken, np.inf
    for _ in range(EXCHANGES):
        share = torch.as_tensor(taken / rows)
        found = [numbers.influence(want, share) for want in wants]
        off = np.array([want.off(value) for want, (value, _) in zip(wants, found, strict=True)])
        room = np.array([_room(want) for want in wants])
        worst = float((np.abs(off) / room).max(initial=0.0))
        if worst < best_off:
            best, best_off = taken, worst
        if worst <= WITHIN or not np.isfinite(worst):
            break
        taken = _round(taken, off / room, torch.stack([phi for _, phi in found], 1).numpy() / room / rows, rng)
    return best


def _room(want: Target) -> float:
    """How far a number may be from its aim, in tolerances."""
    low, high = want.aim
    below = low - want.low if want.low > -inf else inf
    above = want.high - high if want.high < inf else inf
    return max(min(below, above) / want.unit, 1e-3)


def _round(taken: IntArray, off: Floats, phi: Floats, rng: np.random.Generator) -> IntArray:
    """The exchanges, among some tried at random, that bring all numbers nearest to their aims together."""
    out = rng.choice(np.flatnonzero(taken > 0), PAIRS)
    into = rng.choice(np.flatnonzero(taken == 0) if (taken == 0).any() else np.flatnonzero(taken < MAX_TAKEN), PAIRS)
    _, first_out = np.unique(out, return_index=True)
    keep = np.intersect1d(first_out, np.unique(into, return_index=True)[1])
    out, into = out[keep], into[keep]
    change = phi[into] - phi[out]  # (pairs, numbers)
    spread = change.T @ change / len(change)
    gain = -(change @ np.linalg.pinv(spread, rcond=1e-9) @ off)
    order = np.argsort(-gain)
    path = off[None, :] + np.cumsum(change[order], axis=0)
    count = int(np.argmin((path**2).sum(1))) + 1
    if (path[count - 1] ** 2).sum() >= (off**2).sum():
        return taken
    moved = taken.copy()
    moved[out[order[:count]]] -= 1
    moved[into[order[:count]]] += 1
    return moved

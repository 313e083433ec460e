"""Rows selected from a pool so that the table itself has the statistics; no row is edited.

The method is calibration weighting (Deville & Sarndal, Journal of the American Statistical Association 1992) with the
multiplicative distance, also called raking: the weights nearest to even ones in relative entropy with which the pool
has all numbers wanted,

    w_i proportional to exp(sum_j d_j phi_j(row_i)),

where `phi_j` is the influence function of number `j`, found by Newton's method. Rows are selected by these weights by
systematic sampling (Madow, Annals of Mathematical Statistics 1949), each a few times at most, and then some are swapped
for others of the pool until the numbers of the selected rows are within their tolerances too. The effective sample size
reported is Kish's, `1 / sum_i w_i^2`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan

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


@dataclass(frozen=True, slots=True)
class CalibrationSettings:
    """When the search for weights and the exchange of rows end."""

    newton_steps: int = 60
    accuracy: float = 0.02  # tolerances from the aim at which Newton's method ends
    max_step_nats: float = 0.5  # relative entropy of one step
    max_log_step: float = 1.0  # change of the logarithm of a row's weight in one step
    max_copies: int = 3  # of one row of the pool in the table
    corrections: int = 4  # times the weights are solved for again
    exchange_rounds: int = 60
    pairs_per_round: int = 4_096  # exchanges considered
    final_share: float = 0.25  # of the way from the aim to the bounds, within which exchanging rows ends


CALIBRATION_SETTINGS = CalibrationSettings()


@dataclass(frozen=True, slots=True)
class Calibration:
    """How rows were selected."""

    rows: int  # selected
    pool: int  # rows selected from
    effective: float  # sample size of the weighted pool, in rows
    most_taken: int  # how often the most frequent row was selected
    off: float  # the worst number, in tolerances out of its bounds

    def joined(self, other: Calibration) -> Calibration:
        """Both selections as one."""
        return Calibration(
            self.rows + other.rows,
            self.pool + other.pool,
            self.effective + other.effective,
            max(self.most_taken, other.most_taken),
            max(self.off, other.off),
        )


def calibrate(
    pool: Table,
    targets: Sequence[Targets],
    schema: Schema,
    rows: int,
    *,
    total: int,
    seed: int,
    settings: CalibrationSettings = CALIBRATION_SETTINGS,
) -> tuple[IntArray, Calibration]:
    """The rows of the pool to select, in random order; `total` is the number of rows of the whole table."""
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, rows, pool.rows])))
    numbers = _Numbers(pool, schema, total)
    even = torch.full((pool.rows,), 1.0 / pool.rows, dtype=torch.float64)

    def violated(target: Target, weights: Tensor) -> float:
        return violation(target, float(numbers.value(target.value, weights)))

    wanted = [target for part in targets for target in nearest_targets(part, lambda target: violated(target, even))]
    reachable = [target for target in wanted if isfinite(float(numbers.value(target.value, even)))]
    aimed, weights = reachable, even
    for _ in range(settings.corrections):
        weights = _solve_weights(aimed, numbers, weights, settings)
        copies = _exchange(_select(weights, rows, rng, settings), reachable, numbers, rng, settings)
        share = torch.as_tensor(copies / rows)
        if all(violated(target, share) == 0.0 for target in reachable):
            break
        # Some statistics of few rows differ from those of many: information and entropy seem higher, say.
        aimed = [_corrected(target, numbers, weights, _select(weights, rows, rng, settings)) for target in reachable]
    selected = np.repeat(np.arange(pool.rows), copies)
    off = max((violated(target, share) for target in wanted), default=0.0)
    effective = float(1.0 / (weights**2).sum())
    facts = Calibration(rows, pool.rows, effective, int(copies.max()), off)
    return rng.permutation(selected), facts


class _Numbers:
    """The quantities of a table's rows, at any weights."""

    def __init__(self, table: Table, schema: Schema, total: int) -> None:
        self._table, self._schema, self._total = table, schema, total
        self._at: dict[Statistic, Callable[[Tensor], Tensor]] = {}

    def value(self, quantity: Quantity, weights: Tensor) -> Tensor:
        """A quantity of the rows with these weights, which sum to one."""
        value: Tensor = relaxed.value(
            quantity,
            lambda number: torch.tensor(number, dtype=torch.float64),
            lambda stat: self._statistic(stat)(weights),
        )
        return value

    def influence(self, target: Target, weights: Tensor) -> tuple[float, Tensor]:
        """A number, and its influence function: how it changes with the weight of each row, in tolerances; centred."""
        at = weights.detach().clone().requires_grad_()
        value = self.value(target.value, at)
        if not bool(torch.isfinite(value)) or not any(statistics_of(target.value)):
            return float(value.detach()), torch.zeros_like(weights)
        (value / target.unit).backward()  # type: ignore[no-untyped-call]
        assert at.grad is not None
        return float(value.detach()), at.grad - (at.grad * weights).sum()

    def _statistic(self, stat: Statistic) -> Callable[[Tensor], Tensor]:
        if stat not in self._at:
            self._at[stat] = self._prepared(stat)
        return self._at[stat]

    def _prepared(self, stat: Statistic) -> Callable[[Tensor], Tensor]:
        """The statistic at any weights of the rows; equal rows are one cell of it."""
        prepared = exact.merged(exact.prepare(stat, self._table, self._schema))
        rows = slice(None) if prepared.rows is None else torch.as_tensor(np.flatnonzero(prepared.rows))
        cells = None if prepared.cells is None else torch.as_tensor(prepared.cells)
        values = [torch.as_tensor(numbers) for numbers in prepared.values]

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


def _corrected(target: Target, numbers: _Numbers, weights: Tensor, copies: IntArray) -> Target:
    """The target for the pool with which rows selected from it meet the given one: shifted by the bias of few rows."""
    share = torch.as_tensor(copies / copies.sum())
    bias = float(numbers.value(target.value, share)) - float(numbers.value(target.value, weights))
    return replace(target, low=target.low - bias, high=target.high - bias) if isfinite(bias) else target


# --- weights


def _solve_weights(
    targets: Sequence[Target], numbers: _Numbers, start: Tensor, settings: CalibrationSettings
) -> Tensor:
    """The weights nearest to the given ones with which the rows have all numbers wanted.

    Each step of Newton's method is short for every row: a long one would meet a number of a small group by making the
    group larger. Where no weights give these numbers, the nearest ones that were passed are taken.
    """
    weights = best = start
    least = np.inf
    pushed = np.zeros(len(targets))
    for _ in range(settings.newton_steps):
        influences = [numbers.influence(target, weights) for target in targets]
        off = np.array([target.off(value) for target, (value, _) in zip(targets, influences, strict=True)])
        if (worst := float(np.abs(np.nan_to_num(off, nan=np.inf)).max(initial=0.0))) < least:
            best, least = weights, worst
        active = np.flatnonzero(np.isfinite(off) & ((np.abs(off) > settings.accuracy) | (pushed != 0)) & (off != 0))
        if not len(active) or np.abs(off[active]).max() <= settings.accuracy:
            break
        phi = torch.stack([influences[j][1] for j in active], 1)  # (rows, active)
        covariance = phi.T @ (phi * weights[:, None])
        if not bool(torch.isfinite(covariance).all()):
            break
        step = -torch.linalg.pinv(covariance, rtol=1e-9) @ torch.as_tensor(off[active])
        nats, longest = 0.5 * float(step @ covariance @ step), float((phi @ step).abs().max())
        length = min(
            1.0, (settings.max_step_nats / max(nats, 1e-300)) ** 0.5, settings.max_log_step / max(longest, 1e-300)
        )
        step = length * step
        pushed[active] += step.numpy()
        weights = torch.softmax(weights.log() + phi @ step, 0)
    return best


# --- rows


def _select(weights: Tensor, rows: int, rng: np.random.Generator, settings: CalibrationSettings) -> IntArray:
    """How often each row is selected: systematic sampling by weight, in random order, at most `max_copies` times."""
    limit = settings.max_copies
    expected: Floats = np.maximum(weights.numpy() * rows, 1e-12)  # rows without weight come last
    full = np.zeros(len(expected), dtype=np.bool_)
    while ((expected > limit) & ~full).any():
        full |= expected > limit
        left = rows - limit * full.sum()
        expected = np.where(full, limit, expected * left / max(expected[~full].sum(), 1e-300))
    order = rng.permutation(len(expected))
    ends = np.floor(np.cumsum(expected[order]) / expected.sum() * rows + rng.random() + 1e-9).astype(np.int64)
    ends[-1] = max(ends[-1], rows)
    counts = np.diff(np.minimum(ends, rows), prepend=0)
    copies = np.empty(len(expected), dtype=np.int64)
    copies[order] = counts
    return copies


def _exchange(
    copies: IntArray,
    targets: Sequence[Target],
    numbers: _Numbers,
    rng: np.random.Generator,
    settings: CalibrationSettings,
) -> IntArray:
    """The selection with some rows exchanged for others of the pool, until every number is well within its bounds."""
    rows = int(copies.sum())
    best, best_off = copies, np.inf
    for _ in range(settings.exchange_rounds):
        share = torch.as_tensor(copies / rows)
        influences = [numbers.influence(target, share) for target in targets]
        off = np.array([target.off(value) for target, (value, _) in zip(targets, influences, strict=True)])
        room = np.array([max(target.room, 1e-3) for target in targets])
        worst = float((np.abs(off) / room).max(initial=0.0))
        if worst < best_off:
            best, best_off = copies, worst
        if worst <= settings.final_share or not np.isfinite(worst):
            break
        phi = torch.stack([influence for _, influence in influences], 1).numpy() / room / rows
        copies = _exchange_round(copies, off / room, phi, rng, settings)
    return best


def _exchange_round(
    copies: IntArray, off: Floats, phi: Floats, rng: np.random.Generator, settings: CalibrationSettings
) -> IntArray:
    """The selection after the exchanges, of pairs chosen at random, that together bring all numbers nearest to their
    aims: the pairs are sorted by their linear gain, and the best leading part of that order is exchanged."""
    pairs = settings.pairs_per_round
    absent = copies == 0
    out = rng.choice(np.flatnonzero(copies > 0), pairs)
    into = rng.choice(np.flatnonzero(absent if absent.any() else copies < settings.max_copies), pairs)
    _, first_out = np.unique(out, return_index=True)
    keep = np.intersect1d(first_out, np.unique(into, return_index=True)[1])
    out, into = out[keep], into[keep]
    change = phi[into] - phi[out]  # (pairs, numbers)
    covariance = change.T @ change / len(change)
    gain = -(change @ np.linalg.pinv(covariance, rcond=1e-9) @ off)
    order = np.argsort(-gain)
    path = off[None, :] + np.cumsum(change[order], axis=0)
    count = int(np.argmin((path**2).sum(1))) + 1
    if (path[count - 1] ** 2).sum() >= (off**2).sum():
        return copies
    exchanged = copies.copy()
    exchanged[out[order[:count]]] -= 1
    exchanged[into[order[:count]]] += 1
    return exchanged

"""Goals met by training: the distance to the counts, plus what every goal wants.

For what has no closed form, and for comparison with the paper. Weights are automatic (`model/controller.py`) unless a
command states one, which is then the paper's. The best mixture that meets all goals is kept; if none did, the one
nearest to that. All of several goals is the sum of their violations, any of them is the product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import inf, sqrt
from operator import mul
from time import process_time
from typing import assert_never

import numpy as np
import torch
from torch import Tensor

from cuts.count.marginals import Marginals
from cuts.data.table import Floats, IntArray
from cuts.lang.targets import AllTargets, AnyTarget, Target, Targets
from cuts.model.cells import Statistics
from cuts.model.controller import Controller
from cuts.model.device import find_device, find_threads, use_threads
from cuts.model.fit import train
from cuts.model.mixture import Mixture, gram
from cuts.model.objective import Objective
from cuts.model.shape import Refit
from cuts.model.table import TableBackbone, table_of

STEPS, RATE = 300, 0.05
MEASURE_EVERY = 10  # steps between two looks at the gradients' sizes
WELL_INSIDE = 0.5  # of the way from the aim to the bounds
PRECISION = 10**9  # rows a model's own marginals are counted as


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """How far a mixture is from what a command wants: in tolerances, and as the paper counts it where a weight is
    stated."""

    violation: Callable[[Mixture], Tensor]
    paper: Callable[[Mixture], Tensor]
    weight: float | None = None


def want_term(want: Targets, stats: Statistics, weight: float | None = None) -> Term:
    """The term of numbers that are wanted."""
    return Term(lambda mix: _violation(want, mix, stats), lambda mix: _paper_violation(want, mix, stats), weight)


@dataclass(frozen=True, slots=True, eq=False)
class Finetuned:
    """A mixture after training towards goals, and how far from each it ended, in tolerances."""

    mixture: Mixture
    error: float
    off: tuple[float, ...]
    cpu_seconds: float


def finetune(mix: Mixture, terms: Sequence[Term], again: Refit, *, steps: int = STEPS, rate: float = RATE) -> Finetuned:
    """The mixture trained towards what the terms want, from where it is; what it rules out stays ruled out."""
    began = process_time()
    config = again.config
    device = find_device(config.device)
    with use_threads(find_threads(config.threads, mix.components * sum(again.marginals.sizes.values()) ** 2)):
        backbone = table_of(mix, device)
        objective = Objective(again.marginals, again.label, slices=config.slices, seed=again.seed, device=device)
        pursuit = _Pursuit(terms, objective, backbone, again.marginals)
        train(backbone, pursuit.loss, min(config.steps, steps), rate, seen=again.seen)
        pursuit.look(backbone.mixture())
        return Finetuned(pursuit.best, pursuit.best_error, pursuit.best_off, process_time() - began)


def own_marginals(mix: Mixture, counts: Marginals, label: str | None) -> Marginals:
    """The marginals of a mixture itself in place of counted ones: with the label all triples, else all pairs."""
    others = [name for name in mix.columns if name != label or len(mix.columns) <= 2]
    sizes = [mix[name].shape[1] for name in others]
    starts = np.cumsum([0, *sizes])
    X = torch.cat([mix[name] for name in others], 1)
    slices = [mix.w] if len(others) == len(mix.columns) else [mix.w * p for p in mix[label or ""].T]
    grams = [gram(X, d).numpy() for d in slices]
    tables = {}
    for i, a in enumerate(others):
        for j in range(i + 1, len(others)):
            block = [each[starts[i] : starts[i + 1], starts[j] : starts[j + 1]] for each in grams]
            names = (a, others[j]) if len(slices) == 1 else (a, others[j], label or "")
            table = block[0] if len(slices) == 1 else np.stack(block, -1)
            order = tuple(name for name in mix.columns if name in names)
            tables[order] = _counted(np.moveaxis(table, [names.index(name) for name in order], range(len(order))))
    if not tables:
        (name,) = others
        tables[(name,)] = _counted((mix.w @ mix[name]).numpy())
    return Marginals(counts.sizes, tables, PRECISION, counts.codec)


def _counted(share: Floats) -> IntArray:
    """Shares as counts of so many rows that rounding does not matter."""
    counts: IntArray = np.rint(share / share.sum() * PRECISION).astype(np.int64)
    counts.flat[counts.argmax()] += PRECISION - counts.sum()
    return counts


class _Pursuit:
    """The loss of a fit towards goals, and the best mixture it has seen."""

    def __init__(
        self,
        terms: Sequence[Term],
        objective: Objective,
        backbone: TableBackbone,
        marginals: Marginals,
    ) -> None:
        self._terms, self._objective, self._backbone = terms, objective, backbone
        self._controller = Controller(len(terms))
        # The paper divides the distance of every table by its cells and takes the mean: small tables decide.
        self._cells = 1.0 / float(np.mean([1.0 / table.size for table in marginals.tables.values()]))
        self._sizes = [1.0] * (len(terms) + 1)  # of the gradients: the fit's, and each term's
        self._steps = 0
        self.best: Mixture = backbone.settle()
        self.best_off: tuple[float, ...] = (inf,) * len(terms)
        self.best_error = inf
        self._best_loss = inf

    def loss(self, mix: Mixture) -> tuple[Tensor, Tensor]:
        """The loss of a mixture, and its distance to the counts."""
        base, error = self._objective.loss(mix)
        off = [term.violation(mix) for term in self._terms]
        if self._steps % MEASURE_EVERY == 0:
            self._sizes = [_size(each, self._backbone) for each in (base, *off)]
            self._keep(mix, off, float(base.detach()), float(error))
        self._steps += 1
        weights = self._controller.weigh([float(each.detach()) for each in off])
        total = base
        for term, violation, weight, size in zip(self._terms, off, weights, self._sizes[1:], strict=True):
            if term.weight is not None:
                total = total + term.weight * self._cells * term.paper(mix).float()
            elif size > 0 and weight > 0:
                total = total + weight * self._sizes[0] / size * violation.float()
        return total, error

    def look(self, mix: Mixture) -> None:
        """Look at the last mixture as well."""
        base, error = self._objective.loss(mix)
        self._keep(mix, [term.violation(mix) for term in self._terms], float(base.detach()), float(error))

    def _keep(self, mix: Mixture, off: Sequence[Tensor], loss: float, error: float) -> None:
        """Keep a mixture that is better than the best so far: goals first, then the fit."""
        found = tuple(float(each.detach()) for each in off)
        if self._terms and all(term.weight is not None for term in self._terms):
            better = True  # a stated weight says what the best is: where it leads
        else:
            now, best = sum(found), sum(self.best_off)
            better = now < best if now > 0 or best > 0 else loss < self._best_loss
        if better:
            self.best, self.best_off, self._best_loss, self.best_error = self._backbone.settle(), found, loss, error


def _violation(want: Targets, mix: Mixture, stats: Statistics) -> Tensor:
    """How far a mixture is from what is wanted, in tolerances; undefined numbers have no direction to go."""
    match want:
        case Target():
            value = stats.value(want.value, mix)
            if not bool(torch.isfinite(value)):
                return torch.tensor(1.0, dtype=torch.float64)
            low, high = want.aim
            room = WELL_INSIDE * (high - want.low if low == high else 0.0)
            return (torch.relu(low - room - value) + torch.relu(value - high - room)) / want.unit
        case AllTargets(parts):
            return sum((_violation(part, mix, stats) for part in parts), torch.zeros((), dtype=torch.float64))
        case AnyTarget(parts):
            return reduce(mul, (_violation(part, mix, stats) for part in parts))
        case _:
            assert_never(want)


def _paper_violation(want: Targets, mix: Mixture, stats: Statistics) -> Tensor:
    """The same in the statistics' own units: the square of what an equality is off, else by how much it is."""
    match want:
        case Target(quantity, low, high):
            value = stats.value(quantity, mix)
            if low > -inf and high < inf:
                return (value - (low + high) / 2) ** 2
            return torch.relu(low - value) if low > -inf else torch.relu(value - high)
        case AllTargets(parts):
            return sum((_paper_violation(part, mix, stats) for part in parts), torch.zeros((), dtype=torch.float64))
        case AnyTarget(parts):
            return reduce(mul, (_paper_violation(part, mix, stats) for part in parts))
        case _:
            assert_never(want)


def _size(value: Tensor, backbone: TableBackbone) -> float:
    """The length of a gradient."""
    if not value.requires_grad:
        return 0.0
    found = torch.autograd.grad(value, backbone.parameters(), retain_graph=True, allow_unused=True)
    squares = [float((each.double() ** 2).sum()) for each in found if each is not None]
    return sqrt(sum(squares))

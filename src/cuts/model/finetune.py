"""Goals met by training: the distance to the counts plus a weight times the violation of every goal.

This is the fine-tuning objective of CuTS (Vero et al., ICML 2024, sec. 4.1, eq. 1),

    loss = distance to the counts + sum_i lambda_i * violation_i,

used for what has no closed form, and for comparison with the paper. Weights are automatic, see
`model/automatic_weights.py`, unless a command states its `lambda`. As in DL2 (Fischer et al., ICML 2019), which the
paper uses, the violation of several goals together is the sum of theirs, and that of alternatives is the product. The
best mixture that meets all goals is kept; if none did, the one nearest to that.
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
from cuts.lang.targets import AllTargets, AnyTarget, Target, Targets
from cuts.model.automatic_weights import CONTROLLER_SETTINGS, WeightController, WeightControllerSettings
from cuts.model.backbones.table import TableBackbone, table_of
from cuts.model.cells import Statistics
from cuts.model.device import find_device, find_threads, use_threads
from cuts.model.fit import train
from cuts.model.mixture import Mixture
from cuts.model.objective import Loss
from cuts.model.shape import Refit


@dataclass(frozen=True, slots=True)
class FinetuneSettings:
    """How long and how fast to train towards goals."""

    max_steps: int = 300
    learning_rate: float = 0.05
    measure_every_steps: int = 10  # how often the lengths of the gradients are measured and the mixture is judged
    controller: WeightControllerSettings = CONTROLLER_SETTINGS


FINETUNE_SETTINGS = FinetuneSettings()
FREE_SHARE = 0.5  # of the way from the aim to the bounds, within which a number does not pull


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """How far a mixture is from what one command asks for."""

    violation: Callable[[Mixture], Tensor]  # in tolerances
    paper: Callable[[Mixture], Tensor]  # in the statistic's own unit, as the paper counts it; used with a weight
    weight: float | None = None  # the paper's lambda, if the command states one


def want_term(targets: Targets, stats: Statistics, weight: float | None = None) -> Term:
    """The term of numbers with targets."""
    return Term(lambda mix: _violation(targets, mix, stats), lambda mix: paper_violation(targets, mix, stats), weight)


@dataclass(frozen=True, slots=True, eq=False)
class Finetuned:
    """A mixture after training towards goals, and its violation of each, in tolerances."""

    mixture: Mixture
    error: float
    off: tuple[float, ...]
    cpu_seconds: float


def finetune(
    mix: Mixture, terms: Sequence[Term], refit: Refit, *, settings: FinetuneSettings = FINETUNE_SETTINGS
) -> Finetuned:
    """The mixture trained towards the goals of the terms, from where it is; what it rules out stays ruled out."""
    start_time = process_time()
    config = refit.config
    device = find_device(config.device)
    with use_threads(find_threads(config.threads, mix.components * sum(refit.marginals.sizes.values()) ** 2)):
        backbone = table_of(mix, device, smoothing=refit.smoothing)
        pursuit = _Pursuit(terms, refit.loss(device), backbone, refit.marginals, settings)
        steps = min(config.steps, settings.max_steps)
        train(backbone, pursuit.loss, steps, settings.learning_rate, seen=refit.seen)
        pursuit.judge(backbone.mixture())
        return Finetuned(pursuit.best, pursuit.best_error, pursuit.best_off, process_time() - start_time)


class _Pursuit:
    """The loss of a fit towards goals, and the best mixture it has seen."""

    def __init__(
        self,
        terms: Sequence[Term],
        tables: Loss,
        backbone: TableBackbone,
        marginals: Marginals,
        settings: FinetuneSettings,
    ) -> None:
        self._terms, self._tables, self._backbone, self._settings = terms, tables, backbone, settings
        self._controller = WeightController(len(terms), settings.controller)
        # The paper divides the distance of every table by its cells and takes the mean: small tables decide.
        self._cells = 1.0 / float(np.mean([1.0 / table.size for table in marginals.tables.values()]))
        self._lengths = [1.0] * (len(terms) + 1)  # of the gradients: that of the fit, then one per term
        self._steps = 0
        self.best: Mixture = backbone.settle()
        self.best_off: tuple[float, ...] = (inf,) * len(terms)
        self.best_error = inf
        self._best_loss = inf

    def loss(self, mix: Mixture) -> tuple[Tensor, Tensor]:
        """The loss of a mixture, and its distance to the counts."""
        base, error = self._tables(mix)
        off = [term.violation(mix) for term in self._terms]
        if self._steps % self._settings.measure_every_steps == 0:
            self._lengths = [_gradient_length(value, self._backbone) for value in (base, *off)]
            self._keep(mix, off, float(base.detach()), float(error))
        self._steps += 1
        weights = self._controller.weigh([float(violation.detach()) for violation in off])
        total = base
        for term, violation, weight, length in zip(self._terms, off, weights, self._lengths[1:], strict=True):
            if term.weight is not None:
                total = total + term.weight * self._cells * term.paper(mix).float()
            elif length > 0 and weight > 0:
                total = total + weight * self._lengths[0] / length * violation.float()
        return total, error

    def judge(self, mix: Mixture) -> None:
        """Keep a mixture if it is the best so far."""
        base, error = self._tables(mix)
        self._keep(mix, [term.violation(mix) for term in self._terms], float(base.detach()), float(error))

    def _keep(self, mix: Mixture, off: Sequence[Tensor], loss: float, error: float) -> None:
        """Keep a mixture that is better than the best so far: goals first, then the fit."""
        violations = tuple(float(violation.detach()) for violation in off)
        if self._terms and all(term.weight is not None for term in self._terms):
            better = True  # with stated weights the best mixture is where training leads
        else:
            now, best = sum(violations), sum(self.best_off)
            better = now < best if now > 0 or best > 0 else loss < self._best_loss
        if better:
            self.best, self.best_off = self._backbone.settle(), violations
            self._best_loss, self.best_error = loss, error


def _violation(targets: Targets, mix: Mixture, stats: Statistics) -> Tensor:
    """How far a mixture is from its targets, in tolerances; 1, without a gradient, where a number is undefined."""
    match targets:
        case Target():
            value = stats.value(targets.value, mix)
            if not bool(torch.isfinite(value)):
                return torch.tensor(1.0, dtype=torch.float64)
            low, high = targets.aim
            room = FREE_SHARE * (targets.room * targets.unit if low == high else 0.0)
            return (torch.relu(low - room - value) + torch.relu(value - high - room)) / targets.unit
        case AllTargets(parts):
            return sum((_violation(part, mix, stats) for part in parts), torch.zeros((), dtype=torch.float64))
        case AnyTarget(parts):
            return reduce(mul, (_violation(part, mix, stats) for part in parts))
        case _:
            assert_never(targets)


def paper_violation(targets: Targets, mix: Mixture, stats: Statistics) -> Tensor:
    """The same in the statistics' own units: the squared difference of an equality, the excess of an inequality."""
    match targets:
        case Target(quantity, low, high):
            value = stats.value(quantity, mix)
            if low > -inf and high < inf:
                return (value - (low + high) / 2) ** 2
            return torch.relu(low - value) if low > -inf else torch.relu(value - high)
        case AllTargets(parts):
            return sum((paper_violation(part, mix, stats) for part in parts), torch.zeros((), dtype=torch.float64))
        case AnyTarget(parts):
            return reduce(mul, (paper_violation(part, mix, stats) for part in parts))
        case _:
            assert_never(targets)


def _gradient_length(value: Tensor, backbone: TableBackbone) -> float:
    """The Euclidean length of the gradient of a value with respect to the parameters."""
    if not value.requires_grad:
        return 0.0
    gradients = torch.autograd.grad(value, backbone.parameters(), retain_graph=True, allow_unused=True)
    squares = [float((gradient.double() ** 2).sum()) for gradient in gradients if gradient is not None]
    return sqrt(sum(squares))

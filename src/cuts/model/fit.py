"""Fitting a mixture to counts.

Adam with a warm-up; the rate stays until the error no longer falls, then goes down to zero along a cosine. The rows are
not needed: everything is read off the marginals, whether exact or noisy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, isqrt, pi
from time import process_time
from typing import TypeAlias

import torch

from cuts.config import Config
from cuts.count.marginals import Marginals
from cuts.model.backbone import Backbone, Start, make_backbone
from cuts.model.device import find_device, find_threads, use_threads
from cuts.model.mixture import Mixture
from cuts.model.objective import Objective, one_way
from cuts.progress import FitStep

Loss: TypeAlias = Callable[[Mixture], tuple[torch.Tensor, torch.Tensor]]

WARM_UP = 20
LOOK_EVERY = 25  # steps between two looks at the error
PATIENCE = 300  # steps without a new lowest error, after which the rate goes down
TAIL = 0.5  # of all steps, in which the rate goes down


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A mixture, and how the fit went."""

    mixture: Mixture
    error: float  # mean total variation of the tables fitted to
    steps: int
    cpu_seconds: float


def fit(
    marginals: Marginals,
    label: str | None,
    config: Config,
    *,
    seed: int,
    smoothing: float = 0.0,
    seen: Callable[[FitStep], None] | None = None,
) -> Fitted:
    """The mixture nearest to the counts; `seen` is told the progress now and then."""
    began = process_time()
    device = find_device(config.device)
    K = components(marginals.rows, config)
    with use_threads(find_threads(config.threads, K * sum(marginals.sizes.values()) ** 2)):
        start = Start(one_way(marginals), K, smoothing, seed, device, config)
        backbone = make_backbone(start)
        objective = Objective(marginals, label, slices=config.slices, seed=seed, device=device)
        rate = config.learning_rate or backbone.learning_rate
        error, steps = train(backbone, objective.loss, config.steps, rate, seen=seen)
        return Fitted(backbone.settle(), error, steps, process_time() - began)


def train(
    backbone: Backbone,
    loss: Loss,
    steps: int,
    rate: float,
    *,
    seen: Callable[[FitStep], None] | None = None,
) -> tuple[float, int]:
    """Lower a loss by changing the parameters of a backbone; the error at the end and the steps taken.

    The loss also tells the error, which decides when to stop.
    """
    optimiser = torch.optim.Adam(backbone.parameters(), lr=rate)
    schedule = Schedule(steps)
    error = 1.0
    while schedule.goes_on:
        optimiser.param_groups[0]["lr"] = rate * schedule.factor
        value, tv = loss(backbone.mixture())
        optimiser.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        error = schedule.advance(tv)
        if seen is not None and schedule.looks:
            seen(FitStep(schedule.step, schedule.steps, error))
    return error, schedule.step


def components(rows: int, config: Config) -> int:
    """How many components a table of that many rows gets: 6 sqrt(rows), from 100 to 1,000.

    >>> components(800, Config()), components(30_162, Config()), components(800, Config(components=7))
    (169, 1000, 7)
    """
    return config.components or min(max(isqrt(36 * rows), 100), 1000)


class Schedule:
    """The learning rate's factor step by step, and when to stop."""

    def __init__(self, steps: int) -> None:
        self.step = 0
        self.steps = steps
        self._tail = max(1, int(TAIL * steps))  # steps left when the rate begins to fall
        self._mean = torch.zeros(())
        self._seen: list[float] = []

    @property
    def goes_on(self) -> bool:
        """Whether there are steps left."""
        return self.step < self.steps

    @property
    def looks(self) -> bool:
        """Whether this step is one to report."""
        return self.step % LOOK_EVERY == 0 or self.step == self.steps

    @property
    def factor(self) -> float:
        """What the rate is multiplied with."""
        warm = min(1.0, (self.step + 1) / WARM_UP)
        left = (self.steps - self.step) / self._tail
        return warm if left >= 1.0 else warm * 0.5 * (1.0 - cos(pi * left))

    def advance(self, error: torch.Tensor) -> float:
        """Count a step with its error; the error averaged over the last steps."""
        self._mean = error if self.step == 0 else 0.9 * self._mean + 0.1 * error
        self.step += 1
        if not self.looks:
            return self._seen[-1] if self._seen else 1.0
        self._seen.append(float(self._mean))
        back = PATIENCE // LOOK_EVERY
        falling = self.steps - self.step <= self._tail
        if not falling and len(self._seen) > back and min(self._seen[-back:]) >= min(self._seen[:-back]):
            self._tail = max(1, min(int(self.step * TAIL / (1.0 - TAIL)), self.steps - self.step))
            self.steps = self.step + self._tail  # as if so many had been planned
        return self._seen[-1]

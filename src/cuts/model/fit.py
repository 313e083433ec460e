"""Fitting a mixture to counts by gradient descent.

The optimiser is Adam (Kingma & Ba, ICLR 2015). Its learning rate rises linearly during a warm-up, stays constant until
the error no longer falls, and then decays to zero along half a cosine (the annealing of Loshchilov & Hutter, ICLR 2017,
without restarts). The first part of the steps compares tables of counts only. If there are rows to find boxes in
(`model/box_trees.py`), a second part adds these, with a rate that decays again; without rows all steps are of the first
kind, and nothing but counts is read. A network that rows are drawn from is trained as in the paper instead: on its
marginals (`model/marginal_distance.py`), with a rate that decays over all steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import cos, isqrt, pi
from time import process_time

import torch
from torch import Tensor

from cuts.config import Config
from cuts.count.marginals import Marginals
from cuts.model.backbone import Backbone, Start, make_backbone
from cuts.model.backbones.generator import GeneratorBackbone
from cuts.model.box_counts import BoxCounts
from cuts.model.box_trees import BinnedRows, BoxedObjective
from cuts.model.device import find_device, find_threads, use_threads
from cuts.model.marginal_distance import MarginalTurns, label_distance
from cuts.model.mixture import Mixture
from cuts.model.network import Network
from cuts.model.objective import Loss, Objective, one_way
from cuts.model.targets import Groups
from cuts.progress import FitStep


@dataclass(frozen=True, slots=True)
class FitSettings:
    """How the learning rate changes and when a fit stops."""

    warm_up_steps: int = 20
    report_every_steps: int = 25  # how often the error is recorded and reported
    patience_steps: int = 300  # without a new lowest error, after which the rate decays
    decay_share: float = 0.5  # of all steps, the last ones, in which the rate decays
    box_step_share: float = 0.6  # of all steps, the last ones, that fit boxes too
    box_rate_share: float = 0.5  # of the learning rate, at which these steps begin


NEVER = 1_000_000_000  # steps
FIT_SETTINGS = FitSettings()
PAPER_SETTINGS = FitSettings(warm_up_steps=1, patience_steps=NEVER, decay_share=1.0)  # the rate is a cosine


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A mixture, and how the fit went."""

    mixture: Mixture
    error: float  # mean total variation distance over the pairs of columns, in [0, 1]
    steps: int
    cpu_seconds: float
    boxes: BoxCounts | None = None  # the latest that were fitted
    network: Network | None = None  # of a backbone that makes rows, which the mixture stands for


def fit(
    marginals: Marginals,
    label: str | None,
    config: Config,
    *,
    seed: int,
    smoothing: float = 0.0,
    groups: Groups | None = None,
    rows: BinnedRows | None = None,
    seen: Callable[[FitStep], None] | None = None,
    settings: FitSettings = FIT_SETTINGS,
) -> Fitted:
    """The mixture nearest to the counts, and to boxes of `rows`; `seen` is called with the progress every few steps."""
    start_time = process_time()
    device = find_device(config.device)
    K = components(marginals.rows, config)
    with use_threads(find_threads(config.threads, K * sum(marginals.sizes.values()) ** 2)):
        start = Start(one_way(marginals), K, smoothing, seed, device, config)
        backbone = make_backbone(start)
        if isinstance(backbone, GeneratorBackbone):
            distance, settings = label_distance(marginals, label, device=device), PAPER_SETTINGS
            tables, partners = MarginalTurns(distance, per_step=backbone.options.marginals, seed=seed).loss, None
        else:
            objective = Objective(marginals, label, groups=groups, slices=config.slices, seed=seed, device=device)
            tables, partners = objective.loss, objective.partners
        rate = config.learning_rate or backbone.learning_rate
        with_boxes = int(settings.box_step_share * config.steps) if rows is not None else 0
        tables_seen = _shifted(seen, 0, with_boxes)
        error, steps = train(backbone, tables, config.steps - with_boxes, rate, seen=tables_seen, settings=settings)
        boxes = None
        if rows is not None and with_boxes:
            boxed = BoxedObjective(tables, rows, label, seed=seed, partners=partners)
            schedule = replace(settings, decay_share=1.0, patience_steps=NEVER)
            rate *= settings.box_rate_share
            boxes_seen = _shifted(seen, steps, 0)
            error, more = train(backbone, boxed.loss, with_boxes, rate, seen=boxes_seen, settings=schedule)
            steps, boxes = steps + more, boxed.boxes
        mixture = backbone.settle()
        if partners:
            mixture = with_one_way(mixture, start.one_way)
        network = backbone.network.to("cpu") if isinstance(backbone, GeneratorBackbone) else None
        return Fitted(mixture, error, steps, process_time() - start_time, boxes, network)


def with_one_way(mix: Mixture, one_way: Mapping[str, Tensor], *, rounds: int = 20) -> Mixture:
    """The mixture moved a little so that every column is distributed as given, bins that it lacks excepted.

    Steps that compare some columns leave an error in each. Iterative proportional fitting (Deming & Stephan 1940) takes
    it away: `P[k, b]` is multiplied by the wanted share of bin `b` over the present one, then made to sum to one.
    """
    P = []
    for name, table in zip(mix.columns, mix.P, strict=True):
        wanted = one_way[name].to(table)
        for _ in range(rounds):
            scaled = table * (wanted / (mix.w @ table).clamp_min(1e-300))
            total = scaled.sum(1, keepdim=True)
            table = torch.where(total > 0, scaled / total, table)  # a component of bins without rows stays as it is
        P.append(table)
    return Mixture(mix.columns, mix.w, tuple(P))


def _shifted(seen: Callable[[FitStep], None] | None, before: int, after: int) -> Callable[[FitStep], None] | None:
    """`seen`, called with the steps before and after the reported ones included."""
    if seen is None:
        return None
    return lambda at: seen(FitStep(before + at.step, before + at.steps + after, at.error))


def train(
    backbone: Backbone,
    loss: Loss,
    steps: int,
    rate: float,
    *,
    seen: Callable[[FitStep], None] | None = None,
    settings: FitSettings = FIT_SETTINGS,
) -> tuple[float, int]:
    """The final error and the number of steps taken, after minimising a loss over the parameters of a backbone.

    `loss` returns the loss and the error of a mixture; the error decides when to stop.
    """
    parameters = backbone.parameters()
    is_fused = all(table.device.type == "cpu" for table in parameters)  # faster there for many small tables
    optimiser = torch.optim.Adam(parameters, lr=rate, fused=is_fused)
    schedule = Schedule(steps, settings)
    error = 1.0
    while schedule.has_steps_left:
        optimiser.param_groups[0]["lr"] = rate * schedule.factor
        value, tv = loss(backbone.mixture())
        optimiser.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        error = schedule.advance(tv)
        if seen is not None and schedule.is_reported:
            seen(FitStep(schedule.step, schedule.steps, error))
    return error, schedule.step


def components(rows: int, config: Config) -> int:
    """Number of components for a table of that many rows: 8 sqrt(rows), at least 100 and at most 1,000.

    >>> components(800, Config()), components(30_162, Config()), components(800, Config(components=7))
    (226, 1000, 7)
    """
    return config.components or min(max(isqrt(64 * rows), 100), 1000)


class Schedule:
    """The factor on the learning rate at every step, and when to stop."""

    def __init__(self, steps: int, settings: FitSettings = FIT_SETTINGS) -> None:
        self.step = 0
        self.steps = steps
        self._settings = settings
        self._decay_steps = max(1, int(settings.decay_share * steps))
        self._mean = torch.zeros(())
        self._errors: list[float] = []  # one per report

    @property
    def has_steps_left(self) -> bool:
        """Whether there are steps left."""
        return self.step < self.steps

    @property
    def is_reported(self) -> bool:
        """Whether the error of this step is recorded and reported."""
        return self.step % self._settings.report_every_steps == 0 or self.step == self.steps

    @property
    def factor(self) -> float:
        """The factor on the rate: `min(1, t / warm-up) * (1 - cos(pi * left)) / 2`, with `left` from 1 down to 0."""
        warm = min(1.0, (self.step + 1) / self._settings.warm_up_steps)
        left = (self.steps - self.step) / self._decay_steps
        return warm if left >= 1.0 else warm * 0.5 * (1.0 - cos(pi * left))

    def advance(self, error: torch.Tensor) -> float:
        """The running mean of the error as last recorded, after counting one more step."""
        self._mean = error if self.step == 0 else 0.9 * self._mean + 0.1 * error
        self.step += 1
        if not self.is_reported:
            return self._errors[-1] if self._errors else 1.0
        self._errors.append(float(self._mean))
        is_decaying = self.steps - self.step <= self._decay_steps
        if not is_decaying and self._has_stalled():
            share = self._settings.decay_share
            self._decay_steps = max(1, min(int(self.step * share / (1.0 - share)), self.steps - self.step))
            self.steps = self.step + self._decay_steps  # as if that many had been planned
        return self._errors[-1]

    def _has_stalled(self) -> bool:
        """Whether the error has had no new minimum for `patience_steps`."""
        reports = self._settings.patience_steps // self._settings.report_every_steps
        return len(self._errors) > reports and min(self._errors[-reports:]) >= min(self._errors[:-reports])

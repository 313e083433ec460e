"""A mixture fitted to noisy tables: the Gaussian likelihood of what was measured, and a prior that columns are alike.

Every cell counts by how exact it is, and negative cells stay negative: the fit is what denoises. The prior counts how
far the components are from the columns' own distributions, so what the tables do not tell stays independent. The
mixture is over groups of bins, the ones tables were measured in; inside a group the bins follow the column's own table.
All here is a function of a transcript and a seed; the rows are not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import cos, pi
from time import process_time

import numpy as np
import torch
from torch import Tensor

from cuts.config import Config
from cuts.count.cover import Clique
from cuts.data.refine import Split
from cuts.data.table import Floats
from cuts.model.backbone import Backbone, Start, make_backbone
from cuts.model.device import find_device, find_threads, use_threads
from cuts.model.fit import FIT_SETTINGS, Fitted
from cuts.model.mixture import Mixture, marginal, split
from cuts.privacy.query import Owners, Query
from cuts.privacy.transcript import Measurement, Transcript, count_estimate
from cuts.progress import FitStep

ROUND_COMPONENTS, COMPONENTS = 200, 500  # while tables are measured, in the end
SPREAD = 0.5  # of the logits at the start
RATE = 0.05  # of the table backbone
FIRST_STEPS, ROUND_STEPS = 200, 50  # in the loop
ROUND_PRIOR, PRIOR = 0.01, 0.015  # strength, times the rows


@dataclass(frozen=True, slots=True, eq=False)
class TargetTable:
    """A table as it was measured, once or more often: shares of the rows, and how exact each cell is."""

    clique: Clique
    shares: Tensor  # one axis a column, flat over all but the last
    exactness: Tensor  # of the same shape, or of none; the inverse variance of a share


class _Misfit(torch.autograd.Function):
    """`sum exactness * (table - shares)^2 / 2` over all targets; its gradient is made on the way."""

    @staticmethod
    def forward(ctx, targets, columns, w, *P):  # type: ignore[no-untyped-def]
        at = dict(zip(columns, P, strict=True))
        grads = {name: torch.zeros_like(p) for name, p in at.items()}
        dw, value = torch.zeros_like(w), w.new_zeros(())
        heavy = {name: w[:, None] * p for name, p in at.items()}
        for target in targets:
            *first, last = target.clique
            joint = heavy[first[0]] if first else w[:, None]  # (K, cells but those of the last column)
            if len(first) == 2:
                joint = (joint[:, :, None] * at[first[1]][:, None, :]).flatten(1)
            off = joint.T @ at[last] - target.shares
            pull = off * target.exactness
            value += (off * pull).sum() / 2
            grads[last] += joint @ pull
            back = at[last] @ pull.T  # (K, cells but those of the last column)
            if len(first) == 2:
                back = back.reshape(len(w), at[first[0]].shape[1], -1)
                grads[first[1]] += torch.bmm(heavy[first[0]][:, None, :], back)[:, 0]
                back = torch.bmm(back, at[first[1]][:, :, None])[:, :, 0]
            if first:
                grads[first[0]] += back * w[:, None]
                dw += (back * at[first[0]]).sum(1)
            else:
                dw += back[:, 0]
        ctx.save_for_backward(dw, *(grads[name] for name in columns))
        return value

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        return None, None, *(grad * each for each in ctx.saved_tensors)


class NoisyObjective:
    """The loss of a mixture against measurements: their negative log-likelihood and that of the prior.

    The prior of a column is `prior * rows * sum_k w_k KL(P[k] || own distribution)`; one column may be spared it.
    """

    def __init__(
        self,
        measurements: Sequence[Measurement],
        groups: Mapping[str, Owners],
        *,
        prior: float,
        spared: str | None = None,
        device: str = "cpu",
    ) -> None:
        self._rows = max(1.0, count_estimate(measurements))
        self._targets = _targets(measurements, groups, self._rows, device)
        self._prior = prior * self._rows
        self._logs = {
            name: torch.as_tensor(own, dtype=torch.float32, device=device).log()
            for name, own in own_shares(measurements, groups).items()
            if name != spared
        }
        self._cells = sum(target.shares.numel() for target in self._targets)

    def loss(self, mix: Mixture) -> tuple[Tensor, Tensor]:
        """The loss, and how far the tables are off beside the noise: about 1 when all that is left is noise."""
        misfit: Tensor = _Misfit.apply(self._targets, mix.columns, mix.w, *mix.P)  # type: ignore[no-untyped-call]
        apart = sum((mix[name] * (mix[name].clamp_min(1e-30).log() - own)).sum(1) for name, own in self._logs.items())
        loss = misfit + self._prior * (mix.w * apart).sum()
        return loss, (2.0 * misfit.detach() / self._cells).sqrt()


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """A model of the measurements so far, over groups, and what makes a better one of it."""

    backbone: Backbone
    mixture: Mixture

    def shares(self, query: Query) -> Floats:
        """How the rows fall on the cells of a histogram over groups."""
        found: Floats = marginal(self.mixture, query.clique).numpy()
        return found


@dataclass(frozen=True, slots=True)
class NoisyLearner:
    """Learns round by round while tables are measured (`privacy.adaptive.Learner`)."""

    config: Config
    seed: int

    def __call__(
        self, measurements: Sequence[Measurement], groups: Mapping[str, Owners], before: Guess | None
    ) -> Guess:
        """A model of the measurements, going on from an earlier one."""
        device = find_device(self.config.device)
        components = min(ROUND_COMPONENTS, self.config.components or COMPONENTS)
        backbone = before.backbone if before else _start(measurements, groups, components, self.config, self.seed)
        objective = NoisyObjective(measurements, groups, prior=ROUND_PRIOR, device=device)
        with use_threads(find_threads(self.config.threads, 0)):
            descend(backbone, objective, FIRST_STEPS if before is None else ROUND_STEPS, _rate(self.config, backbone))
            return Guess(backbone, backbone.settle())


def fit_noisy(
    transcript: Transcript,
    label: str | None,
    config: Config,
    *,
    seed: int,
    seen: Callable[[FitStep], None] | None = None,
) -> Fitted:
    """The mixture of a transcript, over the bins of its codec: a fresh start, trained long."""
    began = process_time()
    measured, groups = transcript.measurements, groups_of(transcript)
    with use_threads(find_threads(config.threads, 0)):
        backbone = _start(measured, groups, config.components or COMPONENTS, config, seed + 1)
        objective = NoisyObjective(measured, groups, prior=PRIOR, spared=label, device=find_device(config.device))
        error = descend(backbone, objective, config.steps, _rate(config, backbone), cosine=True, seen=seen)
        mixture = split(backbone.settle(), _inside(measured, groups))
        return Fitted(mixture, error, config.steps, process_time() - began)


def descend(
    backbone: Backbone,
    objective: NoisyObjective,
    steps: int,
    rate: float,
    *,
    cosine: bool = False,
    seen: Callable[[FitStep], None] | None = None,
) -> float:
    """Lower the loss; how far the tables are off in the end, beside the noise."""
    optimiser = torch.optim.Adam(backbone.parameters(), lr=rate)
    error = torch.ones(())
    for step in range(1, steps + 1):
        if cosine:
            optimiser.param_groups[0]["lr"] = rate * 0.5 * (1.0 + cos(pi * (step - 1) / steps))
        value, error = objective.loss(backbone.mixture())
        optimiser.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if seen is not None and (step % FIT_SETTINGS.report_every_steps == 0 or step == steps):
            seen(FitStep(step, steps, float(error)))
    return float(error)


def groups_of(transcript: Transcript) -> dict[str, Owners]:
    """The groups tables were measured in; a column that was only measured bin by bin has its bins."""
    found: dict[str, Owners] = {}
    for measurement in transcript.measurements:
        for name, owner in zip(measurement.query.clique, measurement.query.owners, strict=True):
            found[name] = min(found.get(name, owner), owner, key=max)
    return found


def own_shares(measurements: Sequence[Measurement], groups: Mapping[str, Owners]) -> dict[str, Floats]:
    """Each column's own distribution over its groups."""
    return {name: _to_groups(own, groups[name]) for name, own in _singles(measurements).items()}


def _start(
    measurements: Sequence[Measurement], groups: Mapping[str, Owners], components: int, config: Config, seed: int
) -> Backbone:
    """A fresh backbone at the columns' own distributions."""
    shares = own_shares(measurements, groups)
    one_way = {name: torch.as_tensor(share, dtype=torch.float32) for name, share in shares.items()}
    device = find_device(config.device)
    return make_backbone(Start(one_way, components, config.smoothing or 0.0, seed, device, config, spread=SPREAD))


def _rate(config: Config, backbone: Backbone) -> float:
    return config.learning_rate or min(RATE, backbone.learning_rate)


def _singles(measurements: Sequence[Measurement]) -> dict[str, Floats]:
    """Each column's own distribution over its bins: all its measurements together, nothing below zero."""
    merged = _merged([each for each in measurements if len(each.query.clique) == 1])
    found = {}
    for query, (values, _) in merged.items():
        if len(query.owners[0]) == query.cells:
            known = _nearest(values, max(float(values.sum()), 1.0))
            found[query.clique[0]] = np.maximum(known, 1.0) / np.maximum(known, 1.0).sum()
    return found


def _nearest(values: Floats, total: float) -> Floats:
    """The nearest counts that are not negative and add up to a total."""
    falling = np.sort(values)[::-1]
    over = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    shift = over[np.flatnonzero(falling > over)[-1]]
    found: Floats = np.maximum(values - shift, 0.0)
    return found


def _inside(measurements: Sequence[Measurement], groups: Mapping[str, Owners]) -> dict[str, Split]:
    """How the probability of a group falls on its bins, for columns with groups."""
    found = {}
    for name, own in _singles(measurements).items():
        owner = np.array(groups[name])
        if len(set(groups[name])) < len(owner):
            found[name] = Split(owner, own / np.bincount(owner, own)[owner])
    return found


def _targets(
    measurements: Sequence[Measurement], groups: Mapping[str, Owners], rows: float, device: str
) -> list[TargetTable]:
    """What the mixture's tables over groups should be."""
    found = []
    for query, (values, exactness) in _merged(measurements).items():
        clique, shape, exact = query.clique, query.shape, np.full(query.cells, exactness)
        if len(clique) == 1 and query.owners[0] != groups[clique[0]]:  # a sum of cells has the sum of their variances
            owner = groups[clique[0]]
            values, exact, shape = _to_groups(values, owner), exactness / np.bincount(owner), (max(owner) + 1,)
        flat = (-1, shape[-1])
        shares = torch.as_tensor(values.reshape(flat) / rows, dtype=torch.float32, device=device)
        weights = torch.as_tensor(exact.reshape(flat) * rows**2, dtype=torch.float32, device=device)
        found.append(TargetTable(clique, shares, weights))
    return found


def _merged(measurements: Sequence[Measurement]) -> dict[Query, tuple[Floats, float]]:
    """Measurements of the same table as one: the mean by exactness, and the inverse variance of its cells."""
    found: dict[Query, tuple[Floats, float]] = {}
    for each in measurements:
        exactness = 1.0 / each.sigma**2
        values, before = found.get(each.query, (np.zeros(each.query.cells), 0.0))
        total = before + exactness
        found[each.query] = ((values * before + each.values.ravel() * exactness) / total, total)
    return found


def _to_groups(values: Floats, owner: Owners) -> Floats:
    return np.bincount(np.array(owner), values).astype(np.float64)

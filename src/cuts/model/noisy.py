"""A mixture fitted to noisy tables by maximum a posteriori estimation.

The likelihood is Gaussian: every cell counts by its precision, the inverse of its variance, and negative cells stay
negative, because the fit itself denoises. The prior is the Kullback-Leibler divergence of the components from the
columns' own distributions, so columns stay independent where no table says otherwise. The mixture is over the groups
of bins in which tables were measured; inside a group, bins follow the column's own table. Everything here is a function
of a transcript and a seed; no rows are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import comb, cos, inf, pi
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
from cuts.privacy.transcript import Measurement, Transcript, count_estimate, groups_of
from cuts.progress import FitStep


@dataclass(frozen=True, slots=True)
class NoisySettings:
    """How mixtures are fitted to noisy tables: small and quick while tables are selected, large and long at the end."""

    components: int = 500  # of the final mixture, where the configuration names no number
    prior_per_row: float = 0.015  # strength of the prior, per row
    label_prior_per_row: float = 0.03  # the same where most of the label's tables with two more columns were measured
    round_components: int = 200  # while tables are selected
    round_prior_per_row: float = 0.01
    first_steps: int = 200  # gradient steps before the first round
    round_steps: int = 50  # gradient steps per round
    max_round_learning_rate: float = 0.05
    initial_logit_scale: float = 0.5  # standard deviation of the logits at the start


DEFAULT_SETTINGS = NoisySettings()


@dataclass(frozen=True, slots=True, eq=False)
class TargetTables:
    """Tables of up to two columns, the same in all, with one more column each: measured shares and their precision."""

    first: Clique
    last: Clique
    shares: Tensor  # (cells of the first columns, bins of all last ones side by side)
    precision: Tensor  # of the same shape; the inverse variance of a share


class _Misfit(torch.autograd.Function):
    """`sum precision * (table - shares)^2 / 2` over all targets; the forward pass also computes the gradient."""

    @staticmethod
    def forward(ctx, targets, columns, w, *P):  # type: ignore[no-untyped-def]
        by_name = dict(zip(columns, P, strict=True))
        grads = {name: torch.zeros_like(p) for name, p in by_name.items()}
        dw, value = torch.zeros_like(w), w.new_zeros(())
        weighted = {name: w[:, None] * p for name, p in by_name.items()}
        for target in targets:
            first = target.first
            joint = weighted[first[0]] if first else w[:, None]  # (K, cells of the first columns)
            if len(first) == 2:
                joint = (joint[:, :, None] * by_name[first[1]][:, None, :]).flatten(1)
            last = torch.cat([by_name[name] for name in target.last], 1)
            residual = joint.T @ last - target.shares
            scaled = residual * target.precision
            value += (residual * scaled).sum() / 2
            parts = (joint @ scaled).split([by_name[name].shape[1] for name in target.last], 1)
            for name, part in zip(target.last, parts, strict=True):
                grads[name] += part
            back = last @ scaled.T  # (K, cells of the first columns)
            if len(first) == 2:
                back = back.reshape(len(w), by_name[first[0]].shape[1], -1)
                grads[first[1]] += torch.bmm(weighted[first[0]][:, None, :], back)[:, 0]
                back = torch.bmm(back, by_name[first[1]][:, :, None])[:, :, 0]
            if first:
                grads[first[0]] += back * w[:, None]
                dw += (back * by_name[first[0]]).sum(1)
            else:
                dw += back[:, 0]
        ctx.save_for_backward(dw, *(grads[name] for name in columns))
        return value

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        return None, None, *(grad * saved for saved in ctx.saved_tensors)


class NoisyObjective:
    """The negative log-posterior of a mixture given measurements.

    The prior of a column is `prior * rows * sum_k w_k KL(P[k] || own distribution)`; one column may be exempt from it.
    """

    def __init__(
        self,
        measurements: Sequence[Measurement],
        groups: Mapping[str, Owners],
        *,
        prior: float,
        exempt: str | None = None,
        device: str = "cpu",
    ) -> None:
        self._rows = max(1.0, count_estimate(measurements))
        self._targets = _targets(measurements, groups, self._rows, device)
        self._prior = prior * self._rows
        self._logs = {
            name: torch.as_tensor(own, dtype=torch.float32, device=device).log()
            for name, own in own_shares(measurements, groups).items()
            if name != exempt
        }
        self._cells = sum(target.shares.numel() for target in self._targets)

    def loss(self, mix: Mixture) -> tuple[Tensor, Tensor]:
        """The loss, and the root mean square residual in units of the noise: about 1 when only noise is left."""
        misfit: Tensor = _Misfit.apply(self._targets, mix.columns, mix.w, *mix.P)  # type: ignore[no-untyped-call]
        divergence = sum(
            (mix[name] * (mix[name].clamp_min(1e-30).log() - own)).sum(1) for name, own in self._logs.items()
        )
        loss = misfit + self._prior * (mix.w * divergence).sum()
        return loss, (2.0 * misfit.detach() / self._cells).sqrt()


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """A model of the measurements so far, over groups, and the backbone from which the next fit continues."""

    backbone: Backbone
    mixture: Mixture

    def shares(self, query: Query) -> Floats:
        """The share of the rows in each cell of a histogram over groups."""
        table: Floats = marginal(self.mixture, query.clique).numpy()
        return table


@dataclass(frozen=True, slots=True)
class NoisyLearner:
    """Learns round by round while tables are measured (`privacy.adaptive.Learner`)."""

    config: Config
    seed: int
    settings: NoisySettings = DEFAULT_SETTINGS

    def __call__(
        self, measurements: Sequence[Measurement], groups: Mapping[str, Owners], before: Guess | None
    ) -> Guess:
        """A model of the measurements, continuing from an earlier one."""
        config, settings = self.config, self.settings
        backbone = before.backbone if before else self._start(measurements, groups)
        steps = settings.round_steps if before else settings.first_steps
        device = find_device(config.device)
        objective = NoisyObjective(measurements, groups, prior=settings.round_prior_per_row, device=device)
        with use_threads(find_threads(config.threads, 0)):
            rate = _learning_rate(config, backbone, settings.max_round_learning_rate)
            descend(backbone, objective, steps, rate)
            return Guess(backbone, backbone.settle())

    def _start(self, measurements: Sequence[Measurement], groups: Mapping[str, Owners]) -> Backbone:
        components = min(self.settings.round_components, self.config.components or self.settings.components)
        return _start(measurements, groups, components, self.config, self.seed, self.settings)


def fit_noisy(
    transcript: Transcript,
    label: str | None,
    config: Config,
    *,
    seed: int,
    settings: NoisySettings = DEFAULT_SETTINGS,
    seen: Callable[[FitStep], None] | None = None,
) -> Fitted:
    """The mixture of a transcript, over the bins of its codec: started afresh and trained for all steps."""
    began = process_time()
    measured, groups = transcript.measurements, groups_of(transcript)
    with use_threads(find_threads(config.threads, 0)):
        backbone = _start(measured, groups, config.components or settings.components, config, seed + 1, settings)
        device = find_device(config.device)
        prior = settings.label_prior_per_row if knows_label(measured, groups, label) else settings.prior_per_row
        objective = NoisyObjective(measured, groups, prior=prior, exempt=label, device=device)
        rate = _learning_rate(config, backbone)
        error = descend(backbone, objective, config.steps, rate, cosine=True, seen=seen)
        mixture = split(backbone.settle(), within_groups(measured, groups))
        return Fitted(mixture, error, config.steps, process_time() - began)


def knows_label(measurements: Sequence[Measurement], columns: Collection[str], label: str | None) -> bool:
    """Whether most tables of the label with two more columns were measured.

    They say so much about how columns depend on each other that a strong prior only removes noise; with a few selected
    tables it removes dependence as well.
    """
    cliques = {each.query.clique for each in measurements if len(each.query.clique) == 3}
    return 2 * sum(label in clique for clique in cliques) > comb(len(columns) - 1, 2)


def descend(
    backbone: Backbone,
    objective: NoisyObjective,
    steps: int,
    rate: float,
    *,
    cosine: bool = False,
    seen: Callable[[FitStep], None] | None = None,
) -> float:
    """Minimise the loss by Adam; returns the final root mean square residual in units of the noise."""
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


def own_shares(measurements: Sequence[Measurement], groups: Mapping[str, Owners]) -> dict[str, Floats]:
    """Each column's own distribution over its groups."""
    return {name: to_groups(own, groups[name]) for name, own in _singles(measurements).items()}


def _start(
    measurements: Sequence[Measurement],
    groups: Mapping[str, Owners],
    components: int,
    config: Config,
    seed: int,
    settings: NoisySettings,
) -> Backbone:
    """A new backbone at the columns' own distributions."""
    shares = own_shares(measurements, groups)
    one_way = {name: torch.as_tensor(share, dtype=torch.float32) for name, share in shares.items()}
    device = find_device(config.device)
    smoothing, scale = config.smoothing or 0.0, settings.initial_logit_scale
    return make_backbone(Start(one_way, components, smoothing, seed, device, config, spread=scale))


def _learning_rate(config: Config, backbone: Backbone, max_rate: float = inf) -> float:
    return config.learning_rate or min(max_rate, backbone.learning_rate)


def _singles(measurements: Sequence[Measurement]) -> dict[str, Floats]:
    """Each column's own distribution over its bins, from all its measurements, with at least one row in every bin."""
    merged = _merged([measurement for measurement in measurements if len(measurement.query.clique) == 1])
    distributions = {}
    for query, (values, _) in merged.items():
        if len(query.owners[0]) == query.cells:
            counts = np.maximum(_project_to_simplex(values, max(float(values.sum()), 1.0)), 1.0)
            distributions[query.clique[0]] = counts / counts.sum()
    return distributions


def _project_to_simplex(values: Floats, total: float) -> Floats:
    """The nearest counts, in L2, that are not negative and add up to a total: projection onto the simplex by sorting.

    The algorithm is that of Duchi, Shalev-Shwartz, Singer and Chandra, "Efficient Projections onto the l1-Ball for
    Learning in High Dimensions" (2008, figure 1).
    """
    descending = np.sort(values)[::-1]
    shifts = (np.cumsum(descending) - total) / np.arange(1, len(values) + 1)
    shift = shifts[np.flatnonzero(descending > shifts)[-1]]
    projected: Floats = np.maximum(values - shift, 0.0)
    return projected


def within_groups(measurements: Sequence[Measurement], groups: Mapping[str, Owners]) -> dict[str, Split]:
    """How the probability of a group is divided among its bins, for columns with groups."""
    splits = {}
    for name, own in _singles(measurements).items():
        owner = np.array(groups[name])
        if len(set(groups[name])) < len(owner):
            splits[name] = Split(owner, own / np.bincount(owner, own)[owner])
    return splits


def _targets(
    measurements: Sequence[Measurement], groups: Mapping[str, Owners], rows: float, device: str
) -> list[TargetTables]:
    """The tables over groups to which the mixture is fitted.

    The largest column of each is the last: this makes the products that compute a table as small as they can be.
    """
    found: dict[Clique, list[tuple[str, Floats, Floats]]] = {}
    for query, (values, precision) in _merged(measurements).items():
        clique, shape, precisions = query.clique, query.shape, np.full(query.cells, precision)
        if len(clique) == 1 and query.owners[0] != groups[clique[0]]:  # a sum of cells has the sum of their variances
            owner = groups[clique[0]]
            values, precisions, shape = to_groups(values, owner), precision / np.bincount(owner), (max(owner) + 1,)
        order = np.argsort(shape, kind="stable")
        *first, last = (clique[axis] for axis in order)
        flat = [part.reshape(shape).transpose(order).reshape(-1, max(shape)) for part in (values, precisions)]
        found.setdefault(tuple(first), []).append((last, flat[0] / rows, flat[1] * rows**2))
    targets = []
    for first_columns, tables in found.items():
        lasts, *parts = zip(*tables, strict=True)
        tensors = [torch.as_tensor(np.concatenate(part, 1), dtype=torch.float32, device=device) for part in parts]
        targets.append(TargetTables(first_columns, lasts, *tensors))
    return targets


def _merged(measurements: Sequence[Measurement]) -> dict[Query, tuple[Floats, float]]:
    """Measurements of the same table as one: their inverse-variance weighted mean, and the precision of its cells."""
    merged: dict[Query, tuple[Floats, float]] = {}
    for measurement in measurements:
        query, precision = measurement.query, 1.0 / measurement.sigma**2
        values, before = merged.get(query, (np.zeros(query.cells), 0.0))
        total = before + precision
        merged[query] = ((values * before + measurement.values.ravel() * precision) / total, total)
    return merged


def to_groups(values: Floats, owner: Owners) -> Floats:
    """The sums of a column's values over its groups of bins."""
    return np.bincount(np.array(owner), values).astype(np.float64)

"""The paper's network as the learner of noisy marginals (Vero et al., ICML 2024, appendix on private training).

A noisy marginal is divided by its own sum; negative cells stay. Repeated measurements are averaged, and all marginals
weigh alike. After each measurement the network is trained on from where it is, with a new optimiser whose rate decays
along a cosine. While tables are selected the model is read through the mixture that stands for the network. Everything
is a function of answers that were already given and a seed; no rows are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import process_time

import numpy as np
import torch

from cuts.config import Config
from cuts.count.cover import Clique
from cuts.data.table import Floats
from cuts.model.backbone import read_options
from cuts.model.backbones.generator import GeneratorBackbone, GeneratorOptions
from cuts.model.device import find_device, find_threads, use_threads
from cuts.model.fit import PAPER_SETTINGS, Fitted, train
from cuts.model.marginal_distance import MarginalDistance
from cuts.model.network import new_network
from cuts.model.noisy import Guess, own_shares, to_groups, within_groups
from cuts.privacy.query import Owners
from cuts.privacy.transcript import Measurement, Transcript, groups_of
from cuts.progress import FitStep


@dataclass(frozen=True, slots=True)
class NetworkLearner:
    """Trains the network round by round while tables are measured (`privacy.adaptive.Learner`)."""

    config: Config
    seed: int

    def __call__(
        self, measurements: Sequence[Measurement], groups: Mapping[str, Owners], before: Guess | None
    ) -> Guess:
        """The network after training on all measurements so far."""
        with use_threads(find_threads(self.config.threads, 0)):
            backbone = before.backbone if before else _start(measurements, groups, self.config, self.seed)
            assert isinstance(backbone, GeneratorBackbone)
            _train(backbone, measurements, groups, self.config, backbone.options.round_steps)
            return Guess(backbone, backbone.settle())


def fit_noisy_network(
    transcript: Transcript, config: Config, *, seed: int, seen: Callable[[FitStep], None] | None = None
) -> Fitted:
    """The network of a transcript, over the bins of its codec: started afresh and trained for all steps."""
    began = process_time()
    measured, groups = transcript.measurements, groups_of(transcript)
    with use_threads(find_threads(config.threads, 0)):
        backbone = _start(measured, groups, config, seed + 1)
        error = _train(backbone, measured, groups, config, config.steps, seen=seen)
        network = backbone.network.to("cpu").refined(within_groups(measured, groups))
        mixture = GeneratorBackbone(network, backbone.options, seed).settle()
        return Fitted(mixture, error, config.steps, process_time() - began, network=network)


def noisy_shares(measurements: Sequence[Measurement], groups: Mapping[str, Owners]) -> dict[Clique, Floats]:
    """The measured marginals over groups, each summing to one: the mean of all measurements of the same columns."""
    found: dict[Clique, list[Floats]] = {}
    for measurement in measurements:
        query = measurement.query
        values: Floats = measurement.values.reshape(query.shape).astype(np.float64)
        if len(query.clique) == 1 and query.owners[0] != groups[query.clique[0]]:
            values = to_groups(values, groups[query.clique[0]])
        found.setdefault(query.clique, []).append(values / max(float(values.sum()), 1.0))
    return {clique: np.mean(tables, axis=0) for clique, tables in found.items()}


def _start(
    measurements: Sequence[Measurement], groups: Mapping[str, Owners], config: Config, seed: int
) -> GeneratorBackbone:
    options = read_options(config, GeneratorOptions)
    one_way = {
        name: torch.as_tensor(share, dtype=torch.float32) for name, share in own_shares(measurements, groups).items()
    }
    device = find_device(config.device)
    network = new_network(one_way, smoothing=config.smoothing or 0.0, seed=seed, device=device)
    return GeneratorBackbone(network, replace(options, batch=options.round_batch), seed)


def _train(
    backbone: GeneratorBackbone,
    measurements: Sequence[Measurement],
    groups: Mapping[str, Owners],
    config: Config,
    steps: int,
    *,
    seen: Callable[[FitStep], None] | None = None,
) -> float:
    """Train the network on all measurements; returns the mean total variation from them."""
    distance = MarginalDistance(noisy_shares(measurements, groups), device=find_device(config.device))
    rate = config.learning_rate or backbone.learning_rate
    error, _ = train(backbone, distance.whole, steps, rate, seen=seen, settings=PAPER_SETTINGS)
    return error

"""Fine-tuning of a network with a penalty per command (Vero et al., ICML 2024, sec. 4.1, eq. 1).

    loss = distance to the marginals + sum_i weight_i * violation_i

Every step makes one batch of hard rows, on which all terms are evaluated; all marginals take part. Adam starts afresh,
and its rate decays along a cosine. Training goes where the weights lead it: nothing is measured or chosen on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time

import torch
from torch import Tensor

from cuts.model.backbones.generator import GeneratorBackbone, GeneratorOptions
from cuts.model.device import find_device, find_threads, use_threads
from cuts.model.fit import PAPER_SETTINGS, train
from cuts.model.marginal_distance import label_distance
from cuts.model.mixture import Mixture
from cuts.model.network import Network
from cuts.model.shape import Refit

SUMMED_ROWS = 15_000  # that violations of row rules are summed over, whatever the batch is: the scale of weights


@dataclass(frozen=True, slots=True, eq=False)
class Penalty:
    """How much a batch of hard rows violates what one command asks for, and the weight of that."""

    violation: Callable[[Mixture], Tensor]
    weight: float


@dataclass(frozen=True, slots=True, eq=False)
class Penalised:
    """A network after fine-tuning, and the CPU time it took."""

    network: Network
    cpu_seconds: float


def finetune_network(
    network: Network, penalties: Sequence[Penalty], refit: Refit, options: GeneratorOptions
) -> Penalised:
    """A copy of the network, trained towards what the commands ask for."""
    start_time = process_time()
    config = refit.config
    device = find_device(config.device)
    with use_threads(find_threads(config.threads, options.batch * sum(refit.marginals.sizes.values()))):
        tuned = network.copy().to(device)
        distance = label_distance(refit.marginals, refit.label, device=device)

        def loss(rows: Mixture) -> tuple[Tensor, Tensor]:
            total, error = distance.whole(rows)
            for penalty in penalties:
                violation = penalty.violation(rows).to(total.device, total.dtype)
                if bool(torch.isfinite(violation)):  # else no row of the batch is among those a statistic is about
                    total = total + penalty.weight * violation
            return total, error

        backbone = GeneratorBackbone(tuned, options, refit.seed)
        rate = config.learning_rate or backbone.learning_rate
        steps = min(config.steps, options.finetune_steps)
        train(backbone, loss, steps, rate, seen=refit.seen, settings=PAPER_SETTINGS)
        return Penalised(tuned.to("cpu"), process_time() - start_time)

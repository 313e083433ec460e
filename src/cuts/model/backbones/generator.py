"""The paper's generator as a backbone: every step makes a new batch of hard rows, and rows are drawn from the network.

Unlike `neural`, which is trained on soft components and settles to a mixture, the network is kept: `network` is what
rows are drawn from and what commands fine-tune. The settled mixture is a large sample of its components, for what is
read from a model before rows are drawn. The defaults are the paper's (appendix A.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta
from torch import Tensor

from cuts.model.backbone import Backbone, Start, backbone, read_options
from cuts.model.mixture import Mixture
from cuts.model.network import Network, new_network, random_numbers

_Rows = Annotated[int, Meta(ge=2, le=1_000_000, description="a whole number from 2 to 1,000,000")]
_Steps = Annotated[int, Meta(ge=1, le=1_000_000, description="a whole number from 1 to 1,000,000")]
_Tables = Annotated[int, Meta(ge=1, le=100_000, description="a whole number from 1 to 100,000")]


@dataclass(frozen=True, slots=True)
class GeneratorOptions:
    """The backbone's own settings."""

    batch: _Rows = 15_000  # rows made per step
    marginals: _Tables = 16  # compared per step of pre-training, at most
    finetune_steps: _Steps = 500
    round_steps: _Steps = 1_000  # private programs: per round
    round_batch: _Rows = 1_000  # private programs: rows made per step
    final_components: _Tables = 8_192  # of the mixture that stands for the network


class GeneratorBackbone:
    """The network, its source of noise and its options."""

    learning_rate = 1e-3

    def __init__(self, network: Network, options: GeneratorOptions, seed: int) -> None:
        self.network, self.options, self._seed = network, options, seed
        self._random = random_numbers(seed, 1)

    def parameters(self) -> list[Tensor]:
        """The weights of the network."""
        return self.network.parameters()

    def mixture(self) -> Mixture:
        """A new batch of hard rows of equal weight."""
        return self.network.hard_rows(self.options.batch, self._random)

    def settle(self) -> Mixture:
        """Many components of equal weight, in float64 on the CPU: the same for the same weights."""
        return settled(self.network, self.options, self._seed)


@backbone("generator", options=GeneratorOptions)
def make_generator(start: Start) -> Backbone:
    """A network with new random weights."""
    network = new_network(start.one_way, smoothing=start.smoothing, seed=start.seed, device=start.device)
    return GeneratorBackbone(network, read_options(start.config, GeneratorOptions), start.seed)


def settled(network: Network, options: GeneratorOptions, seed: int) -> Mixture:
    """The mixture that stands for a network."""
    return network.settle(options.final_components, random_numbers(seed, 2))

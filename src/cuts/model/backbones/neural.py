"""The generator of CuTS (Vero et al., ICML 2024, sec. 4.1 and appendix A.1) as a backbone.

Gaussian noise goes through four residual blocks to one softmax head per column. Each draw of noise is a component; a
step makes a new batch of them. By default the probabilities of the heads are the component, so the marginals of a batch
are exact; with `gumbel` each component is first made one hard row by the straight-through Gumbel-softmax estimator
(Jang, Gu & Poole, ICLR 2017), as in the paper. Batch normalisation always uses the batch at hand, as the authors do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from msgspec import Meta
from torch import Tensor

from cuts.model.backbone import Backbone, Start, backbone, read_options
from cuts.model.mixture import Mixture
from cuts.model.network import NOISE_DIMENSIONS, build_layers


@dataclass(frozen=True, slots=True)
class NeuralOptions:
    """The backbone's own settings."""

    gumbel: bool = False  # train on hard rows, as the paper does
    batch: Annotated[int, Meta(ge=2, le=100_000, description="a whole number from 2 to 100,000")] = 2000
    final_components: Annotated[int, Meta(ge=1, le=100_000, description="a whole number from 1 to 100,000")] = 8192


class NeuralBackbone:
    """The network, its source of noise and the columns its heads are for."""

    learning_rate = 1e-3

    def __init__(self, start: Start) -> None:
        self.columns = tuple(start.one_way)
        self._sizes = [len(p) for p in start.one_way.values()]
        self._floor = [(start.smoothing * p).to(start.device) for p in start.one_way.values()]
        self._options = read_options(start.config, NeuralOptions)
        self._device = start.device
        self._random = torch.Generator().manual_seed(start.seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(start.seed)
            self._network = build_layers(sum(self._sizes)).to(start.device)

    def parameters(self) -> list[Tensor]:
        """The weights of the network."""
        return list(self._network.parameters())

    def mixture(self) -> Mixture:
        """A new batch of components of equal weight."""
        batch = self._options.batch
        tables = self._tables(batch)
        if self._options.gumbel:
            tables = [_hard(table, self._random) for table in tables]
        weights = torch.full((batch,), 1.0 / batch, device=self._device)
        return Mixture(self.columns, weights, tuple(tables))

    def settle(self) -> Mixture:
        """Many components of equal weight, in float64 on the CPU."""
        count = self._options.final_components
        with torch.no_grad():
            tables = [table.cpu().double() for table in self._tables(count)]
        P = tuple(table / table.sum(1, keepdim=True) for table in tables)
        return Mixture(self.columns, torch.full((count,), 1.0 / count, dtype=torch.float64), P)

    def _tables(self, count: int) -> list[Tensor]:
        noise = torch.randn(count, NOISE_DIMENSIONS, generator=self._random).to(self._device)
        heads = torch.split(self._network(noise), self._sizes, 1)
        return [
            torch.softmax(logits, 1) * (1.0 - floor.sum()) + floor
            for logits, floor in zip(heads, self._floor, strict=True)
        ]


@backbone("neural", options=NeuralOptions)
def make_neural(start: Start) -> Backbone:
    """A network with new random weights."""
    return NeuralBackbone(start)


def _hard(table: Tensor, random: torch.Generator) -> Tensor:
    """One value per row, drawn from its distribution: `onehot(argmax y) + y - stop_gradient(y)`, `y` the soft draw."""
    uniform = torch.rand(table.shape, generator=random).clamp_min(1e-20).to(table.device)
    soft = torch.softmax(table.clamp_min(1e-20).log() - (-uniform.log()).log(), 1)
    one = torch.zeros_like(soft).scatter_(1, soft.argmax(1, keepdim=True), 1.0)
    return one + soft - soft.detach()

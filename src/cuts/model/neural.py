"""The paper's generator as a backbone: noise through residual blocks to one head a column.

Each draw of noise is a component; a step makes a fresh batch of them. By default the heads' probabilities are the
component, so the marginals of a batch are exact; with `gumbel` each is first made one hard row by the straight-through
Gumbel-softmax, as in the paper. Batch normalisation always uses the batch at hand, as the authors do.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cuts.model.backbone import Backbone, Start, backbone
from cuts.model.mixture import Mixture

NOISE = 100  # dimensions
WIDTHS = (100, 200, 200, 200)
SETTLED = 8192  # components of the finished mixture


class Block(nn.Module):
    """Passes on what it was given beside what it makes of it."""

    def __init__(self, width: int, made: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, made)
        self.norm = nn.BatchNorm1d(made, track_running_stats=False)

    def forward(self, x: Tensor) -> Tensor:
        """`[relu(norm(linear(x))), x]`."""
        return torch.cat([torch.relu(self.norm(self.linear(x))), x], 1)


class NeuralBackbone:
    """The network, its source of noise and the columns its heads are for."""

    learning_rate = 1e-3

    def __init__(self, start: Start) -> None:
        self.columns = tuple(start.one_way)
        self._sizes = [len(p) for p in start.one_way.values()]
        self._floor = [(start.smoothing * p).to(start.device) for p in start.one_way.values()]
        self._batch = start.config.batch
        self._gumbel = start.config.gumbel
        self._device = start.device
        self._random = torch.Generator().manual_seed(start.seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(start.seed)
            self._network = _network(sum(self._sizes)).to(start.device)

    def parameters(self) -> list[Tensor]:
        """What training changes."""
        return list(self._network.parameters())

    def mixture(self) -> Mixture:
        """A fresh batch of components of equal weight."""
        tables = self._tables(self._batch)
        if self._gumbel:
            tables = [_hard(table, self._random) for table in tables]
        weights = torch.full((self._batch,), 1.0 / self._batch, device=self._device)
        return Mixture(self.columns, weights, tuple(tables))

    def settle(self) -> Mixture:
        """Many components, in float64 on the CPU."""
        with torch.no_grad():
            tables = [table.cpu().double() for table in self._tables(SETTLED)]
        P = tuple(table / table.sum(1, keepdim=True) for table in tables)
        return Mixture(self.columns, torch.full((SETTLED,), 1.0 / SETTLED, dtype=torch.float64), P)

    def _tables(self, count: int) -> list[Tensor]:
        noise = torch.randn(count, NOISE, generator=self._random).to(self._device)
        heads = torch.split(self._network(noise), self._sizes, 1)
        return [
            torch.softmax(logits, 1) * (1.0 - floor.sum()) + floor
            for logits, floor in zip(heads, self._floor, strict=True)
        ]


@backbone("neural")
def make_neural(start: Start) -> Backbone:
    """A network with fresh weights."""
    return NeuralBackbone(start)


def _network(heads: int) -> nn.Sequential:
    blocks: list[nn.Module] = []
    width = NOISE
    for made in WIDTHS:
        blocks.append(Block(width, made))
        width += made
    return nn.Sequential(*blocks, nn.Linear(width, heads))


def _hard(table: Tensor, random: torch.Generator) -> Tensor:
    """One value a row, drawn from its distribution; the gradient is that of the softened draw."""
    uniform = torch.rand(table.shape, generator=random).clamp_min(1e-20).to(table.device)
    soft = torch.softmax(table.clamp_min(1e-20).log() - (-uniform.log()).log(), 1)
    one = torch.zeros_like(soft).scatter_(1, soft.argmax(1, keepdim=True), 1.0)
    return one + soft - soft.detach()

"""The generator of CuTS (Vero et al., ICML 2024, sec. 4.1 and appendix A.1): a residual network from noise to rows.

Gaussian noise goes through four residual blocks to one output per bin of every column. Given the noise, the columns of
a row are independent, so each draw of noise is a component of a mixture. A hard row takes one bin per column by the
straight-through Gumbel-softmax estimator (Jang, Gu & Poole, ICLR 2017). Batch normalisation uses the batch at hand, as
the authors do: rows are drawn in batches of one size, so that a row does not depend on how many are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from cuts.data.codec import Codes
from cuts.data.refine import Split
from cuts.model.device import use_threads
from cuts.model.mixture import Mixture

NOISE_DIMENSIONS = 100
LAYER_WIDTHS = (100, 200, 200, 200)  # neurons
DRAWN_ROWS = 8_192  # per batch
MIN_PROBABILITY = 1e-20  # whose logarithm is taken


class Block(nn.Module):
    """A residual block: its output is followed by its input."""

    def __init__(self, width: int, neurons: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, neurons)
        self.norm = nn.BatchNorm1d(neurons, track_running_stats=False)

    def forward(self, x: Tensor) -> Tensor:
        """`[relu(norm(linear(x))), x]`."""
        return torch.cat([torch.relu(self.norm(self.linear(x))), x], 1)


def build_layers(outputs: int) -> nn.Sequential:
    """The layers of a network with that many outputs, with new random weights."""
    blocks: list[nn.Module] = []
    width = NOISE_DIMENSIONS
    for neurons in LAYER_WIDTHS:
        blocks.append(Block(width, neurons))
        width += neurons
    return nn.Sequential(*blocks, nn.Linear(width, outputs))


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """From the outputs of one column to its bins: each bin has a share of the probability of one output.

    The distribution over outputs is `(1 - sum floor) softmax(output) + floor`.
    """

    floor: Tensor  # (outputs,)
    owner: Tensor  # (bins,), whole numbers: the output of every bin
    share: Tensor  # (bins,)

    @property
    def is_plain(self) -> bool:
        """Whether bins are outputs and no probability is kept aside."""
        return len(self.owner) == len(self.floor) and bool((self.share == 1).all()) and not bool(self.floor.any())

    def logarithms(self, outputs: Tensor) -> Tensor:
        """The logarithms of the bins' probabilities, one row per row of outputs."""
        if self.is_plain:
            return torch.log_softmax(outputs, 1)
        p = torch.softmax(outputs, 1) * (1.0 - self.floor.sum()) + self.floor
        return (p[:, self.owner] * self.share).clamp_min(MIN_PROBABILITY).log()


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """The layers, and a head for each column. Training changes the layers in place: see `copy`."""

    columns: tuple[str, ...]
    heads: tuple[Head, ...]
    layers: nn.Sequential

    def parameters(self) -> list[Tensor]:
        """The weights that training changes."""
        return list(self.layers.parameters())

    def copy(self) -> Network:
        """The same network with weights of its own."""
        return network_from(self.columns, self.tensors())

    def to(self, device: str) -> Network:
        """The same network on a device."""
        heads = [Head(head.floor.to(device), head.owner.to(device), head.share.to(device)) for head in self.heads]
        return Network(self.columns, tuple(heads), self.layers.to(device))

    def logarithms(self, rows: int, random: torch.Generator) -> list[Tensor]:
        """For new noise, the logarithms of the bins' probabilities, (rows, bins) for each column."""
        device = self.parameters()[0].device
        noise = torch.randn(rows, NOISE_DIMENSIONS, generator=random).to(device)
        outputs = torch.split(self.layers(noise), [len(head.floor) for head in self.heads], 1)
        return [head.logarithms(part) for head, part in zip(self.heads, outputs, strict=True)]

    def hard_rows(self, rows: int, random: torch.Generator) -> Mixture:
        """New rows, each a component that is certain of its bins; gradients flow as if the draws were soft."""
        P = tuple(_straight_through(logs, random) for logs in self.logarithms(rows, random))
        return Mixture(self.columns, torch.full((rows,), 1.0 / rows, device=P[0].device), P)

    def settle(self, components: int, random: torch.Generator) -> Mixture:
        """The mixture of so many draws of noise, in float64 on the CPU."""
        with torch.no_grad(), use_threads(1):
            logs = self.logarithms(components, random)
        P = tuple(torch.softmax(each.cpu().double(), 1) for each in logs)
        return Mixture(self.columns, torch.full((components,), 1.0 / components, dtype=torch.float64), P)

    def draw(self, random: torch.Generator) -> Codes:
        """One batch of rows as codes: one thread, so that a seed gives the same rows on any number of workers."""
        with torch.no_grad(), use_threads(1):
            logs = self.logarithms(DRAWN_ROWS, random)
            picked = [_perturbed(each, random).argmax(1) for each in logs]
        return {name: bins.cpu().numpy().astype(np.int64) for name, bins in zip(self.columns, picked, strict=True)}

    def refined(self, splits: Mapping[str, Split]) -> Network:
        """The same distribution over finer bins: a finer bin has its share of the coarser one."""
        heads = []
        for name, head in zip(self.columns, self.heads, strict=True):
            if name in splits:
                owner = torch.as_tensor(splits[name].owner)
                share = torch.as_tensor(splits[name].share, dtype=torch.float32)
                head = replace(head, owner=head.owner[owner], share=head.share[owner] * share)
            heads.append(head)
        return replace(self, heads=tuple(heads))

    def tensors(self) -> dict[str, Tensor]:
        """All that is needed to make the network again, by name, on the CPU."""
        named = {f"layers.{name}": tensor for name, tensor in self.layers.state_dict().items()}
        for i, head in enumerate(self.heads):
            named |= {f"floor{i}": head.floor, f"owner{i}": head.owner, f"share{i}": head.share}
        return {name: tensor.detach().cpu().clone().contiguous() for name, tensor in named.items()}


def new_network(one_way: Mapping[str, Tensor], *, smoothing: float, seed: int, device: str) -> Network:
    """A network with random weights for columns with so many bins; a share of their own distributions is kept."""
    heads = tuple(
        Head((smoothing * p).to(device), torch.arange(len(p), device=device), torch.ones(len(p), device=device))
        for p in one_way.values()
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = build_layers(sum(map(len, one_way.values())))
    return Network(tuple(one_way), heads, layers.to(device))


def network_from(columns: tuple[str, ...], named: Mapping[str, Tensor]) -> Network:
    """The network that `tensors` describes; a `ValueError`, `KeyError` or `RuntimeError` if it describes none."""
    heads = tuple(
        _checked(Head(named[f"floor{i}"], named[f"owner{i}"], named[f"share{i}"])) for i in range(len(columns))
    )
    with torch.random.fork_rng(devices=[]):
        layers = build_layers(sum(len(head.floor) for head in heads))
    weights = {name.removeprefix("layers."): tensor for name, tensor in named.items() if name.startswith("layers.")}
    if not all(tensor.dtype == torch.float32 and torch.isfinite(tensor).all() for tensor in weights.values()):
        raise ValueError("a weight of the network is not a finite float32 number")
    layers.load_state_dict(weights)
    return Network(columns, heads, layers)


def random_numbers(*seeds: int) -> torch.Generator:
    """A source of random numbers that some whole numbers determine."""
    state = np.random.SeedSequence(seeds).generate_state(1, np.uint64)[0]
    return torch.Generator().manual_seed(int(state) >> 1)


def _checked(head: Head) -> Head:
    """The head; a `ValueError` unless its bins share the probability of its outputs."""
    outputs, bins = len(head.floor), len(head.owner)
    is_whole = head.owner.dtype == torch.int64 and bins == len(head.share) >= outputs >= 1
    if not is_whole or not bool(((head.owner >= 0) & (head.owner < outputs)).all()):
        raise ValueError("the bins of a column do not belong to its outputs")
    sums = torch.zeros(outputs).index_add(0, head.owner, head.share)
    if not bool((head.share >= 0).all()) or not bool(((sums - 1.0).abs() < 1e-4).all()):
        raise ValueError("the bins of an output do not share its probability")
    if not bool((head.floor >= 0).all()) or not float(head.floor.sum()) <= 1.0:
        raise ValueError("the floor of a column is not a part of a distribution")
    return head


def _perturbed(logs: Tensor, random: torch.Generator) -> Tensor:
    """The logarithms plus Gumbel noise: the largest of a row is a draw from its distribution."""
    noise = torch.empty(logs.shape).exponential_(generator=random).clamp_min(MIN_PROBABILITY)
    return logs - noise.log().to(logs.device)


def _straight_through(logs: Tensor, random: torch.Generator) -> Tensor:
    """One bin per row, drawn from its distribution: `onehot(argmax y) + y - stop_gradient(y)`, `y` the soft draw."""
    soft = torch.softmax(_perturbed(logs, random), 1)
    hard = torch.zeros_like(soft).scatter_(1, soft.argmax(1, keepdim=True), 1.0)
    return _Through.apply(hard, soft)  # type: ignore[no-any-return, no-untyped-call]


class _Through(torch.autograd.Function):
    """The first tensor, with the gradient of the second: without the rounding errors of adding and subtracting it."""

    @staticmethod
    def forward(ctx, hard, soft):  # type: ignore[no-untyped-def]
        return hard

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        return None, grad

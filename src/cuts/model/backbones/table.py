"""The default backbone: the mixture's own tables are the parameters.

It starts at the columns' own distributions with random logits added, so it needs no rows. With smoothing `s` every
component keeps a share `s` of those distributions, however long it is trained: `P = (1 - s) softmax(logits) + s q`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from cuts.model.backbone import Backbone, Start, backbone
from cuts.model.mixture import Mixture

EMPTY_BIN_SHARE = 1e-6  # probability that a bin without rows starts with


class TableBackbone:
    """Logits of the weights and of every column's table."""

    learning_rate = 0.1

    def __init__(self, columns: tuple[str, ...], weights: Tensor, logits: list[Tensor], floor: list[Tensor]) -> None:
        self.columns = columns
        self._weights = weights.requires_grad_()
        self._logits = [table.requires_grad_() for table in logits]  # one per column, (K, bins)
        self._floor = floor  # one per column, (bins,) or (K, bins): what is kept, summing to the smoothing

    def parameters(self) -> list[Tensor]:
        """The logits of the weights, then those of the columns."""
        return [self._weights, *self._logits]

    def mixture(self) -> Mixture:
        """The mixture of the present parameters."""
        P = tuple(
            torch.softmax(logits, 1) * (1.0 - floor.sum(-1, keepdim=True)) + floor
            for logits, floor in zip(self._logits, self._floor, strict=True)
        )
        return Mixture(self.columns, torch.softmax(self._weights, 0), P)

    def settle(self) -> Mixture:
        """The mixture of the present parameters, in float64 on the CPU."""
        with torch.no_grad():
            mix = self.mixture()
        P = tuple(_normalised(p) for p in mix.P)
        return Mixture(self.columns, _normalised(mix.w[None])[0], P)


@backbone("table", thread_safe=True)
def make_table(start: Start) -> Backbone:
    """Tables at the columns' own distributions, with random logits added."""
    random = torch.Generator().manual_seed(start.seed)
    K = start.components
    logits = [
        (torch.log(p + EMPTY_BIN_SHARE)[None, :] + start.spread * torch.randn(K, len(p), generator=random)).to(
            start.device
        )
        for p in start.one_way.values()
    ]
    floor = [(start.smoothing * p).to(start.device) for p in start.one_way.values()]
    return TableBackbone(tuple(start.one_way), torch.zeros(K, device=start.device), logits, floor)


def table_of(mix: Mixture, device: str, *, smoothing: float = 0.0) -> TableBackbone:
    """The parameters of a mixture; what has no probability in it never gets any.

    With smoothing, a component keeps that share of the columns' own distributions, on the bins that it has.
    """
    logits, floors = [], []
    for p in mix.P:
        own = (mix.w @ p)[None, :] * (p > 0)
        floor = smoothing * own / own.sum(1, keepdim=True).clamp_min(1e-300)
        free = torch.where(p > 0, (p - floor).clamp_min(EMPTY_BIN_SHARE * p), 0.0)
        logits.append(free.log().float().to(device))
        floors.append(floor.float().to(device))
    return TableBackbone(mix.columns, mix.w.float().log().to(device), logits, floors)


def _normalised(table: Tensor) -> Tensor:
    """The table in float64 on the CPU, its rows summing to one."""
    exact = table.detach().cpu().double()
    return exact / exact.sum(1, keepdim=True)

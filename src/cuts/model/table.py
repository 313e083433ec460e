"""The default backbone: the mixture's own tables are the parameters.

It starts at the columns' own distributions with random logits added, so it needs no rows. With smoothing `s` every
component keeps a share `s` of those distributions, which no amount of training removes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from cuts.model.backbone import Backbone, Start, backbone
from cuts.model.mixture import Mixture

UNSEEN = 1e-6  # share a bin without rows starts with


class TableBackbone:
    """Logits of the weights and of every column's table."""

    learning_rate = 0.1

    def __init__(self, columns: tuple[str, ...], weights: Tensor, logits: list[Tensor], floor: list[Tensor]) -> None:
        self.columns = columns
        self._weights = weights.requires_grad_()
        self._logits = [each.requires_grad_() for each in logits]
        self._floor = floor  # what every component keeps, (bins,) each, summing to the smoothing

    def parameters(self) -> list[Tensor]:
        """What training changes."""
        return [self._weights, *self._logits]

    def mixture(self) -> Mixture:
        """The mixture of the present parameters."""
        P = tuple(
            torch.softmax(logits, 1) * (1.0 - floor.sum()) + floor
            for logits, floor in zip(self._logits, self._floor, strict=True)
        )
        return Mixture(self.columns, torch.softmax(self._weights, 0), P)

    def settle(self) -> Mixture:
        """The mixture of the present parameters, in float64 on the CPU."""
        with torch.no_grad():
            found = self.mixture()
        P = tuple(_normal(p) for p in found.P)
        return Mixture(self.columns, _normal(found.w[None])[0], P)


@backbone("table")
def make_table(start: Start) -> Backbone:
    """Tables at the columns' own distributions, with random logits added."""
    random = torch.Generator().manual_seed(start.seed)
    K = start.components
    logits = [
        (torch.log(p + UNSEEN)[None, :] + start.spread * torch.randn(K, len(p), generator=random)).to(start.device)
        for p in start.one_way.values()
    ]
    floor = [(start.smoothing * p).to(start.device) for p in start.one_way.values()]
    return TableBackbone(tuple(start.one_way), torch.zeros(K, device=start.device), logits, floor)


def table_of(mix: Mixture, device: str) -> TableBackbone:
    """The parameters of a mixture; what has no probability in it never gets any."""
    logits = [p.float().log().to(device) for p in mix.P]
    floor = [torch.zeros(p.shape[1], device=device) for p in mix.P]
    return TableBackbone(mix.columns, mix.w.float().log().to(device), logits, floor)


def _normal(table: Tensor) -> Tensor:
    exact = table.detach().cpu().double()
    return exact / exact.sum(1, keepdim=True)

"""Boxes as targets of a fit: the share of the rows in each, and its probability under a mixture.

A box is a set of bins for each of some columns. Its probability is exact and differentiable:

    p(box) = sum_k w_k prod_i sum_{b in box_i} P_i[k, b].

Boxes tell a fit about more than three columns at once (`model/box_trees.py` finds them).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from cuts.data.table import Bools, Floats, IntArray
from cuts.model.mixture import Mixture

ROOT_OFFSET = 1e-6  # added to a share before its root is taken, so that the gradient is finite
MIN_FACTOR = 1e-12  # probability of a box's bins of one column in a component, which gradients are divided by


@dataclass(frozen=True, slots=True, eq=False)
class BoxCounts:
    """Boxes over the bins of all columns side by side, and the share of the rows in each."""

    inside: Bools  # (boxes, bins): all bins of a column that a box says nothing about are inside
    bounded: Bools  # (boxes, columns): whether a box says something about the column
    share: Floats  # (boxes,)

    def __len__(self) -> int:
        return len(self.share)

    def take(self, boxes: IntArray) -> BoxCounts:
        """Some of the boxes."""
        return BoxCounts(self.inside[boxes], self.bounded[boxes], self.share[boxes])


def join_boxes(parts: Sequence[BoxCounts], max_boxes: int) -> BoxCounts:
    """The boxes of all parts, the last `max_boxes` of them."""
    inside, bounded, share = (
        np.concatenate([getattr(part, name) for part in parts])[-max_boxes:] for name in ("inside", "bounded", "share")
    )
    return BoxCounts(inside, bounded, share)


def box_probabilities(mix: Mixture, boxes: BoxCounts) -> Tensor:
    """The probability of each box under a mixture, (boxes,)."""
    found: Tensor = _Probabilities.apply(_bounds(boxes, mix), mix.w, *mix.P)  # type: ignore[no-untyped-call]
    return found


def box_distance(mix: Mixture, boxes: BoxCounts) -> Tensor:
    """The squared Hellinger distance of a mixture from the shares of boxes: the mean of `(sqrt p - sqrt q)^2 / 2`."""
    share = box_probabilities(mix, boxes)
    target = torch.as_tensor(boxes.share, dtype=share.dtype, device=share.device)
    return 0.5 * (((share + ROOT_OFFSET).sqrt() - (target + ROOT_OFFSET).sqrt()) ** 2).mean()


@dataclass(frozen=True, slots=True, eq=False)
class _Bounds:
    """Boxes column by column: which of them bound it, and the bins inside those."""

    count: int
    columns: list[tuple[int, Tensor, Tensor]]  # the column's index, its boxes, their bins (boxes, bins)


class _Probabilities(torch.autograd.Function):
    """`w @ prod_i (P_i @ inside_i^T)`, with a factor only where a box bounds the column.

    For a gradient `g`: `dw = prod @ g`, `dP_i = (w prod g / factor_i) @ inside_i`. Boxes are rows here: those of a
    column are then taken and put back in whole rows of memory.
    """

    @staticmethod
    def forward(ctx, bounds, w, *P):  # type: ignore[no-untyped-def]
        product = w.new_ones(bounds.count, len(w))  # (boxes, K)
        factors = []
        for index, boxes, inside in bounds.columns:
            factor = (inside @ P[index].T).clamp_min_(MIN_FACTOR)
            product[boxes] *= factor
            factors.append(factor)
        ctx.bounds, ctx.factors, ctx.columns = bounds, factors, len(P)
        ctx.save_for_backward(w, product)
        return product @ w

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        w, product = ctx.saved_tensors
        weighted = product * grad[:, None]
        dw = weighted.sum(0)
        weighted *= w
        dP = [None] * ctx.columns
        for (index, boxes, inside), factor in zip(ctx.bounds.columns, ctx.factors, strict=True):
            dP[index] = (weighted[boxes] / factor).T @ inside
        return None, dw, *dP


def _bounds(boxes: BoxCounts, mix: Mixture) -> _Bounds:
    ends = np.cumsum([0, *(p.shape[1] for p in mix.P)]).tolist()
    columns = []
    for index, (start, end) in enumerate(pairwise(ends)):
        bounding = np.flatnonzero(boxes.bounded[:, index])
        if len(bounding):
            inside = torch.as_tensor(boxes.inside[bounding, start:end], dtype=mix.w.dtype, device=mix.w.device)
            columns.append((index, torch.as_tensor(bounding, device=mix.w.device), inside))
    return _Bounds(len(boxes), columns)

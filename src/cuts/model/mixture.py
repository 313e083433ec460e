"""The model as a value: a mixture of product distributions, and its algebra.

`p(x) = sum_k w_k prod_i P_i[k, x_i]`. Everything here is exact and, on tensors that require gradients, differentiable.
A table of rows is a mixture too: one component per row, certain of its bins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cuts.data.refine import Split
from cuts.logic import chances
from cuts.logic.core import Variable
from cuts.logic.diagram import Diagram


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Weights `w` (K,), which sum to one, and for each column the components' distributions over its bins."""

    columns: tuple[str, ...]
    w: Tensor  # (K,)
    P: tuple[Tensor, ...]  # each (K, bins), rows sum to one

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.P) or any(len(p) != len(self.w) for p in self.P):
            raise ValueError("a mixture needs one table per column and one row per component")

    def __getitem__(self, name: str) -> Tensor:
        return self.P[self.columns.index(name)]

    @property
    def components(self) -> int:
        """Number of components."""
        return len(self.w)


def marginal(mix: Mixture, clique: Sequence[str]) -> Tensor:
    """Joint distribution of some columns, one axis each: `sum_k w_k P_a[k] (x) P_b[k] (x) ...`."""
    joint = mix.w[:, None]  # (K, cells so far)
    for name in clique[:-1]:
        joint = (joint[:, :, None] * mix[name][:, None, :]).flatten(1)
    if not clique:
        return mix.w.sum()
    flat = joint.T @ mix[clique[-1]]
    return flat.reshape([mix[name].shape[1] for name in clique])


class _Gram(torch.autograd.Function):
    """`X^T diag(d) X`. The gradient uses that the matrix is symmetric: one product instead of two.

    For a gradient `G`: `dX = diag(d) X (G + G^T)`, `dd_k = X_k G X_k^T`.
    """

    @staticmethod
    def forward(ctx, X, d):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(X, d)
        return (X * d[:, None]).T @ X

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        X, d = ctx.saved_tensors
        Y = X @ (grad + grad.T)
        return Y * d[:, None], (X * Y).sum(1) / 2


def gram(X: Tensor, d: Tensor) -> Tensor:
    """All pairs of bins at once: `sum_k d_k X[k] (x) X[k]`, for the tables of some columns side by side.

    With `d = w` the blocks are the two-way marginals, with `d = w * P_y[:, l]` the slices at `y = l` of the three-way
    ones; blocks of a column with itself have no meaning.
    """
    product: Tensor = _Gram.apply(X, d)  # type: ignore[no-untyped-call]
    return product


def split(mix: Mixture, splits: Mapping[str, Split]) -> Mixture:
    """The same distribution over finer bins: a finer bin has its share of the coarser one."""
    P = []
    for name, table in zip(mix.columns, mix.P, strict=True):
        if name in splits:
            owner, share = splits[name].owner, splits[name].share
            P.append(table[:, torch.as_tensor(owner)] * torch.as_tensor(share, dtype=table.dtype))
        else:
            P.append(table)
    return Mixture(mix.columns, mix.w, tuple(P))


def distributions(mix: Mixture) -> dict[Variable, Tensor]:
    """The tables by column, as diagrams read them."""
    return dict(zip(mix.columns, mix.P, strict=True))


def probability(mix: Mixture, diagram: Diagram) -> Tensor:
    """Probability that a row of the model satisfies the rules."""
    held: Tensor = (mix.w * chances.probability(diagram, distributions(mix))).sum()
    return held

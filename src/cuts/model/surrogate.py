"""A classifier fitted to a model in closed form: ridge regression of the target on the bins of all features.

Ridge regression (Hoerl & Kennard, Technometrics 1970) on indicator features `x` and targets `y` is
`B = (E[x x^T] + penalty * I)^-1 E[x y^T]`. Both expectations are pair marginals, which the mixture has exactly: it is
the classifier of infinitely many rows of the model, takes one linear solve, and gradients flow through it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from cuts.data.codec import Codes
from cuts.model.mixture import Mixture, gram

RIDGE_PENALTY = 1e-4  # on the squared coefficients, beside mean squared error


@dataclass(frozen=True, slots=True, eq=False)
class Ridge:
    """A linear classifier on the bins of its features."""

    features: tuple[str, ...]
    starts: tuple[int, ...]  # of each feature's bins among the coefficients
    coefficients: Tensor  # (bins, values of the target)

    def scores(self, codes: Codes) -> Tensor:
        """The predicted indicator of every value of the target, about its probability: (rows, values)."""
        total = self.coefficients.new_zeros(())
        for name, start in zip(self.features, self.starts, strict=True):
            total = total + self.coefficients[torch.as_tensor(codes[name]) + start]
        return total


def fit_ridge(mix: Mixture, target: str, features: Sequence[str], *, penalty: float = RIDGE_PENALTY) -> Ridge:
    """The ridge regression of the target of the model's rows on the bins of the features."""
    tables = [mix[name] for name in features]
    X = torch.cat(tables, 1)  # (K, bins)
    starts = np.cumsum([0, *(table.shape[1] for table in tables)]).tolist()
    owner = torch.repeat_interleave(torch.tensor([table.shape[1] for table in tables])).to(X.device)
    # A row has one bin of a column: two bins of it never occur together, one always with itself.
    second = torch.where(owner[:, None] == owner[None, :], torch.diag(mix.w @ X), gram(X, mix.w))
    with_target = (X * mix.w[:, None]).T @ mix[target]  # (bins, values)
    penalised = second + penalty * torch.eye(len(second), dtype=X.dtype, device=X.device)
    return Ridge(tuple(features), tuple(starts[:-1]), torch.linalg.solve(penalised, with_target))

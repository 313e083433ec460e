"""A classifier fitted to a model in closed form: ridge regression of the target on all features' bins.

What it needs of the table is how often any two bins occur together, which the mixture has exactly. So it is the
classifier of infinitely many rows of the model, it takes one linear solve, and gradients flow through it to the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from cuts.data.codec import Codes
from cuts.model.mixture import Mixture, gram

RIDGE = 1e-4  # on the coefficients, beside mean squared error


@dataclass(frozen=True, slots=True, eq=False)
class Ridge:
    """Coefficients of every feature's bins for every value of the target, (bins, values)."""

    features: tuple[str, ...]
    starts: tuple[int, ...]
    coefficients: Tensor

    def scores(self, codes: Codes) -> Tensor:
        """How likely each value of the target is for every row, about: (rows, values)."""
        found = self.coefficients.new_zeros(())
        for name, start in zip(self.features, self.starts, strict=True):
            found = found + self.coefficients[torch.as_tensor(codes[name]) + start]
        return found


def fit_ridge(mix: Mixture, target: str, features: Sequence[str], *, penalty: float = RIDGE) -> Ridge:
    """The coefficients that predict the target of the model's rows best."""
    tables = [mix[name] for name in features]
    X = torch.cat(tables, 1)  # (K, bins)
    starts = np.cumsum([0, *(table.shape[1] for table in tables)]).tolist()
    owner = torch.repeat_interleave(torch.tensor([table.shape[1] for table in tables])).to(X.device)
    # A row has one bin of a column: two bins of it never occur together, one always with itself.
    second = torch.where(owner[:, None] == owner[None, :], torch.diag(mix.w @ X), gram(X, mix.w))
    with_target = (X * mix.w[:, None]).T @ mix[target]  # (bins, values)
    penalised = second + penalty * torch.eye(len(second), dtype=X.dtype, device=X.device)
    return Ridge(tuple(features), tuple(starts[:-1]), torch.linalg.solve(penalised, with_target))

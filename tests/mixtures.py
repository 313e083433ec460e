"""Tables of rows as mixtures, for tests that compare a model with rows."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from cuts.data.codec import Codes
from cuts.model.mixture import Mixture


def row_mixture(codes: Codes, sizes: Mapping[str, int]) -> Mixture:
    """The rows as a mixture: each row is a component of equal weight, certain of its bins."""
    names = tuple(sizes)
    rows = len(codes[names[0]])
    P = tuple(torch.nn.functional.one_hot(torch.as_tensor(codes[name]), sizes[name]).double() for name in names)
    return Mixture(names, torch.full((rows,), 1.0 / rows, dtype=torch.float64), P)

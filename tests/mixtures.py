"""Tables of rows as mixtures and as counts, for tests that compare a model with rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from cuts.count.marginals import Clique, Marginals
from cuts.count.workload import choose_workload
from cuts.data.codec import Codes
from cuts.model.mixture import Mixture


def row_mixture(codes: Codes, sizes: Mapping[str, int]) -> Mixture:
    """The rows as a mixture: each row is a component of equal weight, certain of its bins."""
    names = tuple(sizes)
    rows = len(codes[names[0]])
    P = tuple(torch.nn.functional.one_hot(torch.as_tensor(codes[name]), sizes[name]).double() for name in names)
    return Mixture(names, torch.full((rows,), 1.0 / rows, dtype=torch.float64), P)


def counted(codes: Codes, sizes: Mapping[str, int], cliques: tuple[Clique, ...] | None = None) -> Marginals:
    """The tables of some rows, counted in plain numpy."""
    tables = {}
    for clique in cliques or choose_workload(sizes, None):
        table = np.zeros([sizes[name] for name in clique], dtype=np.int64)
        np.add.at(table, tuple(codes[name] for name in clique), 1)
        tables[clique] = table
    return Marginals(sizes, tables, len(next(iter(codes.values()))), "")

"""A model's own marginals as counts, for training that should keep what the model has instead of what the rows had."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import torch

from cuts.count.marginals import Marginals
from cuts.data.table import Floats, IntArray
from cuts.model.mixture import Mixture, gram, marginal

OWN_ROWS = 10**9  # rows that a model's own marginals are rounded to counts of


def own_marginals(mix: Mixture, counts: Marginals, label: str | None) -> Marginals:
    """The marginals of the mixture itself: all triples that contain the label, or all pairs without a label."""
    others = [name for name in mix.columns if name != label or len(mix.columns) <= 2]
    sizes = [mix[name].shape[1] for name in others]
    starts = np.cumsum([0, *sizes])
    X = torch.cat([mix[name] for name in others], 1)
    slices = [mix.w] if len(others) == len(mix.columns) else [mix.w * p for p in mix[label or ""].T]
    grams = [gram(X, d).numpy() for d in slices]
    tables = {}
    for i, a in enumerate(others):
        for j in range(i + 1, len(others)):
            block = [table[starts[i] : starts[i + 1], starts[j] : starts[j + 1]] for table in grams]
            names = (a, others[j]) if len(slices) == 1 else (a, others[j], label or "")
            table = block[0] if len(slices) == 1 else np.stack(block, -1)
            order = tuple(name for name in mix.columns if name in names)
            tables[order] = _counted(np.moveaxis(table, [names.index(name) for name in order], range(len(order))))
    if not tables:
        (name,) = others
        tables[(name,)] = _counted((mix.w @ mix[name]).numpy())
    return Marginals(counts.sizes, tables, OWN_ROWS, counts.codec)


def own_where(columns: Collection[str], mix: Mixture, counts: Marginals) -> Marginals:
    """The counts, and the mixture's own in every table that has one of these columns."""
    rows = max(counts.rows, 1)
    tables = {
        clique: _counted(table / rows if set(columns).isdisjoint(clique) else marginal(mix, clique).numpy())
        for clique, table in counts.tables.items()
    }
    return Marginals(counts.sizes, tables, OWN_ROWS, counts.codec)


def _counted(share: Floats) -> IntArray:
    """Shares as counts of so many rows that rounding does not matter."""
    counts: IntArray = np.rint(share / share.sum() * OWN_ROWS).astype(np.int64)
    counts.flat[counts.argmax()] += OWN_ROWS - counts.sum()
    return counts

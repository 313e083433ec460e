"""The groups of bins that a fit fixes a column at: neighbouring bins of numbers, single bins of categories."""

from __future__ import annotations

import numpy as np

from cuts.count.marginals import Marginals
from cuts.data.codec import Codec, NumericBins
from cuts.data.table import IntArray
from cuts.model.targets import Groups

MAX_GROUPS = 8  # per numeric column


def slice_groups(counts: Marginals, codec: Codec) -> Groups:
    """For every numeric column the group of each bin; groups are neighbours with about equally many rows."""
    return {
        bins.column.name: _even_groups(counts.table((bins.column.name,)))
        for bins in codec.columns
        if isinstance(bins, NumericBins)
    }


def _even_groups(counts: IntArray) -> IntArray:
    """The group of each bin.

    >>> _even_groups(np.array([10, 10, 80] + [10] * 20)).tolist()
    [0, 0, 1, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7]
    """
    middle = (np.cumsum(counts) - counts / 2) / max(int(counts.sum()), 1)
    _, numbers = np.unique(np.floor(MAX_GROUPS * middle), return_inverse=True)
    return numbers.astype(np.int64)

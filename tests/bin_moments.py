"""Mean and mean square of what bins hold, by their definition."""

from __future__ import annotations

import numpy as np

from cuts.data.bin_contents import Pieces
from cuts.data.table import Floats


def bin_moments(pieces: Pieces) -> tuple[Floats, Floats]:
    """Mean and mean square of the values of every bin."""
    weight = pieces.weights()
    unit = 1.0 if pieces.per_unit is None else float(pieces.per_unit)
    first = (pieces.low + pieces.high) / 2
    if pieces.per_unit is None:
        second = (pieces.low**2 + pieces.low * pieces.high + pieces.high**2) / 3
    else:
        count = pieces.high - pieces.low + 1.0
        second = first**2 + (count**2 - 1.0) / 12.0  # the variance of `count` neighbours
    bins = int(pieces.owner[-1]) + 1
    mean = np.bincount(pieces.owner, weight * first / unit, minlength=bins).astype(np.float64)
    square = np.bincount(pieces.owner, weight * second / unit**2, minlength=bins).astype(np.float64)
    return mean, square

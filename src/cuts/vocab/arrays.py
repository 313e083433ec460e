"""The few array operations numpy and torch spell differently; torch is never imported here."""

from __future__ import annotations

from typing import Any

import numpy as np


def ln(x: Any) -> Any:
    """Natural logarithm of a numpy array or a torch tensor."""
    return x.log() if hasattr(x, "log") else np.log(x)


def plogp(p: Any) -> Any:
    """`p log p`, with 0 log 0 = 0 and a finite gradient there."""
    return p * ln(p + (p == 0) * 1.0)


def double(x: Any) -> Any:
    """The same numbers in float64."""
    return x.double() if hasattr(x, "double") else np.asarray(x, dtype=np.float64)


def like(values: Any, x: Any) -> Any:
    """A float64 constant of the same library, and for torch on the same device, as `x`."""
    return x.new_tensor(values).double() if hasattr(x, "new_tensor") else np.asarray(values, dtype=np.float64)


def add_rows(count: int, index: Any, values: Any) -> Any:
    """`count` rows of zeros with `values[i]` added to row `index[i]`."""
    if hasattr(values, "new_zeros"):
        where = values.new_tensor(np.asarray(index)).long()
        return values.new_zeros((count, *values.shape[1:])).index_add(0, where, values)
    out = np.zeros((count, *values.shape[1:]))
    np.add.at(out, np.asarray(index), values)
    return out

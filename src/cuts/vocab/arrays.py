"""Array operations that numpy and torch spell differently; torch is never imported here."""

from __future__ import annotations

from typing import Any

import numpy as np


def ln(x: Any) -> Any:
    """Natural logarithm of a numpy array or a torch tensor."""
    return x.log() if hasattr(x, "log") else np.log(x)


def plogp(p: Any) -> Any:
    """`p log p`, with 0 log 0 = 0 and a finite gradient there."""
    return p * ln(p + (p == 0) * 1.0)


def exp(x: Any) -> Any:
    """Exponential of a numpy array or a torch tensor."""
    return x.exp() if hasattr(x, "exp") else np.exp(x)


def root(x: Any) -> Any:
    """Square root, with a finite gradient at 0."""
    zero = (x == 0) * 1.0
    shifted = x + zero
    return (shifted.sqrt() if hasattr(shifted, "sqrt") else np.sqrt(shifted)) - zero


def lesser(a: Any, b: Any) -> Any:
    """The elementwise minimum."""
    return a.minimum(b) if hasattr(a, "minimum") else np.minimum(a, b)


def greater(a: Any, b: Any) -> Any:
    """The elementwise maximum."""
    return a.maximum(b) if hasattr(a, "maximum") else np.maximum(a, b)


def only_where(test: Any, x: Any) -> Any:
    """`x` where the test holds, NaN elsewhere."""
    return x.where(test, float("nan")) if hasattr(x, "where") else np.where(test, x, np.nan)


def still(x: Any) -> Any:
    """The same values as a constant: no gradient flows through it."""
    return x.detach() if hasattr(x, "detach") else x


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

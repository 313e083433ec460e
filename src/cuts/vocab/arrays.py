"""The few array operations numpy and torch spell differently."""

from __future__ import annotations

from typing import Any

import numpy as np


def ln(x: Any) -> Any:
    """Natural logarithm of a numpy array or a torch tensor."""
    return x.log() if hasattr(x, "log") else np.log(x)


def plogp(p: Any) -> Any:
    """`p log p`, with 0 log 0 = 0 and a finite gradient there."""
    return p * ln(p + (p == 0) * 1.0)

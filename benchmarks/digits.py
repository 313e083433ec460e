"""Times and sizes with as many digits as they deserve."""

from __future__ import annotations


def digits(value: float) -> str:
    """A number with three significant digits, and all of those before the point.

    >>> [digits(value) for value in (0.00213, 0.5, 9.873, 63.12, 1082.6)]
    ['0.00213', '0.500', '9.87', '63.1', '1,083']
    """
    if abs(value) < 0.001:
        return f"{value:.2g}"
    for limit, places in ((0.01, 5), (0.1, 4), (1, 3), (10, 2), (100, 1)):
        if abs(value) < limit:
            return f"{value:.{places}f}"
    return f"{value:,.0f}"

"""Numbers on a lattice: `k / per_unit` for whole `k`, compared as the float64 numbers they are."""

from __future__ import annotations

from math import ceil, floor, inf, nextafter

_LARGEST_WHOLE = 2.0**53  # above this, float64 skips whole numbers


def at_least(value: float, per_unit: int | None) -> float:
    """The smallest lattice number not below `value`; without a lattice, `value` itself.

    >>> at_least(35.2, 1), at_least(0.3, 10), at_least(0.25, None)
    (36.0, 0.3, 0.25)
    """
    if per_unit is None or abs(value) * per_unit >= _LARGEST_WHOLE:
        return value
    k = floor(value * per_unit) - 1
    while k / per_unit < value:
        k += 1
    return k / per_unit


def after(value: float, per_unit: int | None) -> float:
    """The smallest lattice number above `value`; without a lattice, the next float64.

    >>> after(35.0, 1), after(35.5, 1), after(0.3, 10), after(1.0, None) > 1.0
    (36.0, 36.0, 0.4, True)
    """
    if per_unit is None or abs(value) * per_unit >= _LARGEST_WHOLE:
        return nextafter(value, inf)
    k = floor(value * per_unit) - 1
    while k / per_unit <= value:
        k += 1
    return k / per_unit


def before(value: float, per_unit: int | None) -> float:
    """The largest lattice number below `value`; without a lattice, the float64 before it.

    >>> before(36.0, 1), before(0.4, 10)
    (35.0, 0.3)
    """
    if per_unit is None or abs(value) * per_unit >= _LARGEST_WHOLE:
        return nextafter(value, -inf)
    k = ceil(value * per_unit) + 1
    while k / per_unit >= value:
        k -= 1
    return k / per_unit

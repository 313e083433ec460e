"""Bins of a number that follow from its range and kind alone, at the round numbers where people put their limits.

Most numbers have even bins whose edges are multiples of 1, 2 or 5 times a power of ten. Amounts, that is, numbers whose
range spans several decades from zero, crowd near zero: many rows have none, few have much. Zero has a bin of its own
there and bins widen with the amount, so that the long tail is not hundreds of bins of nothing but noise. Noisy counts
then tell which neighbours are joined (`grouping.py`).
"""

from __future__ import annotations

from math import ceil, floor, log10

from cuts.data.columns import Numeric

MAX_EVEN_BINS = 128
MAX_EVEN_BINS_OF_AMOUNTS = 32  # beside those that widen: no coarser than a number usually is
MIN_DECADES = 3  # of an amount, from the finest value to the largest
MAX_DECADES = 5  # in which bins widen; below, all is near zero
WIDENING = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)  # edges in each decade
ROUNDING = 1e-9  # relative


def natural_edges(column: Numeric) -> tuple[float, ...]:
    """The edges inside a column's range.

    >>> from cuts.data.columns import Integer
    >>> natural_edges(Integer("year", 1900, 2030))[:4]
    (1902.0, 1904.0, 1906.0, 1908.0)
    >>> natural_edges(Integer("gain", 0, 99_999))[:6], natural_edges(Integer("gain", 0, 99_999))[-3:]
    ((1.0, 1.2, 1.5, 2.0, 2.5, 3.0), (85000.0, 90000.0, 95000.0))
    """
    low, high = column.low, column.high
    if not (high - low) / MAX_EVEN_BINS > 0.0:  # a single value, or a range narrower than floats distinguish
        return ()
    finest = 0.0 if column.per_unit is None else 1.0 / column.per_unit
    largest = max(-low, high)
    is_amount = low <= 0 <= high and largest > finest * 10.0**MIN_DECADES
    step = max(_round_up((high - low) / (MAX_EVEN_BINS_OF_AMOUNTS if is_amount else MAX_EVEN_BINS)), finest)
    edges = {_rounded(place * step) for place in range(ceil(low / step), floor(high / step) + 1)}
    if is_amount:
        widening = _widening(max(finest, largest * 10.0**-MAX_DECADES), largest)
        edges |= {0.0, *widening, *(-edge for edge in widening)}
    return tuple(sorted(edge for edge in edges if low < edge <= high))


def _round_up(number: float) -> float:
    """The least of the round numbers 1, 2, 5, 10, 20, 50 and so on that is no less.

    >>> _round_up(3.0), _round_up(0.07), _round_up(20.0)
    (5.0, 0.1, 20.0)
    """
    power = floor(log10(number))
    candidates = [_scaled(step, place) for place in (power, power + 1) for step in (1.0, 2.0, 5.0)]
    return next(found for found in candidates if found >= number * (1.0 - ROUNDING))


def _rounded(number: float) -> float:
    """The number without the error of a product: 0.3 and not 0.30000000000000004."""
    return float(f"{number:.12g}")


def _widening(low: float, high: float) -> list[float]:
    """The edges from `low` to `high` that widen decade by decade."""
    edges = [_scaled(step, power) for power in range(floor(log10(low)), floor(log10(high)) + 1) for step in WIDENING]
    return [edge for edge in edges if low * (1.0 - ROUNDING) <= edge <= high]


def _scaled(number: float, power: int) -> float:
    """`number * 10^power`, as near as a float can be: 0.3 and not 0.30000000000000004."""
    return float(f"{number!r}e{power}")

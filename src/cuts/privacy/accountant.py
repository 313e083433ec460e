"""Privacy budgets in two currencies: (epsilon, delta), which people state, and rho of zCDP, in which reads add up.

zCDP and its composition are those of Bun and Steinke, "Concentrated Differential Privacy: Simplifications, Extensions,
and Lower Bounds" (2016; Definition 1.1, Lemma 1.7). The conversion to (epsilon, delta) is that of Canonne, Kamath and
Steinke, "The Discrete Gaussian for Differential Privacy" (2020, section 2.3). What may be spent is rounded down, what
was spent is rounded up, and OpenDP's own conversion has to agree.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import cache

RESERVED_SHARE = Fraction(1, 10**9)  # of a budget, never spent: OpenDP's running sum is rounded up
MAX_CONVERTED = 10_000.0  # rho that OpenDP converts
MAX_FLOAT = Fraction(sys.float_info.max)
ROUNDING = 1e-12  # relative, of a bound computed with floats
_BISECTIONS = 200


def delta_of(rho: float, epsilon: float) -> float:
    """The delta for which rho-zCDP implies (epsilon, delta): `min_a exp((a-1)(a rho - epsilon)) / (a-1) (1-1/a)^a`.

    The minimum is over orders `a > 1` of the Rényi divergence (Canonne, Kamath and Steinke 2020, section 2.3).

    >>> round(delta_of(1 / 32, 0.0), 11)
    0.15084578456
    """
    if rho <= 0:
        return 0.0
    low, high = 1.01, (epsilon + 1) / (2 * rho) + 2  # any order is valid; the best has slope zero
    for _ in range(_BISECTIONS):
        a = (low + high) / 2
        falling = (2 * a - 1) * rho - epsilon + math.log1p(-1 / a) < 0
        low, high = (a, high) if falling else (low, a)
    exponent = (low - 1) * (low * rho - epsilon) + low * math.log1p(-1 / low) - math.log(low - 1)
    return min(1.0, math.exp(min(exponent, 0.0)))


@cache
def rho_of(epsilon: float, delta: float) -> float:
    """The rho that (epsilon, delta) buys, rounded down so that it satisfies both this formula and OpenDP's.

    >>> round(rho_of(1.0, 1e-9), 12)
    0.014973057674
    """
    low, high = 0.0, epsilon + 1.0
    for _ in range(_BISECTIONS):
        rho = (low + high) / 2
        low, high = (rho, high) if delta_of(rho, epsilon) <= delta else (low, rho)
    while low > 0 and _epsilon(low, delta) > epsilon:
        low = math.nextafter(low, 0.0)
    return low


def epsilon_of(rho: Fraction, delta: float) -> float:
    """The epsilon that corresponds to rho at that delta, rounded up.

    OpenDP's conversion overflows for a large rho, such as the group privacy of many rows gives. Then it is the simpler
    bound `rho + 2 sqrt(rho log(1 / delta))` (Bun and Steinke 2016, Proposition 1.3).

    >>> round(epsilon_of(Fraction(1, 32), 1e-3), 6)
    0.688002
    """
    if rho == 0:
        return 0.0
    number = above(rho)
    if number <= MAX_CONVERTED:
        return _epsilon(number, delta)
    return (number + 2.0 * math.sqrt(number * math.log(1.0 / delta))) * (1.0 + ROUNDING)


def above(exact: Fraction) -> float:
    """The smallest float that is not below a fraction, which may be infinite."""
    if abs(exact) > MAX_FLOAT:
        return math.inf if exact > 0 else -sys.float_info.max
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def below(exact: Fraction) -> float:
    """The largest float that is not above a fraction."""
    if abs(exact) > MAX_FLOAT:
        return sys.float_info.max if exact > 0 else -math.inf
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, -math.inf)


def dyadic_above(scale: float, bits: int = 24) -> float:
    """A scale rounded up to `bits` significant bits, so that it is short to write and exact to read.

    >>> dyadic_above(91.16591234567), dyadic_above(0.5)
    (91.1659164428711, 0.5)
    """
    mantissa, exponent = math.frexp(scale)
    return math.ldexp(math.ceil(math.ldexp(mantissa, bits)), exponent - bits)


def _epsilon(rho: float, delta: float) -> float:
    """The epsilon of rho at that delta by OpenDP's conversion."""
    from opendp import combinators, domains, measurements, metrics  # loaded only when needed

    enable()
    scale = math.sqrt(1.0 / (2.0 * rho))
    while Fraction(1) / (2 * Fraction(scale) ** 2) < Fraction(rho):  # it costs at least rho
        scale = math.nextafter(scale, 0.0)
    space = domains.vector_domain(domains.atom_domain(T="i64")), metrics.l2_distance(T=float)
    measurement = combinators.make_zCDP_to_approxDP(measurements.make_gaussian(*space, scale=scale))
    return float(measurement.map(1.0).epsilon(delta))  # type: ignore[no-untyped-call]


@cache
def enable() -> None:
    """Let OpenDP build on our own stability maps, whose truth the sensitivity tests check."""
    from opendp.mod import enable_features

    enable_features("contrib", "honest-but-curious")

"""The noise scale of a private answer: from what it may cost, and from how much one person can change it."""

from __future__ import annotations

import math

from cuts.privacy.accountant import dyadic_above
from cuts.privacy.curator import GRID
from cuts.privacy.ledger import Terms


def gaussian_scale(cost: float, terms: Terms, tables: int = 1) -> float:
    """The noise scale at which `tables` tables together cost that much rho, rounded up.

    One table costs `rho = D^2 / (2 sigma^2)` with L2 sensitivity D (Bun and Steinke 2016, Proposition 1.6). All k rows
    of a person multiply D by k, and replacing a row instead of adding it by sqrt(2).
    """
    sensitivity = terms.max_rows_per_person * (math.sqrt(2.0) if terms.relation == "replace" else 1.0)
    return dyadic_above(sensitivity * math.sqrt(tables / (2.0 * cost)))


def gaussian_cost(sigma: float, terms: Terms) -> float:
    """The approximate rho of a table with that noise."""
    return (terms.max_rows_per_person / sigma) ** 2 * (1.0 if terms.relation == "replace" else 0.5)


def gumbel_scale(cost: float, terms: Terms, weight: int) -> float:
    """The noise scale at which selecting by scores of at most that weight costs that much rho, rounded up.

    The cost is `rho = D^2 / (2 s^2)` for scores that one unit moves by at most D.
    """
    sensitivity = terms.max_rows_per_person * (2 if terms.relation == "replace" else 1) * GRID * weight
    return dyadic_above(sensitivity / math.sqrt(2.0 * cost))

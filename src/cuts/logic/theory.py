"""Whether numbers exist inside given intervals of columns and of sums of columns.

Fourier-Motzkin elimination (Schrijver, "Theory of Linear and Integer Programming", section 12.2) in exact rational
arithmetic. Integer columns are treated as real ones, so "no" is certain, and "yes" may rarely mean that only fractions
fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from cuts.lang.spec import Linear

MAX_INEQUALITIES = 2_000  # of a system; above, the elimination stops and the answer is "yes"


@dataclass(frozen=True, slots=True)
class _AtMost:
    """`sum of coefficients times columns <= bound`, or `<` when `strict`."""

    coefficients: tuple[tuple[str, Fraction], ...]
    bound: Fraction
    strict: bool


@dataclass(frozen=True, slots=True)
class Stretch:
    """All numbers from `low` to `high`, without an end that is open."""

    low: float
    high: float
    low_open: bool = False
    high_open: bool = False


def fits(columns: Mapping[str, Stretch], sums: Mapping[Linear, Stretch]) -> bool:
    """Whether some values of the columns lie in all stretches at once.

    >>> form = Linear((("a", 1.0), ("b", -1.0)))
    >>> fits({"a": Stretch(10, 20), "b": Stretch(0, 5)}, {form: Stretch(-inf, 0)})
    False
    """
    system: set[_AtMost] = set()
    for name, stretch in columns.items():
        system |= _inequalities(((name, Fraction(1)),), stretch)
    for form, stretch in sums.items():
        system |= _inequalities(tuple((name, Fraction(value)) for name, value in form.terms), stretch)
    names = sorted({name for inequality in system for name, _ in inequality.coefficients})
    for name in names:
        system = _eliminate(system, name)
        if len(system) > MAX_INEQUALITIES:
            return True
    return all(inequality.bound > 0 or (inequality.bound == 0 and not inequality.strict) for inequality in system)


def _inequalities(terms: tuple[tuple[str, Fraction], ...], stretch: Stretch) -> set[_AtMost]:
    inequalities = set()
    if stretch.high < inf:
        inequalities.add(_AtMost(terms, Fraction(stretch.high), stretch.high_open))
    if stretch.low > -inf:
        inequalities.add(
            _AtMost(tuple((name, -value) for name, value in terms), -Fraction(stretch.low), stretch.low_open)
        )
    return inequalities


def _eliminate(system: set[_AtMost], name: str) -> set[_AtMost]:
    """The system without a column: every upper bound on the column is paired with every lower bound."""
    upper, lower, rest = [], [], set()
    for inequality in system:
        factor = dict(inequality.coefficients).get(name, Fraction(0))
        if factor > 0:
            upper.append((inequality, factor))
        elif factor < 0:
            lower.append((inequality, -factor))
        else:
            rest.add(inequality)
    for above, a in upper:
        for under, b in lower:
            both: dict[str, Fraction] = {}
            for inequality, factor in ((above, a), (under, b)):
                for column, value in inequality.coefficients:
                    both[column] = both.get(column, Fraction(0)) + value / factor
            terms = tuple(sorted((column, value) for column, value in both.items() if value != 0))
            rest.add(_AtMost(terms, above.bound / a + under.bound / b, above.strict or under.strict))
    return rest

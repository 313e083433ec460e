"""The delta of discovered categories against the exact tail of the noise, not against the library's own figure."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from types import ModuleType

import pytest
from scipy import stats

from cuts.privacy import core
from cuts.privacy.accountant import rho_of
from cuts.privacy.ledger import Event, ReleaseLedger, Terms
from cuts.privacy.noise_scale import gaussian_scale
from cuts.privacy.secret import Secret
from privacy.checks import RARELY, VARIANTS
from privacy.mutants import Mutant

ONE_TOO_HIGH = Mutant(
    "a threshold priced as if noisy counts had to exceed it",
    "cuts.privacy.core",
    "_, risk = above(threshold - 1).map(moves)",
    "_, risk = above(threshold).map(moves)",
)


def exact_tail(reached: int, sigma: float) -> float:
    """The probability that discrete Gaussian noise is `reached` or more: `exp(-x^2 / 2 sigma^2)` in proportion."""
    beyond = reached + math.ceil(40 * sigma) + 10
    reach = math.ceil(40 * sigma) + 10
    total = math.fsum(math.exp(-((x / sigma) ** 2) / 2) for x in range(-reach, reach + 1))
    return math.fsum(math.exp(-((x / sigma) ** 2) / 2) for x in range(reached, beyond)) / total


def exact_risk(event: Event, terms: Terms) -> float:
    """The probability that any text passes which only one unit has: at most as many texts as rows, all rows in each."""
    rows, replaces = terms.max_rows_per_person, terms.relation == "replace"
    texts = 2 * rows if replaces else rows
    alone = exact_tail(event.threshold - rows, event.scale)
    return -math.expm1(texts * math.log1p(-alone))


def charge(module: ModuleType, scale: float, delta: float, ledger: ReleaseLedger, texts: int = 0) -> tuple[Event, int]:
    """What a discovery among texts of one row each is charged, and how many of them it finds."""
    counts: Secret[dict[str, int]] = Secret({f"text {number}": 1 for number in range(texts)})
    events: list[Event] = []
    found, _ = module.discover(counts, "city", ledger, scale, delta, events.append)
    return events[0], len(found)


def generous(**terms: object) -> ReleaseLedger:
    """A ledger that covers any discovery, also of a large delta."""
    return ReleaseLedger(Terms(2e9, 0.9, **terms), Fraction(10**9), Fraction(1, 2))  # type: ignore[arg-type]


def check_charges_against_the_tail(module: ModuleType) -> None:
    """Every charge covers what a text of one unit alone can do, in ordinary settings and in extreme ones."""
    for scale, delta in product((0.3, 1.0, 2.0, 7.5, 60.0), (0.03, 1e-3, 1e-6, 1e-9, 1e-12)):
        for terms in VARIANTS:
            ledger = generous(**terms)
            event, _ = charge(module, scale, delta, ledger)
            exact = exact_risk(event, ledger.terms)
            assert exact * (1 - 1e-9) <= event.delta <= delta, f"scale {scale}, delta {delta}: {exact} is charged less"


def check_promised_delta(module: ModuleType) -> None:
    """Whatever the budget, delta for the conversion and delta of the discovery are the promised delta at most."""
    settings = product((0.5, 1.0, 3.0, 10.0), (1e-9, 1e-8, 1e-7, 1e-5), (0.05, 0.1, 0.2, 0.3), (1, 2, 8))
    for epsilon, delta, share, columns in settings:
        rho = rho_of(epsilon, delta * (1 - share))
        terms = Terms(epsilon, delta)
        scale = gaussian_scale(share * rho, terms, columns)
        event, _ = charge(module, scale, delta * share / columns, generous())
        assert delta * (1 - share) + columns * exact_risk(event, terms) <= delta * (1 + 1e-9), (epsilon, delta, share)


def check_pass_rate(module: ModuleType) -> None:
    """No more texts of one row pass than the charge says, but for chance."""
    for scale in (1.0, 2.0):
        event, found = charge(module, scale, 0.03, generous(), texts=20_000)
        assert stats.binom.sf(found - 1, 20_000, event.delta) > RARELY, f"{found} of 20,000 pass, not {event.delta}"


CHECKS = [check_charges_against_the_tail, check_promised_delta, check_pass_rate]


@pytest.mark.parametrize("check", CHECKS)
def test_discovery_is_charged_for_at_least_what_it_may_reveal(check: object) -> None:
    check(core)  # type: ignore[operator]


@pytest.mark.parametrize("check", CHECKS)
def test_a_threshold_priced_too_high_is_seen(check: object) -> None:
    with pytest.raises(AssertionError):
        check(ONE_TOO_HIGH.load())  # type: ignore[operator]

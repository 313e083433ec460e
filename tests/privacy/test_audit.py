"""T6: an adversary who knows all rows but one, and sees all answers, learns no more of it than was promised.

The one row has a level in every column that nobody else has. Releases of the table with it and without it are told
apart by the best statistic there is, the likelihood ratio of the canary's cells, and by others that would show a leak.
"""

from __future__ import annotations

import math

import numpy as np

from cuts.data.codec import Codes
from cuts.privacy.adaptive import AdaptiveSettings, release
from cuts.privacy.curator import Curator
from cuts.privacy.transcript import Transcript
from privacy.checks import Audit, audit, check_audit, epsilon_seen
from privacy.people import PEOPLE, independent, open_core, open_twin, opened, workload_of


def run(curator: Curator, rows: Codes, settings: AdaptiveSettings) -> Transcript:
    return release(curator, PEOPLE, workload_of(PEOPLE), independent, settings=settings)


def check_power(found: Audit) -> None:
    """The audit would have seen a leak: it sees most of what is promised to be all there is to see."""
    assert found.canary.mu + 4.75 * found.canary.error >= 0.8 * found.bound, f"the audit lost its power: {found}"


def test_the_core_tells_no_more_of_a_row_than_was_promised() -> None:
    # Few releases, for those of the core take long; at this epsilon they suffice to see half the noise (a mutant).
    found = audit(run, open_core, 150, opened(3.0, 0.01))
    print(f"core, 150 releases a side: {found}")
    check_audit(found)
    check_power(found)


def test_the_twin_tells_no_more_of_a_row_than_was_promised() -> None:
    found = audit(run, open_twin(), 300, opened(2.0, 0.01))
    print(f"twin, 300 releases a side: {found}")
    check_audit(found)
    check_power(found)


def test_a_row_replaced_is_protected_as_well() -> None:
    found = audit(run, open_twin(), 300, opened(1.0, 0.01, relation="replace"))
    check_audit(found)  # the neighbours here are nearer than any two tables of this relation


def test_clopper_and_pearson_find_the_epsilon_of_randomised_response() -> None:
    rng = np.random.default_rng(0)
    for epsilon in (0.5, 1.0, 2.0):
        truth = 1 / (1 + math.exp(-epsilon))
        without, with_ = (rng.random(200_000) < 1 - truth, rng.random(200_000) < truth)
        found = epsilon_seen(without.astype(float), with_.astype(float), delta=0.0, wrong=0.01)
        assert 0.9 * epsilon < found < epsilon


def test_what_cannot_be_told_apart_shows_no_epsilon() -> None:
    rng = np.random.default_rng(0)
    assert epsilon_seen(rng.normal(size=2_000), rng.normal(size=2_000), delta=0.01, wrong=0.01) == 0.0

"""T4: what is promised, what a read costs, and that reads together never cost more than was promised."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import dp_accounting
import numpy as np
import opendp.prelude as dp
import pytest
from dp_accounting import rdp
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.privacy.accountant import (
    MAX_CONVERTED,
    RESERVED_SHARE,
    above,
    delta_of,
    dyadic_above,
    enable,
    epsilon_of,
    rho_of,
)
from cuts.privacy.adaptive import DEFAULT_SETTINGS, release
from cuts.privacy.core import Core
from cuts.privacy.curator import Candidate
from cuts.privacy.ledger import Event, ReleaseLedger, Terms
from cuts.privacy.noise_scale import gaussian_scale
from cuts.privacy.query import Query, fine
from cuts.privacy.secret import Secret
from cuts.privacy.transcript import Choice, Transcript
from cuts.text.diagnostic import CutsError
from privacy.checks import VARIANTS, check_all_paid, check_costs
from privacy.people import (
    PEOPLE,
    Independent,
    counts_of,
    draw_people,
    empty_table,
    independent,
    open_core,
    open_twin,
    opened,
    plentiful,
    sizes_of,
    uniform,
    workload_of,
)
from privacy.twin import Twin, event

MAX_ROUND = Fraction(DEFAULT_SETTINGS.max_round_share)
MIN_ROUND = Fraction(DEFAULT_SETTINGS.min_round_share)
SINGLES = DEFAULT_SETTINGS.single_column_share
AMOUNTS = st.tuples(st.floats(0.01, 20.0), st.floats(-12.0, -1.0).map(lambda x: 10.0**x))

# --- epsilon and delta to rho and back


@pytest.mark.parametrize(
    ("epsilon", "delta", "rho"),
    [
        (0.5, 1e-9, "0.003953191141"),
        (1.0, 1e-9, "0.014973057674"),
        (1.0, 1e-5, "0.030556595198"),
        (3.0, 1e-9, "0.120582428911"),
        (10.0, 1e-9, "1.090785704397"),
    ],
)
def test_a_budget_buys_the_rho_of_the_table(epsilon: float, delta: float, rho: str) -> None:
    assert f"{rho_of(epsilon, delta):.12f}" == rho


def test_the_other_figures_of_the_table_come_out() -> None:
    assert f"{delta_of(1 / 32, 0.0):.11f}" == "0.15084578456"
    assert math.isclose(epsilon_of(Fraction(1, 32), 1e-3), 0.6880024554878085, rel_tol=1e-12)
    assert rho_of(1.0, 1e-9) <= 0.014973057673588518


def test_opendp_finds_the_same_noise_for_a_budget() -> None:
    enable()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    made = lambda scale: dp.c.make_fix_delta(  # noqa: E731
        dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale)), delta=1e-9
    )
    sigma = dp.binary_search_param(made, d_in=1.0, d_out=(1.0, 1e-9))
    assert math.isclose(sigma, 5.778694740372763, rel_tol=1e-12)
    assert math.isclose(1 / (2 * sigma**2), rho_of(1.0, 1e-9), rel_tol=1e-12)


@settings(max_examples=20)
@given(AMOUNTS)
def test_what_a_budget_buys_costs_no_more_than_the_budget(amounts: tuple[float, float]) -> None:
    epsilon, delta = amounts
    rho = rho_of(epsilon, delta)
    assert epsilon_of(Fraction(rho), delta) <= epsilon  # by OpenDP
    assert delta_of(rho, epsilon) <= delta  # by our formula
    assert delta_of(rho * 1.001, epsilon) > delta  # and hardly anything is given away


@settings(max_examples=20)
@given(AMOUNTS)
def test_rho_is_not_less_than_the_epsilon_of_an_independent_library_says(amounts: tuple[float, float]) -> None:
    epsilon, delta = amounts
    accountant = rdp.RdpAccountant()
    accountant.compose(dp_accounting.ZCDpEvent(rho_of(epsilon, delta)))
    found = accountant.get_epsilon(delta)  # its orders are few, so it is on the safe side of the truth
    assert epsilon * (1 - 1e-6) <= found <= epsilon * 1.1 + 0.01


def test_an_independent_library_adds_reads_up_to_the_same_epsilon() -> None:
    transcript = release(open_twin()(counts_of(draw_people(200, 0)), opened()), PEOPLE, workload_of(PEOPLE), uniform)
    accountant = rdp.RdpAccountant()
    for each in transcript.ledger.events:
        accountant.compose(dp_accounting.ZCDpEvent(float(each.cost)))
    found = accountant.get_epsilon(0.01)
    assert transcript.ledger.epsilon_spent <= 1.0
    assert transcript.ledger.epsilon_spent * (1 - 1e-6) <= found <= 1.02


@settings(max_examples=20)
@given(st.fractions(min_value=Fraction(1, 10**6), max_value=4), st.floats(1e-12, 0.1))
def test_what_was_spent_is_rounded_up(rho: Fraction, delta: float) -> None:
    assert Fraction(above(rho)) >= rho
    assert delta_of(float(rho) * (1 - 1e-12), epsilon_of(rho, delta)) <= delta


@given(st.floats(1e-6, 1e12))
def test_a_scale_is_rounded_up_to_few_bits(scale: float) -> None:
    found = dyadic_above(scale)
    assert scale <= found <= scale * (1 + 2**-22)
    assert math.ldexp(*math.frexp(found)) == found
    assert math.frexp(found)[0] * 2**24 == int(math.frexp(found)[0] * 2**24)


def test_aim_of_adult_has_the_noise_of_its_paper() -> None:
    rho, rounds, measuring = rho_of(1.0, 1e-9), 16 * 14, 0.9
    assert f"{math.sqrt(rounds / (2 * measuring * rho)):.4f}" == "91.1659"
    assert f"{math.sqrt(8 * (1 - measuring) * rho / rounds):.7f}" == "0.0073127"


# --- the ledger


def random_events(rng: np.random.Generator, ledger: ReleaseLedger) -> Iterator[Event]:
    """Reads that depend on what is left, as an adaptive schedule does; some are far too dear."""
    for _ in range(int(rng.integers(1, 9))):
        scale = math.sqrt(1 / (2 * float(ledger.rho))) * 2 ** rng.uniform(-1, 5)
        yield event("measure", scale, float(rng.choice([1.0, 2**0.5, 3.0])), ("x",))


def test_two_thousand_adaptive_schedules_stay_within_their_budget_exactly() -> None:
    rng = np.random.default_rng(5)
    refused = 0
    for _ in range(2_000):
        ledger = ReleaseLedger(Terms(100.0, 1e-9), Fraction(float(rng.uniform(0.001, 2.0))))
        for each in random_events(rng, ledger):
            if rng.random() < 0.2 and ledger.left > 0:  # all that is left, as near as a float comes to it
                each = event("select", math.sqrt(1 / (2 * float(ledger.left))), 1.0)
            if ledger.spent + each.cost <= ledger.rho * (1 - RESERVED_SHARE):
                ledger = ledger.charged(each)
            else:
                with pytest.raises(CutsError, match="budget"):
                    ledger.charged(each)
                refused += 1
            assert ledger.spent == sum((done.cost for done in ledger.events), Fraction(0)) <= ledger.rho
    assert refused > 100


def test_a_charge_below_what_its_noise_costs_is_refused() -> None:
    fair = event("measure", 20.0, 1.0, ("x",))
    with pytest.raises(ValueError, match="at least"):
        plentiful().charged(Event("measure", ("x",), 20.0, 1.0, fair.cost * Fraction(999, 1000)))


@pytest.mark.parametrize("verb", ["measure", "select"])
def test_what_the_budget_does_not_cover_is_refused_before_the_counts_are_touched(verb: str) -> None:
    touched: list[str] = []

    class Watched:
        """In the place of counts, it remembers who asked."""

        def table(self, clique: tuple[str, ...]) -> None:
            touched.append("".join(clique))
            raise RuntimeError("somebody looked at the counts")

    query = fine(("x",), {"x": 4})
    recorded: list[Event] = []
    core = Core(Secret(Watched()), ReleaseLedger(Terms(1.0, 1e-9), Fraction(1, 100)), recorded.append)  # type: ignore[arg-type]
    with pytest.raises(CutsError, match="budget"):
        _read(core, verb, query, scale=5.0)
    assert (touched, recorded, core.ledger.events) == ([], [], ())


@pytest.mark.parametrize("verb", ["measure", "select"])
def test_a_read_that_fails_stays_charged_and_says_nothing_of_the_counts(verb: str) -> None:
    class Broken:
        def table(self, clique: tuple[str, ...]) -> None:
            raise RuntimeError("12345 rows")

    recorded: list[Event] = []
    core = Core(Secret(Broken()), plentiful(), recorded.append)  # type: ignore[arg-type]
    with pytest.raises(CutsError) as raised:
        _read(core, verb, fine(("x",), {"x": 4}), scale=20.0)
    assert len(recorded) == 1
    assert core.ledger.events == tuple(recorded)
    assert "12345" not in f"{raised.value!s} {raised.value!r} {raised.value.__cause__!r}"
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_what_cannot_be_written_down_is_not_read() -> None:
    def full(_: Event) -> None:
        raise OSError("no space left")

    class Watched:
        def table(self, clique: tuple[str, ...]) -> None:
            raise AssertionError("read without being written down")

    core = Core(Secret(Watched()), plentiful(), full)  # type: ignore[arg-type]
    with pytest.raises(OSError, match="no space"):
        _read(core, "measure", fine(("x",), {"x": 4}), scale=20.0)
    assert len(core.ledger.events) == 1


def _read(core: Core, verb: str, query: Query, scale: float) -> None:
    if verb == "measure":
        core.measure(query, scale)
    else:
        core.select([Candidate(query, np.zeros(query.shape, dtype=np.int64), 1, 0)], 1024 * scale)


# --- what the core charges


def test_the_core_charges_what_neighbours_differ_in() -> None:
    check_costs(open_core, seed=6)


def test_the_twin_charges_what_neighbours_differ_in() -> None:
    check_costs(open_twin(), seed=6)


@pytest.mark.parametrize(
    ("terms", "measuring", "selecting"),
    [*zip(VARIANTS, (1, 9, 2, 18), (1, 9, 4, 36), strict=True)],
)
def test_three_rows_a_person_cost_nine_times_and_replacing_twice(
    terms: dict[str, object], measuring: int, selecting: int
) -> None:
    core = Core(Secret(empty_table(4)), plentiful(**terms))
    _read(core, "measure", fine(("x",), {"x": 4}), 20.0)
    _read(core, "select", fine(("x",), {"x": 4}), 20.0)
    measured, selected = (each.cost for each in core.ledger.events)
    assert math.isclose(measured, measuring / 800, rel_tol=1e-12)
    assert measured >= Fraction(measuring, 800)
    assert math.isclose(selected, selecting / 800, rel_tol=1e-12)
    assert selected >= Fraction(selecting, 800)


@pytest.mark.parametrize("terms", VARIANTS)
def test_the_ledger_and_opendp_agree_on_what_was_spent(terms: dict[str, object]) -> None:
    core = Core(Secret(counts_of(draw_people(50, 0))), plentiful(**terms))
    rng = np.random.default_rng(7)
    sizes = sizes_of(PEOPLE)
    for clique in workload_of(PEOPLE).candidates[:8]:
        _read(core, str(rng.choice(["measure", "select"])), fine(clique, sizes), float(rng.uniform(1, 50)))
        theirs = Fraction(core._filter.privacy_loss(core.ledger.terms.max_rows_per_person))
        # OpenDP adds floats, rounding up at every step; ours are exact, so they are a few units of rounding apart.
        assert core.ledger.spent <= theirs <= core.ledger.spent * (1 + len(core.ledger.events) * Fraction(1, 2**50))


def test_the_twin_costs_what_the_core_costs() -> None:
    counts = counts_of(draw_people(50, 0))
    for terms in VARIANTS:
        core, twin = Core(Secret(counts), plentiful(**terms)), Twin(counts, plentiful(**terms), 0)
        for curator in (core, twin):
            curator.measure(fine(("a", "b"), sizes_of(PEOPLE)), 7.7)
            curator.select([Candidate(fine(("a",), {"a": 3}), np.zeros(3, dtype=np.int64), 5, 9)], 3e4)
        for ours, exact in zip(core.ledger.events, twin.ledger.events, strict=True):
            assert (ours.kind, ours.clique, ours.scale, ours.sensitivity, ours.candidates) == (
                exact.kind,
                exact.clique,
                exact.scale,
                exact.sensitivity,
                exact.candidates,
            )
            assert exact.cost <= ours.cost <= exact.cost * (1 + Fraction(1, 2**50))


# --- what a release spends


class Moody:
    """A learner whose model moves as much as it is told to, round by round: any annealing can come of it."""

    def __init__(self, moods: tuple[float, ...]) -> None:
        self._moods = iter(moods)

    def __call__(self, measurements: object, groups: dict[str, tuple[int, ...]], before: object) -> Independent:
        lean = next(self._moods, 0.0)
        columns = {}
        for name, owner in groups.items():
            share = np.ones(max(owner) + 1)
            share[0] += 40 * lean
            columns[name] = share / share.sum()
        return Independent(columns)


def shares_of_rounds(transcript: Transcript) -> list[Fraction]:
    """What each round cost, as a share of the budget there was."""
    events, budget = transcript.ledger.events, transcript.ledger.rho * (1 - RESERVED_SHARE)
    first = next(place for place, each in enumerate(transcript.answers) if isinstance(each, Choice))
    return [(events[at].cost + events[at + 1].cost) / budget for at in range(first, len(events), 2)]


@pytest.mark.parametrize("terms", VARIANTS)
@settings(max_examples=15)
@given(
    moods=st.lists(st.sampled_from([0.0, 0.02, 0.1, 1.0]), max_size=60).map(tuple),
    rows=st.sampled_from([0, 5, 200, 5_000]),
    amounts=st.sampled_from([(1.0, 1e-9), (0.1, 1e-6), (8.0, 0.01)]),
)
def test_a_release_spends_its_budget_in_rounds_that_are_neither_dear_nor_cheap(
    terms: dict[str, object], moods: tuple[float, ...], rows: int, amounts: tuple[float, float]
) -> None:
    curator = open_twin()(counts_of(draw_people(rows, 0)), opened(*amounts, **terms))
    transcript = release(curator, PEOPLE, workload_of(PEOPLE), Moody(moods))
    check_all_paid(transcript)
    assert transcript.ledger.spent >= Fraction(999, 1000) * transcript.ledger.rho
    shares = shares_of_rounds(transcript)
    assert max(shares) <= MAX_ROUND * (1 + Fraction(1, 10**6)), "a round beyond the cap"
    assert min(shares) >= MIN_ROUND * (1 - Fraction(1, 10**5)), "a round not worth its while"
    assert transcript.ledger.epsilon_spent <= amounts[0]


def test_a_release_of_the_core_spends_its_budget_and_no_more() -> None:
    recorded: list[Event] = []
    core = Core(Secret(counts_of(draw_people(300, 0))), opened(1.0, 1e-9), recorded.append)
    transcript = release(core, PEOPLE, workload_of(PEOPLE), independent)
    check_all_paid(transcript)
    assert transcript.ledger.events == tuple(recorded)
    assert transcript.ledger.spent >= Fraction(999, 1000) * transcript.ledger.rho
    assert max(shares_of_rounds(transcript)) <= MAX_ROUND * (1 + Fraction(1, 10**6))


@pytest.mark.parametrize("terms", VARIANTS)
def test_the_tables_of_single_columns_cost_their_share(terms: dict[str, object]) -> None:
    curator = open_twin()(counts_of(draw_people(100, 0)), opened(**terms))
    transcript = release(curator, PEOPLE, workload_of(PEOPLE), uniform)
    singles = sum(each.cost for each in transcript.ledger.events[:4])
    assert math.isclose(singles / transcript.ledger.rho, SINGLES, rel_tol=1e-6)
    assert singles <= Fraction(SINGLES) * transcript.ledger.rho
    assert {each.scale for each in transcript.ledger.events[:4]} == {
        gaussian_scale(SINGLES * float(opened(**terms).left), transcript.ledger.terms, 4)
    }


def test_the_last_tables_are_no_giants() -> None:
    transcript = release(open_twin()(counts_of(draw_people(500, 0)), opened()), PEOPLE, workload_of(PEOPLE), uniform)
    last = shares_of_rounds(transcript)[-3:]
    assert max(last) <= MAX_ROUND * (1 + Fraction(1, 10**6))
    assert DEFAULT_SETTINGS.max_round_share == 0.05


@pytest.mark.parametrize("delta", [1e-9, 0.01])
def test_a_large_rho_has_an_epsilon_that_rises_from_where_opendp_ends(delta: float) -> None:
    rhos = [
        Fraction(MAX_CONVERTED),
        Fraction(MAX_CONVERTED) + 1,
        Fraction(70_284),
        Fraction(10**12),
        Fraction(10) ** 400,
    ]
    epsilons = [epsilon_of(rho, delta) for rho in rhos]
    assert epsilons == sorted(epsilons)
    assert all(epsilon > rho for epsilon, rho in zip(epsilons, rhos, strict=True))
    assert epsilons[1] < 1.01 * epsilons[0]  # the simpler bound is hardly larger
    assert epsilons[-1] == math.inf

"""One conformance suite for every measure: what fairlearn and scikit-learn say, its range, its direction, gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isinf, isnan, nan

import fairlearn.metrics as fair
import numpy as np
import pytest
import sklearn.metrics as known
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from cuts.vocab.fairness_measures import (
    FALSE_POSITIVE_RATE,
    TRUE_POSITIVE_RATE,
    deserving,
    everyone,
    fairness_measure,
    group_rates,
    undeserving,
)
from cuts.vocab.fairness_measures import chosen as is_chosen
from cuts.vocab.measures.downstream_cross_entropy import MIN_PROBABILITY
from cuts.vocab.names import fairness_measures, measures
from cuts.vocab.registry import Measure, Rate

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MEASURES = list(measures().values())
GAPS = list(fairness_measures())
PRECISION = Rate(event=deserving, among=is_chosen)
DECLARED = [  # what a package outside could declare: the laws of a gap hold for any rates
    fairness_measure("PREDICTIVE_PARITY", rates=(PRECISION,), meaning="", heading=""),
    fairness_measure("OVERALL", rates=(Rate(undeserving, among=is_chosen), TRUE_POSITIVE_RATE), meaning="", heading=""),
]
USES = [entry for entry in MEASURES if entry.kind == "UTILITY"]


def by_entry(entries: Sequence[Measure]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("entry", entries, ids=lambda entry: entry.name)


@dataclass(frozen=True)
class Rows:
    """What a classifier says of some rows and how likely it finds each class, what they are, and their groups."""

    chances: Floats
    predicted: Ints
    truth: Ints
    group: Ints
    classes: int
    groups: int

    def take(self, rows: Ints) -> Rows:
        known = (self.truth[rows], self.group[rows], self.classes, self.groups)
        return Rows(self.chances[rows], self.predicted[rows], *known)


@st.composite
def row_lists(draw: st.DrawFn) -> Rows:
    """Rows of 2 to 4 groups and classes; groups and classes may be without rows, or without some kind of them."""
    classes, groups = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    return random_rows(draw(st.integers(1, 40)), classes, groups, draw(st.integers(0, 2**32 - 1)))


def random_rows(rows: int, classes: int, groups: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.ones(classes), rows)
    truth, group = rng.integers(0, classes, rows), rng.integers(0, groups, rows)
    return Rows(chances, chances.argmax(1), truth, group, classes, groups)


def said(rows: Rows, *, certain: bool) -> tuple[Floats, Floats]:
    """What a measure of utility is given."""
    marks = np.eye(rows.classes)
    return marks[rows.predicted] if certain else rows.chances, marks[rows.truth]


def chosen(rows: Rows, *, certain: bool, desired: int = 1) -> tuple[Floats, Floats, Floats]:
    """What a measure of fairness is given."""
    choice = (rows.predicted == desired) * 1.0 if certain else rows.chances[:, desired]
    return choice, (rows.truth == desired) * 1.0, np.eye(rows.groups)[rows.group]


def arguments(entry: Measure, rows: Rows, *, certain: bool) -> tuple[Floats, ...]:
    return chosen(rows, certain=certain) if entry.kind == "FAIRNESS" else said(rows, certain=certain)


def value(entry: Measure, rows: Rows, *, certain: bool) -> float:
    return float(entry.formula(*arguments(entry, rows, certain=certain)))


# --- what others say

Oracle = Callable[[Rows], float]


def parity(rows: Rows) -> float:
    choice, deserving, _ = chosen(rows, certain=True)
    return float(fair.demographic_parity_difference(deserving, choice, sensitive_features=rows.group))


def opportunity(rows: Rows) -> float:
    choice, deserving, _ = chosen(rows, certain=True)
    return float(fair.equal_opportunity_difference(deserving, choice, sensitive_features=rows.group))


def odds(rows: Rows) -> float:
    choice, deserving, _ = chosen(rows, certain=True)
    return float(fair.equalized_odds_difference(deserving, choice, sensitive_features=rows.group))


def balanced(rows: Rows) -> float:
    """Recall of every class that has rows; scikit-learn warns of predictions of others."""
    present = np.unique(rows.truth)
    return float(known.recall_score(rows.truth, rows.predicted, labels=present, average="macro", zero_division=0))


def surprise(rows: Rows) -> float:
    """The logarithmic loss; a probability of 0 is taken for 1e-12 here, in scikit-learn for 2e-16."""
    given = np.clip(rows.chances, MIN_PROBABILITY, None)
    return float(known.log_loss(rows.truth, given / given.sum(1, keepdims=True), labels=np.arange(rows.classes)))


ORACLES: dict[str, tuple[Oracle, bool]] = {  # and whether it is about certain predictions
    "DEMOGRAPHIC_PARITY": (parity, True),
    "EQUALITY_OF_OPPORTUNITY": (opportunity, True),
    "EQUALIZED_ODDS": (odds, True),
    "DOWNSTREAM_ACCURACY": (lambda rows: float(known.accuracy_score(rows.truth, rows.predicted)), True),
    "DOWNSTREAM_BALANCED_ACCURACY": (balanced, True),
    "DOWNSTREAM_CROSS_ENTROPY": (surprise, False),
}


def defined(rows: Rows) -> bool:
    """Whether every group that is there has rows that deserve the outcome and rows that do not."""
    kinds = {(int(group), bool(truth == 1)) for group, truth in zip(rows.group, rows.truth, strict=True)}
    present = {group for group, _ in kinds}
    return len(present) > 1 and len(kinds) == 2 * len(present)


def test_every_measure_is_compared_with_another_library() -> None:
    assert set(ORACLES) == set(measures())


@by_entry(MEASURES)
def test_the_value_is_that_of_the_other_library(entry: Measure) -> None:
    oracle, certain = ORACLES[entry.name]
    tried = 0
    for seed in range(24):
        rows = random_rows(30 + 8 * seed, 2 + seed % 3, 2 + seed % 4, seed)
        if entry.kind == "FAIRNESS" and not defined(rows):
            continue  # fairlearn takes the rate of no rows for 0; ours is left out, see below
        assert value(entry, rows, certain=certain) == pytest.approx(oracle(rows), abs=1e-12)
        tried += 1
    assert tried > 16


def test_balanced_accuracy_is_that_of_scikit_learn_where_every_class_has_rows() -> None:
    for seed in range(10):
        rows = random_rows(60, 2 + seed % 3, 2, seed)
        assert set(rows.truth) == set(range(rows.classes))
        expected = known.balanced_accuracy_score(rows.truth, rows.predicted)
        assert value(measures()["DOWNSTREAM_BALANCED_ACCURACY"], rows, certain=True) == pytest.approx(expected)


# --- laws


@by_entry([*MEASURES, *DECLARED])
def test_the_value_lies_in_the_declared_range(entry: Measure) -> None:
    @settings(max_examples=60)
    @given(row_lists(), st.booleans())
    def check(rows: Rows, certain: bool) -> None:
        found = value(entry, rows, certain=certain)
        assert inside(entry, found) or (entry.kind == "FAIRNESS" and isnan(found))

    check()


def inside(entry: Measure, found: float) -> bool:
    return entry.range.low - 1e-12 <= found <= entry.range.high + 1e-12 and not isinf(found)


@by_entry([*MEASURES, *DECLARED])
def test_the_order_of_the_rows_does_not_matter(entry: Measure) -> None:
    @settings(max_examples=30)
    @given(row_lists(), st.integers(0, 2**32 - 1), st.booleans())
    def check(rows: Rows, seed: int, certain: bool) -> None:
        shuffled = rows.take(np.random.default_rng(seed).permutation(len(rows.truth)))
        assert_allclose(value(entry, shuffled, certain=certain), value(entry, rows, certain=certain), atol=1e-12)

    check()


@by_entry([*GAPS, *DECLARED])
def test_names_of_groups_do_not_matter_nor_do_groups_without_rows(entry: Measure) -> None:
    @settings(max_examples=30)
    @given(row_lists(), st.permutations(range(4)))
    def check(rows: Rows, order: list[int]) -> None:
        renamed = Rows(rows.chances, rows.predicted, rows.truth, np.array(order)[rows.group], rows.classes, 6)
        assert_allclose(value(entry, renamed, certain=True), value(entry, rows, certain=True), atol=1e-12)

    check()


@by_entry([*MEASURES, *DECLARED])
def test_numpy_and_torch_agree_and_gradients_are_finite(entry: Measure) -> None:
    @settings(max_examples=60)
    @given(row_lists(), st.booleans())
    def check(rows: Rows, certain: bool) -> None:
        first, *others = map(torch.as_tensor, arguments(entry, rows, certain=certain))
        first = first.clone().requires_grad_()
        found = entry.formula(first, *others)
        assert_allclose(float(found.detach()), value(entry, rows, certain=certain), atol=1e-12)
        if isnan(float(found.detach())):
            return
        (slope,) = torch.autograd.grad(found, first)
        assert torch.isfinite(slope).all()

    check()


@by_entry([*MEASURES, *DECLARED])
def test_the_gradient_is_the_slope(entry: Measure) -> None:
    for seed in range(5):
        rows = random_rows(40, 3, 3, seed)
        first, *others = map(torch.as_tensor, arguments(entry, rows, certain=False))
        at = first.clone().requires_grad_()
        (slope,) = torch.autograd.grad(entry.formula(at, *others), at)
        way = torch.as_tensor(np.random.default_rng(seed).normal(0, 1, tuple(first.shape)))
        ahead, behind = (entry.formula(first + step * way, *others) for step in (1e-6, -1e-6))
        assert float((slope * way).sum()) == pytest.approx(float(ahead - behind) / 2e-6, rel=1e-4, abs=1e-7)


@by_entry(MEASURES)
def test_chances_near_certainty_give_about_the_certain_value(entry: Measure) -> None:
    """One formula serves both: where all chances are 0 or 1 nothing is left between them."""
    for seed in range(10):
        rows = random_rows(50, 3, 3, seed)
        sharp = np.eye(3)[rows.predicted]
        at_ends = Rows(sharp, rows.predicted, rows.truth, rows.group, 3, 3)
        assert value(entry, at_ends, certain=False) == value(entry, at_ends, certain=True)
        close = Rows(0.999 * sharp + 0.001 / 3, rows.predicted, rows.truth, rows.group, 3, 3)
        if entry.name != "DOWNSTREAM_CROSS_ENTROPY":  # a logarithm has no limit at 0
            assert value(entry, close, certain=False) == pytest.approx(value(entry, rows, certain=True), abs=0.002)


# --- directions


def best_and_worst(rows: Rows) -> tuple[Rows, Rows]:
    """A classifier that is always right, and one that never is."""

    def says(predicted: Ints) -> Rows:
        return Rows(np.eye(rows.classes)[predicted], predicted, rows.truth, rows.group, rows.classes, rows.groups)

    return says(rows.truth), says((rows.truth + 1) % rows.classes)


@by_entry(USES)
def test_nothing_is_more_useful_than_being_right_or_less_than_being_wrong(entry: Measure) -> None:
    assert entry.direction in ("higher is more useful", "lower is more useful")
    sign = 1.0 if entry.direction == "higher is more useful" else -1.0
    end = entry.range.high if sign > 0 else entry.range.low
    for seed in range(10):
        rows = random_rows(30, 2 + seed % 3, 2, seed)
        best, worst = (value(entry, each, certain=True) for each in best_and_worst(rows))
        assert best == end
        assert sign * worst < sign * value(entry, rows, certain=True) < sign * best
        assert sign * worst < sign * value(entry, rows, certain=False) < sign * best


@by_entry(GAPS)
def test_choosing_nobody_everybody_or_by_lot_is_fair_and_by_group_is_not(entry: Measure) -> None:
    assert entry.direction == "lower is fairer"
    rows = random_rows(80, 2, 3, 5)
    _, deserving, members = chosen(rows, certain=True)
    for share in (0.0, 0.3, 1.0):
        assert float(entry.formula(np.full(80, share), deserving, members)) == pytest.approx(entry.range.low, abs=1e-12)
    assert float(entry.formula(members[:, 2], deserving, members)) == entry.range.high


def test_a_perfect_classifier_has_no_gap_among_the_deserving() -> None:
    right, _ = best_and_worst(random_rows(80, 2, 3, 5))
    assert value(measures()["EQUALITY_OF_OPPORTUNITY"], right, certain=True) == 0.0
    assert value(measures()["EQUALIZED_ODDS"], right, certain=True) == 0.0
    assert value(measures()["DEMOGRAPHIC_PARITY"], right, certain=True) > 0.0


# --- groups without rows of a kind


def table(*lines: tuple[int, int, int]) -> tuple[Floats, Floats, Floats]:
    """Rows of (chosen, deserving, group)."""
    choice, deserving, group = np.array(lines).T
    return choice * 1.0, deserving * 1.0, np.eye(3)[group]


def test_the_rate_of_a_group_without_rows_is_not_a_number() -> None:
    rows = table((1, 1, 0), (0, 0, 0), (1, 0, 1))
    assert_allclose(group_rates(TRUE_POSITIVE_RATE, *rows), [1.0, nan, nan])
    assert_allclose(group_rates(FALSE_POSITIVE_RATE, *rows), [0.0, 1.0, nan])
    assert_allclose(group_rates(PRECISION, *rows), [1.0, 0.0, nan])


@pytest.mark.parametrize("seed", range(8))
def test_a_rate_is_a_conditional_frequency(seed: int) -> None:
    rows = random_rows(60, 3, 3, seed)
    predicted, true = rows.predicted == 1, rows.truth == 1
    for rate, event, among in (
        (Rate(is_chosen, everyone), predicted, np.ones(60, dtype=bool)),
        (Rate(is_chosen, deserving), predicted, true),
        (Rate(is_chosen, undeserving), predicted, ~true),
        (PRECISION, true, predicted),
    ):
        expected = [event[among & (rows.group == group)].mean() for group in range(3)]
        assert_allclose(group_rates(rate, *chosen(rows, certain=True)), expected)


def test_the_precision_of_every_group_is_that_of_scikit_learn() -> None:
    rows = random_rows(200, 2, 3, 1)
    choice, worthy, members = chosen(rows, certain=True)
    expected = [known.precision_score(worthy[rows.group == g], choice[rows.group == g]) for g in range(3)]
    assert_allclose(group_rates(PRECISION, choice, worthy, members), expected)
    assert DECLARED[0].formula(choice, worthy, members) == pytest.approx(max(expected) - min(expected))


def test_a_measure_without_rates_is_refused() -> None:
    with pytest.raises(ValueError, match="compares no rates"):
        fairness_measure("NOTHING", rates=(), meaning="", heading="")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # group 1 has nobody who deserves it: left out among the deserving
        ([(1, 1, 0), (0, 0, 0), (1, 0, 1), (0, 1, 2)], (1.0, 1.0, 1.0)),
        # only group 0 has: no difference to take there, but there is one among the others
        ([(1, 1, 0), (0, 0, 0), (1, 0, 1), (1, 0, 2)], (0.5, nan, 1.0)),
        # and the other way round
        ([(1, 1, 0), (0, 0, 0), (1, 1, 1), (0, 1, 2)], (1.0, 1.0, 1.0)),
        # nobody deserves it
        ([(1, 0, 0), (0, 0, 1)], (1.0, nan, 1.0)),
        # everybody does
        ([(1, 1, 0), (0, 1, 1)], (1.0, 1.0, 1.0)),
        # one group only
        ([(1, 1, 0), (0, 0, 0)], (nan, nan, nan)),
    ],
)
def test_groups_without_rows_of_a_kind_are_left_out(
    lines: list[tuple[int, int, int]], expected: tuple[float, float, float]
) -> None:
    names = ("DEMOGRAPHIC_PARITY", "EQUALITY_OF_OPPORTUNITY", "EQUALIZED_ODDS")
    for each, wanted in zip(names, expected, strict=True):
        parts = table(*lines)
        assert_allclose(float(measures()[each].formula(*parts)), wanted)
        first, *others = map(torch.as_tensor, parts)
        assert_allclose(float(measures()[each].formula(first, *others)), wanted)


def test_the_gradient_is_finite_beside_a_group_without_rows() -> None:
    choice, deserving, members = map(torch.as_tensor, table((1, 1, 0), (0, 0, 0), (1, 1, 1), (0, 1, 0), (1, 0, 1)))
    soft = (0.8 * choice + 0.1).requires_grad_()
    for entry in GAPS:
        (slope,) = torch.autograd.grad(entry.formula(soft, deserving, members), soft)
        assert torch.isfinite(slope).all(), entry.name
        assert slope.abs().max() > 0


# --- chances that are said to be impossible


def test_what_was_said_to_be_impossible_costs_much_but_not_everything() -> None:
    entry = measures()["DOWNSTREAM_CROSS_ENTROPY"]
    impossible = float(entry.formula(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])))
    assert impossible == pytest.approx(-np.log(MIN_PROBABILITY))
    even = float(entry.formula(np.full((6, 3), 1 / 3), np.eye(3)[[0, 1, 2, 0, 1, 2]]))
    assert even == pytest.approx(np.log(3))

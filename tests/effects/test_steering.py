"""Laws of the feedback loop behind fairness, on plants whose answer is known."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.data.table import Floats
from cuts.effects.steering import (
    Evaluation,
    Problem,
    SteeringSettings,
    affordable_setting,
    broyden_update,
    combined_setting,
    damped_step,
    is_affordable,
    next_setting,
    residual,
    steer,
)

SETTINGS = SteeringSettings()
DAMPING = 1e-6  # so small that a step is a Newton step


class LinearPlant:
    """Gaps that follow the setting linearly, and an accuracy that falls with its distance from the start."""

    def __init__(self, jacobian: Floats, gaps: Floats, slope: float = 0.0) -> None:
        self.jacobian, self.start, self.slope = jacobian, gaps, slope
        self.tried: list[Evaluation] = []

    def evaluate(self, setting: Floats) -> Evaluation:
        gaps = self.start + self.jacobian @ setting
        accuracy = 0.9 - self.slope * float(np.abs(setting).sum())
        evaluation = Evaluation(setting, gaps, np.array([np.abs(gaps).max()]), np.array([accuracy]), np.ones(1))
        self.tried.append(evaluation)
        return evaluation


def problem(plant: LinearPlant, *, damping: float = DAMPING, budget: float = inf, limit: float = 0.95) -> Problem:
    size = plant.jacobian.shape[1]
    return Problem(
        aims=np.zeros(len(plant.start)),
        damping=np.full(size, damping),
        low=np.full(size, -limit),
        high=np.full(size, limit),
        max_measures=np.array([inf]),
        min_accuracies=np.array([0.9 - budget]),
        min_skills=np.array([0.3]),
    )


@st.composite
def plants(draw: st.DrawFn, slope: float = 0.0) -> LinearPlant:
    """Well-conditioned plants: each gap follows its own share most, as groups do."""
    size = draw(st.integers(1, 3))
    own = draw(st.lists(st.floats(0.5, 1.2), min_size=size, max_size=size))
    noise = draw(st.lists(st.floats(-0.1, 0.1), min_size=size * size, max_size=size * size))
    gaps = draw(st.lists(st.floats(-0.2, 0.2), min_size=size, max_size=size))
    return LinearPlant(np.diag(own) + np.array(noise).reshape(size, size), np.array(gaps), slope)


@given(plants())
@settings(max_examples=50)
def test_a_linear_plant_is_brought_to_its_aim_in_one_step_with_its_true_jacobian(plant: LinearPlant) -> None:
    first = plant.evaluate(np.zeros(plant.jacobian.shape[1]))
    asked = problem(plant)
    outcome = steer(asked, first, lambda: plant.jacobian, plant.evaluate)
    assert residual(outcome.chosen, asked) <= SETTINGS.close
    assert len(outcome.evaluations) <= 3  # the first, one step, the combination


@given(plants(), st.floats(0.6, 1.6))
@settings(max_examples=50)
def test_it_converges_from_a_jacobian_that_is_wrong(plant: LinearPlant, error: float) -> None:
    """The step is too short or too long by up to 60 %; Broyden's update makes up for it."""
    first = plant.evaluate(np.zeros(plant.jacobian.shape[1]))
    asked = problem(plant)
    outcome = steer(asked, first, lambda: error * plant.jacobian, plant.evaluate)
    assert residual(outcome.chosen, asked) <= max(SETTINGS.close, 0.1 * residual(first, asked))


@given(plants(slope=0.3), st.floats(0.0, 0.1))
@settings(max_examples=100)
def test_what_is_chosen_is_never_beyond_the_budget(plant: LinearPlant, budget: float) -> None:
    first = plant.evaluate(np.zeros(plant.jacobian.shape[1]))
    asked = problem(plant, budget=budget)
    outcome = steer(asked, first, lambda: plant.jacobian, plant.evaluate)
    assert is_affordable(outcome.chosen, asked)
    assert residual(outcome.chosen, asked) <= residual(first, asked)
    assert any(outcome.chosen is evaluation for evaluation in outcome.evaluations)


@given(plants(), st.integers(0, 5))
@settings(max_examples=50)
def test_no_more_trials_than_allowed_and_none_outside_the_limits(plant: LinearPlant, trials: int) -> None:
    first = plant.evaluate(np.zeros(plant.jacobian.shape[1]))
    asked = problem(plant, limit=0.05)
    if trials == 0:
        return
    steer(asked, first, lambda: plant.jacobian, plant.evaluate, SteeringSettings(max_trials=trials))
    assert len(plant.tried) <= 1 + trials + 1 + SETTINGS.max_retreats
    assert all((np.abs(evaluation.setting) <= 0.05 + 1e-12).all() for evaluation in plant.tried)


def test_nothing_is_tried_where_the_gaps_are_close_already() -> None:
    plant = LinearPlant(np.eye(1), np.array([SETTINGS.close / 2]))
    first = plant.evaluate(np.zeros(1))

    def never() -> Floats:
        raise AssertionError("no Jacobian is needed")

    outcome = steer(problem(plant), first, never, plant.evaluate)
    assert outcome.chosen is first
    assert outcome.evaluations == (first,)


@given(plants())
@settings(max_examples=50)
def test_broydens_update_explains_the_step_it_saw(plant: LinearPlant) -> None:
    """The full update satisfies the secant equation J s = dg, and changes nothing across the step."""
    size = plant.jacobian.shape[1]
    before, after = plant.evaluate(np.zeros(size)), plant.evaluate(np.full(size, 0.1))
    guess = np.eye(size)
    updated = broyden_update(guess, before, after, SteeringSettings(update_rate=1.0))
    step = after.setting - before.setting
    np.testing.assert_allclose(updated @ step, after.gaps - before.gaps, atol=1e-12)
    across = np.zeros(size)
    if size > 1:
        across[0], across[1] = step[1], -step[0]
    np.testing.assert_allclose(updated @ across, guess @ across, atol=1e-12)
    assert broyden_update(guess, before, before, SETTINGS) is guess


@given(plants(), st.floats(0.001, 10.0))
@settings(max_examples=50)
def test_more_damping_is_a_shorter_step_that_still_descends(plant: LinearPlant, damping: float) -> None:
    first = plant.evaluate(np.zeros(plant.jacobian.shape[1]))
    short, longer = (damped_step(first, problem(plant, damping=d), plant.jacobian) for d in (2 * damping, damping))
    assert np.linalg.norm(short) <= np.linalg.norm(longer) + 1e-12
    descent = plant.jacobian.T @ (0.0 - first.gaps)
    assert short @ descent >= 0


@given(plants())
@settings(max_examples=50)
def test_the_combination_lies_between_the_settings_tried(plant: LinearPlant) -> None:
    size = plant.jacobian.shape[1]
    asked = problem(plant)
    evaluations = [plant.evaluate(np.zeros(size))]
    for _ in range(2):
        evaluations.append(plant.evaluate(next_setting(evaluations[-1], asked, 2.0 * plant.jacobian, SETTINGS)))
    combined = combined_setting(evaluations, asked, plant.jacobian, SETTINGS)
    tried = np.stack([evaluation.setting for evaluation in evaluations])
    assert (combined >= tried.min(0) - 1e-12).all()
    assert (combined <= tried.max(0) + 1e-12).all()


@given(plants(slope=0.5), st.floats(0.0, 0.2))
@settings(max_examples=50)
def test_a_setting_is_taken_back_along_the_way_until_it_is_affordable(plant: LinearPlant, budget: float) -> None:
    size = plant.jacobian.shape[1]
    evaluations = [plant.evaluate(np.zeros(size)), plant.evaluate(np.full(size, 0.4))]
    asked = problem(plant, budget=budget)
    setting = affordable_setting(evaluations, evaluations[1].setting, asked)
    assert is_affordable(plant.evaluate(setting), asked)
    assert np.allclose(setting, setting[0])  # on the line between both
    assert (setting <= 0.4 + 1e-12).all()


@pytest.mark.parametrize("left", [0.0, 0.2])
def test_a_setting_at_which_classifiers_know_little_is_stepped_back_from_and_not_chosen(left: float) -> None:
    """A classifier that predicts one class for nearly all rows treats groups alike: its gap alone would be the best."""
    plant = LinearPlant(np.eye(1), np.array([0.3]))

    def evaluate(setting: Floats) -> Evaluation:
        found = plant.evaluate(setting)
        too_far = bool(setting[0] < -0.2)
        return replace(found, gaps=np.zeros(1), measures=np.zeros(1), skills=np.array([left])) if too_far else found

    outcome = steer(problem(plant), evaluate(np.zeros(1)), lambda: plant.jacobian, evaluate)
    assert any(evaluation.skills[0] == left for evaluation in outcome.evaluations)
    assert outcome.chosen.skills[0] == 1.0
    assert abs(outcome.chosen.gaps[0]) < 0.2


def test_classifiers_that_knew_nothing_at_the_start_keep_no_setting_from_being_tried() -> None:
    plant = LinearPlant(np.eye(1), np.array([0.3]))

    def evaluate(setting: Floats) -> Evaluation:
        return replace(plant.evaluate(setting), skills=np.zeros(1))

    outcome = steer(problem(plant), evaluate(np.zeros(1)), lambda: plant.jacobian, evaluate)
    assert abs(outcome.chosen.gaps[0]) <= SETTINGS.close

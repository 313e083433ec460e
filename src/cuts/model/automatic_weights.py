"""Automatic weights: how hard each goal pulls while training.

A weight is counted in gradients of the fit: at 1 a goal pulls as hard as the fit does, whatever its unit. It follows
the violation `v_t`, counted in tolerances and cut off at `max_violation`, as a proportional-integral (PI) controller:

    w_t = K_p v_t + s_t,    s_t = s_{t-1} + K_i v_t  while violated,    s_t = decay * s_{t-1}  once met.

The leak in the integral, `decay`, lets go of a goal that is met.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WeightControllerSettings:
    """The gains of a controller."""

    proportional_gain: float = 0.5
    integral_gain: float = 0.05  # per step
    decay: float = 0.98  # factor on the integral per step in which the goal is met
    max_violation: float = 3.0  # tolerances; a larger violation does not pull harder


CONTROLLER_SETTINGS = WeightControllerSettings()


class WeightController:
    """The weights of some goals, step by step."""

    def __init__(self, goals: int, settings: WeightControllerSettings = CONTROLLER_SETTINGS) -> None:
        self._settings = settings
        self._integrals = [0.0] * goals

    def weigh(self, violations: Sequence[float]) -> list[float]:
        """The weights for the next step, in gradients of the fit; one violation per goal, in tolerances.

        >>> controller = WeightController(2)
        >>> first, second = controller.weigh([0.0, 2.0]), controller.weigh([0.0, 2.0])
        >>> first[0], second[1] > first[1] > 1.0
        (0.0, True)
        """
        gains = self._settings
        weights = []
        for goal, violation in enumerate(violations):
            limited = min(violation, gains.max_violation)
            integral = self._integrals[goal]
            self._integrals[goal] = integral + gains.integral_gain * limited if limited > 0 else gains.decay * integral
            weights.append(gains.proportional_gain * limited + self._integrals[goal])
        return weights

"""Weights that find themselves: how hard each goal is pulled at while training.

A weight is counted in the gradient of the fit: at 1 a goal pulls as hard as the fit does, whatever its unit. It follows
the violation, counted in tolerances, as a thermostat follows a temperature: in proportion, plus what has added up while
the goal was not met; when it is met, that slowly fades.
"""

from __future__ import annotations

from collections.abc import Sequence

PROPORTIONAL = 0.5
INTEGRAL = 0.05
FADING = 0.98  # of what has added up, a step in which the goal is met
FAR = 3.0  # tolerances; further away does not pull harder


class Controller:
    """The weights of some goals, step by step."""

    def __init__(self, goals: int) -> None:
        self._added_up = [0.0] * goals

    def weigh(self, violations: Sequence[float]) -> list[float]:
        """The weights for the next step, in gradients of the fit.

        >>> thermostat = Controller(2)
        >>> first, second = thermostat.weigh([0.0, 2.0]), thermostat.weigh([0.0, 2.0])
        >>> first[0], second[1] > first[1] > 1.0
        (0.0, True)
        """
        found = []
        for place, violation in enumerate(violations):
            near = min(violation, FAR)
            held = self._added_up[place]
            self._added_up[place] = held + INTEGRAL * near if near > 0 else FADING * held
            found.append(PROPORTIONAL * near + self._added_up[place])
        return found

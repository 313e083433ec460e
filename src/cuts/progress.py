"""What long work reports while it goes on; whoever shows it needs no torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class FitStep:
    """How far a fit is: the step, the maximum number of steps, the mean total variation of the tables so far."""

    step: int
    steps: int
    error: float


@dataclass(frozen=True, slots=True)
class Round:
    """How far a private release is: the share of the budget spent, and what was measured last."""

    number: int
    spent: float  # share of the budget
    clique: tuple[str, ...]
    sigma: float


@dataclass(frozen=True, slots=True)
class Observer:
    """Functions that are called as the work goes on: at a new stage, for rows counted, steps of a fit, private rounds.

    By default nothing is reported.
    """

    stage: Say = lambda _: None
    counted: Callable[[int], None] = lambda _: None
    fitted: Callable[[FitStep], None] = lambda _: None
    measured: Callable[[Round], None] = lambda _: None

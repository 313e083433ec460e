"""What long work reports while it goes on; whoever shows it needs no torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cuts.text.diagnostic import Diagnostic
from cuts.text.source import Source

Say = Callable[[str], None]
Advanced = Callable[[float], None]


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
    """Functions that are called as the work goes on; by default nothing is reported.

    They hear of the next stage, the rows counted so far, steps of a fit, private rounds, warnings about the program,
    the rows and the fit, what has been spent on private data so far, how much of a stage is done (from 0 to 1), and the
    rows drawn so far, of how many.
    """

    stage: Say = lambda _: None
    counted: Callable[[int], None] = lambda _: None
    fitted: Callable[[FitStep], None] = lambda _: None
    measured: Callable[[Round], None] = lambda _: None
    warned: Callable[[Sequence[Diagnostic], Source], None] = lambda _, __: None
    spent: Say = lambda _: None
    advanced: Advanced = lambda _: None
    drawn: Callable[[int, int], None] = lambda _, __: None

    def part(self, index: int, count: int) -> Observer:
        """The observer of one of several equal parts of a stage, a fit, say: of its steps the share done is heard."""

        def advanced(share: float) -> None:
            self.advanced((index + share) / count)

        return Observer(advanced=advanced, fitted=lambda last: advanced(last.step / last.steps))

"""What is known of how a model was made: the fit, and what each kind of command changed in it."""

from __future__ import annotations

from dataclasses import dataclass

from cuts.lang.spec import Key
from cuts.model.group_shares import GroupShare
from cuts.plan import Way


@dataclass(frozen=True, slots=True)
class CommandWay:
    """The way in which a command was met."""

    number: int
    line: int
    way: Way


@dataclass(frozen=True, slots=True)
class RuleFacts:
    """One rule, as shares of rows: of the real ones, of the model's before and after it was shaped by the rules.

    `applicable` shares are of the rows an implication is about, NaN if there are none. Where `after` is below 1, as in
    a program that conditions, the diagram does the rest: all rows drawn satisfy the rule.
    """

    line: int
    real: float
    real_applicable: float
    before: float
    before_applicable: float
    after: float


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a command: in the real rows, and in the model before and after the command was met.

    `key` names the comparison (`lang/comparisons.py`); of one between two statistics the number is their difference.
    """

    key: Key
    real: float
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class GoalFacts:
    """One command about statistics: its number in the program, its line, and its numbers."""

    number: int
    line: int
    numbers: tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """How far a number was pushed, and what that left of the utility."""

    value: float
    utility: float


@dataclass(frozen=True, slots=True)
class TradeOff:
    """The trials of one command, the furthest last, the utility without it, and the value that was chosen."""

    line: int
    start: Trial
    trials: tuple[Trial, ...]
    chosen: float


@dataclass(frozen=True, slots=True)
class Memory:
    """How much rows of a model resemble the rows it was fitted to, compared with as many rows it has not seen."""

    nearer: float  # share of drawn rows closer to a fitted row than to an unseen one; 0.5 is ideal
    copies: float  # share of drawn rows that copy a fitted row
    unseen_copies: float  # the same for unseen rows


@dataclass(frozen=True, slots=True)
class Facts:
    """How a model was made."""

    rows: int  # fitted to, and drawn unless another number is asked for
    error: float  # mean total variation of the tables fitted to, after the row rules were enforced
    steps: int
    smoothing: float
    seed: int
    version: str
    cpu_seconds: float = 0.0  # of the fit; times are not written: equal models are equal files
    shape_seconds: float = 0.0  # CPU, of enforcing the row rules
    moved: float = 0.0  # cells of a row that the row rules changed, on average
    rules: tuple[RuleFacts, ...] = ()
    goal_seconds: float = 0.0  # CPU, of moving the statistics
    goals: tuple[GoalFacts, ...] = ()
    trade_offs: tuple[TradeOff, ...] = ()
    group_shares: tuple[GroupShare, ...] = ()
    ways: tuple[CommandWay, ...] = ()
    memory: Memory | None = None  # of a trial model of a part of the rows; None if none was made
    error_floor: float | None = None  # the error that sampling noise alone gives; None for a private model
    failed: bool = False  # whether the fit, before any command, is far above that
    furthest: tuple[str, ...] = ()  # columns furthest from their counts, if it failed
    acceptance: float | None = None  # share of a network's rows that satisfy all row rules; None if none are rejected

    @property
    def numbers(self) -> dict[Key, float]:
        """The model's numbers, of all commands about statistics."""
        return {number.key: number.after for goal in self.goals for number in goal.numbers}

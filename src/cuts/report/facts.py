"""What a report says: one immutable value, of which the HTML page and the JSON twin are two renderings.

Numbers are shown as people write them and kept as they are: a `Figure` has both. Whatever is None was not computed;
`left_out` says why. Nothing here needs a model or rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cuts.assess.discriminator import Discriminator
from cuts.assess.downstream import Score
from cuts.assess.drift import Drift
from cuts.assess.fairness import Fairness
from cuts.assess.histograms import ColumnKind as ColumnKind
from cuts.assess.histograms import Distribution as Distribution
from cuts.assess.leakage import Leakage
from cuts.assess.pairs import Matrix as Matrix
from cuts.assess.pairs import PairDifference as PairDifference

Outcome = Literal["holds", "fails", "measured", "no rows"]  # "measured": a number without a target


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, and the way people write it; NaN is never kept: an undefined number is None."""

    value: float | None
    text: str


@dataclass(frozen=True, slots=True)
class CommandNumber:
    """One number that a command is about: in the real rows, in the model before, and in the table after.

    A row rule has one: the share of rows that satisfy it. `range` is the 95 % range of a new sample, or of a
    classifier's measure the 95 % bootstrap interval.
    """

    name: str
    real: Figure | None
    before: Figure | None
    after: Figure
    target: str  # e.g. "== 0", "<= 0.01", "every row"; empty if there is none
    tolerance: Figure | None
    range: str
    holds: bool | None


@dataclass(frozen=True, slots=True)
class CommandFacts:
    """One command: its verdict, what is promised for it, how it was met, its numbers and its price.

    The price is the share of utility (accuracy, or closeness without a label) that meeting the command took.
    """

    line: int
    command: str
    level: str  # "row", "table", "model" or "privacy"
    outcome: Outcome
    promise: str
    how: str
    numbers: tuple[CommandNumber, ...]
    price: Figure | None
    note: str
    broken_by: tuple[str, ...]  # rows that break it, in words; empty in private programs


@dataclass(frozen=True, slots=True)
class Likeness:
    """How the table compares with the real rows."""

    discriminator: Discriminator | None
    drifts: tuple[Drift, ...]
    distributions: tuple[Distribution, ...]
    pairs: tuple[PairDifference, ...]  # the furthest above their floor first
    dependence: Matrix  # Cramér's V on bins, 0 to 1
    correlations: Matrix | None  # of numeric columns; None if there are fewer than two


@dataclass(frozen=True, slots=True)
class PanelLine:
    """One learner trained on the table for a command about classifiers."""

    line: int
    command: str
    learner: str
    value: Figure
    interval: str
    accuracy: Figure
    decides: bool


@dataclass(frozen=True, slots=True)
class TradeOffPoint:
    """A value of the measure, and the utility at it."""

    value: float
    utility: float


@dataclass(frozen=True, slots=True)
class TradeOffFacts:
    """What a better value of a command's measure costs: the start, the trials, and the value that was chosen."""

    line: int
    command: str
    measure: str
    utility: str  # what the utility is, in words
    start: TradeOffPoint
    trials: tuple[TradeOffPoint, ...]
    chosen: float


@dataclass(frozen=True, slots=True)
class Classifiers:
    """Classifiers trained on the table: for the commands, and to predict the label, beside the same on real rows."""

    panel: tuple[PanelLine, ...]
    panel_rows: str  # which rows they were tested on, in words
    trade_offs: tuple[TradeOffFacts, ...]
    target: str | None
    scores: tuple[Score, ...]
    fairness: Fairness | None
    tested_on: str  # which rows the scores are on, in words


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    """Whether rows were memorised. With unseen rows: nearness and copies; without: copies and their yardstick.

    `twins` is the share of real rows that equal another real row; `trial` what was found while the model was fitted.
    """

    copies: float | None
    twins: float | None
    leakage: Leakage | None
    trial: str
    smoothing: float
    real_rows: int = 0  # that were searched for copies: a sample of a large table


@dataclass(frozen=True, slots=True)
class Charge:
    """One entry of the ledger: what was read, with which noise, and its cost."""

    what: str
    count: int
    noise: str
    rho: str
    share: float  # of the budget


@dataclass(frozen=True, slots=True)
class Known:
    """How well a column is known from noisy counts."""

    column: str
    bins: int
    error: Figure
    moved: float
    is_good: bool


@dataclass(frozen=True, slots=True)
class PrivacyFacts:
    """The guarantee in words, what was charged for it, and how well the columns are known."""

    promise: str
    epsilon: float
    delta: float
    epsilon_spent: float
    charges: tuple[Charge, ...]
    known: tuple[Known, ...]


@dataclass(frozen=True, slots=True)
class ColumnBecame:
    """What became of a column: its kind, its values, how many bins, and remarks (rare values, formulas, ties)."""

    name: str
    kind: str
    values: str
    bins: int
    role: str  # "label", "protected", "identifier" or ""
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fingerprints:
    """SHA-256 of what decides the table; equal ones mean equal inputs."""

    program: str
    schema: str
    model: str


@dataclass(frozen=True, slots=True)
class RunFacts:
    """How the run was made; times are empty for a private program, because they may depend on the rows."""

    program: str
    seed: int
    rows: int
    output: str
    backbone: str
    components: int
    fit_error: Figure
    fit_error_floor: Figure | None
    fit_failed: bool
    steps: int
    selection: str  # how rows were selected, in words
    settings: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]
    seconds: tuple[tuple[str, float], ...]  # CPU, by stage
    fingerprints: Fingerprints


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a report says."""

    table: str
    created: str  # ISO 8601, UTC
    rows: int
    real_rows: int  # of a private program the noisy estimate
    columns: tuple[ColumnBecame, ...]
    holds: bool
    commands: tuple[CommandFacts, ...]
    likeness: Likeness | None
    classifiers: Classifiers | None
    memory: MemoryFacts | None
    privacy: PrivacyFacts | None
    run: RunFacts
    left_out: tuple[str, ...]  # sections that are missing, each with the reason
    stamp: str  # whether this contains statistics of real rows, in words

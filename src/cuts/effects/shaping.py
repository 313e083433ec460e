"""What the passes over a model work with: what is known of the rows, and the model on its way."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cuts.assess.features import MAX_ROWS
from cuts.assess.panel import ReferenceRows
from cuts.config import Config
from cuts.count.marginals import Marginals
from cuts.data.codec import Codec, Codes
from cuts.data.table import Table
from cuts.effects.trials import Track
from cuts.lang.spec import Bound
from cuts.model.box_counts import BoxCounts
from cuts.model.budget_utility import Reference, Utility, find_utility
from cuts.model.cells import Statistics
from cuts.model.facts import CommandWay
from cuts.model.shape import Refit
from cuts.model.slice_groups import slice_groups
from cuts.model.store import Model
from cuts.plan import Plan, Way
from cuts.progress import Observer


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What is known of the rows a program is about: the plan settled on their bins, a sample of them, their counts."""

    plan: Plan
    codec: Codec
    sample: Table
    codes: Codes  # of the sample
    counts: Marginals
    label: str | None
    config: Config
    seed: int
    smoothing: float = 0.0  # that the free model was fitted with
    boxes: BoxCounts | None = None  # that it was fitted to

    def refit(self, observer: Observer) -> Refit:
        """What fitting a mixture again needs."""
        groups = slice_groups(self.counts, self.codec)
        return Refit(
            self.counts, self.label, self.config, self.seed, observer.fitted, groups, self.boxes, self.smoothing
        )

    def utility(self) -> Utility:
        """What the budgets of commands are counted in."""
        reference = None if self.label is None else Reference(self.codes, self.label)
        return find_utility(reference, self.refit(Observer()))


@dataclass(frozen=True, slots=True, eq=False)
class Shaping:
    """A model on its way through the passes; `rows` is how many will be drawn from it.

    `base` is the model before its statistics were met: steering meets them again with the group rates of each trial.
    """

    model: Model
    learned: Learned
    rows: int
    observer: Observer
    stats: Statistics
    base: Model

    @property
    def plan(self) -> Plan:
        """The ways of all commands."""
        return self.learned.plan

    def track(self) -> Track:
        """Where classifiers are tried."""
        learned = self.learned
        reference = ReferenceRows(learned.sample, learned.codec.schema)
        return Track(reference, learned.codes, min(self.rows, MAX_ROWS), learned.seed)

    def met(self, model: Model, commands: tuple[Bound, ...], way: Way) -> Shaping:
        """The same with a model in which some commands were met that way."""
        ways = tuple(CommandWay(command.origin.number, command.origin.line, way) for command in commands)
        return replace(self, model=replace(model, facts=replace(model.facts, ways=(*model.facts.ways, *ways))))

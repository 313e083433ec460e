"""What is met in closed form: the targets of some commands, the classes components are split by, and what is held.

A command whose statistics distinguish too many classes is met with coarse ones (`model/coarse.py`). Its numbers are met
exactly all the same; only the distribution that has them is not the very nearest. The mean and the deviation of both
columns of a covariance or correlation are held then, and so is the share of rows of its condition: the correlation is
meant to move, not the columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite

from cuts.data.schema import Schema
from cuts.lang.spec import Const, Statistic
from cuts.lang.targets import Target, Targets, nearest_targets, violation
from cuts.lang.tolerance import default_tolerance
from cuts.lang.walks import columns_of, statistics_of
from cuts.logic.splits import Classes, find_coarse_splits, find_splits, join_classes
from cuts.model.cells import Statistics
from cuts.model.coarse import group_bins
from cuts.model.mixture import Mixture
from cuts.model.tilt import COARSE_SETTINGS, TILT_SETTINGS, Tilted, tilt
from cuts.vocab.names import statistics

MAX_COARSE_MISS = 1.0  # tolerances from its aim, up to which selecting rows makes up for a coarse tilt
MAX_COARSE_NATS = 2.0  # relative entropy of a coarse tilt; further away training changes the columns less


@dataclass(frozen=True, slots=True, eq=False)
class ClosedForm:
    """The targets met in closed form, by the number of their command, and how."""

    targets: Mapping[int, Sequence[Target]]
    classes: Classes
    coarse: frozenset[int]  # the commands that have coarse classes only
    held: tuple[Target, ...]
    label: str | None

    @property
    def together(self) -> tuple[Target, ...]:
        """The targets of all commands."""
        return tuple(target for targets in self.targets.values() for target in targets)

    def tilt(self, mix: Mixture, stats: Statistics) -> Tilted:
        """The mixture moved to the targets of all commands."""
        settings = COARSE_SETTINGS if self.coarse else TILT_SETTINGS
        return tilt(mix, [*self.together, *self.held], stats, self.classes, self.label, settings=settings)

    def is_too_far(self, tilted: Tilted, mix: Mixture, stats: Statistics) -> bool:
        """Whether a tilt of the mixture went too far, and much further than the other commands need."""
        if not self.coarse or tilted.nats <= MAX_COARSE_NATS:
            return False
        exact = {number: targets for number, targets in self.targets.items() if number not in self.coarse}
        others = replace(self, targets=exact, coarse=frozenset(), held=())
        return tilted.nats - (others.tilt(mix, stats).nats if exact else 0.0) > MAX_COARSE_NATS

    def missed(self, tilted: Tilted) -> frozenset[int]:
        """The commands with coarse classes that a tilt did not meet."""
        numbers = [number for number, targets in self.targets.items() for _ in targets]
        return frozenset(
            number
            for number, off in zip(numbers, tilted.off, strict=False)
            if number in self.coarse and not abs(off) <= MAX_COARSE_MISS
        )


def find_closed_form(
    commands: Mapping[int, Targets], mix: Mixture, stats: Statistics, label: str | None, schema: Schema
) -> ClosedForm:
    """Which of the commands, in this order, are met in closed form: with exact classes first, then with coarse ones."""
    targets = {
        number: list(nearest_targets(each, lambda target: violation(target, stats.known(target.value, mix))))
        for number, each in commands.items()
    }
    groups = {
        number: [stat for target in some for stat in statistics_of(target.value)] for number, some in targets.items()
    }
    classes, possible = find_splits(list(groups.values()), stats.layout, label)
    exact = {number for number, able in zip(targets, possible, strict=True) if able}
    others = [number for number in targets if number not in exact]
    counts, possible = find_coarse_splits([groups[number] for number in others], stats.layout, classes, label)
    coarse = frozenset(number for number, able in zip(others, possible, strict=True) if able)
    met = {number: some for number, some in targets.items() if number in exact or number in coarse}
    if counts:
        grouped = group_bins(counts, [target for number in coarse for target in met[number]], mix, stats, label)
        classes = {
            name: join_classes([each[name] for each in (classes, grouped) if name in each])
            for name in {**classes, **grouped}
        }
    held = _held(met, coarse, mix, stats, schema)
    return ClosedForm(met, classes, coarse, held, label)


def _held(
    targets: Mapping[int, Sequence[Target]], coarse: frozenset[int], mix: Mixture, stats: Statistics, schema: Schema
) -> tuple[Target, ...]:
    """The means and deviations to hold, of columns that no command is about otherwise."""
    asked = [stat for some in targets.values() for target in some for stat in statistics_of(target.value)]
    moved = {name for stat in asked if not _is_relation(stat) for name in columns_of(stat)}
    held: dict[Statistic, Target] = {}
    for number in sorted(coarse):
        for target in targets[number]:
            for stat in (moment for one in statistics_of(target.value) for moment in _moments(one)):
                value, unit = stats.known(stat, mix), default_tolerance(stat, "==", Const(0.0), schema).value
                if isfinite(value) and 0 < unit < inf and moved.isdisjoint(columns_of(stat.args[0])):
                    held[stat] = Target(stat, value, value, unit)
    return tuple(held.values())


def _is_relation(stat: Statistic) -> bool:
    """Whether a statistic is about how two numbers vary together."""
    return statistics()[stat.name].argument == "number" and len(stat.args) == 2


def _moments(stat: Statistic) -> Iterator[Statistic]:
    """The mean and the deviation of both numbers of a covariance or correlation, and the share of its condition."""
    if _is_relation(stat):
        for arg in stat.args:
            yield Statistic("E", (arg,), stat.given)
            yield Statistic("STD", (arg,), stat.given)
        if stat.given is not None:
            yield Statistic("P", (stat.given,))

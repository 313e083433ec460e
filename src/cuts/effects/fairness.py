"""The pass that makes classifiers treat groups alike, by a closed loop.

The number that decides is the one that is controlled: the classifier of the report is trained on a draw of the model,
its signed gaps are measured on reference rows, and the shares of the outcome by group in the synthetic table
(`model/group_shares.py`) are moved against them (`steering.py`). The Jacobian the loop starts with comes from a
classifier in closed form, which costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import inf

import numpy as np

from cuts.assess.panel import Predictions, signed_gaps, value_of
from cuts.data.schema import Category, Schema, desired_outcome
from cuts.data.table import Floats
from cuts.effects.shaping import Shaping
from cuts.effects.statistics import with_shares
from cuts.effects.steering import Evaluation, Problem, SteeringSettings, steer
from cuts.effects.trials import Track, by_ridge, predict, with_curves
from cuts.lang.spec import ModelAim, ModelGoal
from cuts.model.cells import Statistics
from cuts.model.facts import TradeOff, Trial
from cuts.model.group_shares import SHARE_ACCURACY, GroupShare, share
from cuts.model.store import Model
from cuts.plan import Command
from cuts.progress import Observer
from cuts.vocab.names import measures


@dataclass(frozen=True, slots=True)
class FairnessSettings:
    """How classifiers are tried and shares are moved; shares and gaps are probabilities or differences of them."""

    probe: float = 0.1  # change of a share by which the Jacobian is estimated
    damping: float = 0.01  # of a group's share, beside the squared entries of the Jacobian
    overall_damping: float = 0.15  # of the share in all rows, which matters more to accuracy
    max_overall_change: float = 0.33  # of that share, relative
    max_difference: float = 0.95  # between the share of a group and the share of all others
    aim_share_of_bound: float = 0.4  # where a gap above its bound is aimed
    keep_below_share_of_bound: float = 0.8  # a gap below this is left as it is
    min_kept_skill: float = 1 / 3  # of what classifiers knew at the start, kept where a gap is to be minimised
    min_skill: float = 0.001  # kept for a bound: a classifier that predicts one class has none
    min_rows: int = 60_000  # drawn for one evaluation, as several tables
    max_tables: int = 6
    min_group_share: float = 0.002  # of the rows, from which a group is steered
    steering: SteeringSettings = SteeringSettings()


@dataclass(frozen=True, slots=True)
class _Gap:
    """A group of a column that the command at index `owner` compares with all other groups."""

    owner: int
    column: str
    group: str


def equalise(shaping: Shaping, settings: FairnessSettings | None = None) -> Shaping:
    """The model whose classifiers treat groups as the commands ask; what that costs is among its facts."""
    commands = tuple(c for c in shaping.plan.commands("steer") if isinstance(c, ModelGoal | ModelAim))
    if not commands:
        return shaping
    loop = _Loop(shaping, commands, shaping.track(), settings or FairnessSettings())
    return shaping.met(loop.run(), commands, "steer")


def repeats(drawn: int, settings: FairnessSettings) -> int:
    """How many tables of `drawn` rows are drawn for one evaluation: small ones several times."""
    return int(np.clip(settings.min_rows // drawn, 1, settings.max_tables))


class _Loop:
    """The commands, the gaps they compare and the shares that move these."""

    def __init__(self, shaping: Shaping, commands: Sequence[Command], track: Track, settings: FairnessSettings) -> None:
        self.shaping, self.commands, self.track, self.settings = shaping, commands, track, settings
        self.schema = track.bench.schema
        self.free = shaping.model
        self.gaps = [
            _Gap(owner, column, group)
            for owner, command in enumerate(commands)
            for column, group in _groups(command, self.free, self.schema, settings)
        ]
        self.shares = _group_shares(commands, self.gaps, self.free, shaping.stats, self.schema)
        self.models: dict[bytes, Model] = {}  # by the setting they were built with

    def run(self) -> Model:
        """The model at the setting the loop ends with."""
        if not self.shares:
            return self.free
        observer, steering = self.shaping.observer, self.settings.steering
        observer.stage("training classifiers on a sample")
        start = np.array([share.value for share in self.shares])
        self.models[start.tobytes()] = self.free
        first = self._evaluated(self.free, start, observer)
        problem = self._problem(first)
        retreats = steering.max_retreats if np.isfinite(problem.min_accuracies).any() else 0
        trials, longest = count(), steering.max_trials + 1 + retreats

        def evaluate(setting: Floats) -> Evaluation:
            trial = next(trials)
            if trial == 0:
                observer.stage("adjusting group rates")
            return self._evaluated(self._model(setting), setting, observer.part(trial, longest))

        outcome = steer(problem, first, self._jacobian, evaluate, steering)
        curves = [_curve(command, i, outcome.evaluations, outcome.chosen) for i, command in enumerate(self.commands)]
        return with_curves(self._model(outcome.chosen.setting), curves)

    def _model(self, setting: Floats) -> Model:
        if setting.tobytes() not in self.models:
            self.models[setting.tobytes()] = with_shares(self.shaping, _moved(self.shares, setting))
        return self.models[setting.tobytes()]

    def _evaluated(self, model: Model, setting: Floats, observer: Observer) -> Evaluation:
        """Classifiers trained on draws of a model, on average over the draws."""
        gaps, measures, accuracies, skills = [], [], [], []
        tables = repeats(self.track.drawn, self.settings)
        for repeat in range(tables):
            predictions = [predict(model, command.measure, self.track, repeat) for command in self.commands]
            gaps.append(self._signed(predictions))
            measures.append(
                [value_of(c.measure, p, self.schema) for c, p in zip(self.commands, predictions, strict=True)]
            )
            accuracies.append([prediction.accuracy for prediction in predictions])
            skills.append([prediction.skill for prediction in predictions])
            observer.advanced((repeat + 1) / tables)
        found = [np.mean(values, axis=0) for values in (gaps, measures, accuracies)]
        return Evaluation(setting, found[0], found[1], found[2], skills=np.min(skills, axis=0))

    def _signed(self, predictions: Sequence[Predictions]) -> list[float]:
        """The signed gaps of all groups, one after the other."""
        return [
            value
            for gap in self.gaps
            for value in signed_gaps(
                self.commands[gap.owner].measure, predictions[gap.owner], self.schema, gap.column, gap.group
            )
        ]

    def _jacobian(self) -> Floats:
        """How much each gap follows each share, by finite differences of the classifier in closed form."""

        def signed(model: Model) -> Floats:
            return np.array(self._signed([by_ridge(model, c.measure, self.track) for c in self.commands]))

        start = signed(self.free)
        J = np.zeros((len(start), len(self.shares)))
        for j, moved in enumerate(self.shares):
            step = -self.settings.probe if moved.value > 0 else self.settings.probe
            setting = np.array([share.value for share in self.shares])
            setting[j] += step
            J[:, j] = (signed(with_shares(self.shaping, _moved(self.shares, setting))) - start) / step
        return J

    def _problem(self, first: Evaluation) -> Problem:
        settings = self.settings
        values = np.array([share.value for share in self.shares])
        overall = np.array([share.group is None for share in self.shares])
        change, furthest = settings.max_overall_change, settings.max_difference
        return Problem(
            aims=self._aims(first),
            damping=np.where(overall, settings.overall_damping, settings.damping),
            low=np.where(overall, (1.0 - change) * values, -furthest),
            high=np.where(overall, (1.0 + change) * values, furthest),
            max_measures=np.array([_max_measure(command, settings) for command in self.commands]),
            min_accuracies=np.array(
                [
                    -inf if limit is None else accuracy * (1.0 - limit)
                    for limit, accuracy in zip(map(_budget, self.commands), first.accuracies, strict=True)
                ]
            ),
            min_skills=np.array(
                [
                    max(settings.min_skill, settings.min_kept_skill * skill if isinstance(command, ModelAim) else 0.0)
                    for command, skill in zip(self.commands, first.skills, strict=True)
                ]
            ),
        )

    def _aims(self, first: Evaluation) -> Floats:
        """The signed gaps to steer to: none, or well inside of a bound."""
        owners = [gap.owner for gap in self.gaps for _ in range(_rates(self.commands[gap.owner]))]
        settings = self.settings
        aims = []
        for owner, gap in zip(owners, first.gaps.tolist(), strict=True):
            command = self.commands[owner]
            if isinstance(command, ModelAim):
                aims.append(0.0)
            elif command.op == "==":
                aims.append(float(np.copysign(command.bound, gap)))
            elif first.measures[owner] <= settings.keep_below_share_of_bound * command.bound:
                aims.append(gap)
            else:
                limit = settings.aim_share_of_bound * command.bound
                aims.append(float(np.clip(gap, -limit, limit)))
        return np.array(aims)


def _groups(command: Command, model: Model, schema: Schema, settings: FairnessSettings) -> list[tuple[str, str]]:
    """The groups to steer, by column: one of two, else all but the largest; tiny ones are left alone."""
    groups = []
    for name in command.measure.protected:
        column = schema[name]
        assert isinstance(column, Category)
        shares = dict(zip(column.categories, (model.mixture.w @ model.mixture[name]).tolist(), strict=False))
        large = [category for category, part in shares.items() if part >= settings.min_group_share]
        largest = max(large, key=lambda category: shares[category])
        groups += [(name, category) for category in large if category != largest]
    return groups


def _group_shares(
    commands: Sequence[Command], gaps: Sequence[_Gap], model: Model, stats: Statistics, schema: Schema
) -> list[GroupShare]:
    """The shares of all commands at their present values: one per group, and one of all rows for several gaps each."""
    shares = []
    for owner, command in enumerate(commands):
        target = schema[command.measure.target]
        assert isinstance(target, Category)
        desired = desired_outcome(schema, target.name, command.measure.desired)
        overall = GroupShare(command.origin.line, target.name, desired, 0.0)
        own = [replace(overall, column=gap.column, group=gap.group) for gap in gaps if gap.owner == owner]
        shares += [*own, *([overall] if own and _rates(command) > 1 else [])]
    once = {(s.target, s.desired, s.column, s.group): s for s in shares}.values()
    return [
        replace(s, value=stats.known(share(s), model.mixture), near=_resolution(s, model, stats, schema)) for s in once
    ]


def _rates(command: Command) -> int:
    """How many rates a command's measure compares: as many signed gaps there are per group."""
    return len(measures()[command.measure.name].rates)


def _resolution(moved: GroupShare, model: Model, stats: Statistics, schema: Schema) -> float:
    """How exactly a share can be kept: a group of 30 rows has it in steps of a thirtieth."""
    if moved.column is None or moved.group is None:
        return SHARE_ACCURACY
    column = schema[moved.column]
    assert isinstance(column, Category)
    part = float((model.mixture.w @ model.mixture[moved.column])[column.categories.index(moved.group)])
    return max(SHARE_ACCURACY, 0.5 / max(stats.rows * part, 1.0))


def _moved(shares: Sequence[GroupShare], setting: Floats) -> list[GroupShare]:
    return [replace(share, value=float(value)) for share, value in zip(shares, setting, strict=True)]


def _budget(command: Command) -> float | None:
    """The share of the accuracy that a command may cost; None is no limit."""
    return command.budget if isinstance(command, ModelAim) else None


def _max_measure(command: Command, settings: FairnessSettings) -> float:
    if isinstance(command, ModelGoal) and command.op in ("<", "<="):
        return settings.keep_below_share_of_bound * command.bound
    return inf


def _curve(command: Command, index: int, evaluations: Sequence[Evaluation], chosen: Evaluation) -> TradeOff:
    first, *trials = (Trial(float(e.measures[index]), float(e.accuracies[index])) for e in evaluations)
    return TradeOff(command.origin.line, first, tuple(trials), float(chosen.measures[index]))

"""Fairness by a closed loop: turn the labels' differences between groups until classifiers treat the groups alike.

The number that counts is the one that is controlled. The classifier of a report is trained on a draw of the model, its
signed gap is measured on reference rows, and the difference between groups in the synthetic table (`model/knobs.py`) is
turned against it by the secant method. The first step is told by a classifier in closed form, which costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cuts.assess.panel import Predictions, signed_gaps, value_of
from cuts.data.schema import Category, Schema, desired_outcome
from cuts.data.table import Floats
from cuts.effects.trials import Effect, Track, by_ridge, predict, with_curves
from cuts.lang.spec import InSet, ModelAim, ModelGoal, Pred
from cuts.model.cells import Statistics
from cuts.model.facts import TradeOff, Trial
from cuts.model.group_shares import NEAR as NEAR_SHARE
from cuts.model.group_shares import GroupShare, share
from cuts.model.store import Model
from cuts.vocab.names import measures

TRIALS = 4  # after the first look
PROBE = 0.1  # turn of a knob by which the first step is told
STEADY = 0.01  # beside the squares of how gaps follow knobs
STEADIER = 0.15  # the same of a knob of all rows: how frequent a label is matters to accuracy
FREE = 0.33  # of its value, by which such a knob is turned at most
NEAR = 0.004  # gap from its aim at which the search ends
INSIDE = 0.4  # of a bound: where the gap is aimed
WELL = 0.8  # of a bound: a gap below is left as it is
LARGEST_TURN = 0.5
MIN_ROWS = 60_000  # drawn for one look, as several tables
MAX_DRAWS = 6
SMALLEST_GROUP = 0.002  # share of the rows from which a group is steered

Build = Callable[[Sequence[GroupShare]], Model]


@dataclass(frozen=True, slots=True)
class _Gap:
    """A group of a column that a command, by its place, compares with all others."""

    owner: int
    column: str
    group: str


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """What classifiers of one setting do: the signed gap of each knob, the measure and accuracy of each command."""

    turned: Floats  # (knobs,)
    steady: Floats  # (knobs,), how little each wants to be turned
    signed: Floats  # (gaps,)
    measured: Sequence[float]
    accuracy: Sequence[float]


def steer(
    commands: Sequence[Effect], build: Build, stats: Statistics, track: Track, say: Callable[[str], None]
) -> Model:
    """The model whose classifiers do what the commands ask for; what each command cost is among its facts."""
    free = build(())
    gaps = [_Gap(i, *each) for i, command in enumerate(commands) for each in _groups(command, free, track.bench.schema)]
    knobs = _knobs(commands, gaps, free, stats, track.bench.schema)
    if not knobs:
        return free
    say("training classifiers on a draw")
    first = _look(free, commands, gaps, knobs, track)
    looks, aim = [first], _aims(commands, gaps, first)
    follows = np.zeros((len(first.signed), len(knobs)))
    if _off(first, aim) > NEAR:
        follows = _followed(free, build, commands, gaps, knobs, track)
        for number in range(TRIALS):
            say(f"steering classifiers, trial {number + 1}")
            turned = _turned(looks[-1], aim, follows, knobs)
            model = build(_set(knobs, turned))
            looks.append(replace(_look(model, commands, gaps, knobs, track), turned=turned))
            if _off(looks[-1], aim) <= NEAR:
                break
            follows = _learned(follows, looks[-2], looks[-1])
    looks = [look for look in looks if _is_defined(look, first)]
    settled = _affordable(looks, _settled(looks, aim, follows), commands)
    model = build(_set(knobs, settled)) if len(looks) > 1 else free
    last = first if len(looks) == 1 else replace(_look(model, commands, gaps, knobs, track), turned=settled)
    looks += [last] if last is not first else []
    best = min(
        (look for look in looks if _is_affordable(look, first, commands) and _is_defined(look, first)),
        key=lambda look: (_beyond(look, commands), _off(look, aim)),
    )
    missed = _beyond(best, commands) < _beyond(last, commands) or _off(best, aim) < _off(last, aim) - NEAR
    if missed or not _is_defined(last, first):
        model, last = build(_set(knobs, best.turned)), best  # what was seen is better than what was reckoned
    curves = [
        TradeOff(
            command.origin.line,
            Trial(first.measured[i], first.accuracy[i]),
            tuple(Trial(look.measured[i], look.accuracy[i]) for look in looks[1:]),
            last.measured[i],
        )
        for i, command in enumerate(commands)
    ]
    return with_curves(model, curves)


# --- looks


def _look(
    model: Model, commands: Sequence[Effect], gaps: Sequence[_Gap], knobs: Sequence[GroupShare], track: Track
) -> _Look:
    """Classifiers trained on draws of a model, on average over the draws."""
    schema = track.bench.schema
    repeats = int(np.clip(MIN_ROWS // track.drawn, 1, MAX_DRAWS))
    signed, measured, right = [], [], []
    for repeat in range(repeats):
        found = [predict(model, command.measure, track, repeat) for command in commands]
        signed.append(_signed(found, commands, gaps, schema))
        measured.append([value_of(c.measure, each, schema) for c, each in zip(commands, found, strict=True)])
        right.append([each.accuracy for each in found])
    told = (np.mean(signed, axis=0), np.mean(measured, axis=0).tolist(), np.mean(right, axis=0).tolist())
    steady = [STEADIER if knob.group is None else STEADY for knob in knobs]
    return _Look(np.array([knob.value for knob in knobs]), np.array(steady), *told)


def _signed(
    found: Sequence[Predictions], commands: Sequence[Effect], gaps: Sequence[_Gap], schema: Schema
) -> list[float]:
    """The signed gaps of all groups, one after the other."""
    return [
        value
        for gap in gaps
        for value in signed_gaps(commands[gap.owner].measure, found[gap.owner], schema, gap.column, gap.group)
    ]


def groups_in(commands: Sequence[Effect], schema: Schema) -> list[Pred]:
    """The values commands tell apart, which need bins of their own: groups, and outcomes."""
    found: list[Pred] = []
    for command in commands:
        for name in (*command.measure.protected, command.measure.target):
            column = schema[name]
            assert isinstance(column, Category)
            found += [InSet(name, frozenset({category})) for category in column.categories]
    return found


# --- the search


def _groups(command: Effect, model: Model, schema: Schema) -> list[tuple[str, str]]:
    """The groups to steer, by column: one of two, else all but the largest; tiny ones are left alone."""
    found = []
    for name in command.measure.protected:
        column = schema[name]
        assert isinstance(column, Category)
        share = dict(zip(column.categories, (model.mixture.w @ model.mixture[name]).tolist(), strict=False))
        known = [category for category, part in share.items() if part >= SMALLEST_GROUP]
        largest = max(known, key=lambda category: share[category])
        found += [(name, category) for category in known if category != largest]
    return found


def _knobs(
    commands: Sequence[Effect], gaps: Sequence[_Gap], model: Model, stats: Statistics, schema: Schema
) -> list[GroupShare]:
    """The knobs of all commands at their present values: one per group, and one of all rows beside several rates."""
    found = []
    for i, command in enumerate(commands):
        target = schema[command.measure.target]
        assert isinstance(target, Category)
        desired = desired_outcome(schema, target.name, command.measure.desired)
        knob = GroupShare(command.origin.line, target.name, desired, 0.0)
        own = [replace(knob, column=gap.column, group=gap.group) for gap in gaps if gap.owner == i]
        found += [*own, *([knob] if own and _rates(command) > 1 else [])]
    once = {(knob.target, knob.desired, knob.column, knob.group): knob for knob in found}.values()
    return [
        replace(knob, value=stats.known(share(knob), model.mixture), near=_near(knob, model, stats, schema))
        for knob in once
    ]


def _near(knob: GroupShare, model: Model, stats: Statistics, schema: Schema) -> float:
    """How exactly a share can be kept: a group of 30 rows has it in steps of a thirtieth."""
    if knob.column is None or knob.group is None:
        return NEAR_SHARE
    column = schema[knob.column]
    assert isinstance(column, Category)
    part = float((model.mixture.w @ model.mixture[knob.column])[column.categories.index(knob.group)])
    return max(NEAR_SHARE, 0.5 / max(stats.rows * part, 1.0))


def _set(knobs: Sequence[GroupShare], values: Floats) -> list[GroupShare]:
    return [replace(knob, value=float(value)) for knob, value in zip(knobs, values, strict=True)]


def _aims(commands: Sequence[Effect], gaps: Sequence[_Gap], first: _Look) -> Floats:
    """The signed gaps to steer to: none, or well inside of a bound."""
    owners = [gap.owner for gap in gaps for _ in range(_rates(commands[gap.owner]))]
    found = []
    for owner, signed in zip(owners, first.signed, strict=True):
        command = commands[owner]
        if isinstance(command, ModelAim):
            found.append(0.0)
        elif command.op == "==":
            found.append(float(np.copysign(command.bound, signed)))
        elif command.op in (">", ">=", "!=") or first.measured[owner] <= WELL * command.bound:
            found.append(float(signed))
        else:
            found.append(float(np.clip(signed, -INSIDE * command.bound, INSIDE * command.bound)))
    return np.array(found)


def _rates(command: Effect) -> int:
    """The number of rates a command's measure compares: of signed gaps per group."""
    return len(measures()[command.measure.name].rates)


def _followed(
    free: Model,
    build: Build,
    commands: Sequence[Effect],
    gaps: Sequence[_Gap],
    knobs: Sequence[GroupShare],
    track: Track,
) -> Floats:
    """How much each gap follows each knob, by the classifier in closed form: (gaps, knobs)."""

    def signed(model: Model) -> Floats:
        found = [by_ridge(model.mixture, command.measure, track) for command in commands]
        return np.array(_signed(found, commands, gaps, track.bench.schema))

    start = signed(free)
    found = np.zeros((len(start), len(knobs)))
    for j, knob in enumerate(knobs):
        step = -PROBE if knob.value > 0 else PROBE
        turned = [replace(each, value=each.value + step) if each is knob else each for each in knobs]
        found[:, j] = (signed(build(turned)) - start) / step
    return found


def _turned(last: _Look, aim: Floats, follows: Floats, knobs: Sequence[GroupShare]) -> Floats:
    """Where to turn the knobs next."""
    step = np.clip(_step(last, aim, follows), -LARGEST_TURN, LARGEST_TURN)
    low = [(1.0 - FREE) * knob.value if knob.group is None else -0.95 for knob in knobs]
    high = [(1.0 + FREE) * knob.value if knob.group is None else 0.95 for knob in knobs]
    found: Floats = np.clip(last.turned + step, low, high).astype(np.float64)
    return found


def _step(look: _Look, aim: Floats, follows: Floats) -> Floats:
    """By how much to turn the knobs, in small steps where a gap hardly follows."""
    steady = follows.T @ follows + np.diag(look.steady)
    found: Floats = np.linalg.solve(steady, follows.T @ (aim - look.signed)).astype(np.float64)
    return found


def _learned(follows: Floats, before: _Look, after: _Look) -> Floats:
    """The same as the last turn showed it, by half: classifiers differ from draw to draw."""
    turn = after.turned - before.turned
    length = float(turn @ turn)
    missed = after.signed - before.signed - follows @ turn
    return follows if length == 0 else follows + 0.5 * np.outer(missed, turn) / length


def _settled(looks: Sequence[_Look], aim: Floats, follows: Floats) -> Floats:
    """Where the knobs should stand by all looks together, those nearer to the aim counting more."""
    if len(looks) == 1:
        return looks[0].turned
    later = looks[1:]
    near = [1.0 / (0.01**2 + float(((look.signed - aim) ** 2).max())) for look in later]
    weights = np.array(near)
    points = np.stack([look.turned + _step(look, aim, follows) for look in later])
    tried = np.stack([look.turned for look in looks])
    middle = (points * weights[:, None]).sum(0) / weights.sum()
    found: Floats = np.clip(middle, tried.min(0), tried.max(0)).astype(np.float64)
    return found


def _off(look: _Look, aim: Floats) -> float:
    """How far the worst gap is from its aim."""
    return float(np.abs(look.signed - aim).max())


def _beyond(look: _Look, commands: Sequence[Effect]) -> float:
    """How far the worst measure is beyond its bound, or near to that."""
    return max(
        max(look.measured[i] - WELL * command.bound, 0.0)
        if isinstance(command, ModelGoal) and command.op in ("<", "<=")
        else 0.0
        for i, command in enumerate(commands)
    )


def _is_defined(look: _Look, first: _Look) -> bool:
    """Whether every measure that the first look has is defined: a rate among the chosen needs some in every group."""
    return not bool((np.isnan(look.measured) & ~np.isnan(first.measured)).any())


def _is_affordable(look: _Look, first: _Look, commands: Sequence[Effect]) -> bool:
    """Whether a look is within the budgets of all commands."""
    return all(
        not isinstance(command, ModelAim) or look.accuracy[i] >= first.accuracy[i] * (1.0 - command.budget)
        for i, command in enumerate(commands)
    )


def _affordable(looks: Sequence[_Look], chosen: Floats, commands: Sequence[Effect]) -> Floats:
    """The same, turned back as far as the budgets of the commands demand: what a setting costs is told by the looks."""
    first, way = looks[0], chosen - looks[0].turned
    length = float(way @ way)
    if length == 0:
        return chosen
    far = np.array([float((look.turned - first.turned) @ way) / length for look in looks])
    order = np.argsort(far)
    for part in np.linspace(1.0, 0.0, 101):
        right = [np.interp(part, far[order], [looks[k].accuracy[i] for k in order]) for i in range(len(commands))]
        if _is_affordable(replace(first, accuracy=right), first, commands):
            break
    found: Floats = (first.turned + part * way).astype(np.float64)
    return found

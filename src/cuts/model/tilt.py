"""Statistics met in closed form: the nearest distribution that has them is the model times `exp` of what they measure.

A number of the table changes with the rows as its influence function says: a function of the few columns it is about.
Weighing rows by `exp(sum_j d_j phi_j(row))` moves all numbers at once, and Newton's method finds the `d`. A component
stays a product when a function is about one column; one about several is a function of one column once the others are
fixed, so components are split by what the function tells apart in those first. Rules keep holding: what has no
probability gets none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from cuts.lang.spec import columns_of
from cuts.lang.targets import Target
from cuts.logic.splits import Classes
from cuts.model.cells import Cells, Statistics
from cuts.model.mixture import Mixture

STEPS = 40
STRAIGHTENED = 3  # times the whole way is gone again
NEAR = 0.02  # tolerances from the aim at which the search ends
LARGEST_STEP = 0.5  # nats
NO_WEIGHT = 1e-12  # components below this share of the rows are dropped when split

_Direction = Mapping[str, Tensor]  # by column, a number for each bin and component


@dataclass(frozen=True, slots=True, eq=False)
class Tilted:
    """A mixture moved to what is wanted, and how far from each aim it ended, in tolerances."""

    mixture: Mixture
    off: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """A mixture whose components each lie in one class of every split column."""

    mixture: Mixture
    places: Mapping[str, Tensor]  # by split column, a bin of each component's class: (K,)


@dataclass(frozen=True, slots=True)
class _Keeping:
    """The label, and whether its distribution inside components stays fixed."""

    label: str | None
    fixed: bool


def tilt(
    mix: Mixture, wants: Sequence[Target], stats: Statistics, classes: Classes, label: str | None = None
) -> Tilted:
    """The mixture moved to what is wanted, all of which `find_splits` called possible.

    As far as that goes, components are weighed by what they hold of the label instead of moving it inside them: what
    is known of a row then tells its label as before.
    """
    parts = _split(mix, classes)
    if label is not None and any(label in columns_of(want.value) for want in wants):
        parts = _moved(parts, wants, stats, _Keeping(label, fixed=True))
    parts = _moved(parts, wants, stats, _Keeping(label, fixed=False))
    return Tilted(parts.mixture, tuple(_off(parts.mixture, wants, stats)))


def _moved(start: _Parts, wants: Sequence[Target], stats: Statistics, keeping: _Keeping) -> _Parts:
    """The parts moved to what is wanted.

    The directions that a number changes in are those where it ends, which only a linear one has from the start. So they
    are followed step by step first, and then the whole way is gone again along those of the end, a few times.
    """
    parts, active = _followed(start, wants, stats, keeping)
    chosen = [wants[j] for j in active]
    for _ in range(STRAIGHTENED if chosen else 0):
        directions = [_influence(want, stats, parts, keeping.label) for want in chosen]
        straight = _along(start, directions, chosen, stats, keeping)
        if straight is None or any(abs(o) > NEAR for o in _off(straight.mixture, wants, stats) if o == o):
            break
        parts = straight
    return parts


def _followed(parts: _Parts, wants: Sequence[Target], stats: Statistics, keeping: _Keeping) -> tuple[_Parts, list[int]]:
    """Newton's method, in the directions of where the parts are; and which of the numbers were pushed."""
    pushed = [False] * len(wants)
    off = _off(parts.mixture, wants, stats)
    for _ in range(STEPS):
        active = [j for j in range(len(wants)) if off[j] != 0 and (abs(off[j]) > NEAR or pushed[j])]
        if not active or max(abs(off[j]) for j in active) <= NEAR:
            break
        chosen = [wants[j] for j in active]
        directions = [_influence(want, stats, parts, keeping.label) for want in chosen]
        zero = torch.zeros(len(chosen), dtype=torch.float64)
        step = _newton(parts, directions, zero, chosen, [off[j] for j in active], stats, keeping)
        moved = _Parts(_pushed(parts, directions, step, keeping), parts.places)
        now = _off(moved.mixture, wants, stats)
        lost = np.isfinite(off) & ~np.isfinite(now)  # what was undefined before may stay so
        if lost.any() or (keeping.fixed and _size(now) > 0.9 * _size(off)):
            break  # as far as it goes
        pushed = [was or j in active for j, was in enumerate(pushed)]
        parts, off = moved, now
    return parts, [j for j, was in enumerate(pushed) if was]


def _along(
    start: _Parts,
    directions: Sequence[_Direction],
    wants: Sequence[Target],
    stats: Statistics,
    keeping: _Keeping,
) -> _Parts | None:
    """The parts moved along fixed directions to the aims, if that leads there."""
    push = torch.zeros(len(wants), dtype=torch.float64)
    for _ in range(STEPS):
        moved = _pushed(start, directions, push, keeping)
        off = _off(moved, wants, stats)
        if not np.isfinite(off).all():
            return None
        if max(map(abs, off)) <= NEAR / 2:
            return _Parts(moved, start.places)
        push = push + _newton(start, directions, push, wants, off, stats, keeping)
    return None


def _size(off: Sequence[float]) -> float:
    return float(np.nansum(np.abs(off)))


def _off(mix: Mixture, wants: Sequence[Target], stats: Statistics) -> list[float]:
    """How far each number is from its aim, in tolerances and with its sign."""
    with torch.no_grad():
        return [want.off(float(stats.value(want.value, mix))) for want in wants]


def _newton(
    parts: _Parts,
    directions: Sequence[_Direction],
    at: Tensor,
    wants: Sequence[Target],
    off: Sequence[float],
    stats: Statistics,
    keeping: _Keeping,
) -> Tensor:
    """By how much more to push along each direction."""
    push = at.clone().requires_grad_()
    moved = _pushed(parts, directions, push, keeping)
    values = [stats.value(want.value, moved) / want.unit for want in wants]
    jacobian = torch.stack([torch.autograd.grad(value, push, retain_graph=True)[0] for value in values])
    step: Tensor = -torch.linalg.pinv(jacobian, rtol=1e-9) @ torch.tensor(off, dtype=torch.float64)
    nats = 0.5 * abs(float(step @ jacobian @ step))
    return step * (LARGEST_STEP / nats) ** 0.5 if nats > LARGEST_STEP else step


def _influence(want: Target, stats: Statistics, parts: _Parts, label: str | None) -> dict[str, Tensor]:
    """How a number of the table changes with the rows, in tolerances: by column, a number for each bin and component.

    Of a statistic of several columns all but one are fixed in a component.
    """
    cells = {stat: found.detach().requires_grad_() for stat, found in stats.joints(want.value, parts.mixture).items()}
    (stats.of_joints(want.value, cells) / want.unit).backward()  # type: ignore[no-untyped-call]
    found: dict[str, Tensor] = {}
    for stat, table in cells.items():
        layout = stats.layout(stat)
        if not layout.axes or table.grad is None:
            continue
        free = layout.free_axis(label)
        by_bin = _over_bins(table.grad, stats.cells(stat)).movedim(free, -1)  # (bins, ..., bins of the free column)
        fixed = [axis.column for place, axis in enumerate(layout.axes) if place != free]
        at_parts = by_bin[tuple(parts.places[name] for name in fixed)] if fixed else by_bin[None, :]
        name = layout.axes[free].column
        found[name] = found[name] + at_parts if name in found else at_parts
    return found


def _over_bins(table: Tensor, cells: Cells) -> Tensor:
    """A number for every combination of bins, from those of the slots."""
    for spread in cells.spreads:  # each round takes the first axis off and puts its bins at the end
        table = torch.tensordot(table, spread, dims=([0], [1]))
    return table


def _pushed(parts: _Parts, directions: Sequence[_Direction], push: Tensor, keeping: _Keeping) -> Mixture:
    """The mixture with its rows weighed by `exp(sum_j push_j direction_j)`."""
    mix = parts.mixture
    log_w = mix.w.log()
    P = list(mix.P)
    for name in {name: None for direction in directions for name in direction}:
        factor = sum(push[j] * each[name] for j, each in enumerate(directions) if name in each)
        place = mix.columns.index(name)
        if keeping.fixed and name == keeping.label:
            log_w = log_w + (P[place] * factor).sum(1)
            continue
        top = torch.where(P[place] > 0, factor, -torch.inf).amax(1, keepdim=True).detach()
        table = P[place] * torch.exp((factor - top).clamp(max=0.0))
        total = table.sum(1, keepdim=True)
        log_w = log_w + (total.log() + top)[:, 0]
        P[place] = table / total
    return Mixture(mix.columns, torch.softmax(log_w, 0), tuple(P))


# --- splitting


def _split(mix: Mixture, classes: Classes) -> _Parts:
    """Every component as several, each within one class of every split column."""
    for name, member in classes.items():
        place = mix.columns.index(name)
        allowed = torch.as_tensor(member[None, :] == np.arange(member.max() + 1)[:, None])  # (classes, bins)
        table = (mix.P[place][:, None, :] * allowed).flatten(0, 1)  # (K * classes, bins)
        mass = table.sum(1)
        w = mix.w.repeat_interleave(len(allowed)) * mass
        kept = torch.nonzero(w > NO_WEIGHT)[:, 0]
        P = [p.repeat_interleave(len(allowed), 0)[kept] if i != place else p for i, p in enumerate(mix.P)]
        P[place] = table[kept] / mass[kept, None]
        mix = Mixture(mix.columns, w[kept] / w[kept].sum(), tuple(P))
    return _Parts(mix, {name: mix[name].argmax(1) for name in classes})

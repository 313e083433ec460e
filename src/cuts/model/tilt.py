"""Statistics met in closed form by exponential tilting: the nearest distribution that has them.

Of all distributions `q` with the wanted numbers, the one with the smallest relative entropy KL(q || p) to the model `p`
(its I-projection, Csiszar, Annals of Probability 1975) is the model times `exp` of what the numbers measure:

    q(x) = p(x) exp(sum_j d_j phi_j(x)) / Z(d).

`phi_j` is the influence function of number `j`: how it changes with more rows like `x`, a function of the few columns
it is about. The `d` are found by Newton's method with a pseudo-inverse Jacobian, its steps limited to a trust region of
`max_step_nats` of relative entropy. A component stays a product when `phi` is about one column; one about several is a
function of one column once the others are fixed, so components are split by what `phi` distinguishes in those first.
Where they are split by coarse classes only, `phi` is replaced within each class by a sum of functions of one column
(`model/coarse.py`). The numbers that are solved for are the exact ones all the same. Row rules keep holding: what has
no probability gets none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from cuts.lang.targets import Target
from cuts.lang.walks import columns_of
from cuts.logic.splits import Classes
from cuts.model.cells import Statistics
from cuts.model.coarse import additive, influence_over_bins, is_exact
from cuts.model.mixture import Mixture


@dataclass(frozen=True, slots=True)
class TiltSettings:
    """When Newton's method ends, and how far it may go at once."""

    max_steps: int = 40
    straightening_rounds: int = 3  # times the whole way is solved again along the directions of its end
    accuracy: float = 0.02  # tolerances from the aim at which the search ends
    max_step_nats: float = 0.5  # relative entropy of one step
    halvings: int = 0  # of a step that does not bring the numbers nearer to their aims
    damped_progress: float = 0.99  # if steps are halved: factor by which each must do so, or the search ends
    progress: float = 0.9  # factor by which a step with the label fixed must lower the distance, or the search ends
    min_component_share: float = 1e-12  # of the rows; smaller parts of a split component are dropped


TILT_SETTINGS = TiltSettings()
# Along approximate directions a full step may lead away from the aims, and solving again from the start gains little.
COARSE_SETTINGS = TiltSettings(straightening_rounds=1, halvings=10)

MAX_BEYOND = 20.0  # units beyond its aim to which a step may push an inequality,
LAST_BEYOND = 1.0  # and from which the last step is shortened
SHARE_BISECTIONS = 20

_Direction = Mapping[str, Tensor]  # by column, a number for each bin and component


@dataclass(frozen=True, slots=True, eq=False)
class Tilted:
    """A mixture with the numbers wanted, and how far each is from its aim, in tolerances and with its sign.

    `nats` is the relative entropy to the mixture it was moved from.
    """

    mixture: Mixture
    off: tuple[float, ...]
    nats: float


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """A mixture whose components each lie in one class of every split column."""

    mixture: Mixture
    classes: Classes
    bins: Mapping[str, Tensor]  # by split column, a bin of each component's class: (K,)


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """What stays the same while the parts are moved."""

    stats: Statistics
    label: str | None
    label_fixed: bool  # whether the label's distribution inside components stays as it is
    settings: TiltSettings
    is_careful: bool = True  # whether no step may push an inequality far beyond its aim


def tilt(
    mix: Mixture,
    targets: Sequence[Target],
    stats: Statistics,
    classes: Classes,
    label: str | None = None,
    *,
    settings: TiltSettings = TILT_SETTINGS,
) -> Tilted:
    """The mixture moved to its targets, all of which `find_splits` or `find_coarse_splits` called possible.

    As far as possible the weights of components are changed by how much of the label they hold, instead of the label
    inside them: what is known of a row then predicts its label as before.
    """
    start = parts = _split(mix, classes, settings)
    if label is not None and any(label in columns_of(target.value) for target in targets):
        parts = _moved(parts, targets, _Search(stats, label, True, settings))
    parts = _moved(parts, targets, _Search(stats, label, False, settings))
    off = tuple(_off(parts.mixture, targets, stats))
    return Tilted(parts.mixture, off, _divergence(parts.mixture, start.mixture))


def _moved(start: _Parts, targets: Sequence[Target], search: _Search) -> _Parts:
    """The parts moved to their targets.

    The influence functions that count are those of the result, which only linear numbers have from the start. So they
    are followed step by step first; then the whole way is solved again along those of its end, a few times.
    """
    parts, pushed = _followed(start, targets, search)
    if _size(_off(parts.mixture, targets, search.stats)) > search.settings.accuracy:  # care may lead round in circles
        bold, bold_pushed = _followed(start, targets, replace(search, is_careful=False))
        if _length(_off(bold.mixture, targets, search.stats)) < _length(_off(parts.mixture, targets, search.stats)):
            parts, pushed = bold, bold_pushed
    chosen = [targets[j] for j in pushed]
    for _ in range(search.settings.straightening_rounds if chosen else 0):
        directions = [_influence(target, parts, search) for target in chosen]
        straight = _along(start, directions, chosen, search)
        if straight is None:
            break
        off = _off(straight.mixture, targets, search.stats)
        if any(abs(o) > search.settings.accuracy for o in off if o == o):
            break
        parts = straight
    return parts


def _followed(parts: _Parts, targets: Sequence[Target], search: _Search) -> tuple[_Parts, list[int]]:
    """The parts after Newton's method in the directions of where they are, and the indices of the numbers pushed.

    An inequality that holds is not pushed, unless it was before.
    """
    accuracy = search.settings.accuracy
    pushed = [False] * len(targets)
    off = _off(parts.mixture, targets, search.stats)
    for _ in range(search.settings.max_steps):
        active = [j for j in range(len(targets)) if off[j] != 0 and (abs(off[j]) > accuracy or pushed[j])]
        if not active or max(abs(off[j]) for j in active) <= accuracy:
            break
        chosen = [targets[j] for j in active]
        directions = [_influence(target, parts, search) for target in chosen]
        zero = torch.zeros(len(chosen), dtype=torch.float64)
        step = _newton_step(parts, directions, zero, chosen, [off[j] for j in active], search)
        moved = replace(parts, mixture=_pushed(parts, directions, step, search))
        now = _off(moved.mixture, targets, search.stats)
        for _ in range(search.settings.halvings):
            if _length(now) < _length(off):
                break
            step = step / 2
            moved = replace(parts, mixture=_pushed(parts, directions, step, search))
            now = _off(moved.mixture, targets, search.stats)
        if search.settings.halvings and not _length(now) <= search.settings.damped_progress * _length(off):
            break
        is_last = max(map(abs, now)) <= accuracy
        if _is_beyond(moved.mixture, chosen, LAST_BEYOND if is_last else MAX_BEYOND, search):
            short = _shortened(parts, directions, zero, step, targets, chosen, search)
            moved = replace(parts, mixture=short)
            now = _off(short, targets, search.stats)
        lost = np.isfinite(off) & ~np.isfinite(now)  # what was undefined before may stay so
        if lost.any() or (search.label_fixed and _size(now) > search.settings.progress * _size(off)):
            break
        pushed = [was or j in active for j, was in enumerate(pushed)]
        parts, off = moved, now
    return parts, [j for j, was in enumerate(pushed) if was]


def _along(
    start: _Parts, directions: Sequence[_Direction], targets: Sequence[Target], search: _Search
) -> _Parts | None:
    """The parts moved along fixed directions to the aims, or None where that does not converge."""
    push = torch.zeros(len(targets), dtype=torch.float64)
    step, best = push, np.inf
    halvings = 0
    for _ in range(search.settings.max_steps):
        moved = _pushed(start, directions, push + step, search)
        off = _off(moved, targets, search.stats)
        if halvings < search.settings.halvings and not _length(off) < best:
            step, halvings = step / 2, halvings + 1
            continue
        if not np.isfinite(off).all():
            return None
        if max(map(abs, off)) <= search.settings.accuracy / 2:
            if _is_beyond(moved, targets, LAST_BEYOND, search):
                # What is far beyond its aim from the start was not pushed there.
                near = [one for one in targets if not _is_beyond(start.mixture, [one], MAX_BEYOND, search)]
                moved = _shortened(start, directions, push, step, targets, near, search)
            return replace(start, mixture=moved)
        push, best, halvings = push + step, _length(off), 0
        step = _newton_step(start, directions, push, targets, off, search)
    return None


def _is_beyond(mix: Mixture, targets: Sequence[Target], units: float, search: _Search) -> bool:
    """Whether an inequality that was pushed is met by far more than it has to be.

    A bin with next to no rows can take nearly all of them in a single step.
    """
    with torch.no_grad():
        return any(target.beyond(float(search.stats.value(target.value, mix))) > units for target in targets)


def _shortened(
    parts: _Parts,
    directions: Sequence[_Direction],
    at: Tensor,
    step: Tensor,
    targets: Sequence[Target],
    chosen: Sequence[Target],
    search: _Search,
) -> Mixture:
    """The mixture after the smallest share of a step that is enough, by bisection.

    It is enough to meet all targets or, in a careful search, to push one of the chosen ones far beyond its aim.
    """
    low, high = 0.0, 1.0
    for _ in range(SHARE_BISECTIONS):
        middle = (low + high) / 2
        mix = _pushed(parts, directions, at + middle * step, search)
        is_enough = max(map(abs, _off(mix, targets, search.stats))) <= search.settings.accuracy
        is_enough = is_enough or (search.is_careful and _is_beyond(mix, chosen, MAX_BEYOND, search))
        low, high = (low, middle) if is_enough else (middle, high)
    return _pushed(parts, directions, at + high * step, search)


def _length(off: Sequence[float]) -> float:
    return float(np.linalg.norm(off))


def _size(off: Sequence[float]) -> float:
    return float(np.nansum(np.abs(off)))


def _off(mix: Mixture, targets: Sequence[Target], stats: Statistics) -> list[float]:
    """How far each number is from its aim, in tolerances and with its sign."""
    with torch.no_grad():
        return [target.off(float(stats.value(target.value, mix))) for target in targets]


def _newton_step(
    parts: _Parts,
    directions: Sequence[_Direction],
    at: Tensor,
    targets: Sequence[Target],
    off: Sequence[float],
    search: _Search,
) -> Tensor:
    """By how much more to push along each direction: `-J^+ off`, no further than the trust region."""
    push = at.clone().requires_grad_()
    moved = _pushed(parts, directions, push, search)
    values = [search.stats.value(target.value, moved) / target.unit for target in targets]
    jacobian = torch.stack([torch.autograd.grad(value, push, retain_graph=True)[0] for value in values])
    # A number at the end of its range, such as the share of a group that has all of it, has no slope left.
    jacobian = jacobian.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
    step: Tensor = -torch.linalg.pinv(jacobian, rtol=1e-9) @ torch.tensor(off, dtype=torch.float64)
    nats = 0.5 * abs(float(step @ jacobian @ step))
    largest = search.settings.max_step_nats
    return step * (largest / nats) ** 0.5 if nats > largest else step


def _influence(target: Target, parts: _Parts, search: _Search) -> dict[str, Tensor]:
    """The influence function of a number, in tolerances: by column, a value for each bin and component.

    Of a statistic of several columns all but one are fixed in a component, or known to lie in a coarse class.
    """
    stats, label = search.stats, search.label
    influence: dict[str, Tensor] = {}
    for stat, by_bin in influence_over_bins(target, parts.mixture, stats).items():
        layout = stats.layout(stat)
        free = layout.free_axis(label)
        name = layout.axes[free].column
        fixed = [axis.column for i, axis in enumerate(layout.axes) if i != free]
        if is_exact(layout, parts.classes, label):
            by_free = by_bin.movedim(free, -1)  # (bins, ..., bins of the free column)
            at_parts = {name: by_free[tuple(parts.bins[each] for each in fixed)] if fixed else by_free[None, :]}
        else:
            at_parts = additive(by_bin, layout.columns, name, parts.mixture, parts.classes, parts.bins)
        for column, table in at_parts.items():
            influence[column] = influence[column] + table if column in influence else table
    return influence


def _pushed(parts: _Parts, directions: Sequence[_Direction], push: Tensor, search: _Search) -> Mixture:
    """The mixture with its rows weighted by `exp(sum_j push_j direction_j)`."""
    mix = parts.mixture
    log_w = mix.w.log()
    P = list(mix.P)
    for name in {name: None for direction in directions for name in direction}:
        factor = sum(push[j] * direction[name] for j, direction in enumerate(directions) if name in direction)
        index = mix.columns.index(name)
        if search.label_fixed and name == search.label:
            log_w = log_w + (P[index] * factor).sum(1)
            continue
        top = torch.where(P[index] > 0, factor, -torch.inf).amax(1, keepdim=True).detach()
        table = P[index] * torch.exp((factor - top).clamp(max=0.0))
        total = table.sum(1, keepdim=True)
        log_w = log_w + (total.log() + top)[:, 0]
        P[index] = table / total
    return Mixture(mix.columns, torch.softmax(log_w, 0), tuple(P))


def _divergence(mix: Mixture, start: Mixture) -> float:
    """The relative entropy of the parts of a mixture, and of the rows in them, to those it was moved from."""
    nats = torch.special.xlogy(mix.w, mix.w / start.w).sum()
    for table, before in zip(mix.P, start.P, strict=True):
        if table is not before:
            ratio = torch.where(table > 0, table / before, 1.0)
            nats = nats + (mix.w * torch.special.xlogy(table, ratio).sum(1)).sum()
    return float(nats)


# --- splitting


def _split(mix: Mixture, classes: Classes, settings: TiltSettings) -> _Parts:
    """Every component as several, each within one class of every split column."""
    for name, member in classes.items():
        index = mix.columns.index(name)
        allowed = torch.as_tensor(member[None, :] == np.arange(member.max() + 1)[:, None])  # (classes, bins)
        table = (mix.P[index][:, None, :] * allowed).flatten(0, 1)  # (K * classes, bins)
        mass = table.sum(1)
        w = mix.w.repeat_interleave(len(allowed)) * mass
        kept = torch.nonzero(w > settings.min_component_share)[:, 0]
        P = [p.repeat_interleave(len(allowed), 0)[kept] if i != index else p for i, p in enumerate(mix.P)]
        P[index] = table[kept] / mass[kept, None]
        mix = Mixture(mix.columns, w[kept] / w[kept].sum(), tuple(P))
    return _Parts(mix, classes, {name: mix[name].argmax(1) for name in classes})

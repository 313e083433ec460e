"""The model under row rules.

`repair` keeps the weight of every component and changes the values that break a rule. Values that no row may have are
taken out of every component, which leaves all other columns exactly as they were. Where rules connect columns, the
mixture is then split into boxes inside the rules, which are products again, and refitted to the counts, each box
keeping to its bins. The rest of the population stays as it was as far as the rules allow, and every row of the mixture
satisfies every rule. `penalise` is the method of CuTS (Vero et al., ICML 2024, sec. 4.2, eq. 2), kept for comparison:
a weight on violations while training.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from time import process_time

import numpy as np
import torch
from torch import Tensor

from cuts.config import Config
from cuts.count.marginals import Marginals
from cuts.data.table import Bools, Floats
from cuts.logic import chances
from cuts.logic.boxes import Boxes, find_boxes
from cuts.logic.core import Variable
from cuts.logic.diagram import Diagram
from cuts.model.backbones.table import TableBackbone, table_of
from cuts.model.box_counts import BoxCounts
from cuts.model.box_trees import with_boxes
from cuts.model.device import find_device, find_threads, use_threads
from cuts.model.fit import Fitted, train
from cuts.model.mixture import Mixture, distributions, probability
from cuts.model.objective import Loss, Objective
from cuts.model.own_counts import own_where
from cuts.model.picking import picker
from cuts.model.targets import Groups
from cuts.progress import FitStep


@dataclass(frozen=True, slots=True)
class RepairSettings:
    """How the mixture is split into boxes and refitted."""

    max_boxes: int = 1250
    rows_per_box: int = 20  # rows drawn for each box that may be kept
    population_share: float = 1e-3  # of the population's distribution mixed into every component before it is split
    max_steps: int = 300  # of the refit
    learning_rate: float = 0.05


REPAIR_SETTINGS = RepairSettings()
PAPER_BATCH_ROWS = 15_000  # rows per step that the paper sums violations over (its appendix A.1)
AUTOMATIC_PENALTY = 2.0  # weight of the probability of a violation, where a command states none


@dataclass(frozen=True, slots=True, eq=False)
class Refit:
    """What refitting needs beside a mixture: the counts to stay near to, and how to train."""

    marginals: Marginals
    label: str | None
    config: Config
    seed: int
    seen: Callable[[FitStep], None] | None = None  # called with the progress every few steps
    groups: Groups | None = None  # the slices of numeric columns
    boxes: BoxCounts | None = None  # that a refit stays close to as well
    smoothing: float = 0.0  # kept, so that further training does not memorise rows

    def loss(self, device: str) -> Loss:
        """The distance from the counts, and from the boxes if there are any."""
        tables = Objective(
            self.marginals, self.label, groups=self.groups, slices=self.config.slices, seed=self.seed, device=device
        )
        return tables.loss if self.boxes is None else with_boxes(tables.loss, self.boxes, seed=self.seed)


def repair(mix: Mixture, rules: Diagram, refit: Refit, *, settings: RepairSettings = REPAIR_SETTINGS) -> Fitted:
    """The mixture moved into the rules and, if they connect columns, refitted; the rules hold in every row of it.

    A column that loses values cannot be refitted to its counts: the mixture would leave the population and come to
    describe the real rows that satisfy the rules already. Its tables are kept as they are.
    """
    start_time = process_time()
    possible = possible_bins(rules)
    inside = restrict(movable(mix, rules.variables, settings=settings), possible)
    steps = 0
    if connects_columns(rules, possible):
        losing = [str(name) for name, bins in possible.items() if not bins.all()]
        around = refit
        if losing:
            around = replace(refit, marginals=own_where(losing, inside, refit.marginals), boxes=None)
        boxed = split_into_boxes(inside, rules, seed=refit.seed, settings=settings)
        fitted = _refitted(boxed, around, lambda tables: tables, settings)
        inside, steps = fitted.mixture, fitted.steps
    with torch.no_grad():
        _, error = refit.loss("cpu")(inside)
    return Fitted(inside, float(error), steps, process_time() - start_time)


def penalise(
    mix: Mixture,
    rules: Sequence[tuple[Diagram, float | None]],
    refit: Refit,
    *,
    settings: RepairSettings = REPAIR_SETTINGS,
) -> Fitted:
    """The mixture refitted with a weight on violating each rule: the paper's lambda, or an automatic one."""
    cells = np.mean([table.size for table in refit.marginals.tables.values()])

    def penalised(tables: Loss) -> Loss:
        def loss(candidate: Mixture) -> tuple[Tensor, Tensor]:
            value, error = tables(candidate)
            for diagram, weight in rules:
                # The paper sums over the rows of a batch and divides its distance by the cells of a table.
                scale = AUTOMATIC_PENALTY if weight is None else weight * PAPER_BATCH_ROWS * float(cells)
                value = value + scale * (1.0 - probability(candidate, diagram)).float()
            return value, error

        return loss

    return _refitted(mix, refit, penalised, settings)


def movable(mix: Mixture, columns: Collection[Variable], *, settings: RepairSettings = REPAIR_SETTINGS) -> Mixture:
    """The mixture with a little of the population's distribution of these columns in every component.

    Where a component has hardly any probability on the values the rules leave it, the population decides, not noise.
    """
    share = settings.population_share
    P = tuple(
        (1.0 - share) * p + share * (mix.w @ p)[None, :] if name in columns else p
        for name, p in zip(mix.columns, mix.P, strict=True)
    )
    return Mixture(mix.columns, mix.w, P)


def possible_bins(rules: Diagram) -> dict[Variable, Bools]:
    """For every column of the rules, the bins that a row which satisfies them can have."""
    even = {name: np.ones((1, rules.grid.size(name))) for name in rules.variables}
    given = chances.condition(rules, even)
    return {name: given[name][0] > 0 for name in rules.variables}


def restrict(mix: Mixture, possible: Mapping[Variable, Bools]) -> Mixture:
    """The mixture with every component kept to these bins; weights and all other columns are unchanged."""
    P = []
    for name, p in zip(mix.columns, mix.P, strict=True):
        if name in possible and not possible[name].all():
            kept = torch.as_tensor(possible[name], dtype=p.dtype)
            inside = p * kept
            total = inside.sum(1, keepdim=True)
            p = torch.where(total > 0, inside / total, kept / kept.sum())
        P.append(p)
    return Mixture(mix.columns, mix.w, tuple(P))


def connects_columns(rules: Diagram, possible: Mapping[Variable, Bools]) -> bool:
    """Whether a row whose columns have possible bins can still break a rule."""
    even = {name: bins[None, :] / bins.sum() for name, bins in possible.items()}
    return bool(rules.parts) and float(chances.probability(rules, even)[0]) < 1.0 - 1e-12


def split_into_boxes(mix: Mixture, rules: Diagram, *, seed: int, settings: RepairSettings = REPAIR_SETTINGS) -> Mixture:
    """The mixture as its most frequent boxes inside the rules; the weights of its components are kept."""
    most = settings.max_boxes
    pick = picker("systematic", np.random.Generator(np.random.Philox(seed)))
    weights: Floats = mix.w.numpy()
    components = pick(np.zeros(settings.rows_per_box * most, dtype=np.int64), weights[None, :])
    dists = {name: p.numpy() for name, p in distributions(mix).items()}
    boxes = _first(find_boxes(rules, dists, components, pick), most)
    chosen = torch.as_tensor(boxes.components)
    P = []
    for name, p in zip(mix.columns, mix.P, strict=True):
        table = p[chosen]
        if name in boxes.allowed:
            table = table * torch.as_tensor(boxes.allowed[name])
        P.append(table / table.sum(1, keepdim=True))
    rows = torch.as_tensor(boxes.rows).double()
    return Mixture(mix.columns, rows / rows.sum(), tuple(P))


def moved_cells(mix: Mixture, rules: Diagram) -> float:
    """How many cells of a row of the mixture the rules change, on average."""
    given = chances.condition(rules, distributions(mix))
    variation = [(p.double() - given[name]).abs().sum(1) / 2 for name, p in distributions(mix).items()]
    return float((mix.w * torch.stack(variation).sum(0)).sum())


def _refitted(mix: Mixture, refit: Refit, loss: Callable[[Loss], Loss], settings: RepairSettings) -> Fitted:
    """The mixture after further training of its tables; what it rules out stays ruled out."""
    start_time = process_time()
    config = refit.config
    device = find_device(config.device)
    with use_threads(find_threads(config.threads, mix.components * sum(refit.marginals.sizes.values()) ** 2)):
        backbone: TableBackbone = table_of(mix, device, smoothing=refit.smoothing)
        max_steps = min(config.steps, settings.max_steps)
        error, steps = train(backbone, loss(refit.loss(device)), max_steps, settings.learning_rate, seen=refit.seen)
        return Fitted(backbone.settle(), error, steps, process_time() - start_time)


def _first(boxes: Boxes, count: int) -> Boxes:
    allowed = {name: table[:count] for name, table in boxes.allowed.items()}
    return Boxes(boxes.components[:count], boxes.rows[:count], allowed)

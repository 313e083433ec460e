"""The model under row rules.

`repair` keeps the weight of every component and moves its coordinates into the rules: the mixture is cut into boxes
inside the rules, which are products again, and fitted once more to the counts, each box keeping to its bins. The rest
of the population stays as it was as far as the rules allow, and no row of the mixture violates a rule. `penalise` is
the paper's way, kept for comparison: a weight on the probability of a violation while training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time

import numpy as np
import torch
from torch import Tensor

from cuts.config import Config
from cuts.count.marginals import Marginals
from cuts.data.table import Floats
from cuts.logic import chances
from cuts.logic.boxes import Boxes, find_boxes
from cuts.logic.diagram import Diagram
from cuts.model.device import find_device, find_threads, use_threads
from cuts.model.fit import Fitted, Loss, train
from cuts.model.mixture import Mixture, distributions, probability
from cuts.model.objective import Objective
from cuts.model.picking import picker
from cuts.model.table import TableBackbone, table_of
from cuts.progress import FitStep

ROWS_A_BOX = 20  # rows drawn for each box that may be kept
MAX_BOXES = 1250
MOVED = 1e-3  # share of the population's own values a component has while its coordinates are moved
STEPS, RATE = 300, 0.05  # of fitting again
PAPER_BATCH = 15_000  # rows the paper's weights are summed over
AUTOMATIC = 2.0  # weight of a violation's probability beside the loss of a fit


@dataclass(frozen=True, slots=True, eq=False)
class Refit:
    """What fitting again needs beside a mixture."""

    marginals: Marginals
    label: str | None
    config: Config
    seed: int
    seen: Callable[[FitStep], None] | None = None


def repair(mix: Mixture, rules: Diagram, again: Refit) -> Fitted:
    """The mixture moved into the rules and fitted again to the counts; the rules hold in every row of it."""
    boxed = cut(movable(mix), rules, seed=again.seed)
    return _fitted_again(boxed, again, lambda objective: objective.loss)


def penalise(mix: Mixture, rules: Sequence[tuple[Diagram, float | None]], again: Refit) -> Fitted:
    """The mixture fitted again with a weight on violating each rule, the paper's or an automatic one."""
    cells = np.mean([table.size for table in again.marginals.tables.values()])

    def penalised(objective: Objective) -> Loss:
        def loss(found: Mixture) -> tuple[Tensor, Tensor]:
            value, error = objective.loss(found)
            for diagram, weight in rules:
                # The paper sums over the rows of a batch and divides its distance by the cells of a table.
                scale = AUTOMATIC if weight is None else weight * PAPER_BATCH * float(cells)
                value = value + scale * (1.0 - probability(found, diagram)).float()
            return value, error

        return loss

    return _fitted_again(mix, again, penalised)


def movable(mix: Mixture) -> Mixture:
    """The mixture with a little of the population in every component.

    Where a component knows next to nothing of the values the rules leave it, the population decides, not noise.
    """
    P = tuple((1.0 - MOVED) * p + MOVED * (mix.w @ p)[None, :] for p in mix.P)
    return Mixture(mix.columns, mix.w, P)


def cut(mix: Mixture, rules: Diagram, *, seed: int, most: int = MAX_BOXES) -> Mixture:
    """The mixture as boxes inside the rules, the most frequent of them; the weights of its components are kept."""
    pick = picker("systematic", np.random.Generator(np.random.Philox(seed)))
    weights: Floats = mix.w.numpy()
    components = pick(np.zeros(ROWS_A_BOX * most, dtype=np.int64), weights[None, :])
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
    apart = [(p.double() - given[name]).abs().sum(1) / 2 for name, p in distributions(mix).items()]
    return float((mix.w * torch.stack(apart).sum(0)).sum())


def _fitted_again(mix: Mixture, again: Refit, loss: Callable[[Objective], Loss]) -> Fitted:
    """The mixture after further training; what it rules out stays ruled out."""
    began = process_time()
    config = again.config
    device = find_device(config.device)
    with use_threads(find_threads(config.threads, mix.components * sum(again.marginals.sizes.values()) ** 2)):
        backbone: TableBackbone = table_of(mix, device)
        objective = Objective(again.marginals, again.label, slices=config.slices, seed=again.seed, device=device)
        error, steps = train(backbone, loss(objective), min(config.steps, STEPS), RATE, seen=again.seen)
        return Fitted(backbone.settle(), error, steps, process_time() - began)


def _first(boxes: Boxes, most: int) -> Boxes:
    allowed = {name: table[:most] for name, table in boxes.allowed.items()}
    return Boxes(boxes.components[:most], boxes.rows[:most], allowed)

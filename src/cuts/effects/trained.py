"""The pass that fine-tunes a model for classifiers, where a command states its weight or method.

Measures of classifiers are terms of fine-tuning: differentiable with respect to the model they are trained on.

`ridge` fits the classifier in closed form (`model/surrogate.py`). `unrolled` is the paper's way, kept for comparison: a
logistic regression trained by plain stochastic gradient steps on rows of the model, with gradients flowing back through
every step. Either is tried on reference rows, and its measure taken of chances instead of certain predictions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from cuts.assess.panel import desired_index
from cuts.data.codec import Codes
from cuts.effects.shaping import Shaping
from cuts.lang.spec import MeasureOf, ModelAim, ModelGoal
from cuts.lang.tolerance import GAP_TOLERANCE
from cuts.model.finetune import Term, finetune
from cuts.model.mixture import Mixture
from cuts.model.surrogate import fit_ridge
from cuts.vocab.names import measures

Surrogate = Literal["ridge", "unrolled"]

MAX_ROWS = 8_000  # of the reference
SHARPNESS = 10.0  # of the chances of a ridge classifier, whose scores lie about 0 and 1
DRAWN = 4_096  # rows of the model an unrolled classifier is trained on
LR, EPOCHS, BATCH = 0.1, 10, 512  # the paper's, unless the command states others
INSIDE = 0.4  # of a bound: where the measure is aimed


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Rows classifiers are tried on, as codes, and what a measure needs of them."""

    codes: Codes
    truth: Tensor  # (rows, values)
    desired: int
    members: tuple[Tensor, ...]  # one a protected column: (rows, groups)


def find_reference(
    codes: Codes, measure: MeasureOf, sizes: Mapping[str, int], desired: int, *, max_rows: int = MAX_ROWS
) -> Reference:
    """The reference rows of a measure, evenly spread and not too many."""
    rows = len(codes[measure.target])
    some = np.linspace(0, rows - 1, min(rows, max_rows)).astype(np.int64)
    chosen = {name: code[some] for name, code in codes.items()}
    groups = tuple(torch.as_tensor(np.eye(sizes[name])[chosen[name]]) for name in measure.protected)
    truth = torch.as_tensor(np.eye(sizes[measure.target])[chosen[measure.target]])
    return Reference(chosen, truth, desired, groups)


def train(shaping: Shaping) -> Shaping:
    """The model fine-tuned for classifiers in the way a command names: in closed form, or unrolled as in the paper."""
    commands = tuple(c for c in shaping.plan.commands("train") if isinstance(c, ModelGoal | ModelAim))
    if not commands:
        return shaping
    shaping.observer.stage("training the model for the classifier commands")
    model, learned = shaping.model, shaping.learned
    sizes = {bins.column.name: bins.size for bins in model.codec.columns}
    terms = []
    for command in commands:
        desired = desired_index(command.measure, model.codec.schema)
        rows = find_reference(learned.codes, command.measure, sizes, desired)
        way: Surrogate = "unrolled" if command.method == "unrolled" else "ridge"
        measure = replace(command.measure, features=model.codec.modelled(command.measure.features))
        terms.append(effect_term(replace(command, measure=measure), rows, way, seed=learned.seed))
    tuned = finetune(model.mixture, terms, learned.refit(shaping.observer))
    facts = replace(model.facts, error=tuned.error, goal_seconds=model.facts.goal_seconds + tuned.cpu_seconds)
    shaping = shaping.met(replace(model, mixture=tuned.mixture, facts=facts), commands, "train")
    return replace(shaping, base=shaping.model)


def effect_term(command: ModelGoal | ModelAim, reference: Reference, way: Surrogate, *, seed: int) -> Term:
    """The term of a command about classifiers."""
    entry = measures()[command.measure.name]
    lower = (command.direction == "MINIMIZE") if isinstance(command, ModelAim) else command.op in ("<", "<=")
    aim = INSIDE * command.bound if isinstance(command, ModelGoal) and entry.kind == "FAIRNESS" else None
    bound = command.bound if isinstance(command, ModelGoal) and aim is None else aim
    random = torch.Generator().manual_seed(seed)

    def value(mix: Mixture) -> Tensor:
        found = measured(mix, command.measure, reference, way, random)
        return found if lower else -found

    def violation(mix: Mixture) -> Tensor:
        found = value(mix)
        if bound is None:  # an aim: as far as it goes
            return torch.relu(found + (0.0 if lower else 1.0)) / GAP_TOLERANCE
        return torch.relu(found - (bound if lower else -bound)) / GAP_TOLERANCE

    half = 0.5 if entry.kind == "FAIRNESS" else 1.0  # the paper averages over all pairs of groups, equal ones included
    return Term(violation, lambda mix: half * value(mix), command.weight)


def measured(mix: Mixture, measure: MeasureOf, reference: Reference, way: Surrogate, random: torch.Generator) -> Tensor:
    """The measure of a classifier of the mixture's rows on the reference rows."""
    chances = _ridge(mix, measure, reference) if way == "ridge" else _unrolled(mix, measure, reference, random)
    return measure_of(chances, measure, reference)


def measure_of(chances: Tensor, measure: MeasureOf, reference: Reference) -> Tensor:
    """The measure of predictions on the reference rows: of certain ones, or of chances."""
    entry = measures()[measure.name]
    if entry.kind == "UTILITY":
        found: Tensor = entry.formula(chances, reference.truth)
        return found
    chosen, deserving = chances[:, reference.desired], reference.truth[:, reference.desired]
    gaps = [entry.formula(chosen, deserving, members[:, members.sum(0) > 0]) for members in reference.members]
    return torch.stack(gaps).max()


def _ridge(mix: Mixture, measure: MeasureOf, reference: Reference) -> Tensor:
    double = Mixture(mix.columns, mix.w.double(), tuple(p.double() for p in mix.P))
    scores = fit_ridge(double, measure.target, measure.features).scores(reference.codes)
    return torch.softmax(SHARPNESS * scores, 1)


def _unrolled(mix: Mixture, measure: MeasureOf, reference: Reference, random: torch.Generator) -> Tensor:
    """A logistic regression after all its training steps, each of which keeps its gradient."""
    picked = torch.multinomial(mix.w.detach(), DRAWN, replacement=True, generator=random)
    rows = torch.cat([_one_hot(mix[name][picked], random) for name in measure.features], 1)
    labels = _one_hot(mix[measure.target][picked], random).detach()  # as in the paper, labels pass no gradient
    weight = mix.w[picked] / mix.w[picked].detach()  # one, but the weights of components feel it
    coefficients = _trained(rows, labels, measure, weight)
    return _chances(coefficients, mix, measure, reference)


def fit_on_batch(mix: Mixture, measure: MeasureOf, reference: Reference, *, ridge: bool = False) -> Tensor:
    """The chances of a logistic regression of hard rows, trained on them in their order, as the paper does.

    With `ridge` they are those of the classifier in closed form.
    """
    if ridge:
        return _ridge(mix, measure, reference)
    rows = torch.cat([mix[name] for name in measure.features], 1)
    coefficients = _trained(rows, mix[measure.target].detach(), measure)
    return _chances(coefficients, mix, measure, reference)


def _trained(rows: Tensor, labels: Tensor, measure: MeasureOf, weight: Tensor | None = None) -> Tensor:
    """The coefficients of a logistic regression of rows, which may have weights, after all its steps."""
    options = dict(measure.learner)
    rate, epochs = options.get("lr", LR), int(options.get("n_epochs", EPOCHS))
    batch = int(options.get("batch_size", BATCH))
    coefficients = torch.zeros(rows.shape[1], labels.shape[1], device=rows.device)
    # Parts are made once: the gradient of a slice is as large as all rows, that of a part is not.
    parts = list(zip(torch.split(rows, batch), torch.split(labels, batch), strict=True))
    weights = [None] * len(parts) if weight is None else torch.split(weight, batch)
    for _ in range(epochs):
        for (some, wanted), own in zip(parts, weights, strict=True):
            wrong = torch.softmax(some @ coefficients, 1) - wanted
            weighted = some if own is None else some * own[:, None]
            coefficients = coefficients - rate * weighted.T @ wrong / len(wrong)
    return coefficients


def _chances(coefficients: Tensor, mix: Mixture, measure: MeasureOf, reference: Reference) -> Tensor:
    """The chances of every value of the target for the reference rows."""
    starts = np.cumsum([0, *(mix[name].shape[1] for name in measure.features)]).tolist()
    scores = sum(
        coefficients[torch.as_tensor(reference.codes[name]) + start]
        for name, start in zip(measure.features, starts[:-1], strict=True)
    )
    assert isinstance(scores, Tensor)
    return torch.softmax(scores, 1).double()


def _one_hot(chances: Tensor, random: torch.Generator) -> Tensor:
    """One bin a row, drawn by its chances; gradients flow as if the chances stood there."""
    drawn = torch.multinomial(chances.detach(), 1, generator=random)
    hard = torch.zeros_like(chances).scatter_(1, drawn, 1.0)
    return hard + chances - chances.detach()

"""How useful a model is while it is moved: how well a classifier fitted to it tells the label of reference rows.

Without a label it is how near the pairs of columns are to the counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from cuts.data.codec import Codes
from cuts.model.mixture import Mixture
from cuts.model.objective import Objective
from cuts.model.shape import Refit
from cuts.model.surrogate import fit_ridge

FEW_ROWS = 1e-3  # share of the rows a bin needs for the classifier to listen to it: a table is finite

Utility = Callable[[Mixture], float]


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Rows a model is tried on, as codes, and the column to predict."""

    codes: Codes
    label: str


def find_utility(reference: Reference | None, again: Refit) -> Utility:
    """The share of reference rows whose label a mixture tells, or how near it is to the counts."""
    if reference is not None:
        return lambda mix: accuracy(mix, reference)

    def nearness(mix: Mixture) -> float:
        single = Mixture(mix.columns, mix.w.float(), tuple(p.float() for p in mix.P))
        objective = Objective(again.marginals, None, slices=0, seed=again.seed, device="cpu")
        with torch.no_grad():
            return 1.0 - float(objective.loss(single)[1])

    return nearness


def accuracy(mix: Mixture, reference: Reference) -> float:
    """The share of the reference rows whose label a classifier of the mixture's rows tells."""
    features = [name for name in mix.columns if name != reference.label]
    classifier = fit_ridge(mix, reference.label, features, penalty=FEW_ROWS)
    told = classifier.scores(reference.codes).argmax(1)
    return float((told == torch.as_tensor(reference.codes[reference.label])).double().mean())

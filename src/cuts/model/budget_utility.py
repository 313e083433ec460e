"""How useful a model is while it is changed: the accuracy of a classifier fitted to it on reference rows.

The budgets of statistics and of hidden columns are counted in it. (Those of FAIRNESS commands are counted in the
accuracy of the very classifiers that are steered: `effects/fairness.py`.) Without a label it is one minus the mean
total variation between the model's pairs of columns and the counted ones.
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

FINITE_TABLE_PENALTY = 1e-3  # ridge penalty: about the share of rows a bin needs to matter, as in a finite table

Utility = Callable[[Mixture], float]


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Rows that a classifier is tested on, as codes, and the column to predict."""

    codes: Codes
    label: str


def find_utility(reference: Reference | None, refit: Refit) -> Utility:
    """The utility of a mixture: accuracy on the reference rows, or without them nearness to the counts; at most 1."""
    if reference is not None:
        return lambda mix: accuracy(mix, reference)

    def nearness(mix: Mixture) -> float:
        single = Mixture(mix.columns, mix.w.float(), tuple(p.float() for p in mix.P))
        objective = Objective(refit.marginals, None, slices=0, seed=refit.seed, device="cpu")
        with torch.no_grad():
            return 1.0 - float(objective.loss(single)[1])

    return nearness


def accuracy(mix: Mixture, reference: Reference) -> float:
    """The share of the reference rows whose label a classifier fitted to the mixture predicts correctly."""
    features = [name for name in mix.columns if name != reference.label]
    classifier = fit_ridge(mix, reference.label, features, penalty=FINITE_TABLE_PENALTY)
    predicted = classifier.scores(reference.codes).argmax(1)
    return float((predicted == torch.as_tensor(reference.codes[reference.label])).double().mean())

"""Whether XGBoost can tell synthetic rows from real ones it has not seen: an AUC of 0.5 means it cannot, 1 always."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cuts.assess.features import build_matrix
from cuts.assess.grid import Grid
from cuts.assess.learners import fit_classifier, predict_chances
from cuts.assess.sample import Sample, thin
from cuts.assess.scoring import auc

FOLDS = 5
MAX_ROWS = 10_000  # of each side
MIN_ROWS = 2 * FOLDS


@dataclass(frozen=True, slots=True)
class Discriminator:
    """The mean AUC over the folds; `train_auc` is that of telling train rows from test rows, which are both real."""

    rows: int  # of each side
    auc: float
    standard_error: float  # over the folds
    train_auc: float


def measure_discriminator(
    synthetic: Sample, train: Sample, test: Sample, grid: Grid, *, seed: int, say: Callable[[str], None]
) -> Discriminator | None:
    """Cross-validated on equally many rows of each side; nothing when there are too few."""
    some = min(synthetic.rows, train.rows, test.rows, MAX_ROWS)
    if some < MIN_ROWS:
        return None
    say("telling synthetic rows from real ones")
    rng = np.random.default_rng(seed)
    real = thin(test, some, rng)
    ours, theirs = (_folds(thin(sample, some, rng), real, train, grid, rng) for sample in (synthetic, train))
    error = float(np.std(ours, ddof=1) / np.sqrt(FOLDS))
    return Discriminator(some, float(np.mean(ours)), error, float(np.mean(theirs)))


def _folds(sample: Sample, real: Sample, train: Sample, grid: Grid, rng: np.random.Generator) -> list[float]:
    """The AUC on each fold of a classifier trained on the others."""
    matrix = np.concatenate([build_matrix(rows, train, grid, train.names, "raw") for rows in (sample, real)])
    made = np.repeat([1, 0], [sample.rows, real.rows])
    fold = np.concatenate([rng.permutation(rows.rows) % FOLDS for rows in (sample, real)])
    found = []
    for held in range(FOLDS):
        out = fold == held
        model = fit_classifier("xgboost", matrix[~out], made[~out])
        found.append(auc(predict_chances(model, matrix[out])[:, 1], made[out] == 1))
    return found

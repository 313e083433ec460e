"""Whether XGBoost can distinguish synthetic rows from unseen real ones: an AUC of 0.5 is chance, 1 is perfect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from cuts.assess.features import build_matrix
from cuts.assess.grid import Grid
from cuts.assess.learners import fit_classifier, predict_probabilities
from cuts.assess.table_arrays import Sample, thin

FOLDS = 5
MAX_ROWS = 10_000  # per table
MIN_ROWS = 2 * FOLDS


@dataclass(frozen=True, slots=True)
class Discriminator:
    """The mean AUC over the folds; `train_auc` is the AUC of train rows against test rows, which are both real."""

    rows: int  # per table
    auc: float
    standard_error: float  # over the folds
    train_auc: float


def measure_discriminator(
    synthetic: Sample, train: Sample, test: Sample, grid: Grid, *, seed: int, say: Callable[[str], None]
) -> Discriminator | None:
    """The cross-validated AUC on equally many rows per table; None when a table has fewer than `MIN_ROWS`."""
    rows = min(synthetic.rows, train.rows, test.rows, MAX_ROWS)
    if rows < MIN_ROWS:
        return None
    say("training a discriminator between synthetic and real rows")
    rng = np.random.default_rng(seed)
    real = thin(test, rows, rng)
    of_synthetic, of_train = (_folds(thin(sample, rows, rng), real, train, grid, rng) for sample in (synthetic, train))
    error = float(np.std(of_synthetic, ddof=1) / np.sqrt(FOLDS))
    return Discriminator(rows, float(np.mean(of_synthetic)), error, float(np.mean(of_train)))


def _folds(sample: Sample, real: Sample, train: Sample, grid: Grid, rng: np.random.Generator) -> list[float]:
    """The AUC on each fold of a classifier trained on the others."""
    roc_auc_score = import_module("sklearn.metrics").roc_auc_score
    matrix = np.concatenate([build_matrix(rows, train, grid, train.names, "raw") for rows in (sample, real)])
    label = np.repeat([1, 0], [sample.rows, real.rows])
    fold = np.concatenate([rng.permutation(rows.rows) % FOLDS for rows in (sample, real)])
    scores = []
    for number in range(FOLDS):
        held_out = fold == number
        model = fit_classifier("xgboost", matrix[~held_out], label[~held_out])
        scores.append(float(roc_auc_score(label[held_out], predict_probabilities(model, matrix[held_out])[:, 1])))
    return scores

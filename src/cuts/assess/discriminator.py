"""Whether a classifier can distinguish synthetic rows from real ones: an AUC of 0.5 is chance, 1 is perfect.

The AUC is cross-validated, so memorising rows does not raise it. The settings are fixed. Trees of depth 4 detect more
than deeper ones on a few thousand rows, and take half the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from cuts.assess.features import Coded, build_codes
from cuts.assess.learners import RANDOM_STATE, fit_model, predict_probabilities
from cuts.assess.table_arrays import Sample, read_sample, thin
from cuts.data.schema import Schema
from cuts.data.table import Floats, IntArray, Table
from cuts.progress import Advanced

Detector = Literal["XGBoost", "scikit-learn gradient boosting"]

FOLDS = 5
DEPTH = 4  # of the trees
MAX_ROWS = 10_000  # per table, in an evaluation
MIN_ROWS = 2 * FOLDS
MAX_FITTED_ROWS = 5_000  # per table, after a fit
MIN_FITTED_ROWS = 20
MAX_FITTED_CELLS = 100_000  # per table, after a fit: a wide table is thinned
MIN_WIDE_ROWS = 500  # but not below this


@dataclass(frozen=True, slots=True)
class Discriminator:
    """The mean AUC over the folds.

    `train_auc` is the floor, the AUC of real rows against other real rows; None if it was not measured.
    """

    rows: int  # per table
    auc: float
    standard_error: float  # over the folds
    train_auc: float | None = None
    folds: int = FOLDS
    learner: Detector = "XGBoost"


def measure_discriminator(
    synthetic: Sample, train: Sample, test: Sample, *, seed: int, say: Callable[[str], None]
) -> Discriminator | None:
    """The AUC of synthetic against test rows, equally many of each; None when a table has fewer than `MIN_ROWS`."""
    rows = min(synthetic.rows, train.rows, test.rows, MAX_ROWS)
    if rows < MIN_ROWS:
        return None
    say("training a discriminator between synthetic and real rows")
    rng = np.random.default_rng(seed)
    real = thin(test, rows, rng)
    learner = find_detector()
    of_synthetic, of_train = (
        _scores(learner, build_codes(thin(sample, rows, rng), real), rows, rng) for sample in (synthetic, train)
    )
    return Discriminator(rows, *_summary(of_synthetic), float(np.mean(of_train)), learner=learner)


def compare_with_fitted(
    synthetic: Table, real: Table, schema: Schema, *, seed: int, advanced: Advanced = lambda _: None
) -> Discriminator | None:
    """The AUC of synthetic rows against rows the model was fitted to; None when there are too few of either."""
    samples = read_sample(synthetic, schema, "synthetic"), read_sample(real, schema, "train")
    columns = max(len(samples[0].columns), 1)
    rows = min(*(sample.rows for sample in samples), MAX_FITTED_ROWS, max(MAX_FITTED_CELLS // columns, MIN_WIDE_ROWS))
    if rows < MIN_FITTED_ROWS:
        return None
    rng = np.random.default_rng(seed)
    coded = build_codes(*(thin(sample, rows, rng) for sample in samples))
    learner = find_detector()
    return Discriminator(rows, *_summary(_scores(learner, coded, rows, rng, advanced)), learner=learner)


def compare_real(
    one: Table, other: Table | None, schema: Schema, rows: int, *, seed: int, advanced: Advanced = lambda _: None
) -> float | None:
    """The AUC of real rows against others, at most `rows` of each: the floor of an AUC of synthetic rows.

    Without other rows the first are split into halves. None when there are too few.
    """
    rng = np.random.default_rng(seed)
    first = read_sample(one, schema, "train")
    if other is None:
        order = rng.permutation(first.rows)
        first, second = first.take(order[: first.rows // 2]), first.take(order[first.rows // 2 :])
    else:
        second = read_sample(other, schema, "test")
    rows = min(rows, first.rows, second.rows)
    if rows < MIN_FITTED_ROWS // 2:
        return None
    coded = build_codes(*(thin(sample, rows, rng) for sample in (first, second)))
    return float(np.mean(_scores(find_detector(), coded, rows, rng, advanced)))


def find_detector() -> Detector:
    """XGBoost if it is installed."""
    return "XGBoost" if find_spec("xgboost") is not None else "scikit-learn gradient boosting"


def area_under_curve(scores: Floats, is_positive: IntArray) -> float:
    """The probability that a positive row has a higher score than a negative one; ties count half.

    >>> area_under_curve(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0, 0, 1, 1]))
    0.875
    """
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]  # the mean rank of a tie
    positive = int(is_positive.sum())
    above = ranks[is_positive == 1].sum() - positive * (positive + 1) / 2
    return float(above / (positive * (len(scores) - positive)))


def _scores(
    learner: Detector, coded: Coded, rows: int, rng: np.random.Generator, advanced: Advanced = lambda _: None
) -> list[float]:
    """The AUC on each fold of a classifier trained on the others; the first `rows` rows are the positive ones."""
    matrix = coded.matrix
    label = np.repeat([1, 0], [rows, len(matrix) - rows])
    fold = np.concatenate([rng.permutation(count) % FOLDS for count in (rows, len(matrix) - rows)])
    scores = []
    for number in range(FOLDS):
        held_out = fold == number
        model = fit_model(_detector(learner, coded.is_category), matrix[~held_out], label[~held_out])
        scores.append(area_under_curve(predict_probabilities(model, matrix[held_out])[:, 1], label[held_out]))
        advanced((number + 1) / FOLDS)
    return scores


def _summary(scores: list[float]) -> tuple[float, float]:
    return float(np.mean(scores)), float(np.std(scores, ddof=1) / np.sqrt(FOLDS))


def _detector(learner: Detector, is_category: list[bool]) -> Any:
    match learner:
        case "XGBoost":
            return import_module("xgboost").XGBClassifier(
                random_state=RANDOM_STATE,
                tree_method="hist",
                max_depth=DEPTH,
                base_score=0.5,
                n_jobs=1,
                enable_categorical=True,
                feature_types=["c" if category else "q" for category in is_category],
            )
        case "scikit-learn gradient boosting":
            return import_module("sklearn.ensemble").HistGradientBoostingClassifier(
                random_state=RANDOM_STATE, max_depth=DEPTH, categorical_features=is_category
            )

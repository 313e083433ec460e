"""Downstream utility: learners trained on the synthetic rows and on the train rows, scored on the test rows.

The paper reports XGBoost's accuracy with numbers in bins (`features="bins"`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from math import nan
from typing import Any, Literal

import numpy as np

from cuts.assess.features import MAX_ROWS, Features, Matrix, build_matrix
from cuts.assess.grid import Grid
from cuts.assess.learners import (
    CLASSIFIERS,
    REGRESSORS,
    Classifier,
    Regressor,
    fit_classifier,
    fit_regressor,
    predict_probabilities,
)
from cuts.assess.table_arrays import Sample, thin
from cuts.data.schema import Category, Modelled
from cuts.data.table import Bools, Floats, IntArray
from cuts.text.diagnostic import counted
from cuts.vocab.measures.downstream_accuracy import accuracy
from cuts.vocab.measures.downstream_balanced_accuracy import balanced_accuracy

TrainedOn = Literal["synthetic", "train"]


@dataclass(frozen=True, slots=True)
class Score:
    """The scores of one learner on the test rows: accuracy, balanced_accuracy and auc, or r2 and mae for numbers."""

    learner: Classifier | Regressor
    trained_on: TrainedOn
    rows: int  # trained on
    measures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Downstream:
    """The scores of all learners for one target."""

    target: str
    predicts: Literal["classes", "numbers"]
    features: Features
    test_rows: int
    scores: tuple[Score, ...]


@dataclass(frozen=True, slots=True)
class Trained:
    """A learner's predictions for the test rows: classes as indices of the schema's categories, or numbers."""

    learner: Classifier | Regressor
    trained_on: TrainedOn
    rows: int
    predicted: IntArray | Floats
    probabilities: Floats | None  # (rows, classes)


def train_all(
    synthetic: Sample,
    train: Sample,
    test: Sample,
    grid: Grid,
    *,
    target: str,
    features: Features,
    seed: int,
    say: Callable[[str], None],
) -> tuple[Trained, ...]:
    """Every learner trained on the synthetic and on the train rows, with its predictions for `with_target(test)`."""
    names = [name for name in train.names if name != target]
    rng = np.random.default_rng(seed)
    tested = build_matrix(with_target(test, target), train, grid, names, features)
    trained: list[Trained] = []
    sources: tuple[tuple[TrainedOn, Sample], ...] = (("synthetic", synthetic), ("train", train))
    for trained_on, sample in sources:
        rows = thin(with_target(sample, target), MAX_ROWS, rng)
        matrix = build_matrix(rows, train, grid, names, features)
        column = _column(sample, target)
        for learner in CLASSIFIERS if isinstance(column, Category) else REGRESSORS:
            say(f"training {learner} to predict `{target}` on {counted(rows.rows, f'{trained_on} row')}")
            predicted, probabilities = learn(learner, rows, column, matrix, tested)
            trained.append(Trained(learner, trained_on, rows.rows, predicted, probabilities))
    return tuple(trained)


def measure_downstream(trained: tuple[Trained, ...], test: Sample, *, target: str, features: Features) -> Downstream:
    """The scores of predictions against the true values of the test rows."""
    rows = with_target(test, target)
    truth = rows.values[target]
    scores = tuple(Score(t.learner, t.trained_on, t.rows, _scores(t, truth)) for t in trained)
    kind: Literal["classes", "numbers"] = "numbers" if trained[0].probabilities is None else "classes"
    return Downstream(target, kind, features, rows.rows, scores)


def with_target(sample: Sample, target: str) -> Sample:
    """The rows in which the target has a value."""
    kept = has_target(sample, target)
    return sample if kept.all() else sample.take(np.flatnonzero(kept))


def has_target(sample: Sample, target: str) -> Bools:
    """Where the target has a value; for a category column, a value of the schema."""
    column = _column(sample, target)
    values = sample.values[target]
    present: Bools = values < len(column.categories) if isinstance(column, Category) else ~np.isnan(values)
    return present


def learn(
    learner: Classifier | Regressor, rows: Sample, column: Modelled, matrix: Matrix, tested: Matrix
) -> tuple[IntArray | Floats, Floats | None]:
    """The predictions for `tested` of a learner trained on `rows`: classes as indices and probabilities, or numbers."""
    outcomes = rows.values[column.name]
    if not isinstance(column, Category):
        assert learner != "logistic regression"
        model = fit_regressor(learner, matrix, outcomes.astype(np.float64))
        return np.asarray(model.predict(tested), dtype=np.float64), None
    assert learner != "ridge regression"
    present, classes = np.unique(outcomes.astype(np.int64), return_inverse=True)  # learners need classes 0, 1, 2, ...
    model = fit_classifier(learner, matrix, classes.astype(np.int64))
    probabilities = np.zeros((len(tested), len(column.categories)))
    probabilities[:, present] = predict_probabilities(model, tested)
    return present[np.asarray(model.predict(tested), dtype=np.int64)], probabilities


def _column(sample: Sample, name: str) -> Modelled:
    return next(column for column in sample.columns if column.name == name)


def _scores(trained: Trained, truth: Any) -> dict[str, float]:
    metrics = import_module("sklearn.metrics")
    if trained.probabilities is None:
        constant = float(np.ptp(truth)) == 0.0  # nothing to explain
        return {
            "r2": nan if constant else float(metrics.r2_score(truth, trained.predicted)),
            "mae": float(metrics.mean_absolute_error(truth, trained.predicted)),
        }
    one_hot = np.eye(trained.probabilities.shape[1])
    predicted, true = one_hot[trained.predicted.astype(np.int64)], one_hot[truth]
    return {
        "accuracy": float(accuracy(predicted, true)),
        "balanced_accuracy": float(balanced_accuracy(predicted, true)),
        "auc": _mean_auc(trained.probabilities, truth),
    }


def _mean_auc(probabilities: Floats, truth: IntArray) -> float:
    """The one-against-rest AUC averaged over the classes that occur; NaN if only one class occurs."""
    classes = np.unique(truth)
    if len(classes) < 2:
        return nan
    roc_auc_score = import_module("sklearn.metrics").roc_auc_score
    return float(np.mean([roc_auc_score(truth == c, probabilities[:, c]) for c in classes]))

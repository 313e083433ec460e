"""What can be learned from the synthetic rows: learners trained on them and on the train rows, judged on the test rows.

The paper's figure is XGBoost's accuracy with numbers as bins (`features="bins"`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cuts.assess import scoring
from cuts.assess.features import MAX_ROWS, Features, Matrix, build_matrix
from cuts.assess.grid import Grid
from cuts.assess.learners import (
    CLASSIFIERS,
    REGRESSORS,
    Classifier,
    Regressor,
    fit_classifier,
    fit_regressor,
    predict_chances,
)
from cuts.assess.sample import Sample, thin
from cuts.data.schema import Category, Modelled
from cuts.data.table import Bools, Floats, IntArray
from cuts.text.diagnostic import counted

TrainedOn = Literal["synthetic", "train"]


@dataclass(frozen=True, slots=True)
class Score:
    """How good one learner is on the test rows: accuracy, balanced_accuracy and auc, or r2 and mae of numbers."""

    learner: Classifier | Regressor
    trained_on: TrainedOn
    rows: int  # learned from
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
    """A learner's predictions for the test rows: classes as places in the schema's list, or numbers."""

    learner: Classifier | Regressor
    trained_on: TrainedOn
    rows: int
    predicted: IntArray | Floats
    chances: Floats | None  # of every class, a row a row


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
    found: list[Trained] = []
    sources: tuple[tuple[TrainedOn, Sample], ...] = (("synthetic", synthetic), ("train", train))
    for trained_on, sample in sources:
        rows = thin(with_target(sample, target), MAX_ROWS, rng)
        matrix = build_matrix(rows, train, grid, names, features)
        column = _column(sample, target)
        for learner in CLASSIFIERS if isinstance(column, Category) else REGRESSORS:
            say(f"learning `{target}` from {counted(rows.rows, f'{trained_on} row')}: {learner}")
            predicted, chances = learn(learner, rows, column, matrix, tested)
            found.append(Trained(learner, trained_on, rows.rows, predicted, chances))
    return tuple(found)


def measure_downstream(trained: tuple[Trained, ...], test: Sample, *, target: str, features: Features) -> Downstream:
    """The scores of predictions against what the test rows say."""
    rows = with_target(test, target)
    truth = rows.values[target]
    scores = tuple(Score(t.learner, t.trained_on, t.rows, _measures(t, truth)) for t in trained)
    kind: Literal["classes", "numbers"] = "numbers" if trained[0].chances is None else "classes"
    return Downstream(target, kind, features, rows.rows, scores)


def with_target(sample: Sample, target: str) -> Sample:
    """The rows that have a known value of the target."""
    kept = has_target(sample, target)
    return sample if kept.all() else sample.take(np.flatnonzero(kept))


def has_target(sample: Sample, target: str) -> Bools:
    """Where the target has a value, one of the schema if it is a category."""
    column = _column(sample, target)
    values = sample.values[target]
    known: Bools = values < len(column.categories) if isinstance(column, Category) else ~np.isnan(values)
    return known


def learn(
    learner: Classifier | Regressor, rows: Sample, column: Modelled, matrix: Matrix, tested: Matrix
) -> tuple[IntArray | Floats, Floats | None]:
    """What a learner of some rows says of others: classes as places and their chances, or numbers."""
    outcomes = rows.values[column.name]
    if not isinstance(column, Category):
        assert learner != "logistic regression"
        model = fit_regressor(learner, matrix, outcomes.astype(np.float64))
        return np.asarray(model.predict(tested), dtype=np.float64), None
    assert learner != "ridge regression"
    present, places = np.unique(outcomes.astype(np.int64), return_inverse=True)  # classes the rows lack are not learned
    model = fit_classifier(learner, matrix, places.astype(np.int64))
    chances = np.zeros((len(tested), len(column.categories)))
    chances[:, present] = predict_chances(model, tested)
    return present[np.asarray(model.predict(tested), dtype=np.int64)], chances


def _column(sample: Sample, name: str) -> Modelled:
    return next(column for column in sample.columns if column.name == name)


def _measures(trained: Trained, truth: Any) -> dict[str, float]:
    if trained.chances is None:
        numbers = trained.predicted.astype(np.float64)
        return {"r2": scoring.r_squared(numbers, truth), "mae": scoring.mean_error(numbers, truth)}
    classes = trained.predicted.astype(np.int64)
    return {
        "accuracy": scoring.accuracy(classes, truth),
        "balanced_accuracy": scoring.balanced_accuracy(classes, truth),
        "auc": scoring.mean_auc(trained.chances, truth),
    }

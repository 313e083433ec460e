"""The learners of the report: scikit-learn, and XGBoost from an optional extra; both are imported only when used.

Their settings are fixed, so that scores are comparable between tables, with the paper, and on any number of cores.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any, Literal, get_args

import numpy as np

from cuts.data.table import Floats, IntArray
from cuts.text.diagnostic import USAGE, Diagnostic
from cuts.text.interrupts import uninterrupted

Classifier = Literal["xgboost", "random forest", "logistic regression"]
Regressor = Literal["xgboost", "random forest", "ridge regression"]
CLASSIFIERS: tuple[Classifier, ...] = get_args(Classifier)
REGRESSORS: tuple[Regressor, ...] = get_args(Regressor)
RANDOM_STATE = 42  # the seed used in the paper


def missing_libraries() -> list[Diagnostic]:
    """One diagnostic if the learners' libraries cannot be imported, else an empty list."""
    absent = []
    for library, package in (("sklearn", "scikit-learn"), ("xgboost", "xgboost")):
        try:
            import_module(library)
        except ImportError:
            absent.append(package)
    return [missing_extra(absent)] if absent else []


def fit_classifier(learner: Classifier, features: Any, classes: IntArray) -> Any:
    """A classifier trained on the rows; `classes` are numbered from 0, and every class occurs."""
    return fit_model(_classifier(learner), features, classes)


def fit_regressor(learner: Regressor, features: Any, numbers: Floats) -> Any:
    """A regressor trained on the rows."""
    return fit_model(_regressor(learner), features, numbers)


def predict_probabilities(model: Any, features: Any) -> Floats:
    """The probability of every class: (rows, classes)."""
    return np.asarray(model.predict_proba(features), dtype=np.float64)


def _classifier(learner: Classifier) -> Any:
    match learner:
        case "xgboost":
            return import_module("xgboost").XGBClassifier(
                random_state=RANDOM_STATE, tree_method="hist", base_score=0.5, n_jobs=1
            )
        case "random forest":
            return import_module("sklearn.ensemble").RandomForestClassifier(random_state=RANDOM_STATE)
        case "logistic regression":
            return _scaled(import_module("sklearn.linear_model").LogisticRegression(max_iter=500))


def _regressor(learner: Regressor) -> Any:
    match learner:
        case "xgboost":
            return import_module("xgboost").XGBRegressor(random_state=RANDOM_STATE, tree_method="hist", n_jobs=1)
        case "random forest":
            return import_module("sklearn.ensemble").RandomForestRegressor(random_state=RANDOM_STATE)
        case "ridge regression":
            return _scaled(import_module("sklearn.linear_model").Ridge())


def _scaled(model: Any) -> Any:
    scaler = import_module("sklearn.preprocessing").StandardScaler()
    return import_module("sklearn.pipeline").make_pipeline(scaler, model)


def fit_model(model: Any, features: Any, outcomes: Any) -> Any:
    """The model, trained on the rows."""
    with uninterrupted(), warnings.catch_warnings():  # a linear model that has not converged is still usable
        warnings.simplefilter("ignore", import_module("sklearn.exceptions").ConvergenceWarning)
        return model.fit(features, outcomes)


def missing_extra(packages: list[str]) -> Diagnostic:
    """Libraries that are needed for learners and not installed."""
    return Diagnostic(
        "missing-extra",
        f"training classifiers needs {' and '.join(packages)}",
        help='install with `pip install "cuts[report]"`, or use `--parts marginals,leakage`, which need no classifier',
        exit_code=USAGE,
    )

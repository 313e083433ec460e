"""Massaging (Kamiran and Calders): the real rows, relabelled until all groups have the same rate of the desired label.

A classifier scores each row in cross-validation. Groups below the overall rate have their best-scored rows promoted,
groups above it have their worst-scored rows demoted; the overall rate stays as it is.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from contract import Job, parser, read, write
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from xgboost import XGBClassifier

FOLDS = 5


def main() -> None:
    """Write the rows that the command line asks for."""
    options = parser("Massaging")
    options.add_argument("--protected", required=True, help="column whose groups get equal rates")
    options.add_argument("--desired", required=True, help="favourable value of the label")
    job = read(options.parse_args())
    fair = massaged(job, job.options.protected, job.options.desired)
    rng = np.random.default_rng(job.seed)
    write(job, fair.iloc[rng.choice(len(fair), job.rows, replace=job.rows > len(fair))])


def massaged(job: Job, protected: str, desired: str) -> pd.DataFrame:
    """The train rows with labels changed in as few rows as equal rates need."""
    labels = job.train[job.label]
    refused = [value for value in labels.unique() if value != desired]
    if desired not in labels.unique() or len(refused) != 1:
        raise SystemExit(f"massaging needs a label with two values, one of them `{desired}`")
    positive = (labels == desired).to_numpy()
    score = scores(job, positive)
    made = positive.copy()
    for group in job.train[protected].unique():
        member = (job.train[protected] == group).to_numpy()
        moves = round(positive.mean() * member.sum()) - int((member & positive).sum())
        candidates = np.flatnonzero(member & (positive if moves < 0 else ~positive))
        best_first = candidates[np.argsort(-score[candidates], kind="stable")]
        made[best_first[:moves] if moves > 0 else best_first[len(best_first) + moves :]] = moves > 0
    return job.train.assign(**{job.label: np.where(made, desired, refused[0])})


def scores(job: Job, positive: np.ndarray) -> np.ndarray:
    """Probability of the desired label by XGBoost, for each row from folds without it."""
    features = job.train.drop(columns=job.label)
    features = features.astype({column: "category" for column in features if column in job.categories})
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=job.seed)
    model = XGBClassifier(enable_categorical=True, tree_method="hist", n_jobs=1, random_state=job.seed)
    return cross_val_predict(model, features, positive, cv=folds, method="predict_proba")[:, 1]


if __name__ == "__main__":
    main()

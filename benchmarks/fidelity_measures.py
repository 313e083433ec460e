"""How close a synthetic table is to real rows: the measures of `fidelity.py`.

The train rows are what the generator saw, the test rows are new. Every table is encoded once: categories as positions
in their sorted list, anything missing or unknown as NaN. The measures are:

- `r2`, or `accuracy` and `auc`: XGBoost trained on the table and tested on the test rows (TSTR);
- `c2st`: the AUC of XGBoost that separates the table from the test rows, in five folds; 0.5 is perfect;
- `tv2`: the mean total variation of all pairs of columns from the test rows, numbers in 20 quantile bins;
- `spearman`: the mean error of the rank correlations of numbers, compared with the train rows;
- `copies`: the share of rows that equal a train row in every column;
- `nearer`: the share of rows that are closer to a train row than to a test row; 0.5 is perfect, more is memorisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Measures = dict[str, float | None]

BINS = 20  # of a number, in pairs of columns
FOLDS = 5
MAX_COMPARED = 5_000  # rows of either table that a discriminator separates
MAX_NEIGHBOURS = 2_000  # rows whose nearest real row is searched
TREES = {
    "n_estimators": 150,
    "max_depth": 6,
    "learning_rate": 0.15,
    "tree_method": "hist",
    "n_jobs": 1,
    "random_state": 0,
}
MANY_LABELS = {"n_estimators": 60}  # with more than 5 labels: every step grows one tree per label
DISCRIMINATOR = {"n_estimators": 100}
MISSING = -9e9  # instead of NaN, which does not equal itself


@dataclass(frozen=True)
class RealTable:
    """The train and the test rows, and which columns are categories; all other columns are numbers."""

    train: pd.DataFrame
    test: pd.DataFrame
    label: str
    task: Literal["classification", "regression"]
    categories: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """All columns in order."""
        return list(self.train.columns)

    @property
    def numbers(self) -> list[str]:
        """The columns that are no categories."""
        return [name for name in self.columns if name not in self.categories]

    @cached_property
    def levels(self) -> dict[str, list[str]]:
        """The categories of each category column, in train and test rows."""
        both = pd.concat([self.train, self.test])
        return {name: sorted(both[name].dropna().unique()) for name in self.categories}

    @cached_property
    def edges(self) -> dict[str, Floats]:
        """Where the quantile bins of each number begin, except for the first."""
        shares = np.linspace(0, 1, BINS + 1)[1:-1]
        return {name: np.unique(np.quantile(self.train[name].dropna(), shares)) for name in self.numbers}

    @cached_property
    def known(self) -> pd.DataFrame:
        """The train rows, encoded."""
        return self.encode(self.train)

    @cached_property
    def unseen(self) -> pd.DataFrame:
        """The test rows, encoded."""
        return self.encode(self.test)

    def encode(self, table: pd.DataFrame) -> pd.DataFrame:
        """A table with the same columns, all of them floats."""
        return pd.DataFrame({name: self._encode_column(table[name]) for name in self.columns})

    def feature_types(self, names: list[str]) -> list[str]:
        """What XGBoost calls these columns: `c` for categories, `q` for numbers."""
        return ["c" if name in self.categories else "q" for name in names]

    def _encode_column(self, column: pd.Series) -> Floats:
        if column.name not in self.categories:
            return pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)
        codes = pd.Categorical(column, categories=self.levels[column.name]).codes.astype(float)
        return np.where(codes < 0, np.nan, codes)


def measure_synthetic(synthetic: pd.DataFrame, real: RealTable) -> Measures:
    """All measures of a synthetic table."""
    rows = real.encode(synthetic)
    return _measure(rows, real, copies=rows) | {"nearer": measure_nearer(rows, real)}


def measure_real(real: RealTable) -> Measures:
    """All measures of the train rows, with the copies among the test rows: what a perfect generator reaches."""
    return _measure(real.known, real, copies=real.unseen) | {"nearer": None}


def _measure(rows: pd.DataFrame, real: RealTable, *, copies: pd.DataFrame) -> Measures:
    return {
        **measure_usefulness(rows, real),
        "c2st": measure_discriminator(rows, real),
        "tv2": measure_pairs(rows, real),
        "spearman": measure_correlations(rows, real),
        "copies": measure_copies(copies, real),
    }


# --- classifiers


def measure_usefulness(rows: pd.DataFrame, real: RealTable) -> Measures:
    """How well XGBoost trained on the rows predicts the label of the test rows; the AUC is a mean over labels."""
    from sklearn.metrics import r2_score, roc_auc_score
    from xgboost import XGBClassifier, XGBRegressor

    train, test = (some[some[real.label].notna()] for some in (rows, real.unseen))
    features = [name for name in real.columns if name != real.label]
    types = {"feature_types": real.feature_types(features), "enable_categorical": True}
    if real.task == "regression":
        regressor = XGBRegressor(**TREES, **types).fit(train[features], train[real.label])
        return {"r2": float(r2_score(test[real.label], regressor.predict(test[features])))}

    truth = test[real.label].to_numpy(int)
    present, place = np.unique(train[real.label].to_numpy(int), return_inverse=True)
    if len(present) < 2:
        return {"accuracy": float((truth == present[0]).mean()), "auc": 0.5}
    settings: dict[str, Any] = TREES | (MANY_LABELS if len(present) > 5 else {})
    classifier = XGBClassifier(**settings, **types).fit(train[features], place)
    chances = np.zeros((len(test), len(real.levels[real.label])))
    chances[:, present] = classifier.predict_proba(test[features])
    hits = [truth == label for label in range(chances.shape[1])]
    aucs = [roc_auc_score(hit, chances[:, label]) for label, hit in enumerate(hits) if 0 < hit.sum() < len(hit)]
    return {"accuracy": float((chances.argmax(axis=1) == truth).mean()), "auc": float(np.mean(aucs))}


def measure_discriminator(rows: pd.DataFrame, real: RealTable) -> float:
    """The AUC of XGBoost that separates the rows from as many test rows, each judged by a fold that did not see it."""
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold
    from xgboost import XGBClassifier

    count = min(MAX_COMPARED, len(rows), len(real.unseen))
    random = np.random.RandomState(0)
    parts = [some.iloc[random.permutation(len(some))[:count]] for some in (real.unseen, rows)]
    both, truth = pd.concat(parts, ignore_index=True), np.repeat([0, 1], count)
    types = {"feature_types": real.feature_types(real.columns), "enable_categorical": True}
    scores = np.zeros(len(both))
    for fitted, judged in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(both, truth):
        classifier = XGBClassifier(**(TREES | DISCRIMINATOR), **types).fit(both.iloc[fitted], truth[fitted])
        scores[judged] = classifier.predict_proba(both.iloc[judged])[:, 1]
    return float(roc_auc_score(truth, scores))


# --- distances


def measure_pairs(rows: pd.DataFrame, real: RealTable) -> float:
    """The mean total variation of all pairs of columns from the test rows."""
    ours, theirs = _bin_columns(rows, real), _bin_columns(real.unseen, real)
    found = []
    for (left, right), (real_left, real_right) in zip(combinations(ours, 2), combinations(theirs, 2), strict=True):
        cells = left.size * right.size
        shares = [_share(left, right, cells), _share(real_left, real_right, cells)]
        found.append(0.5 * np.abs(shares[0] - shares[1]).sum())
    return float(np.mean(found))


def measure_correlations(rows: pd.DataFrame, real: RealTable) -> float | None:
    """The mean error of the rank correlations of all pairs of numbers; none with fewer than two numbers."""
    if len(real.numbers) < 2:
        return None
    ours, theirs = (some[real.numbers].corr(method="spearman").to_numpy() for some in (rows, real.known))
    return float(np.nanmean(np.abs(ours - theirs)[np.triu_indices(len(ours), 1)]))


@dataclass(frozen=True, slots=True)
class Binned:
    """The bin of each row in one column; the last of `size` bins holds the missing values."""

    codes: Ints
    size: int


def _bin_columns(rows: pd.DataFrame, real: RealTable) -> list[Binned]:
    return [_bin_column(name, rows[name].to_numpy(), real) for name in real.columns]


def _bin_column(name: str, values: Floats, real: RealTable) -> Binned:
    if name in real.categories:
        codes, missing = np.nan_to_num(values).astype(int), len(real.levels[name])
    else:
        codes = np.searchsorted(real.edges[name], np.nan_to_num(values), side="right")
        missing = len(real.edges[name]) + 1
    return Binned(np.where(np.isnan(values), missing, codes), missing + 1)


def _share(left: Binned, right: Binned, cells: int) -> Floats:
    return np.bincount(left.codes * right.size + right.codes, minlength=cells) / len(left.codes)


# --- memorisation


def measure_copies(rows: pd.DataFrame, real: RealTable) -> float:
    """The share of the rows that are train rows, up to nine decimals."""
    known = set(_keys(real.known))
    return float(np.mean([key in known for key in _keys(rows)]))


def measure_nearer(rows: pd.DataFrame, real: RealTable) -> float:
    """The share of the rows whose nearest train row is closer than their nearest of as many test rows; ties are halves.

    Distances are Euclidean; a number counts as its quantile among the train rows, two different categories are 1 apart.
    """
    from sklearn.neighbors import NearestNeighbors

    count, random = min(len(real.known), len(real.unseen)), np.random.RandomState(0)
    known, unseen, ours = (
        _positions(some, real)[random.permutation(len(some))[:limit]]
        for some, limit in ((real.known, count), (real.unseen, count), (rows, MAX_NEIGHBOURS))
    )
    near, far = (
        NearestNeighbors(n_neighbors=1, algorithm="brute").fit(some).kneighbors(ours)[0][:, 0]
        for some in (known, unseen)
    )
    return float((near < far).mean() + 0.5 * (near == far).mean())


def _keys(rows: pd.DataFrame) -> list[tuple[float, ...]]:
    return [tuple(row) for row in rows.fillna(MISSING).round(9).to_numpy()]


def _positions(rows: pd.DataFrame, real: RealTable) -> NDArray[np.float32]:
    parts = []
    for name in real.columns:
        if name in real.categories:
            missing = len(real.levels[name])
            parts.append(np.eye(missing + 1)[rows[name].fillna(missing).astype(int)] * np.sqrt(0.5))
        else:
            ranked = np.sort(real.known[name].dropna())
            values = rows[name].fillna(real.known[name].median())
            parts.append((np.searchsorted(ranked, values) / len(ranked))[:, None])
    return np.hstack(parts).astype(np.float32)

"""A discriminator separates tables that differ and not those that do not, whatever their columns are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from cuts import from_frame, infer_schema
from cuts.assess import discriminator
from cuts.assess.discriminator import (
    MAX_FITTED_CELLS,
    MIN_FITTED_ROWS,
    Detector,
    Discriminator,
    area_under_curve,
    compare_with_fitted,
)
from cuts.assess.features import MAX_CODES, build_codes
from cuts.assess.render_quality import against_fitted
from cuts.assess.table_arrays import read_sample

LEARNERS: tuple[Detector, ...] = ("XGBoost", "scikit-learn gradient boosting")


def mixed(rows: int, seed: int) -> pd.DataFrame:
    """Numbers, categories (more than 255 in one column), dates, and missing values; `job` depends on `age`."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, rows)
    return pd.DataFrame(
        {
            "age": age,
            "weight": np.where(rng.random(rows) < 0.2, np.nan, np.round(rng.normal(70, 9, rows), 1)),
            "job": pd.Series(np.where(age < 40, "clerk", "baker")).where(pd.Series(rng.random(rows) > 0.1)),
            "town": [f"t{i}" for i in (rng.random(rows) ** 2 * 400).astype(int)],
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, rows), "D"),
        }
    )


def compare(synthetic: pd.DataFrame, real: pd.DataFrame) -> Discriminator | None:
    schema = infer_schema(
        from_frame(pd.concat([real, synthetic])), "people", keep=[name for name in real if name == "town"]
    )
    return compare_with_fitted(from_frame(synthetic), from_frame(real), schema, seed=0)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=40))
def test_the_area_is_that_of_scikit_learn(pairs: list[tuple[int, bool]]) -> None:
    scores, labels = np.array([p[0] / 5 for p in pairs]), np.array([int(p[1]) for p in pairs])
    if 0 < labels.sum() < len(labels):
        assert area_under_curve(scores, labels) == pytest.approx(roc_auc_score(labels, scores))


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    ("change", "lowest", "highest"),
    [
        (lambda rows: rows, 0.42, 0.58),
        (lambda rows: rows.assign(job=rows["job"].sample(frac=1, random_state=0).to_numpy()), 0.65, 1.0),
        (lambda rows: rows.assign(weight=rows["weight"].fillna(70.0)), 0.55, 1.0),
        (lambda rows: rows.assign(since=pd.Timestamp("2020-01-01")), 0.95, 1.0),
    ],
    ids=["another sample", "a relation lost", "no missing values", "one date"],
)
def test_tables_are_separated_by_what_differs(
    learner: Detector,
    change: Callable[[pd.DataFrame], pd.DataFrame],
    lowest: float,
    highest: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(discriminator, "find_detector", lambda: learner)
    found = compare(change(mixed(800, 1)), mixed(700, 2))
    assert found is not None
    assert (found.rows, found.learner, found.folds) == (700, learner, 5)
    assert lowest <= found.auc <= highest


def test_without_xgboost_scikit_learn_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert discriminator.find_detector() == "XGBoost"
    monkeypatch.setattr(discriminator, "find_spec", lambda _: None)
    assert discriminator.find_detector() == "scikit-learn gradient boosting"


def test_the_same_seed_gives_the_same_number() -> None:
    assert compare(mixed(60, 1), mixed(60, 2)) == compare(mixed(60, 1), mixed(60, 2))


def test_of_categories_in_large_numbers_the_rare_ones_share_a_code() -> None:
    rows = mixed(3_000, 1)
    sample = read_sample(from_frame(rows), infer_schema(from_frame(rows), "people"), "train")
    coded = build_codes(sample, sample)
    first, second = np.split(coded.matrix, 2)
    assert np.array_equal(first, second, equal_nan=True)
    town = first[:, list(sample.names).index("town")]
    assert coded.is_category == [False, False, True, True, False]
    assert town.max() == MAX_CODES - 1
    alone = rows["town"].value_counts().head(50).index
    assert all(len(np.unique(town[rows["town"] == name])) == 1 for name in alone)
    assert len(np.unique(town[rows["town"].isin(alone)])) == 50
    assert np.isnan(first[:, 1]).sum() == rows["weight"].isna().sum()


@pytest.mark.parametrize("few", [0, 1])
def test_too_few_rows_of_either_table_are_not_compared(few: int) -> None:
    frames = [mixed(100, 1), mixed(100, 2)]
    assert compare(*frames) is not None
    frames[few] = frames[few].head(MIN_FITTED_ROWS - 1)
    assert compare(*frames) is None
    assert "too few rows" in against_fitted(None, commands=False)


def test_a_wide_table_is_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discriminator, "MIN_WIDE_ROWS", 50)
    monkeypatch.setattr(discriminator, "MAX_FITTED_CELLS", 40 * 60)
    rng = np.random.default_rng(0)
    wide = [pd.DataFrame(rng.integers(0, 3, (100, 40)), columns=[f"x{i}" for i in range(40)]) for _ in range(2)]
    found = compare(*wide)
    assert found is not None
    assert found.rows == 60
    monkeypatch.setattr(discriminator, "MAX_FITTED_CELLS", 40)
    least = compare(*wide)
    assert least is not None
    assert least.rows == 50
    assert MAX_FITTED_CELLS // 14 >= 5_000  # an ordinary table is not thinned below the largest number of rows


def test_the_line_names_learner_rows_yardstick_and_which_rows_are_real() -> None:
    found = Discriminator(5_000, 0.5349, 0.004)
    assert against_fitted(found, commands=False) == (
        "A discriminator (XGBoost, 5 folds, 5,000 rows of each table) separates synthetic from real rows with an AUC "
        "of 0.53 (0.50 or less is indistinguishable, 1.00 means that every row is detected). "
        "The real rows are those that the model was fitted to."
    )
    assert against_fitted(found, commands=True).endswith(
        "fitted to; the commands of the program also move the table away from them."
    )

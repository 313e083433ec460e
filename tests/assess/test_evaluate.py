"""The quality of synthetic tables: measured numbers against plain oracles, and what must hold for known tables."""

from __future__ import annotations

import itertools
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from console import run
from cuts import CutsError, Table, datasets, from_frame, infer_schema
from cuts.assess.distance import DistanceSettings, Marginals, measure_marginals
from cuts.assess.downstream import Trained, measure_downstream, train_all
from cuts.assess.evaluate import STAMP, Quality, evaluate
from cuts.assess.fairness import gaps
from cuts.assess.grid import build_grid, cells
from cuts.assess.leakage import closest
from cuts.assess.render_quality import as_data, as_text
from cuts.assess.request import EvaluateOptions
from cuts.assess.table_arrays import Sample, read_sample
from cuts.data.columns import Category, Integer, Real
from cuts.data.schema import Schema
from cuts.flow import judge
from cuts.vocab.names import fairness_measures

ADULT = datasets.find("adult")
assert ADULT is not None
SCHEMA = Schema(
    "people",
    (
        Integer("age", 18, 80),
        Category("sex", ("Female", "Male")),
        Category("job", ("a", "b", "c")),
        Category("paid", ("yes", "no")),
    ),
    label="paid",
    protected=("sex",),
)


def people(rows: int, seed: int) -> pd.DataFrame:
    """Rows of one distribution, in which pay depends on age and sex."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 81, rows)
    sex = rng.choice(["Female", "Male"], rows)
    job = rng.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1])
    paid = np.where(age / 80 + 0.3 * (sex == "Male") + rng.normal(0, 0.2, rows) > 0.75, "yes", "no")
    return pd.DataFrame({"age": age, "sex": sex, "job": job, "paid": paid})


def measure(synthetic: Any, train: Any, test: Any, *parts: Any, schema: Schema = SCHEMA, **options: Any) -> Quality:
    tables = (from_frame(frame) for frame in (synthetic, train, test))
    return evaluate(*tables, schema, EvaluateOptions(parts=parts or None, **options))


# --- marginals


def variation_in_plain_numpy(real: pd.DataFrame, drawn: pd.DataFrame, clique: tuple[str, ...]) -> tuple[float, int]:
    """Half the sum of |p - q| over all cells, and how many there are; numbers in 32 even bins of the real range."""
    levels: dict[str, int] = {"sex": 2, "job": 3, "paid": 2, "age": 32}
    low, step = real["age"].min(), (real["age"].max() + 1e-7 - real["age"].min()) / 32

    def shares(frame: pd.DataFrame) -> dict[tuple[Any, ...], float]:
        binned = frame.assign(age=np.clip((frame["age"] - low) // step, 0, 31))
        counts: dict[tuple[Any, ...], float] = {}
        for row in binned[list(clique)].itertuples(index=False):
            counts[tuple(row)] = counts.get(tuple(row), 0) + 1 / len(frame)
        return counts

    p, q = shares(real), shares(drawn)
    half = sum(abs(p.get(key, 0) - q.get(key, 0)) for key in {*p, *q}) / 2
    return half, int(np.prod([levels[name] for name in clique]))


def test_distances_are_those_of_the_definition() -> None:
    train, drawn = people(300, 1), people(200, 2).query("age < 70")
    found = measure(drawn, train, train, "marginals").marginals
    assert found is not None
    for entry in found.distances:
        cliques = [
            clique
            for clique in itertools.combinations(SCHEMA.names, entry.ways)
            if not entry.with_target or "paid" in clique
        ]
        halves, sizes = zip(*(variation_in_plain_numpy(train, drawn, clique) for clique in cliques), strict=True)
        assert entry.marginals == entry.possible == len(cliques)
        assert entry.distance == pytest.approx(np.mean(halves), abs=1e-12)
        assert entry.paper == pytest.approx(np.mean(np.divide(halves, sizes)), abs=1e-12)
    assert [c.column for c in found.columns] == list(SCHEMA.names)


def test_resampled_train_rows_are_at_the_floor() -> None:
    schema = datasets.load_schema(ADULT)
    train = Table(datasets.load(ADULT, "train").arrow.slice(0, 2_000))
    again = Table(train.arrow.take(np.random.default_rng(3).integers(0, 2_000, 2_000)))
    found = evaluate(again, train, train, schema, EvaluateOptions(parts=["marginals"])).marginals
    assert found is not None
    three = next(d for d in found.distances if d.ways == 3 and not d.with_target)
    assert three.distance == pytest.approx(three.floor, rel=0.05)
    itself = evaluate(train, train, train, schema, EvaluateOptions(parts=["marginals"])).marginals
    assert itself is not None
    assert all(d.distance == 0 for d in itself.distances)


def distances(synthetic: Any, train: Any, settings: DistanceSettings, schema: Schema = SCHEMA) -> Marginals:
    ours, theirs = (read_sample(from_frame(frame), schema, "train") for frame in (synthetic, train))
    grid = build_grid(theirs, [ours], "uniform")
    return measure_marginals(ours, theirs, grid, target=schema.label, seed=0, say=lambda _: None, settings=settings)


def test_counting_only_cells_with_rows_changes_nothing() -> None:
    train, drawn = people(200, 1), people(200, 2)
    dense, sparse = (distances(drawn, train, DistanceSettings(max_cells=cells)) for cells in (10**6, 10))
    for one, other in zip(dense.distances, sparse.distances, strict=True):
        assert one.distance == pytest.approx(other.distance, abs=1e-12)
        assert one.paper_floor == pytest.approx(other.paper_floor, abs=1e-12)


def test_wide_tables_are_measured_on_a_random_part_and_say_so() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{i}": rng.integers(0, 5, 50) for i in range(8)})
    schema = replace(infer_schema(frame, "wide"), label="c3")
    found = distances(frame, frame, DistanceSettings(max_cliques=5), schema)
    three = [d for d in found.distances if d.ways == 3]
    assert [(d.marginals, d.possible) for d in three] == [(5, 56), (5, 21)]
    quality = measure(frame, frame, frame, "marginals", schema=schema)
    assert "5 of 56 marginals of 3 columns, chosen at random" in as_text(replace(quality, marginals=found))
    assert found == distances(frame, frame, DistanceSettings(max_cliques=5), schema)


def test_missing_and_unknown_values_have_cells_and_quantile_bins_hold_equally_many() -> None:
    train = people(320, 1)
    odd = train.astype({"age": "Int64"}).copy()
    odd.loc[0, "age"], odd.loc[1, "job"], odd.loc[2, "sex"] = pd.NA, "z", None
    ours, real = (read_sample(from_frame(frame), SCHEMA, "synthetic") for frame in (odd, train))
    grid = build_grid(real, [ours], "uniform")
    assert grid.sizes == (33, 3, 4, 2)
    found = cells(ours, grid)
    assert (found[0, 0], found[1, 2], found[2, 1]) == (32, 2, 3)
    spread = pd.DataFrame({"x": np.arange(320.0) ** 3})
    schema = Schema("x", (Real("x", 0.0, 1e9),))
    sample = read_sample(from_frame(spread), schema, "train")
    counts = np.bincount(cells(sample, build_grid(sample, (), "quantile"))[0])
    assert (len(counts), counts.min(), counts.max()) == (32, 9, 11)


# --- learning


def sample_of(frame: pd.DataFrame) -> Sample:
    return read_sample(from_frame(frame), SCHEMA, "test")


def train_on(train: pd.DataFrame, test: pd.DataFrame, target: str) -> tuple[Trained, ...]:
    """Every learner trained on the rows, once as synthetic and once as train rows."""
    rows = sample_of(train)
    grid = build_grid(rows, (), "uniform")
    return train_all(rows, rows, sample_of(test), grid, target=target, features="raw", seed=0, say=lambda _: None)


def test_scores_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    train, test = people(200, 1), people(150, 2)
    trained = train_on(train, test, "job")[2]  # logistic regression: its probabilities sum to one
    truth = test["job"].map({"a": 0, "b": 1, "c": 2}).to_numpy()
    assert trained.probabilities is not None
    found = measure_downstream((trained,), sample_of(test), target="job", features="raw").scores[0].measures
    assert found == {
        "accuracy": pytest.approx(metrics.accuracy_score(truth, trained.predicted)),
        "balanced_accuracy": pytest.approx(metrics.balanced_accuracy_score(truth, trained.predicted)),
        "auc": pytest.approx(metrics.roc_auc_score(truth, trained.probabilities, multi_class="ovr")),
    }


def test_what_the_test_rows_leave_undefined_is_not_a_number() -> None:
    train, test = people(60, 1), people(30, 2)
    for target, constant, score in (("age", 40, "r2"), ("job", "a", "auc")):
        rows = test.assign(**{target: constant})
        found = measure_downstream(train_on(train, rows, target), sample_of(rows), target=target, features="raw")
        assert all(np.isnan(learner.measures[score]) for learner in found.scores)


def test_the_papers_accuracy_is_that_of_xgboost_on_one_hot_bins() -> None:
    xgboost = pytest.importorskip("xgboost")
    train, test = people(400, 1), people(300, 2)
    low, step = train["age"].min(), (train["age"].max() + 1e-7 - train["age"].min()) / 32

    def one_hot(frame: pd.DataFrame) -> Any:
        bins = np.clip((frame["age"] - low) // step, 0, 31).astype(int)
        sex, job = frame["sex"].eq("Male").astype(int), frame["job"].map({"a": 0, "b": 1, "c": 2})
        return np.concatenate([np.eye(32)[bins], np.eye(2)[sex], np.eye(3)[job]], axis=1)

    model = xgboost.XGBClassifier(random_state=42, tree_method="hist", base_score=0.5)
    predicted = model.fit(one_hot(train), train["paid"].eq("no").astype(int)).predict(one_hot(test))
    expected = (predicted == test["paid"].eq("no")).mean()
    found = measure(train, train, test, "downstream", features="bins").downstream
    assert found is not None
    ours = next(s for s in found.scores if s.learner == "xgboost")
    assert ours.measures["accuracy"] == expected
    assert [(s.learner, s.trained_on) for s in found.scores[:3]] == [
        ("xgboost", "synthetic"),
        ("random forest", "synthetic"),
        ("logistic regression", "synthetic"),
    ]
    assert [s.measures for s in found.scores[:3]] == [s.measures for s in found.scores[3:]]  # the same rows twice


def test_rows_whose_labels_are_shuffled_teach_nothing() -> None:
    train, test = people(600, 1), people(600, 2)
    shuffled = train.assign(paid=np.random.default_rng(0).permutation(train["paid"]))
    found = measure(shuffled, train, test, "downstream").downstream
    assert found is not None
    for score in found.scores:
        if score.trained_on == "train":
            assert score.measures["auc"] > 0.75  # half-way from chance to certainty
        else:
            assert score.measures["auc"] < 0.65


def test_a_class_the_synthetic_rows_lack_is_no_crash() -> None:
    train, test = people(200, 1), people(200, 2)
    found = measure(train[train["job"] != "b"], train, test, "downstream", target="job").downstream
    assert found is not None
    assert all(0 <= s.measures["auc"] <= 1 for s in found.scores)


def test_a_target_of_numbers_is_learned_by_regressors() -> None:
    quality = measure(people(300, 1), people(300, 2), people(300, 3), target="age")
    assert quality.fairness is None
    assert quality.downstream is not None
    assert quality.downstream.predicts == "numbers"
    assert [sorted(s.measures) for s in quality.downstream.scores] == [["mae", "r2"]] * 6
    assert "`age` is numeric: fairness needs a target with categories and is left out" in as_text(quality)


# --- fairness


def test_gaps_are_those_computed_by_hand() -> None:
    # group 0: 3 of 4 chosen, 1 of 2 deserving chosen, 2 of 2 others chosen; group 1: 1 of 4, 1 of 1, 0 of 3
    chosen = np.array([1, 0, 1, 1, 1, 0, 0, 0], dtype=bool)
    deserving = np.array([1, 1, 0, 0, 1, 0, 0, 0], dtype=bool)
    group = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    assert list(gaps(chosen, deserving, group).values()) == [0.5, 0.5, 1.0]
    one_group = gaps(chosen, deserving, np.zeros(8, dtype=np.int64))
    assert np.isnan(list(one_group.values())).all()


def test_a_learner_trained_on_biased_rows_is_biased() -> None:
    train, test = people(800, 1), people(800, 2)
    biased = train.assign(paid=np.where(train["sex"] == "Male", "yes", "no"))
    found = measure(biased, train, test, "fairness").fairness
    assert found is not None
    assert (found.desired, found.groups["sex"]) == ("no", test["sex"].value_counts().sort_index().to_dict())
    for learner in found.learners:
        assert list(learner.gaps) == [entry.name for entry in fairness_measures()]
        if learner.trained_on == "synthetic":
            assert set(learner.gaps.values()) == {1.0}
        else:
            assert 0 < learner.gaps["DEMOGRAPHIC_PARITY"] < 0.9
    other = measure(biased, train, test, "fairness", desired="yes").fairness
    assert other is not None
    of_yes, of_no = (one.learners[0].gaps["DEMOGRAPHIC_PARITY"] for one in (other, found))
    assert of_yes == pytest.approx(of_no)


# --- leakage


def test_the_closest_row_is_that_of_the_definition() -> None:
    train, drawn = people(60, 1).astype({"age": "Int64"}), people(40, 2).astype({"age": "Int64"})
    train.loc[3, "age"] = drawn.loc[5, "age"] = drawn.loc[6, "age"] = pd.NA
    ours, real = (read_sample(from_frame(frame), SCHEMA, "train") for frame in (drawn, train))
    width = train["age"].max() - train["age"].min()

    def apart(one: Any, other: Any) -> float:
        blank = pd.isna(one.age) + pd.isna(other.age)
        numbers = {0: lambda: abs(one.age - other.age) / width, 1: lambda: 1.0, 2: lambda: 0.0}[blank]()
        return float(numbers + (one.sex != other.sex) + (one.job != other.job) + (one.paid != other.paid)) / 4

    expected = [min(apart(one, other) for other in train.itertuples()) for one in drawn.itertuples()]
    found = closest(ours, real, build_grid(real, [ours], "uniform"))
    np.testing.assert_allclose(found, expected, atol=1e-6)  # single precision


def numbers(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: rng.normal(size=rows) for name in "abcd"})


def test_a_copy_of_the_train_rows_is_found_and_fresh_rows_are_not() -> None:
    train, test = numbers(600, 1), numbers(600, 2)
    schema = infer_schema(train, "numbers")
    copy = measure(train, train, test, "leakage", schema=schema).leakage
    assert copy is not None
    assert copy.nearness.nearer_to_train == copy.nearness.copy_would_give == 1.0
    assert copy.nearness.train_median == 0.0
    assert (copy.copies.all_train, copy.copies.train, copy.copies.test) == (1.0, 1.0, 0.0)
    assert copy.copies_on_bins.all_train == 1.0
    fresh = measure(numbers(600, 3), train, test, "leakage", schema=schema).leakage
    assert fresh is not None
    assert fresh.nearness.nearer_to_train == pytest.approx(0.5, abs=4 * fresh.nearness.standard_error)
    assert fresh.copies.all_train == 0.0
    half = measure(train, train, test.head(300), "leakage", schema=schema).leakage
    assert half is not None
    assert half.nearness.real_rows == 300
    assert half.nearness.nearer_to_train == pytest.approx(half.nearness.copy_would_give, abs=0.05)


def test_values_as_written_and_bins_tell_different_copies_apart() -> None:
    train, test = numbers(300, 1), numbers(300, 2)
    nudged = train + 1e-9
    schema = infer_schema(train, "numbers")
    found = measure(nudged, train, test, "leakage", schema=schema).leakage
    assert found is not None
    assert found.copies.all_train == 0.0
    assert found.copies_on_bins.all_train > 0.9  # an edge may lie between


# --- discriminator


def test_a_discriminator_tells_shifted_rows_and_not_real_ones() -> None:
    train, test = people(400, 1), people(400, 2)
    real = measure(people(400, 3), train, test, "discriminator").discriminator
    assert real is not None
    assert real.auc == pytest.approx(0.5, abs=0.08)
    assert real.train_auc == pytest.approx(0.5, abs=0.08)
    old = measure(train.assign(age=80), train, test, "discriminator").discriminator
    assert old is not None
    assert old.auc > 0.95
    text = as_text(measure(train.assign(age=80), train, test, "discriminator"))
    assert f"train (floor)  {old.train_auc:.3f}" in text
    assert "AUC 0.5 or less means indistinguishable, 1 means that every row is detected" in text


# --- the whole


def test_every_part_holds_for_frames_of_any_kind_and_the_same_seed_gives_the_same_facts() -> None:
    frames = [people(120, seed) for seed in (1, 2, 3)]
    one = judge.evaluate(*frames, SCHEMA, seed=4)
    other = judge.evaluate(*(pl.DataFrame(frame.to_dict("list")) for frame in frames), SCHEMA, seed=4)
    assert as_data(one) == as_data(other)
    data = json.loads(json.dumps(as_data(one), allow_nan=False))
    assert data["stamp"] == STAMP
    assert data["rows"] == {"synthetic": 120, "train": 120, "test": 120}
    assert None not in [data[part] for part in ("marginals", "downstream", "fairness", "leakage", "discriminator")]
    assert as_text(one).endswith(STAMP)


def test_what_lies_outside_the_schema_is_counted_and_no_crash() -> None:
    odd = people(60, 1).astype({"age": "Int64"})
    odd.loc[0, "age"], odd.loc[1, "age"], odd.loc[2, "job"], odd.loc[3, "paid"] = 900, pd.NA, "astronaut", "maybe"
    quality = measure(odd, people(60, 2), people(60, 3))
    assert {(o.table, o.column, o.beyond, o.unknown, o.missing) for o in quality.outside} == {
        ("synthetic", "age", 1, 0, 1),
        ("synthetic", "job", 0, 1, 0),
        ("synthetic", "paid", 0, 1, 0),
    }
    assert quality.downstream is not None
    assert quality.downstream.scores[0].rows == 59
    assert "synthetic `job`: 1 value not in the schema" in as_text(quality)


def test_identifiers_are_left_out_and_two_numbers_are_classes() -> None:
    frames = [people(60, seed).assign(id=np.arange(60), paid=people(60, seed)["paid"].eq("yes") * 1) for seed in (1, 2)]
    quality = judge.evaluate(frames[0], frames[0], frames[1], target="paid", protected=["sex"])
    assert quality.fairness is not None
    assert quality.fairness.desired == "1"
    assert quality.leakage is not None
    assert quality.leakage.copies.all_train == 1.0
    assert quality.marginals is not None
    assert [c.column for c in quality.marginals.columns] == ["age", "sex", "job", "paid"]


def test_all_problems_are_reported_at_once_before_any_training() -> None:
    train, test = people(30, 1), people(30, 2)
    empty = Table(from_frame(train).arrow.slice(0, 0))
    with pytest.raises(CutsError) as caught:
        measure(train.drop(columns="job"), empty, test.assign(age="old"), target="paydi", protected=["sexx"])
    assert [(d.code, d.help) for d in caught.value.diagnostics] == [
        ("missing-column", None),
        ("unreadable-table", "give a table with at least one row"),
        ("column-type", "convert the column, or change its kind in the schema"),
        ("unknown-column", "did you mean `paid`?"),
        ("unknown-column", "did you mean `sex`?"),
    ]
    assert "in the test table the column `age`" in caught.value.diagnostics[2].title


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ({"protected": ["paid"]}, ["protected-equals-target"]),
        ({"protected": ["age"]}, ["type-mismatch"]),
        ({"desired": "yess"}, ["unknown-category"]),
        ({"target": "age", "parts": ["fairness"]}, ["type-mismatch"]),
        ({"protected": [], "parts": ["fairness"]}, ["missing-argument"]),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(options: dict[str, Any], codes: list[str]) -> None:
    train = from_frame(people(30, 1))
    with pytest.raises(CutsError) as caught:
        evaluate(train, train, train, SCHEMA, EvaluateOptions(**options))
    assert [d.code for d in caught.value.diagnostics] == codes


def test_a_target_of_one_class_is_refused_and_the_other_parts_are_not() -> None:
    train, test = people(40, 1), people(40, 2)
    with pytest.raises(CutsError, match="has only the value `yes` in the synthetic table"):
        measure(train.assign(paid="yes"), train, test)
    quality = measure(train.assign(paid="yes"), train, test, "marginals", "leakage", "discriminator")
    assert quality.leakage is not None


def test_a_table_of_one_column_or_without_a_target_has_no_learning() -> None:
    frame = pd.DataFrame({"x": ["a", "b"] * 20})
    quality = judge.evaluate(frame, frame, frame, target="x")
    assert (quality.downstream, quality.fairness) == (None, None)
    assert "`x` is the only column: there is nothing to predict it from" in as_text(quality)
    assert judge.evaluate(frame, frame, frame).notes == ("no target: downstream scores and fairness are left out",)
    few = frame.head(4)
    assert "too few rows to train a discriminator (10 of each needed)" in as_text(
        judge.evaluate(few, few, few, parts=["discriminator"])
    )


def test_without_the_extra_the_parts_that_learn_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    words = ["cuts", "evaluate", "german:test", "--train", "german", "--test", "german:test", "-q"]
    output, code = run(words, tmp_path)
    assert code == 2
    assert "error[missing-extra]: training classifiers needs xgboost\n" in output
    output, code = run([*words, "--parts", "leakage"], tmp_path)
    assert code == 0
    assert output.endswith(f"{STAMP}\n")


def test_the_command_prints_json_and_talks_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["cuts", "evaluate", "german:test", "--train", "german", "--test", "german:test", "--parts", "marginals"]
    output, code = run([*words, "--format", "json", "-q", "--bins", "quantile"], tmp_path)
    assert (code, json.loads(output)["marginals"]["bins"]) == (0, "quantile")
    output, _ = run(words, tmp_path)
    assert output.startswith("comparing marginals of 1 column\n")
    output, code = run([*words[:-1], "marginal"], tmp_path)
    assert (code, "there is no part 'marginal'" in output) == (2, True)
    output, code = run([*words, "--drop", "A99"], tmp_path)
    assert (code, "error[unknown-column]" in output) == (1, True)
    output, _ = run([*words, "--format", "json", "-q", "--drop", "A1"], tmp_path)
    assert json.loads(output)["marginals"]["columns"][0]["column"] == "A2"


# --- without test rows


def test_without_test_rows_a_quarter_of_the_train_rows_is_held_out() -> None:
    train = people(400, 1)
    quality = evaluate(from_frame(people(300, 2)), from_frame(train), None, SCHEMA)
    assert (quality.rows.train, quality.rows.test) == (300, 100)
    assert quality.leakage is None
    assert quality.marginals is not None
    assert quality.discriminator is not None
    (note,) = [note for note in quality.notes if "--test" in note]
    assert "a quarter of the train rows (100) was held out" in note
    assert "made from these rows too" in note
    assert quality == evaluate(from_frame(people(300, 2)), from_frame(train), None, SCHEMA)


def test_leakage_cannot_be_measured_without_unseen_rows() -> None:
    options = EvaluateOptions(parts=["marginals", "leakage"])
    with pytest.raises(CutsError, match="`leakage` needs `--test`"):
        evaluate(from_frame(people(300, 2)), from_frame(people(400, 1)), None, SCHEMA, options)


def test_the_command_and_the_function_need_no_test_rows(tmp_path: Path) -> None:
    for name, frame in (("a", people(120, 2)), ("b", people(160, 1))):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    output, code = run(["cuts", "evaluate", "a.csv", "--train", "b.csv", "--parts", "marginals", "-q"], tmp_path)
    assert code == 0
    assert "120 synthetic rows against 120 train and 40 test rows" in output
    assert "no `--test`: a quarter of the train rows (40) was held out" in output
    assert judge.evaluate(people(120, 2), people(160, 1), parts=["marginals"]).rows.test == 40

"""Classifiers trained on a table and evaluated on real rows: which of them decides, and what a verdict reports."""

from __future__ import annotations

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from math import isnan

import numpy as np
import pyarrow as pa
import pytest
from fairlearn.metrics import demographic_parity_difference, equal_opportunity_difference, equalized_odds_difference
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss

from cuts.assess import verify as verifying
from cuts.assess.learners import CLASSIFIERS, missing_extra
from cuts.assess.panel import (
    PanelResult,
    Predictions,
    ReferenceRows,
    desired_index,
    evaluate_panel,
    signed_gaps,
    value_of,
)
from cuts.assess.render import as_data, as_text
from cuts.assess.verify import Verdict, holds, verify
from cuts.data.columns import Category, Real
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import MeasureOf, ModelAim, ModelGoal
from cuts.text.interrupts import uninterrupted

SCHEMA = Schema(
    "people",
    (
        Real("score", -5.0, 5.0),
        Category("job", ("care", "shop", "tech")),
        Category("sex", ("f", "m"), missing=True),
        Category("team", ("a", "b", "c")),
        Category("paid", ("no", "yes"), missing=True),
    ),
    label="paid",
)
GAPS = ("DEMOGRAPHIC_PARITY", "EQUALITY_OF_OPPORTUNITY", "EQUALIZED_ODDS")
FIRST = CLASSIFIERS[:1]


@cache
def people(rows: int = 400, seed: int = 1) -> Table:
    """People whose pay depends on a score, on their sex and on their team."""
    rng = np.random.default_rng(seed)
    sex, team = rng.choice(["f", "m"], rows, p=[0.4, 0.6]), rng.choice(["a", "b", "c"], rows)
    score = np.clip(rng.normal(0, 1, rows), -5, 5)
    push = 1.2 * score + 1.6 * (sex == "m") + 0.8 * (team == "a") - 1.0 + rng.logistic(0, 0.6, rows)
    job = np.where(rng.random(rows) < 0.2 + 0.5 * (sex == "m"), "tech", rng.choice(["care", "shop"], rows))
    return Table(
        pa.table({"score": score, "job": job, "sex": sex, "team": team, "paid": np.where(push > 0, "yes", "no")})
    )


def changed(table: Table, column: str, values: object) -> Table:
    """The table with other values in a column."""
    return Table(table.arrow.set_column(table.names.index(column), column, pa.array(values, pa.string())))


def only(table: Table, column: str, value: str) -> Table:
    """The rows with one value of a column."""
    return Table(table.arrow.filter(np.array(table.column(column).to_pylist()) == value))


def measure(text: str) -> MeasureOf:
    (command,) = bind(parse(f"SYNTHESIZE: people; MINIMIZE: {text}; END;"), SCHEMA).commands
    assert isinstance(command, ModelGoal | ModelAim)
    return command.measure


def gap(name: str, protected: str = "sex", more: str = "") -> MeasureOf:
    return measure(f"{name}(protected={protected}, target=paid{more})")


@cache
def reference() -> ReferenceRows:
    return ReferenceRows(people(600, 2), SCHEMA)


@cache
def panel_of(of: MeasureOf) -> PanelResult:
    return evaluate_panel(of, people(), reference())


def verdicts(commands: str, table: Table, real: Table | None) -> tuple[Verdict, ...]:
    spec = bind(parse(f"SYNTHESIZE: people; {commands} END;"), SCHEMA)
    return verify(spec, table, real=real, interval=False, panel=FIRST)


def words(table: Table, column: str) -> list[str]:
    return [str(value) for value in table.column(column).to_pylist()]


# --- what is measured


@pytest.mark.parametrize("name", GAPS)
@pytest.mark.parametrize("protected", ["sex", "team"])
def test_a_gap_is_that_of_fairlearn_on_the_learners_predictions(name: str, protected: str) -> None:
    of = gap(name, protected)
    found = reference().predict("xgboost", people(), of)
    oracle = dict(
        zip(
            GAPS,
            (demographic_parity_difference, equal_opportunity_difference, equalized_odds_difference),
            strict=True,
        )
    )[name]
    expected = oracle(found.truth, found.predicted, sensitive_features=words(people(600, 2), protected))
    assert value_of(of, found, SCHEMA) == pytest.approx(expected, abs=1e-12)
    assert panel_of(of).learners[0].value == value_of(of, found, SCHEMA)


def test_how_well_a_column_is_predicted_is_what_scikit_learn_says() -> None:
    of = measure("DOWNSTREAM_ACCURACY(target=job)")
    found = reference().predict("logistic regression", people(), of)
    assert found.probabilities is not None
    for name, expected in {
        "DOWNSTREAM_ACCURACY": accuracy_score(found.truth, found.predicted),
        "DOWNSTREAM_BALANCED_ACCURACY": balanced_accuracy_score(found.truth, found.predicted),
        "DOWNSTREAM_CROSS_ENTROPY": log_loss(
            found.truth, found.probabilities / found.probabilities.sum(1)[:, None], labels=[0, 1, 2]
        ),
    }.items():
        assert value_of(measure(f"{name}(target=job)"), found, SCHEMA) == pytest.approx(expected, rel=1e-6)
    assert found.accuracy == pytest.approx(accuracy_score(found.truth, found.predicted))
    assert found.skill == pytest.approx(balanced_accuracy_score(found.truth, found.predicted, adjusted=True))


def test_a_constant_prediction_has_no_skill_and_a_perfect_one_has_all() -> None:
    found = reference().predict("logistic regression", people(), measure("DOWNSTREAM_ACCURACY(target=job)"))
    for value in range(3):
        assert replace(found, predicted=np.full_like(found.truth, value)).skill == pytest.approx(0.0, abs=1e-12)
    assert replace(found, predicted=found.truth).skill == pytest.approx(1.0)
    one = np.zeros_like(found.truth)
    assert replace(found, predicted=one, truth=one).skill == 1.0
    assert replace(found, predicted=found.predicted, truth=one).skill == 0.0


def test_features_are_those_the_measure_names() -> None:
    """From the team alone only one answer a team can be given, whatever the scores are."""
    found = reference().predict("xgboost", people(), measure("DOWNSTREAM_ACCURACY(target=paid, features=[team])"))
    teams = np.array(words(people(600, 2), "team"))
    assert all(len(set(found.predicted[teams == team])) == 1 for team in "abc")


def test_of_several_protected_columns_the_largest_gap_is_the_value() -> None:
    both, sex, team = (gap("DEMOGRAPHIC_PARITY", columns) for columns in ("[team, sex]", "sex", "team"))
    found = reference().predict("xgboost", people(), both)
    single = [value_of(each, found, SCHEMA) for each in (sex, team)]
    assert value_of(both, found, SCHEMA) == max(single) > min(single)


def test_missing_values_of_a_protected_column_are_a_group() -> None:
    sexes = words(people(600, 2), "sex")
    real = changed(people(600, 2), "sex", [None if i % 3 == 0 else sex for i, sex in enumerate(sexes)])
    of = gap("DEMOGRAPHIC_PARITY")
    found = ReferenceRows(real, SCHEMA).predict("xgboost", people(), of)
    names = [str(sex) for sex in real.column("sex").to_pylist()]
    expected = demographic_parity_difference(found.truth, found.predicted, sensitive_features=names)
    assert value_of(of, found, SCHEMA) == pytest.approx(expected, abs=1e-12)


# --- which learner decides


@pytest.mark.parametrize("name", GAPS)
def test_for_fairness_the_first_learner_decides(name: str) -> None:
    found = panel_of(gap(name))
    assert [result.learner for result in found.learners] == list(CLASSIFIERS)
    assert found.deciding is found.learners[0]
    assert found.rows == 600


@pytest.mark.parametrize(
    ("name", "strongest"),
    [("DOWNSTREAM_ACCURACY", max), ("DOWNSTREAM_BALANCED_ACCURACY", max), ("DOWNSTREAM_CROSS_ENTROPY", min)],
)
def test_for_utility_the_strongest_learner_decides(name: str, strongest: type) -> None:
    for target in ("paid", "sex"):
        found = panel_of(measure(f"{name}(target={target})"))
        assert found.deciding.value == strongest(result.value for result in found.learners)
        assert len({result.value for result in found.learners}) > 1


def test_a_panel_may_be_smaller() -> None:
    found = evaluate_panel(gap("DEMOGRAPHIC_PARITY"), people(), reference(), ("logistic regression",))
    assert [result.learner for result in found.learners] == ["logistic regression"]
    assert found.deciding == panel_of(gap("DEMOGRAPHIC_PARITY")).learners[2]


@pytest.mark.parametrize(
    "text",
    [*(f"{name}(protected=sex, target=paid)" for name in GAPS), "DOWNSTREAM_ACCURACY(target=sex)"],
)
def test_the_interval_contains_the_value(text: str) -> None:
    for result in panel_of(measure(text)).learners:
        low, high = result.interval
        assert 0.0 <= low <= result.value <= high <= 1.0
        assert high - low < 0.35
        assert 0.0 <= result.accuracy <= 1.0


def test_the_same_tables_give_the_same_effect() -> None:
    of = gap("DEMOGRAPHIC_PARITY")
    again = evaluate_panel(of, people(), ReferenceRows(people(600, 2), SCHEMA), FIRST)
    assert again.deciding == panel_of(of).deciding


# --- desired outcomes and missing targets


def test_the_desired_outcome_is_the_last_category_unless_named() -> None:
    default, last, other = (
        gap("EQUALITY_OF_OPPORTUNITY", more=more) for more in ("", ", desired_outcome=yes", ", desired_outcome=no")
    )
    assert [desired_index(each, SCHEMA) for each in (default, last, other)] == [1, 1, 0]
    found = reference().predict("xgboost", people(), default)
    assert value_of(default, found, SCHEMA) == value_of(last, found, SCHEMA) != value_of(other, found, SCHEMA)


def test_rows_without_the_target_are_left_out() -> None:
    """On both sides: the learner is neither trained nor evaluated on them."""
    of = gap("EQUALIZED_ODDS")

    def with_gaps(table: Table) -> tuple[Table, Table]:
        labels = words(table, "paid")
        holes: list[str | None] = [None if i % 5 == 0 else label for i, label in enumerate(labels)]
        kept = Table(table.arrow.take(pa.array([i for i in range(table.rows) if i % 5])))
        return changed(table, "paid", holes), kept

    (table, fewer), (real, less) = with_gaps(people()), with_gaps(people(600, 2))
    found = evaluate_panel(of, table, ReferenceRows(real, SCHEMA), FIRST)
    assert found.rows == 480
    assert found == evaluate_panel(of, fewer, ReferenceRows(less, SCHEMA), FIRST)


# --- signed gaps


@pytest.mark.parametrize("name", GAPS)
def test_the_signed_gap_of_one_of_two_groups_is_the_gap_but_for_its_sign(name: str) -> None:
    of = gap(name)
    found = reference().predict("xgboost", people(), of)
    of_f, of_m = (signed_gaps(of, found, SCHEMA, "sex", group) for group in ("f", "m"))
    assert max(map(abs, of_f)) == pytest.approx(value_of(of, found, SCHEMA), abs=1e-12)
    assert of_f == pytest.approx([-each for each in of_m])
    assert len(of_f) == (2 if name == "EQUALIZED_ODDS" else 1)
    assert of_f[0] < 0  # women are chosen less often


def test_the_signed_gap_of_one_of_several_groups_is_with_all_others() -> None:
    of = gap("DEMOGRAPHIC_PARITY", "team")
    found = reference().predict("xgboost", people(), of)
    teams, chosen = np.array(words(people(600, 2), "team")), found.predicted == 1
    for team in "abc":
        expected = chosen[teams == team].mean() - chosen[teams != team].mean()
        assert signed_gaps(of, found, SCHEMA, "team", team) == pytest.approx([expected])


def test_a_group_without_rows_of_a_kind_has_no_signed_gap() -> None:
    """A number, so that a search over several groups is not lost with one of them."""
    sexes, labels = words(people(600, 2), "sex"), words(people(600, 2), "paid")
    real = changed(people(600, 2), "paid", ["no" if s == "f" else p for s, p in zip(sexes, labels, strict=True)])
    of = gap("EQUALIZED_ODDS")
    found = ReferenceRows(real, SCHEMA).predict("xgboost", people(), of)
    ones, noughts = signed_gaps(of, found, SCHEMA, "sex", "f")
    assert ones == 0.0
    assert noughts != 0.0


# --- what is undefined


def test_a_single_group_has_no_gap() -> None:
    found = evaluate_panel(
        gap("DEMOGRAPHIC_PARITY"), people(), ReferenceRows(only(people(600, 2), "sex", "f"), SCHEMA), FIRST
    )
    assert isnan(found.deciding.value)
    assert all(map(isnan, found.deciding.interval))
    (verdict,) = verdicts(
        "ENFORCE: DEMOGRAPHIC_PARITY(protected=sex, target=paid) <= 0.5;", people(), only(people(600, 2), "sex", "f")
    )
    assert verdict.holds is False  # what is undefined does not hold
    assert "undefined with xgboost" in as_text([verdict])


def test_a_column_whose_gap_is_undefined_leaves_the_others() -> None:
    real = only(people(600, 2), "team", "a")
    both, sex = (gap("DEMOGRAPHIC_PARITY", columns) for columns in ("[team, sex]", "sex"))
    found = ReferenceRows(real, SCHEMA).predict("xgboost", people(), both)
    assert value_of(both, found, SCHEMA) == value_of(sex, found, SCHEMA) > 0


def test_a_table_with_one_label_teaches_that() -> None:
    table = only(people(), "paid", "yes")
    for text, expected in {
        "DEMOGRAPHIC_PARITY(protected=sex, target=paid)": 0.0,
        "DOWNSTREAM_BALANCED_ACCURACY(target=paid)": 0.5,
        "DOWNSTREAM_ACCURACY(target=paid)": words(people(600, 2), "paid").count("yes") / 600,
    }.items():
        found = evaluate_panel(measure(text), table, reference())
        assert [result.value for result in found.learners] == pytest.approx([expected] * 3)


@pytest.mark.parametrize("where", ["table", "real"])
def test_without_any_target_nothing_is_known(where: str) -> None:
    table, real = people(), people(600, 2)
    if where == "table":
        table = changed(table, "paid", [None] * table.rows)
    else:
        real = changed(real, "paid", [None] * real.rows)
    found = evaluate_panel(gap("DEMOGRAPHIC_PARITY"), table, ReferenceRows(real, SCHEMA), FIRST)
    assert isnan(found.deciding.value)
    (verdict,) = verdicts("ENFORCE: DEMOGRAPHIC_PARITY(protected=sex, target=paid) <= 0.5;", table, real)
    assert verdict.holds is False
    assert as_data([verdict])[0]["panel"]["deciding"]["value"] is None


# --- verdicts


BOUND = "DEMOGRAPHIC_PARITY(protected=sex, target=paid)"


def test_a_bound_holds_or_fails_by_the_learner_that_decides() -> None:
    value = panel_of(gap("DEMOGRAPHIC_PARITY")).deciding.value
    above, below = value + 0.001, value - 0.001
    commands = " ".join(
        f"ENFORCE: {BOUND} {bound};"
        for bound in (f"<= {above}", f"<= {below}", f"< {above}", f">= {below}", f"> {above}", f"== {value + 0.009}")
    )
    found = verdicts(commands, people(), people(600, 2))
    assert [verdict.holds for verdict in found] == [True, False, True, True, False, True]
    assert all(verdict.panel is not None and verdict.panel.deciding.value == value for verdict in found)
    assert not holds(found)


def test_aims_are_reported_but_never_fail() -> None:
    found = verdicts(f"MINIMIZE: {BOUND}; MAXIMIZE: DOWNSTREAM_ACCURACY(target=paid);", people(), people(600, 2))
    assert [verdict.holds for verdict in found] == [None, None]
    assert [verdict.note for verdict in found] == ["minimized: no target to meet", "maximized: no target to meet"]
    assert all(verdict.panel is not None for verdict in found)
    assert holds(found)


def test_without_real_rows_nothing_is_decided() -> None:
    found = verdicts(f"ENFORCE: {BOUND} <= 0; MINIMIZE: {BOUND}; ENFORCE: score <= 5;", people(), None)
    assert [(verdict.holds, verdict.panel) for verdict in found] == [(None, None), (None, None), (True, None)]
    assert [verdict.note for verdict in found[:2]] == [
        "needs classifiers trained on the table and evaluated on real rows (`--real`)"
    ] * 2
    assert "2 without a verdict" in as_text(found)
    assert "learner trained on the table" not in as_text(found)
    assert holds(found)


def test_without_the_libraries_nothing_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "missing_libraries", lambda: [missing_extra(["xgboost"])])
    found = verdicts(f"ENFORCE: {BOUND} <= 0;", people(), people(600, 2))
    assert [(verdict.holds, verdict.panel) for verdict in found] == [(None, None)]
    assert "needs classifiers" in found[0].note


def test_classifiers_are_not_evaluated_on_the_real_rows_of_a_private_program() -> None:
    private = f"ENSURE: DIFFERENTIAL PRIVACY: EPSILON=1, DELTA=1e-9; ENFORCE: {BOUND} <= 0;"
    with pytest.raises(ValueError, match="never shown"):
        verdicts(private, people(), people(600, 2))


# --- what is shown


def test_the_text_shows_every_learner_and_promises_nothing() -> None:
    spec = bind(
        parse(f"SYNTHESIZE: people;\nENFORCE: {BOUND} <= 0.9;\nMINIMIZE: DOWNSTREAM_ACCURACY(target=sex);\nEND;"),
        SCHEMA,
    )
    found = verify(spec, people(), real=people(600, 2), interval=False)
    text = as_text(found)
    lines = text.splitlines()
    (head,) = [i for i, line in enumerate(lines) if line.startswith("line  learner trained on the table")]
    rows = lines[head + 1 : head + 7]
    for row, result in zip(rows, [t for v in found if v.panel for t in v.panel.learners], strict=True):
        assert result.learner in row
        assert f"{100 * result.accuracy:.2f} %" in row
    assert [row.split()[0] for row in rows] == ["2", "2", "2", "3", "3", "3"]
    decides = [row.endswith("decides") for row in rows]
    assert decides[:3] == [True, False, False]
    assert sum(decides) == 2
    assert "95 % bootstrap interval" in lines[head]
    assert "with xgboost" in text
    assert "guaranteed" not in text
    assert "1 hold, 0 fail, 1 without a verdict" in text


def test_the_json_has_the_panel() -> None:
    data = json.loads(json.dumps(as_data(verdicts(f"ENFORCE: {BOUND} <= 0.9;", people(), people(600, 2)))))
    (verdict,) = data
    assert (verdict["holds"], verdict["level"], verdict["note"]) == (True, "MODEL", "")
    (result,) = verdict["panel"]["learners"]
    assert result == verdict["panel"]["deciding"]
    assert set(result) == {"learner", "value", "interval", "accuracy"}
    assert verdict["panel"]["rows"] == 600
    assert data == json.loads(json.dumps(data, allow_nan=False))


def test_predictions_without_probabilities_are_measured_too() -> None:
    """The classifier in closed form gives none; a loss is then that of certain predictions."""
    of = measure("DOWNSTREAM_CROSS_ENTROPY(target=paid)")
    found = reference().predict("xgboost", people(), of)
    bare = Predictions(found.predicted, found.truth, found.rows)
    assert value_of(of, bare, SCHEMA) == pytest.approx((1 - found.accuracy) * -np.log(1e-12))


# --- Ctrl-C


def test_an_interrupt_waits_for_the_end_of_a_fit() -> None:
    done = []

    def fit() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append("fitted")

    with pytest.raises(KeyboardInterrupt):
        fit()
    assert done == ["fitted"]
    with pytest.raises(KeyboardInterrupt):  # as before it
        signal.raise_signal(signal.SIGINT)


def test_without_an_interrupt_or_in_another_thread_nothing_changes() -> None:
    def work() -> str:
        with uninterrupted():
            return "fitted"

    assert work() == "fitted"
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() == "fitted"

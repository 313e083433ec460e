"""The report of a run: it agrees with the verdicts, says what it leaves out, and holds nothing private rows tell."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cuts import Category, CutsError, Integer, Schema
from cuts.assess import learners
from cuts.assess.learners import missing_extra
from cuts.config import Config
from cuts.data.table import Table
from cuts.flow import report_likeness
from cuts.flow.report import build_report
from cuts.flow.request import PrivacyOptions
from cuts.flow.run import RunResult, fit, make_request, run
from cuts.model.store import save
from cuts.progress import Observer
from cuts.report.data import SCHEMA_VERSION, as_data, as_json
from cuts.report.facts import Report

QUICK = Config(components=20, steps=20, threads=1, smoothing=0.0)
PROGRAM = (
    "SYNTHESIZE: people;\n ENFORCE: age > 20;\n ENFORCE: kind == a IMPLIES age > 25;\n ENFORCE: E[age] == 45;\n"
    "MINIMIZE: FAIRNESS: DEMOGRAPHIC_PARITY(protected=kind, target=paid);\n END;"
)
PRIVATE = "SYNTHESIZE: people; ENFORCE: age > 20; ENSURE: DIFFERENTIAL PRIVACY: EPSILON=3, DELTA=1e-6; END;"
SCHEMA = Schema("people", (Integer("age", 18, 90, 8, binning="uniform"), Category("paid", ("no", "yes"))), "paid")


def people(rows: int = 300, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, rows)
    kind = rng.choice(["a", "b"], rows)
    return pa.table({"age": age, "kind": kind, "paid": np.where(age + 20 * (kind == "a") > 55, "yes", "no")})


@pytest.fixture(scope="module")
def result() -> RunResult:
    return run(make_request(PROGRAM, people(), label="paid", config=QUICK), panel=("xgboost",))


@pytest.fixture(scope="module")
def report(result: RunResult) -> Report:
    return build_report(result, test=Table(people(150, seed=2)))


def plainly(program: str, table: Any, **options: Any) -> Report:
    return build_report(run(make_request(program, table, config=QUICK, **options), panel=()))


def test_the_commands_agree_with_the_verdicts(result: RunResult, report: Report) -> None:
    assert [facts.command for facts in report.commands] == [verdict.title for verdict in result.verdicts]
    assert [facts.outcome for facts in report.commands] == ["holds", "holds", "holds", "measured"]
    assert [facts.level for facts in report.commands] == ["row", "row", "table", "model"]
    assert report.holds == result.holds
    rule, implication, mean, parity = report.commands
    (all_rows,) = rule.numbers
    assert (all_rows.after.text, all_rows.target, all_rows.holds) == ("100.00 %", "every row", True)
    ages = people()["age"].to_numpy()
    assert all_rows.real is not None
    assert all_rows.real.value == pytest.approx((ages > 20).mean())
    assert [number.name for number in implication.numbers] == ["rows that satisfy it", "of the rows it applies to"]
    (number,) = mean.numbers
    assert number.after.value == result.verdicts[2].facts[0].measured
    assert number.real is not None
    assert number.real.value == pytest.approx(ages.mean())
    assert number.before is not None
    assert number.target == "== 45"
    assert parity.price is not None
    assert result.verdicts[3].panel is not None
    assert parity.numbers[0].after.value == result.verdicts[3].panel.deciding.value


def test_the_promise_and_the_way_are_those_of_the_plan(result: RunResult, report: Report) -> None:
    assert [facts.promise for facts in report.commands] == [step.promise for step in result.plan.steps]
    taken = {step.number for step, _ in result.departures}
    for facts, step in zip(report.commands, result.plan.steps, strict=True):
        assert facts.how == step.how or step.number in taken


def test_the_panel_and_the_trade_off_are_those_of_the_fit(result: RunResult, report: Report) -> None:
    assert report.classifiers is not None
    (line,) = report.classifiers.panel
    assert (line.line, line.learner, line.decides) == (5, "xgboost", True)
    (curve,) = report.classifiers.trade_offs
    assert curve.chosen == result.facts.trade_offs[0].chosen
    assert len(curve.trials) == len(result.facts.trade_offs[0].trials)
    assert report.classifiers.panel_rows == "300 real rows, those that the model was fitted to."


def test_scores_are_on_test_rows_and_groups_come_from_the_program(report: Report) -> None:
    assert report.classifiers is not None
    assert report.classifiers.target == "paid"
    assert len(report.classifiers.scores) == 6
    assert report.classifiers.tested_on == "150 real rows, to which the model was not fitted."
    assert report.classifiers.fairness is not None
    assert list(report.classifiers.fairness.groups) == ["kind"]


def test_the_floor_of_the_discriminator_compares_real_rows(result: RunResult, report: Report) -> None:
    assert report.likeness is not None
    found = report.likeness.discriminator
    assert found is not None
    assert result.discriminator is not None
    assert found.auc == result.discriminator.auc
    assert found.train_auc is not None
    assert 0.35 < found.train_auc < 0.65


def test_memory_is_measured_with_test_rows_and_without(result: RunResult, report: Report) -> None:
    assert report.memory is not None
    assert report.memory.leakage is not None
    assert not any("Closeness to fitted and to unseen rows" in reason for reason in report.left_out)
    without = build_report(result)
    assert without.memory is not None
    assert without.memory.leakage is None
    assert any("Closeness to fitted and to unseen rows" in reason for reason in without.left_out)
    assert without.classifiers is not None
    assert "held out from these classifiers" in without.classifiers.tested_on
    rows = [tuple(row.values()) for row in people().to_pylist()]
    twins = np.mean([rows.count(row) > 1 for row in rows])
    copies = np.mean(
        [tuple(row.values()) in rows for row in result.table.arrow.select(people().column_names).to_pylist()]
    )
    assert without.memory.twins == pytest.approx(twins)
    assert without.memory.copies == pytest.approx(copies)


def test_distributions_are_of_both_tables(result: RunResult, report: Report) -> None:
    assert report.likeness is not None
    kinds = next(each for each in report.likeness.distributions if each.column == "kind")
    for table, shares in ((people(), kinds.real), (result.table.arrow, kinds.synthetic)):
        values = table["kind"].to_pylist()
        assert shares == pytest.approx([values.count(name) / len(values) for name in kinds.bins])


def test_the_run_can_be_repeated_from_what_is_said_of_it(result: RunResult, report: Report, tmp_path: Path) -> None:
    facts = report.run
    assert facts.program == result.model.program
    assert facts.fingerprints.program == hashlib.sha256(facts.program.encode()).hexdigest()
    save(result.model, tmp_path / "m.synth")
    assert facts.fingerprints.model == hashlib.sha256((tmp_path / "m.synth").read_bytes()).hexdigest()
    assert {"cuts", "Python", "numpy", "pyarrow", "torch"} <= {name for name, _ in facts.versions}
    assert dict(facts.settings)["steps"] == "20"
    assert dict(facts.seconds)["fitting the model"] >= 0
    assert "candidate rows" in facts.selection


def test_the_json_values_are_the_fields_of_the_report(report: Report) -> None:
    data = json.loads(as_json(report))
    assert data == as_data(report)
    assert data["schema_version"] == SCHEMA_VERSION == 1
    assert data["commands"][0]["numbers"][0]["after"] == {"value": 1.0, "text": "100.00 %"}
    assert "statistics of real rows" in data["stamp"]
    assert data["run"]["fingerprints"].keys() == {"program", "schema", "model"}


def test_the_page_of_a_result_has_the_same_facts(result: RunResult) -> None:
    page = result.report(people(100, seed=3))
    assert page.facts.commands == build_report(result).commands
    assert page.facts.memory is not None
    assert page.facts.memory.leakage is not None


def test_the_progress_of_the_report_goes_from_nothing_to_all(result: RunResult) -> None:
    stages: list[str] = []
    shares: list[float] = []
    build_report(result, observer=Observer(stage=stages.append, advanced=shares.append))
    assert stages == ["building the report"]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_a_program_without_commands_and_a_table_without_a_label() -> None:
    report = plainly("SYNTHESIZE: people; END;", people())
    assert (report.commands, report.holds, report.classifiers) == ((), True, None)
    assert report.likeness is not None
    assert "Scores of classifiers: the table has no label to predict." in report.left_out


def test_thirty_rows_are_enough() -> None:
    report = plainly("SYNTHESIZE: people; ENFORCE: age > 20; END;", people(30), label="paid")
    assert report.real_rows == 30
    assert report.likeness is not None
    assert report.likeness.discriminator is not None
    assert report.likeness.discriminator.train_auc is not None


def test_ten_rows_leave_the_discriminator_out() -> None:
    report = plainly("SYNTHESIZE: people; END;", people(10))
    assert report.likeness is not None
    assert report.likeness.discriminator is None
    assert "Discriminator: it needs at least 20 rows of each table." in report.left_out


def test_missing_values_dates_and_identifiers() -> None:
    rng = np.random.default_rng(0)
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 900, 200)]
    table = pa.table(
        {
            "id": [f"A-{number:05}" for number in range(200)],
            "day": days,
            "x": [None if number % 5 == 0 else float(number % 40) for number in range(200)],
        }
    )
    report = plainly("SYNTHESIZE: visits; END;", table)
    assert report.likeness is not None
    assert [each.column for each in report.likeness.distributions] == ["day", "x"]
    day, x = report.likeness.distributions
    assert (day.kind, x.bins[-1]) == ("time", "missing")
    assert x.real[-1] == pytest.approx(0.2)
    became = {column.name: column for column in report.columns}
    assert (became["id"].role, became["id"].notes) == ("identifier", ("not learned: every row gets a new value",))


def test_values_that_are_never_sampled_are_counted_and_not_named() -> None:
    rows = ["common"] * 100 + ["often"] * 90 + ["secret", "hidden"]
    report = plainly("SYNTHESIZE: t; END;", pa.table({"c": rows, "x": list(range(192))}))
    notes = next(column.notes for column in report.columns if column.name == "c")
    assert "2 values with fewer than 5 rows never sampled, 1 % of the real rows" in notes
    assert "secret" not in str(report.columns)


def test_wide_tables_are_compared_in_the_columns_that_differ_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_likeness, "MAX_COLUMNS", 2)
    report = plainly("SYNTHESIZE: people; END;", people(), label="paid")
    assert report.likeness is not None
    assert len(report.likeness.dependence.columns) == 2
    assert "paid" in report.likeness.dependence.columns
    assert len(report.likeness.distributions) == 3
    assert any("2 of 3 columns are compared" in reason for reason in report.left_out)


def test_of_a_table_larger_than_memory_the_first_rows_are_compared(result: RunResult) -> None:
    report = build_report(replace(result, sample=replace(result.sample, rows=1_000_000)))
    assert report.rows == report.run.rows == 1_000_000
    assert any("the first 300 of 1,000,000 synthetic rows" in reason for reason in report.left_out)


def test_without_xgboost_the_scores_are_left_out_with_the_reason(
    result: RunResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent() -> list[Any]:
        return [missing_extra(["xgboost"])]

    monkeypatch.setattr(report_likeness, "missing_libraries", absent)
    assert learners.missing_libraries() == []
    report = build_report(result)
    assert report.classifiers is not None
    assert report.classifiers.scores == ()
    assert (
        'Scores of classifiers: training classifiers needs xgboost; install it with `pip install "cuts[report]"`.'
        in report.left_out
    )


def test_a_label_with_one_value_leaves_the_scores_out() -> None:
    table = people().set_column(2, "paid", pa.array(["yes"] * 300))
    report = plainly("SYNTHESIZE: people; END;", table, label="paid")
    assert report.classifiers is None
    assert any("has only the value `yes`" in reason for reason in report.left_out)


def test_test_rows_that_do_not_fit_are_refused_before_the_fit() -> None:
    stages: list[str] = []
    request = make_request("SYNTHESIZE: people; END;", people(), config=QUICK, test=Table(people().drop(["age"])))
    with pytest.raises(CutsError, match="age"):
        fit(request, observer=Observer(stage=stages.append))
    assert "fitting" not in stages


# --- private programs


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., RunResult]:
    folder = tmp_path_factory.mktemp("private")
    config = replace(QUICK, smoothing=None)

    def made(data: Any = None, transcript: Any = None) -> RunResult:
        privacy = PrivacyOptions() if transcript is not None else PrivacyOptions(folder / "ledger.jsonl")
        schema = None if transcript is not None else SCHEMA
        request = make_request(
            PRIVATE, data, schema=schema, config=config, privacy=privacy, transcript=transcript, rows=200
        )
        return run(request, panel=())

    return made


def test_a_private_report_follows_from_the_release_alone(release: Callable[..., RunResult]) -> None:
    first = release(people(400).drop(["kind"]))
    transcript = first.model.transcript
    reports = [as_data(build_report(each)) for each in (first, release(transcript=transcript))]
    for data in reports:
        del data["created"]
    assert reports[0] == reports[1]


def test_a_private_report_says_what_it_leaves_out_and_why(release: Callable[..., RunResult]) -> None:
    result = release(people(400).drop(["kind"]))
    assert result.real is None
    report = build_report(result)
    assert (report.likeness, report.memory, report.classifiers) == (None, None, None)
    assert report.run.seconds == ()
    rule, privacy = report.commands
    assert rule.numbers[0].real is None
    assert rule.numbers[0].before is not None
    assert (privacy.level, privacy.outcome) == ("privacy", "holds")
    assert sum("the program is private" in reason for reason in report.left_out) == 3
    assert report.stamp.startswith("This report contains nothing computed from real rows except")
    assert report.privacy is not None
    assert 0 < report.privacy.epsilon_spent <= report.privacy.epsilon == 3
    assert sum(charge.share for charge in report.privacy.charges) == pytest.approx(1.0, abs=0.02)
    assert {known.column for known in report.privacy.known} == {"age", "paid"}
    assert all("real rows" not in note for column in report.columns for note in column.notes)


def test_test_rows_of_a_private_program_are_refused(release: Callable[..., RunResult]) -> None:
    result = release(people(400).drop(["kind"]))
    with pytest.raises(CutsError, match="the program is private") as caught:
        build_report(result, test=Table(people(50)))
    assert caught.value.exit_code == 5

"""A drawn table has the statistics its program states and satisfies its rules, by the reading that checks."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from cuts.assess.verify import Verdict, verify
from cuts.config import Config
from cuts.data.conform import check_table
from cuts.data.infer import infer_schema
from cuts.data.table import Table
from cuts.flow.run import run_program, sample
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import TableGoal
from cuts.lang.walks import statistics_of
from cuts.model import draw, store
from cuts.model.calibrate import CALIBRATION_SETTINGS, Calibration
from cuts.model.cells import Statistics
from cuts.model.sampling import calibrated
from cuts.model.store import Model
from cuts.vocab.names import statistics
from models import fit_model

QUICK = Config(steps=40, components=40)
ROWS = 1000


@cache
def people(rows: int = 1500) -> Table:
    """People with identifiers, gaps, whole and real numbers that depend on each other."""
    rng = np.random.default_rng(11)
    age = rng.integers(18, 80, rows)
    sex = rng.choice(["f", "m"], rows)
    hours = np.clip(rng.normal(38, 8, rows) + 4 * (sex == "m"), 1, 80)
    chance = 0.2 + 0.3 * (sex == "m") + 0.004 * (age - 18)
    return Table(
        pa.table(
            {
                "id": np.arange(1, rows + 1),
                "age": age,
                "tenure": np.clip(age - 16 - rng.integers(0, 30, rows), 0, None),
                "hours": pa.array(hours, mask=rng.random(rows) < 0.1),
                "kind": pa.array(rng.choice(list("abcd"), rows, p=[0.4, 0.3, 0.2, 0.1]), mask=rng.random(rows) < 0.05),
                "sex": sex,
                "paid": np.where(rng.random(rows) < chance, "yes", "no"),
            }
        )
    )


SCHEMA = infer_schema(people(), "people", "paid")


@cache
def fitted(commands: str, draw: int | None = ROWS) -> Model:
    program = parse(f"SYNTHESIZE: people; {commands} END;")
    return fit_model(program, SCHEMA, people(), config=QUICK, draw=draw)


def drawn(
    model: Model, rows: int = ROWS, *, where: str | None = None, seed: int = 3, workers: int = 1
) -> tuple[Table, list[Calibration]]:
    """A table of the model, and how its rows were chosen, if they were."""
    drawn = sample(model, rows, where=where, seed=seed, workers=workers)
    return drawn.table, [] if drawn.calibration is None else [drawn.calibration]


def verdicts(model: Model, made: Table) -> tuple[Verdict, ...]:
    return verify(model.spec, made, interval=False)


PROGRAMS = {
    "means": "ENFORCE: E[age] == 40; ENFORCE: E[hours | sex == f] == E[hours | sex == m];",
    "spread": "ENFORCE: STD[age] <= 14; ENFORCE: VAR[hours | kind == a] >= 80;",
    "shares": "ENFORCE: P[paid == yes | sex == f] == P[paid == yes | sex == m]; ENFORCE: P[hours > 40] == 40%;",
    "together": "ENFORCE: CORR[age, hours] == 0.3; ENFORCE: COV[tenure, age] >= 150;",
    "information": "ENFORCE: H[kind] >= 1.3; ENFORCE: MI[sex, paid] <= 0.01; ENFORCE: H[sex, kind] <= 2;",
    "quantiles": "ENFORCE: MEDIAN[hours] == 45; ENFORCE: Q(0.9)[age] <= 65; ENFORCE: Q(0.25)[tenure | sex == m] > 8;",
    "numbers of rows": "ENFORCE: COUNT[sex == m] == 300; ENFORCE: COUNT[kind IS NULL] <= 20;",
    "distribution": "ENFORCE: DIST[kind] == {a: 10%, d: 40%, *: proportional};"
    " ENFORCE: DIST[paid | sex == f] == {no: 50%, yes: 50%};",
    "either": "ENFORCE: E[age] == 42 OR E[hours] == 20; ENFORCE: NOT (E[tenure] < 18) AND E[tenure] BETWEEN 15 AND 21;",
    "arithmetic": "LET gap := E[age | paid == yes] - E[age | paid == no];"
    " ENFORCE: abs(gap) <= 1; ENFORCE: E[hours] / E[age] == 0.9; ENFORCE: E[log(age)] >= 3.8;"
    " ENFORCE: max(E[hours | kind == a], E[hours | kind == b]) < 39 WITHIN 0;",
    "rules, repair": "ENFORCE: kind == a IMPLIES age > 40; ENFORCE: hours IS NULL OR hours < 60;"
    " ENFORCE: E[age | kind == a] == 55; ENFORCE: MEDIAN[hours] == 42; ENFORCE: P[kind == a] == 30%;",
    "rules, condition": "ENFORCE: age > 30 WITH mode=condition; ENFORCE: E[age] == 45; ENFORCE: P[sex == f] == 70%;",
    "rules, two columns": "ENFORCE: age - tenure >= 16; ENFORCE: E[tenure] == 15; ENFORCE: CORR[age, tenure] == 0.5;"
    " ENFORCE: COUNT[sex == m] == 400;",
    "condition on a sum": "ENFORCE: E[hours | age - tenure > 25] == 42; ENFORCE: H[kind | age - tenure > 25] >= 1.3;",
    "penalty": "ENFORCE: E[age] == 40 WITH method=penalty; ENFORCE: MI[kind, paid] == 0.05 WITH method=penalty;",
    "unbounded": "ENFORCE: E[age / tenure] <= 3;",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_drawn_table_has_what_the_program_states(name: str) -> None:
    model = fitted(PROGRAMS[name])
    made, (facts,) = drawn(model)
    found = verdicts(model, made)
    assert [verdict.title for verdict in found if verdict.holds is not True] == []
    assert made.rows == ROWS
    assert check_table(made, SCHEMA) == ()
    assert facts.off == 0.0
    assert facts.most_taken <= CALIBRATION_SETTINGS.max_copies
    assert facts.pool in (4 * ROWS, 12 * ROWS)


def test_these_programs_cover_every_statistic() -> None:
    text = " ".join(PROGRAMS.values())
    assert [name for name in statistics() if f" {name}[" not in text and f" {name}(" not in text] == []


@pytest.mark.parametrize("name", ["means", "shares", "rules, repair", "information"])
def test_the_model_itself_has_the_numbers(name: str) -> None:
    model = fitted(PROGRAMS[name])
    spec = model.spec
    assert [goal.number for goal in model.facts.goals] == [c.origin.number for c in calibrated(spec)]
    asked = {verdict.number: verdict.facts for verdict in verify(spec, people(), interval=False)}
    for goal in model.facts.goals:
        facts = asked[goal.number]
        for fact, number in zip(facts, goal.numbers, strict=True):
            assert number.real == pytest.approx(fact.value - fact.target if fact.gap and fact.target else fact.value)
            if fact.op == "==" and "MEDIAN" not in fact.statistic:
                target = 0.0 if fact.gap else fact.target
                assert number.after == pytest.approx(target, abs=fact.tolerance)


# --- large tables, identifiers, conditions


def test_a_large_table_in_chunks_holds_and_is_the_same_for_any_number_of_workers() -> None:
    rows = 70_000
    assert rows > draw.CHUNK
    model = fitted("ENFORCE: E[age] == 40; ENFORCE: P[paid == yes | sex == f] == 0.5;")
    made, (facts,) = drawn(model, rows)
    assert made.rows == rows == facts.rows
    assert all(verdict.holds for verdict in verdicts(model, made))
    again, (known,) = drawn(model, rows, workers=2)
    assert again.arrow.equals(made.arrow)
    assert known == facts
    assert are_consecutive(made.column("id").to_pylist())
    first = made.arrow.slice(0, rows // 2)
    assert all(verdict.holds for verdict in verdicts(model, Table(first)))  # a chunk is a small table of the same kind


def are_consecutive(numbers: list[int]) -> bool:
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_identifiers_are_consecutive_though_rows_are_chosen() -> None:
    made, (facts,) = drawn(fitted("ENFORCE: E[age] == 25;"))
    assert facts.most_taken > 1 or facts.effective < facts.pool
    assert are_consecutive(made.column("id").to_pylist())


def test_the_same_seed_gives_the_same_rows() -> None:
    model = fitted(PROGRAMS["means"])
    one, again, other = (drawn(model, seed=seed)[0] for seed in (5, 5, 6))
    assert one.arrow.equals(again.arrow)
    assert not one.arrow.equals(other.arrow)


def test_a_condition_on_the_draw_leaves_the_statistics_alone() -> None:
    model = fitted(PROGRAMS["rules, condition"])
    made, told = drawn(model, where="age > 60 AND sex == m")
    assert told == []
    asked = bind(parse("SYNTHESIZE: people; ENFORCE: age > 60 AND sex == m; ENFORCE: age > 30; END;"), SCHEMA)
    assert all(verdict.holds for verdict in verify(asked, made))
    assert [verdict.holds for verdict in verdicts(model, made)] == [True, False, False]


def test_a_program_without_statistics_is_drawn_as_before() -> None:
    _, told = drawn(fitted("ENFORCE: age > 30;"))
    assert told == []


def test_a_number_of_rows_is_that_of_the_table_drawn() -> None:
    """Also of another table than the model was made for, as far as its pool goes."""
    model = fitted("ENFORCE: COUNT[sex == m] == 300;")
    for rows in (600, 1000, 1400):
        made, _ = drawn(model, rows)
        assert made.column("sex").to_pylist().count("m") == 300


def test_what_cannot_be_met_is_drawn_all_the_same_and_told() -> None:
    model = fitted("ENFORCE: E[age] == 40.37 WITHIN 0.001;")
    made, (facts,) = drawn(model, 3)  # three whole numbers have no such mean
    assert made.rows == 3
    assert facts.off > 0
    assert False in [verdict.holds for verdict in verdicts(model, made)]


# --- stated weights


def test_a_command_with_a_weight_of_its_own_is_left_to_it() -> None:
    model = fitted("ENFORCE: STATISTICAL: PARAM 0.00001: E[age] == 30;")
    assert calibrated(model.spec) == ()
    (goal,) = model.facts.goals
    assert [way.way for way in model.facts.ways] == ["train"]
    assert 30 < goal.numbers[0].after < goal.numbers[0].before - 0.5
    made, told = drawn(model)
    assert told == []
    assert np.mean(made.numbers("age")) == pytest.approx(goal.numbers[0].after, abs=5 * 18 / np.sqrt(ROWS))


def test_beside_one_others_are_calibrated() -> None:
    model = fitted("ENFORCE: STATISTICAL: PARAM 0.00001: E[age] == 30; ENFORCE: P[sex == f] == 0.7;")
    made, (facts,) = drawn(model)
    assert facts.off == 0.0
    assert [verdict.holds for verdict in verdicts(model, made)] == [False, True]


# --- minimised and maximised


@pytest.mark.parametrize(("aim", "budget"), [("MAXIMIZE: E[hours | sex == f]", 10), ("MINIMIZE: MI[sex, paid]", 1)])
def test_a_number_is_pushed_as_far_as_the_budget_allows(aim: str, budget: int) -> None:
    model = fitted(f"ENFORCE: E[age] == 45; {aim} WITH budget={budget}%;")
    (curve,) = model.facts.trade_offs
    goal = model.facts.goals[1]
    sign = 1 if "MAXIMIZE" in aim else -1
    assert sign * (goal.numbers[0].after - goal.numbers[0].before) > 0
    assert curve.trials
    assert sign * (curve.chosen - curve.start.value) > 0
    affordable = [t for t in curve.trials if t.utility >= curve.start.utility * (1 - budget / 100)]
    reached = min(curve.trials, key=lambda trial: abs(trial.value - goal.numbers[0].after))
    assert reached in affordable
    distances = [abs(trial.value - curve.start.value) for trial in curve.trials]
    assert distances == sorted(distances)
    assert model.facts.goals[0].numbers[0].after == pytest.approx(45, abs=0.4)  # what is enforced stays so


@pytest.mark.parametrize("budget", [1, 10])
def test_the_value_chosen_is_one_that_was_tried_and_that_the_model_has(budget: int) -> None:
    """Nothing is chosen that no table can have, such as information below nought."""
    model = fitted(f"ENFORCE: E[age] == 45; MINIMIZE: MI[sex, paid] WITH budget={budget}%;")
    (curve,) = model.facts.trade_offs
    assert min(abs(trial.value - curve.chosen) for trial in curve.trials) < 2e-3
    assert model.facts.goals[1].numbers[0].after == pytest.approx(curve.chosen, abs=2e-3)


def test_a_larger_budget_goes_further() -> None:
    reached = [
        fitted(f"ENFORCE: E[age] == 45; MINIMIZE: MI[sex, paid] WITH budget={budget}%;").facts.goals[1].numbers[0].after
        for budget in (1, 10)
    ]
    assert reached[1] <= reached[0]


# --- files


def test_a_file_keeps_what_was_done_for_the_statistics(tmp_path: Path) -> None:
    model = fitted("ENFORCE: E[age] == 45; MAXIMIZE: E[hours | sex == f] WITH budget=10%;")
    store.save(model, tmp_path / "m.synth")
    read = store.load(tmp_path / "m.synth")
    assert read.facts.goals == model.facts.goals != ()
    assert read.facts.trade_offs == model.facts.trade_offs != ()
    assert drawn(read, 200)[0].arrow.equals(drawn(model, 200)[0].arrow)


# --- correlations


@pytest.mark.parametrize("given", ["", " | sex == m"])
def test_moving_a_correlation_leaves_its_columns_where_they_are(given: str) -> None:
    model = fitted(f"ENFORCE: CORR[age, hours{given}] == 0.4;")
    assert [way.way for way in model.facts.ways] == ["tilt"]
    stats = Statistics(model.codec, ROWS)
    free = fitted("ENFORCE: E[age] >= 0;")
    held = [f"{name}[{column}{given}]" for name in ("E", "STD") for column in ("age", "hours")]
    for text in [*held, "P[sex == m]"] if given else held:
        spec = bind(parse(f"SYNTHESIZE: people; ENFORCE: {text} == 1; END;"), SCHEMA)
        (command,) = spec.commands
        assert isinstance(command, TableGoal)
        (stat,) = statistics_of(command.goal)
        assert stats.known(stat, model.mixture) == pytest.approx(stats.known(stat, free.mixture), rel=1e-2)
    made, (calibration,) = drawn(model)
    assert all(verdict.holds for verdict in verdicts(model, made))
    assert calibration.effective > 0.9 * calibration.pool


def test_a_column_that_a_command_moves_is_not_held() -> None:
    model = fitted("ENFORCE: CORR[age, hours] == 0.3; ENFORCE: E[age] == 55;")
    assert [way.way for way in model.facts.ways] == ["tilt", "tilt"]
    assert [number.after for goal in model.facts.goals for number in goal.numbers] == pytest.approx([0.3, 55], rel=1e-2)


def test_a_correlation_is_pushed_in_closed_form() -> None:
    model = fitted("MAXIMIZE: CORR[age, hours] WITH budget=5%;")
    assert [way.way for way in model.facts.ways] == ["tilt"]
    (curve,) = model.facts.trade_offs
    assert curve.chosen > curve.start.value + 0.05


def test_a_median_where_no_row_is_leaves_the_other_rows_where_they_are() -> None:
    rng = np.random.default_rng(3)
    values = np.round(np.append(rng.normal(-1.0, 1.0, 599), 800.0), 2)  # one outlier far away
    rows = pa.table({"x": values, "c": rng.choice(["a", "b"], 600)})
    found = run_program("SYNTHESIZE: t; ENFORCE: MEDIAN[x] == 3; END;", rows, config={"steps": 60, "smoothing": 0.05})
    drawn = np.asarray(found.table.arrow["x"])
    assert found.holds
    assert 0.35 < (drawn < 2.9).mean() < 0.5


def test_a_median_beside_a_correlation_leaves_the_column_its_spread() -> None:
    rng = np.random.default_rng(2)
    rows = pa.table({"amount": np.round(rng.lognormal(6, 1, 800), 2), "crp": np.round(rng.lognormal(2, 1, 800), 1)})
    program = (
        "SYNTHESIZE: t; ENFORCE: MEDIAN[amount] == 500 WITHIN 5; ENFORCE: CORR[amount, crp] == 0.3 WITHIN 0.02; END;"
    )
    found = run_program(program, rows, config={"steps": 200, "smoothing": 0.05})
    low, high = np.quantile(np.asarray(found.table.arrow["amount"]), [0.25, 0.75])
    assert found.holds
    assert high - low > 300  # 550 in the rows

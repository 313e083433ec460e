"""Columns tied to each other and exact relations, from rows to a synthetic table."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from cuts.assess.verify import verify
from cuts.config import Config
from cuts.data.computed import parse_formula
from cuts.data.conform import check_table, conform
from cuts.data.infer import infer_schema
from cuts.data.schema import Schema
from cuts.data.table import Floats, Table
from cuts.flow.run import make_request, run, run_program, sample
from cuts.lang.parser import parse
from cuts.lang.spec import Key
from cuts.model.sampling import complete_rows, sample_table
from cuts.model.store import Model, load, save
from cuts.text.diagnostic import CutsError
from models import QUICK_RELEASE, fit_model

QUICK = Config(steps=150, components=150, threads=1)
LONGER = replace(QUICK, steps=300, components=300)  # so that the fit itself is close
STAY_RULE = "ENFORCE: discharged IS NULL OR admitted <= discharged;"


def dates(days: Floats, missing: object = None) -> pa.Array:
    return pa.array(np.asarray(days, dtype=np.int32), pa.int32(), mask=missing).cast(pa.date32())


@cache
def stays(rows: int = 2000) -> Table:
    """Stays of about four days, some without an end."""
    rng = np.random.default_rng(7)
    admitted = rng.integers(18_000, 19_000, rows)
    gap = rng.geometric(1 / 4.9, rows) - 1
    ward = np.where(gap > 3, rng.choice(["a", "b"], rows), "c")
    columns = {"admitted": dates(admitted), "discharged": dates(admitted + gap, rng.random(rows) < 0.0465)}
    return Table(pa.table({**columns, "ward": ward, "age": rng.integers(0, 99, rows)}))


@cache
def stays_model(commands: str = STAY_RULE, config: Config = QUICK) -> Model:
    program = parse(f"SYNTHESIZE: stays; {commands} END;")
    return fit_model(program, infer_schema(stays(), "stays"), stays(), config=config)


def gaps(table: Table) -> Floats:
    days = {name: table.column(name).combine_chunks().cast(pa.int32()).cast(pa.float64()) for name in table.names[:2]}
    return np.asarray(pc.subtract(days["discharged"], days["admitted"]).drop_null().to_numpy(zero_copy_only=False))


def test_a_rule_between_dates_keeps_the_gap_and_the_missing_rate() -> None:
    request = make_request(f"SYNTHESIZE: stays; {STAY_RULE} END;", stays(), config=LONGER)
    result = run(request, panel=())
    assert [step.way for step in result.plan.steps] == ["diagram + repair"]
    assert result.departures == ()
    assert result.holds
    assert (gaps(result.table) >= 0).all()
    assert gaps(result.table).mean() == pytest.approx(gaps(stays()).mean(), rel=0.1)
    real, made = (float(table.missing("discharged").mean()) for table in (stays(), result.table))
    assert abs(real - made) < 0.007
    assert not check_table(result.table, result.model.codec.schema)  # the range of the computed dates too


def test_without_ties_the_rule_acts_on_drawn_rows_only() -> None:
    model = stays_model(config=replace(QUICK, ties=False))
    assert model.codec.ties == ()
    assert [way.way for way in model.facts.ways] == ["diagram"]
    assert gaps(sample_table(model)).mean() > 2 * gaps(stays()).mean()


def test_a_tied_model_is_saved_and_drawn_in_any_number_of_chunks(tmp_path: Path) -> None:
    model = stays_model()
    save(model, tmp_path / "stays.synth")
    again = load(tmp_path / "stays.synth")
    assert again.codec.ties == model.codec.ties != ()
    rows = 70_000  # two chunks
    one = sample_table(model, rows, seed=3)
    assert one.arrow.equals(sample_table(again, rows, seed=3).arrow)
    assert one.rows == rows


@pytest.mark.parametrize(
    "where",
    [
        'discharged >= "2021-06-01"',
        'discharged - admitted BETWEEN "10 days" AND "20 days"',
        'discharged IS NULL AND admitted > "2021-01-01"',
        'admitted < "2020-06-01" IMPLIES discharged < "2020-05-01"',
    ],
)
def test_where_may_be_about_a_computed_column(where: str) -> None:
    drawn = sample_table(stays_model(), 500, where=where)  # every drawn row is checked against the condition
    assert drawn.rows == 500
    assert (gaps(drawn) >= 0).all()


def test_given_cells_are_kept_beside_computed_ones() -> None:
    model, some = stays_model(), stays().arrow.slice(0, 300)
    made = complete_rows(model, Table(some.select(["admitted", "ward"])))
    assert made.column("admitted").equals(some.column("admitted"))
    assert (gaps(made) >= 0).all()
    assert not check_table(made, model.codec.schema)
    assert gaps(made).mean() == pytest.approx(gaps(Table(some)).mean(), rel=0.25)
    both = complete_rows(model, Table(some.select(["admitted", "discharged"])))
    given = some.column("discharged").is_valid()
    assert both.arrow.filter(given).select([0, 1]).equals(some.filter(given).select([0, 1]))
    with pytest.raises(CutsError, match="together with `admitted`"):
        complete_rows(model, Table(some.select(["discharged"])))


def test_a_chain_of_rules_is_repaired_column_by_column() -> None:
    rng = np.random.default_rng(3)
    first = rng.integers(0, 10_000, 800)
    second = first + rng.integers(-5, 60, 800)
    third = second + rng.integers(-5, 90, 800)
    table = Table(pa.table({"first": first, "second": second, "third": third}))
    program = parse("SYNTHESIZE: t; ENFORCE: first <= second; ENFORCE: second < third; ENFORCE: third < 9000; END;")
    model = fit_model(program, infer_schema(table, "t"), table, config=QUICK)
    assert [(tie.column, tie.anchor) for tie in model.codec.ties] == [("second", "first"), ("third", "second")]
    assert [way.way for way in model.facts.ways] == ["diagram + repair", "diagram + repair", "diagram"]
    made = sample_table(model, 2000)
    a, b, c = (made.numbers(name) for name in made.names)
    assert ((a <= b) & (b < c) & (c < 9000)).all()
    assert (b - a).mean() < 60


def test_real_numbers_of_any_precision_keep_their_difference() -> None:
    rng = np.random.default_rng(8)
    low = rng.normal(100, 30, 1000)
    high = low + rng.exponential(0.5, 1000) * (rng.random(1000) < 0.9)
    program = "SYNTHESIZE: prices; ENFORCE: low < high; ENFORCE: high < 150; END;"
    result = run(make_request(program, pa.table({"low": low, "high": high}), config=QUICK), panel=())
    assert [step.way for step in result.plan.steps] == ["diagram + repair", "diagram + repair"]
    made = result.table.numbers("high") - result.table.numbers("low")
    assert (made > 0).all()
    assert made.mean() == pytest.approx(0.5, rel=0.2)
    assert result.table.numbers("high").max() < 150


def test_a_statistic_about_a_compared_column_leaves_it_its_bins() -> None:
    program = f'SYNTHESIZE: stays; {STAY_RULE} ENFORCE: P[discharged < "2020-10-01"] == 0.5; END;'
    result = run(make_request(program, stays(), config=QUICK, rows=1000), panel=())
    assert result.model.codec.ties == ()
    assert result.holds


def test_statistics_of_a_difference_are_met_on_the_difference() -> None:
    program = (
        f'SYNTHESIZE: stays; {STAY_RULE} ENFORCE: E[discharged - admitted] == "6 days";'
        'ENFORCE: P[discharged IS NULL] == 0.1; ENFORCE: P[discharged - admitted > "10 days" | ward == a] == 0.4; END;'
    )
    result = run(make_request(program, stays(), config=QUICK, rows=2000), panel=())
    assert [tie.column for tie in result.model.codec.ties] == ["discharged"]
    assert result.holds
    assert (gaps(result.table) >= 0).all()
    assert [step.way for step in result.plan.steps] == ["diagram + repair", "tilt", "tilt", "tilt"]
    assert result.departures == ()
    assert result.facts.numbers[Key(2)] == pytest.approx(6.0, abs=0.2)  # in the model, before rows are selected


def test_classifiers_see_the_difference_in_place_of_the_column() -> None:
    rng = np.random.default_rng(9)
    start = rng.integers(0, 1000, 600)
    sex = rng.choice(["f", "m"], 600)
    paid = np.where(rng.random(600) < np.where(sex == "m", 0.8, 0.3), "yes", "no")
    table = Table(pa.table({"start": start, "stop": start + rng.integers(0, 20, 600), "sex": sex, "paid": paid}))
    program = parse(
        "SYNTHESIZE: t; ENFORCE: start <= stop;"
        "MINIMIZE: FAIRNESS: PARAM 0.01: DEMOGRAPHIC_PARITY(protected=sex, target=paid); END;"
    )
    model = fit_model(program, infer_schema(table, "t", "paid"), table, config=QUICK)
    assert [tie.column for tie in model.codec.ties] == ["stop"]
    assert {way.way for way in model.facts.ways} == {"diagram + repair", "train"}
    made = sample_table(model, 500)
    assert (made.numbers("start") <= made.numbers("stop")).all()


def test_columns_that_move_together_keep_their_difference() -> None:
    rng = np.random.default_rng(5)
    departs = rng.integers(0, 365 * 24 * 60, 1500) * 60 + 1_700_000_000
    kind = rng.choice(["short", "long"], 1500)
    minutes = np.where(kind == "short", rng.integers(45, 90, 1500), rng.integers(300, 500, 1500))
    arrives = departs + minutes * 60
    moments = {n: pa.array(v).cast(pa.timestamp("s")) for n, v in {"departs": departs, "arrives": arrives}.items()}
    table = Table(pa.table({**moments, "kind": kind}))
    made = run(make_request(None, table, config=QUICK), panel=()).table
    flown = pc.subtract(made.column("arrives"), made.column("departs")).combine_chunks().cast(pa.int64())
    took = flown.to_numpy() / 60e6  # microseconds
    assert took.std() == pytest.approx(minutes.std(), rel=0.1)
    assert took.mean() == pytest.approx(minutes.mean(), rel=0.1)


# --- exact relations


@cache
def visits() -> Table:
    rng = np.random.default_rng(2)
    rows = 1200
    hour, minute = rng.integers(7, 20, rows), rng.integers(0, 60, rows)
    weight, height = np.round(rng.normal(75, 12, rows), 1), np.round(rng.normal(1.72, 0.1, rows), 2)
    return Table(
        pa.table(
            {
                "hour": hour,
                "minute": minute,
                "hhmm": hour * 100 + minute,
                "weight": weight,
                "height": height,
                "bmi": np.round(weight / height**2, 1),
            }
        )
    )


def visits_schema() -> Schema:
    formulas = {"hhmm": "hour * 100 + minute", "bmi": "weight / height ^ 2"}
    schema = infer_schema(visits(), "visits")
    return replace(schema, formulas=tuple((name, parse_formula(text)) for name, text in formulas.items()))


def kept(table: Table, schema: Schema) -> None:
    typed = conform(table, schema)
    np.testing.assert_array_equal(typed.numbers("hhmm"), typed.numbers("hour") * 100 + typed.numbers("minute"))
    expected = np.round(typed.numbers("weight") / typed.numbers("height") ** 2, 1)
    np.testing.assert_allclose(typed.numbers("bmi"), expected, atol=1e-9)


def test_formulas_of_the_schema_hold_in_every_row() -> None:
    schema = visits_schema()
    program = "SYNTHESIZE: visits; ENFORCE: hhmm BETWEEN 830 AND 1745; ENFORCE: E[hhmm] == 1200 WITHIN 20; END;"
    result = run(make_request(program, visits(), schema=schema, config=QUICK, rows=1500), panel=())
    assert result.holds
    kept(result.table, schema)
    assert result.table.numbers("hhmm").min() >= 830
    assert "hhmm" not in result.model.codec.sizes
    assert all(verdict.holds is not False for verdict in verify(result.plan.spec, result.table))


def test_a_formula_that_is_not_a_sum_is_refused_in_commands() -> None:
    for command in ("ENFORCE: bmi < 30", "ENFORCE: E[bmi] == 25", "ENFORCE: P[bmi > 30] == 0.1"):
        with pytest.raises(CutsError, match="not-modelled") as caught:
            run(make_request(f"SYNTHESIZE: visits; {command}; END;", visits(), schema=visits_schema(), config=QUICK))
        assert "remove the `formula` line of `bmi`" in str(caught.value.diagnostics[0].help)


def test_rows_that_break_a_formula_are_refused() -> None:
    arrow = visits().arrow
    late = pc.add(arrow.column("hhmm"), pa.array((np.arange(arrow.num_rows) == 40).astype(np.int64)))
    broken = Table(arrow.set_column(2, "hhmm", late))
    with pytest.raises(CutsError, match="broken-formula"):
        run(make_request(None, broken, schema=visits_schema(), config=QUICK))


def test_private_models_compute_formulas_and_tie_nothing(tmp_path: Path) -> None:
    schema = replace(visits_schema(), provenance="declared")
    program = (
        "SYNTHESIZE: visits; ENFORCE: hour <= minute; ENFORCE: hhmm < 1900;"
        "ENSURE: DIFFERENTIAL PRIVACY: EPSILON=3, DELTA=1e-6; END;"
    )
    privacy = replace(QUICK_RELEASE, ledger=tmp_path / "ledger.jsonl")
    request = make_request(program, visits(), schema=schema, config=QUICK, rows=300, privacy=privacy)
    result = run(request, panel=())
    assert result.model.codec.ties == ()
    assert result.departures == ()
    kept(result.table, schema)
    assert (result.table.numbers("hour") <= result.table.numbers("minute")).all()
    assert result.table.numbers("hhmm").max() < 1900


def test_rows_are_drawn_with_every_seed_where_a_tie_needs_no_rule() -> None:
    rng = np.random.default_rng(0)
    day = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 600, 300), "D")
    seen = day + pd.to_timedelta(rng.integers(0, 86_400, 300), "s")
    amount = np.round(rng.lognormal(6, 1, 300), 2)
    frame = pa.table({"day": day.date, "seen": seen.to_numpy("datetime64[us]"), "amount": amount})
    program = "SYNTHESIZE: t; ENFORCE: amount >= 30; END;"
    model = run_program(program, frame, rows=10, config={"steps": 60, "components": 50, "smoothing": 0.05}).model
    assert model.codec.ties
    for seed in range(12):
        drawn = sample(model, 20, seed=seed).table.arrow.to_pandas()
        assert (pd.to_datetime(drawn["seen"]).dt.date == drawn["day"]).all()

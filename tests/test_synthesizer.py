"""The synthesizer: any frame in, the same kind out; scikit-learn's conventions; rules, conditions and given cells."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from arrow_strategies import arrow_tables
from cuts.config import Config
from cuts.data.conform import check_table
from cuts.data.exchange.tables import from_frame
from cuts.data.infer import infer_schema
from cuts.data.table import Table
from cuts.synthesizer import Synthesizer
from cuts.text.diagnostic import CutsError

FAST = {"steps": 30, "components": 20, "smoothing": 0.0}
RULE = "SYNTHESIZE: people; ENFORCE: ward == surgery IMPLIES age >= 40; END;"
ROWS = 120


def people() -> pa.Table:
    rng = np.random.default_rng(0)
    ages = rng.integers(18, 90, ROWS)
    dose = rng.integers(0, 90, ROWS) / 10
    seen = [dt.date(2020, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 400, ROWS)]
    return pa.table(
        {
            "id": pa.array([f"P-{1000 + i}" for i in range(ROWS)]),
            "age": pa.array(ages, pa.int16()),
            "ward": pa.array(rng.choice(["surgery", "cardiology", "eye"], ROWS)).dictionary_encode(),
            "dose": pa.array([None if i % 7 == 0 else float(d) for i, d in enumerate(dose)], pa.float32()),
            "seen": pa.array(seen, pa.date32()),
            "smokes": pa.array(rng.random(ROWS) < 0.3),
        }
    )


@pytest.fixture(scope="module")
def fitted() -> Synthesizer:
    return Synthesizer(RULE, label="smokes", config=FAST).fit(people())


# --- frames


def test_pandas_in_and_out() -> None:
    frame = pd.DataFrame(
        {
            "age": pd.array([30, 40, None, 60] * 10, dtype="Int16"),
            "name": pd.Categorical(["a", "b", "a", "c"] * 10, categories=["c", "b", "a"]),
            "paid": [True, False, True, True] * 10,
            "dose": np.array([0.5, np.nan, 1.5, 2.0] * 10, dtype=np.float32),
            "seen": pd.to_datetime(["2020-01-01", "2021-05-05", "2020-02-02", "2022-03-03"] * 10),
        },
        index=pd.Index(range(100, 140), name="row"),
    )
    made = Synthesizer(config=FAST).fit(frame).sample(25)
    assert isinstance(made, pd.DataFrame)
    assert made.dtypes.to_dict() == frame.dtypes.to_dict()
    assert len(made) == 25
    assert list(made["name"].cat.categories) == ["c", "b", "a"]


def test_polars_in_and_out() -> None:
    frame = pl.DataFrame(
        {
            "age": pl.Series([30, 40, None, 60] * 10, dtype=pl.UInt8),
            "when": [dt.date(2020, 1, d + 1) for d in range(10)] * 4,
        }
    ).with_columns(kind=pl.lit("x").cast(pl.Categorical))
    made = Synthesizer(config=FAST).fit(frame).sample(25)
    assert isinstance(made, pl.DataFrame)
    assert made.schema == frame.schema
    assert made.height == 25
    lazy = Synthesizer(config=FAST).fit(frame.lazy()).sample(5)
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect().schema == frame.schema


def test_arrow_in_and_out_keeps_identifiers_dates_and_gaps(fitted: Synthesizer) -> None:
    table = people()
    made = fitted.sample()
    assert isinstance(made, pa.Table)
    assert made.schema == table.schema
    assert made.num_rows == ROWS
    ids = made["id"].to_pylist()
    assert len(set(ids)) == ROWS
    assert not set(ids) & set(table["id"].to_pylist())
    assert 0 < made["dose"].null_count < ROWS / 2
    assert dt.date(2020, 1, 1) <= min(made["seen"].to_pylist()) <= max(made["seen"].to_pylist()) <= dt.date(2021, 2, 4)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_columns_the_schema_leaves_out_are_left_out(kind: str) -> None:
    table = people()
    kinds = {"pandas": table.to_pandas, "polars": lambda: pl.DataFrame(table), "arrow": lambda: table}
    frame = kinds[kind]()
    schema = infer_schema(from_frame(people().select(["ward", "dose", "age"])), "people")
    made = Synthesizer(schema=schema, config=FAST).fit(frame).sample(9)
    kept = frame.select(["age", "ward", "dose"]) if kind != "pandas" else frame[["age", "ward", "dose"]]
    assert type(made) is type(frame)
    if kind == "arrow":
        assert made.schema.equals(kept.schema)
    else:
        assert [*made.columns] == ["age", "ward", "dose"]
        assert [*made.dtypes] == [*kept.dtypes]


def test_a_file_can_be_fitted(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,ward\n" + "30,a\n40,b\n50,a\n" * 10)
    for path in (tmp_path / "people.csv", str(tmp_path / "people.csv")):
        made = Synthesizer(config=FAST).fit(path).sample(7)
        assert made.column_names == ["age", "ward"]
        assert made.num_rows == 7


def test_derived_columns_follow_the_ones_they_come_from() -> None:
    codes = ["DE", "FR", "IT", "ES"] * 30
    names = {"DE": "Germany", "FR": "France", "IT": "Italy", "ES": "Spain"}
    frame = pa.table({"code": codes, "name": [names[c] for c in codes], "x": list(range(120))})
    schema = replace(infer_schema(Table(frame), "places"), derived=(("name", "code"),))
    made = Synthesizer(schema=schema, config=FAST).fit(frame).sample(80)
    assert [names[c] for c in made["code"].to_pylist()] == made["name"].to_pylist()


@pytest.mark.parametrize("rows", [2, 3])
def test_very_few_rows_are_enough(rows: int) -> None:
    frame = pa.table({"a": ["x", "y", "z"][:rows], "b": [1, 2, 3][:rows], "c": [0.5, 1.5, 2.5][:rows]})
    assert Synthesizer(config=FAST).fit(frame).sample(10).num_rows == 10


def test_one_row_is_refused() -> None:
    with pytest.raises(CutsError, match="few-rows"):
        Synthesizer(config=FAST).fit(pa.table({"a": ["x"], "b": [1]}))


KINDS = [
    pa.int64(),
    pa.int8(),
    pa.float64(),
    pa.bool_(),
    pa.string(),
    pa.date32(),
    pa.timestamp("us"),
    pa.duration("ms"),
    pa.time32("s"),
    pa.dictionary(pa.int8(), pa.string()),
    pa.null(),
]


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(arrow_tables(KINDS, most=4), st.integers(1, 20))
def test_random_tables_can_be_imitated(table: pa.Table, rows: int) -> None:
    table = table.append_column("always there", pa.array(range(table.num_rows)))
    try:
        fitted = Synthesizer(config={"steps": 5, "components": 5}).fit(table)
    except CutsError as error:
        refused = {d.code for d in error.diagnostics}
        event(f"refused: {refused}")
        assume(not refused <= {"unsupported-column", "free-text", "few-rows"})
        raise
    made = fitted.sample(rows)
    assert made.num_rows == rows
    assert made.schema == table.schema
    assert check_table(from_frame(made), fitted.schema_) == ()


def test_decimals_stay_in_their_range() -> None:
    frame = pa.table({"0": pa.array([Decimal("0.00"), Decimal("-99.99")], pa.decimal128(6, 2))})
    fitted = Synthesizer(config=FAST).fit(frame)
    assert check_table(from_frame(fitted.sample(20)), fitted.schema_) == ()


def test_a_table_with_nothing_to_learn_is_told() -> None:
    with pytest.raises(CutsError):
        Synthesizer(config={"steps": 5}).fit(pa.table({"0": pa.nulls(3)}))


# --- conventions


def test_parameters_are_read_set_and_cloned() -> None:
    made = Synthesizer(RULE, label="age", seed=3, config=Config(steps=5), values={"tol": 1.0})
    params = made.get_params()
    of_privacy = ["data_id", "ledger", "max_epsilon", "at_delta", "transcript"]
    assert list(params) == ["program", "schema", "label", "seed", "config", "values", *of_privacy]
    copy = clone(made)
    assert copy is not made
    assert copy.get_params() == params
    assert made.set_params(seed=4, label=None) is made
    assert (made.seed, made.label) == (4, None)
    assert copy.seed == 3
    with pytest.raises(ValueError, match="no parameter 'depth'"):
        made.set_params(depth=3)


def test_a_clone_of_a_fitted_one_is_not_fitted(fitted: Synthesizer) -> None:
    with pytest.raises(RuntimeError, match="not fitted"):
        clone(fitted).sample(3)


def test_scikit_learn_sees_whether_it_is_fitted(fitted: Synthesizer) -> None:
    check_is_fitted(fitted)
    with pytest.raises(NotFittedError):
        check_is_fitted(Synthesizer())


@pytest.mark.parametrize("seed", [-1, 2**63, 2**80])
def test_a_seed_out_of_range_is_refused(fitted: Synthesizer, seed: int) -> None:
    with pytest.raises(ValueError, match="a seed is a whole number from 0"):
        Synthesizer(seed=seed, config=FAST).fit(people())
    with pytest.raises(ValueError, match="a seed is a whole number from 0"):
        fitted.sample(3, seed=seed)


def test_its_text_can_be_pasted() -> None:
    assert repr(Synthesizer()) == "Synthesizer()"
    made = Synthesizer("SYNTHESIZE: t; END;", seed=2, config={"steps": 5})
    assert repr(made) == "Synthesizer(program='SYNTHESIZE: t; END;', seed=2, config={'steps': 5})"


@pytest.mark.parametrize("call", ["sample", "save", "verify"])
def test_one_that_is_not_fitted_says_so(call: str, tmp_path: Path) -> None:
    arguments: dict[str, tuple[Any, ...]] = {"sample": (3,), "save": (tmp_path / "m.synth",), "verify": (people(),)}
    with pytest.raises(RuntimeError, match="not fitted yet: call `fit`"):
        getattr(Synthesizer(), call)(*arguments[call])
    assert not list(tmp_path.iterdir())


def test_fit_gives_itself_and_what_it_learned(fitted: Synthesizer) -> None:
    assert fitted.n_features_in_ == 6
    assert fitted.schema_.label == "smokes"
    assert fitted.model_.facts.rows == ROWS


def test_settings_that_cannot_be_used_are_told_before_any_work() -> None:
    with pytest.raises(CutsError, match="no setting `step`"):
        Synthesizer(config={"step": 3}).fit(people())
    with pytest.raises(CutsError, match="bad-config"):
        Synthesizer(config={"backbone": "gpt"}).fit(people())


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(TypeError, match="is not a data frame"):
        Synthesizer().fit([[1, 2], [3, 4]])


# --- rows


def test_rules_hold_and_are_verified(fitted: Synthesizer) -> None:
    made = fitted.sample(500)
    rows = made.select(["age", "ward"]).to_pylist()
    assert any(row["ward"] == "surgery" for row in rows)
    assert all(row["age"] >= 40 for row in rows if row["ward"] == "surgery")
    assert [verdict.holds for verdict in fitted.verify(made)] == [True]
    assert [verdict.holds for verdict in fitted.verify(people())] == [False]
    assert check_table(Table(made), fitted.schema_) == ()


def test_the_same_seed_gives_the_same_rows(fitted: Synthesizer) -> None:
    assert fitted.sample(50).equals(fitted.sample(50))
    assert not fitted.sample(50).equals(fitted.sample(50, seed=1))
    assert fitted.sample(50, seed=1).equals(fitted.sample(50, seed=1, workers=3))
    again = Synthesizer(RULE, label="smokes", config=FAST).fit(people())
    assert again.sample(50).equals(fitted.sample(50))


def test_a_condition_holds_in_all_rows(fitted: Synthesizer) -> None:
    made = fitted.sample(60, where="age > 33 AND ward IN {surgery, eye} AND dose IS NULL")
    assert made.num_rows == 60
    assert min(made["age"].to_pylist()) > 33
    assert set(made["ward"].to_pylist()) <= {"surgery", "eye"}
    assert made["dose"].null_count == 60
    assert all(verdict.holds for verdict in fitted.verify(made))


def test_conditions_that_cannot_be_met_are_told(fitted: Synthesizer) -> None:
    with pytest.raises(CutsError, match="unknown-column"):
        fitted.sample(5, where="agee > 30")
    with pytest.raises(CutsError) as caught:
        fitted.sample(5, where="ward == surgery AND age < 30")
    assert caught.value.exit_code == 3
    with pytest.raises(CutsError, match="bad-count"):
        fitted.sample(0)


def test_given_cells_are_kept_and_the_rest_is_made(fitted: Synthesizer) -> None:
    given_rows = pa.table(
        {
            "ward": pa.array(["surgery", None, "eye", "surgery"]),
            "age": pa.array([None, 25, 33, 80]),
            "id": pa.array(["P-5", None, None, None]),
        }
    )
    made = fitted.sample(seed_rows=given_rows)
    assert made.schema == people().schema
    rows = made.to_pylist()
    assert rows[0]["ward"] == "surgery"
    assert rows[0]["age"] >= 40
    assert rows[0]["id"] == "P-5"
    assert rows[1]["age"] == 25
    assert rows[1]["ward"] != "surgery"
    assert (rows[2]["ward"], rows[2]["age"]) == ("eye", 33)
    assert (rows[3]["ward"], rows[3]["age"]) == ("surgery", 80)
    assert len({row["id"] for row in rows}) == 4
    assert made.equals(fitted.sample(seed_rows=given_rows))
    with pytest.raises(CutsError, match="impossible-row"):
        fitted.sample(seed_rows=pa.table({"ward": ["eye", "surgery"], "age": [20, 20]}))
    with pytest.raises(ValueError, match="`n` and `seed_rows` exclude each other"):
        fitted.sample(3, seed_rows=given_rows)


def test_only_identifiers_can_be_given_too(fitted: Synthesizer) -> None:
    made = fitted.sample(seed_rows=pa.table({"id": ["P-1", "P-2"]}))
    assert made["id"].to_pylist() == ["P-1", "P-2"]


def test_a_model_is_saved_and_loaded(fitted: Synthesizer, tmp_path: Path) -> None:
    fitted.save(tmp_path / "m.synth")
    loaded = Synthesizer.load(tmp_path / "m.synth")
    apart = ["smokes", "dose"]  # without the frame, what is true or false is a text, and reals are long ones
    assert loaded.sample(40).drop(apart).to_pylist() == fitted.sample(40).drop(apart).to_pylist()
    assert set(loaded.sample(40)["smokes"].to_pylist()) <= {"true", "false"}
    made = loaded.sample(40, where="age > 50")
    assert min(made["age"].to_pylist()) > 50
    assert all(verdict.holds for verdict in loaded.verify(made))
    assert loaded.n_features_in_ == fitted.n_features_in_
    assert loaded.schema_ == fitted.schema_


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (people().to_pandas(), pd.DataFrame),
        (pl.DataFrame(pl.from_arrow(people())), pl.DataFrame),
        (pl.DataFrame(pl.from_arrow(people())).lazy(), pl.LazyFrame),
        (people(), pa.Table),
    ],
    ids=["pandas", "polars", "polars lazy", "arrow"],
)
def test_a_loaded_model_samples_the_kind_of_frame_that_was_fitted(frame: Any, kind: type, tmp_path: Path) -> None:
    Synthesizer(config=FAST).fit(frame).save(tmp_path / "m.synth")
    made = Synthesizer.load(tmp_path / "m.synth").sample(7)
    assert isinstance(made, kind)
    assert from_frame(made).rows == 7


@pytest.mark.parametrize(("as_", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("arrow", pa.Table)])
def test_another_kind_of_frame_can_be_asked_for(fitted: Synthesizer, as_: Any, kind: type) -> None:
    made = fitted.sample(30, as_=as_)
    assert isinstance(made, kind)
    assert from_frame(made).column("age").to_pylist() == fitted.sample(30)["age"].to_pylist()


def test_an_unknown_kind_of_frame_is_refused(fitted: Synthesizer) -> None:
    with pytest.raises(ValueError, match="rows are sampled as pandas, polars, arrow, not 'spark'"):
        fitted.sample(30, as_="spark")  # type: ignore[arg-type]


# --- programs


def test_programs_are_texts_paths_or_parsed(tmp_path: Path) -> None:
    from cuts.lang.parser import parse

    (tmp_path / "rule.cuts").write_text(RULE)
    for program in (RULE, tmp_path / "rule.cuts", str(tmp_path / "rule.cuts"), parse(RULE)):
        assert Synthesizer(program, config=FAST).fit(people()).model_.program.count("ENFORCE") == 1


def test_placeholders_are_filled() -> None:
    made = Synthesizer("SYNTHESIZE: p; ENFORCE: age >= <least>; END;", config=FAST, values={"least": 50.0}).fit(
        people()
    )
    assert min(made.sample(30)["age"].to_pylist()) >= 50


@pytest.mark.parametrize(
    ("program", "code", "exit_code"),
    [
        ("SYNTHESIZE: p; ENFORCE: agee > 3; END;", "unknown-column", 1),
        ("SYNTHESIZE: p; ENFORCE: age > 80; ENFORCE: age < 20; END;", "contradiction", 3),
        ("SYNTHESIZE: p; ENFORCE: age >", "syntax-error", 1),
    ],
)
def test_programs_at_fault_are_told(program: str, code: str, exit_code: int) -> None:
    made = Synthesizer(program, config=FAST)
    with pytest.raises(CutsError, match=code) as caught:
        made.fit(people())
    assert caught.value.exit_code == exit_code
    assert not hasattr(made, "model_")

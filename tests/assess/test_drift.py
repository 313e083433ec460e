"""What differs most from the real rows is shown after a run, so that nothing drifts unseen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuts.assess.drift import as_text, drifts, means_in_words
from cuts.cli.run_result import as_data
from cuts.cli.run_result import as_text as run_text
from cuts.data.infer import infer_schema
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.flow.request import PrivacyOptions
from cuts.flow.run import run_program

PROGRAM = "SYNTHESIZE: t; ENFORCE: E[age] == 60; END;"
QUICK = {"steps": 30}


def people(rows: int = 300, seed: int = 0, **changed: object) -> Table:
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.integers(18, 90, rows),
        "pay": [None if rng.random() < 0.2 else float(value) for value in rng.normal(50, 9, rows).round(1)],
        "ward": rng.choice(["eye", "surgery"], rows).tolist(),
    }
    return Table(pa.table(columns | changed))


def test_the_same_rows_differ_in_nothing() -> None:
    assert {drift.difference for drift in drifts(people(), people(), infer_schema(people(), "t"))} == {0.0}


@pytest.mark.parametrize(
    ("changed", "column", "what"),
    [
        ({"age": [80] * 300}, "age", "mean"),
        ({"pay": [50.0] * 299 + [51.0]}, "pay", "missing"),
        ({"ward": ["eye"] * 290 + ["surgery"] * 10}, "ward", "share of `eye`"),
    ],
)
def test_what_changed_comes_first(changed: dict[str, object], column: str, what: str) -> None:
    first = drifts(people(), people(**changed), infer_schema(people(), "t"))[0]
    assert (first.column, first.what) == (column, what)
    assert first.difference > 0.5


def test_one_outlier_does_not_hide_a_mean_that_moved() -> None:
    real = people(age=[*people().column("age").to_pylist()[1:], 9_999])
    first = drifts(real, people(age=[20] * 300), infer_schema(real, "t"))[0]
    assert (first.column, first.what) == ("age", "mean")
    assert first.difference > 1


@given(st.floats(0.1, 100.0), st.floats(-1e3, 1e3))
def test_a_difference_does_not_depend_on_the_unit(scale: float, shift: float) -> None:
    def difference(a: Table, b: Table) -> float:
        return next(d.difference for d in drifts(a, b, infer_schema(a, "t")) if d.what == "mean")

    tables = [Table(people(seed=seed).arrow.select(["age"])) for seed in (0, 1)]
    scaled = [Table(pa.table({"age": scale * table.numbers("age") + shift + 0.5})) for table in tables]
    assert difference(*scaled) == pytest.approx(difference(*tables), rel=1e-6)


def test_the_text_gives_both_numbers_and_how_much_chance_does() -> None:
    schema = infer_schema(people(), "t")
    text = as_text(drifts(people(), people(ward=["eye"] * 300), schema), schema, 300)
    assert "two samples of 300 rows differ by about 0.08 by chance" in text
    assert text.splitlines()[1].split() == ["column", "what", "real", "synthetic", "difference"]
    assert text.splitlines()[2].startswith("ward    share of `eye`")
    assert "100.00 %" in text.splitlines()[2]


def test_what_chance_does_is_not_shown() -> None:
    schema = infer_schema(people(), "t")
    text = as_text(drifts(people(), people(), schema), schema, 300)
    assert text.endswith("differs from the real rows by more than chance.")
    assert "\n" not in text


def test_a_run_shows_what_moved_along_with_its_target() -> None:
    result = run_program(PROGRAM, people().arrow, config=QUICK)
    assert (result.drifts[0].column, result.drifts[0].what) == ("age", "mean")
    assert "What differs most from the real rows" in run_text(result)
    assert as_data(result)["drifts"][0]["synthetic"] == pytest.approx(60, abs=0.5)


def test_real_rows_of_a_private_program_are_not_compared(tmp_path: Path) -> None:
    table = people(pay=[50.0, 60.0] * 150)
    schema = Schema("t", infer_schema(table, "t").columns)
    private = "SYNTHESIZE: t; ENSURE: EPSILON=5, DELTA=1e-5; END;"
    privacy = PrivacyOptions(ledger=tmp_path / "ledger.jsonl")
    result = run_program(private, table.arrow, schema=schema, config=QUICK, privacy=privacy)
    assert result.drifts == ()
    assert "What differs most" not in run_text(result)


def test_means_of_dates_are_dates_and_close_means_show_the_digits_that_differ() -> None:
    assert means_in_words(8155.0, 8157.0, "date") == ("1992-04-30", "1992-05-02")
    assert means_in_words(-118.2871, -118.2869, "real, 7 decimals") == ("-118.2871", "-118.2869")
    assert means_in_words(5.0, 5.0, "integer") == ("5", "5")

"""Targets are worked towards whatever the tolerance, and every verdict says where its tolerance comes from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from console import run as run_cuts
from cuts import CutsError, check, parse, verify
from cuts.assess.render import as_text
from cuts.data.infer import infer_schema
from cuts.data.middles import with_middles
from cuts.data.schema import Schema
from cuts.data.schema_file import render_toml
from cuts.data.table import Table
from cuts.flow.inputs import find_schema
from cuts.flow.run import RunResult, run_program
from cuts.lang.spec import Relation, TableGoal
from cuts.model import store

QUICK = {"steps": 30}


@pytest.fixture(scope="module")
def skewed() -> pa.Table:
    """Mostly -1, one 800; and a column from a normal distribution."""
    rng = np.random.default_rng(5)
    x = np.where(rng.random(400) < 0.6, -1, rng.integers(-3, 9, 400))
    x[7] = 800
    return pa.table({"x": x, "y": rng.normal(size=400).round(3)})


def run(goals: str, table: pa.Table) -> RunResult:
    return run_program(f"SYNTHESIZE: t; {goals} END;", table, config=QUICK)


def tolerance(spec: object) -> Relation:
    (command,) = spec.commands  # type: ignore[attr-defined]
    assert isinstance(command, TableGoal)
    assert isinstance(command.goal, Relation)
    return command.goal


def test_one_outlier_does_not_let_a_median_stay_where_it_is(skewed: pa.Table) -> None:
    result = run("ENFORCE: MEDIAN[x] == 3;", skewed)
    (fact,) = result.verdicts[0].facts
    assert result.holds
    assert (fact.real, fact.value, fact.basis) == (-1.0, 3.0, "rows")


def test_a_wide_tolerance_is_no_reason_to_stay_far_from_the_target(skewed: pa.Table) -> None:
    result = run("ENFORCE: E[y] == 0.5 WITHIN 2; ENFORCE: STD[y] == 1.2 WITHIN 2;", skewed)
    mean, deviation = (verdict.facts[0].value for verdict in result.verdicts)
    assert mean == pytest.approx(0.5, abs=0.02)
    assert deviation == pytest.approx(1.2, abs=0.02)


def test_a_quantile_may_lie_anywhere_within_a_stated_tolerance() -> None:
    """Values of the rows may be far apart: none of them need be near the target itself."""
    prices = pa.table({"price": np.random.default_rng(2).choice([100, 200, 300, 400, 500], 400)})
    result = run("ENFORCE: MEDIAN[price] == 330 WITHIN 60;", prices)
    assert (result.holds, result.verdicts[0].facts[0].value) == (True, 300.0)
    assert {*result.table.arrow["price"].to_pylist()} == {100, 200, 300, 400, 500}


def test_a_verdict_says_where_its_tolerance_comes_from_and_what_the_real_rows_met(skewed: pa.Table) -> None:
    result = run("ENFORCE: MEDIAN[x] == -1; ENFORCE: E[y] == 0.3 WITHIN 0.1;", skewed)
    text = as_text(result.verdicts)
    assert "target == -1 within 0.02 (from the rows); already met by the real rows" in text
    assert "target == 0.3 within 0.1  " in text
    assert text.count("already met") == 1


def test_a_saved_model_keeps_the_tolerances_of_its_rows(skewed: pa.Table, tmp_path: Path) -> None:
    model = run("ENFORCE: E[x] == 1;", skewed).model
    store.save(model, tmp_path / "m.synth")
    loaded = store.load(tmp_path / "m.synth")
    assert loaded.codec.schema.middles == model.codec.schema.middles
    assert tolerance(loaded.spec).tolerance == tolerance(model.spec).tolerance < 0.1


def test_check_and_verify_take_the_tolerance_from_the_rows_they_are_given(skewed: pa.Table) -> None:
    program, schema = parse("SYNTHESIZE: t; ENFORCE: E[x] == 1; END;"), infer_schema(skewed, "t")
    without, given = check(program, schema), check(program, schema, table=skewed)
    assert (tolerance(without.spec).basis, tolerance(given.spec).basis) == ("range", "rows")
    assert "within 4.015 (from the range)" in as_text(verify(program, schema, skewed))
    assert "within 0.02 (from the rows)" in as_text(verify(program, schema, skewed, real=skewed))


def test_a_target_that_only_the_range_allowed_is_refused_once_the_rows_are_known(skewed: pa.Table) -> None:
    declared = Schema("t", infer_schema(skewed, "t").columns)
    with pytest.raises(CutsError, match="unreachable-target"):
        run_program("SYNTHESIZE: t; ENFORCE: E[x] == 802; END;", skewed, schema=declared, config=QUICK)


def test_a_private_program_never_takes_a_tolerance_from_rows(skewed: pa.Table) -> None:
    private = parse("SYNTHESIZE: t; ENSURE: EPSILON=1, DELTA=1e-6; ENFORCE: E[x] == 1; END;")
    declared = Schema("t", infer_schema(skewed, "t").columns)
    known = with_middles(declared, Table(skewed))
    spec = check(private, declared, table=skewed).spec
    assert spec is not None
    goal = spec.commands[1]
    assert isinstance(goal, TableGoal)
    assert isinstance(goal.goal, Relation)
    assert goal.goal.basis == "range"
    stripped = find_schema(private, known)  # of a fit, say, that was not private
    assert stripped is not None
    assert stripped.middles == ()


def test_the_rows_that_a_program_names_give_its_tolerances(skewed: pa.Table, tmp_path: Path) -> None:
    pyarrow.csv.write_csv(skewed, tmp_path / "t.csv")
    (tmp_path / "p.cuts").write_text('SYNTHESIZE: "t.csv"; ENFORCE: E[x] == 1; END;')
    assert "checked within 0.02 (from the rows)" in run_cuts(["cuts", "plan", "p.cuts"], tmp_path)[0]


def test_verify_takes_the_tolerance_from_a_model_or_from_the_declared_range(skewed: pa.Table, tmp_path: Path) -> None:
    pyarrow.csv.write_csv(skewed, tmp_path / "t.csv")
    (tmp_path / "p.cuts").write_text("SYNTHESIZE: t; ENFORCE: E[x] == 1; END;")
    declared = Schema("t", infer_schema(skewed, "t").columns)
    (tmp_path / "t.toml").write_text(render_toml(declared))
    store.save(run("ENFORCE: E[x] == 1;", skewed).model, tmp_path / "m.synth")
    words = ["cuts", "verify", "p.cuts", "t.csv", "--schema", "t.toml"]
    assert "within 4.015 (from the range)" in run_cuts(words, tmp_path)[0]
    assert "within 0.02 (from the rows)" in run_cuts([*words, "--model", "m.synth"], tmp_path)[0]

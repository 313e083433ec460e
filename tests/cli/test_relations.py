"""Exact relations and ties on the command line: reported, kept when asked for, and named in the report of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from cuts.cli import app
from cuts.data.schema_file import read_schema


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    hour, minute = rng.integers(0, 24, 300), rng.integers(0, 60, 300)
    start = rng.integers(0, 100_000, 300)
    columns = {"hour": hour, "minute": minute, "hhmm": hour * 100 + minute, "start": start}
    path = tmp_path / "visits.csv"
    pd.DataFrame({**columns, "stop": start + rng.integers(0, 9, 300)}).to_csv(path, index=False)
    return path


def test_an_inferred_schema_keeps_relations_when_asked(visits: Path) -> None:
    plain = CliRunner().invoke(app, ["schema", "infer", str(visits)])
    assert plain.exit_code == 0
    assert "formula" not in plain.stdout
    assert '`formula = "hour * 100 + minute"` in the schema keeps this' in plain.stderr
    target = visits.with_suffix(".toml")
    kept = CliRunner().invoke(app, ["schema", "infer", str(visits), "--keep-derived", "-o", str(target)])
    assert kept.exit_code == 0
    assert [(name, formula.text) for name, formula in read_schema(target).formulas] == [("hhmm", "hour * 100 + minute")]
    assert CliRunner().invoke(app, ["schema", "check", str(target), str(visits)]).exit_code == 0
    shown = CliRunner().invoke(app, ["schema", "show", str(visits), "--schema", str(target)])
    assert "computed as hour * 100 + minute in every row" in shown.stdout


def test_a_run_names_what_was_learned_in_the_place_of_a_column(visits: Path, tmp_path: Path) -> None:
    program = tmp_path / "visits.cuts"
    program.write_text(f'SYNTHESIZE: "{visits}";\n    ENFORCE: start <= stop;\nEND;\n')
    planned = CliRunner().invoke(app, ["plan", str(program)])
    assert "diagram + repair" in planned.stdout
    output = tmp_path / "made.csv"
    result = CliRunner().invoke(app, ["run", str(program), "-o", str(output), "--preview", "-q"])
    assert result.exit_code == 0, result.output
    assert "`stop` was computed from `start` and `stop - start`, which was learned in its place." in result.stdout
    made = pd.read_csv(output)
    assert (made["start"] <= made["stop"]).all()
    assert (made["stop"] - made["start"]).max() < 9

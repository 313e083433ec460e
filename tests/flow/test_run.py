"""`run` is the whole flow in one call: what it returns, and how little it reads."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cuts
from cuts.config import Config
from cuts.data.exchange.files import load, save
from cuts.data.infer import infer_schema
from cuts.data.table import Table
from cuts.flow.run import fit, make_request, run
from cuts.lang import binder, parser
from cuts.model.sampling import sample_table
from cuts.progress import Observer

QUICK = Config(components=20, steps=20, threads=1)
PROGRAM = "SYNTHESIZE: people.csv; ENFORCE: age > 20; ENFORCE: E[age] == 45; END;"


def people(rows: int = 300) -> Table:
    rng = np.random.default_rng(1)
    age = rng.integers(18, 80, rows)
    kind = rng.choice(["a", "b"], rows)
    return Table(pa.table({"age": age, "kind": kind, "paid": np.where(age + 20 * (kind == "a") > 55, "yes", "no")}))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file is opened for reading, by its name."""
    counts: Counter[str] = Counter()
    for name in ("input_stream", "OSFile"):
        original = getattr(pa, name)

        def counting(path: Any, *args: Any, original: Any = original, **more: Any) -> Any:
            counts[Path(str(path)).name] += 1
            return original(path, *args, **more)

        monkeypatch.setattr(pa, name, counting)
    return counts


@pytest.mark.parametrize(
    ("name", "most"), [("people.csv", 3), ("people.csv.gz", 3), ("people.parquet", 2), ("people.jsonl", 3)]
)
def test_a_file_without_a_schema_is_opened_once_per_pass(
    name: str, most: int, tmp_path: Path, opened: Counter[str]
) -> None:
    save(people(), tmp_path / name)
    result = run(make_request("SYNTHESIZE: people; END;", str(tmp_path / name), config=QUICK, rows=50), panel=())
    assert result.table.rows == 50
    assert 0 < opened[name] <= most


def test_with_a_schema_a_pass_is_saved_for_nothing_is_inferred(tmp_path: Path, opened: Counter[str]) -> None:
    save(people(), tmp_path / "people.csv")
    schema = infer_schema(people(), "people")
    run(make_request("SYNTHESIZE: p; END;", tmp_path / "people.csv", schema=schema, config=QUICK, rows=50), panel=())
    assert opened["people.csv"] <= 3


def test_a_program_is_parsed_and_bound_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls: Counter[str] = Counter()
    parse_source, bind_command = parser.parse_source, binder.bind_command

    def parsing(*args: Any, **more: Any) -> Any:
        calls["parsed"] += 1
        return parse_source(*args, **more)

    def binding(*args: Any, **more: Any) -> Any:
        calls["commands bound"] += 1
        return bind_command(*args, **more)

    for module in ("cuts.lang.parser", "cuts.flow.inputs"):
        monkeypatch.setattr(f"{module}.parse_source", parsing)
    monkeypatch.setattr(binder, "bind_command", binding)
    path = tmp_path / "p.cuts"
    path.write_text(PROGRAM)
    run(make_request(path, people(), config=QUICK, rows=50), output=tmp_path / "out.csv", panel=())
    assert calls == {"parsed": 1, "commands bound": 2}  # two commands, each once


def test_the_result_holds_model_table_verdicts_and_facts(tmp_path: Path) -> None:
    stages: list[str] = []
    request = make_request(PROGRAM, people(), label="paid", config=QUICK, rows=120, seed=4)
    result = run(request, output=tmp_path / "out.csv", panel=(), observer=Observer(stage=stages.append))
    assert [verdict.holds for verdict in result.verdicts] == [True, True]
    assert result.holds
    assert repr(result) == f"<RunResult: 120 rows, 2 commands, 0 failing, fit error {result.facts.error:.2g}>"
    assert result.facts is result.model.facts
    assert result.sample.calibration is not None
    assert result.table.arrow.equals(sample_table(result.model, 120, seed=4).arrow)
    written, _ = load(tmp_path / "out.csv")
    assert written.arrow.to_pylist() == result.table.arrow.to_pylist()
    assert stages[-3:] == ["sampling rows", "verifying", "comparing with real rows"]


def test_one_call_does_what_the_command_does(tmp_path: Path) -> None:
    """`cuts.run` takes what people write: a text, a frame, a mapping."""
    frame = people().arrow.to_pandas()
    result = cuts.run(PROGRAM, frame, label="paid", rows=40, config={"steps": 20}, output=tmp_path / "out.parquet")
    assert isinstance(result, cuts.RunResult)
    assert (result.table.rows, result.holds, result.output) == (40, True, tmp_path / "out.parquet")
    with pytest.raises(ValueError, match="seed"):
        cuts.run(PROGRAM, frame, seed=-1)


def test_nothing_is_written_when_a_stage_fails(tmp_path: Path) -> None:
    with pytest.raises(cuts.CutsError):
        cuts.run("SYNTHESIZE: p; ENFORCE: aeg > 3; END;", people().arrow, output=tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_warnings_are_reported_before_the_fit() -> None:
    heard: list[str] = []
    observer = Observer(
        stage=heard.append, warned=lambda diagnostics, _: heard.append(diagnostics[0].code), fitted=lambda _: None
    )
    program = "SYNTHESIZE: p; ENFORCE: age > 20; ENFORCE: age > 19; END;"
    fit(make_request(program, people(), config=QUICK), observer=observer)
    assert heard.index("redundant-command") < heard.index("fitting")


def test_a_run_says_how_near_the_table_is_to_the_rows_it_was_fitted_to() -> None:
    config = Config(components=50, steps=200, threads=1)
    near = run(make_request("SYNTHESIZE: p; END;", people(), config=config), panel=()).discriminator
    assert near is not None
    assert (near.rows, near.train_auc) == (300, None)
    assert near.auc < 0.7
    old = run(make_request("SYNTHESIZE: p; ENFORCE: age > 77; END;", people(), config=config), panel=()).discriminator
    assert old is not None
    assert old.auc > 0.95


def test_too_few_rows_are_not_compared() -> None:
    assert run(make_request("SYNTHESIZE: p; END;", people(), config=QUICK, rows=19), panel=()).discriminator is None


@pytest.mark.parametrize("with_schema", [False, True])
def test_one_row_is_refused_before_anything_is_fitted(with_schema: bool) -> None:
    stages: list[str] = []
    row = Table(people().arrow.slice(0, 1))
    schema = infer_schema(people(), "people") if with_schema else None
    with pytest.raises(cuts.CutsError, match="few-rows: one row cannot be synthesised without copying it"):
        fit(make_request("SYNTHESIZE: p; END;", row, schema=schema, config=QUICK), observer=Observer(stages.append))
    assert "fitting" not in stages


@pytest.mark.parametrize(("rows", "warned"), [(2, True), (19, True), (20, False)])
def test_few_rows_are_a_warning(rows: int, warned: bool) -> None:
    codes: list[str] = []
    observer = Observer(warned=lambda diagnostics, _: codes.extend(each.code for each in diagnostics))
    few = Table(people().arrow.slice(0, rows))
    fit(make_request("SYNTHESIZE: p; END;", few, schema=infer_schema(people(), "p"), config=QUICK), observer=observer)
    assert ("few-rows" in codes) == warned


@pytest.mark.parametrize(("steps", "failed"), [(1, True), (200, False)])
def test_a_fit_far_from_its_counts_is_a_warning_that_names_columns(steps: int, failed: bool) -> None:
    warnings: list[str] = []
    observer = Observer(warned=lambda diagnostics, _: warnings.extend(each.title for each in diagnostics))
    frame = pa.table({"age": [20, 30, 40, 50] * 100, "paid": ["no", "yes"] * 200, "coin": ["a", "b", "b", "a"] * 100})
    config = Config(steps=steps, smoothing=0.0, threads=1)
    facts = fit(make_request("SYNTHESIZE: p; END;", frame, config=config), observer=observer).model.facts
    assert facts.failed == failed
    assert any("the fit failed" in title and "`age`" in title for title in warnings) == failed
    assert facts.error_floor is not None
    assert 0 < facts.error_floor < 0.1

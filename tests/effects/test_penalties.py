"""The paper's way from end to end on a small table: what the plan says is done, and every command has its effect."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from typer.testing import CliRunner

from cuts.cli import app
from cuts.config import Config, config_from
from cuts.count.rows import rows_of
from cuts.data.codec import Codes, build_codec
from cuts.data.infer import infer_schema
from cuts.data.schema import Category, Schema
from cuts.data.table import Table
from cuts.effects.penalties import check_size, classifier_violation
from cuts.effects.trained import find_reference
from cuts.flow.learn import OpenedRows
from cuts.flow.run import RunResult, fit, make_request, run
from cuts.flow.sample import sample
from cuts.flow.search import tune
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import MeasureOf, ModelAim, ModelGoal, Origin, TableAim
from cuts.model.cells import Statistics
from cuts.model.draw import CHUNK
from cuts.model.network import DRAWN_ROWS
from cuts.model.sampling import plan_chunks, sample_table
from cuts.model.store import load, save
from cuts.text.diagnostic import CutsError
from cuts.text.source import Span
from mixtures import row_mixture

QUICK = {
    "preset": "paper",
    "bins": 8,
    "steps": 60,
    "threads": 1,
    "backbone_options": {"batch": 500, "finetune_steps": 40, "final_components": 300},
}
PARITY = "DEMOGRAPHIC_PARITY(protected=sex, target=paid, batch_size=100)"


def people(rows: int = 600) -> Table:
    rng = np.random.default_rng(5)
    sex = rng.integers(0, 2, rows)
    paid = (rng.random(rows) < 0.15 + 0.6 * sex).astype(int)
    return Table(
        pa.table(
            {
                "age": rng.integers(20, 60, rows),
                "sex": np.array(["f", "m"])[sex],
                "kind": np.array(["a", "b", "c"])[(rng.random(rows) * 2.5 + 0.5 * paid).astype(int)],
                "paid": np.array(["no", "yes"])[paid],
            }
        )
    )


def result_of(*commands: str, **settings: object) -> RunResult:
    program = f"SYNTHESIZE: people; {' '.join(f'{command};' for command in commands)} END;"
    config = config_from({**QUICK, **settings})
    return run(make_request(program, people(), label="paid", config=config, rows=800), panel=("xgboost",))


# --- row rules


@pytest.fixture(scope="module")
def ruled() -> RunResult:
    return result_of(
        "ENFORCE: PARAM 0.001: age < 30",
        "ENFORCE: kind == a IMPLIES sex == m WITH mode=condition",
        "ENFORCE: STATISTICAL: PARAM 0.5: P[kind == a] == 0.8",  # large, because the rule above rejects rows of kind a
    )


def test_every_row_satisfies_the_rules_and_the_plan_says_how(ruled: RunResult) -> None:
    assert [step.way for step in ruled.plan.steps] == ["penalty + reject", "reject", "penalty"]
    assert sorted(met.way for met in ruled.facts.ways) == sorted(step.way for step in ruled.plan.steps)
    assert [verdict.holds for verdict in ruled.verdicts[:2]] == [True, True]
    assert ruled.table.rows == 800
    assert ruled.departures == ()


def test_fine_tuning_brings_rows_into_the_rule_and_rejection_does_the_rest(ruled: RunResult) -> None:
    trained, rejected = ruled.facts.rules
    assert trained.before < 0.5 < 0.8 < trained.after  # about a quarter of the rows before
    rejection = ruled.sample.rejection
    assert rejection is not None
    assert rejection.candidates >= DRAWN_ROWS
    assert ruled.facts.acceptance == pytest.approx(rejection.acceptance, abs=0.05)
    assert rejection.acceptance <= min(trained.after, rejected.after) + 0.05


def test_statistics_move_towards_their_targets(ruled: RunResult) -> None:
    ((number,),) = [goal.numbers for goal in ruled.facts.goals]
    assert abs(number.before - number.real) < 0.1
    assert abs(number.after - 0.8) < abs(number.before - 0.8)


def test_a_saved_network_draws_the_same_rows(ruled: RunResult, tmp_path: Path) -> None:
    save(ruled.model, tmp_path / "m.synth")
    loaded = load(tmp_path / "m.synth")
    assert loaded.network is not None
    assert loaded.facts.acceptance == ruled.facts.acceptance
    assert sample_table(loaded, 300, seed=4).arrow.equals(sample_table(ruled.model, 300, seed=4).arrow)
    for mine, theirs in zip(loaded.mixture.P, ruled.model.mixture.P, strict=True):
        assert torch.equal(mine, theirs)
    save(loaded, tmp_path / "again.synth")
    assert (tmp_path / "again.synth").read_bytes() == (tmp_path / "m.synth").read_bytes()


def test_a_statistic_of_too_many_cells_is_refused() -> None:
    codec = build_codec(Schema("wide", tuple(Category(f"c{i}", tuple(map(str, range(40)))) for i in range(5))), {})
    text = "SYNTHESIZE: wide; MAXIMIZE: H[c0, c1, c2, c3, c4]; END;"
    (command,) = bind(parse(text), codec.schema).commands
    assert isinstance(command, TableAim)
    with pytest.raises(CutsError, match=r"not-supported: line 1: .* so many cells"):
        check_size(command, Statistics(codec, 100))


def test_any_number_of_workers_draws_the_same_rows(ruled: RunResult) -> None:
    rows = CHUNK + 700
    one, two = (sample(ruled.model, rows, seed=2, workers=workers) for workers in (1, 2))
    assert one.table.arrow.equals(two.table.arrow)
    assert one.rows == two.rows == rows
    assert one.rejection == two.rejection
    assert one.rejection is not None
    assert one.rejection.accepted >= rows


def test_where_is_met_by_rejection_too(ruled: RunResult) -> None:
    drawn = sample_table(ruled.model, 100, where="age >= 25 AND sex == m", seed=1)
    assert min(drawn.arrow["age"].to_pylist()) >= 25
    assert set(drawn.arrow["sex"].to_pylist()) == {"m"}


def test_a_condition_that_hardly_any_row_satisfies_is_an_error(
    ruled: RunResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cuts.model.rejection.MIN_CANDIDATES", 10_000)
    with pytest.raises(CutsError) as caught:
        sample_table(ruled.model, 10, where="age > 30")
    (found,) = caught.value.diagnostics
    assert (found.code, found.exit_code) == ("low-acceptance", 3)
    assert "0 of 16,384" in found.title


def test_rows_with_given_cells_are_completed_by_the_mixture(ruled: RunResult) -> None:
    from cuts.model.sampling import complete_rows

    given = Table(pa.table({"sex": ["f", "m"]}))
    assert complete_rows(ruled.model, given, seed=1).arrow["sex"].to_pylist() == ["f", "m"]


def test_what_was_rejected_is_printed_with_a_sample(ruled: RunResult, tmp_path: Path) -> None:
    save(ruled.model, tmp_path / "m.synth")
    call = ["sample", str(tmp_path / "m.synth"), "-n", "50", "-o", str(tmp_path / "t.csv"), "--where", "sex == m"]
    text, data = (CliRunner().invoke(app, [*call, "--format", form]).stdout for form in ("text", "json"))
    assert "Rejection sampling: " in text
    assert 0 < json.loads(data)["rejection"]["acceptance"] < 1


def test_weights_are_found_by_cross_validation() -> None:
    program = parse("SYNTHESIZE: people; ENFORCE: STATISTICAL: PARAM <w>: P[kind == a] == 0.8 WITHIN 0.25; END;")
    opened = OpenedRows(rows_of(people()), infer_schema(people(), "people", "paid")).with_sample()
    found = tune(program, opened, {"w": ["0.0000001", "0.1"]}, folds=2, config=config_from(QUICK))
    assert [point.values["w"] for point in found.points] == ["0.0000001", "0.1"]
    weak, strong = (point.holds for point in found.points)
    assert weak < strong


def test_a_frontier_is_refused_where_no_group_rates_are_steered(tmp_path: Path) -> None:
    (tmp_path / "p.cuts").write_text(
        "SYNTHESIZE: german; MINIMIZE: DEMOGRAPHIC_PARITY(protected=A20, target=class); END;"
    )
    found = CliRunner().invoke(app, ["tune", str(tmp_path / "p.cuts"), "--frontier", "--preset", "paper", "-q"])
    assert "`--frontier` steers group rates" in str(found.exception)


# --- classifiers


def test_a_network_is_trained_for_fairness_in_the_stated_direction() -> None:
    free = result_of(f"MINIMIZE: FAIRNESS: PARAM 1e-9: {PARITY}")
    fair = result_of(f"MINIMIZE: FAIRNESS: PARAM 0.5: {PARITY}")
    assert fair.plan.steps[0].way == "penalty"
    gaps = [result.verdicts[0].panel.deciding.value for result in (free, fair)]  # type: ignore[union-attr]
    assert gaps[1] < gaps[0] - 0.2


SIZES = {"sex": 2, "job": 3, "paid": 2}
ORIGIN = Origin(1, 1, Span(0, 1), Span(0, 1), "", "")
FAIR = MeasureOf("DEMOGRAPHIC_PARITY", "paid", ("sex", "job"), ("sex",), learner=(("batch_size", 64.0),))
USEFUL = MeasureOf("DOWNSTREAM_ACCURACY", "paid", ("sex", "job"), learner=(("batch_size", 64.0),))


def codes() -> Codes:
    rng = np.random.default_rng(1)
    sex = rng.integers(0, 2, 2_000)
    return {"sex": sex, "job": rng.integers(0, 3, 2_000), "paid": np.where(rng.random(2_000) < 0.9, sex, 1 - sex)}


def term(command: ModelGoal | ModelAim) -> float:
    rows = row_mixture(codes(), SIZES)
    single = replace(rows, w=rows.w.float(), P=tuple(p.float() for p in rows.P))
    return float(classifier_violation(command, single, find_reference(codes(), command.measure, SIZES, 1)))


def test_terms_of_fairness_are_half_the_gap_of_certain_predictions() -> None:
    assert term(ModelAim("MINIMIZE", FAIR, ORIGIN, None)) == pytest.approx(0.5)  # it predicts by sex alone
    assert term(ModelAim("MAXIMIZE", FAIR, ORIGIN, None)) == pytest.approx(-0.5)
    assert term(ModelGoal(FAIR, "<=", 0.2, 0.0, ORIGIN)) == pytest.approx(0.4)
    assert term(ModelGoal(FAIR, ">=", 0.2, 0.0, ORIGIN)) == pytest.approx(0.0)
    assert term(ModelGoal(FAIR, "==", 0.4, 0.0, ORIGIN)) == pytest.approx(0.3)


def test_terms_of_predictability_are_cross_entropies_and_bounds_are_on_the_measure() -> None:
    less, more = (term(ModelAim(way, USEFUL, ORIGIN, None)) for way in ("MINIMIZE", "MAXIMIZE"))  # type: ignore[arg-type]
    assert less == pytest.approx(-more)
    assert 0.2 < more < 0.5
    assert term(ModelGoal(USEFUL, ">=", 0.95, 0.0, ORIGIN)) == pytest.approx(0.05, abs=0.02)
    assert term(ModelGoal(USEFUL, "<=", 0.6, 0.0, ORIGIN)) == pytest.approx(0.3, abs=0.02)
    assert term(ModelGoal(USEFUL, ">=", 0.5, 0.0, ORIGIN)) == 0.0


# --- settings


def test_a_program_without_commands_is_drawn_from_the_network() -> None:
    model = fit(make_request("SYNTHESIZE: people; END;", people(), config=config_from(QUICK))).model
    assert model.network is not None
    assert model.facts.acceptance is None
    assert model.facts.steps == 60
    assert plan_chunks(model, 50).make(0).rejection is None
    table = sample_table(model, 20_000, seed=3)
    for column, value in (("sex", "m"), ("paid", "yes"), ("kind", "b")):
        real, drawn = (np.array(t.arrow[column].to_pylist()) == value for t in (people(), table))
        assert drawn.mean() == pytest.approx(real.mean(), abs=0.1)


def test_the_generator_can_be_met_exactly_instead() -> None:
    result = result_of("ENFORCE: age < 30", method="exact")
    assert result.model.network is None
    assert result.plan.steps[0].way == "diagram + repair"
    assert result.verdicts[0].holds


def test_settings_beside_a_preset_override_it_and_others_are_kept() -> None:
    config = config_from({"preset": "paper", "bins": 16})
    assert (config.bins, config.binning, config.backbone, config.method) == (16, "uniform", "generator", "penalty")
    assert config_from({"preset": "paper"}).steps == 10_000
    assert config_from({}) == Config()


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ({"preset": "article"}, "the setting `preset` cannot be 'article'"),
        ({"preset": 3}, "the setting `preset` cannot be 3"),
        ({"method": "penalty"}, "the setting `method` cannot be 'penalty'"),
        ({"method": "hope"}, "the setting `method` cannot be 'hope'"),
    ],
)
def test_a_preset_or_method_that_does_not_exist_is_a_clear_error(given: dict[str, object], title: str) -> None:
    with pytest.raises(CutsError) as caught:
        config_from(given)
    (found,) = caught.value.diagnostics
    assert (found.code, found.exit_code, found.title) == ("bad-config", 2, title)

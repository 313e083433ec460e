"""The plan decides: the way `cuts plan` prints for a command is the way it is met."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from cuts import plan
from cuts.cli import app
from cuts.config import Config
from cuts.data.exchange.files import save
from cuts.data.infer import infer_schema
from cuts.data.schema_file import render_toml
from cuts.data.table import Table
from cuts.effects import closed_form
from cuts.effects.steering import SteeringSettings
from cuts.flow.request import PrivacyOptions
from cuts.flow.run import RunResult, make_request, run
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from models import quick_steering
from privacy.checks import DEAR_ROUNDS

QUICK = Config(components=30, steps=40, threads=1)
PARITY = "DEMOGRAPHIC_PARITY(protected=sex, target=paid)"
WAYS = {  # one program per way, and what the plan says of its first command
    "ENFORCE: age > 30": "diagram + repair",
    "ENFORCE: kind == a IMPLIES age > 30": "diagram + repair",
    "ENFORCE: age > 30 WITH mode=condition": "diagram",
    "ENFORCE: start <= stop": "diagram + repair",  # a bound on the difference of the two columns
    "ENFORCE: start <= 2 * stop": "diagram",
    "ENFORCE: IMPLICATION: PARAM 0.00001: kind == a IMPLIES age < 40 WITH method=penalty": "train + diagram",
    "ENFORCE: E[age] == 40": "tilt",
    "ENFORCE: E[age | kind == a] == E[age | kind == b]": "tilt",
    "ENFORCE: MEDIAN[age] >= 35": "tilt",
    "ENFORCE: P[kind == a] == 0.5 OR P[kind == a] == 0.2": "tilt",
    "ENFORCE: DIST[kind] == {a: 50%, *: proportional}": "tilt",
    "ENFORCE: E[age] == 40 WITH method=penalty": "train",
    "ENFORCE: STATISTICAL: PARAM 0.001: E[age] == 40": "train",
    "ENFORCE: CORR[age, start] == 0 WITHIN 0.05": "tilt",
    "ENFORCE: CORR[age, start | kind == a] == 0 WITHIN 0.05": "tilt",
    "ENFORCE: CORR[age, start] == 0 WITHIN 0.05 WITH method=penalty": "train",
    "MINIMIZE: E[age] WITH budget=5%": "tilt",
    "MINIMIZE: STATISTICAL: PARAM 0.0001: E[age]": "train",
    f"MINIMIZE: {PARITY} WITH budget=20%": "steer",
    f"ENFORCE: {PARITY} <= 0.05": "steer",
    f"ENFORCE: {PARITY} >= 0.05": "measure",
    f"MINIMIZE: FAIRNESS: PARAM 0.01: {PARITY}": "train",
    "MINIMIZE: DOWNSTREAM_ACCURACY(features=all, target=sex)": "hide",
    "MAXIMIZE: DOWNSTREAM_ACCURACY(features=all, target=paid)": "sharpen",
    "ENFORCE: DOWNSTREAM_ACCURACY(features=all, target=paid) >= 0.9": "sharpen",
    "ENFORCE: DOWNSTREAM_CROSS_ENTROPY(features=all, target=paid) <= 0.3": "sharpen",
    "ENFORCE: DOWNSTREAM_ACCURACY(features=all, target=paid) == 0.9": "measure",
    "ENSURE: DIFFERENTIAL PRIVACY: EPSILON=3, DELTA=1e-6": "noise",
}
SCHEMA_NAME = "people.toml"


@pytest.fixture(scope="module", autouse=True)
def _few_trials() -> Iterator[None]:
    """Which way is taken does not depend on how far it leads."""
    with quick_steering(steering=SteeringSettings(max_trials=1, max_retreats=0)):
        yield


def people(rows: int = 400) -> Table:
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], rows)
    start = rng.integers(0, 50, rows)
    return Table(
        pa.table(
            {
                "age": rng.integers(18, 80, rows),
                "start": start,
                "stop": start + rng.integers(0, 40, rows),
                "kind": rng.choice(["a", "b", "c"], rows),
                "sex": sex,
                "paid": np.where(rng.random(rows) < np.where(sex == "m", 0.7, 0.3), "yes", "no"),
            }
        )
    )


SCHEMA = replace(infer_schema(people(), "people", "paid"), provenance="declared")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plan")
    save(people(), folder / "people.csv")
    (folder / SCHEMA_NAME).write_text(render_toml(SCHEMA))
    return folder


def printed_ways(folder: Path, program: str) -> dict[int, str]:
    """The way of each command by its line, as `cuts plan` prints it."""
    path = folder / "p.cuts"
    path.write_text(program)
    arguments = ["plan", str(path), "--schema", str(folder / SCHEMA_NAME), "--format", "json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return {step["line"]: step["way"] for step in json.loads(result.stdout)["steps"]}


def ran(commands: str, tmp_path: Path, config: Config = QUICK) -> RunResult:
    program = parse(f"SYNTHESIZE: people;\n{commands}\nEND;")
    privacy = PrivacyOptions(ledger=tmp_path / "ledger.jsonl", rounds=DEAR_ROUNDS)
    request = make_request(program, people(), schema=SCHEMA, config=config, rows=200, privacy=privacy)
    return run(request, panel=())


@pytest.mark.parametrize(
    ("command", "promise"),
    [
        (f"MINIMIZE: {PARITY}", "encouraged, measured"),
        (f"MINIMIZE: {PARITY} WITH budget=5%", "encouraged, costs at most 5 % of accuracy"),
        ("MINIMIZE: DOWNSTREAM_ACCURACY(target=sex)", "encouraged, costs at most 2 % of accuracy"),
        ("MINIMIZE: DOWNSTREAM_ACCURACY(target=paid)", "encouraged, measured"),  # the label
        ("MAXIMIZE: DOWNSTREAM_ACCURACY(target=paid)", "encouraged, measured"),
        (f"MINIMIZE: FAIRNESS: PARAM 0.01: {PARITY}", "encouraged, measured"),
        ("MAXIMIZE: H[kind]", "encouraged, costs at most 2 % of utility"),
        ("MINIMIZE: STATISTICAL: PARAM 0.0001: E[age]", "encouraged, measured"),
    ],
)
def test_a_plan_states_the_budget_of_every_command_that_has_one(command: str, promise: str) -> None:
    (step,) = plan.plan(bind(parse(f"SYNTHESIZE: people; {command}; END;"), SCHEMA)).steps
    assert step.promise == promise


@pytest.mark.parametrize(("command", "way"), WAYS.items(), ids=range(len(WAYS)))
def test_a_command_of_every_kind_is_planned_so(command: str, way: str) -> None:
    (step,) = plan.plan(bind(parse(f"SYNTHESIZE: people; {command}; END;"), SCHEMA)).steps
    assert step.way == way


@pytest.mark.parametrize("command", [command for command, way in WAYS.items() if way != "measure"], ids=str)
def test_the_way_printed_is_the_way_taken(command: str, folder: Path, tmp_path: Path) -> None:
    printed = printed_ways(folder, f"SYNTHESIZE: people;\n{command};\nEND;")
    result = ran(f"{command};", tmp_path)
    assert {way.line: way.way for way in result.facts.ways} == printed
    assert result.departures == ()


def test_commands_together_are_met_as_printed(folder: Path, tmp_path: Path) -> None:
    commands = (
        "ENFORCE: age > 20;\nENFORCE: start <= 2 * stop;\nENFORCE: E[age] == 45;\n"
        "ENFORCE: CORR[age, start] == 0 WITH method=penalty;\n"
        f"MINIMIZE: DOWNSTREAM_ACCURACY(features=all, target=kind);\nMINIMIZE: {PARITY} WITH budget=20%;"
    )
    printed = printed_ways(folder, f"SYNTHESIZE: people;\n{commands}\nEND;")
    result = ran(commands, tmp_path)
    assert {way.line: way.way for way in result.facts.ways} == printed
    assert len(set(printed.values())) == 6


def test_what_the_rows_bins_change_is_reported() -> None:
    """Sixteen classes are the most a closed form splits components into: the rows decide how many bins there are."""
    spec = bind(parse("SYNTHESIZE: people; ENFORCE: E[age | kind == a] == 40; END;"), SCHEMA)
    draft = plan.plan(spec)
    assert draft.steps[0].way == "tilt"
    result = ran("ENFORCE: E[age | kind == a] == 40;", Path())
    other = RunResult(
        result.model,
        plan.Plan(draft.spec, (plan.Step(1, 2, "", draft.steps[0].level, "", "train", ""),), draft.conditions),
        result.sample,
        result.verdicts,
    )
    ((step, taken),) = other.departures
    assert (step.way, taken) == ("train", "tilt")


@pytest.mark.parametrize("limit", ["MAX_COARSE_MISS", "MAX_COARSE_NATS"])
def test_a_coarse_closed_form_that_misses_its_target_or_goes_too_far_is_trained_for_and_reported(
    limit: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(closed_form, limit, -1.0)
    many = replace(QUICK, bins=50)  # more than classes can be split by
    result = ran("ENFORCE: E[age] == 45;\nENFORCE: CORR[age, start] == 0 WITHIN 0.05;", tmp_path, many)
    ((step, taken),) = result.departures
    assert (step.line, step.way, taken) == (3, "tilt", "train")
    assert "coarse classes" in step.how
    assert result.holds

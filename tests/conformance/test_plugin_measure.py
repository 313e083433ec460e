"""A fairness measure of another package works in every command: one module and one entry point are enough."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.together import Outcomes, run_with_plugin
from console import run

MODULE = '''"""Predictive parity: those chosen are equally often worth it in all groups."""

from cuts.vocab.fairness_measures import add_fairness_measure, chosen, deserving
from cuts.vocab.registry import Rate

add_fairness_measure(
    "PREDICTIVE_PARITY",
    rates=(Rate(event=deserving, among=chosen),),
    meaning="largest difference between groups in precision",
    heading="precision",
)
'''
MEASURE = "PREDICTIVE_PARITY(protected=sex, target=paid)"
PROGRAM = f"""SYNTHESIZE: "people.csv";

    MINIMIZE: {MEASURE};

END;
"""
COMMANDS = {
    "check": "check p.cuts",
    "fmt": "fmt p.cuts --check",
    "plan": "plan p.cuts",
    "run": "run p.cuts -o made.csv --report report.json --config fast.toml -q --format json",
    "verify": "verify p.cuts made.csv --real real.csv",
    "evaluate": "evaluate made.csv --train people.csv --test real.csv --target paid --protected sex "
    "--parts fairness -q",
    "misspelt": "check misspelt.cuts",
    "incomplete": "check incomplete.cuts",
}


def people(rows: int, seed: int) -> str:
    """People whose pay depends on their sex, and for women is harder to predict: precision differs."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows)
    score = np.round(rng.normal(0, 1, rows), 1)
    noise = rng.logistic(0, np.where(sex == "f", 1.2, 0.3))
    paid = np.where(1.5 * score + 1.0 * (sex == "m") - 0.5 + noise > 0, "yes", "no")
    return "score,sex,paid\n" + "".join(f"{s},{g},{p}\n" for s, g, p in zip(score, sex, paid, strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("plugin")
    (made / "people.csv").write_text(people(300, 1))
    (made / "real.csv").write_text(people(200, 2))
    (made / "p.cuts").write_text(PROGRAM)
    (made / "misspelt.cuts").write_text(PROGRAM.replace("PREDICTIVE_PARITY", "PREDICTIVE_PARTY"))
    (made / "incomplete.cuts").write_text(PROGRAM.replace("protected=sex, ", ""))
    (made / "fast.toml").write_text('components = 20\nsmoothing = 0.02\nsteps = 60\nboxes = false\nfine = "none"\n')
    return made


@pytest.fixture(scope="module")
def outcomes(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """What every command prints, and its exit code, in one process that has the package."""
    site = tmp_path_factory.mktemp("site")
    return run_with_plugin(site, "cuts.vocabulary", "predictive_parity", MODULE, COMMANDS, folder)


@pytest.fixture(scope="module")
def result(outcomes: Outcomes) -> Any:
    text, code = outcomes["run"]
    assert code == 0, text
    return json.loads(text)


@pytest.mark.parametrize("command", ["check", "fmt", "plan", "run", "verify", "evaluate"])
def test_every_command_knows_the_measure(command: str, outcomes: Outcomes) -> None:
    text, code = outcomes[command]
    assert code == 0, text
    if command in ("plan", "run", "verify"):
        assert "PREDICTIVE_PARITY" in text


def test_the_table_is_steered_by_it(result: Any) -> None:
    (verdict,) = result["verdicts"]
    assert verdict["panel"]["deciding"]["learner"] == "xgboost"
    (trade_off,) = result["fit"]["trade_offs"]
    before = trade_off["start"]["value"]
    assert min(trial["value"] for trial in trade_off["trials"] if trial["value"] is not None) < before
    assert trade_off["chosen"] <= before
    (control,) = result["fit"]["group_shares"]  # one rate: no control of all rows beside that of the group
    assert (control["column"], control["target"], control["desired"]) == ("sex", "paid", "yes")


def test_the_report_has_its_panel_and_its_price(folder: Path, result: Any) -> None:
    report = json.loads((folder / "report.json").read_text())
    (command,) = report["commands"]
    assert "PREDICTIVE_PARITY" in command["command"]
    assert command["price"] is not None
    assert {line["learner"] for line in report["classifiers"]["panel"]} == {
        each["learner"] for each in result["verdicts"][0]["panel"]["learners"]
    }


def test_verify_reports_every_learner(outcomes: Outcomes) -> None:
    text, _ = outcomes["verify"]
    assert all(learner in text for learner in ("xgboost", "random forest", "logistic regression"))


def test_evaluate_has_a_column_of_it_after_those_of_the_package(outcomes: Outcomes) -> None:
    heads = next(line for line in outcomes["evaluate"][0].splitlines() if line.startswith("protected"))
    assert heads.split()[-4:] == ["parity", "opportunity", "odds", "precision"]


def test_mistakes_are_explained_as_for_any_measure(outcomes: Outcomes) -> None:
    text, code = outcomes["misspelt"]
    assert (code, "did you mean `PREDICTIVE_PARITY`?" in text) == (1, True)
    text, code = outcomes["incomplete"]
    assert (code, "`PREDICTIVE_PARITY(protected=sex, target=paid)`" in text) == (1, True)


def test_without_the_package_the_name_is_unknown(folder: Path) -> None:
    text, code = run(["cuts", "check", "p.cuts"], folder)
    assert (code, "PREDICTIVE_PARITY" in text) == (1, True)

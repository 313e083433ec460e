"""Programs about classifiers on the command line: what is printed, written and returned."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from console import run
from cuts.assess import verify as verifying
from cuts.assess.learners import CLASSIFIERS, missing_extra

PARITY = "DEMOGRAPHIC_PARITY(protected=sex, target=paid)"
PROGRAM = f"""SYNTHESIZE: "people.csv";

    ENFORCE: job == shop IMPLIES score > -1;
    ENFORCE: {PARITY} <= 0.15;
    MINIMIZE: DOWNSTREAM_ACCURACY(target=town);

END;
"""
FAST = "components = 20\nsmoothing = 0.02\n"


def people(rows: int, seed: int) -> str:
    """People whose job tells their sex, and whose pay depends on it."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows, p=[0.4, 0.6])
    score = np.round(rng.normal(0, 1, rows), 2)
    job = np.where(rng.random(rows) < 0.15 + 0.6 * (sex == "m"), "tech", rng.choice(["care", "shop"], rows))
    town = rng.choice(["n", "s", "w"], rows, p=[0.5, 0.3, 0.2])
    push = 1.3 * score + 1.6 * (sex == "m") - 1.2 + 0.8 * (town == "n") + rng.logistic(0, 0.5, rows)
    lines = zip(score, job, town, sex, np.where(push > 0, "yes", "no"), strict=True)
    return "score,job,town,sex,paid\n" + "".join(",".join(map(str, line)) + "\n" for line in lines)


def lay_out(folder: Path) -> Path:
    (folder / "people.csv").write_text(people(600, 1))
    (folder / "real.csv").write_text(people(900, 2))
    (folder / "p.cuts").write_text(PROGRAM)
    (folder / "fast.toml").write_text(FAST)
    return folder


def cuts(command: str, folder: Path) -> tuple[str, int]:
    return run(["cuts", *command.split()], folder)


@dataclass(frozen=True)
class Done:
    """A run of the program: its folder, what it printed, its exit code and its report."""

    folder: Path
    text: str
    code: int
    report: dict[str, Any]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = lay_out(tmp_path_factory.mktemp("effects"))
    text, code = cuts("run p.cuts --label paid --preview --config fast.toml -o a.csv --report r.json -q", folder)
    return Done(folder, text, code, json.loads((folder / "r.json").read_text()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return lay_out(tmp_path)


def below(text: str, head: str) -> list[str]:
    """The lines of a table, found by the start of its head."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(head))
    end = next((i for i in range(start, len(lines)) if not lines[i]), len(lines))
    return lines[start + 1 : end]


# --- run


def test_run_tells_what_classifiers_do_and_returns_whether_the_bounds_hold(done: Done) -> None:
    assert done.code == 0
    assert "2 hold, 0 fail, 1 without a verdict" in done.text
    assert re.search(r"^ +4  holds +0\.\d+ with xgboost +DEMOGRAPHIC_PARITY", done.text, re.MULTILINE)
    assert re.search(r"^ +5  - +0\.\d+ with xgboost; minimized: no target to meet", done.text, re.MULTILINE)
    assert "guaranteed" not in done.text
    with (done.folder / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 600
    assert all(float(row["score"]) > -1 for row in rows if row["job"] == "shop")


def test_a_preview_trains_one_learner_a_command(done: Done) -> None:
    rows = below(done.text, "line  learner trained on the table")
    assert [row.split()[:2] for row in rows] == [["4", "xgboost"], ["5", "xgboost"]]
    assert all(row.endswith("%  decides") for row in rows)


def test_run_tells_the_price_of_every_command(done: Done) -> None:
    for line in (4, 5):
        head = f"\nLine {line}: measure against accuracy of predicting `paid`\n"
        assert done.text.count(head) == 1
        at = done.text.index(head)
        cells = below(done.text[at:], "measure")
        assert cells[0].endswith("before")
        assert sum(cell.endswith("chosen") for cell in cells) == 1
        assert all(re.match(r" *[\d.]+ +\d+\.\d\d %", cell) for cell in cells)


def test_the_report_has_the_same_as_json(done: Done) -> None:
    report = done.report
    assert report["holds"] is True
    assert [command["outcome"] for command in report["commands"]] == ["holds", "holds", "measured"]
    assert [command["level"] for command in report["commands"]] == ["row", "model", "model"]
    for command in report["commands"][1:]:
        (number,) = command["numbers"]
        (decides,) = [
            line for line in report["classifiers"]["panel"] if line["line"] == command["line"] and line["decides"]
        ]
        assert number["after"] == decides["value"]
        assert command["price"] is not None
    assert report["commands"][1]["numbers"][0]["after"]["value"] <= 0.15
    assert report["classifiers"]["panel_rows"].startswith("600 real rows")
    curves = {curve["line"]: curve for curve in report["classifiers"]["trade_offs"]}
    assert set(curves) == {4, 5}
    assert all({"value", "utility"} == set(trial) for curve in curves.values() for trial in curve["trials"])


def test_a_bound_that_cannot_be_met_fails_the_run(folder: Path) -> None:
    (folder / "p.cuts").write_text('SYNTHESIZE: "people.csv"; ENFORCE: DOWNSTREAM_ACCURACY(target=sex) <= 0.2; END;\n')
    text, code = cuts("run p.cuts --label paid --preview --config fast.toml -o a.csv -q", folder)
    assert code == 1
    assert "0 hold, 1 fail" in text
    assert (folder / "a.csv").exists()


# --- verify


def test_verify_tries_all_learners_on_real_rows(done: Done) -> None:
    text, code = cuts("verify p.cuts a.csv --real real.csv", done.folder)
    rows = below(text, "line  learner trained on the table")
    told = [re.match(r" +(\d)  ([a-z ]+?)  ", row) for row in rows]
    assert [match.groups() for match in told if match] == [(line, each) for line in "45" for each in CLASSIFIERS]
    assert [row.endswith("decides") for row in rows[:3]] == [True, False, False]
    assert sum(row.endswith("decides") for row in rows) == 2
    assert code == ("FAILS" in text)


def test_verify_of_real_rows_fails_as_json(done: Done) -> None:
    out, code = cuts("verify p.cuts people.csv --real real.csv --format json", done.folder)
    data = json.loads(out)
    assert (code, data["holds"], data["rows"]) == (1, False, 600)
    parity = data["verdicts"][1]
    assert parity["holds"] is False
    assert parity["panel"]["deciding"]["learner"] == "xgboost"
    assert parity["panel"]["deciding"]["value"] > 0.15
    assert parity["panel"]["rows"] == 900
    assert [tried["learner"] for tried in parity["panel"]["learners"]] == list(CLASSIFIERS)


def test_verify_without_real_rows_does_not_decide(done: Done) -> None:
    text, code = cuts("verify p.cuts a.csv", done.folder)
    assert code == 0
    assert "needs classifiers trained on the table and evaluated on real rows" in text
    assert "1 hold, 0 fail, 2 without a verdict" in text


def test_verify_without_the_libraries_does_not_decide(done: Done, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "missing_libraries", lambda: [missing_extra(["xgboost"])])
    text, code = cuts("verify p.cuts a.csv --real real.csv", done.folder)
    assert code == 0
    assert "2 without a verdict" in text

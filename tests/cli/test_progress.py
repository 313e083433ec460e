"""Long work says how far it is and how long it will take; quiet work says now and then that it goes on."""

from __future__ import annotations

import io
import re
import sys
from collections import defaultdict
from time import sleep

import numpy as np
import pyarrow as pa
import pytest

from cuts.cli import progress
from cuts.flow.run import make_request, run
from cuts.progress import FitStep, Observer

PROGRAM = "SYNTHESIZE: t; ENFORCE: E[age] == 50; MINIMIZE: DEMOGRAPHIC_PARITY(protected=sex, target=paid); END;"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def people(rows: int = 300) -> pa.Table:
    rng = np.random.default_rng(0)
    age, sex = rng.integers(18, 90, rows), rng.choice(["f", "m"], rows)
    paid = np.where((age > 50) ^ (rng.random(rows) < 0.2), "yes", "no")
    return pa.table({"age": age, "sex": sex, "paid": paid})


def test_every_long_stage_of_a_run_says_how_much_of_it_is_done() -> None:
    stages: list[str] = []
    shares: dict[str, list[float]] = defaultdict(list)

    def heard(share: float) -> None:
        shares[stages[-1]].append(share)

    observer = Observer(
        stages.append,
        fitted=lambda step: heard(step.step / step.steps),
        advanced=heard,
        drawn=lambda rows, total: heard(rows / total),
    )
    config = {"steps": 30, "components": 10}
    run(make_request(PROGRAM, people(), label="paid", config=config), panel=("xgboost",), observer=observer)
    assert stages == [
        "reading a sample of the rows",
        "counting",
        "choosing the smoothing",
        "fitting",
        "adjusting the model to the statistics",
        "training classifiers on a sample",
        "adjusting group rates",
        "sampling rows",
        "verifying",
        "comparing with real rows",
    ]
    quick = {"reading a sample of the rows", "adjusting the model to the statistics"}
    assert {*stages} - quick <= {*shares}
    assert all(0 < share <= 1 for found in shares.values() for share in found)
    assert all(found == sorted(found) for found in shares.values())


def test_a_part_of_a_stage_is_heard_as_its_share() -> None:
    heard: list[float] = []
    second = Observer(advanced=heard.append).part(1, 4)
    second.advanced(0.5)
    second.fitted(FitStep(3, 4, 0.1))
    second.part(0, 2).advanced(1.0)
    assert heard == [0.375, 0.4375, 0.375]


def test_lines_give_the_time_left(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "LINE_INTERVAL", 0.0)
    with progress.show_progress(quiet=False) as observer:
        observer.stage("choosing the smoothing")
        for share in (0.25, 0.5):
            observer.advanced(share)
    assert re.fullmatch(r"choosing the smoothing\n  50 % done, \d+ s left\n", capsys.readouterr().err)


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_quiet_work_speaks_now_and_then_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO]
) -> None:
    said = stream()
    monkeypatch.setattr(sys, "stderr", said)
    monkeypatch.setattr(progress, "QUIET_INTERVAL", 0.02)
    with progress.show_progress(quiet=True) as observer:
        observer.stage("fitting")
        for _ in range(500):  # at most 5 s
            if "\n" in said.getvalue() or stream is io.StringIO:
                break
            sleep(0.01)
    lines = said.getvalue().splitlines()
    assert {*lines} == ({"still fitting (0 min in all)"} if stream is Terminal else set())


def test_lines_give_the_rows_per_second(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "LINE_INTERVAL", 0.0)
    now = 100.0
    monkeypatch.setattr(progress, "monotonic", lambda: now)
    with progress.show_progress(quiet=False) as observer:
        for rows in (1_000, 3_000, 5_000):
            observer.drawn(rows, 10_000)
            now += 2.0
    assert capsys.readouterr().err.splitlines() == [
        "  3,000 of 10,000 rows, 1,000 rows/s, 7 s left",
        "  5,000 of 10,000 rows, 1,000 rows/s, 5 s left",
    ]

"""The entry point of the benchmarks: what is measured once is kept, and the page is what the results say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import HERE, main
from benchmarks.page import DOCS, render
from benchmarks.records import Records
from benchmarks.registry import TABLES, select
from benchmarks.runner import merged, missing, run_tasks
from benchmarks.table import Task


def counted(keys: tuple[str, ...], start: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """A task that gives a number per key, and fails at the key `bad`."""
    for place, key in enumerate(keys):
        if key == "bad":
            raise ValueError("no result")
        yield key, {"value": start + place}


def task(*keys: str, title: str = "one", start: int = 0) -> Task:
    return Task(title, "numbers", keys, counted, (start,))


def test_results_are_kept_as_soon_as_they_are_there_and_not_measured_again(tmp_path: Path) -> None:
    records = Records(tmp_path)
    assert run_tasks([task("a", "bad", "b")], records, workers=1) == ["one"]
    assert {key: each["value"] for key, each in records.read("numbers").items()} == {"a": 0}
    assert run_tasks([task("a", "b", start=10)], records, workers=2) == []
    assert {key: each["value"] for key, each in records.read("numbers").items()} == {"a": 0, "b": 10}


def test_a_fresh_run_replaces_results(tmp_path: Path) -> None:
    records = Records(tmp_path)
    run_tasks([task("a")], records, workers=1)
    run_tasks([task("a", start=5)], records, workers=1, fresh=True)
    assert records.read("numbers")["a"]["value"] == 5


def test_an_incomplete_last_line_is_measured_again(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.append("numbers", "a", {"value": 1.23456789})
    with records.path("numbers").open("a") as file:
        file.write('{"key": "b", "val')
    assert records.read("numbers")["a"]["value"] == 1.23457
    assert [left.keys for left in missing([task("a", "b")], records)] == [("b",)]


def test_tasks_that_share_a_fit_are_one() -> None:
    assert [each.keys for each in merged([task("a"), task("b", "a"), task("c", title="two")])] == [("a", "b"), ("c",)]


def test_tables_are_chosen_by_name_or_beginning() -> None:
    assert [table.name for table in select(["compas-logical"])] == ["compas-logical"]
    assert {table.name for table in select(["all"])} == {table.name for table in TABLES if table.in_all}
    with pytest.raises(SystemExit, match="there is no table `adlut`"):
        select(["adlut"])
    assert len({table.name for table in TABLES}) == len(TABLES)


def test_a_trial_run_of_a_table_prints_it_and_writes_no_page(capsys: pytest.CaptureFixture[str]) -> None:
    before = (DOCS / "benchmarks.md").read_bytes()
    assert main(["german-unconstrained", "--quick", "--ways", "uniform", "--workers", "1"]) == 0
    printed = capsys.readouterr().out
    assert "| no command | 73.6 ± 1.6, TV 5.44e-4 |" in printed
    assert (DOCS / "benchmarks.md").read_bytes() == before


def test_a_table_whose_rows_are_not_there_is_left_out_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compas-logical", "--quick"]) == 0
    assert "left out: compas-logical: no folder compas in --data" in capsys.readouterr().err


def test_the_page_is_what_the_results_say() -> None:
    assert (DOCS / "benchmarks.md").read_text(encoding="utf-8") == render(Records(HERE / "results"))

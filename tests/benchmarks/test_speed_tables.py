"""Trial runs of the cheap tables of speed give a result for every key, and the pages show them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import pictures
from benchmarks.digits import digits
from benchmarks.records import Records
from benchmarks.registry import TABLES, select
from benchmarks.runner import run_tasks
from benchmarks.table import Options, Task

OURS = [table for table in TABLES if table.group in ("speed", "preset")]
STAGES = {"schema": 0.5, "counting": 1.5, "fitting": 40.0}


def measured(tasks: Iterable[Task], records: Records) -> dict[str, dict[str, Any]]:
    """The results of some tasks of one file, all of them there."""
    tasks = list(tasks)
    assert run_tasks(tasks, records, workers=1) == []
    found = records.read(tasks[0].file)
    assert set(found) == {key for task in tasks for key in task.keys}
    return found


def quick_tasks(name: str) -> list[Task]:
    (table,) = select([name])
    return table.tasks(Options(quick=True))


def page_of(name: str, records: Records) -> str:
    (table,) = select([name])
    return table.page(records)


@pytest.mark.parametrize("table", OURS, ids=lambda table: table.name)
def test_a_table_without_results_says_so(table: Any, tmp_path: Path) -> None:
    assert table.page(Records(tmp_path)).startswith("No results yet")


@pytest.mark.parametrize("table", OURS, ids=lambda table: table.name)
def test_no_key_is_measured_by_two_tasks(table: Any) -> None:
    for options in (Options(), Options(quick=True)):
        tasks = table.tasks(options)
        keys = [key for task in tasks for key in task.keys]
        assert len({task.title for task in tasks}) == len(tasks)
        assert keys
        assert len(keys) == len(set(keys))


def test_rules_are_compiled_and_commands_are_run(tmp_path: Path) -> None:
    records = Records(tmp_path)
    left_out = ("random-entangled/0", "command/check", "command/plan")  # a second or two each
    tasks = quick_tasks("language")
    shorter = [replace(task, keys=tuple(key for key in task.keys if key not in left_out)) for task in tasks]
    found = measured(shorter, records)
    page = page_of("language", records)
    assert all(result["cpu_seconds"] > 0 for result in found.values())
    assert all(digits(result["cpu_seconds"]) in page for result in found.values())
    assert "`cuts verify` of Adult" in page


def test_rows_are_encoded_decoded_and_loaded(tmp_path: Path) -> None:
    records = Records(tmp_path)
    first, *others = quick_tasks("encoding")
    keys = (*first.keys, *(key for task in others for key in task.keys))
    found = measured([replace(first, keys=keys)], records)  # one process is enough here
    assert {result["columns"] for result in found.values()} == {15}
    assert all(digits(result["cpu_seconds"]) in page_of("encoding", records) for result in found.values())


def test_engines_find_the_same_counts(tmp_path: Path) -> None:
    records = Records(tmp_path)
    (task,) = quick_tasks("counting")
    engines = tuple(key for key in task.keys if key.split("/")[1] in ("numpy", "duckdb", "polars"))
    found = measured([replace(task, keys=engines)], records)
    assert len({result["counts"] for result in found.values()}) == 1
    page = page_of("counting", records)
    assert all(digits(result["cpu_seconds"]) in page for result in found.values())
    assert "All engines found the same counts." in page


def test_different_counts_are_reported(tmp_path: Path) -> None:
    records = Records(tmp_path)
    for name, counts in (("numpy", "a"), ("polars", "b")):
        result = {"rows": 100, "cpu_seconds": 2.0, "line_peak_mb": 90.0, "triples": 78, "counts": counts}
        records.append("counting", f"100/{name}", result)
    assert "found different counts" in page_of("counting", records)


def test_stages_of_a_fit_are_measured(tmp_path: Path) -> None:
    records = Records(tmp_path)
    (cost,) = measured(quick_tasks("growth-components"), records).values()
    assert {"counting", "fitting", "sampling"} <= set(cost["stages"])
    assert cost["peak_mb"] > 0
    assert digits(cost["stages"]["fitting"]) in page_of("growth-components", records)


def test_growth_is_relative_to_the_smallest_size(tmp_path: Path) -> None:
    records = grown(Records(tmp_path), "rows", 1_000, 30_000)
    header, _, first, second = page_of("growth-rows", records).splitlines()[2:6]
    assert "counting s" in header
    assert first.startswith("| 1,000 | 0.500 | 1.50 | 40.0 | 42.0 | 1.00 |")
    assert second.startswith("| 30,000 |")


def test_pictures_are_the_same_for_the_same_results(tmp_path: Path) -> None:
    records = grown(Records(tmp_path), "rows", 1_000, 30_000)
    grown(records, "columns", 10)  # one size gives no line
    for name in ("one", "two"):
        pictures.draw_all(records, tmp_path / name)
    (first,), (second,) = ([*(tmp_path / name).iterdir()] for name in ("one", "two"))
    assert first.name == "growth-rows.svg"
    assert first.read_bytes() == second.read_bytes()


def grown(records: Records, what: str, *sizes: int) -> Records:
    """Costs of some sizes."""
    facts = {"steps": 1_200, "step_ms": 29.0, "components": 1_000, "smoothing": 0.0, "error": 0.01, "peak_mb": 700}
    for size in sizes:
        records.append(f"growth-{what}", str(size), {"size": size, "stages": STAGES, **facts})
    return records

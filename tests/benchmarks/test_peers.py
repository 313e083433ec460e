"""Other generators: the scripts that need nothing but the libraries of the tests run for real, within their cap."""

from __future__ import annotations

import csv
import json
import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.peers.environments import HERE, PEERS, Run, run_peer

ROWS = 300
COLOURS = ("red", "green", "blue")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows whose label favours one of two groups."""
    folder = tmp_path_factory.mktemp("rows")
    rng = random.Random(0)
    with (folder / "train.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "weight", "colour", "group", "label"])
        for _ in range(ROWS):
            group, age = rng.choice("ab"), rng.randint(18, 80)
            label = "yes" if rng.random() < (0.7 if group == "a" else 0.3) else "no"
            writer.writerow([age, f"{50 + age / 2 + rng.gauss(0, 5):.1f}", rng.choice(COLOURS), group, label])
    meta = {
        "label": "label",
        "task": "classification",
        "categories": ["colour", "group", "label"],
        "ranges": {"age": [18, 80], "weight": [40, 120]},
        "values": {"colour": COLOURS, "group": ["a", "b"], "label": ["no", "yes"]},
    }
    (folder / "meta.json").write_text(json.dumps(meta))
    return folder


def run(name: str, table: Path, out: Path, *more: str, cap: float = 60) -> Run:
    words = ["--train", table / "train.csv", "--meta", table / "meta.json", "--out", out, "--rows", ROWS, "--seed", 1]
    return run_peer(PEERS[name], Path(sys.executable), [*map(str, words), *more], cap)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_sequential_trees_give_rows_of_the_same_columns_and_values(table: Path, tmp_path: Path) -> None:
    ran = run("cart", table, tmp_path / "out.csv")
    assert ran.failed is None
    assert ran.cpu_seconds > 0
    assert ran.peak_mb > 50
    made, real = rows_of(tmp_path / "out.csv"), rows_of(table / "train.csv")
    assert len(made) == ROWS
    assert list(made[0]) == list(real[0])
    for name in ("age", "colour", "group", "label"):
        assert {row[name] for row in made} <= {row[name] for row in real}


def test_massaging_equalises_the_rates_of_the_groups_and_keeps_the_rate_of_all(table: Path, tmp_path: Path) -> None:
    ran = run("massaging", table, tmp_path / "out.csv", "--protected", "group", "--desired", "yes")
    assert ran.failed is None
    made = rows_of(tmp_path / "out.csv")

    def rate(rows: list[dict[str, str]]) -> float:
        return sum(row["label"] == "yes" for row in rows) / len(rows)

    groups = [rate([row for row in made if row["group"] == group]) for group in "ab"]
    assert abs(groups[0] - groups[1]) < 0.02
    assert abs(rate(made) - rate(rows_of(table / "train.csv"))) < 0.01


def test_a_generator_that_exceeds_its_cap_is_stopped_and_says_so(tmp_path: Path) -> None:
    script = tmp_path / "endless.py"
    script.write_text("while True:\n    pass\n")
    ran = run_peer(replace(PEERS["cart"], script=str(script)), Path(sys.executable), [], cap_seconds=1)
    assert ran.failed == "stopped after 1 CPU seconds"
    assert 0.9 < ran.cpu_seconds < 6  # the kernel counts in ticks


def test_a_failure_is_told_in_the_words_of_the_generator(table: Path, tmp_path: Path) -> None:
    ran = run("massaging", table, tmp_path / "out.csv", "--protected", "group", "--desired", "perhaps")
    assert ran.failed is not None
    assert "perhaps" in ran.failed
    assert "Traceback" not in ran.failed


def test_every_generator_has_its_script_and_pinned_packages() -> None:
    for peer in PEERS.values():
        assert (HERE / peer.script).is_file()
        assert all("==" in requirement for requirement in peer.requirements)

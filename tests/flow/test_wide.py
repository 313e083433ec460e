"""Wide tables: what is chosen of them, what it needs, and that what is left out stays independent."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cuts.config import Config
from cuts.count.footprint import Footprint, as_text, expect_footprint
from cuts.count.rows import rows_of
from cuts.count.survey import sample_limit, spread_sample, survey
from cuts.data.infer import infer_schema
from cuts.data.table import Table
from cuts.flow.run import fit, make_request
from cuts.model.mixture import marginal
from cuts.progress import Observer

PROGRAM = "SYNTHESIZE: wide; END;"


def wide(columns: int, rows: int, seed: int = 0) -> pa.Table:
    """Blocks of five columns that share a hidden number; the label follows the first two blocks."""
    rng = np.random.default_rng(seed)
    arrays: dict[str, pa.Array] = {}
    score = np.zeros(rows)
    for block in range(-(-(columns - 1) // 5)):
        hidden = rng.normal(size=rows)
        noisy = [hidden + 0.6 * rng.normal(size=rows) for _ in range(5)]
        arrays[f"b{block}real"] = pa.array(np.round(10 + 3 * noisy[0], 2), mask=rng.random(rows) < 0.05)
        arrays[f"b{block}whole"] = pa.array(np.round(50 + 9 * noisy[1]).astype(np.int64))
        arrays[f"b{block}kind"] = pa.array(np.array(list("abcde"))[np.digitize(noisy[2], [-1, -0.3, 0.3, 1])])
        arrays[f"b{block}flag"] = pa.array(noisy[3] > 0)
        arrays[f"b{block}size"] = pa.array(np.array(["s", "m", "l"])[np.digitize(noisy[4], [-0.5, 0.5])])
        score += hidden if block < 2 else 0.0
    label = np.where(score + rng.normal(size=rows) > 0, "yes", "no")
    return pa.table({**{name: arrays[name] for name in list(arrays)[: columns - 1]}, "label": pa.array(label)})


def test_a_hundred_columns_fit_in_seconds_and_every_long_stage_is_heard() -> None:
    stages: list[str] = []
    notes: list[str] = []
    shares: dict[str, list[float]] = {}
    observer = Observer(
        stage=stages.append,
        noted=notes.append,
        advanced=lambda share: shares.setdefault(stages[-1], []).append(share),
        fitted=lambda step: shares.setdefault(stages[-1], []).append(step.step / step.steps),
    )
    config = Config(steps=100, components=60, smoothing=0.0, threads=1)
    table = wide(101, 2_000)
    model = fit(make_request(PROGRAM, table, label="label", config=config), observer=observer).model
    long = ["choosing the tables to count", "counting", "fitting"]
    assert stages == ["reading a sample of the rows", *long]
    assert all(found == sorted(found) and found[-1] > 0.9 for found in (shares[stage] for stage in long))
    assert len(notes) == 1
    assert notes[0].startswith("counting ")
    assert "independent pairs" in notes[0]
    within, between = distances(model.mixture, model.codec.sizes)
    assert within > 3 * between  # dependent where the rows are, and hardly where they were not counted


def distances(mixture: object, sizes: Mapping[str, int]) -> tuple[float, float]:
    """The mean distance of pairs from independence, within blocks and between some of them."""
    found: dict[bool, list[float]] = {True: [], False: []}
    names = [name for name in sizes if name != "label"]
    for a, b in list(combinations(names, 2))[::7]:
        joint = marginal(mixture, (a, b)).numpy()  # type: ignore[arg-type]
        apart = 0.5 * np.abs(joint - joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)).sum()
        found[a[:3].rstrip("rwkfs") == b[:3].rstrip("rwkfs")].append(float(apart))
    return float(np.mean(found[True])), float(np.mean(found[False]))


def test_a_sample_of_a_wide_table_has_fewer_rows_and_is_evenly_spread() -> None:
    assert sample_limit(40) == 200_000
    assert sample_limit(200) == 80_000
    table = Table(pa.table({f"c{i}": np.arange(3_000) for i in range(12_000 // 10)}))
    sample = spread_sample(rows_of(table), max_rows=2_000)
    assert sample.rows == 1_500
    assert sample.column("c0").to_pylist() == list(range(0, 3_000, 2))
    assert survey(rows_of(table), "t", max_rows=2_000).sample.arrow.equals(sample.arrow)


# --- what it needs


def test_the_footprint_of_a_wide_table_is_bounded_by_the_budget() -> None:
    schema = infer_schema(Table(wide(201, 400)), "wide", "label")
    found = expect_footprint(schema, Config())
    assert not found.is_whole
    assert found.tables <= 201 + 20_000 + 10_000
    assert found.cells <= 20_000_000
    assert found.peak < 4e9
    assert expect_footprint(schema, Config(), rows=1_000).peak < found.peak


def test_a_footprint_is_two_lines() -> None:
    assert as_text(Footprint(364, 812_000, True, 7_400_000, 590_000_000, rows=30_000)) == (
        "counts: 364 tables, all triples of columns; about 812,000 cells, 7 MB\n"
        "memory: at most about 590 MB for a fit of 30,000 rows"
    )
    assert as_text(Footprint(30_200, 19_600_000, False, 235_000_000, 2_130_000_000)) == (
        "counts: at most 30,200 tables, chosen by dependence; about 19.6 million cells, 235 MB\n"
        "memory: at most about 2.1 GB for a fit of any number of rows"
    )


PEAK = """
import sys
from pathlib import Path
from cuts.config import Config
from cuts.flow.run import fit, make_request

config = Config(steps=30, smoothing=0.0, threads=1)
fit(make_request("SYNTHESIZE: wide; END;", Path(sys.argv[1]), label="label", config=config))
status = Path("/proc/self/status").read_text()
print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize(("columns", "rows"), [(12, 20_000), (90, 8_000)])
def test_the_stated_peak_is_above_that_of_a_fit_and_below_twice_of_it(tmp_path: Path, columns: int, rows: int) -> None:
    table = wide(columns, rows)
    pq.write_table(table, tmp_path / "wide.parquet")
    command = [sys.executable, "-c", PEAK, str(tmp_path / "wide.parquet")]
    measured = 1024 * int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    stated = expect_footprint(infer_schema(Table(table), "wide", "label"), Config(), rows=rows).peak
    assert measured < stated < 2.2 * measured

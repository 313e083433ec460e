"""Tuning: folds are what they say, every choice is tried on rows held out, and the best one is recommended."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import sleep
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console import run
from cuts.assess.tuned import FoldUtility, Outcome, Point, Tuning
from cuts.cli.tune import as_data, as_text
from cuts.config import Config
from cuts.count.folds import count_folds
from cuts.count.kernel import count
from cuts.count.marginals import Marginals
from cuts.count.rows import rows_of
from cuts.data.binning import fit_codec
from cuts.data.codec import build_codec, encode
from cuts.data.infer import infer_schema
from cuts.data.schema import Integer, Schema
from cuts.data.table import Table
from cuts.flow import folds
from cuts.flow.learn import OpenedRows
from cuts.flow.search import expand_grid, tune
from cuts.lang.parser import parse
from cuts.progress import Observer
from cuts.text.diagnostic import CutsError
from strategies import schemas, tables

WEIGHED = """SYNTHESIZE: "people.csv";

    ENFORCE: ward == surgery IMPLIES age >= 40;
    ENFORCE: STATISTICAL: PARAM <w>: E[age] == 66 WITHIN 2;

END;
"""
FAST = Config(steps=60, components=20, smoothing=0.05)
FAST_FILE = "steps = 60\ncomponents = 20\nsmoothing = 0.05\n"
TOO_SMALL, ENOUGH = "0.0000000001", "0.01"
FOLDS = 2


def people(rows: int = 300) -> Table:
    rng = np.random.default_rng(0)
    ages = rng.integers(18, 90, rows)
    smokes = np.where(rng.random(rows) < (ages - 10) / 90, "yes", "no")
    return Table(pa.table({"age": ages, "ward": rng.choice(["surgery", "cardiology", "eye"], rows), "smokes": smokes}))


def schema() -> Schema:
    return infer_schema(people(), "people", "smokes")


def tuned(
    grid: dict[str, list[str]], program: str = WEIGHED, *, workers: int = 1, observer: Observer | None = None
) -> Tuning:
    rows = rows_of(people())
    return tune(
        parse(program), OpenedRows(rows, schema()), grid, folds=FOLDS, config=FAST, workers=workers, observer=observer
    )


@pytest.fixture(scope="module")
def found() -> Tuning:
    return tuned({"w": [TOO_SMALL, ENOUGH]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = people()
    lines = zip(*(table.column(name).to_pylist() for name in table.names), strict=True)
    text = "\n".join(",".join(map(str, line)) for line in [table.names, *lines])
    (tmp_path / "people.csv").write_text(text + "\n")
    (tmp_path / "p.cuts").write_text(WEIGHED)
    (tmp_path / "fast.toml").write_text(FAST_FILE)
    return tmp_path


# --- folds


def same(one: Marginals, other: Marginals) -> bool:
    return one.rows == other.rows and all((c == other.tables[clique]).all() for clique, c in one.tables.items())


@settings(max_examples=30, deadline=None)
@given(st.data(), st.integers(2, 7), st.integers(1, 30))
def test_a_fold_is_counted_as_its_rows_are_and_so_is_the_rest(data: st.DataObject, folds: int, size: int) -> None:
    kind = data.draw(schemas(texts=True))
    table = data.draw(tables(kind, most=40))
    codec = fit_codec(table, kind)
    cliques = [(bins.column.name,) for bins in codec.columns]
    blocks = [Table(table.arrow.slice(start, size)) for start in range(0, table.rows, size)]
    heard: list[int] = []
    parts = count_folds(blocks, codec, cliques, folds, keep=100, seen=heard.append)
    assert heard[-1:] == [table.rows][: len(blocks)]
    whole = count([table], codec, cliques)
    numbers = np.arange(table.rows)
    for fold, part in enumerate(parts):
        own = Table(table.arrow.take(numbers[numbers % folds == fold]))
        kept = Table(table.arrow.take(numbers[numbers % folds != fold]))
        assert same(part.counts, count([own], codec, cliques))
        assert same(whole - part.counts, count([kept], codec, cliques))
        for name, codes in encode(own, codec).items():
            assert part.codes.get(name, codes[:0]).tolist() == codes.tolist()


@given(st.integers(1, 200), st.integers(1, 60), st.integers(2, 6), st.integers(1, 20))
def test_rows_kept_are_spread_over_the_fold_however_the_blocks_are(rows: int, size: int, folds: int, keep: int) -> None:
    table = Table(pa.table({"x": pa.array(range(rows), pa.int64())}))
    codec = build_codec(Schema("t", (Integer("x", 0, 199, bins=200),)), {})  # codes are row numbers
    small = [Table(table.arrow.slice(start, size)) for start in range(0, rows, size)]
    for one, other in zip(*(count_folds(b, codec, [("x",)], folds, keep=keep) for b in (small, [table])), strict=True):
        kept = one.codes["x"].tolist()
        assert kept == other.codes["x"].tolist()
        assert min(one.counts.rows, keep) / 2 <= len(kept) <= keep
        assert len(set(np.diff(kept).tolist())) <= 1
        assert same(one.counts, other.counts)


# --- the search


def test_a_tiny_weight_fails_and_a_large_one_holds(found: Tuning) -> None:
    small, large = found.points
    assert (found.rows, found.folds, found.label) == (300, FOLDS, "smokes")
    assert [outcome.line for outcome in small.outcomes] == [3, 4]
    assert (small.outcomes[0].holds, small.outcomes[0].values) == (FOLDS, (1.0,))
    assert (small.outcomes[1].holds, small.holds) == (0, 0)
    assert (large.outcomes[1].holds, large.holds) == (FOLDS, FOLDS)
    assert large.outcomes[1].values == pytest.approx((66.0,), abs=2.0)
    assert small.outcomes[1].values[0] < 64
    assert found.best == large
    assert 0.5 < large.utility.mean <= 1
    assert 0.5 < found.free.mean <= 1


def test_any_number_of_workers_gives_the_same(found: Tuning) -> None:
    said: list[str] = []
    assert tuned({"w": [TOO_SMALL, ENOUGH]}, workers=2, observer=Observer(stage=said.append)) == found
    assert {"fold 1 of 2: fitting", f"fold 2 of 2: w={ENOUGH}"} <= set(said)
    assert len(said) == 2 + FOLDS * 3


def test_several_names_make_all_choices_and_other_placeholders_than_weights_can_be_tuned() -> None:
    program = 'SYNTHESIZE: "people.csv"; ENFORCE: age >= <least>; ENFORCE: E[age] == <mean>; END;'
    tuning = tuned({"least": ["20", "41"], "mean": ["50", "52.5"]}, program)
    assert [tuple(point.values.values()) for point in tuning.points] == [
        ("20", "50"), ("20", "52.5"), ("41", "50"), ("41", "52.5")
    ]  # fmt: skip
    for point in tuning.points:
        assert point.holds == FOLDS
        assert point.outcomes[0].command == f"age >= {point.values['least']}"
        assert point.outcomes[1].values == pytest.approx((float(point.values["mean"]),), abs=0.5)


def test_without_a_label_the_utility_is_how_near_the_pairs_are() -> None:
    unlabelled = infer_schema(people(), "people")
    grid = {"w": [ENOUGH]}
    tuning = tune(parse(WEIGHED), OpenedRows(rows_of(people()), unlabelled), grid, folds=2, config=FAST)
    assert tuning.label is None
    assert 0.3 < tuning.points[0].utility.mean < tuning.free.mean < 1


def test_more_folds_than_rows_are_refused() -> None:
    with pytest.raises(CutsError, match="bad-count: 3 rows cannot be split into 5 folds"):
        tune(parse(WEIGHED), OpenedRows(rows_of(people(3)), schema()), {"w": ["1"]}, folds=5, config=FAST)
    with pytest.raises(CutsError, match="bad-count"):
        tune(parse(WEIGHED), OpenedRows(rows_of(people()), schema()), {"w": ["1"]}, folds=1, config=FAST)


def test_a_placeholder_left_open_and_a_name_that_fits_none_are_told_together() -> None:
    with pytest.raises(CutsError) as error:
        expand_grid(parse(WEIGHED), {"v": ["1"]}, {})
    assert [problem.code for problem in error.value.diagnostics] == ["open-placeholder", "unknown-placeholder"]


# --- the recommendation


def made(*points: tuple[int, float]) -> Tuning:
    each = [Point({"w": str(i)}, FoldUtility(mean, 0.0), holds, ()) for i, (holds, mean) in enumerate(points)]
    return Tuning(100, 5, None, FoldUtility(0.9, 0.0), tuple(each))


@pytest.mark.parametrize(
    ("points", "best"),
    [
        ([(5, 0.7), (5, 0.8), (4, 0.9)], "1"),
        ([(2, 0.7), (4, 0.6), (3, 0.9)], "1"),
        ([(4, 0.6), (4, 0.7)], "1"),
        ([(0, 0.9), (0, 0.8)], None),
    ],
)
def test_what_holds_in_most_folds_comes_first_then_what_is_most_useful(
    points: list[tuple[int, float]], best: str | None
) -> None:
    chosen = made(*points).best
    assert (None if chosen is None else chosen.values["w"]) == best


# --- the command


def test_the_text_is_a_table_and_a_command_to_run(found: Tuning) -> None:
    lines = as_text(found, "cuts run p.cuts").splitlines()
    utility = "accuracy of the model's predictions of `smokes` on held-out rows (1 is best)"
    assert lines[0] == f"300 rows in 2 folds; utility: {utility}"
    assert lines[2].split() == ["w", "utility", "±", "std", "line", "3", "line", "4", "folds", "that", "hold"]
    assert [line.split()[0] for line in lines[3:6]] == ["none", TOO_SMALL, ENOUGH]
    assert lines[4].endswith("0 of 2")
    assert lines[5].endswith("2 of 2")
    assert "100.00 %" in lines[5]
    assert lines[-2] == "highest utility among the combinations that satisfied every command in every fold:"
    assert lines[-1] == "cuts run p.cuts"


def test_json_has_the_same_facts(folder: Path, found: Tuning) -> None:
    words = f"cuts tune p.cuts --grid w={TOO_SMALL},{ENOUGH} --folds 2 --config fast.toml --format json -q"
    output, code = run([*words.split(), "--label", "smokes", "--workers", "2"], folder)
    data = json.loads(output)
    assert code == 0
    assert list(data) == ["rows", "folds", "label", "none", "points", "recommended"]
    assert data["recommended"]["values"] == {"w": ENOUGH}
    assert data["recommended"]["command"] == f"cuts run p.cuts --set w={ENOUGH} --label smokes --config fast.toml"
    assert data["recommended"]["holds_everywhere"] is True
    for point, known in zip(data["points"], found.points, strict=True):
        assert point["holds"] == known.holds
        assert point["utility"] == {"mean": known.utility.mean, "std": known.utility.std}
        for told, outcome in zip(point["commands"], known.outcomes, strict=True):
            assert told["unit"] is None
            known_fields = {"level": outcome.level, "values": tuple(told["values"]), "unit": outcome.unit}
            assert Outcome(**{**told, **known_fields}) == outcome
    assert [each["level"] for each in data["points"][0]["commands"]] == ["ROW", "TABLE"]


def test_where_nothing_holds_nothing_is_recommended(folder: Path, found: Tuning) -> None:
    words = f"cuts tune p.cuts --grid w={TOO_SMALL} --folds 2 --config fast.toml".split()
    output, code = run(words, folder)
    assert code == 0
    assert "fold 2 of 2: fitting\n" in output
    assert output.endswith("\nno combination satisfied every command in any fold; try other values\n")
    assert as_data(replace(found, points=found.points[:1]), None)["recommended"] is None


@pytest.mark.parametrize(
    ("options", "said", "code"),
    [
        ("--grid v=1,2", "error[unknown-placeholder]: there is no placeholder `<v>`", 1),
        ("--grid w=1 --grid v=1", "error[unknown-placeholder]: there is no placeholder `<v>`", 1),
        ("--grid v=1", "error[open-placeholder]: the placeholder `<w>` has no value", 1),
        ("--grid w=1 --set v=1", "error[unknown-placeholder]: there is no placeholder `<v>`", 1),
        ("--grid w=1 --set w=1", "error[bad-setting]: `w` is both in `--grid` and in `--set`", 2),
        ("--grid w=1 --grid w=2", "error[bad-setting]: `--grid` lists `w` twice", 2),
        ("--grid w", "error[bad-setting]: `w` is not NAME=V1,V2,...", 2),
        ("--grid w=1,,2", "error[bad-setting]: `w=1,,2` is not NAME=V1,V2,...", 2),
        ("--grid w=1,heavy", "error[bad-weight]: with w=heavy: ", 1),
        ("--grid w=1 --data none.csv", "error[unreadable-", 2),
        ("", "error[bad-setting]: `--grid` or `--frontier` is missing", 2),
    ],
)
def test_a_wrong_call_is_told_before_any_work(folder: Path, options: str, said: str, code: int) -> None:
    output, found = run(["cuts", "tune", "p.cuts", *options.split()], folder)
    assert said in output
    assert found == code
    assert "counting" not in output


def test_a_private_program_is_refused_before_its_rows_are_read(folder: Path) -> None:
    private = "    ENSURE: DIFFERENTIAL PRIVACY: EPSILON=1.0, DELTA=1e-9;\n\nEND;"
    (folder / "p.cuts").write_text(WEIGHED.replace("END;", private))
    (folder / "people.csv").unlink()
    output, code = run(["cuts", "tune", "p.cuts", "--grid", "w=1,2"], folder)
    assert (code, output.startswith("error[reads-private-data]")) == (5, True)


def test_ctrl_c_stops_all_folds_with_a_message(folder: Path) -> None:
    (folder / "long.toml").write_text("steps = 1000000\ncomponents = 20\nsmoothing = 0.0\n")
    words = ["tune", "p.cuts", "--grid", "w=1", "--folds", "4", "--workers", "2", "--config", "long.toml"]
    started = subprocess.Popen(
        [sys.executable, "-m", "cuts", *words],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert started.stderr is not None
    said = []
    for line in started.stderr:
        said.append(line)
        if line == "fold 1 of 4: fitting\n":
            break
    started.send_signal(signal.SIGINT)
    try:
        out, err = started.communicate(timeout=60)
    finally:
        started.kill()  # if it did not stop by itself
    assert started.returncode == 130
    assert "error[interrupted]: stopped before all values were tried" in err
    assert "Traceback" not in "".join(said) + err
    assert out == ""


def test_ctrl_c_before_all_folds_are_submitted_stops_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    submitted: list[object] = []
    finished: list[int] = []

    class Pool(ThreadPoolExecutor):
        def submit(self, *given: Any) -> Any:
            if submitted:
                raise KeyboardInterrupt
            submitted.append(given)
            return super().submit(*given)

    def work(index: int, say: Callable[[str], None], _: object) -> None:
        for _ in range(5_000):
            say("working")
            sleep(0.001)
        finished.append(index)

    monkeypatch.setattr(folds, "ThreadPoolExecutor", Pool)
    rows: Any = SimpleNamespace(folds=(1, 2, 3), learned=SimpleNamespace(config=Config()))
    with pytest.raises(KeyboardInterrupt):
        folds.on_every_fold(work, rows, workers=2, observer=Observer())
    assert submitted
    assert not finished

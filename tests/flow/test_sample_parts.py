"""Rows by several processes and in folders of parts: always the same, counted exactly, and continued after any end."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from filelock import FileLock

from cuts.assess.verify import verify
from cuts.config import Config
from cuts.data.codec import build_codec
from cuts.data.exchange.files import FileForm
from cuts.data.exchange.parts import MANIFEST, PartsFolder, output_at
from cuts.data.schema import Category, Identifier, Integer, Schema
from cuts.data.table import Table
from cuts.flow import sample as sampling
from cuts.flow.sample import sample, verify_sample
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.model import drawing as drawing_module
from cuts.model.drawing import Drawing, plan_parts
from cuts.model.facts import Facts
from cuts.model.mixture import Mixture
from cuts.model.sampling import plan_chunks
from cuts.model.store import Model, save
from cuts.model.workers import in_order, start_workers
from cuts.text.diagnostic import CutsError

SCHEMA = Schema(
    "t",
    (
        Identifier("id", None, 7),
        Category("a", ("x", "y", "z")),
        Category("b", ("v", "w"), missing=True),
        Integer("age", 0, 99, 4),
    ),
)
RULE = "ENFORCE: a == x IMPLIES b == v;"
MEAN = "ENFORCE: STATISTICAL: E[age] == 50;"
ROWS = 460_000  # in parts of one chunk each: eight
PARTS = 8


@pytest.fixture(autouse=True, scope="module")
def _small_parts() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing_module, "CHUNKS_PER_PART", 1)
        yield


def a_model(*commands: str, seed: int = 1) -> Model:
    codec = build_codec(SCHEMA, {})
    program = f"SYNTHESIZE: t; {' '.join(commands)} END;"
    rng = np.random.default_rng(seed)
    w, *P = (torch.as_tensor(rng.dirichlet(np.ones(size), rows)) for rows, size in ((1, 5), (5, 3), (5, 3), (5, 4)))
    mixture = Mixture(("a", "b", "age"), w[0], tuple(P))
    spec = bind(parse(program), codec.schema)
    return Model(mixture, codec, program, spec, Config(), Facts(100, 0.1, 5, 0.0, 0, "1"))


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in sorted(folder.iterdir())}


def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that one process wrote."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    drawn = sample(a_model(RULE), ROWS, seed=3, output=PartsFolder(folder))
    assert (drawn.rows, drawn.parts, drawn.kept) == (ROWS, PARTS, 0)
    return folder


# --- the same rows


@pytest.mark.parametrize(("commands", "where"), [([RULE], None), ([RULE], "age > 80"), ([RULE, MEAN], None)])
def test_rows_and_files_do_not_depend_on_the_number_of_workers(
    tmp_path: Path, commands: list[str], where: str | None
) -> None:
    model, rows = a_model(*commands), 140_000
    for workers in (1, 2):
        sample(model, rows, where=where, seed=5, workers=workers, output=tmp_path / f"{workers}.parquet")
    assert (tmp_path / "1.parquet").read_bytes() == (tmp_path / "2.parquet").read_bytes()
    found = pq.read_table(tmp_path / "1.parquet")
    assert found.num_rows == rows == len(found["id"].unique())
    assert found.equals(sample(model, rows, where=where, seed=5).table.arrow)


def test_rows_in_memory_and_in_a_text_file_do_not_depend_on_the_workers_either(tmp_path: Path) -> None:
    model = a_model(RULE)
    one, two = (sample(model, 140_000, workers=workers).table.arrow for workers in (1, 2))
    assert one.equals(two)
    for workers in (1, 2):
        sample(model, 140_000, workers=workers, output=tmp_path / f"{workers}.csv")
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()


def test_a_folder_has_the_same_bytes_for_any_number_of_workers(tmp_path: Path, whole: Path) -> None:
    drawn = sample(a_model(RULE), ROWS, seed=3, workers=2, output=PartsFolder(tmp_path / "out"))
    assert (drawn.rows, drawn.parts) == (ROWS, PARTS)
    assert bytes_in(tmp_path / "out") == bytes_in(whole)


def test_a_folder_has_the_rows_in_order_for_every_reader(whole: Path) -> None:
    names = [f"part-0000{number}.parquet" for number in range(PARTS)]
    assert [path.name for path in sorted(whole.iterdir())] == [MANIFEST, *names]
    assert manifest(whole)["complete"] is True
    found = pq.read_table(whole)
    assert found.num_rows == ROWS
    chunks = plan_chunks(a_model(RULE), ROWS, seed=3)
    for number in (0, 3, chunks.count - 1):
        start, end = chunks.bounds(number)
        assert found.slice(start, end - start).equals(chunks.make(number).table.arrow)
    counted = duckdb.sql(f"SELECT count(*), count(DISTINCT id) FROM read_parquet('{whole}/*.parquet')").fetchall()
    assert counted == [(ROWS, ROWS)]


def test_parts_have_the_types_of_the_file_that_was_fitted(tmp_path: Path) -> None:
    kinds = pa.dictionary(pa.int8(), pa.string())
    schema = pa.schema([("age", pa.int16()), ("a", kinds), ("b", pa.string())], metadata={"made": "by hand"})
    form = FileForm("parquet", None, schema, {"a": pa.array(["z", "y", "x"])})
    for workers in (1, 2):
        folder = PartsFolder(tmp_path / str(workers))
        sample(a_model(RULE), 140_000, workers=workers, output=folder, form=form)
    assert bytes_in(tmp_path / "1") == bytes_in(tmp_path / "2")
    found = pq.read_schema(tmp_path / "2" / "part-00001.parquet")
    assert found.names == ["age", "a", "b", "id"]
    assert found.types[:3] == schema.types
    with pytest.raises(CutsError, match="column types"):
        sample(a_model(RULE), 140_000, output=PartsFolder(tmp_path / "2"))


# --- continued


def test_a_finished_part_is_not_written_again_but_counted(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "MAX_KEPT", 100_000)
    folder = copy(whole, tmp_path / "out")
    (folder / "part-00001.parquet").unlink()
    (folder / "part-00007.parquet").write_bytes(b"PAR1 and then the power failed")
    before = (folder / "part-00000.parquet").stat().st_mtime_ns
    drawn = sample(a_model(RULE), ROWS, seed=3, output=PartsFolder(folder))
    assert (drawn.rows, drawn.parts, drawn.kept) == (ROWS, PARTS, PARTS - 2)
    assert drawn.totals is not None
    assert drawn.totals.rows == ROWS > drawn.table.rows
    assert drawn.totals.rules[0].satisfied == ROWS
    assert (folder / "part-00000.parquet").stat().st_mtime_ns == before
    assert bytes_in(folder) == bytes_in(whole)
    assert sample(a_model(RULE), ROWS, seed=3, output=PartsFolder(folder)).kept == PARTS


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"seed": 4}, "seed: 3 there, 4 now"),
        ({"rows": 450_000}, "rows: 460,000 there, 450,000 now"),
        ({"where": "age > 10"}, "where: none there, age > 10 now"),
        ({"model": a_model(RULE, seed=2)}, "(another model)"),
    ],
)
def test_a_folder_of_another_draw_is_refused(
    tmp_path: Path, whole: Path, change: dict[str, Any], difference: str
) -> None:
    folder = copy(whole, tmp_path / "out")
    asked: dict[str, Any] = {"model": a_model(RULE), "rows": ROWS, "seed": 3, **change}
    with pytest.raises(CutsError) as caught:
        sample(output=PartsFolder(folder), **asked)
    (found,) = caught.value.diagnostics
    assert (found.code, found.exit_code) == ("other-draw", 2)
    assert difference in found.title
    assert bytes_in(folder) == bytes_in(whole)


@pytest.mark.parametrize("name", ["notes.txt", "part-00008.parquet", "part-0.parquet"])
@pytest.mark.parametrize("is_begun", [True, False])
def test_a_folder_with_other_files_is_refused(tmp_path: Path, whole: Path, name: str, is_begun: bool) -> None:
    folder = copy(whole, tmp_path / "out") if is_begun else tmp_path / "out"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("mine")
    with pytest.raises(CutsError, match="other-draw: .* not parts of this table: `" + name):
        sample(a_model(RULE), ROWS, seed=3, output=PartsFolder(folder))
    assert (folder / name).read_text() == "mine"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "cuts-parts", "version": 2}', "[" * 100_000])
def test_a_manifest_of_others_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(CutsError, match="is not a manifest"):
        sample(a_model(RULE), 10, output=PartsFolder(tmp_path))


def test_two_commands_do_not_write_to_one_folder(tmp_path: Path) -> None:
    with FileLock(tmp_path / ".lock"), pytest.raises(CutsError, match="another command is writing"):
        sample(a_model(RULE), 10, output=PartsFolder(tmp_path))


def test_a_name_with_a_slash_or_of_a_folder_is_a_folder(tmp_path: Path) -> None:
    assert output_at(f"{tmp_path}/new/") == PartsFolder(tmp_path / "new")
    assert output_at(tmp_path) == PartsFolder(tmp_path)
    assert output_at(f"{tmp_path}/new") == tmp_path / "new"


# --- verdicts on all rows


@pytest.mark.parametrize("max_cells", [200_000, 10])
def test_verdicts_on_more_rows_than_are_kept_are_about_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, max_cells: int
) -> None:
    monkeypatch.setattr(sampling, "MAX_KEPT", 100_000)
    monkeypatch.setattr("cuts.read.totals.MAX_CELLS", max_cells)
    commands = [
        RULE,
        "ENFORCE: STATISTICAL: E[age] == 50;",
        "ENFORCE: STATISTICAL: STD[age | a == y] <= 40;",
        "ENFORCE: STATISTICAL: COUNT[age > 50] >= 10;",
        "ENFORCE: STATISTICAL: MEDIAN[age] <= 60;",
    ]
    model = a_model(*commands)
    rows = 300_000
    drawn = sample(model, rows, output=tmp_path / "t.parquet")
    assert drawn.table.rows < rows == drawn.rows
    found = verify_sample(model, drawn)
    wanted = verify(model.spec, Table(pq.read_table(tmp_path / "t.parquet")), model=model.facts.numbers)
    assert found[0].rows == wanted[0].rows
    for one, two in zip(found[1:], wanted[1:], strict=True):
        in_part = max_cells == 10 and "MEDIAN" in one.command
        assert ("measured on the first 120,000 of 300,000 rows" in one.note) == in_part
        if not in_part:
            assert one.facts[0].value == pytest.approx(two.facts[0].value, rel=1e-12)
            assert one.facts[0].interval == pytest.approx(two.facts[0].interval, rel=0.05)
        assert one.holds == two.holds


# --- workers that are lost


def test_the_work_of_a_killed_worker_is_done_by_another(tmp_path: Path, whole: Path) -> None:
    model = a_model(RULE)
    parts = plan_parts(plan_chunks(model, ROWS, seed=3))
    jobs = [(part, tmp_path / f"part-{number:05}.parquet") for number, part in enumerate(parts)]
    drawn: list[int] = []
    with start_workers(model, Drawing(ROWS, None, 3), 2) as pool:

        def heard(rows: int) -> None:
            drawn.append(rows)
            if len(drawn) == 3:
                os.kill(pool.processes[0], signal.SIGKILL)

        made = list(in_order(lambda job: pool.part(*job, heard), jobs, 2))
        started = pool.processes
        assert len(started) == 2
    assert sum(each.rows for each in made) == ROWS == sum(drawn)
    for _, path in jobs:
        assert path.read_bytes() == (whole / path.name).read_bytes()
    assert all(not Path(f"/proc/{process}").exists() for process in started)


def test_a_worker_that_is_lost_twice_is_an_error(tmp_path: Path) -> None:
    model = a_model(RULE)
    part = plan_parts(plan_chunks(model, ROWS, seed=3))[0]
    with start_workers(model, Drawing(ROWS, None, 3), 1) as pool:

        def heard(rows: int) -> None:
            if rows > 0:
                os.kill(pool.processes[0], signal.SIGKILL)

        with pytest.raises(CutsError, match=r"worker-lost: .* \(SIGKILL\)"):
            pool.part(part, tmp_path / "part.parquet", heard)
    assert not (tmp_path / "part.parquet").exists()


def test_an_error_of_a_worker_is_the_error_of_the_call(tmp_path: Path) -> None:
    model = a_model(RULE)
    with (
        start_workers(model, Drawing(100, None, 0), 1) as pool,
        pytest.raises(CutsError, match=r"unwritable-file: .*No such file or directory"),
    ):
        pool.part(plan_parts(plan_chunks(model, 100))[0], tmp_path / "nowhere" / "part.parquet")


# --- the command line, ended in every way

SMALL_PARTS = """
from cuts.model import drawing
from cuts.cli import main
drawing.CHUNKS_PER_PART = 1
main()
"""


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    save(a_model(RULE), tmp_path / "m.synth")
    words = ["sample", "m.synth", "-n", f"{ROWS:_}", "--seed", "3", "-o", "out/", "--workers", "2"]
    return [sys.executable, "-c", SMALL_PARTS, *words]


@pytest.fixture
def begun(tmp_path: Path, command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """The command, with its first chunks drawn."""
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for(condition: Callable[[], object], process: subprocess.Popen[str]) -> None:
    ends = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < ends
        time.sleep(0.01)


def children(process: subprocess.Popen[str]) -> list[int]:
    return [int(word) for word in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def unfinished(folder: Path) -> list[Path]:
    return list(folder.glob(".part-*.part"))


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_a_killed_worker_of_the_command_is_replaced(tmp_path: Path, begun: subprocess.Popen[str], whole: Path) -> None:
    folder = tmp_path / "out"
    wait_for(lambda: unfinished(folder), begun)
    os.kill(children(begun)[0], signal.SIGKILL)
    output, errors = begun.communicate(timeout=120)
    assert begun.returncode == 0, errors
    assert f"{ROWS:,} rows written to out/ ({PARTS} parts)" in output
    assert bytes_in(folder) == bytes_in(whole)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_a_stopped_command_leaves_finished_parts_and_continues(
    tmp_path: Path, begun: subprocess.Popen[str], command: list[str], whole: Path
) -> None:
    folder = tmp_path / "out"
    wait_for(lambda: any(folder.glob("part-*.parquet")) and len(unfinished(folder)) > 0, begun)
    workers = children(begun)
    begun.send_signal(signal.SIGINT)
    _, errors = begun.communicate(timeout=120)
    assert begun.returncode == 130
    assert "error[interrupted]" in errors
    finished = sorted(path.name for path in folder.glob("part-*.parquet"))
    assert f"{len(finished)} of {PARTS} parts in out/ are finished; the same command continues" in errors
    assert sorted(path.name for path in folder.iterdir()) == [MANIFEST, *finished]
    assert 1 <= len(finished) < PARTS
    assert manifest(folder)["complete"] is False
    assert all((folder / name).read_bytes() == (whole / name).read_bytes() for name in finished)
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert f"({PARTS} parts, {len(finished)} of them already there)" in again.stdout
    assert bytes_in(folder) == bytes_in(whole)


def test_a_full_disk_is_one_error_and_no_part(tmp_path: Path, command: list[str], whole: Path) -> None:
    def limit() -> None:  # no file may become as large as a part
        size = (whole / "part-00000.parquet").stat().st_size // 2
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    full = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, preexec_fn=limit)
    assert full.returncode == 2
    assert "error[unwritable-file]: out/part-0000" in full.stderr
    assert f"0 of {PARTS} parts in out/ are finished; the same command continues" in full.stderr
    assert "Traceback" not in full.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == [MANIFEST]
    assert manifest(tmp_path / "out")["complete"] is False
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert again.returncode == 0
    assert bytes_in(tmp_path / "out") == bytes_in(whole)


def copy(folder: Path, to: Path) -> Path:
    to.mkdir()
    for name, content in bytes_in(folder).items():
        (to / name).write_bytes(content)
    return to


def test_seed_rows_are_not_written_to_a_folder(tmp_path: Path) -> None:
    given = pa.table({"age": [3]})
    with pytest.raises(CutsError, match="not-supported"):
        sample(a_model(RULE), seed_rows=given, output=PartsFolder(tmp_path / "out"))
    assert not (tmp_path / "out").exists()

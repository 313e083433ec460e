"""Every command that takes a table takes a pattern, a folder and a database, and so does a program."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from console import run

PROGRAM = 'SYNTHESIZE: "{}";\n\n    ENFORCE: nights <= 9;\n\nEND;\n'
PRIVATE = "SYNTHESIZE: stays; ENSURE: DIFFERENTIAL PRIVACY: EPSILON=2, DELTA=1e-6; END;"
SCHEMA = """
name = "stays"
provenance = "declared"

[columns.ward]
kind = "category"
categories = ["eye", "icu", "surgery"]

[columns.nights]
kind = "integer"
range = [0, 12]
"""
LOCATIONS = {
    "one": "one.parquet",
    "pattern": "parts/*.parquet",
    "folder": "parts",
    "table": "duckdb:clinic.db?table=stays",
    "query": "duckdb:clinic.db?query=SELECT * FROM stays",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic")
    rng = np.random.default_rng(0)
    table = pa.table({"ward": rng.choice(["eye", "icu", "surgery"], 400), "nights": rng.integers(0, 13, 400)})
    (folder / "parts").mkdir()
    for part in range(4):
        pq.write_table(table.slice(100 * part, 100), folder / "parts" / f"part-{part}.parquet")
    pq.write_table(table, folder / "one.parquet")
    with duckdb.connect(str(folder / "clinic.db")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE stays AS FROM given")
    for name, location in LOCATIONS.items():
        (folder / f"{name}.cuts").write_text(PROGRAM.format(location))
    (folder / "private.cuts").write_text(PRIVATE)
    (folder / "stays.toml").write_text(SCHEMA)
    (folder / "fast.toml").write_text("steps = 150\ncomponents = 30\nsmoothing = 0.01\n")
    return folder


def printed(command: str, folder: Path, code: int = 0) -> str:
    text, actual = run(["cuts", *shlex.split(command)], folder)
    assert actual == code, text
    return text


@pytest.mark.parametrize("name", LOCATIONS)
def test_a_program_that_names_it_is_checked_planned_and_fitted(folder: Path, name: str) -> None:
    assert printed(f"check {name}.cuts", folder).startswith("ok: 1 command")
    assert "nights <= 9" in printed(f"plan {name}.cuts", folder)
    printed(f"fmt {name}.cuts", folder)
    assert printed(f"fmt --check {name}.cuts", folder) == f"{name}.cuts is in canonical form\n"
    printed(f"fit {name}.cuts -o {name}.synth --config fast.toml -q", folder)
    printed(f"run {name}.cuts -n 50 -o {name}.csv --config fast.toml -q", folder)
    printed("run one.cuts -n 50 -o expected.csv --config fast.toml -q", folder)
    assert (folder / f"{name}.csv").read_bytes() == (folder / "expected.csv").read_bytes()


@pytest.mark.parametrize("location", LOCATIONS.values())
def test_a_table_argument_accepts_it(folder: Path, location: str) -> None:
    (folder / "other.cuts").write_text(PROGRAM.format("stays.csv"))
    given = shlex.quote(location)
    assert 'categories = ["eye", "icu", "surgery"]' in printed(f"schema infer {given}", folder)
    assert "0 to 12" in printed(f"schema show {given}", folder)
    assert printed(f"schema check stays.toml {given}", folder).startswith("ok: 400 rows")
    assert "% of the real rows satisfy" in printed(f"check other.cuts --data {given}", folder)
    assert "of 400 rows" in printed(f"verify other.cuts {given} --real {given}", folder, code=1)
    command = f"evaluate {given} --train {given} --test {given} --parts marginals --format json -q"
    assert json.loads(printed(command, folder))


@pytest.mark.parametrize("location", LOCATIONS.values())
def test_a_private_program_reads_it_through_the_core(folder: Path, location: str, tmp_path: Path) -> None:
    options = f"--schema stays.toml --ledger {tmp_path}/ledger.jsonl -o {tmp_path}/out.csv --config fast.toml -q"
    printed(f"run private.cuts --data {shlex.quote(location)} {options}", folder)
    assert (tmp_path / "ledger.jsonl").exists()


@pytest.mark.parametrize(
    ("name", "output"),
    [("pattern", "parts/part-2.parquet"), ("folder", "parts/part-0.parquet"), ("one", "one.parquet")],
)
def test_what_is_read_is_not_overwritten(folder: Path, name: str, output: str) -> None:
    assert f"{output} is read by this command" in printed(f"run {name}.cuts -o {output} -q", folder, code=2)


def test_a_file_in_a_query_is_not_overwritten(folder: Path) -> None:
    (folder / "file.cuts").write_text(PROGRAM.format("duckdb:?query=SELECT * FROM 'one.parquet'"))
    assert "one.parquet is read by this command" in printed("run file.cuts -o one.parquet -q", folder, code=2)


@pytest.mark.parametrize(
    ("location", "title", "help"),
    [
        ("clinic.db", "clinic.db has an unknown file extension", "`duckdb:clinic.db?table=NAME`"),
        ("duckdb:clinic.db", "names no table and no query", "write `duckdb:clinic.db?table=NAME`"),
        ("mysql://ann@host/clinic", "`mysql://` is not a kind of location", "`postgresql://`"),
        ("spark:", "`spark:` has an empty name", "write `spark:TABLE`"),
    ],
)
def test_a_location_that_is_wrong_is_answered_by_what_to_write(
    folder: Path, location: str, title: str, help: str
) -> None:
    errors = printed(f"schema show {shlex.quote(location)}", folder, code=2)
    assert title in errors
    assert help in errors.partition("= help: ")[2]


def test_a_pattern_that_the_shell_replaced_is_recognised(folder: Path) -> None:
    files = " ".join(str(path.relative_to(folder)) for path in sorted((folder / "parts").glob("*.parquet")))
    hint = "Write a pattern such as `*.parquet` in quotes, or the shell replaces it."
    assert printed(f"schema show {files}", folder, code=2).rstrip().endswith(hint)
    assert hint not in printed("schema show one.parquet --nonsense", folder, code=2)


def test_an_output_without_an_extension_may_have_meant_a_folder(folder: Path) -> None:
    (folder / "named.cuts").write_text(PROGRAM.format("one.parquet"))
    errors = printed("run named.cuts -o made", folder, code=2)
    assert "made has no file extension" in errors
    assert "`made/` for a folder of Parquet parts" in errors

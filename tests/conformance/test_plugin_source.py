"""A source of rows is one file: a module outside the package adds a scheme, for rows and for private rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.together import Outcomes, run_with_plugin
from cuts.data.exchange.csv_dialect import CsvOptions
from cuts.sources.registry import SourceKind, add_source, open_source, source_kinds

SOURCE = '''
"""Rows made from a number: `dice:600` is 600 throws of two dice."""

from pathlib import Path

import pyarrow as pa

from cuts.count.rows import rows_of
from cuts.data.table import Table
from cuts.privacy.reading import PrivateFrame
from cuts.sources.registry import SourceKind, add_source, has_scheme


class Dice:
    name, schema, paths = "dice", None, ()

    def __init__(self, location):
        self.count = int(location.partition(":")[2])

    def _table(self):
        throws = [(i * 7 + i * i * 3) % 36 for i in range(self.count)]
        low = ["yes" if t // 6 < 3 else "no" for t in throws]
        first, second = [t // 6 + 1 for t in throws], [t % 6 + 1 for t in throws]
        return Table(pa.table({"first": first, "second": second, "low": low}))

    def rows(self):
        return rows_of(self._table())

    def private_rows(self):
        return PrivateFrame(self._table())


add_source(SourceKind("dice", lambda data: has_scheme(data, "dice"), lambda data, csv: Dice(data)))
'''
SCHEMA = """
name = "dice"
provenance = "declared"

[columns.first]
kind = "integer"
range = [1, 6]

[columns.second]
kind = "integer"
range = [1, 6]

[columns.low]
kind = "category"
categories = ["no", "yes"]
"""


COMMANDS = {
    "run": "run p.cuts --data dice:600 -n 100 -o out.csv --config fast.toml --format json -q",
    "check": "check p.cuts --data dice:60",
    "private": "run private.cuts --data dice:900 --schema dice.toml --ledger ledger.jsonl -o b.csv --config fast.toml",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dice")
    terms = "ENSURE: DIFFERENTIAL PRIVACY: EPSILON=2, DELTA=1e-6;"
    (folder / "p.cuts").write_text("SYNTHESIZE: dice; ENFORCE: first <= 5; END;")
    (folder / "private.cuts").write_text(f"SYNTHESIZE: dice; {terms} ENFORCE: first <= 5; END;")
    (folder / "dice.toml").write_text(SCHEMA)
    (folder / "fast.toml").write_text("components = 20\nsteps = 150\n")
    return folder


@pytest.fixture(scope="module")
def outcomes(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    site = tmp_path_factory.mktemp("plugin")
    return run_with_plugin(site, "cuts.sources", "dice_source", SOURCE, COMMANDS, folder)


def test_its_rows_are_fitted_and_checked(outcomes: Outcomes) -> None:
    output, code = outcomes["run"]
    assert code == 0, output
    assert json.loads(output)["rows"] == 100
    output, code = outcomes["check"]
    assert (code, "% of the real rows satisfy" in output) == (0, True), output


def test_its_rows_reach_the_trusted_core(folder: Path, outcomes: Outcomes) -> None:
    output, code = outcomes["private"]
    assert code == 0, output
    assert "over 1 release (ledger" in output
    assert (folder / "ledger.jsonl").exists()


def test_a_name_can_be_taken_once_and_unknown_objects_are_refused() -> None:
    assert {"file", "frame", "embedded"} <= set(source_kinds())
    with pytest.raises(ValueError, match="there already"):
        add_source(SourceKind("file", lambda _: True, source_kinds()["file"].open))
    with pytest.raises(TypeError, match="not a data frame"):
        open_source(12, CsvOptions()).rows()


def test_a_location_names_a_file_unless_it_is_an_embedded_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    embedded = open_source("adult:test")
    assert (embedded.name, embedded.paths, embedded.schema is not None) == ("adult", (), True)
    (tmp_path / "adult").write_text("x\n")  # a file of that name wins
    assert open_source("adult").paths == (Path("adult"),)
    assert open_source(Path("visits.csv.gz")).name == "visits"

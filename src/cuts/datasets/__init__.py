"""Tables included in the package: Adult and German Credit (UCI, CC BY 4.0; see NOTICE), each with its split."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Literal

from cuts.data.exchange.files import save
from cuts.data.exchange.tables import read_table
from cuts.data.schema import Schema
from cuts.data.schema_file import read_schema
from cuts.data.table import Table

Split = Literal["train", "test"]


@dataclass(frozen=True, slots=True)
class Dataset:
    """An embedded table: its title, the rows of each split, its licence."""

    name: str
    title: str
    train: int
    test: int
    licence: str = "CC BY 4.0"


DATASETS = (
    Dataset("adult", "UCI Adult (Census Income): who earns more than 50K", 30_162, 15_060),
    Dataset("german", "UCI Statlog German Credit: who is a good risk", 800, 200),
)


def find(name: str) -> Dataset | None:
    """The embedded table of that name, in any case.

    >>> find("Adult").train
    30162
    """
    return next((dataset for dataset in DATASETS if dataset.name == name.lower()), None)


def load_schema(dataset: Dataset) -> Schema:
    """The declared schema of an embedded table."""
    with as_file(files("cuts.datasets").joinpath(f"{dataset.name}.toml")) as path:
        return read_schema(path)


def load(dataset: Dataset, split: Split = "train") -> Table:
    """The rows of an embedded table."""
    with as_file(files("cuts.datasets").joinpath(f"{dataset.name}-{split}.parquet")) as path:
        return read_table(path)


def export(dataset: Dataset, path: Path, split: Split = "train") -> None:
    """Write the rows of an embedded table to a file of the kind its extension says."""
    save(load(dataset, split), path)

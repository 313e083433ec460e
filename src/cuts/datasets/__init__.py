"""Tables included in the package: Adult and German Credit (UCI, CC BY 4.0; see NOTICE), each with its split.

`german` has the codes of the original file, `credit` the same rows with readable names and values.
"""

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
from cuts.datasets.credit import in_words

Split = Literal["train", "test"]


@dataclass(frozen=True, slots=True)
class Dataset:
    """An embedded table: its title, the rows of each split, its source and its licence."""

    name: str
    title: str
    train: int
    test: int
    source: str
    licence: str = "CC BY 4.0"


_ADULT_SOURCE = "Barry Becker and Ronny Kohavi, UCI Machine Learning Repository, https://doi.org/10.24432/C5XW20"
_GERMAN_SOURCE = "Hans Hofmann, UCI Machine Learning Repository, https://doi.org/10.24432/C5NC77"

ADULT = Dataset("adult", "UCI Adult (Census Income): who earns more than 50K", 30_162, 15_060, _ADULT_SOURCE)
CREDIT = Dataset("credit", "UCI Statlog German Credit, in words: who is a good risk", 800, 200, _GERMAN_SOURCE)
GERMAN = Dataset("german", "UCI Statlog German Credit, as coded: who is a good risk", 800, 200, _GERMAN_SOURCE)
DATASETS = (ADULT, CREDIT, GERMAN)


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
    """The rows of an embedded table.

    >>> load(CREDIT, "test").arrow["risk"].to_pylist().count("good")
    141
    """
    if dataset == CREDIT:
        return in_words(load(GERMAN, split))
    with as_file(files("cuts.datasets").joinpath(f"{dataset.name}-{split}.parquet")) as path:
        return read_table(path)


def export(dataset: Dataset, path: Path, split: Split = "train") -> None:
    """Write the rows of an embedded table to a file of the kind its extension says."""
    save(load(dataset, split), path)

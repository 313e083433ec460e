"""The tables that come with the package: `adult`, `adult:train`, `adult:test` and so on; a file of that name wins."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from cuts import datasets
from cuts.count.rows import TableRows, rows_of
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.privacy.reading import PrivateFrame
from cuts.sources.registry import SourceKind, add_source

SPLITS = ("", "train", "test")


@dataclass(frozen=True, slots=True)
class EmbeddedSource:
    """One split of an embedded table."""

    location: str

    @property
    def name(self) -> str:
        """The table's name."""
        return self._dataset.name

    @property
    def schema(self) -> Schema:
        """The schema that comes with the table."""
        return datasets.load_schema(self._dataset)

    @property
    def paths(self) -> tuple[Path, ...]:
        """None: the package's own files cannot be named as outputs."""
        return ()

    def table(self) -> Table:
        """The rows as a table: the train split unless `:test` is named."""
        return datasets.load(self._dataset, "test" if self.location.endswith(":test") else "train")

    def rows(self) -> TableRows:
        """The rows of the split."""
        return rows_of(self.table())

    def private_rows(self) -> PrivateFrame:
        """The rows as the trusted core reads them."""
        return PrivateFrame(self.table())

    @property
    def _dataset(self) -> datasets.Dataset:
        dataset = datasets.find(self.location.partition(":")[0])
        assert dataset is not None
        return dataset


def is_embedded(data: object) -> bool:
    """Whether a location names an embedded table rather than a file."""
    if not isinstance(data, str) or os.path.exists(data):
        return False
    name, _, split = data.partition(":")
    return datasets.find(name) is not None and split in SPLITS


add_source(SourceKind("embedded", is_embedded, lambda data, _: EmbeddedSource(data)))

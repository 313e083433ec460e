"""The kinds of sources, and the one that opens a given location or object.

A kind says what it accepts, by the scheme of a location or by the type of an object, and how to open that. A new kind
is one new module in this package, or in an outside package that names it under the entry point group `cuts.sources`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from cuts.count.rows import Rows
from cuts.data.exchange.csv_dialect import CsvOptions
from cuts.data.schema import Schema
from cuts.privacy.reading import PrivateRows


class Source(Protocol):
    """Rows somewhere. Opening it reads nothing: rows are read when the result of `rows` or `private_rows` is used."""

    @property
    def name(self) -> str:
        """What the table is called if the program does not say."""

    @property
    def schema(self) -> Schema | None:
        """The schema that comes with the rows, if there is one."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that are read, which must not be written to."""

    def rows(self) -> Rows:
        """The rows, to be read in blocks more than once."""

    def private_rows(self) -> PrivateRows:
        """The rows as the trusted core reads them; nobody else may."""


Open = Callable[[Any, CsvOptions], Source]


def _anywhere(location: str, _: Path) -> str:
    return location


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source: what it accepts, and what opens it. A fallback is asked after all others.

    `beside` is the location as seen from the folder of the program that names it; most do not depend on a folder.
    """

    name: str
    accepts: Callable[[object], bool]
    open: Open
    is_fallback: bool = False
    beside: Callable[[str, Path], str] = _anywhere


_KINDS: dict[str, SourceKind] = {}


def add_source(kind: SourceKind) -> None:
    """Add a kind of source."""
    if kind.name in _KINDS:
        raise ValueError(f"a kind of source called {kind.name!r} is there already")
    _KINDS[kind.name] = kind


@cache
def source_kinds() -> Mapping[str, SourceKind]:
    """All kinds by name: those of this package, then those of outside packages."""
    from cuts import sources

    for module in pkgutil.iter_modules(sources.__path__, f"{sources.__name__}."):
        importlib.import_module(module.name)
    for entry in entry_points(group="cuts.sources"):
        entry.load()
    return MappingProxyType(_KINDS)


def open_source(data: object, csv: CsvOptions = CsvOptions()) -> Source:
    """The source at a location (a path, `adult:test`, `scheme:...`), or of an object that holds rows.

    >>> import pyarrow as pa
    >>> open_source(pa.table({"x": [1, 2]})).rows().form is None
    True
    """
    return _kind_of(data).open(data, csv)


def open_beside(location: str, folder: Path, csv: CsvOptions = CsvOptions()) -> Source | None:
    """The source that a program in `folder` names by its scheme or its embedded table; None if it may be a file."""
    kind = _kind_of(location)
    return None if kind.is_fallback else kind.open(kind.beside(location, folder), csv)


def is_frame(data: object) -> bool:
    """Whether an object is a frame in memory, and not a location or an object of an engine."""
    return _kind_of(data).name == "frame"


def _kind_of(data: object) -> SourceKind:
    kinds = sorted(source_kinds().values(), key=lambda kind: kind.is_fallback)  # one of those accepts anything
    return next(kind for kind in kinds if kind.accepts(data))


def has_scheme(data: object, scheme: str) -> bool:
    """Whether a location is of the form `scheme:...`.

    >>> has_scheme("duckdb:sales.db?table=orders", "duckdb"), has_scheme("sales.csv", "duckdb")
    (True, False)
    """
    return isinstance(data, str) and data.partition(":")[0] == scheme and ":" in data

"""What a table of the benchmarks is: tasks that measure its results, and the Markdown that shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.records import Records

Measured: TypeAlias = Iterator[tuple[str, dict[str, Any]]]  # a key, and what was measured for it


@dataclass(frozen=True, slots=True)
class Options:
    """What is asked of a run: where the tables are, how often each program is fitted and sampled.

    Without `data`, Adult and German Credit are those of the package and tables of other rows are left out. `quick` is a
    trial run: one fit, one sample, few steps.
    """

    data: Path | None = None
    fits: int = 5
    samples: int = 5
    quick: bool = False
    held_out: bool = False  # the paper's tables on three quarters of the train rows, tested on the last
    ways: tuple[str, ...] = ()  # of the paper's tables: `uniform`, `default`, `private`; all if empty
    peers: Path = field(default_factory=lambda: Path(".venv-peers"))  # the environments of other generators
    cap: float = 2_400.0  # CPU seconds that another generator may take for one table


@dataclass(frozen=True, slots=True)
class Task:
    """Work for one process: `measure(keys, *arguments)` gives the result of each key as soon as it is there."""

    title: str
    file: str  # of the results
    keys: tuple[str, ...]
    measure: Callable[..., Measured]
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the benchmarks. `group` is the part of the page that it stands in."""

    name: str
    title: str
    group: str
    tasks: Callable[[Options], list[Task]]
    page: Callable[[Records], str]
    needs: tuple[str, ...] = ()  # folders of the data that the tasks read and the package does not have
    in_all: bool = True  # whether it is part of a run of all tables

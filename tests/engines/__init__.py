"""The engines that the conformance suite runs over: one module per engine, each with its `ENGINES`.

An engine writes an Arrow table into itself and says where it is, as a location or as an object. A module is found by
being in this folder; a machine without the engine skips it and shows the reason.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Engine:
    """A place for tables; `open` writes a table there, using `folder` if it needs files, and returns what to open.

    `lacks` are the columns of the awkward table that it has no type for; they are left out. With `keeps_types` the
    types of all others survive, so that the schema inferred there is that of the frame. With `keeps_lines` a line break
    inside a cell survives in private rows; in a CSV file it ends the row.
    """

    name: str
    open: Callable[[Path, pa.Table], Any]
    reason_to_skip: Callable[[], str | None] = lambda: None
    lacks: tuple[str, ...] = ()
    keeps_types: bool = True
    keeps_lines: bool = True


def all_engines() -> list[Engine]:
    """The engines of all modules in this folder, in the order of their names."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__, f"{__name__}."))
    return [engine for name in modules for engine in getattr(importlib.import_module(name), "ENGINES", ())]

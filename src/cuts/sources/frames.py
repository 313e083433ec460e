"""Frames in memory: pandas, polars, Arrow, and a `Table`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuts.count.rows import TableRows, rows_of
from cuts.data.exchange.tables import from_frame
from cuts.privacy.reading import PrivateFrame, cells_of
from cuts.sources.registry import SourceKind, add_source


@dataclass(frozen=True, slots=True, eq=False)
class FrameSource:
    """The rows of a frame."""

    frame: Any

    @property
    def name(self) -> str:
        """A frame has no name of its own."""
        return "table"

    @property
    def schema(self) -> None:
        """None: a frame comes without a schema."""
        return None

    @property
    def paths(self) -> tuple[Path, ...]:
        """None: no file is read."""
        return ()

    def rows(self) -> TableRows:
        """The rows of the frame."""
        return rows_of(from_frame(self.frame))

    def private_rows(self) -> PrivateFrame:
        """The rows as the trusted core reads them."""
        return cells_of(self.frame)


def _is_object(data: object) -> bool:
    return not isinstance(data, str | Path)


add_source(SourceKind("frame", _is_object, lambda data, _: FrameSource(data), is_fallback=True))

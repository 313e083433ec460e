"""All verdicts of a program on a table: a tuple that shows itself as a table and becomes a frame."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from cuts.assess.render import as_text, cells, counts
from cuts.assess.verify import Verdict, holds
from cuts.data.exchange.frames import Library, arrow_as
from cuts.text import html

HEADS = ("line", "verdict", "measured", "target", "command")
_COLOURS = {"holds": "#1a7f37", "FAILS": "#cf222e", "no rows": "#9a6700"}


class Verdicts(tuple[Verdict, ...]):
    """One `Verdict` per command, in the order of the program.

    `print` shows what `cuts verify` prints, a notebook shows a table, and `to_frame` gives that table as a frame.
    """

    __slots__ = ()

    @property
    def holds(self) -> bool:
        """Whether no command fails."""
        return holds(self)

    def to_frame(self, library: Library = "pandas") -> Any:
        """The verdicts as a frame of a library, by default pandas: line, verdict, measured, target, command.

        All but `line` are texts, with units where a number has one; the numbers themselves are in `verdict.facts`.
        """
        rows = [cells(verdict) for verdict in self]
        columns = zip(*rows, strict=True) if rows else ((),) * len(HEADS)
        line, *texts = columns
        arrays = [pa.array(map(int, line), pa.int64()), *(pa.array(column, pa.string()) for column in texts)]
        return arrow_as(pa.Table.from_arrays(arrays, names=list(HEADS)), library)

    def __repr__(self) -> str:
        return f"<Verdicts: {counts(self)}>"

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return html.table(HEADS, [cells(verdict) for verdict in self], colours=_COLOURS) + html.paragraph(counts(self))

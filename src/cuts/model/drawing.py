"""One process at work on a draw: it makes chunks, or writes parts of several chunks, and counts what it made.

`Drawing` says what is drawn and can be sent to another process; `Drawer` does it. Whatever depends on the order of the
work, or on who does it, is left to `model/workers.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

from cuts.data.exchange.files import FileForm, save_blocks
from cuts.data.table import Table
from cuts.lang.spec import Spec
from cuts.model.calibrate import Calibration
from cuts.model.rejection import Rejection
from cuts.model.sampling import Chunks, plan_chunks
from cuts.model.store import Model
from cuts.read.totals import Totals, count_totals, totals_data, totals_from

CHUNKS_PER_PART = 16  # about a million rows


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is drawn from a model; with `counted`, the rows are counted for verdicts on all of them."""

    rows: int
    where: str | None
    seed: int
    counted: bool = False

    def verified(self, spec: Spec) -> Spec:
        """The commands that are verified: only rules of rows that a condition restricts."""
        return spec if self.where is None else replace(spec, commands=spec.rules)


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """What was made: how many rows, how they were selected, their totals if wanted, and what was rejected."""

    rows: int
    calibration: Calibration | None = None
    totals: Totals | None = None
    rejection: Rejection | None = None

    def plus(self, other: Made) -> Made:
        """Both together."""
        one, two = self.calibration, other.calibration
        rejected, also = self.rejection, other.rejection
        return Made(
            self.rows + other.rows,
            None if one is None or two is None else one.joined(two),
            None if self.totals is None or other.totals is None else self.totals.plus(other.totals),
            None if rejected is None or also is None else rejected.joined(also),
        )


@dataclass(frozen=True, slots=True)
class Part:
    """Chunks that are written to one file: the first, and the one after the last."""

    start: int
    end: int
    rows: int


def plan_parts(chunks: Chunks) -> list[Part]:
    """The parts of a draw; where they end depends only on the number of rows."""
    starts = range(0, chunks.count, CHUNKS_PER_PART)
    ends = [min(start + CHUNKS_PER_PART, chunks.count) for start in starts]
    return [
        Part(start, end, chunks.bounds(end - 1)[1] - chunks.bounds(start)[0])
        for start, end in zip(starts, ends, strict=True)
    ]


class Drawer:
    """Makes any chunk or part of a drawing."""

    def __init__(self, model: Model, drawing: Drawing, form: FileForm | None = None) -> None:
        self.drawing, self._form, self._spec = drawing, form, drawing.verified(model.spec)
        self.chunks = plan_chunks(model, drawing.rows, where=drawing.where, seed=drawing.seed)

    def chunk(self, number: int) -> tuple[Table, Made]:
        """The rows of a chunk."""
        chunk = self.chunks.make(number)
        return chunk.table, Made(chunk.table.rows, chunk.calibration, self.count(chunk.table), chunk.rejection)

    def part(self, part: Part, path: Path, drawn: Callable[[int], None] = lambda _: None) -> Made:
        """Write a part to a file, whole or not at all; `drawn` hears of the rows of every chunk."""
        facts: list[Made] = []

        def tables() -> Iterator[Table]:
            for number in range(part.start, part.end):
                table, made = self.chunk(number)
                facts.append(made)
                drawn(table.rows)
                yield table

        save_blocks(tables(), path, self._form)
        return reduce(Made.plus, facts)

    def count(self, table: Table) -> Totals | None:
        """The totals of a table's rows, if they are wanted."""
        return count_totals(self._spec, table) if self.drawing.counted else None


def made_data(made: Made) -> dict[str, Any]:
    """The facts as JSON values; `made_from` reads them."""
    return {
        "rows": made.rows,
        "calibration": None if made.calibration is None else asdict(made.calibration),
        "totals": None if made.totals is None else totals_data(made.totals),
        "rejection": None if made.rejection is None else asdict(made.rejection),
    }


def made_from(data: dict[str, Any], spec: Spec) -> Made:
    """The facts in JSON values, of rows verified against a program."""
    calibration, totals, rejection = data["calibration"], data["totals"], data["rejection"]
    return Made(
        data["rows"],
        None if calibration is None else Calibration(**calibration),
        None if totals is None else totals_from(totals, spec),
        None if rejection is None else Rejection(**rejection),
    )

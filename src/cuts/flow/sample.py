"""From a model to rows: in memory, in one file, or in a folder of parts that can be continued; and verdicts on them.

How the rows are made does not depend on where they go or on how many processes make them (`model/sampling.py`). Of rows
that are written, only the first are kept in memory; verdicts on more than those come from totals over all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from threading import Lock
from typing import Any

from cuts.assess.verify import Verdict
from cuts.assess.verify import verify as verify_spec
from cuts.data.exchange.files import FileForm, blocks, save_blocks
from cuts.data.exchange.parts import PartsFolder, open_parts
from cuts.data.schema import Temporal
from cuts.data.table import Table
from cuts.flow.inputs import open_table
from cuts.model import store
from cuts.model.calibrate import Calibration
from cuts.model.drawing import Drawer, Drawing, Made, Part, plan_parts
from cuts.model.messages import pack_form
from cuts.model.rejection import Rejection
from cuts.model.sampling import complete_rows
from cuts.model.store import Model
from cuts.model.workers import in_order, start_workers
from cuts.progress import Observer
from cuts.read.totals import Totals
from cuts.text.diagnostic import counted, usage_error

MAX_KEPT = 500_000  # rows kept in memory of those that are written to files
ROWS_VERSION = 1  # of what a seed means: raised when the same model and seed give other rows than before

Output = Path | PartsFolder


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Rows drawn from a model: the first of them as a table, how many there were, and how they were selected.

    All rows are in the table unless they were written and are more than `MAX_KEPT`; then there are `totals` of all.
    `kept` is the number of parts of the folder that were already there; `rejection` says how many candidates of a
    network broke a row rule.
    """

    table: Table
    rows: int
    calibration: Calibration | None
    totals: Totals | None = None
    parts: int = 0
    kept: int = 0
    rejection: Rejection | None = None


def sample(
    model: Model,
    rows: int | None = None,
    *,
    where: str | None = None,
    seed_rows: Any = None,
    seed: int = 0,
    workers: int = 1,
    output: Output | None = None,
    form: FileForm | None = None,
    observer: Observer | None = None,
) -> Sample:
    """Rows of a model; or the `seed_rows` with their missing cells drawn. With `output` they are written.

    The rows do not depend on the number of `workers`, each a process.
    """
    moments = {c.name: c.decimals for c in model.codec.schema if isinstance(c, Temporal)}
    if seed_rows is not None:
        return _completed(model, seed_rows, where, seed, output, form, moments)
    total = model.facts.rows if rows is None else rows
    drawing = Drawing(total, where, seed, counted=output is not None and total > MAX_KEPT and bool(model.spec.commands))
    drawer = Drawer(model, drawing, form)  # what no row can satisfy is an error now
    progress = _Progress(total, observer or Observer())
    if isinstance(output, PartsFolder):
        return _in_parts(model, drawer, output, workers, form, progress)
    collector = _Collector(total if output is None else MAX_KEPT, progress)
    with _chunk_maker(model, drawer, workers) as made:
        if output is None:
            for _ in collector.passed(made):
                pass
        else:
            save_blocks(collector.passed(made), output, form, decimals=moments)
    return collector.sample()


def verify_sample(model: Model, drawn: Sample, *, only_rules: bool = False) -> tuple[Verdict, ...]:
    """The verdicts on rows of a model, within the tolerances of the rows it was fitted to.

    With `only_rules`, for rows that were restricted or completed: statistics are about a whole table.
    """
    if only_rules:
        return verify_spec(replace(model.spec, commands=model.spec.rules), drawn.table, totals=drawn.totals)
    return verify_spec(model.spec, drawn.table, model=model.facts.numbers, totals=drawn.totals)


def _completed(
    model: Model,
    seed_rows: Any,
    where: str | None,
    seed: int,
    output: Output | None,
    form: FileForm | None,
    decimals: dict[str, int],
) -> Sample:
    if isinstance(output, PartsFolder):
        help = f"name a file, e.g. `-o {output.path.name}.parquet`"
        raise usage_error("not-supported", "completed seed rows are written to one file, not to a folder", help)
    table = complete_rows(model, open_table(seed_rows), where=where, seed=seed)
    if output is not None:
        save_blocks([table], output, form, decimals=decimals)
    return Sample(table, table.rows, None)


# --- one table


@contextmanager
def _chunk_maker(model: Model, drawer: Drawer, workers: int) -> Iterator[Iterator[tuple[Table, Made]]]:
    """All chunks in order, made here or by worker processes."""
    numbers = range(drawer.chunks.count)
    count = min(workers, len(numbers))
    if count <= 1:
        yield map(drawer.chunk, numbers)
        return
    with start_workers(model, drawer.drawing, count) as pool:
        yield in_order(pool.chunk, numbers, count)


class _Progress:
    """Adds up the rows that are drawn, in any thread, for an observer."""

    def __init__(self, total: int, observer: Observer) -> None:
        self._total, self._observer, self._lock = total, observer, Lock()
        self._rows = self._kept = 0

    def keep(self, rows: int) -> None:
        """Rows that were there before."""
        self._kept += rows

    def drawn(self, rows: int) -> None:
        """Further rows; fewer than none if they have to be drawn again."""
        with self._lock:
            self._rows += rows
            self._observer.drawn(self._rows, self._total - self._kept)


class _Collector:
    """Keeps the first rows that pass, and how all of them were selected."""

    def __init__(self, max_rows: int, progress: _Progress) -> None:
        self._max_rows, self._progress = max_rows, progress
        self._kept: list[Table] = []
        self._made: Made | None = None

    def passed(self, chunks: Iterator[tuple[Table, Made]]) -> Iterator[Table]:
        """The tables of the chunks, the first rows of them kept."""
        for table, made in chunks:
            if self._made is None or self._made.rows < self._max_rows:
                self._kept.append(table)
            self._made = made if self._made is None else self._made.plus(made)
            self._progress.drawn(table.rows)
            yield table

    def sample(self) -> Sample:
        """What was kept of everything that passed."""
        made = self._made
        assert made is not None
        return Sample(Table.join(self._kept), made.rows, made.calibration, made.totals, rejection=made.rejection)


# --- a folder of parts


def _in_parts(
    model: Model, drawer: Drawer, folder: PartsFolder, workers: int, form: FileForm | None, progress: _Progress
) -> Sample:
    """Write the parts that are not there yet; verdicts need the totals of those that are, too."""
    parts = plan_parts(drawer.chunks)
    paths = [folder.part(number, len(parts)) for number in range(len(parts))]
    rows = {path.name: part.rows for path, part in zip(paths, parts, strict=True)}
    with open_parts(folder, _identity(model, drawer, form, parts), rows) as finished:
        left = [(part, path) for part, path in zip(parts, paths, strict=True) if path.name not in finished]
        progress.keep(sum(rows[name] for name in finished))
        try:
            with _part_maker(model, drawer, min(workers, len(left)), form, progress) as make:
                made = dict(zip((path for _, path in left), make(left), strict=True))
        except BaseException as error:
            done = sum(path.exists() for path in paths)
            error.add_note(
                f"{done:,} of {counted(len(parts), 'part')} in {folder} are finished; "
                "the same command continues with the others"
            )
            raise
    planned = zip(paths, parts, strict=True)
    facts = reduce(Made.plus, (made.get(path) or _found(drawer, path, part) for path, part in planned))
    first = _first_rows(paths)
    return Sample(
        first, facts.rows, facts.calibration, facts.totals, len(parts), len(finished), rejection=facts.rejection
    )


def _identity(model: Model, drawer: Drawer, form: FileForm | None, parts: list[Part]) -> dict[str, Any]:
    """What the files of a folder depend on."""
    drawing = drawer.drawing
    types = None if form is None else hashlib.sha256(pack_form(form)).hexdigest()
    return {
        "rows": drawing.rows,
        "seed": drawing.seed,
        "where": drawing.where,
        "model": store.fingerprint(model),
        "column_types": types,
        "rows_per_part": parts[0].rows,
        "rows_version": ROWS_VERSION,
    }


@contextmanager
def _part_maker(
    model: Model, drawer: Drawer, workers: int, form: FileForm | None, progress: _Progress
) -> Iterator[Callable[[list[tuple[Part, Path]]], Iterator[Made]]]:
    """Writes parts, here or in worker processes."""
    if workers <= 1:
        yield lambda left: (drawer.part(part, path, progress.drawn) for part, path in left)
        return
    with start_workers(model, drawer.drawing, workers, form=form) as pool:
        yield lambda left: in_order(lambda job: pool.part(*job, progress.drawn), left, workers)


def _found(drawer: Drawer, path: Path, part: Part) -> Made:
    """The facts of a part that is there already; how its rows were selected is not known any more."""
    if not drawer.drawing.counted:
        return Made(part.rows)
    return reduce(Made.plus, (Made(table.rows, None, drawer.count(table)) for table in blocks(path)))


def _first_rows(paths: list[Path]) -> Table:
    """The first rows of a folder."""
    tables: list[Table] = []
    for path in paths:
        for table in blocks(path):
            if sum(each.rows for each in tables) >= MAX_KEPT:
                return Table.join(tables)
            tables.append(table)
    return Table.join(tables)

"""From a model to rows: drawn chunk by chunk, or given rows completed. All satisfy the program's row rules.

A program that states statistics has its rows selected from a pool of drawn ones, so that the table has them too
(`model/calibrate.py`); each chunk of a large table is a small table with the same statistics. A model that has a
network is drawn from otherwise, see `model/rejection.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cuts.data.codec import decode, with_identifiers
from cuts.data.conform import conform
from cuts.data.partial_rows import apart_from, encode_partial, outside_ranges, overwrite
from cuts.data.refine import refine
from cuts.data.schema import Schema
from cuts.data.table import Floats, Table
from cuts.data.ties import Tie
from cuts.lang.binder import bind_predicate
from cuts.lang.parser import parse_expression
from cuts.lang.spec import Pred, Spec, TableGoal
from cuts.lang.targets import Targets, targets_of
from cuts.lang.walks import columns_of, statistics_of
from cuts.logic.atoms import gather
from cuts.logic.core import find_cuts
from cuts.logic.diagram import compile_rules
from cuts.logic.tie_choice import keeps_exact
from cuts.logic.ties import range_rules, substitute
from cuts.model import draw
from cuts.model.calibrate import Calibration, calibrate
from cuts.model.device import use_threads
from cuts.model.fine import FineDraw
from cuts.model.group_shares import hold
from cuts.model.mixture import split
from cuts.model.rejection import Rejection, draw_accepted
from cuts.model.store import Model
from cuts.read import exact
from cuts.text.diagnostic import INFEASIBLE, CutsError, Diagnostic, listed, usage_error
from cuts.text.source import Source
from cuts.vocab.names import statistics

POOL_FACTOR = 4  # rows drawn for each row of a table whose statistics are stated
LARGER_POOL_FACTOR = 12  # the same when the weights leave too few of them
MAX_ATTEMPTS = 100  # draws of given rows until computed cells lie in the ranges of their columns
MAX_WHOLE = 100_000  # rows chosen as one chunk when numbers of rows are wanted; of more, each chunk has its share


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some rows of a model, how they were selected, if the program states statistics, and what was rejected."""

    table: Table
    calibration: Calibration | None = None
    rejection: Rejection | None = None


def sample_table(model: Model, rows: int | None = None, *, where: str | None = None, seed: int = 0) -> Table:
    """The rows of `plan_chunks` as one table."""
    return Table.join(list(sample_blocks(model, rows, where=where, seed=seed)))


def sample_blocks(model: Model, rows: int | None = None, *, where: str | None = None, seed: int = 0) -> Iterator[Table]:
    """The tables of `plan_chunks`, in order."""
    chunks = plan_chunks(model, rows, where=where, seed=seed)
    return (chunks.make(number).table for number in range(chunks.count))


@dataclass(frozen=True, slots=True, eq=False)
class Chunks:
    """The rows of a draw in chunks; each is a function of the model, the seed and its number.

    Any process or machine that has the model therefore makes the same rows, whatever it made before.
    """

    rows: int  # of all chunks
    count: int
    _bounds: Callable[[int], tuple[int, int]]
    _make: Callable[[int], Chunk]

    def bounds(self, number: int) -> tuple[int, int]:
        """The rows of a chunk: the position of its first row, and of the row after its last."""
        if not 0 <= number < self.count:
            raise IndexError(f"there is no chunk {number} of {self.count}")
        return self._bounds(number)

    def make(self, number: int) -> Chunk:
        """The rows of a chunk. Computed on one thread: sums over several may differ in the last digit."""
        self.bounds(number)
        with use_threads(1):
            return self._make(number)


def plan_chunks(model: Model, rows: int | None = None, *, where: str | None = None, seed: int = 0) -> Chunks:
    """The chunks of a draw of exactly as many rows as asked for, all of them satisfying the program's row rules.

    The table has the statistics the program states. `where` restricts the rows further, exactly; they are then drawn as
    the model has them. Raises `CutsError` if no row of the model satisfies the rules and `where`.
    """
    total = model.facts.rows if rows is None else rows
    if total < 1:
        raise usage_error("bad-count", f"cannot generate {total} rows", "ask for at least one row: `-n 1000`")
    conditions = _where_predicates(where, model.codec.schema)
    if model.network is not None:
        make = _network_chunks(model, conditions, seed)
        return Chunks(
            total,
            draw.chunk_count(total),
            lambda number: draw.chunk_bounds(number, total),
            lambda number: make(number, *draw.chunk_bounds(number, total)),
        )
    source = _RowSource(model, conditions, seed)
    source.supply(0)  # what no row can satisfy is reported now
    goals = calibrated(model.spec) if where is None else ()
    shares = model.facts.group_shares if where is None else ()
    if not goals and not shares:
        return Chunks(
            total,
            draw.chunk_count(total),
            lambda number: draw.chunk_bounds(number, total),
            lambda number: Chunk(_drawn(model, source, number, *draw.chunk_bounds(number, total))),
        )
    targets = (*(targets_of(goal.goal, model.spec.schema) for goal in goals), *map(hold, shares))
    whole = total <= MAX_WHOLE and any(_counts_rows(goal) for goal in goals)
    count = 1 if whole else draw.chunk_count(total)

    def bounds(number: int) -> tuple[int, int]:  # chunks of nearly the same size: a small one has few rows to select
        return total * number // count, total * (number + 1) // count

    return Chunks(
        total, count, bounds, lambda number: _selected(model, source, targets, number, *bounds(number), total)
    )


def calibrated(spec: Spec) -> tuple[TableGoal, ...]:
    """The commands the drawn table itself is made to meet; one with a weight of its own is left to that."""
    return tuple(c for c in spec.commands if isinstance(c, TableGoal) and c.weight is None)


def complete_rows(model: Model, given: Table, *, where: str | None = None, seed: int = 0) -> Table:
    """The given rows with their missing cells drawn, given cells kept as they are; the row rules hold."""
    source = _RowSource(model, _where_predicates(where, model.codec.schema), seed, in_range=False)
    table = _completed(model, source, given, seed)
    for attempt in range(1, MAX_ATTEMPTS):
        outside = outside_ranges(conform(table, source.codec.schema), source.codec)
        if not outside.any():
            return _checked(table, source)
        again = _completed(model, source, given, seed + attempt)
        rows = np.arange(given.rows) + np.where(outside, given.rows, 0)
        table = Table(pa.concat_tables([table.arrow, again.arrow]).take(pa.array(rows)))
    raise CutsError([impossible_rows([int(row) + 1 for row in outside.nonzero()[0]])])


def _completed(model: Model, source: _RowSource, given: Table, seed: int) -> Table:
    """The given rows with their missing cells drawn; a tied or computed column may leave its range."""
    codec, supply = source.codec, source.supply(0)
    codes, masks = encode_partial(given, codec)
    tied = [name for group in supply.groups for name in group.columns if name in codes]
    if tied:
        raise CutsError([tied_given(tied)])
    if codes:
        completed, possible = draw.complete(supply, codes, masks, seed=seed)
        if not possible.all():
            raise CutsError([impossible_rows([int(row) + 1 for row in (~possible).nonzero()[0]])])
    else:  # only identifiers are given
        completed = draw.draw(supply, given.rows, seed=seed, drawing=model.config.drawing)
    table = decode(completed.codes, apart_from(codec, given), seed=seed, values=source.values(completed, 0))
    return overwrite(table, given, codec)


# --- chunks


def _drawn(model: Model, source: _RowSource, number: int, start: int, end: int) -> Table:
    """A chunk of rows as the model has them."""
    drawn = draw.draw(source.supply(number), end - start, seed=source.seed, chunk=number, drawing=model.config.drawing)
    values = source.values(drawn, number)
    return _checked(decode(drawn.codes, source.codec, seed=source.seed, first=start, values=values), source)


def _network_chunks(model: Model, where: Sequence[Pred], seed: int) -> Callable[[int, int, int], Chunk]:
    """What makes a chunk of rows of a network, from its number and its bounds."""
    network, codec = model.network, model.codec
    assert network is not None
    preds = (*(rule.pred for rule in model.spec.rules), *where)

    def make(number: int, start: int, end: int) -> Chunk:
        table, rejection = draw_accepted(network, codec, preds, chunk=number, start=start, rows=end - start, seed=seed)
        return Chunk(table, rejection=rejection if preds else None)

    return make


def _selected(
    model: Model, source: _RowSource, targets: Sequence[Targets], number: int, start: int, end: int, total: int
) -> Chunk:
    """A chunk of rows selected so that it has the statistics: from a pool, and from a larger one if too few count."""
    for factor in (POOL_FACTOR, LARGER_POOL_FACTOR):
        size = factor * (end - start)
        drawn = draw.draw(source.supply(number), size, seed=source.seed, chunk=number, drawing=model.config.drawing)
        values = source.values(drawn, number)
        table = decode(drawn.codes, source.codec, seed=source.seed, first=factor * start, values=values)
        pool = _checked(table, source)
        typed = conform(pool, source.codec.schema)
        rows, calibration = calibrate(
            typed, targets, source.codec.schema, end - start, total=total, seed=source.seed + number
        )
        if calibration.effective >= end - start:
            break
    taken = Table(pool.arrow.take(pa.array(rows)))
    return Chunk(with_identifiers(taken, source.codec, seed=source.seed, first=start), calibration)


def _counts_rows(goal: TableGoal) -> bool:
    """Whether a goal is about numbers of rows, which chunks do not share."""
    return any(statistics()[stat.name].unit == "rows" for stat in statistics_of(goal.goal))


# --- parts of the steps


def _where_predicates(text: str | None, schema: Schema) -> tuple[Pred, ...]:
    if text is None:
        return ()
    try:
        return (bind_predicate(parse_expression(text, "where"), schema),)
    except CutsError as error:
        raise CutsError(error.diagnostics, error.source or Source("where", text)) from None


class _RowSource:
    """What rows are drawn from: bins that no condition straddles, the mixture over them, the conditions."""

    def __init__(self, model: Model, where: Sequence[Pred], seed: int, *, in_range: bool = True) -> None:
        self.preds = (*(rule.pred for rule in model.spec.rules), *where)
        self.seed, self._has_where = seed, bool(where)
        schema, ties = model.codec.schema, model.codec.ties
        if not all(keeps_exact(where, tie, schema) for tie in ties):
            raise CutsError([inexact_where(ties)])
        modelled = [substitute(pred, schema, ties) for pred in self.preds]
        self._modelled = (*modelled, *(range_rules(model.codec, modelled) if in_range else ()))
        self._cuts = find_cuts(self._modelled, model.codec.inner)
        self.codec, splits = refine(model.codec, self._cuts.columns, self._cuts.sets)
        self._mixture = split(model.mixture, splits)
        self._fine = None if model.fine is None else FineDraw(model.fine, model.codec, self.codec, splits)
        self._shared: draw.Supply | None = None  # by all chunks, if they are alike

    def supply(self, chunk: int) -> draw.Supply:
        """What a chunk is drawn from: columns that rules tie together have values of their own in every chunk."""
        if self._shared is not None:
            return self._shared
        rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([self.seed, chunk, 1])))
        grid, atoms = gather(self.codec, self._cuts, rng)
        supply = draw.supply(self._mixture, compile_rules(self._modelled, grid), atoms)
        if supply.is_empty:
            raise CutsError([empty_support(self._has_where)])
        if not atoms:
            self._shared = supply
        return supply

    def values(self, drawn: draw.Drawn, chunk: int) -> Mapping[str, Floats]:
        """The values of numeric columns that are not left to the codec."""
        if self._fine is None:
            return drawn.values
        rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([self.seed, chunk, 2])))
        return self._fine.values(drawn, self.supply(chunk), rng)


def _checked(table: Table, source: _RowSource) -> Table:
    """The table; a row that violates a condition is a mistake of ours, never of the model."""
    needed = frozenset().union(*map(columns_of, source.preds))
    typed = conform(table, source.codec.schema, needed) if needed else table
    for pred in source.preds:
        violated = int((~exact.mask(pred, typed)).sum())
        if violated:
            raise AssertionError(f"{violated} rows drawn violate a row rule: please report this")
    return table


def tied_given(names: Sequence[str]) -> Diagnostic:
    """Given cells of columns that a rule compares with each other."""
    return Diagnostic(
        "not-supported",
        f"cells of {listed(names)} cannot be given: a rule compares these columns with others",
        help="leave these columns out of the seed rows, or the rule out of the program",
    )


def inexact_where(ties: Sequence[Tie]) -> Diagnostic:
    """A condition on a tied column that cannot be decided exactly on what was modelled in its place."""
    return Diagnostic(
        "not-supported",
        f"`where` cannot be decided exactly, because the model computes {listed([tie.column for tie in ties])}",
        help="compare the column with a number, or fit the model with `ties = false` in the configuration",
    )


def empty_support(has_where: bool) -> Diagnostic:
    """Rules the model gives no row."""
    what = "`where` together with the row rules" if has_where else "the row rules"
    return Diagnostic(
        "empty-support",
        f"no row of the model satisfies {what}",
        help="the model gives such rows probability 0; relax the condition or the row rules",
        exit_code=INFEASIBLE,
    )


def impossible_rows(rows: Sequence[int]) -> Diagnostic:
    """Given cells that no row with them can satisfy the rules."""
    shown = ", ".join(map(str, rows[:5]))
    return Diagnostic(
        "impossible-row",
        f"the given cells of row{'' if len(rows) == 1 else 's'} {shown}{' and others' if len(rows) > 5 else ''} "
        "contradict the rules",
        help="change or empty one of their cells; nothing was written",
        exit_code=INFEASIBLE,
    )

"""From a model to rows: drawn chunk by chunk, or given rows completed. All satisfy the program's row rules.

A program that states statistics has its rows chosen from a pool of drawn ones, so that the table has them too
(`model/calibrate.py`); each chunk of a large table is a small table with the same statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import pyarrow as pa

from cuts.data.codec import Codec, decode, with_identifiers
from cuts.data.conform import conform
from cuts.data.partial_rows import apart_from, encode_partial, overwrite, put_values
from cuts.data.refine import refine
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.lang.binder import bind, bind_predicate
from cuts.lang.parser import parse, parse_expression
from cuts.lang.spec import Pred, Spec, TableGoal, statistics_of
from cuts.lang.targets import Targets, wanted
from cuts.logic.atoms import gather
from cuts.logic.core import Cuts, find_cuts
from cuts.logic.diagram import compile_rules
from cuts.model import draw
from cuts.model.calibrate import Calibration, calibrate
from cuts.model.group_shares import hold
from cuts.model.mixture import Mixture, split
from cuts.model.store import Model
from cuts.read import exact
from cuts.text.diagnostic import INFEASIBLE, CutsError, Diagnostic, listed, usage_error
from cuts.text.source import Source
from cuts.vocab.names import statistics

_Chunk = TypeVar("_Chunk")
_Made = TypeVar("_Made")

POOL = 4  # rows drawn for each row of a table whose statistics are stated
LARGER_POOL = 12  # the same when the weights leave too few of them
MAX_WHOLE = 100_000  # rows chosen as one chunk when numbers of rows are wanted; of more, each chunk has its share


def sample_blocks(
    model: Model,
    rows: int | None = None,
    *,
    where: str | None = None,
    seed: int = 0,
    workers: int = 1,
    chosen: Callable[[Calibration], None] = lambda _: None,
) -> Iterator[Table]:
    """Rows of a model, chunk by chunk: exactly as many as asked for, all of them satisfying the program's row rules.

    The table has the statistics the program states; `chosen` is told how its rows were chosen. `where` restricts the
    rows further, exactly; they are then drawn as the model has them. The same seed gives the same rows for any number
    of workers.
    """
    wanted_rows = model.facts.rows if rows is None else rows
    if wanted_rows < 1:
        raise usage_error("bad-count", f"{wanted_rows} rows cannot be drawn", "ask for at least one row: `-n 1000`")
    spec = spec_of(model)
    source = _source(model, _where(where, model.codec.schema), seed)
    source.supply(0)  # what no row can satisfy is said now
    goals = calibrated(spec) if where is None else ()
    knobs = model.facts.group_shares if where is None else ()
    if not goals and not knobs:
        return _mapped(lambda chunk: _drawn(model, source, *chunk), draw.chunks(wanted_rows), workers)
    wants = (*(wanted(goal.goal, spec.schema) for goal in goals), *map(hold, knobs))
    whole = wanted_rows <= MAX_WHOLE and any(_counts_rows(goal) for goal in goals)
    ends = _even(wanted_rows, whole=whole)

    def make(chunk: tuple[int, tuple[int, int]]) -> tuple[Table, Calibration]:
        number, (start, end) = chunk
        return _chosen(model, source, wants, number, start, end, wanted_rows)

    return _told(_mapped(make, enumerate(ends), workers), chosen)


def calibrated(spec: Spec) -> tuple[TableGoal, ...]:
    """The commands the drawn table itself is made to meet; one with a weight of its own is left to that."""
    return tuple(c for c in spec.commands if isinstance(c, TableGoal) and c.weight is None)


def complete_rows(model: Model, given: Table, *, where: str | None = None, seed: int = 0) -> Table:
    """The given rows with their missing cells drawn, given cells kept as they are; the row rules hold."""
    source = _source(model, _where(where, model.codec.schema), seed)
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
    table = put_values(decode(completed.codes, apart_from(codec, given), seed=seed), completed.values, codec)
    return _checked(overwrite(table, given, codec), source)


def spec_of(model: Model) -> Spec:
    """The program of a model, bound to its schema."""
    return bind(parse(model.program), model.codec.schema)


# --- chunks


def _drawn(model: Model, source: _Source, number: int, size: int) -> Table:
    """A chunk of rows as the model has them."""
    drawn = draw.draw(source.supply(number), size, seed=source.seed, chunk=number, drawing=model.config.drawing)
    table = decode(drawn.codes, source.codec, seed=source.seed, first=number * draw.CHUNK)
    return _checked(put_values(table, drawn.values, source.codec), source)


def _chosen(
    model: Model, source: _Source, wants: Sequence[Targets], number: int, start: int, end: int, total: int
) -> tuple[Table, Calibration]:
    """A chunk of rows chosen so that it has the statistics: from a pool, a larger one if that is worn out."""
    for factor in (POOL, LARGER_POOL):
        size = factor * (end - start)
        drawn = draw.draw(source.supply(number), size, seed=source.seed, chunk=number, drawing=model.config.drawing)
        table = decode(drawn.codes, source.codec, seed=source.seed, first=factor * start)
        pool = _checked(put_values(table, drawn.values, source.codec), source)
        typed = conform(pool, source.codec.schema)
        rows, facts = calibrate(typed, wants, source.codec.schema, end - start, total=total, seed=source.seed + number)
        if facts.effective >= end - start:
            break
    taken = Table(pool.arrow.take(pa.array(rows)))
    return with_identifiers(taken, source.codec, seed=source.seed, first=start), facts


def _even(rows: int, *, whole: bool) -> list[tuple[int, int]]:
    """Where chunks of nearly the same size begin and end; `whole` makes one."""
    count = 1 if whole else -(-rows // draw.CHUNK)
    return list(pairwise(rows * place // count for place in range(count + 1)))


def _counts_rows(goal: TableGoal) -> bool:
    """Whether a goal is about numbers of rows, which chunks do not share."""
    return any(statistics()[stat.name].unit == "rows" for stat in statistics_of(goal.goal))


def _told(blocks: Iterator[tuple[Table, Calibration]], chosen: Callable[[Calibration], None]) -> Iterator[Table]:
    """The tables; at the end it is told how their rows were chosen."""
    facts: Calibration | None = None
    for table, found in blocks:
        facts = found if facts is None else facts.joined(found)
        yield table
    if facts is not None:
        chosen(facts)


# --- parts of the steps


def _where(text: str | None, schema: Schema) -> tuple[Pred, ...]:
    if text is None:
        return ()
    try:
        return (bind_predicate(parse_expression(text, "where"), schema),)
    except CutsError as error:
        raise CutsError(error.diagnostics, error.source or Source("where", text)) from None


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """What rows are drawn from: a codec whose bins no condition cuts, the mixture over them, the conditions."""

    codec: Codec
    mixture: Mixture
    preds: tuple[Pred, ...]
    cuts: Cuts
    seed: int
    has_where: bool
    shared: list[draw.Supply]  # of all chunks, if they are alike

    def supply(self, chunk: int) -> draw.Supply:
        """What a chunk is drawn from: columns that sums tie together have values of their own in every chunk."""
        if self.shared:
            return self.shared[0]
        rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([self.seed, chunk, 1])))
        grid, atoms = gather(self.codec, self.cuts, rng)
        made = draw.supply(self.mixture, compile_rules(self.preds, grid), atoms)
        if made.is_empty:
            raise CutsError([empty_support(self.has_where)])
        if not atoms:
            self.shared.append(made)
        return made


def _source(model: Model, where: Sequence[Pred], seed: int) -> _Source:
    """What rows are drawn from; bins are split where a condition cuts them."""
    preds = (*(rule.pred for rule in spec_of(model).rules), *where)
    cuts = find_cuts(preds, model.codec.schema)
    codec, splits = refine(model.codec, cuts.columns, cuts.sets)
    return _Source(codec, split(model.mixture, splits), preds, cuts, seed, bool(where), [])


def _checked(table: Table, source: _Source) -> Table:
    """The table; a row that violates a condition is a mistake of ours, never of the model."""
    typed = conform(table, source.codec.schema)
    for pred in source.preds:
        violated = int((~exact.mask(pred, typed)).sum())
        if violated:
            raise AssertionError(f"{violated} rows drawn violate a row rule: please report this")
    return table


def _mapped(make: Callable[[_Chunk], _Made], chunks: Iterator[_Chunk], workers: int) -> Iterator[_Made]:
    """The chunks in order, a few at a time."""
    if workers <= 1:
        yield from map(make, chunks)
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(make, chunk) for _, chunk in zip(range(workers + 1), chunks, strict=False)]
        while waiting:
            done = waiting.pop(0)
            waiting += [pool.submit(make, chunk) for chunk in [next(chunks, None)] if chunk is not None]
            yield done.result()


def tied_given(names: Sequence[str]) -> Diagnostic:
    """Given cells of columns that a rule compares with each other."""
    return Diagnostic(
        "not-supported",
        f"cells of {listed(names)} cannot be given: a rule compares these columns with others",
        help="leave these columns out of the seed rows, or the rule out of the program",
    )


def empty_support(has_where: bool) -> Diagnostic:
    """Rules the model gives no row."""
    what = "`where` together with the row rules" if has_where else "the row rules"
    return Diagnostic(
        "empty-support",
        f"no row of the model satisfies {what}",
        help="the values asked for were not in the rows the model was fitted to; ask for less",
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

"""Folds of rows, for trying a model on rows it was not fitted to: row number modulo the number of folds.

One pass counts them all. The rows without a fold are the counts of all minus those of the fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa

from cuts.count.kernel import Counter, encoded
from cuts.count.marginals import Clique, Marginals
from cuts.data.codec import Codec, Codes
from cuts.data.table import Table

_Part = TypeVar("_Part")


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """The counts of one fold, and some of its rows."""

    counts: Marginals
    codes: Codes  # of rows evenly spread over the fold
    rows: Table | None = None  # likewise some, as they were read, if they are asked for


def count_folds(
    blocks: Iterable[Table],
    codec: Codec,
    cliques: Sequence[Clique],
    folds: int,
    *,
    keep: int,
    keep_rows: int = 0,
    seen: Callable[[int], None] | None = None,
) -> tuple[Fold, ...]:
    """The counts of every fold and up to `keep` of its rows, however the rows are cut into blocks.

    Those are codes; up to `keep_rows` rows of a fold are kept as they are as well. Memory does not grow with the rows,
    but holds the tables of all folds. `seen` is told the number of rows so far.
    """
    counters = [Counter(codec, cliques) for _ in range(folds)]
    kept = [_Spread(keep, _every, _joined) for _ in range(folds)]
    whole = [_Spread(keep_rows, _every_row, _whole) for _ in range(folds)] if keep_rows else []
    before = 0
    for rows, codes in encoded(_keeping(blocks, whole), codec):
        for fold in range(folds):
            own = _every(codes, (fold - before) % folds, folds)
            count = len(range((fold - before) % folds, rows, folds))
            counters[fold].add(own, count)
            kept[fold].add(own, count)
        before += rows
        if seen is not None:
            seen(before)
    tables: list[Table | None] = [Table(spread.rows()) for spread in whole]
    parts = zip(counters, kept, tables or [None] * folds, strict=True)
    return tuple(Fold(counter.counts(), spread.rows(), table) for counter, spread, table in parts)


def _keeping(blocks: Iterable[Table], folds: Sequence[_Spread[pa.Table]]) -> Iterator[Table]:
    """The blocks, some of whose rows are kept for each fold."""
    before = 0
    for block in blocks:
        yield block
        for fold, spread in enumerate(folds):
            own = _every_row(block.arrow, (fold - before) % len(folds), len(folds))
            spread.add(own, len(own))
        before += block.rows


class _Spread(Generic[_Part]):
    """Rows evenly spread over all: every one of at most `most`, else every second, fourth, eighth and so on.

    `every` takes rows from a place on at even steps, as a copy; `join` puts parts together.
    """

    def __init__(
        self, most: int, every: Callable[[_Part, int, int], _Part], join: Callable[[Sequence[_Part]], _Part]
    ) -> None:
        self._every, self._join = every, join
        self._most, self._step, self._seen, self._kept = most, 1, 0, 0
        self._parts: list[_Part] = []

    def add(self, part: _Part, rows: int) -> None:
        first = -self._seen % self._step
        self._parts.append(self._every(part, first, self._step))
        self._kept += len(range(first, rows, self._step))
        self._seen += rows
        while self._kept > 2 * self._most:
            self._thin()

    def rows(self) -> _Part:
        while self._kept > self._most:
            self._thin()
        return self._join(self._parts)

    def _thin(self) -> None:
        self._parts = [self._every(self._join(self._parts), 0, 2)]
        self._step, self._kept = 2 * self._step, (self._kept + 1) // 2


def _every(codes: Codes, first: int, step: int) -> Codes:
    return {name: values[first::step].copy() for name, values in codes.items()}


def _joined(parts: Sequence[Codes]) -> Codes:
    return {name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else ())}


def _every_row(table: pa.Table, first: int, step: int) -> pa.Table:
    return table.take(np.arange(first, len(table), step))


def _whole(parts: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables(parts).combine_chunks()

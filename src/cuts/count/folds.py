"""Folds of rows, for trying a model on rows it was not fitted to: row number modulo the number of folds.

One pass counts them all. The rows without a fold are the counts of all minus those of the fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cuts.count.kernel import Counter, encoded
from cuts.count.marginals import Clique, Marginals
from cuts.data.codec import Codec, Codes
from cuts.data.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """The counts of one fold, and some of its rows."""

    counts: Marginals
    codes: Codes  # of rows evenly spread over the fold


def count_folds(
    blocks: Iterable[Table],
    codec: Codec,
    cliques: Sequence[Clique],
    folds: int,
    *,
    keep: int,
    seen: Callable[[int], None] | None = None,
) -> tuple[Fold, ...]:
    """The counts of every fold and up to `keep` of its rows, however the rows are cut into blocks.

    Memory does not grow with the rows, but holds the tables of all folds. `seen` is told the number of rows so far.
    """
    counters = [Counter(codec, cliques) for _ in range(folds)]
    kept = [_Spread(keep) for _ in range(folds)]
    before = 0
    for rows, codes in encoded(blocks, codec):
        for fold in range(folds):
            first = (fold - before) % folds
            own = {name: values[first::folds] for name, values in codes.items()}
            count = len(range(first, rows, folds))
            counters[fold].add(own, count)
            kept[fold].add(own, count)
        before += rows
        if seen is not None:
            seen(before)
    return tuple(Fold(counter.counts(), spread.codes()) for counter, spread in zip(counters, kept, strict=True))


class _Spread:
    """Rows evenly spread over all: every one of at most `most`, else every second, fourth, eighth and so on."""

    def __init__(self, most: int) -> None:
        self._most, self._step, self._rows, self._kept = most, 1, 0, 0
        self._parts: list[Codes] = []

    def add(self, codes: Codes, rows: int) -> None:
        first = -self._rows % self._step
        self._parts.append({name: values[first :: self._step].copy() for name, values in codes.items()})
        self._kept += len(range(first, rows, self._step))
        self._rows += rows
        while self._kept > 2 * self._most:
            self._thin()

    def codes(self) -> Codes:
        while self._kept > self._most:
            self._thin()
        return _joined(self._parts)

    def _thin(self) -> None:
        self._parts = [{name: values[::2].copy() for name, values in _joined(self._parts).items()}]
        self._step, self._kept = 2 * self._step, (self._kept + 1) // 2


def _joined(parts: Sequence[Codes]) -> Codes:
    return {name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else ())}

"""Folds of rows for cross-validation: row number modulo the number of folds.

One pass counts all folds. The counts without a fold are the counts of all rows minus the counts of the fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cuts.count.kernel import Counter, compactly_encoded
from cuts.count.marginals import Clique, Marginals
from cuts.count.spread_rows import EvenSample, every_code, sample_of_codes, sample_of_rows
from cuts.data.codec import Codec, Codes
from cuts.data.encoder import widened
from cuts.data.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """The counts of one fold, and a sample of its rows."""

    counts: Marginals
    codes: Codes  # of rows evenly spread over the fold
    rows: Table | None = None  # a sample of the rows as read, if requested


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
    """The counts of every fold and the codes of up to `keep` of its rows; the same for any division into blocks.

    Up to `keep_rows` rows per fold are also kept as read. Memory holds the tables of all folds and does not grow with
    the rows. `seen` is called with the number of rows so far.
    """
    counters = [Counter(codec, cliques) for _ in range(folds)]
    samples = [sample_of_codes(keep) for _ in range(folds)]
    row_samples = [sample_of_rows(keep_rows) for _ in range(folds)] if keep_rows else []
    before = 0
    for rows, codes in compactly_encoded(_sampling(blocks, row_samples), codec):
        for fold in range(folds):
            own = every_code(codes, (fold - before) % folds, folds)
            count = len(range((fold - before) % folds, rows, folds))
            counters[fold].add(own, count)
            samples[fold].add(own, count)
        before += rows
        if seen is not None:
            seen(before)
    tables: list[Table | None] = [Table(sample.rows().combine_chunks()) for sample in row_samples]
    parts = zip(counters, samples, tables or [None] * folds, strict=True)
    return tuple(Fold(counter.counts(), widened(sample.rows()), table) for counter, sample, table in parts)


def _sampling(blocks: Iterable[Table], samples: Sequence[EvenSample[pa.Table]]) -> Iterator[Table]:
    """The blocks; after a block is processed, its rows are added to the sample of their fold."""
    before = 0
    for block in blocks:
        yield block
        for fold, sample in enumerate(samples):
            own = block.arrow.take(np.arange((fold - before) % len(samples), block.rows, len(samples)))
            sample.add(own, len(own))
        before += block.rows

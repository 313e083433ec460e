"""Counting of rows, block by block in constant memory.

A block's codes are converted to the smallest integer type that fits. The key of a row in a table is built column by
column, and tables that begin with the same columns share that part. numba, if installed, replaces only the summation,
and only when there is enough to count to compensate for its compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from itertools import chain, takewhile
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cuts.count.cover import Clique, Cover, cells, in_order, sum_out
from cuts.count.joint import join_cliques, key_paths
from cuts.count.marginals import Marginals
from cuts.count.rows import Rows, RowsInPlace, blocks_to_encode
from cuts.data.codec import Codec, Codes
from cuts.data.codec_file import fingerprint
from cuts.data.encoder import Encoder, SmallCodes, holding, widened
from cuts.data.exchange.streams import ROWS
from cuts.data.table import IntArray, Table
from cuts.text.diagnostic import CutsError

Keys: TypeAlias = NDArray[Any]  # of the smallest type that fits
Tally: TypeAlias = Callable[[Keys, IntArray], None]  # adds one to the cell of every key

MAX_CELLS = 1 << 28  # per table: 2 GB
NUMBA_AFTER_TABLES = 7_000  # tables times blocks after which numba saves more time than compiling it takes
DENSE_ROWS_PER_CELL = 2  # from here on a histogram of the block is faster than adding row by row


def count(
    blocks: Iterable[Table],
    codec: Codec,
    cliques: Sequence[Clique],
    *,
    seen: Callable[[int], None] | None = None,
    tally: Tally | None = None,
    numba_after: int = NUMBA_AFTER_TABLES,
) -> Marginals:
    """The counts of the cliques over all rows; `seen` is called with the number of rows so far after every block.

    The columns of a clique may be in any order. Memory does not grow with the rows. Raises `CutsError` when a value
    lies outside the codec's schema. `tally` is chosen automatically if it is None; the counts are the same. numba is
    used after `numba_after` tables.
    """
    counter = Counter(codec, cliques, tally=tally, numba_after=numba_after)
    for rows, codes in compactly_encoded(blocks, codec):
        counter.add(codes, rows)
        if seen is not None:
            seen(counter.rows)
    return counter.counts()


def count_rows(
    rows: Rows, codec: Codec, cliques: Sequence[Clique], *, seen: Callable[[int], None] = lambda _: None
) -> Marginals:
    """The counts of the cliques over all rows, counted where the rows are if their engine can do that."""
    if isinstance(rows, RowsInPlace):
        return rows.count(codec, cliques, seen)
    return count(blocks_to_encode(rows, codec), codec, cliques, seen=seen)


def count_codes(codes: Codes, codec: Codec, cliques: Sequence[Clique], *, tally: Tally | None = None) -> Marginals:
    """The counts of the cliques over rows that are already encoded."""
    lengths = {len(values) for values in codes.values()}
    if len(lengths) > 1:
        raise ValueError(f"the columns have different numbers of rows: {sorted(lengths)}")
    rows = lengths.pop() if lengths else 0
    counter = Counter(codec, cliques, tally=tally)
    for start in range(0, rows, ROWS):
        block = {name: values[start : start + ROWS] for name, values in codes.items()}
        counter.add(block, min(ROWS, rows - start))
    return counter.counts()


class Counter:
    """Counts of cliques, to which blocks of encoded rows are added one after the other."""

    def __init__(
        self,
        codec: Codec,
        cliques: Sequence[Clique],
        *,
        tally: Tally | None = None,
        numba_after: int = NUMBA_AFTER_TABLES,
    ) -> None:
        self._codec, self._cliques, self._tally, self._numba_after = codec, cliques, tally, numba_after
        self._sizes, self._into = _begin(codec, cliques)
        self._blocks = 0
        self.rows = 0

    def add(self, codes: Mapping[str, Keys], rows: int) -> None:
        """Count the rows of another block, whose codes are of any integer type."""
        compiled = numba_tally() if self._blocks * len(self._into) >= self._numba_after else None
        count_block(codes, self._sizes, self._into, self._tally or compiled or numpy_tally)
        self._blocks += 1
        self.rows += rows

    @property
    def joints(self) -> tuple[Clique, ...]:
        """The joint tables that are counted, from which the cliques are summed out."""
        return tuple(self._into)

    @property
    def partial(self) -> IntArray:
        """The counts of all joint tables so far, one after the other; equal codecs and cliques have equal tables."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *self._into.values()])

    def add_partial(self, cells: IntArray, counts: IntArray, rows: int) -> None:
        """Add counts of other rows in some cells, in increasing order; cells are numbered through all joint tables."""
        start = 0
        for table in self._into.values():
            first, last = np.searchsorted(cells, (start, start + len(table)))
            table[cells[first:last] - start] += counts[first:last]
            start += len(table)
        self.rows += rows

    def counts(self) -> Marginals:
        """The counts of the rows added so far; call it last, since the result may share the arrays of this counter."""
        return _finish(self._into, self.rows, self._codec, self._cliques)


def encoded(blocks: Iterable[Table], codec: Codec) -> Iterator[tuple[int, Codes]]:
    """The number of rows and the codes of each block; diagnostics say which block they are about."""
    return ((rows, widened(codes)) for rows, codes in compactly_encoded(blocks, codec))


def compactly_encoded(blocks: Iterable[Table], codec: Codec) -> Iterator[tuple[int, SmallCodes]]:
    """The same with codes of small types, which are faster to count but overflow when computed with."""
    encoder, before = Encoder(codec), 0
    for block in _cut(blocks):
        yield block.rows, _encoded(block, encoder, before)
        before += block.rows


def count_block(
    codes: Mapping[str, Keys], sizes: Mapping[str, int], into: Mapping[Clique, IntArray], tally: Tally
) -> None:
    """Add the rows of one block to the flat tables of `into`, in which a clique's last column varies fastest.

    Consecutive tables share the key of the columns they begin with, so `key_paths` gives a good order.
    """
    small = {name: _compact(codes[name], name, sizes[name]) for name in dict.fromkeys(chain.from_iterable(into))}
    before: Clique = ()
    keys: list[Keys] = []  # for the first column of `before`, for its first two, and so on
    for path, counts in into.items():
        keys = keys[: _alike(path, before)]
        for length in range(len(keys), len(path)):
            name, width = path[length], cells(path[: length + 1], sizes)
            keys.append(_extended(keys[-1], small[name], sizes[name], width) if keys else small[name])
        tally(keys[-1], counts)
        before = path


def numpy_tally(keys: Keys, counts: IntArray) -> None:
    """Add one to the cell of every key."""
    if len(keys) >= DENSE_ROWS_PER_CELL * len(counts):
        counts += np.bincount(keys, minlength=len(counts))
    else:
        np.add.at(counts, keys, 1)


@cache
def numba_tally() -> Tally | None:
    """`numpy_tally` compiled by numba on the first call, or None if numba cannot be used."""
    try:
        compiled: Tally = import_module("numba").njit(nogil=True)(_add_up)
    except Exception:  # not installed, or not compatible with this numpy or processor: numba is optional
        return None
    return compiled


def _add_up(keys: Keys, counts: IntArray) -> None:
    for i in range(keys.shape[0]):  # compiled by numba, which creates no Python objects here
        counts[keys[i]] += 1


# --- keys


def _compact(codes: Keys, name: str, size: int) -> Keys:
    if len(codes) and (codes.min() < 0 or codes.max() >= size):
        raise ValueError(f"the column `{name}` has codes outside its {size} bins")
    return codes.astype(holding(size), copy=False)


def _extended(keys: Keys, codes: Keys, size: int, width: int) -> Keys:
    """The keys with one more column of `size` bins; `width` is the number of possible keys."""
    kind = holding(width)
    wider = keys.astype(kind)
    wider *= kind(size)
    wider += codes
    return wider


def _alike(path: Clique, other: Clique) -> int:
    """The number of columns with which both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(path, other, strict=False)))


# --- before the first block and after the last


def _begin(codec: Codec, cliques: Sequence[Clique]) -> tuple[dict[str, int], dict[Clique, IntArray]]:
    """The sizes of all columns, and the tables to count, flat and empty.

    A column with a single bin is left out: its code is always 0.
    """
    sizes = codec.sizes
    wanted = [in_order(clique, sizes) for clique in cliques]
    for clique in wanted:
        if cells(clique, sizes) > MAX_CELLS:
            raise ValueError(f"the table of {', '.join(clique)} would have {cells(clique, sizes):,} cells")
    varying = [reduced for reduced in (_varying(clique, sizes) for clique in wanted) if reduced]
    paths = key_paths(join_cliques(varying, sizes))
    return sizes, {path: np.zeros(cells(path, sizes), dtype=np.int64) for path in paths}


def _finish(into: Mapping[Clique, IntArray], rows: int, codec: Codec, cliques: Sequence[Clique]) -> Marginals:
    sizes = codec.sizes
    joint = {path: counts.reshape([sizes[name] for name in path]) for path, counts in into.items()}
    cover = Cover(tuple(joint), sizes)
    tables: dict[Clique, IntArray] = {}
    for clique in (in_order(clique, sizes) for clique in cliques):
        varying = _varying(clique, sizes)
        covering = cover.smallest(varying) if varying else None
        counts = np.array(rows, dtype=np.int64) if covering is None else sum_out(joint[covering], covering, varying)
        tables[clique] = counts.reshape([sizes[name] for name in clique])
    return Marginals(sizes, tables, rows, fingerprint(codec))


def _varying(clique: Clique, sizes: Mapping[str, int]) -> Clique:
    return tuple(name for name in clique if sizes[name] > 1)


def _cut(blocks: Iterable[Table]) -> Iterator[Table]:
    for block in blocks:
        if block.rows <= ROWS:
            yield block
        else:
            yield from (Table(block.arrow.slice(start, ROWS)) for start in range(0, block.rows, ROWS))


def _encoded(block: Table, encoder: Encoder, before: int) -> SmallCodes:
    """The codes of a block; diagnostics say where the block starts."""
    try:
        return encoder.codes(block)
    except CutsError as error:
        if before == 0:
            raise
        where = f"in the block starting at row {before + 1:,}"
        raise CutsError([replace(d, title=f"{where}, {d.title}") for d in error.diagnostics]) from None

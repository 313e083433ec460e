"""Rows evenly spread over a stream whose length is not known beforehand, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa

from cuts.data.encoder import SmallCodes

_Part = TypeVar("_Part")


class EvenSample(Generic[_Part]):
    """At most `max_rows` rows: every row, or every second, fourth, eighth and so on.

    `every` takes every n-th row from a position on, as a copy unless it takes all rows; `join` concatenates parts. At
    most twice `max_rows` rows are in memory.
    """

    def __init__(
        self, max_rows: int, every: Callable[[_Part, int, int], _Part], join: Callable[[Sequence[_Part]], _Part]
    ) -> None:
        if max_rows < 1:
            raise ValueError(f"a sample of {max_rows} rows is empty")
        self._every, self._join = every, join
        self._max_rows, self._step, self._seen, self._kept = max_rows, 1, 0, 0
        self._parts: list[_Part] = []

    @property
    def seen(self) -> int:
        """The number of rows taken into account."""
        return self._seen

    def add(self, part: _Part, rows: int) -> None:
        """Take the next `rows` rows into account."""
        first = -self._seen % self._step
        self._parts.append(self._every(part, first, self._step))
        self._kept += len(range(first, rows, self._step))
        self._seen += rows
        while self._kept > 2 * self._max_rows:
            self._thin()

    def rows(self) -> _Part:
        """The sample of all rows added so far."""
        while self._kept > self._max_rows:
            self._thin()
        return self._join(self._parts)

    def _thin(self) -> None:
        self._parts = [self._every(self._join(self._parts), 0, 2)]
        self._step, self._kept = 2 * self._step, (self._kept + 1) // 2


def sample_of_rows(max_rows: int) -> EvenSample[pa.Table]:
    """An empty sample of Arrow tables."""
    return EvenSample(max_rows, _every_row, pa.concat_tables)


def sample_of_codes(max_rows: int) -> EvenSample[SmallCodes]:
    """An empty sample of encoded rows."""
    return EvenSample(max_rows, every_code, _joined_codes)


def every_code(codes: SmallCodes, first: int, step: int) -> SmallCodes:
    """The codes of every `step`-th row from `first` on, as a copy."""
    return {name: values[first::step].copy() for name, values in codes.items()}


def _joined_codes(parts: Sequence[SmallCodes]) -> SmallCodes:
    return {name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else ())}


def _every_row(table: pa.Table, first: int, step: int) -> pa.Table:
    if (first, step) == (0, 1):
        return table
    return table.take(np.arange(first, len(table), step)).combine_chunks()  # a copy: the block itself can go

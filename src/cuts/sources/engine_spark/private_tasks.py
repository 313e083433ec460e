"""What Spark's workers do with private rows: encode and sum them. Whatever fails, a worker says only that it failed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from cuts.count.kernel import Counter
from cuts.privacy.coding import cell_texts, encode_cells
from cuts.sources.engine_spark.tasks import (
    FAILED,
    blocks_of,
    count_batches,
    drain,
    read_cliques,
    read_codec,
    read_schema,
)

VALUES = "place int, text string, count bigint"  # how often a text occurs in the column at a place
_COUNTS = pa.schema({"cell": pa.int64(), "count": pa.int64(), "problem": pa.string()})
_VALUES = pa.schema({"place": pa.int32(), "text": pa.string(), "count": pa.int64()})


def count_cells(
    batches: Iterator[pa.RecordBatch], *, columns: bytes, codec: bytes, cliques: bytes
) -> Iterator[pa.RecordBatch]:
    """The counts of the cliques over the rows of a partition that fit the bins."""
    try:
        bins = read_codec(codec)
        counter = Counter(bins, read_cliques(cliques))
        for block in blocks_of(batches, read_schema(columns)):
            codes, kept = encode_cells(block, bins)
            places = np.flatnonzero(kept)
            counter.add({name: values[places] for name, values in codes.items()}, len(places))
        made = list(count_batches(counter))
    except Exception:  # its message could show a cell
        made = [pa.RecordBatch.from_pydict({"cell": [FAILED], "count": [1], "problem": [None]}, schema=_COUNTS)]
        _drain_quietly(batches)
    yield from made


def count_texts(batches: Iterator[pa.RecordBatch], *, columns: bytes, count: int) -> Iterator[pa.RecordBatch]:
    """How often each text occurs in the first `count` columns of a partition, without surrounding blanks."""
    try:
        found: list[dict[str, int]] = [{} for _ in range(count)]
        for block in blocks_of(batches, read_schema(columns)):
            for counts, column in zip(found, block.arrow.columns, strict=False):
                for text in cell_texts(column):
                    bare = (text or "").strip()
                    if bare and "\0" not in bare:  # as the trusted core does it
                        counts[bare] = counts.get(bare, 0) + 1
        made = [_values(place, counts) for place, counts in enumerate(found)]
    except Exception:  # its message could show a cell
        made = [pa.RecordBatch.from_pydict({"place": [FAILED], "text": [None], "count": [1]}, schema=_VALUES)]
        _drain_quietly(batches)
    yield from made


def _values(place: int, counts: dict[str, int]) -> pa.RecordBatch:
    arrays = {"place": [place] * len(counts), "text": list(counts), "count": list(counts.values())}
    return pa.RecordBatch.from_pydict(arrays, schema=_VALUES)


def _drain_quietly(batches: Iterator[pa.RecordBatch]) -> None:
    try:
        drain(batches)
    except Exception:  # the task has failed already, and says so
        return

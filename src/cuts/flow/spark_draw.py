"""Rows of a model drawn by Spark's workers: the rows that one machine draws with the same seed, in the same order.

A task draws whole chunks, so neither the number of workers nor a repeated task changes the rows. The model travels as
the bytes of its file. Spark's Parquet has no times of day and no columns without a type: both are written as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import lru_cache, partial, reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cuts.data.codec import decode
from cuts.data.table import Table
from cuts.flow.sample import MAX_KEPT, Sample
from cuts.model import store
from cuts.model.drawing import CHUNKS_PER_PART, Drawer, Drawing
from cuts.model.store import Model
from cuts.read.totals import Totals, count_totals, totals_data, totals_from
from cuts.sources.engine_spark.rows import SparkRows
from cuts.sources.engine_spark.session import check_workers, find_session, reported, run_task
from cuts.sources.engine_spark.tasks import blocks_of, failing, read_schema, schema_bytes
from cuts.sources.spark import SparkPath

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TOTALS = "totals string"


def sample_spark(
    model: Model,
    rows: int | None = None,
    spark: SparkSession | None = None,
    *,
    where: str | None = None,
    seed: int = 0,
) -> DataFrame:
    """Rows of a model as a Spark DataFrame, drawn when they are asked for; `where` is a condition all of them satisfy.

    The rows and their order are those of `model/sampling.sample_chunks`. Without `spark` the active session is used, or
    a new one. Raises `CutsError` if no row of the model satisfies the rules and `where`.
    """
    drawing = Drawing(model.facts.rows if rows is None else rows, where, seed)
    count = Drawer(model, drawing).chunks.count  # what no row can satisfy is an error now
    session = spark if spark is not None else find_session()
    check_workers(session)
    columns = _columns(model)
    task = partial(
        draw_partition, model=_bytes(model), drawing=json.dumps(asdict(drawing)).encode(), columns=schema_bytes(columns)
    )
    parts = max(-(-count // CHUNKS_PER_PART), min(count, _cores(session)))
    numbers = session.range(0, count, 1, parts)
    return run_task(numbers, task, _spark_columns(columns))


def sample_to_spark(
    model: Model, rows: int | None, target: SparkPath, *, where: str | None = None, seed: int = 0
) -> Sample:
    """Draw rows with Spark and write them as a folder of Parquet files; what is verified is read from there.

    The path must not exist yet. Spark's `_SUCCESS` is in the folder when all rows are.
    """
    session = find_session()
    drawn = sample_spark(model, rows, session, where=where, seed=seed)
    with reported("writing", str(target)):
        drawn.write.mode("error").parquet(target.path)
    with reported("reading", str(target)):
        written = SparkRows(session.read.parquet(target.path), str(target))
    total = model.facts.rows if rows is None else rows
    kept: list[Table] = []
    for block in written.blocks():
        kept.append(block)
        if sum(each.rows for each in kept) >= MAX_KEPT:
            break
    totals = _totals(model, Drawing(total, where, seed), written) if total > MAX_KEPT and model.spec.commands else None
    return Sample(Table.join(kept), total, None, totals)


# --- on the workers


def draw_partition(
    batches: Iterable[pa.RecordBatch], *, model: bytes, drawing: bytes, columns: bytes
) -> Iterator[pa.RecordBatch]:
    """The rows of the chunks whose numbers are in the batches."""
    schema = read_schema(columns)
    with failing():
        for number in (number for batch in batches for number in batch.column(0).to_pylist()):
            table, _ = _drawer(model, drawing).chunk(number)
            yield from _cast(table.arrow, schema).to_batches()


def totals_partition(
    batches: Iterable[pa.RecordBatch], *, model: bytes, drawing: bytes, columns: bytes
) -> Iterator[pa.RecordBatch]:
    """What the verdicts need of the rows of a partition."""
    with failing():
        spec = Drawing(**json.loads(drawing)).verified(_loaded(model).spec)
        parts = [count_totals(spec, block) for block in blocks_of(batches, read_schema(columns))]
        texts = [json.dumps(totals_data(reduce(Totals.plus, parts)))] if parts else []
        yield pa.record_batch({"totals": pa.array(texts, pa.string())})


@lru_cache(maxsize=1)
def _drawer(model: bytes, drawing: bytes) -> Drawer:
    """Once per worker, which draws many chunks."""
    return Drawer(_loaded(model), Drawing(**json.loads(drawing)))


@lru_cache(maxsize=1)
def _loaded(model: bytes) -> Model:
    with TemporaryDirectory() as folder:
        path = Path(folder, f"model{store.ENDING}")
        path.write_bytes(model)
        return store.load(path)


# --- on the driver


def _totals(model: Model, drawing: Drawing, written: SparkRows) -> Totals:
    """The totals of all rows that were written."""
    task = partial(totals_partition, model=_bytes(model), drawing=json.dumps(asdict(drawing)).encode())
    texts = written.collect(task, _TOTALS).column(0).to_pylist()
    spec = drawing.verified(model.spec)
    return reduce(Totals.plus, (totals_from(json.loads(text), spec) for text in texts))


def _bytes(model: Model) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, f"model{store.ENDING}")
        store.save(model, path)
        return path.read_bytes()


def _columns(model: Model) -> pa.Schema:
    """The names and types of the columns: those of one row, whatever is in it."""
    first = {bins.column.name: np.zeros(1, dtype=np.int64) for bins in model.codec.columns}
    drawn = decode(first, model.codec, seed=0).arrow.schema
    return pa.schema([pa.field(field.name, _written(field.type)) for field in drawn])


def _written(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_time(kind) or pa.types.is_null(kind) else kind


def _cast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    pairs = zip(table.columns, schema.types, strict=True)
    return pa.Table.from_arrays([v if v.type == kind else v.cast(kind) for v, kind in pairs], schema=schema)


def _spark_columns(columns: pa.Schema) -> str:
    """The columns as Spark's DDL."""
    named = ((field.name.replace("`", "``"), _spark_type(field.type)) for field in columns)
    return ", ".join(f"`{name}` {kind}" for name, kind in named)


def _spark_type(kind: pa.DataType) -> str:
    if pa.types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if pa.types.is_duration(kind):
        return "interval day to second"
    names = {pa.string(): "string", pa.int64(): "bigint", pa.float64(): "double", pa.date32(): "date"}
    return names[kind]


def _cores(session: SparkSession) -> int:
    """How many tasks run at a time; unknown over Spark Connect."""
    return session.sparkContext.defaultParallelism if hasattr(session, "_jsparkSession") else 1

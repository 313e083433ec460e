"""What Spark's workers do with the Arrow batches of one partition, by the same code that counts and surveys files.

Arguments and results are bytes and texts: a codec travels as the JSON of its file, a schema and rows as Arrow IPC. A
row that breaks the schema is part of the result, not an exception, so that Spark neither repeats the task nor reports
it in its own words.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module

import msgspec
import numpy as np
import pyarrow as pa
from pyarrow import ipc

from cuts.count.kernel import Counter
from cuts.count.rows import SurveyOptions
from cuts.count.survey import new_digests
from cuts.data.codec import Codec
from cuts.data.codec_file import codec_data, codec_from
from cuts.data.encoder import Encoder
from cuts.data.exchange.streams import ROWS
from cuts.data.table import IntArray, Table
from cuts.text.diagnostic import CutsError, Diagnostic

COUNTS = "cell bigint, count bigint, problem string"  # one row per cell that is not zero
ROW_COUNT = -1  # the cell that has the number of rows
FAILED = -2  # minus the number of the partition: the cell of a problem
REPLY = "part int, kind string, place int, data binary"  # by partition, and by place among those of one kind
DIGEST, SAMPLE, BLOCK, ROW_NUMBER = "digest", "sample", "block", "rows"
_ERROR = "an error of cuts: "
_COUNTS = pa.schema({"cell": pa.int64(), "count": pa.int64(), "problem": pa.string()})
_REPLY = pa.schema({"part": pa.int32(), "kind": pa.string(), "place": pa.int32(), "data": pa.binary()})


def version(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The version of this package on the worker, once."""
    found = import_module("cuts").__version__
    rows = sum(batch.num_rows for batch in batches)
    yield pa.record_batch({"version": pa.array([found] * min(rows, 1), pa.string())})


def count_partition(
    batches: Iterator[pa.RecordBatch], *, columns: bytes, codec: bytes, cliques: bytes
) -> Iterator[pa.RecordBatch]:
    """The counts of the cliques over the rows of a partition, as `Counter.partial` has them."""
    bins = read_codec(codec)
    counter, encoder = Counter(bins, read_cliques(cliques)), Encoder(bins)
    try:
        for block in blocks_of(batches, read_schema(columns)):
            counter.add(encoder.codes(block), block.rows)
    except CutsError as error:
        yield problem_batch(error, counter.rows)
        drain(batches)
        return
    yield from count_batches(counter)


def survey_partition(
    batches: Iterator[pa.RecordBatch], *, columns: bytes, options: bytes, starts: bytes, step: int
) -> Iterator[pa.RecordBatch]:
    """The number of rows of a partition, a digest of each column, and every `step`-th row of the whole table.

    `starts` has the number of rows before each partition. Without `options` there are no digests.
    """
    schema, part = read_schema(columns), partition()
    digests = new_digests(schema, read_options(options)) if options else []
    before = np.frombuffer(starts, np.int64)
    start = int(before[part]) if part < len(before) else 0
    rows = 0
    for place, block in enumerate(blocks_of(batches, schema)):
        for digest in digests:
            digest.add(block)
        taken = np.arange(-(start + rows) % step, block.rows, step)
        rows += block.rows
        if len(taken):
            yield _reply(part, SAMPLE, place, table_bytes(block.arrow.take(pa.array(taken))))
    for place, digest in enumerate(digests):
        yield _reply(part, DIGEST, place, digest.state())
    yield _reply(part, ROW_NUMBER, 0, str(rows).encode())


def merge_digests(replies: pa.Table, *, columns: bytes, options: bytes) -> pa.Table:
    """The digests of one column in several partitions as one; replies of another kind as they are."""
    if replies.column("kind")[0].as_py() != DIGEST:
        return replies
    ordered = replies.sort_by("part")
    part, place = ordered.column("part")[0].as_py(), ordered.column("place")[0].as_py()
    merged = new_digests(read_schema(columns), read_options(options))[place]
    for state in ordered.column("data").to_pylist():
        merged.merge(merged.restored(state))
    return pa.Table.from_batches([_reply(part, DIGEST, place, merged.state())])


def block_partition(batches: Iterator[pa.RecordBatch], *, columns: bytes) -> Iterator[pa.RecordBatch]:
    """The rows of a partition in blocks."""
    part = partition()
    for place, block in enumerate(blocks_of(batches, read_schema(columns))):
        yield _reply(part, BLOCK, place, table_bytes(block.arrow))


# --- batches


def blocks_of(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[Table]:
    """The rows in blocks of at most `ROWS` rows, with the names and types of the schema."""
    waiting: list[pa.Table] = []
    rows = 0
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS):
            part = _typed(batch.slice(start, ROWS), schema)
            if rows + part.num_rows > ROWS:
                yield Table(pa.concat_tables(waiting))
                waiting, rows = [], 0
            waiting.append(part)
            rows += part.num_rows
    if waiting:
        yield Table(pa.concat_tables(waiting))


def _typed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    pairs = zip(batch.columns, schema.types, strict=True)
    return pa.Table.from_arrays([v if v.type == kind else v.cast(kind) for v, kind in pairs], schema=schema)


def drain(batches: Iterable[pa.RecordBatch]) -> None:
    """Read what is left, so that Spark can go on using the worker."""
    for _ in batches:
        pass


def partition() -> int:
    """The number of the partition that is being read."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


# --- what is sent


def count_batches(counter: Counter) -> Iterator[pa.RecordBatch]:
    """The number of rows, and the cells of a counter that are not zero."""
    partial = counter.partial
    cells = np.flatnonzero(partial)
    yield _counts(np.array([ROW_COUNT]), np.array([counter.rows]))
    for start in range(0, len(cells), ROWS):
        some = cells[start : start + ROWS]
        yield _counts(some, partial[some])


def _counts(cells: IntArray, counts: IntArray) -> pa.RecordBatch:
    arrays = [pa.array(cells, pa.int64()), pa.array(counts, pa.int64()), pa.nulls(len(cells), pa.string())]
    return pa.RecordBatch.from_arrays(arrays, schema=_COUNTS)


def problem_batch(error: CutsError, before: int) -> pa.RecordBatch:
    """What is wrong with a block of this partition that has `before` rows before it."""
    part = partition()
    where = f"in the rows of partition {part} from its row {before + 1:,} on, " if part or before else ""
    problems = [replace(problem, title=f"{where}{problem.title}") for problem in error.diagnostics]
    text = msgspec.json.encode(problems).decode()
    return pa.RecordBatch.from_pydict({"cell": [FAILED - part], "count": [1], "problem": [text]}, schema=_COUNTS)


@contextmanager
def failing() -> Iterator[None]:
    """A `CutsError` as an exception from which `error_in` makes it again: where rows are the only result of a task."""
    try:
        yield
    except CutsError as error:
        text = msgspec.json.encode(error.diagnostics).decode()
        raise RuntimeError(f"{_ERROR}{text}") from None


def error_in(message: str) -> CutsError | None:
    """The error that a worker raised under `failing`, in the message in which Spark reports it."""
    start = message.find(_ERROR)
    if start < 0:
        return None
    line = message[start + len(_ERROR) :].splitlines()[0]
    return read_problem(line.strip())


def read_problem(text: str) -> CutsError:
    """The error that `problem_batch` wrote."""
    return CutsError(msgspec.json.decode(text, type=tuple[Diagnostic, ...]))


def _reply(part: int, kind: str, place: int, data: bytes) -> pa.RecordBatch:
    row = {"part": [part], "kind": [kind], "place": [place], "data": [data]}
    return pa.RecordBatch.from_pydict(row, schema=_REPLY)


def read_options(data: bytes) -> SurveyOptions:
    """The options of a survey, read from JSON."""
    return msgspec.json.decode(data, type=SurveyOptions)


def codec_bytes(codec: Codec) -> bytes:
    """The codec as it is in a file."""
    return json.dumps(codec_data(codec)).encode()


def read_codec(data: bytes) -> Codec:
    """The codec that `codec_bytes` wrote."""
    return codec_from(json.loads(data))


def clique_bytes(cliques: Iterable[Iterable[str]]) -> bytes:
    """The names of the columns of some cliques."""
    return json.dumps([list(clique) for clique in cliques]).encode()


def read_cliques(data: bytes) -> list[tuple[str, ...]]:
    """The cliques that `clique_bytes` wrote."""
    return [tuple(clique) for clique in json.loads(data)]


def schema_bytes(schema: pa.Schema) -> bytes:
    """The names and types of columns."""
    return bytes(schema.serialize())


def read_schema(data: bytes) -> pa.Schema:
    """The schema that `schema_bytes` wrote."""
    return ipc.read_schema(pa.BufferReader(data))


def table_bytes(table: pa.Table) -> bytes:
    """Rows as a compressed Arrow stream."""
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, table.schema, options=ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def read_table(data: bytes) -> pa.Table:
    """The rows that `table_bytes` wrote."""
    with ipc.open_stream(data) as stream:
        return stream.read_all()

"""Rows on Spark, surveyed and counted by its workers; only counts, digests and samples come to the driver.

The order of the rows is that of the partitions and of the rows in each. Files and tables have the same order in every
pass; a DataFrame that shuffles rows may not, and an order that changed between two passes is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa

from cuts.count.kernel import Counter
from cuts.count.marginals import Clique, Marginals
from cuts.count.rows import Survey, SurveyOptions
from cuts.count.survey import new_digests, sample_limit, schema_of, survey_blocks
from cuts.data.codec import Codec, encode
from cuts.data.encoder import columns_to_encode
from cuts.data.exchange.readable import check_rows, unreadable
from cuts.data.table import IntArray, Table
from cuts.sources.engine_spark import tasks
from cuts.sources.engine_spark.columns import arrow_schema, by_position, chosen
from cuts.sources.engine_spark.session import check_workers, reported, run_task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_SENT_CELLS = (
    2_000  # per partition, up to which the driver adds them up, of 10,000 partitions too; above, Spark does
)
MAX_SENT_DIGESTS = 32  # per column, that the driver merges; Spark merges those of neighbouring partitions before
ATTEMPTS = 2  # passes over the rows until their number per partition is what it was in the pass before


@dataclass(frozen=True, slots=True, eq=False)
class SparkRows:
    """The rows of a Spark DataFrame; `where` names it in messages."""

    frame: DataFrame
    where: str
    _schema: pa.Schema = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_schema", arrow_schema(self.frame, self.where))

    @property
    def form(self) -> None:
        """None: the rows are not those of one file."""
        return None

    def blocks(self) -> Iterator[Table]:
        """The rows, one partition after the other; raises `CutsError` if there are none."""
        check_workers(self.frame.sparkSession)
        task = partial(tasks.block_partition, columns=tasks.schema_bytes(self._schema))
        replies = run_task(by_position(self.frame), task, tasks.REPLY).select("data")
        rows = 0
        with reported("reading", self.where):
            waiting = replies.toLocalIterator()
        while True:
            with reported("reading", self.where):
                reply = next(waiting, None)
            if reply is None:
                break
            block = Table(tasks.read_table(bytes(reply[0])))
            rows += block.rows
            yield block
        check_rows(rows, self.where)

    def survey(self, options: SurveyOptions, seen: Callable[[int], None]) -> Survey:
        """The schema inferred from digests of the partitions, and rows evenly spread over all."""
        counted = self._rows_per_partition()
        if counted.sum() <= sample_limit(len(self._schema), options.max_rows):
            return survey_blocks(self.blocks(), options, seen)
        found = self._pass(counted, options.max_rows, options)
        seen(found.total)
        merged = new_digests(self._schema, options)
        for part in range(len(found.rows)):
            for digest, state in zip(merged, found.data(tasks.DIGEST, part), strict=False):
                digest.merge(digest.restored(state))
        return Survey(schema_of(merged, self._schema, options), found.sample(self._schema))

    def spread_sample(self, max_rows: int, seen: Callable[[int], None]) -> Table:
        """Every row, or every second, fourth, eighth and so on; each partition sends only those."""
        found = self._pass(self._rows_per_partition(), max_rows, None)
        seen(found.total)
        return found.sample(self._schema)

    def count(self, codec: Codec, cliques: Sequence[Clique], seen: Callable[[int], None]) -> Marginals:
        """The counts of the cliques, summed over the partitions."""
        encode(Table(self._schema.empty_table()), codec)  # an absent column or another type is reported here
        check_workers(self.frame.sparkSession)
        names = [name for name in self._schema.names if name in columns_to_encode(codec)] or self._schema.names
        task = partial(
            tasks.count_partition,
            columns=tasks.schema_bytes(pa.schema([self._schema.field(name) for name in names])),
            codec=tasks.codec_bytes(codec),
            cliques=tasks.clique_bytes(cliques),
        )
        counter = Counter(codec, cliques)
        with reported("counting", self.where):
            table = summed(run_task(chosen(self.frame, names), task, tasks.COUNTS), len(counter.partial))
        failed = table.filter(pa.compute.is_valid(table.column("problem"))).sort_by([("cell", "descending")])
        if failed.num_rows:  # of the first partition that has a problem
            raise tasks.read_problem(failed.column("problem")[0].as_py())
        add_counts(counter, table)
        check_rows(counter.rows, self.where)
        seen(counter.rows)
        return counter.counts()

    def collect(
        self,
        task: Callable[..., Iterator[pa.RecordBatch]],
        columns: str,
        combined: Callable[[DataFrame], DataFrame] = lambda sent: sent,
    ) -> pa.Table:
        """What a task makes of all partitions, `combined` by Spark; the task gets the Arrow schema as `columns`."""
        check_workers(self.frame.sparkSession)
        bound = partial(task, columns=tasks.schema_bytes(self._schema))
        with reported("reading", self.where):
            return combined(run_task(by_position(self.frame), bound, columns)).toArrow()

    def _merged(self, replies: DataFrame, options: SurveyOptions | None, parts: int) -> DataFrame:
        """The replies with the digests of many partitions merged by Spark, because each may have many values."""
        from pyspark.sql import functions as F

        if options is None:
            return replies
        columns, sent = tasks.schema_bytes(self._schema), msgspec.json.encode(options)

        def merge(some: pa.Table) -> pa.Table:  # Spark looks at its types, so it cannot be a `partial`
            return tasks.merge_digests(some, columns=columns, options=sent)

        group = 1
        while parts > group * MAX_SENT_DIGESTS:
            group *= MAX_SENT_DIGESTS
            neighbours = F.floor(F.col("part") / group)
            replies = replies.groupBy("kind", "place", neighbours).applyInArrow(merge, tasks.REPLY)
        return replies

    def _rows_per_partition(self) -> IntArray:
        """How many rows each partition has, by a job that reads no column if Spark can do without."""
        from pyspark.sql import functions as F

        with reported("counting the rows of", self.where):
            found = by_position(self.frame).groupBy(F.spark_partition_id().alias("part")).count().toArrow()
        rows = _by_part(found.column("part"), found.column("count"))
        check_rows(int(rows.sum()), self.where)
        return rows

    def _pass(self, counted: IntArray, max_rows: int, options: SurveyOptions | None) -> _Found:
        """One pass over the rows, in which each partition must have as many rows as were counted.

        Spark may have merged small partitions when it counted without reading columns. The numbers of rows that the
        pass itself has found then decide for a second one.
        """
        limit = sample_limit(len(self._schema), max_rows)  # of a wide table fewer rows are wanted
        sent = b"" if options is None else msgspec.json.encode(options)
        for _ in range(ATTEMPTS):
            starts, step = (np.cumsum(counted) - counted).tobytes(), _step(int(counted.sum()), limit)
            task = partial(tasks.survey_partition, options=sent, starts=starts, step=step)
            merged = partial(self._merged, options=options, parts=len(counted))
            found = _Found.of(self.collect(task, tasks.REPLY, merged))
            if np.array_equal(_trimmed(found.rows), _trimmed(counted)):
                return found
            counted = found.rows
        raise unsteady_rows(self.where)


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """What the partitions have sent, and how many rows each has."""

    replies: Mapping[tuple[int, str], Sequence[bytes]]  # by partition and kind, in order
    rows: IntArray

    @classmethod
    def of(cls, table: pa.Table) -> _Found:
        replies: dict[tuple[int, str], list[bytes]] = {}
        for reply in table.sort_by([("part", "ascending"), ("place", "ascending")]).to_pylist():
            replies.setdefault((reply["part"], reply["kind"]), []).append(reply["data"])
        counted = {part: int(data[0]) for (part, kind), data in replies.items() if kind == tasks.ROW_NUMBER}
        return cls(replies, _by_part(list(counted), list(counted.values())))

    @property
    def total(self) -> int:
        """The number of rows of all partitions."""
        return int(self.rows.sum())

    def data(self, kind: str, part: int) -> Sequence[bytes]:
        """What a partition has sent of one kind, in order."""
        return self.replies.get((part, kind), ())

    def sample(self, schema: pa.Schema) -> Table:
        """The rows that were sent, in the order of the partitions."""
        parts = [tasks.read_table(data) for part in range(len(self.rows)) for data in self.data(tasks.SAMPLE, part)]
        return Table(pa.concat_tables([schema.empty_table(), *parts]))


def summed(counts: DataFrame, cells: int) -> pa.Table:
    """The counts per cell of all partitions, as they came or summed by Spark."""
    from pyspark.sql import functions as F

    if cells > MAX_SENT_CELLS:
        counts = counts.groupBy("cell", "problem").agg(F.sum("count").alias("count"))
    return counts.toArrow()


def add_counts(counter: Counter, table: pa.Table) -> None:
    """Add what `tasks.count_batches` has sent from all partitions."""
    cells, counts = (table.column(name).to_numpy() for name in ("cell", "count"))
    partial = np.zeros(len(counter.partial), dtype=np.int64)
    is_cell = cells >= 0
    np.add.at(partial, cells[is_cell], counts[is_cell])
    filled = np.flatnonzero(partial)
    counter.add_partial(filled, partial[filled], int(counts[cells == tasks.ROW_COUNT].sum()))


def _by_part(parts: Any, values: Any) -> IntArray:
    """The value of each partition; zero where none was sent."""
    places = np.asarray(parts, dtype=np.int64)
    found = np.zeros(int(places.max()) + 1 if len(places) else 0, dtype=np.int64)
    found[places] = np.asarray(values, dtype=np.int64)
    return found


def _trimmed(rows: IntArray) -> IntArray:
    """Without the empty partitions at the end."""
    return np.trim_zeros(rows, "b")


def _step(rows: int, max_rows: int) -> int:
    """The power of two such that every so many-th row is in an `EvenSample`."""
    step = 1
    while -(-rows // step) > max_rows:
        step *= 2
    return step


def unsteady_rows(where: str) -> Exception:
    """Rows that come in another order, or are others, whenever Spark computes them."""
    return unreadable(
        f"the rows of {where} change between two passes",
        "keep them with `df.persist()` or `df.checkpoint()`, or write them to Parquet first",
    )

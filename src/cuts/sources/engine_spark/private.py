"""Private rows on Spark: its workers encode and sum them, and only sums reach the trusted core.

Which rows of a person count is decided inside Spark: the first ones by a column that the owner names, and by the cells
of the row where that leaves a tie or no column is named. The choice depends on the rows of that person alone. No error
quotes Spark: its messages can show cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from cuts.count.kernel import Counter
from cuts.count.marginals import Clique, Marginals
from cuts.data.codec import Codec
from cuts.data.table import Table
from cuts.privacy.reading.columns import check_header
from cuts.sources.engine_spark import private_tasks, tasks
from cuts.sources.engine_spark.columns import arrow_types, by_position, is_plain
from cuts.sources.engine_spark.rows import add_counts
from cuts.sources.engine_spark.session import check_workers, quiet_pyspark, run_task
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_UNREADABLE = "\ufffd"  # several unreadable texts look the same, so they identify nobody


@dataclass(frozen=True, slots=True, eq=False)
class PrivateSparkRows:
    """The private rows of a Spark DataFrame, which is called `where` in messages; `order` is a column or None."""

    frame: DataFrame
    where: str
    order: str | None = None
    _names: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_names", tuple(self.frame.columns))
        if self.order is not None:
            check_header(self._names, [self.order], self.where)
            kind = self.frame.schema.fields[self._names.index(self.order)].dataType
            if not is_plain(kind):
                raise CutsError([no_order(self.order, kind.simpleString(), self.where)])

    def blocks(self, names: Sequence[str]) -> Iterator[Table]:
        """Nothing: private rows do not leave Spark."""
        raise AssertionError("private rows on Spark are counted there and never read")

    def count(self, codec: Codec, cliques: Sequence[Clique], person: str | None, max_rows: int) -> Marginals:
        """The counts of the cliques over the rows that are kept, summed by Spark."""
        from pyspark.sql import functions as F

        names = [bins.column.name for bins in codec.columns]
        rows, columns = self._kept(names, person, max_rows)
        task = partial(
            private_tasks.count_cells,
            columns=columns,
            codec=tasks.codec_bytes(codec),
            cliques=tasks.clique_bytes(cliques),
        )
        counts = run_task(rows, task, tasks.COUNTS).groupBy("cell").agg(F.sum("count").alias("count"))
        found = _collected(lambda: counts.toArrow(), "cell")
        counter = Counter(codec, cliques)
        add_counts(counter, found)
        return counter.counts()

    def count_values(self, columns: Sequence[str], person: str | None, max_rows: int) -> dict[str, dict[str, int]]:
        """How often each text occurs in some columns, summed by Spark."""
        from pyspark.sql import functions as F

        names = list(dict.fromkeys(columns))
        rows, sent = self._kept(names, person, max_rows)
        task = partial(private_tasks.count_texts, columns=sent, count=len(names))
        counts = run_task(rows, task, private_tasks.VALUES).groupBy("place", "text").agg(F.sum("count").alias("count"))
        found = _collected(lambda: counts.toArrow(), "place")
        texts: dict[str, dict[str, int]] = {name: {} for name in columns}
        for row in found.to_pylist():
            texts[names[row["place"]]][row["text"]] = row["count"]
        return texts

    def _kept(self, names: Sequence[str], person: str | None, max_rows: int) -> tuple[DataFrame, bytes]:
        """The columns `names` of the rows that count, and their Arrow schema; lists and the like are missing."""
        from pyspark.sql import functions as F

        check_header(self._names, [*names, *([] if person is None else [person])], self.where)
        check_workers(self.frame.sparkSession)
        places = {name: place for place, name in enumerate(self._names)}
        rows = by_position(self.frame)
        if person is not None:
            rows = self._first_rows(rows, places[person], max_rows)
        plain = {f.name: is_plain(f.dataType) for f in rows.schema.fields}
        columns = [f"c{places[name]}" for name in names]
        kept = rows.select(
            *(F.col(c) if plain[c] else F.lit(None).cast("string").alias(c) for c in columns),
        )
        types = arrow_types(kept, self.where)
        return kept, tasks.schema_bytes(pa.schema(list(zip(names, types, strict=True))))

    def _first_rows(self, rows: DataFrame, person: int, max_rows: int) -> DataFrame:
        """The first rows of every person, in an order that only the rows of that person decide."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        key, is_somebody = _person(rows, f"c{person}")
        texts = [F.col(name).cast("string").cast("binary") for name in rows.columns]
        by_cells = [F.xxhash64(*(F.coalesce(text, F.lit(b"")) for text in texts)), *texts]
        stated = [] if self.order is None else [F.col(f"c{self._names.index(self.order)}").asc_nulls_last()]
        window = Window.partitionBy(key).orderBy(*stated, *by_cells)
        numbered = rows.filter(is_somebody).withColumn("position", F.row_number().over(window))
        return numbered.filter(F.col("position") <= max_rows).drop("position")


def _person(rows: DataFrame, name: str) -> tuple[Column, Column]:
    """What identifies a person, and whether a row has one: as the texts of `coding.cell_texts` do."""
    from pyspark.sql import functions as F

    kind, column = rows.schema[name].dataType, F.col(name)
    if not is_plain(kind):
        return F.lit(None), F.lit(False)
    match kind.typeName():
        case "float" | "double":
            return column, column.isNotNull() & ~F.isnan(column)
        case "string" | "char" | "varchar" | "binary":  # by bytes: a collation could take two persons for one
            readable = ~F.contains(F.make_valid_utf8(column.cast("string")), F.lit(_UNREADABLE))
            return column.cast("string").cast("binary"), column.isNotNull() & readable
        case _:
            return column, column.isNotNull()


def _collected(collect: Callable[[], pa.Table], flag: str) -> pa.Table:
    """The sums of all partitions; `CutsError` without a reason if a worker or Spark failed."""
    try:
        with quiet_pyspark():
            with_sums = collect()
    except Exception:  # Spark's message could show a cell
        with_sums = None
    if with_sums is None or tasks.FAILED in with_sums.column(flag).to_pylist():
        raise CutsError([spark_failed()])
    return with_sums


def spark_failed() -> Diagnostic:
    """A job on private rows that failed; the reason is withheld, because it could depend on the rows."""
    return Diagnostic(
        "core-failed",
        "Spark could not count the private rows; the reason is withheld, because it could depend on the rows",
        help="no output was written; check that Spark can read the table, then run the program again",
        exit_code=PRIVACY,
    )


def no_order(name: str, kind: str, where: str) -> Diagnostic:
    """A column that rows cannot be ordered by, because of its type."""
    return Diagnostic(
        "column-type",
        f"the rows of {where} cannot be ordered by `{name}`, which is of the Spark type {kind}",
        help="name a column of numbers, texts or moments",
    )

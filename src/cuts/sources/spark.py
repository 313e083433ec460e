"""Spark: a DataFrame in Python, `spark:TABLE` and `spark:PATH` on the command line. Rows are read where they are.

A place with a slash or with the extension of a table file is a path, anything else the name of a table. Which session
reads it is decided in `engine_spark/session.py`.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuts.data.exchange.readable import unreadable
from cuts.sources.registry import SourceKind, add_source, has_scheme
from cuts.text.diagnostic import PRIVACY, CutsError, Diagnostic, usage_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cuts.sources.engine_spark.private import PrivateSparkRows
    from cuts.sources.engine_spark.rows import SparkRows

SCHEME = "spark"
_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".orc": "orc",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
_COMPRESSED = (".gz", ".zst", ".bz2")


@dataclass(frozen=True, slots=True, eq=False)
class SparkSource:
    """The rows of a Spark DataFrame. `order` is the column that decides which rows of a person come first."""

    frame: DataFrame
    order: str | None = None

    @property
    def name(self) -> str:
        """A DataFrame has no name of its own."""
        return "table"

    @property
    def schema(self) -> None:
        """None: a DataFrame comes without a schema of ours."""
        return None

    @property
    def paths(self) -> tuple[Path, ...]:
        """None: Spark reads whatever the DataFrame is made of."""
        return ()

    def rows(self) -> SparkRows:
        """The rows, counted by Spark's workers."""
        from cuts.sources.engine_spark.rows import SparkRows

        return SparkRows(self.frame, "the Spark DataFrame")

    def private_rows(self) -> PrivateSparkRows:
        """The rows as the trusted core has them counted."""
        from cuts.sources.engine_spark.private import PrivateSparkRows

        return PrivateSparkRows(self.frame, "the Spark DataFrame", self.order)


@dataclass(frozen=True, slots=True)
class SparkLocation:
    """A table of Spark's catalogue, or files that Spark can reach: `spark:sales.orders`, `spark:s3a://bucket/orders`."""

    location: str

    @property
    def name(self) -> str:
        """The name of the table, or of the file or folder without its endings."""
        place = self._place.rstrip("/")
        return Path(place).name.split(".")[0] if is_path(place) else place.split(".")[-1].strip("`")

    @property
    def schema(self) -> None:
        """None: tables of Spark come without a schema of ours."""
        return None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The file or folder, if it is on this machine."""
        path = Path(self._place.removeprefix("file:"))
        return (path,) if is_path(self._place) and os.path.exists(path) else ()

    def rows(self) -> SparkRows:
        """The rows, counted by Spark's workers; `CutsError` if there is no such table."""
        from cuts.sources.engine_spark.rows import SparkRows

        return SparkRows(self._frame(), self._where)

    def private_rows(self) -> PrivateSparkRows:
        """The rows as the trusted core has them counted; `CutsError` for text files.

        Spark infers the types of CSV and JSON files from all rows, and a line of too many cells stops its reader: one
        row could change how the others are counted, or whether they are.
        """
        from cuts.sources.engine_spark.private import PrivateSparkRows

        if is_path(self._place) and _format_of(self._place) in ("csv", "json"):
            raise CutsError([private_text(self._where)])
        return PrivateSparkRows(self._frame(), self._where, split_order(self.location)[1])

    @property
    def _place(self) -> str:
        return split_order(self.location)[0]

    @property
    def _where(self) -> str:
        return f"{SCHEME}:{self._place}"

    def _frame(self) -> DataFrame:
        from cuts.sources.engine_spark.session import find_session, reported

        place = self._place  # a location that says nothing is an error before Spark starts
        session = find_session()
        with reported("opening", self._where):
            if not is_path(place):
                return session.table(place)
            format = _format_of(place)
            reader = session.read.format(format)
            if format == "csv":
                separator = "\t" if ".tsv" in place.lower() else ","
                reader = reader.options(header=True, inferSchema=True, sep=separator, escape='"')
            return reader.load(place)


def from_spark(frame: DataFrame, *, order: str | None = None) -> SparkSource:
    """A DataFrame as a source, to state in which order the rows of a person come.

    A private program keeps the first rows of each person. Without `order`, which rows these are depends on the cells
    of each row alone, but not on any column in particular.
    """
    return SparkSource(frame, order)


def split_order(location: str) -> tuple[str, str | None]:
    """The table or path of a location, and the column after `?order=`.

    >>> split_order("spark:sales.visits?order=day"), split_order("spark:/data/visits")
    (('sales.visits', 'day'), ('/data/visits', None))
    """
    place, mark, rest = location.removeprefix(f"{SCHEME}:").partition("?order=")
    option = re.search(r"\?(\w+)=", place)
    if not place or (mark and not rest) or option is not None:
        what = "an empty name" if option is None else f"the unknown option `{option[1]}`"
        raise unreadable(f"`{location}` has {what}", "write `spark:TABLE`, `spark:PATH` or `spark:TABLE?order=COLUMN`")
    return place, rest or None


@dataclass(frozen=True, slots=True)
class SparkPath:
    """A path that Spark writes a table to, as a folder of Parquet files."""

    path: str

    def __str__(self) -> str:
        return f"{SCHEME}:{self.path}"


def spark_path(output: str) -> SparkPath | None:
    """The path in an output of the form `spark:PATH`; None for other outputs.

    >>> spark_path("spark:s3a://bucket/out"), spark_path("out.csv")
    (SparkPath(path='s3a://bucket/out'), None)
    """
    if not has_scheme(output, SCHEME):
        return None
    path = output.removeprefix(f"{SCHEME}:")
    if not path:
        raise usage_error("unwritable-file", f"`{output}` names no path", "write `-o spark:PATH`")
    return SparkPath(path)


def is_path(place: str) -> bool:
    """Whether a place is a path rather than the name of a table.

    >>> is_path("sales.orders"), is_path("orders.parquet"), is_path("hdfs://host/orders"), is_path("orders/")
    (False, True, True, True)
    """
    return "/" in place or "\\" in place or _known_ending(place) is not None


def _known_ending(place: str) -> str | None:
    name = place.lower()
    for ending in _COMPRESSED:
        name = name.removesuffix(ending)
    return next((ending for ending in _FORMATS if name.endswith(ending)), None)


def _format_of(place: str) -> str:
    """Spark's name of the format of a file; a folder without an extension has Parquet files."""
    ending = _known_ending(place)
    return "parquet" if ending is None else _FORMATS[ending]


def private_text(where: str) -> Diagnostic:
    """Text files, which Spark reads in a way that one private row can change for all others."""
    return Diagnostic(
        "not-supported",
        f"private rows of {where} cannot be counted by Spark: how it reads CSV and JSON files depends on their rows",
        help="name the files without `spark:`, write them as Parquet, or pass a DataFrame read with a stated schema",
        exit_code=PRIVACY,
    )


def _is_spark(data: object) -> bool:
    """Whether Spark has the rows; pyspark is not imported for anything else."""
    if isinstance(data, SparkSource) or has_scheme(data, SCHEME):
        return True
    pyspark = sys.modules.get("pyspark.sql")
    return pyspark is not None and isinstance(data, pyspark.DataFrame)


def _open(data: Any) -> SparkSource | SparkLocation:
    if isinstance(data, str):
        split_order(data)  # a location that is wrong is refused before Spark is started
        return SparkLocation(data)
    return data if isinstance(data, SparkSource) else SparkSource(data)


add_source(SourceKind("spark", _is_spark, lambda data, _: _open(data)))

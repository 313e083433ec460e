"""Spark on this machine: a Parquet file in several partitions, and a DataFrame.

One session serves all tests of a process: `local[2]`, reachable from this machine only. A folder of files would do as
well, but Spark reads its files in the order of their sizes.
"""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from pyarrow import parquet as pq

from cuts.sources.engine_spark.session import find_session
from cuts.sources.spark import from_spark
from engines import Engine

ROW_GROUP = 500  # rows; each partition has a few
PARTITION_BYTES = 64_000


def missing() -> str | None:
    """Why Spark cannot be tested here."""
    if not find_spec("pyspark"):
        return "pyspark is not installed"
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        return "Spark needs Java 17, which is not installed"
    return None


@cache
def session() -> Any:
    """The session of all tests, with few and small partitions."""
    # PySpark passes the path on to its workers: the package that is tested need not be the installed one.
    here = {"SPARK_MASTER": "local[2]", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with patch.dict(os.environ, here):
        made = find_session()
    made.conf.set("spark.sql.shuffle.partitions", 2)
    made.conf.set("spark.sql.files.maxPartitionBytes", PARTITION_BYTES)
    return made


def parquet_file(folder: Path, table: pa.Table) -> Path:
    """The table as a file that Spark reads in several partitions."""
    pq.write_table(table, folder / "awkward.parquet", row_group_size=ROW_GROUP)
    return folder / "awkward.parquet"


def _file(folder: Path, table: pa.Table) -> str:
    session()
    return f"spark:{parquet_file(folder, table)}?order=id"


def frame_of(table: pa.Table) -> Any:
    """The table as a DataFrame in two partitions."""
    spark = session()
    spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")  # what moments without a time zone become
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of pyspark, about the version of pandas
            return spark.createDataFrame(table)
    finally:
        spark.conf.unset("spark.sql.timestampType")


def _frame(_: Path, table: pa.Table) -> Any:
    return from_spark(frame_of(table), order="id")


ENGINES = (
    Engine("spark-file", _file, missing, lacks=("opens", "stay")),  # Spark reads neither from Parquet
    Engine("spark-frame", _frame, missing, lacks=("opens",)),
)

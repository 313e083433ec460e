"""The Spark session that reads tables, and Spark's failures as errors that say what to do.

An active session is used as it is. Otherwise one is started: with the master of `SPARK_MASTER`, or of Spark's own
settings (`spark-defaults.conf`, `PYSPARK_SUBMIT_ARGS`), or on all cores of this machine, reachable from this machine
alone. Settings in `spark-defaults.conf` win over ours.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from subprocess import DEVNULL
from typing import TYPE_CHECKING

from cuts.data.exchange.readable import unreadable
from cuts.data.exchange.streams import reason
from cuts.sources.engine_spark.tasks import error_in, version
from cuts.text.diagnostic import CutsError, usage_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOCAL_MASTER = "local[*]"
LOOPBACK = "127.0.0.1"
PROBE = "version string"
_ABSENT = ("TABLE_OR_VIEW_NOT_FOUND", "PATH_NOT_FOUND", "SCHEMA_NOT_FOUND", "CATALOG_NOT_FOUND")
_ERROR_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")  # to stderr, in every process with pyspark
_QUIET = {
    "spark.app.name": "cuts",
    "spark.log.level": "OFF",  # failures become errors of ours; Spark would print stack traces as well
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",  # the time zone of moments must not depend on the machine
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
}


def find_session() -> SparkSession:
    """The active session, or a new one; `CutsError` if pyspark or Java is missing."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise missing_spark() from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if "SPARK_REMOTE" in os.environ:
        with reported("connecting to", "Spark"):
            return SparkSession.builder.getOrCreate()
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        raise missing_java()
    return _started(settings(os.environ))


def settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The settings of a new session that neither Spark's own files nor its arguments decide.

    >>> settings({"SPARK_MASTER": "spark://head:7077"})["spark.master"]
    'spark://head:7077'
    >>> settings({})["spark.master"], settings({})["spark.driver.host"]
    ('local[*]', '127.0.0.1')
    """
    defaults = _defaults(environment)
    is_given = "--master" in environment.get("PYSPARK_SUBMIT_ARGS", "")
    master = environment.get("SPARK_MASTER") or (None if is_given else defaults.get("spark.master", LOCAL_MASTER))
    ours = dict(_QUIET)
    if master is not None:
        ours["spark.master"] = master
        if master.startswith("local"):
            ours |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    return {key: value for key, value in ours.items() if key not in defaults or key == "spark.master"}


def _defaults(environment: Mapping[str, str]) -> dict[str, str]:
    """The settings in `spark-defaults.conf`."""
    home = environment.get("SPARK_HOME")
    folder = environment.get("SPARK_CONF_DIR") or (None if home is None else str(Path(home, "conf")))
    file = None if folder is None else Path(folder, "spark-defaults.conf")
    if file is None or not file.is_file():
        return {}
    lines = (line.strip() for line in file.read_text(encoding="utf-8", errors="replace").splitlines())
    pairs = (re.split(r"\s*[=\s]\s*", line, maxsplit=1) for line in lines if line and not line.startswith("#"))
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def _started(chosen: Mapping[str, str]) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    if chosen.get("spark.master", "").startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    conf = SparkConf(loadDefaults=False)
    conf.setAll(list(chosen.items()))
    with quiet_pyspark():
        try:
            # What Java prints when it starts is about Java; whoever asks for Spark's log in its settings sees that too.
            printed = DEVNULL if "spark.log.level" in chosen else None
            gateway = launch_gateway(conf, {"stderr": printed})  # type: ignore[no-untyped-call]
            context = SparkContext(gateway=gateway, conf=SparkConf(_jvm=gateway.jvm).setAll(list(chosen.items())))
        except PySparkException:
            raise missing_java() from None
        except Exception as error:  # of Java, by many names
            raise no_session(chosen.get("spark.master"), error) from None
        return SparkSession(context)


@contextmanager
def reported(doing: str, where: str) -> Iterator[None]:
    """What Spark raises as one `CutsError` without Java's stack traces, about doing something with a table."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    with quiet_pyspark():
        try:
            yield
        except PySparkException as error:
            raise _problem(doing, where, str(error), error.getCondition()) from None
        except (Py4JError, OSError, EOFError) as error:  # the connection to Java is gone
            raise _problem(doing, where, str(error), None) from None


@contextmanager
def quiet_pyspark() -> Iterator[None]:
    """Without the warnings of pyspark about other packages, and without its log of errors, which quotes cells."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in _ERROR_LOGGERS]
    before = [logger.disabled for logger in loggers]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*pandas.*", category=FutureWarning)
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        try:
            for logger in loggers:
                logger.disabled = True
            yield
        finally:
            for logger, was_disabled in zip(loggers, before, strict=True):
                logger.disabled = was_disabled


def _problem(doing: str, where: str, message: str, condition: str | None) -> CutsError:
    known = error_in(message)
    if known is not None:
        return known
    if condition in _ABSENT:
        name = where.partition(":")[2]
        if "/" not in name and Path(name).exists():  # Spark was asked for a table of its catalogue
            return unreadable(
                f"Spark has no table `{name}`", f"to read the files in {name}, write a path: `spark:./{name}`"
            )
        return unreadable(f"{where} does not exist", "check the name, and whether Spark can reach it")
    if condition == "PATH_ALREADY_EXISTS":
        return usage_error("unwritable-file", f"{where} exists already", "name a path that does not exist yet")
    if re.search(r"ExecutorLostFailure|executor \S+ exited|ExecutorDeadException", message):
        return unreadable(
            f"{doing} {where} failed: Spark lost an executor", "give the executors more memory, and run it again"
        )
    absent = re.search(r"No module named '?(\w+)", message)
    if absent is not None:  # `cuts`, or a package that it needs
        return missing_on_workers(absent[1])
    what = condition or reason(RuntimeError(message)) or "the connection to Spark is gone"  # without values of cells
    help = "Spark's log has the details: set `spark.log.level` to ERROR in spark-defaults.conf to see it"
    return unreadable(f"{doing} {where} failed: {what}", help)


@lru_cache(maxsize=8)
def check_workers(session: SparkSession) -> None:
    """Raise unless a worker can import this package in this version; a session is asked once."""
    ours = import_module("cuts").__version__
    with reported("starting", "Python on a Spark worker"):
        found = session.range(1).mapInArrow(version, PROBE).toArrow().column(0).to_pylist()
    if found != [ours]:
        raise other_version(str(found[0]), ours)


def run_task(frame: DataFrame, task: object, columns: str) -> DataFrame:
    """The frame that a function of Arrow batches makes of each partition."""
    with quiet_pyspark():
        return frame.mapInArrow(task, columns)  # type: ignore[arg-type]


# --- what is wrong


def missing_spark() -> CutsError:
    """No pyspark here."""
    return usage_error("missing-extra", "reading from Spark needs pyspark", 'install with `pip install "cuts[spark]"`')


def missing_java() -> CutsError:
    """No Java here, or too old a one."""
    help = "install Java 17 or newer, or set JAVA_HOME"
    return usage_error("missing-extra", "Spark cannot start: it needs Java 17 or newer", help)


def missing_on_workers(module: str) -> CutsError:
    """Workers whose Python lacks this package, or one that it needs."""
    help = (
        "set PYSPARK_PYTHON, before the session starts, to a Python that has `cuts`; "
        "on a cluster run `pip install cuts` there, or ship an environment with `spark.archives`"
    )
    return usage_error("missing-extra", f"the Spark workers cannot import `{module}`", help)


def other_version(found: str, ours: str) -> CutsError:
    """Workers with another version of this package, which may count differently."""
    help = f"install the same version on the workers: `pip install cuts=={ours}`"
    return usage_error("missing-extra", f"the Spark workers have `cuts` {found}, but this is {ours}", help)


def no_session(master: str | None, error: Exception) -> CutsError:
    """A master that does not answer, or settings that Spark refuses."""
    where = "" if master is None else f" with the master `{master}`"
    return unreadable(
        f"Spark cannot start{where}: {reason(error) or type(error).__name__}",
        "check SPARK_MASTER and spark-defaults.conf",
    )

"""Rows on Spark: what goes wrong is one clear error, private rows stay there, and drawn rows are those drawn here.

That counts, samples and models are those of a frame is tested for every engine in `conformance/test_engines.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from console import run as run_command
from cuts.count.kernel import count_rows
from cuts.count.marginals import Marginals
from cuts.count.survey import spread_sample, survey
from cuts.data.codec import build_codec
from cuts.data.schema import Category, Integer, Schema
from cuts.data.table import Table
from cuts.flow import spark_draw
from cuts.flow.run import fit, make_request
from cuts.flow.spark_draw import sample_spark
from cuts.model.sampling import sample_table
from cuts.model.store import Model, save
from cuts.privacy.core import count_rows as count_private
from cuts.privacy.secret import reveal
from cuts.sources.engine_spark import rows as spark_rows
from cuts.sources.engine_spark.session import settings
from cuts.sources.registry import open_source
from cuts.sources.spark import from_spark
from cuts.synthesizer import Synthesizer
from cuts.text.diagnostic import CutsError
from engines import spark as engine

SECRET = "Jane Roe, 12 High Street"
SCHEMA = Schema("t", (Integer("age", 0, 9, 5), Category("sex", ("f", "m"), missing=True)))
CODEC = build_codec(SCHEMA, {})
CLIQUES = [("age",), ("age", "sex")]


@pytest.fixture(scope="module")
def spark() -> Any:
    reason = engine.missing()
    if reason is not None:
        pytest.skip(reason)
    return engine.session()


def people(rows: int = 2_000) -> pa.Table:
    rng = np.random.default_rng(5)
    sexes = np.array(["f", "m", None], dtype=object)[rng.integers(0, 3, rows)]
    return pa.table({"id": np.arange(rows), "age": rng.integers(0, 10, rows), "sex": pa.array(sexes, pa.string())})


def problem(call: Any) -> str:
    """The one error of a call, which says nothing of Java and carries no other exception along."""
    with pytest.raises(CutsError) as caught:
        call()
    (diagnostic,) = caught.value.diagnostics
    text = f"{diagnostic.code}: {diagnostic.title}\n{diagnostic.help}"
    assert "java" not in text.lower()
    assert "Traceback" not in text
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return text


# --- what goes wrong


def test_a_table_or_path_that_is_absent_is_named(spark: Any, tmp_path: Path) -> None:
    assert "spark:no_such_table does not exist" in problem(open_source("spark:no_such_table").rows)
    assert "absent.parquet does not exist" in problem(open_source(f"spark:{tmp_path}/absent.parquet").rows)
    assert "unknown option `table`" in problem(lambda: open_source("spark:a?table=b").rows())


def test_columns_that_hold_no_plain_values_are_named(spark: Any) -> None:
    for value in ("array(1, 2)", "map('a', 1)", "struct(1 AS a)", "parse_json('{}')"):
        frame = spark.sql(f"SELECT 1 AS fine, {value} AS odd")
        assert "the column `odd` is of the Spark type" in problem(open_source(frame).rows)
    rows = open_source(spark.sql("SELECT X'00' AS odd, 1 AS fine")).rows()
    assert "leave it out with `--drop odd`" in problem(lambda: survey(rows, "t"))


def test_a_row_outside_the_schema_is_the_error_of_a_frame(spark: Any) -> None:
    table = people()
    ages = table.column("age").to_pylist()
    ages[-1] = 77
    broken = table.set_column(1, "age", pa.array(ages))
    there = problem(lambda: count_rows(open_source(engine.frame_of(broken)).rows(), CODEC, CLIQUES))
    here = problem(lambda: count_rows(open_source(broken).rows(), CODEC, CLIQUES))
    assert there.startswith("outside-schema: in the rows of partition 1")
    assert "77 is not a whole number from 0 to 9" in there
    assert "77 is not a whole number from 0 to 9" in here
    absent = build_codec(Schema("t", (Integer("size", 0, 9),)), {})
    assert problem(lambda: count_rows(open_source(engine.frame_of(table)).rows(), absent, [("size",)])) == problem(
        lambda: count_rows(open_source(table).rows(), absent, [("size",)])
    )


def failing_frame(spark: Any) -> Any:
    """Rows that Spark itself fails on, with a message that shows a cell."""
    frame = spark.range(20).selectExpr("CAST(id % 10 AS INT) AS age", "'f' AS sex", "id AS person")
    return frame.selectExpr(f"IF(person > 15, raise_error('{SECRET}'), age) AS age", "sex", "person")


def test_a_job_that_fails_is_one_error(spark: Any) -> None:
    rows = open_source(failing_frame(spark)).rows()
    text = problem(lambda: count_rows(rows, CODEC, CLIQUES))
    assert text.startswith("unreadable-table: counting the Spark DataFrame failed")
    assert SECRET not in text


def test_rows_that_change_between_passes_are_refused(spark: Any) -> None:
    from pyspark.sql import functions as F

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chance = F.udf(lambda: os.urandom(1)[0], "int").asNondeterministic()
    unsteady = spark.range(4_000).withColumn("x", chance()).filter("x < 128")
    assert "change between two passes" in problem(lambda: spread_sample(open_source(unsteady).rows(), max_rows=100))


def test_a_table_without_rows_is_refused(spark: Any) -> None:
    empty = engine.frame_of(people()).filter("age > 99")
    assert "has no rows" in problem(lambda: survey(open_source(empty).rows(), "t"))


# --- rows


def test_names_may_be_anything_and_shuffled_rows_are_sampled(spark: Any) -> None:
    table = pa.table(
        {"a.b": [1, 2, 3], "x`y": ["u", "v", "u"], "Case": [1, 1, 2], "case": [5, 6, 7], "with blank": [0] * 3}
    )
    frame = engine.frame_of(table)
    found = pa.concat_tables([block.arrow for block in open_source(frame).rows().blocks()])
    assert found.equals(table)
    shuffled = engine.frame_of(people()).repartition(5, "age")
    sample = spread_sample(open_source(shuffled).rows(), max_rows=1_000)
    assert (sample.rows, len(set(sample.column("id").to_pylist()))) == (1_000, 1_000)


def test_digests_of_many_partitions_are_merged_by_spark(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_rows, "MAX_SENT_DIGESTS", 2)
    ids, table = [f"C-{number:05d}" for number in range(2_000)], people()
    table = table.append_column("code", pa.array(ids)).append_column("note", pa.array([text[:4] for text in ids]))
    spread = engine.frame_of(table).repartitionByRange(7, "id").sortWithinPartitions("id").persist()
    there, here = (survey(open_source(data).rows(), "t", max_rows=300) for data in (spread, table))
    assert there.schema == here.schema
    assert there.sample.arrow.equals(here.sample.arrow)
    spread.unpersist()


def test_a_table_of_the_catalogue_is_counted(spark: Any) -> None:
    engine.frame_of(people()).createOrReplaceTempView("visitors")
    source = open_source("spark:visitors")
    there = count_rows(source.rows(), CODEC, CLIQUES)
    assert source.name == "visitors"
    assert_array_equal(
        there.table(("age", "sex")), count_rows(open_source(people()).rows(), CODEC, CLIQUES).table(("age", "sex"))
    )


def test_a_synthesizer_fits_a_dataframe(spark: Any) -> None:
    fitted = Synthesizer(config={"components": 5, "steps": 10}).fit(engine.frame_of(people().drop_columns(["id"])))
    assert fitted.sample(10).column_names == ["age", "sex"]


def test_settings_come_from_the_environment(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("# ours\nspark.master yarn\nspark.log.level=INFO\n")
    ours = settings({"SPARK_CONF_DIR": str(tmp_path)})
    assert ours["spark.master"] == "yarn"
    assert not {"spark.log.level", "spark.driver.host"} & set(ours)
    assert "spark.master" not in settings({"PYSPARK_SUBMIT_ARGS": "--master yarn pyspark-shell"})


# --- private rows

PERSONS = {
    "texts": pa.array(["a", "A", " a", "a\ufffd", None, "", "é", "e\u0301"] * 4, pa.string()),
    "numbers": pa.array([0.0, -0.0, float("nan"), None, 1.0, 1.5, float("inf"), 1e300] * 4),
    "bytes": pa.array([b"a", b"\xff", b"\xfe", None, b"", b"A", "é".encode(), b"a"] * 4, pa.binary()),
    "whole": pa.array([1, 2, None, 1, 3, 3, 2, 2] * 4),
    "days": pa.array([1, 2, None, 1, 3, 3, 2, 2] * 4, pa.int32()).cast(pa.date32()),
    "truths": pa.array([True, None, False, True, True, True, False, None] * 4),
}


def private(source: Any, max_rows: int, person: str | None = "person") -> Marginals:
    return reveal(count_private(source.private_rows(), CODEC, CLIQUES, person=person, max_rows=max_rows))


@pytest.mark.parametrize("kind", PERSONS)
def test_a_person_is_what_the_core_takes_for_one(spark: Any, kind: str) -> None:
    table = people(32).append_column("person", PERSONS[kind])
    there, here = private(from_spark(engine.frame_of(table), order="id"), 2), private(open_source(table), 2)
    assert there.rows == here.rows
    for clique in CLIQUES:
        assert_array_equal(there.table(clique), here.table(clique))


def test_without_an_order_the_choice_does_not_depend_on_where_rows_are(spark: Any) -> None:
    table = people(400).append_column("person", pa.array(np.arange(400) % 60))
    frame = engine.frame_of(table)
    first, second = private(open_source(frame), 3), private(open_source(frame.orderBy("id").repartition(3)), 3)
    assert first.rows == second.rows == 180
    assert_array_equal(first.table(("age", "sex")), second.table(("age", "sex")))
    assert "has no column `nothing`" in problem(from_spark(frame, order="nothing").private_rows)


def test_no_error_about_private_rows_shows_a_cell(spark: Any, capfd: pytest.CaptureFixture[str]) -> None:
    source = from_spark(failing_frame(spark))
    text = problem(lambda: private(source, 1, person=None))
    assert text.startswith("core-failed: Spark could not count the private rows; the reason is withheld")
    assert SECRET not in text
    assert SECRET not in "".join(capfd.readouterr())


def test_pyspark_does_not_print_a_cell_either(spark: Any, capfd: pytest.CaptureFixture[str]) -> None:
    from pyspark.sql import functions as F

    frame = spark.range(9).select(F.expr(f"CAST(IF(id = 7, '{SECRET}', '1') AS INT) AS age"), F.lit("f").alias("sex"))
    assert problem(lambda: private(open_source(frame), 1, person=None)).startswith("core-failed")
    assert problem(lambda: count_rows(open_source(frame).rows(), CODEC, CLIQUES)).startswith("unreadable-table")
    assert SECRET not in "".join(capfd.readouterr())


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv.gz", "rows.jsonl", "rows.json"])
def test_private_text_files_are_refused_because_one_line_could_change_the_others(spark: Any, name: str) -> None:
    text = problem(open_source(f"spark:folder/{name}").private_rows)
    assert text.startswith(f"not-supported: private rows of spark:folder/{name} cannot be counted by Spark")


def test_a_column_without_an_order_is_refused(spark: Any) -> None:
    frame = spark.sql("SELECT 3 AS age, 'f' AS sex, 1 AS person, map('a', 1) AS tags")
    text = problem(from_spark(frame, order="tags").private_rows)
    assert text.startswith("column-type: the rows of the Spark DataFrame cannot be ordered by `tags`")


def test_lists_are_missing_and_private_rows_are_never_read(spark: Any) -> None:
    frame = spark.sql("SELECT 3 AS age, array('f') AS sex UNION ALL SELECT 4, array('m')")
    assert private(open_source(frame), 1, person=None).table(("sex",)).tolist() == [0, 0, 2]
    with pytest.raises(AssertionError, match="never read"):
        open_source(frame).private_rows().blocks(["age"])


# --- drawing


@pytest.fixture(scope="module")
def model() -> Model:
    table = Table(people(300))
    program = "SYNTHESIZE: people; ENFORCE: age <= 8; ENFORCE: E[age] == 4 WITHIN 0.2; END;"
    return fit(make_request(program, table.arrow, config={"components": 8, "steps": 20, "smoothing": 0.001})).model


@pytest.mark.parametrize(("rows", "where"), [(70_000, "age > 2"), (300, None)])
def test_the_rows_are_those_drawn_here(spark: Any, model: Model, rows: int, where: str | None) -> None:
    there = sample_spark(model, rows, spark, where=where, seed=4).toArrow()
    assert there.equals(sample_table(model, rows, where=where, seed=4).arrow)


def test_what_no_row_satisfies_is_reported_before_spark_starts(spark: Any, model: Model) -> None:
    assert problem(lambda: sample_spark(model, 10, spark, where="age > 8")).startswith("empty-support")


def test_the_command_writes_a_folder_and_verifies_it(
    spark: Any, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_draw, "MAX_KEPT", 100)  # so that the verdicts come from totals
    save(model, tmp_path / "m.synth")
    words = [
        "cuts",
        "sample",
        str(tmp_path / "m.synth"),
        "-n",
        "500",
        "--seed",
        "4",
        "-o",
        f"spark:{tmp_path}/out",
        "-q",
    ]
    output, code = run_command(words, tmp_path)
    assert (code, f"500 rows written to spark:{tmp_path}/out" in output) == (0, True), output
    written = pa.concat_tables([block.arrow for block in open_source(f"spark:{tmp_path}/out").rows().blocks()])
    assert written.equals(sample_table(model, 500, seed=4).arrow)
    output, code = run_command(words, tmp_path)
    assert (code, f"spark:{tmp_path}/out exists already" in output) == (2, True), output


# --- a cluster

CLUSTER = """
import os, signal, sys
from pathlib import Path
import pyarrow as pa
from cuts.count.kernel import count_rows
from cuts.data.codec import build_codec
from cuts.data.schema import Integer, Schema
from cuts.sources.engine_spark.session import find_session
from cuts.sources.registry import open_source

spark = find_session()
print(spark.sparkContext.master)

def die_once(batches, marker=sys.argv[1]):
    for batch in batches:
        if batch.column(0)[0].as_py() == 0 and not os.path.exists(marker):
            Path(marker).touch()
            os.kill(int(Path(f"/proc/{os.getppid()}/stat").read_text().rsplit(")", 1)[1].split()[1]), signal.SIGKILL)
        yield batch

frame = spark.range(0, 1000, 1, 4).mapInArrow(die_once, "id bigint").selectExpr("id % 10 AS x")
counts = count_rows(open_source(frame).rows(), build_codec(Schema("t", (Integer("x", 0, 9, 10),)), {}), [("x",)])
print(counts.rows, counts.table(("x",)).tolist(), os.path.exists(sys.argv[1]))
"""


def test_a_cluster_counts_and_survives_the_loss_of_an_executor(tmp_path: Path) -> None:
    reason = engine.missing()
    if reason is not None:
        pytest.skip(reason)
    environment = {
        **os.environ,
        "SPARK_MASTER": "local-cluster[2,1,1024]",  # two workers, each a process with one core
        "SPARK_WORKER_DIR": str(tmp_path / "work"),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    command = [sys.executable, "-W", "ignore", "-c", CLUSTER, str(tmp_path / "died")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["local-cluster[2,1,1024]", f"1000 {[100] * 10} True"]

"""`cuts datasets`: the list of the embedded tables, the description of one, and its rows in a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cuts.cli import app
from cuts.datasets import DATASETS, Dataset, load_schema


def run(*words: str) -> str:
    done = CliRunner().invoke(app, ["datasets", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda dataset: dataset.name)
def test_a_named_table_is_described_with_one_line_per_column(dataset: Dataset) -> None:
    head, _, body = run(dataset.name).partition("\n\n")
    schema = load_schema(dataset)
    assert head.splitlines()[0] == dataset.title
    assert dataset.source in head
    assert dataset.licence in head
    assert f"{dataset.train:,} train, {dataset.test:,} test; {len(schema.columns)} columns" in head
    title, *lines = body.splitlines()
    assert title.split() == ["column", "kind", "role", "values"]
    assert tuple(line.split()[0] for line in lines) == schema.names


def test_a_description_names_kinds_roles_ranges_and_categories() -> None:
    by_column = {line.split()[0]: " ".join(line.split()[1:]) for line in run("credit").splitlines() if line}
    assert by_column["amount"] == "integer 250 to 18424"
    assert by_column["risk"] == "category label bad, good"
    assert by_column["sex"] == "category protected female, male"
    assert by_column["employed_since"].startswith("ordered category unemployed, below_1_year, ")


def test_categories_that_do_not_fit_on_a_line_are_counted() -> None:
    (line,) = [line for line in run("adult").splitlines() if line.startswith("native_country")]
    assert line.endswith("Philippines and 25 more")


def test_the_json_of_a_description_contains_the_whole_schema() -> None:
    described = json.loads(run("adult", "--format", "json"))
    assert (described["name"], described["train"], described["licence"]) == ("adult", 30_162, "CC BY 4.0")
    assert len(described["schema"]["columns"]["native_country"]["categories"]) == 41
    assert described["schema"]["label"] == "salary"


def test_the_json_list_names_every_table() -> None:
    assert [entry["name"] for entry in json.loads(run("--format", "json"))] == ["adult", "credit", "german"]


def test_the_rows_of_credit_are_written_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "credit.csv"
    run("credit", "--split", "test", "-o", str(target))
    first, *rows = target.read_text().splitlines()
    assert first.startswith("checking_account,duration_months,")
    assert first.endswith(",risk")
    assert len(rows) == 200

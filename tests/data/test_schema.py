"""Schemas in files, inferred schemas, tables checked against them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts import datasets
from cuts.data.conform import check_table, conform
from cuts.data.exchange.files import save
from cuts.data.exchange.tables import from_frame, read_table
from cuts.data.infer import infer_schema
from cuts.data.schema import Category, Integer, Real, Schema, as_data, fingerprint
from cuts.data.schema_file import read_schema, render_toml, schema_from
from cuts.data.table import Table
from cuts.text.diagnostic import CutsError
from strategies import schemas, tables


@settings(max_examples=50, deadline=None)
@given(schemas(texts=True))
def test_a_schema_is_read_back_from_toml_and_json(tmp_path_factory: pytest.TempPathFactory, schema: Schema) -> None:
    folder = tmp_path_factory.mktemp("schema")
    (folder / "s.toml").write_text(render_toml(schema))
    (folder / "s.json").write_text(json.dumps(as_data(schema)))
    assert read_schema(folder / "s.toml") == schema
    assert read_schema(folder / "s.json") == schema


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_a_table_follows_the_schema_inferred_from_it(data: st.DataObject) -> None:
    schema = data.draw(schemas(texts=True))
    table = data.draw(tables(schema))
    try:
        inferred = infer_schema(table, "t")
    except CutsError:
        assert any(table.missing(name).all() for name in table.names)  # a column without any value is refused
        return
    assert inferred.provenance == "inferred"
    assert check_table(table, inferred) == ()


def test_the_fingerprint_changes_with_order_and_content() -> None:
    one = Schema("t", (Integer("a", 0, 1), Integer("b", 0, 1)))
    other = Schema("t", (Integer("b", 0, 1), Integer("a", 0, 1)))
    wider = replace(one, columns=(Integer("a", 0, 2), Integer("b", 0, 1)))
    assert len({fingerprint(one), fingerprint(other), fingerprint(wider)}) == 3
    assert fingerprint(one) == fingerprint(replace(one))


def test_every_mistake_in_a_schema_is_reported() -> None:
    with pytest.raises(CutsError) as caught:
        schema_from(
            {
                "name": "t",
                "lable": "x",
                "protected": ["y"],
                "columns": {
                    "a": {"kind": "intger", "range": [0, 1]},
                    "b": {"kind": "integer", "range": [3, 1]},
                    "c": {"kind": "category", "categories": ["x", "x"]},
                    "d": {"kind": "real", "range": [0, 1], "bin": 3},
                    "e": {"kind": "category"},
                },
            },
            "s.toml",
        )
    titles = [d.title for d in caught.value.diagnostics]
    assert len(titles) == 7
    helps = [d.help for d in caught.value.diagnostics]
    assert "did you mean `label`?" in helps
    assert "did you mean `integer`?" in helps
    assert "did you mean `bins`?" in helps


@pytest.mark.parametrize(
    "text",
    [
        'label = ["x"]\n[columns.a]\nkind = "real"\nrange = [0, 1]',
        'protected = [["a"]]\n[columns.a]\nkind = "real"\nrange = [0, 1]',
        '[columns.a]\nkind = "integer"\nrange = [0, 1' + "0" * 400 + "]",
        '[columns.a]\nkind = "integer"\nrange = [0, 1' + "0" * 5000 + "]",
        '[columns.a]\nkind = "real"\nrange = [0, inf]',
        '[columns.a]\nkind = "category"\ncategories = [1.5, [2]]',
        "columns = 3",
        "= =",
    ],
)
def test_a_broken_schema_is_never_a_traceback(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(CutsError) as caught:
        read_schema(tmp_path / "s.toml")
    assert {d.code for d in caught.value.diagnostics} <= {"bad-schema", "unreadable-schema"}


def test_a_table_is_checked_against_a_schema() -> None:
    schema = Schema("t", (Integer("age", 17, 90), Category("sex", ("Female", "Male")), Real("h", 0.0, 2.0)))
    table = Table(pa.table({"age": [20, 95, None], "sex": ["Male", "male", "Female"], "extra": [1, 2, 3]}))
    found = check_table(table, schema)
    assert [d.code for d in found] == [
        "extra-column",
        "unexpected-missing",
        "outside-schema",
        "outside-schema",
        "missing-column",
    ]


@pytest.mark.parametrize("name", ["adult", "credit", "german"])
@pytest.mark.parametrize("split", ["train", "test"])
def test_an_embedded_table_follows_its_schema(name: str, split: datasets.Split) -> None:
    dataset = datasets.find(name.upper())
    assert dataset is not None
    table = datasets.load(dataset, split)
    assert table.rows == getattr(dataset, split)
    assert check_table(table, datasets.load_schema(dataset)) == ()


def test_frames_of_every_kind_hold_the_same_table() -> None:
    plain = {"age": [20, 30], "sex": ["Male", None]}
    schema = Schema("t", (Integer("age", 0, 99), Category("sex", ("Female", "Male"), missing=True)))
    frames = [
        pa.table(plain),
        pd.DataFrame(plain),
        pd.DataFrame({"age": [20.0, 30.0], "sex": pd.Categorical(["Male", None])}),
        pl.DataFrame(plain),
        pl.LazyFrame(plain),
    ]
    typed = [conform(from_frame(frame), schema).arrow for frame in frames]
    assert all(table.equals(typed[0]) for table in typed)
    assert all(check_table(from_frame(frame), schema) == () for frame in frames)


def test_integer_codes_and_booleans_are_read_as_categories() -> None:
    schema = Schema("t", (Category("class", ("1", "2")), Category("flag", ("false", "true"))))
    table = Table(pa.table({"class": [1.0, 2.0], "flag": [True, False]}))
    assert check_table(table, schema) == ()
    assert conform(table, schema).column("class").to_pylist() == ["1", "2"]


def test_csv_and_parquet_give_the_same_rows_back(tmp_path: Path) -> None:
    table = Table(pa.table({"a b": [1, None, 3], "text": ["x,y", 'say "hi"', None]}))
    for ending in ("csv", "parquet"):
        save(table, tmp_path / f"t.{ending}")
        assert read_table(tmp_path / f"t.{ending}").arrow.equals(table.arrow)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.csv", b""),
        ("ragged.csv", b"a,b\n1,2\n3\n"),
        ("twice.csv", b"a,a\n1,2\n"),
        ("header.csv", b"a,b\n"),
        ("broken.parquet", b"PAR1 this is no table"),
        ("notes.txt", b"a,b\n1,2\n"),
    ],
)
def test_a_file_that_is_no_table_is_one_clear_error(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CutsError) as caught:
        conform(read_table(tmp_path / name), Schema("t", (Category("a", ("x",)),)))
    assert caught.value.exit_code == 2
    assert len(caught.value.diagnostics) == 1


def test_a_column_nothing_fits_is_refused_with_a_way_out() -> None:
    texts = [f"the patient said {i} words and left at {i} o'clock" for i in range(50)]
    table = Table(
        pa.table(
            {
                "x": [float("inf")] * 50,
                "big": [2**60 + i // 2 for i in range(50)],
                "list": [[1]] * 50,
                "huge": [1e301] * 50,
                "note": texts,
            }
        )
    )
    with pytest.raises(CutsError) as caught:
        infer_schema(table, "t")
    assert [d.code for d in caught.value.diagnostics] == ["unsupported-column"] * 4 + ["free-text"]
    assert infer_schema(table, "t", drop=["x", "big", "list", "huge"], ids=["note"]).columns[0].name == "note"


@pytest.mark.parametrize(("old", "new"), [("most_categories", "max_categories"), ("rare", "min_count")])
def test_a_key_of_an_earlier_version_is_named_as_it_is_called_now(old: str, new: str) -> None:
    with pytest.raises(CutsError) as caught:
        schema_from({old: 20, "columns": {"a": {"kind": "integer", "range": [0, 1]}}}, "t.toml")
    (problem,) = caught.value.diagnostics
    assert problem.help == f"it is now called `{new}`"

"""Real tables of different shapes go in and come back: same columns, same types, same look."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cuts import datasets
from cuts.data.binning import fit_codec
from cuts.data.codec import decode, encode
from cuts.data.column_facts import column_facts
from cuts.data.conform import check_table
from cuts.data.exchange.csv_dialect import Dialect
from cuts.data.exchange.files import FileForm, load, save
from cuts.data.exchange.frames import from_native, to_native
from cuts.data.infer import infer_schema
from cuts.data.schema import Schema, Temporal, Unmodelled
from cuts.data.table import Table

VEGA = files("vega_datasets") / "_data"

# name, columns to leave out, columns to make fresh, kinds to be found
CSV = [
    ("seattle-weather", [], [], {"date": "date", "precipitation": "real, 1 decimal", "weather": "category"}),
    (
        "la-riots",
        ["first_name", "address"],
        [],
        {"age": "integer", "death_date": "date", "latitude": "real, 8 decimals"},
    ),
    ("airports", ["name", "city"], ["iata"], {"iata": "id", "state": "category", "latitude": "real, 8 decimals"}),
    ("us-employment", [], [], {"month": "date", "nonfarm": "integer", "wholesale_trade": "real, 1 decimal"}),
    ("iowa-electricity", [], [], {"year": "date", "source": "category", "net_generation": "integer"}),
]


def through(table: Table, schema: Schema) -> Table:
    codec = fit_codec(table, schema)
    made = decode(encode(table, codec), codec, seed=1)
    assert check_table(made, schema) == ()
    for column in schema.modelled:
        assert (made.missing(column.name) == table.missing(column.name)).all()
    return made


def written_as(form: FileForm) -> tuple[Dialect, dict[str, tuple[str, int | None]]]:
    return form.dialect, {name: (format.style, format.decimals) for name, format in form.formats.items()}


@pytest.mark.parametrize(("name", "drop", "ids", "kinds"), CSV, ids=[case[0] for case in CSV])
def test_a_csv_file_comes_back_in_its_look(
    tmp_path: Path, name: str, drop: list[str], ids: list[str], kinds: dict[str, str]
) -> None:
    source = Path(str(VEGA / f"{name}.csv"))
    table, form = load(source)
    schema = infer_schema(table, name, drop=drop, ids=ids)
    facts = {fact.name: fact for fact in column_facts(table, schema)}
    assert {column: facts[column].kind for column in kinds} == kinds
    made = through(table, schema)
    kept = FileForm(
        form.kind,
        form.compression,
        made.arrow.select(made.names).schema if drop else form.schema,
        dialect=form.dialect,
        formats={column: format for column, format in form.formats.items() if column not in drop},
    )
    save(made, tmp_path / "made.csv", kept if not drop else None)
    again, found = load(tmp_path / "made.csv")
    assert again.names == tuple(column for column in table.names if column not in drop)
    if not drop:
        assert again.arrow.schema == table.arrow.schema
        assert written_as(found) == written_as(form)
    for column in schema:
        if isinstance(column, Temporal):
            assert again.column(column.name).type == table.column(column.name).type


def test_a_frame_with_missing_values_and_dates_comes_back_as_it_was() -> None:
    frame = pd.read_json(str(VEGA / "cars.json"))
    frame["Year"] = pd.to_datetime(frame["Year"])
    table, form = from_native(frame)
    schema = infer_schema(table, "cars", drop=["Name"])
    assert schema["Horsepower"].missing
    assert isinstance(schema["Year"], Temporal)
    made = through(table, schema)
    names = [name for name in frame.columns if name != "Name"]
    kept, kept_form = from_native(frame[names])
    back = to_native(made, kept_form)
    assert back.dtypes.equals(frame[names].dtypes)
    assert back["Horsepower"].isna().sum() == frame["Horsepower"].isna().sum()
    assert kept.rows == len(back)
    assert form.library == "pandas"


@pytest.mark.parametrize("name", ["adult", "german"])
def test_the_embedded_tables_keep_their_statistics(name: str) -> None:
    dataset = datasets.find(name)
    assert dataset is not None
    table, schema = datasets.load(dataset), datasets.load_schema(dataset)
    made = through(table, schema)
    assert made.arrow.schema == table.arrow.schema
    for column in schema.modelled:
        if hasattr(column, "low"):
            x, y = table.numbers(column.name), made.numbers(column.name)
            assert y.mean() == pytest.approx(x.mean(), abs=4 * x.std() / np.sqrt(len(x)))
            assert np.quantile(y, 0.99) == pytest.approx(np.quantile(x, 0.99), rel=0.1)


@pytest.mark.parametrize(
    ("rows", "columns"), [(1, 3), (40, 1), (30, 200)], ids=["one row", "one column", "200 columns"]
)
def test_small_and_wide_tables_work(rows: int, columns: int) -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({f"c{i}": rng.integers(0, 4, rows) for i in range(columns)})
    table, form = from_native(frame)
    schema = infer_schema(table, "t")
    assert not any(isinstance(column, Unmodelled) for column in schema)
    back = to_native(through(table, schema), form)
    assert back.dtypes.equals(frame.dtypes)
    assert back.shape == frame.shape

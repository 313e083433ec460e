"""SDV metadata and pandera schemas become schemas, with rows where they say too little."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pandas
import pyarrow as pa
import pytest
from pyarrow import parquet

import cuts
from cuts.data.columns import Identifier, Temporal

with warnings.catch_warnings():  # pandera loads pyspark if that is installed, which warns about pandas
    warnings.simplefilter("ignore")
    import pandera.pandas as pandera

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

HOTEL: dict[str, Any] = {
    "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
    "primary_key": "guest",
    "alternate_keys": ["card"],
    "columns": {
        "guest": {"sdtype": "email", "pii": True},
        "rewards": {"sdtype": "boolean"},
        "room": {"sdtype": "categorical"},
        "stars": {"sdtype": "categorical"},
        "fee": {"sdtype": "numerical"},
        "nights": {"sdtype": "numerical", "computer_representation": "Int64"},
        "arrival": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
        "card": {"sdtype": "id", "regex_format": "C-[0-9]{6}"},
    },
}
ROWS = pa.table(
    {
        "guest": ["ann@example.org", "bob@example.org", "cy@example.org"],
        "rewards": [True, False, None],
        "room": ["suite", "single", "single"],
        "stars": [3, 5, 4],
        "fee": [12.5, 0.0, None],
        "nights": [1, 7, 2],
        "arrival": pa.array(["2024-01-01", "2024-05-01", "2024-03-01"]).cast(pa.date32()),
        "card": ["C-000001", "C-000002", "C-000003"],
        "note": ["x", "y", "z"],
    }
)


def titles(caught: pytest.ExceptionInfo[cuts.CutsError]) -> list[str]:
    return [problem.title for problem in caught.value.diagnostics]


def test_sdv_metadata_and_rows_make_a_schema() -> None:
    schema = cuts.schema_from(HOTEL, table=ROWS, name="hotel", label="room")
    assert schema.names == tuple(HOTEL["columns"])
    assert (schema.name, schema.label, schema.provenance, schema.dropped) == ("hotel", "room", "inferred", ("note",))
    assert isinstance(schema["guest"], Identifier)
    assert schema["card"] == Identifier("card", regex="C-[0-9]{6}")
    assert schema["rewards"] == cuts.Category("rewards", ("false", "true"), missing=True)
    assert schema["stars"] == cuts.Category("stars", ("3", "4", "5"))
    assert schema["fee"] == cuts.Real("fee", 0.0, 12.5, missing=True, decimals=1)
    assert schema["nights"] == cuts.Integer("nights", 1, 7)
    assert isinstance(schema["arrival"], Temporal)
    assert schema["arrival"].kind == "date"


def test_a_schema_from_metadata_can_be_fitted() -> None:
    rows = pa.concat_tables([ROWS] * 20)
    schema = cuts.schema_from(HOTEL, table=rows)
    sample = cuts.Synthesizer(schema=schema, config={"steps": 10}).fit(rows).sample(5)
    assert sample.column_names == list(HOTEL["columns"])


def test_without_rows_everything_that_is_missing_is_listed_at_once() -> None:
    with pytest.raises(cuts.CutsError) as caught:
        cuts.schema_from(HOTEL)
    assert titles(caught) == [
        "column `room`: its categories are not stated",
        "column `stars`: its categories are not stated",
        "column `fee`: its range is not stated",
        "column `nights`: its range is not stated",
        "column `arrival`: its range is not stated",
    ]
    assert all("--table FILE" in (problem.help or "") for problem in caught.value.diagnostics)


def test_what_metadata_say_alone_is_declared() -> None:
    columns = {"paid": {"sdtype": "boolean"}, "id": {"sdtype": "id", "regex_format": "U_[0-9]{3}"}}
    schema = cuts.schema_from({"columns": columns})
    assert (schema.provenance, schema.names) == ("declared", ("paid", "id"))


def test_metadata_of_several_tables_need_a_name(tmp_path: Path) -> None:
    flags = {"columns": {"paid": {"sdtype": "boolean"}}}
    path = tmp_path / "metadata.json"
    path.write_text(json.dumps({"METADATA_SPEC_VERSION": "V1", "tables": {"stays": flags, "guests": flags}}))
    with pytest.raises(cuts.CutsError, match="the metadata describe `stays`, `guests`"):
        cuts.schema_from(path)
    assert cuts.schema_from(path, name="guests").name == "guests"
    with pytest.raises(cuts.CutsError, match="no table `guest`"):
        cuts.schema_from(path, name="guest")
    path.write_text(json.dumps({"METADATA_SPEC_VERSION": "V1", "tables": {"stays": flags}}))
    assert cuts.schema_from(path).name == "stays"


def test_an_object_with_to_dict_is_read_as_metadata() -> None:
    class Metadata:
        def to_dict(self) -> dict[str, Any]:
            return HOTEL

    assert cuts.schema_from(Metadata(), table=ROWS) == cuts.schema_from(HOTEL, table=ROWS)


def test_sequences_are_refused_unless_a_part_is_enough() -> None:
    data = {"sequence_key": "id", "columns": {"paid": {"sdtype": "boolean"}, "id": {"sdtype": "id"}}}
    with pytest.raises(cuts.CutsError, match="`sequence_key` is 'id': rows are modelled one by one"):
        cuts.schema_from(data)
    assert cuts.schema_from(data, partial=True).names == ("paid", "id")


def test_rows_without_a_declared_column_are_refused() -> None:
    with pytest.raises(cuts.CutsError, match="the rows have no column `fee`"):
        cuts.schema_from(HOTEL, table=ROWS.drop_columns(["fee"]))


def test_dates_in_another_format_are_refused_with_a_help() -> None:
    rows = ROWS.set_column(6, "arrival", pa.array(["1 Jan 2024", "1 May 2024", "1 Mar 2024"]))
    with pytest.raises(cuts.CutsError, match="column `arrival`: its cells are not read as dates or times"):
        cuts.schema_from(HOTEL, table=rows)


PEOPLE = {
    "age": pandera.Column(int, pandera.Check.in_range(18, 90, include_max=False)),
    "height": pandera.Column(float, [pandera.Check.ge(0), pandera.Check.le(2.5)], nullable=True),
    "sex": pandera.Column(str, pandera.Check.isin(["F", "M"])),
    "size": pandera.Column(pandas.CategoricalDtype(["S", "M", "L"], ordered=True)),
    "paid": pandera.Column(bool),
    "code": pandera.Column(str, pandera.Check.str_matches("P[0-9]{4}"), unique=True),
    "born": pandera.Column("datetime64[ns]", [pandera.Check.ge("1900-01-01"), pandera.Check.le("2020-12-31")]),
}
EXPECTED = (
    cuts.Integer("age", 18, 89),
    cuts.Real("height", 0.0, 2.5, missing=True),
    cuts.Category("sex", ("F", "M")),
    cuts.Category("size", ("S", "M", "L"), ordered=True),
    cuts.Category("paid", ("false", "true")),
    Identifier("code", regex="P[0-9]{4}"),
    Temporal("born", "timestamp", -2208988800.0, 1609372800.0),
)


def test_a_pandera_schema_with_all_its_limits_needs_no_rows() -> None:
    schema = cuts.schema_from(pandera.DataFrameSchema(PEOPLE, name="people"))
    assert schema == cuts.Schema("people", EXPECTED)
    assert schema.provenance == "declared"


def test_a_pandera_model_is_a_schema_too() -> None:
    class People(pandera.DataFrameModel):
        age: int = pandera.Field(gt=17, lt=91)
        sex: str = pandera.Field(isin=["F", "M"], nullable=True)

    columns = (cuts.Integer("age", 18, 90), cuts.Category("sex", ("F", "M"), missing=True))
    assert cuts.schema_from(People).columns == columns


def test_the_json_file_of_a_pandera_schema_means_the_same(tmp_path: Path) -> None:
    written = pandera.DataFrameSchema({name: column for name, column in PEOPLE.items() if name != "size"})
    path = tmp_path / "people.json"
    path.write_text(written.to_json())
    expected = tuple(column for column in EXPECTED if column.name != "size")
    assert cuts.schema_from(path) == cuts.Schema("people", expected)


def test_limits_that_pandera_leaves_open_come_from_the_rows() -> None:
    schema = pandera.DataFrameSchema({"age": pandera.Column(int, pandera.Check.ge(0)), "any": pandera.Column()})
    frame = pandas.DataFrame({"age": [30, 40], "any": ["a", "b"]})
    found = cuts.schema_from(schema, table=frame)
    assert found.columns == (cuts.Integer("age", 0, 40), cuts.Category("any", ("a", "b")))
    assert found.provenance == "inferred"


def test_checks_without_a_counterpart_are_all_named() -> None:
    schema = pandera.DataFrameSchema(
        {
            "age": pandera.Column(int, [pandera.Check.in_range(0, 9), pandera.Check(lambda x: x > 0, name="mine")]),
            "word": pandera.Column(str, [pandera.Check.isin(["a"]), pandera.Check.str_length(1, 2)]),
        },
        checks=pandera.Check(lambda frame: frame["age"] > 0, name="whole"),
    )
    with pytest.raises(cuts.CutsError) as caught:
        cuts.schema_from(schema)
    assert [title.partition(": write")[0] for title in titles(caught)] == [
        "the check `whole` of the whole frame",
        "column `age`: the check `mine`",
        "column `word`: the check `str_length`",
    ]
    assert cuts.schema_from(schema, partial=True).names == ("age", "word")


def test_rows_that_break_the_declared_limits_are_an_error() -> None:
    schema = pandera.DataFrameSchema({"age": pandera.Column(int, pandera.Check.in_range(0, 9))})
    with pytest.raises(cuts.CutsError, match="age"):
        cuts.schema_from(schema, table=pandas.DataFrame({"age": [3, 12]}))


@pytest.mark.parametrize("text", ["[]", "{}", '{"columns": 3}', "nonsense"])
def test_a_file_that_is_neither_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    path.write_text(text)
    with pytest.raises(cuts.CutsError, match=r"neither SDV metadata nor a pandera schema|is not JSON"):
        cuts.schema_from(path)


def test_yaml_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(cuts.CutsError, match="is YAML, which is not read"):
        cuts.schema_from(tmp_path / "people.yaml")
    with pytest.raises(TypeError, match="int is no description of a table"):
        cuts.schema_from(3)


def test_the_command_writes_a_schema_file(tmp_path: Path) -> None:
    (tmp_path / "hotel.json").write_text(json.dumps(HOTEL))
    parquet.write_table(ROWS, tmp_path / "hotel.parquet")
    words = ["schema", "import", "hotel.json", "--table", "hotel.parquet", "--label", "room", "-o", "hotel.toml"]
    done = subprocess.run([sys.executable, "-m", "cuts", *words], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "8 columns written to hotel.toml\n"
    assert cuts.read_schema(tmp_path / "hotel.toml") == cuts.schema_from(HOTEL, table=ROWS, name="hotel", label="room")


def test_the_command_lists_what_it_lacks_as_json_too(tmp_path: Path) -> None:
    (tmp_path / "hotel.json").write_text(json.dumps(HOTEL))
    words = ["schema", "import", "hotel.json", "--format", "json"]
    done = subprocess.run([sys.executable, "-m", "cuts", *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["ok"] is False
    assert len(found["diagnostics"]) == 5

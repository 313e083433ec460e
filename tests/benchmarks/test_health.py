"""The Health Heritage tables follow the paper's rules; the files here are made up and only have the released layout."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cuts
from benchmarks.health import BINARY, CLAIM_CATEGORIES, COLUMNS, NAME, main, member_years, with_binary_age
from benchmarks.health_programs import PROGRAMS, RULES, STACKS, program_of
from benchmarks.paper_tables import load_table
from cuts.lang.binder import bind_all
from cuts.lang.parser import parse

LAYOUT = {
    "Claims.csv": "MemberID,ProviderID,Vendor,PCP,Year,Specialty,PlaceSvc,PayDelay,LengthOfStay,DSFS,"
    "PrimaryConditionGroup,CharlsonIndex,ProcedureGroup,SupLOS",
    "DrugCount.csv": "MemberID,Year,DSFS,DrugCount",
    "LabCount.csv": "MemberID,Year,DSFS,LabCount",
    "Members.csv": "MemberID,AgeAtFirstClaim,Sex",
}
# Three claims of member 1 and two of member 2, who has no provider.
CLAIMS = """\
1,p1,v1,,Y1,Internal,Office,162+,,0- 1 month,PRGNCY,0,MED,0
1,p1,v2,c1,Y1,Internal,,28,,1- 2 months,PRGNCY,1-2,EM,0
1,,v2,c1,Y1,,,0,2 days,1- 2 months,MSC2a3,0,,0
2,,,,Y3,Surgery,Home,21,,0- 1 month,RENAL1,0,PL,0
2,,,,Y3,Pediatrics,Home,35,,0- 1 month,,0,,0
100,p2,v1,c1,Y2,Other,Home,40,,0- 1 month,UTI,5+,SUS,0
20,p2,v1,c1,Y2,Other,Home,40,,0- 1 month,UTI,0,SUS,0
"""
DRUGS = """\
1,Y1,0- 1 month,7+
1,Y1,1- 2 months,2
1,Y2,0- 1 month,3
"""
LABS = """\
1,Y1,0- 1 month,10+
3,Y1,0- 1 month,4
3,Y1,2- 3 months,1
"""
MEMBERS = """\
100,70-79,F
20,60-69,M
1,30-39,F
2,,
4,80+,M
"""
MOST_FREQUENT = tuple(CLAIM_CATEGORIES)


def write_files(folder: Path, *texts: str) -> Path:
    for (file, header), text in zip(LAYOUT.items(), texts, strict=True):
        (folder / file).write_text(f"{header}\n{text}")
    return folder


def lines(rows: Iterable[Iterable[Any]]) -> str:
    return "".join(",".join(map(str, row)) + "\n" for row in rows)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return write_files(tmp_path, CLAIMS, DRUGS, LABS, MEMBERS)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both tables of sixty members over three years; the number of claims varies more than S2 allows."""
    rng = np.random.default_rng(1)
    claims, drugs, labs, members = [], [], [], []
    for member in range(1, 61):
        sex, age = rng.choice(["F", "M", ""]), rng.choice(["20-29", "60-69", "80+", ""])
        members.append((member, age, sex))
        for year in ("Y1", "Y2", "Y3"):
            for _ in range(rng.integers(0, 13)):
                ids = [f"{letter}{rng.integers(5)}" for letter in "pvc"]
                specialty, place = rng.choice(["Emergency", "Internal", "Other"]), rng.choice(["Office", "Home", ""])
                group, index = rng.choice(["PRGNCY", "SEPSIS", "UTI", ""]), rng.choice(["0", "1-2"], p=[0.9, 0.1])
                procedure = rng.choice(["EM", "MED", "PL"])
                delay = rng.choice(["0", "30", "162+"])
                claims.append((member, *ids, year, specialty, place, delay, "", "", group, index, procedure, 0))
            drugs += [(member, year, "", count) for count in rng.choice(["1", "2", "7+"], rng.integers(1, 4))]
            labs += [(member, year, "", count) for count in rng.choice(["1", "5", "10+"], rng.integers(1, 4))]
    folder = tmp_path_factory.mktemp("health")
    main([str(write_files(folder, *map(lines, (claims, drugs, labs, members)))), str(folder / "out")])
    return folder / "out"


def values(table: pd.DataFrame, row: int, *columns: str) -> tuple[Any, ...]:
    return tuple(table[column][row] for column in columns)


# --- rows


def test_rows_are_member_years_in_the_order_of_members_and_years(files: Path) -> None:
    table = member_years(files)
    assert list(table.columns) == list(COLUMNS)
    # members 1 (two years), 2, 3, 4 (without a record), 20 and 100: by number, not by text
    assert list(table["Sex"]) == ["F", "F", "?", "?", "M", "M", "F"]
    assert not table.isna().any().any()


def test_a_claim_counts_if_it_has_a_provider_and_ids_count_once(files: Path) -> None:
    counts = ("no_Claims", "no_Providers", "no_Vendors", "no_PCPs")
    table = member_years(files)
    assert values(table, 0, *counts) == (2, 1, 2, 1)
    assert values(table, 2, *counts) == (0, 0, 0, 0)  # two claims, but no ids


def test_the_longest_delays_and_the_highest_counts_lose_their_plus(files: Path) -> None:
    table = member_years(files)
    assert values(table, 0, "PayDelay_total", "PayDelay_max", "PayDelay_min") == (190, 162, 0)
    assert values(table, 2, "PayDelay_total", "PayDelay_max", "PayDelay_min") == (56, 35, 21)
    assert values(table, 0, "DrugCount_total", "DrugCount_months") == (9, 2)
    assert values(table, 0, "LabCount_total", "LabCount_months") == (10, 1)
    assert values(table, 3, "LabCount_total", "LabCount_months") == (5, 2)


def test_the_most_frequent_category_of_a_year_wins_and_a_missing_one_is_a_category(files: Path) -> None:
    assert values(member_years(files), 0, *MOST_FREQUENT) == ("PRGNCY", "Internal", "EM", "PlaceSvc_?")


def test_ties_go_to_the_first_category_in_ascii_order(files: Path) -> None:
    table = member_years(files)
    assert values(table, 0, "ProcedureGroup") == ("EM",)  # before MED and the missing one
    # a missing group comes before RENAL1, and a missing procedure after PL: capitals come before small letters
    assert values(table, 2, *MOST_FREQUENT) == ("PrimaryConditionGroup_?", "Pediatrics", "PL", "Home")


def test_a_member_year_without_claims_has_zeros_and_first_categories(files: Path) -> None:
    table = member_years(files)
    for row in (1, 3, 4):
        assert values(table, row, *MOST_FREQUENT) == ("AMI", "Anesthesiology", "ANES", "Ambulance")
        assert values(table, row, "no_Claims", "PayDelay_total", "PayDelay_min") == (0, 0, 0)
        assert values(table, row, "max_CharlsonIndex") == ("=0",)
    assert values(table, 1, "DrugCount_total", "LabCount_total") == (3, 0)


def test_the_highest_charlson_index_of_a_year_is_the_label(files: Path) -> None:
    assert list(member_years(files)["max_CharlsonIndex"]) == [">0", "=0", "=0", "=0", "=0", "=0", ">0"]


def test_an_unknown_age_is_a_category_of_its_own_and_counts_as_young_in_the_binary_table(files: Path) -> None:
    table = member_years(files)
    assert list(table["AgeAtFirstClaim"]) == ["30-39", "30-39", "?", "?", "80+", "60-69", "70-79"]
    binary = with_binary_age(table)
    assert list(binary["AgeAtFirstClaim"]) == ["<60", "<60", "<60", "<60", ">=60", ">=60", ">=60"]
    assert binary.drop(columns="AgeAtFirstClaim").equals(table.drop(columns="AgeAtFirstClaim"))


# --- tables


@pytest.mark.parametrize(("name", "width"), [(NAME, 453), (BINARY, 445)])
def test_a_written_table_has_the_papers_width_and_split_and_loads(prepared: Path, name: str, width: int) -> None:
    schema = json.loads((prepared / name / "schema.json").read_text())
    assert schema["one_hot_width"] == width
    assert schema["rows"] == {"train": 144, "test": 36}  # sixty members, three years
    table = load_table(prepared, name, "uniform")
    assert (table.train.rows, table.test.rows) == (144, 36)
    assert [column.name for column in table.schema.columns] == list(COLUMNS)
    assert (table.label, table.schema.protected, table.desired) == ("max_CharlsonIndex", ("AgeAtFirstClaim",), "=0")
    assert len(table.known.values[table.label]) == 144


def test_a_schema_has_the_same_keys_as_the_other_tables(prepared: Path) -> None:
    schema = json.loads((prepared / NAME / "schema.json").read_text())
    assert set(schema) == {"name", "label", "label_index_1", "protected", "rows", "n_bins", "binning",
                           "one_hot_width", "notes", "columns", "favourable_outcome"}  # fmt: skip
    number, category = schema["columns"][0], schema["columns"][11]
    assert set(number) == {"name", "kind", "integer", "min", "max", "step", "edges", "lower_edges",
                           "test_rows_outside_train_range"}  # fmt: skip
    assert (len(number["edges"]), len(number["lower_edges"])) == (33, 32)
    assert set(category) == {"name", "kind", "categories", "train_counts"}
    assert (len(category["categories"]), sum(category["train_counts"])) == (46, 144)


def test_both_tables_have_the_same_split(prepared: Path) -> None:
    parts = [
        [row[:15] for row in csv.reader((prepared / name / "test.csv").read_text().splitlines())]
        for name in (NAME, BINARY)
    ]
    assert parts[0] == parts[1]


# --- mistakes


@pytest.mark.parametrize("file", LAYOUT)
def test_a_missing_file_is_named(files: Path, file: str) -> None:
    (files / file).unlink()
    with pytest.raises(SystemExit, match=f"{file} is missing: unpack release 3"):
        member_years(files)


def test_missing_columns_are_named(files: Path) -> None:
    (files / "Claims.csv").write_text("MemberID,ProviderID,Vendor,Year,Specialty,PlaceSvc\n")
    with pytest.raises(SystemExit, match="no column `PCP`, `PayDelay`, `CharlsonIndex`, `PrimaryConditionGroup`"):
        member_years(files)


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("Claims.csv", "UTI", "FLU", "`PrimaryConditionGroup` of Claims.csv has the value `FLU`"),
        ("Claims.csv", "5+", "9", "`CharlsonIndex` of Claims.csv has the value `9`"),
        ("Claims.csv", "Y3", "2010", "`Year` of Claims.csv has the value `2010`"),
        ("Claims.csv", "162+", "long", "`PayDelay` of Claims.csv is not a whole number"),
        ("LabCount.csv", "Y1", "", "records without a `Year`"),
        ("DrugCount.csv", "1,Y1", "one,Y1", "DrugCount.csv cannot be read"),
        ("Members.csv", "80+", "90+", "`AgeAtFirstClaim` of Members.csv has the value `90\\+`"),
        ("Members.csv", "20,", "1,", "member 1 more than once"),
    ],
)
def test_a_value_that_was_not_released_is_named(files: Path, file: str, old: str, new: str, said: str) -> None:
    path = files / file
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(SystemExit, match=said):
        member_years(files)


def test_an_empty_file_is_named(files: Path) -> None:
    (files / "Members.csv").write_text("")
    with pytest.raises(SystemExit, match=r"Members\.csv cannot be read"):
        member_years(files)


# --- programs


@pytest.mark.parametrize("table", [NAME, BINARY])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_binds_to_both_tables(prepared: Path, table: str, name: str) -> None:
    program = parse(program_of(table, name))
    spec, diagnostics = bind_all(program, load_table(prepared, table, "default").schema)
    assert spec is not None, diagnostics
    assert len(spec.commands) == len(STACKS.get(name, (name,)))
    assert {each.code for each in diagnostics} <= {"strict-on-real"}  # S2 has the paper's `<`


def test_rules_are_the_commands_without_their_action() -> None:
    assert all(PROGRAMS[name].endswith(f": {rule}") for name, rule in RULES.items())


def test_a_rule_and_a_statistic_hold_in_a_synthetic_table(prepared: Path) -> None:
    real = load_table(prepared, NAME, "default")
    program = f"SYNTHESIZE: {NAME}; {PROGRAMS['I2']}; {PROGRAMS['S2']}; END;"
    config = {"steps": 50, "components": 20, "smoothing": 0.01, "threads": 1}
    result = cuts.run(program, prepared / NAME / "train.csv", schema=real.schema, config=config, rows=400)
    rule, statistic = result.verdicts
    table = result.table.arrow.to_pandas()
    pregnant = table["PrimaryConditionGroup"] == "PRGNCY"
    assert rule.holds
    assert pregnant.any()
    assert set(table["Sex"][pregnant]) == {"F"}
    claims = table["no_Claims"]
    known = real.train.numbers("no_Claims")
    assert known.std() > known.mean() / 2  # the real rows break it
    assert statistic.holds
    assert claims.std(ddof=0) <= claims.mean() / 2

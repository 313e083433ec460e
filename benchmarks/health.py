"""The paper's two Health Heritage tables, from files of the Heritage Health Prize that you supply.

    python -m benchmarks.health FILES_FOLDER OUT_FOLDER

FILES_FOLDER has `Claims.csv`, `DrugCount.csv`, `LabCount.csv` and `Members.csv` of release 3, as released. The terms of
the competition forbid passing the data on: no row of it is in this repository, and OUT_FOLDER should be outside of it
too. Two folders are written, `health_heritage` and `health_heritage_binary_age`, each with `train.csv`, `test.csv` and
`schema.json`, in the form that `paper_tables.load_table` reads.

A row is one member in one year. Its numbers are counts and totals over the records of that year; its categories are
the most frequent values of the year's claims. What is absent counts as 0, as the first category or as `?`. The rows
are sorted by member and year, then split 80/20 with seed 42; both tables have the same split.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

NAME = "health_heritage"
BINARY = "health_heritage_binary_age"
LABEL = "max_CharlsonIndex"
PROTECTED = "AgeAtFirstClaim"
FAVOURABLE = "=0"
KEY = ["MemberID", "Year"]
ROWS = 218_415  # member-years of the release, both parts
BINS = 32
ABOVE = 1e-7  # the highest value is inside the last bin

# The values of the release by column; the schema lists them even where no row has one.
RELEASED = {
    "PrimaryConditionGroup": "AMI|APPCHOL|ARTHSPIN|CANCRA|CANCRB|CANCRM|CATAST|CHF|COPD|FLaELEC|FXDISLC|GIBLEED|"
    "GIOBSENT|GYNEC1|GYNECA|HEART2|HEART4|HEMTOL|HIPFX|INFEC4|LIVERDZ|METAB1|METAB3|MISCHRT|MISCL1|MISCL5|MSC2a3|"
    "NEUMENT|ODaBNCA|PERINTL|PERVALV|PNCRDZ|PNEUM|PRGNCY|RENAL1|RENAL2|RENAL3|RESPR4|ROAMI|SEIZURE|SEPSIS|SKNAUT|"
    "STROKE|TRAUMA|UTI",
    "Specialty": "Anesthesiology|Diagnostic Imaging|Emergency|General Practice|Internal|Laboratory|"
    "Obstetrics and Gynecology|Other|Pathology|Pediatrics|Rehabilitation|Surgery",
    "ProcedureGroup": "ANES|EM|MED|PL|RAD|SAS|SCS|SDS|SEOA|SGS|SIS|SMCD|SMS|SNS|SO|SRS|SUS",
    "PlaceSvc": "Ambulance|Home|Independent Lab|Inpatient Hospital|Office|Other|Outpatient Hospital|Urgent Care",
}
CLAIM_CATEGORIES = {
    column: tuple(sorted([*values.split("|"), f"{column}_?"])) for column, values in RELEASED.items()
}  # in ASCII order: the first one wins ties
AGES = ("0-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "70-79", "80+")
OLD = ("60-69", "70-79", "80+")
CHARLSON = {"0": 0, "1-2": 1, "3-4": 2, "5+": 3}
YEARS = {"Y1": 1, "Y2": 2, "Y3": 3}

NUMBERS = ("LabCount_total", "LabCount_months", "DrugCount_total", "DrugCount_months", "no_Claims", "no_Providers",
           "no_Vendors", "no_PCPs", "PayDelay_total", "PayDelay_max", "PayDelay_min")  # fmt: skip
COLUMNS: dict[str, tuple[str, ...] | None] = {  # none of a number
    **dict.fromkeys(NUMBERS),
    **CLAIM_CATEGORIES,
    PROTECTED: (*AGES, "?"),
    "Sex": ("?", "F", "M"),
    LABEL: ("=0", ">0"),
}
BINARY_COLUMNS = COLUMNS | {PROTECTED: (">=60", "<60")}

FILES = {  # the columns needed of each file; others are not read
    "Claims.csv": (*KEY, "ProviderID", "Vendor", "PCP", "PayDelay", "CharlsonIndex", *CLAIM_CATEGORIES),
    "DrugCount.csv": (*KEY, "DrugCount"),
    "LabCount.csv": (*KEY, "LabCount"),
    "Members.csv": ("MemberID", PROTECTED, "Sex"),
}
NOTES = (
    "made by benchmarks/health.py from the user's own files; the terms of the Heritage Health Prize forbid passing on",
    "one row per member and year, sorted by member and year; 80/20 split, seed 42, on this order",
    "a member-year without claims has the first category of PrimaryConditionGroup, Specialty, ProcedureGroup, PlaceSvc",
    "favourable_outcome is our choice; the paper has no result that depends on it",
)


def main(arguments: list[str] | None = None) -> None:
    """Write both tables and print their sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, metavar="FILES_FOLDER", help=f"folder with {', '.join(FILES)}")
    parser.add_argument("out", type=Path, metavar="OUT_FOLDER", help=f"folder for {NAME}/ and {BINARY}/")
    args = parser.parse_args(arguments)
    table = member_years(args.files)
    if len(table) != ROWS:
        print(f"note: {len(table):,} member-years; release 3 has {ROWS:,}", file=sys.stderr)
    for name, rows, columns in ((NAME, table, COLUMNS), (BINARY, with_binary_age(table), BINARY_COLUMNS)):
        schema = write_table(args.out / name, rows, columns)
        sizes = "{train:,} train rows, {test:,} test rows".format(**schema["rows"])
        print(f"{args.out / name}: {sizes}, one-hot width {schema['one_hot_width']}")


# --- rows


def member_years(folder: Path) -> pd.DataFrame:
    """One row per member and year, in this order, with the columns of `COLUMNS`."""
    parts = [_claims(folder), _monthly(folder, "DrugCount"), _monthly(folder, "LabCount")]
    joined = parts[0].join(parts[1:], how="outer").reset_index("Year").join(_members(folder), how="outer")
    joined = joined.reset_index().sort_values(KEY, ignore_index=True)
    table = {name: joined[name].fillna(0).astype(np.int64) for name in NUMBERS}
    for name, categories in CLAIM_CATEGORIES.items():
        codes = joined[name].fillna(0).astype(np.int64)  # the first category without claims
        table[name] = np.array(categories, dtype=object)[codes]
    for name in (PROTECTED, "Sex"):
        table[name] = joined[name].astype(object).fillna("?")
    table[LABEL] = np.where(joined[LABEL].fillna(0) > 0, ">0", "=0")
    return pd.DataFrame(table)[list(COLUMNS)]


def with_binary_age(table: pd.DataFrame) -> pd.DataFrame:
    """The same rows with the ages `>=60` and `<60`; an unknown age counts as `<60`, as in the paper."""
    return table.assign(**{PROTECTED: np.where(table[PROTECTED].isin(OLD), ">=60", "<60")})


def _claims(folder: Path) -> pd.DataFrame:
    """Counts, pay delays, the highest index and the codes of the most frequent categories by member and year."""
    claims = _read(folder, "Claims.csv")
    claims["PayDelay"] = _whole_numbers(claims["PayDelay"], "Claims.csv")
    _require_known(claims["CharlsonIndex"], CHARLSON, "Claims.csv")
    claims["CharlsonIndex"] = claims["CharlsonIndex"].map(CHARLSON).astype(float)
    years = claims.groupby(KEY)
    made = years.agg(
        no_Claims=("ProviderID", "count"),  # a claim without a provider id is not counted
        no_Providers=("ProviderID", "nunique"),
        no_Vendors=("Vendor", "nunique"),
        no_PCPs=("PCP", "nunique"),
        max_CharlsonIndex=("CharlsonIndex", "max"),
        PayDelay_total=("PayDelay", "sum"),
        PayDelay_max=("PayDelay", "max"),
        PayDelay_min=("PayDelay", "min"),
    )
    year = years.ngroup().to_numpy()
    for name, categories in CLAIM_CATEGORIES.items():
        _require_known(claims[name], categories, "Claims.csv")
        codes = claims[name].cat.set_categories(categories).fillna(f"{name}_?").cat.codes.to_numpy()
        made[name] = _most_frequent(year, codes, years=len(made), categories=len(categories))
    return made


def _most_frequent(year: np.ndarray, codes: np.ndarray, *, years: int, categories: int) -> np.ndarray:
    """The most frequent code of every year; of equally frequent ones the lowest."""
    counts = np.bincount(year * categories + codes, minlength=years * categories)
    return counts.reshape(years, categories).argmax(axis=1)


def _monthly(folder: Path, name: str) -> pd.DataFrame:
    """The sum and the number of monthly records by member and year."""
    records = _read(folder, f"{name}.csv")
    records[name] = _whole_numbers(records[name], f"{name}.csv")
    return records.groupby(KEY)[name].agg(**{f"{name}_total": "sum", f"{name}_months": "size"})


def _members(folder: Path) -> pd.DataFrame:
    """Age and sex by member."""
    members = _read(folder, "Members.csv")
    _require_known(members[PROTECTED], AGES, "Members.csv")
    _require_known(members["Sex"], ("F", "M"), "Members.csv")
    twice = members["MemberID"][members["MemberID"].duplicated()]
    if len(twice):
        raise SystemExit(f"Members.csv has member {twice.iloc[0]} more than once: use the file as released.")
    return members.set_index("MemberID")


# --- files


def _read(folder: Path, file: str) -> pd.DataFrame:
    """The needed columns of a file: members and years as numbers, the rest as categories of text; empty is missing."""
    path = folder / file
    if not path.is_file():
        raise SystemExit(f"{path} is missing: unpack release 3 of the Heritage Health Prize, with {', '.join(FILES)}.")
    needed = FILES[file]
    kinds = {name: "int64" if name == "MemberID" else "category" for name in needed}
    try:
        present = pd.read_csv(path, nrows=0).columns
        missing = [name for name in needed if name not in present]
        if not missing:
            rows = pd.read_csv(path, usecols=list(needed), dtype=kinds, keep_default_na=False, na_values=[""])
    except ValueError as error:  # no header, no CSV, a member that is no number
        raise SystemExit(f"{path} cannot be read ({error}): use the file as released.") from error
    if missing:
        columns = ", ".join(f"`{name}`" for name in missing)
        raise SystemExit(f"{path} has no column {columns}: use the file as released, with its header.")
    if "Year" in needed:
        _require_known(rows["Year"], YEARS, file)
        if rows["Year"].isna().any():
            raise SystemExit(f"{path} has records without a `Year`: use the file as released.")
        rows["Year"] = rows["Year"].map(YEARS).astype(np.int64)
    return rows


def _whole_numbers(texts: pd.Series, file: str) -> pd.Series:
    """`162+` as 162 and so on; missing ones stay missing."""
    try:
        values = {text: int(text.removesuffix("+")) for text in texts.cat.categories}
    except ValueError as error:
        raise SystemExit(
            f"`{texts.name}` of {file} is not a whole number ({error}): use the file as released."
        ) from None
    return texts.map(values).astype(float)


def _require_known(texts: pd.Series, known: Iterable[str], file: str) -> None:
    """Stop at a value that the release does not have."""
    unknown = sorted(set(texts.cat.categories) - set(known))
    if unknown:
        raise SystemExit(
            f"`{texts.name}` of {file} has the value `{unknown[0]}`, which release 3 does not have: "
            "use the file as released."
        )


# --- tables


def write_table(folder: Path, table: pd.DataFrame, columns: Mapping[str, tuple[str, ...] | None]) -> dict[str, Any]:
    """Write both parts and the schema of a table, and return the schema."""
    if len(table) < 2:
        raise SystemExit(f"the files have {len(table)} member-years, too few to split: use the files as released.")
    train, test = train_test_split(table, test_size=0.2, random_state=42, shuffle=True)
    schema = build_schema(folder.name, train, test, columns)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schema.json").write_text(json.dumps(schema, indent=1) + "\n")
    for part, rows in (("train", train), ("test", test)):
        rows.to_csv(folder / f"{part}.csv", index=False, lineterminator="\n")
    return schema


def build_schema(
    name: str, train: pd.DataFrame, test: pd.DataFrame, columns: Mapping[str, tuple[str, ...] | None]
) -> dict[str, Any]:
    """What `schema.json` says; ranges and counts are those of the train rows."""
    return {
        "name": name,
        "label": LABEL,
        "label_index_1": COLUMNS[LABEL][-1],
        "protected": PROTECTED,
        "rows": {"train": len(train), "test": len(test)},
        "n_bins": BINS,
        "binning": "uniform over the TRAIN range; step=(max+1e-7-min)/n_bins; bin=floor((x-min)/step); "
        "test values outside the range are to be clipped",
        "one_hot_width": sum(BINS if categories is None else len(categories) for categories in columns.values()),
        "notes": list(NOTES),
        "columns": [
            _number(train[column], test[column]) if categories is None else _category(train[column], categories)
            for column, categories in columns.items()
        ],
        "favourable_outcome": FAVOURABLE,
    }


def _number(train: pd.Series, test: pd.Series) -> dict[str, Any]:
    low, high = int(train.min()), int(train.max())
    step = (high + ABOVE - low) / BINS
    return {
        "name": train.name,
        "kind": "continuous",
        "integer": True,
        "min": low,
        "max": high,
        "step": step,
        "edges": [low + place * step for place in range(BINS + 1)],
        "lower_edges": [low + place * (high - low) / BINS for place in range(BINS)],
        "test_rows_outside_train_range": int(((test < low) | (test > high)).sum()),
    }


def _category(train: pd.Series, categories: tuple[str, ...]) -> dict[str, Any]:
    counts = train.value_counts()
    return {
        "name": train.name,
        "kind": "categorical",
        "categories": list(categories),
        "train_counts": [int(counts.get(category, 0)) for category in categories],
    }


if __name__ == "__main__":
    main()

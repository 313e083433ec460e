"""Rules on the Adult table by SDV's own means: a programmable constraint, or conditional sampling.

I2: marital_status in {Divorced, Never_married} IMPLIES relationship not in {Husband, Wife}.
RC1: sex == Female, which two thirds of the real rows break.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from contract import Job, parser, read, write
from sdv.cag import SingleTableProgrammableConstraint
from sdv.metadata import Metadata
from sdv.sampling import Condition
from sdv.single_table import CTGANSynthesizer, GaussianCopulaSynthesizer

TABLE = "adult"
MODELS = {"copula": GaussianCopulaSynthesizer, "ctgan": CTGANSynthesizer}


def i2(rows: pd.DataFrame) -> pd.Series:
    """Rows that keep rule I2."""
    single = rows["marital_status"].isin(["Divorced", "Never_married"])
    return ~single | ~rows["relationship"].isin(["Husband", "Wife"])


def rc1(rows: pd.DataFrame) -> pd.Series:
    """Rows that keep rule RC1."""
    return rows["sex"] == "Female"


RULES = {"I2": i2, "RC1": rc1}


class Rule(SingleTableProgrammableConstraint):
    """A rule that SDV checks on sampled rows; it changes nothing in training."""

    def __init__(self, name: str) -> None:
        self.name = name

    def transform(self, data: pd.DataFrame) -> pd.DataFrame:
        return data

    def get_updated_metadata(self, metadata: Metadata) -> Metadata:
        return metadata

    def reverse_transform(self, transformed_data: pd.DataFrame) -> pd.DataFrame:
        return transformed_data

    def is_valid(self, synthetic_data: pd.DataFrame) -> pd.Series:
        return RULES[self.name](synthetic_data)


def main() -> None:
    """Write the rows that SDV returns, which may be fewer than the command line asks for."""
    options = parser("SDV under a rule")
    options.add_argument("--rule", choices=list(RULES), required=True)
    options.add_argument("--how", choices=["constraint", "condition"], default="constraint")
    options.add_argument("--model", choices=list(MODELS), default="copula")
    options.add_argument("--epochs", type=int, default=300, help="passes over the train rows; CTGAN only")
    job = read(options.parse_args())
    write(job, sampled(job)[TABLE])


def sampled(job: Job) -> dict[str, pd.DataFrame]:
    """What SDV returns under the rule."""
    kinds = {column: "categorical" if column in job.categories else "numerical" for column in job.train}
    columns = {column: {"sdtype": kind} for column, kind in kinds.items()}
    metadata = Metadata.load_from_dict({"tables": {TABLE: {"columns": columns}}})
    settings = {"epochs": job.options.epochs, "enable_gpu": False} if job.options.model == "ctgan" else {}
    np.random.seed(job.seed)  # SDV takes no seed
    model = MODELS[job.options.model](metadata, **settings)
    if job.options.how == "constraint":
        model.add_constraints([Rule(job.options.rule)])
    model.fit({TABLE: job.train})
    if job.options.how == "constraint":
        return model.sample(num_rows=job.rows)
    if job.options.rule != "RC1":
        raise SystemExit("a condition of SDV is a value of a column: I2 needs --how constraint")
    return model.sample_from_conditions([Condition({"sex": "Female"}, num_rows=job.rows, table_name=TABLE)])


if __name__ == "__main__":
    main()

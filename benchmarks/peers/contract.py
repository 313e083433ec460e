"""The command line that every peer script shares: what it reads, and the table that it writes.

A script runs in the Python of its peer, so this file needs pandas and nothing of `cuts`.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

MAX_DECIMALS = 10


@dataclass(frozen=True)
class Job:
    """Rows to imitate, what is known of their columns, and how many rows are asked for.

    `ranges` and `values` are public: private methods may use them without spending budget.
    """

    train: pd.DataFrame
    label: str
    task: str
    categories: list[str]
    ranges: dict[str, tuple[float, float]]
    values: dict[str, list[str]]
    rows: int
    seed: int
    out: Path
    options: argparse.Namespace

    @property
    def numbers(self) -> list[str]:
        """The columns that are no categories, in the order of the table."""
        return [column for column in self.train if column not in self.categories]


def parser(title: str) -> argparse.ArgumentParser:
    """The options of every peer; a script adds its own."""
    options = argparse.ArgumentParser(description=title)
    options.add_argument("--train", type=Path, required=True, help="CSV of the rows to imitate, or CSV.GZ")
    options.add_argument("--meta", type=Path, required=True, help="JSON: label, task, categories, ranges, values")
    options.add_argument("--out", type=Path, required=True, help="CSV to write")
    options.add_argument("--rows", type=int, required=True, help="how many rows to write")
    options.add_argument("--seed", type=int, required=True)
    return options


def read(options: argparse.Namespace) -> Job:
    """The job that the command line describes; categories are text, whatever they look like."""
    meta: dict[str, Any] = json.loads(options.meta.read_text())
    text = dict.fromkeys(meta["categories"], str)
    return Job(
        train=pd.read_csv(options.train, dtype=text, keep_default_na=False).astype(dict.fromkeys(text, object)),
        label=meta["label"],
        task=meta["task"],
        categories=list(meta["categories"]),
        ranges={column: (float(low), float(high)) for column, (low, high) in meta.get("ranges", {}).items()},
        values={column: [str(value) for value in values] for column, values in meta.get("values", {}).items()},
        rows=options.rows,
        seed=options.seed,
        out=options.out,
        options=options,
    )


def write(job: Job, rows: pd.DataFrame) -> None:
    """Write rows with the columns of the train table; numbers keep at most its decimals."""
    tidy = rows[list(job.train)].reset_index(drop=True)
    for column in job.numbers:
        number = pd.to_numeric(tidy[column]).astype(float)
        places = decimals(job.train[column])
        tidy[column] = number.round().astype("int64") if places == 0 else number.round(places)
    tidy.to_csv(job.out, index=False)


def decimals(column: pd.Series) -> int:
    """The smallest number of decimals, up to `MAX_DECIMALS`, that writes every value.

    >>> decimals(pd.Series([1.5, 2.25]))
    2
    """
    if pd.api.types.is_integer_dtype(column):
        return 0
    values = column.to_numpy(float)
    exact = (p for p in range(1, MAX_DECIMALS) if np.allclose(np.round(values, p), values, rtol=1e-12, atol=0))
    return next(exact, MAX_DECIMALS)

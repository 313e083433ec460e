"""Dates: no synthetic stay ends before it begins or lasts more than 90 days, and the mean stay is the real one."""

from pathlib import Path

import pyarrow.compute as pc
from tables import stays

import cuts

QUICK = {"steps": 100, "smoothing": 0.05}  # quick to try; without settings the fit is better and takes longer

real = stays()
result = cuts.run(Path(__file__).with_name("stays.cuts"), real, config=QUICK)


def days(table):
    """The length of each stay."""
    return pc.days_between(table["admission"], table["discharge"])


for name, table in {"real": real, "synthetic": result.table.arrow}.items():
    length = days(table)
    shortest, longest = pc.min_max(length).as_py().values()
    print(f"{name}: {table.num_rows:,} stays of {shortest} to {longest} days, mean {pc.mean(length).as_py():.1f}")
for verdict in result.verdicts:
    print("holds" if verdict.holds else "fails", verdict.title)

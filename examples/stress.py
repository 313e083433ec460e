"""Stress test: a credit table in which rare and expensive cases are frequent, to see how a system copes with them."""

from collections import Counter
from pathlib import Path

from cuts import datasets, run

QUICK = {"steps": 100, "smoothing": 0.3, "boxes": False}  # quick to try; without settings the fit is better

real = datasets.load(datasets.CREDIT).arrow
stressed = run(Path(__file__).with_name("stress.cuts"), config=QUICK)

for name, table in {"real": real, "stress test": stressed.table.arrow}.items():
    rows = table.to_pylist()
    bad = [row for row in rows if row["risk"] == "bad"]
    purposes = Counter(row["purpose"] for row in rows)
    print(
        f"{name}: {len(bad) / len(rows):.0%} of the loans are bad, "
        f"their mean amount is {sum(row['amount'] for row in bad) / len(bad):,.0f}, "
        f"{purposes['retraining']} of {len(rows)} loans are for retraining"
    )
print("every command holds:", stressed.holds)

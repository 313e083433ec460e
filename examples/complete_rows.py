"""Sampling from a saved model: rows that satisfy a condition, and rows of which some cells are already known."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

import cuts

QUICK = {"steps": 100, "smoothing": 0.3, "boxes": False}  # quick to try; without settings the fit is better

with TemporaryDirectory() as folder:
    path = Path(folder) / "credit.synth"
    cuts.Synthesizer("SYNTHESIZE: credit; END;", config=QUICK).fit("credit").save(path)
    model = cuts.Synthesizer.load(path)  # a model file contains no rows

young = model.sample(200, where="age < 25 AND purpose == car_new AND risk == good", as_="arrow")
ages, purposes = young["age"].to_pylist(), set(young["purpose"].to_pylist())
print(f"{young.num_rows} rows under a condition: age {min(ages)} to {max(ages)}, purpose {purposes}")

# The cells that are given stay as they are; null cells and all other columns are filled in.
begun = pa.table({"amount": [500, 15_000, 15_000], "risk": ["good", "bad", None], "age": [30, None, 60]})
for row in model.sample(seed_rows=begun, as_="arrow").to_pylist():
    print({name: row[name] for name in ("amount", "risk", "age", "duration_months", "purpose", "job")})

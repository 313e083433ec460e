"""Unit-test data without a real table: rows from a schema alone that satisfy rules and proportions.

`cuts.uniform_rows` draws each column independently, all values equally likely. A model of these rows is then given the
rules and statistics of the program, as a model of real rows would be.
"""

from pathlib import Path

import cuts

HERE = Path(__file__).parent
QUICK = {"steps": 50, "smoothing": 0, "boxes": False}  # uniform rows have no structure to learn

schema = cuts.read_schema(HERE / "orders.toml")
start = cuts.uniform_rows(schema, 2_000)
before = cuts.verify(cuts.parse((HERE / "orders.cuts").read_text()), schema, start)
result = cuts.run(HERE / "orders.cuts", start, schema=schema, rows=200, config=QUICK)

for first, last in zip(before, result.verdicts, strict=True):
    print(f"{'holds' if first.holds else 'fails'} -> {'holds' if last.holds else 'fails'}  {last.title}")
for order in result.table.arrow.slice(0, 3).to_pylist():
    print(", ".join(str(value) for value in order.values()))

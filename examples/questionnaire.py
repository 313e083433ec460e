"""Skip logic: questions that were not asked stay unanswered, and those that were asked have an answer."""

from pathlib import Path

import pyarrow as pa
from tables import survey

import cuts

QUICK = {"steps": 100, "smoothing": 0.05}  # quick to try; without settings the fit is better and takes longer

result = cuts.run(Path(__file__).with_name("survey.cuts"), survey(), config=QUICK)


def count_answers(table: pa.Table) -> dict[tuple[str, str], int]:
    """How many smokers and non-smokers answered the question about cigarettes."""
    counts: dict[tuple[str, str], int] = {}
    for row in table.to_pylist():
        key = (row["smokes"], "skipped" if row["cigarettes"] is None else "answered")
        counts[key] = counts.get(key, 0) + 1
    return counts


for (smokes, answer), count in sorted(count_answers(result.table.arrow).items()):
    print(f"smokes {smokes}: {count} {answer} the question about cigarettes")
for fact in [fact for verdict in result.verdicts for fact in verdict.facts]:
    print(f"target {fact.target:g}, in the table {fact.value:.3g}")
print("every command holds:", result.holds)

"""Differential privacy: one release of the Adult census with epsilon 1, and a second table at no further cost."""

from pathlib import Path
from tempfile import TemporaryDirectory

import cuts

QUICK = {"steps": 30, "components": 100}  # quick to try; the settings of a fit do not change what is spent

with TemporaryDirectory() as folder:
    ledger = Path(folder) / "ledger.jsonl"  # a real project keeps its ledger

    # The rows are read once. Everything after that uses noisy counts.
    private = cuts.Synthesizer(Path(__file__).with_name("private.cuts"), config=QUICK, ledger=ledger, max_epsilon=1)
    people = private.fit("adult").sample(1_000, as_="arrow")
    print(f"{people.num_rows:,} people, epsilon spent: {private.model_.transcript.ledger.epsilon_spent:.3f}")
    print("verdicts:", [verdict.holds for verdict in private.verify(people)], "(privacy itself has none)")

    # Another program about the same release: no rows are read.
    older = cuts.Synthesizer(
        "SYNTHESIZE: adult; ENFORCE: age >= 60; END;", transcript=private.model_.transcript, config=QUICK
    )
    print("youngest in a second table:", min(older.fit().sample(500, as_="arrow")["age"].to_pylist()))

    # A second release would spend more than the limit, and is refused before any row is read.
    try:
        private.fit("adult")
    except cuts.CutsError as error:
        print("a second release:", error.diagnostics[0].code)

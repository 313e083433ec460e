"""An unpredictable column: nothing in the synthetic table reveals the sex of a borrower, and `risk` stays predictable.

Needs XGBoost: `pip install "cuts[report]"`.
"""

from pathlib import Path

import cuts

QUICK = {"steps": 100, "smoothing": 0.3, "boxes": False}  # quick to try; without settings the fit is better

result = cuts.run(Path(__file__).with_name("hidden.cuts"), config=QUICK)

(trade_off,) = result.model.facts.trade_offs
print(f"balanced accuracy of predicting `sex` (guessing gives 0.5): {trade_off.start.value:.2f} before")
for learner in result.verdicts[0].panel.learners:
    print(f"  after, {learner.learner}: {learner.value:.2f}")
chosen = next(trial for trial in trade_off.trials if trial.value == trade_off.chosen)
print(f"accuracy of predicting `risk`: {trade_off.start.utility:.2f} before, {chosen.utility:.2f} after")

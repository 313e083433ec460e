"""Fairness: a classifier trained on the synthetic loans rates women and men alike, at nearly the same accuracy.

Needs XGBoost: `pip install "cuts[report]"`.
"""

from pathlib import Path

import cuts

QUICK = {"steps": 100, "smoothing": 0.3, "boxes": False}  # quick to try; without settings the fit is better

result = cuts.run(Path(__file__).with_name("credit.cuts"), config=QUICK)

(trade_off,) = result.model.facts.trade_offs
(chosen,) = [trial for trial in trade_off.trials if trial.value == trade_off.chosen][:1]
print(f"parity gap between women and men: {trade_off.start.value:.3f} before, {chosen.value:.3f} after")
print(f"accuracy of predicting `risk`:    {trade_off.start.utility:.3f} before, {chosen.utility:.3f} after")

measured = result.verdicts[-1].panel.deciding
print(f"{measured.learner}, trained on the table and tested on real rows: gap {measured.value:.3f}")
for verdict in result.verdicts[:-1]:
    print("holds" if verdict.holds else "fails", verdict.title)

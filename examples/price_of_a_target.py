"""What a target costs: the further the share of bad loans is from the real one, the easier the table is to detect.

`cuts tune target.cuts --grid share=30%,50%,70%` does the same by cross-validation, and `cuts tune credit.cuts
--frontier` shows what a fairness command costs in accuracy.
"""

from pathlib import Path

import cuts

QUICK = {"steps": 100, "smoothing": 0.3, "boxes": False}  # quick to try; without settings the fit is better

print("share of bad loans  AUC of a discriminator (0.5 or less: indistinguishable from real rows)")
for share in (0.3, 0.5, 0.7, 0.9):
    result = cuts.run(Path(__file__).with_name("target.cuts"), values={"share": share}, config=QUICK)
    (fact,) = result.verdicts[0].facts
    print(f"{fact.value:18.1%}  {result.discriminator.auc:.2f}")

"""Gaps between groups in what a classifier predicts."""

from __future__ import annotations

from cuts.vocab.interval import Interval
from cuts.vocab.registry import LEARNER_OPTIONS, Measure, add_measure

for _name, _meaning in (
    ("DEMOGRAPHIC_PARITY", "largest difference between groups in the rate of the desired outcome"),
    ("EQUALIZED_ODDS", "largest difference between groups in true and false positive rates"),
    ("EQUALITY_OF_OPPORTUNITY", "largest difference between groups in the true positive rate"),
):
    add_measure(
        Measure(
            _name,
            kind="FAIRNESS",
            required=("protected", "target"),
            optional=("desired_outcome", "features", *LEARNER_OPTIONS),
            direction="lower is fairer",
            range=Interval(0.0, 1.0),
            meaning=_meaning,
        )
    )

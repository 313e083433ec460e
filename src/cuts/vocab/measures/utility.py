"""How well a column can be predicted from others."""

from __future__ import annotations

from cuts.vocab.interval import Interval
from cuts.vocab.registry import LEARNER_OPTIONS, Measure, add_measure

add_measure(
    Measure(
        "DOWNSTREAM_ACCURACY",
        kind="UTILITY",
        required=("target",),
        optional=("features", *LEARNER_OPTIONS),
        direction="higher is more useful",
        range=Interval(0.0, 1.0),
        meaning="accuracy of a classifier that predicts the target from the features",
    )
)

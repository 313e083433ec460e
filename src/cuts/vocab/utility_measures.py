"""Utility measures: how well a classifier predicts a column.

One formula serves certain predictions and probabilities: `probabilities` (rows, values) has the predicted probability
of each value of the target, 1 and 0 for a certain prediction, and `truth` (rows, values) is 1 at the true value.
"""

from __future__ import annotations

from collections.abc import Callable

from cuts.vocab.interval import Interval
from cuts.vocab.registry import LEARNER_OPTIONS, Direction, Formula, Measure, add_measure


def utility_measure(
    name: str, *, direction: Direction, range: Interval, meaning: str, heading: str
) -> Callable[[Formula], Formula]:
    """Add a formula to the utility measures under `name`."""

    def add(formula: Formula) -> Formula:
        add_measure(
            Measure(
                name,
                kind="UTILITY",
                required=("target",),
                optional=("features", *LEARNER_OPTIONS),
                direction=direction,
                range=range,
                meaning=meaning,
                formula=formula,
                heading=heading,
            )
        )
        return formula

    return add

"""Gaps between groups in what the learners predict for the test rows: 0 is fair, 1 is as unfair as can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cuts.assess.downstream import Trained, TrainedOn, with_target
from cuts.assess.learners import Classifier, Regressor
from cuts.assess.sample import Sample
from cuts.data.schema import Category
from cuts.data.table import Bools, IntArray
from cuts.vocab.measures.fairness import demographic_parity, equality_of_opportunity, equalized_odds


@dataclass(frozen=True, slots=True)
class Gaps:
    """The largest differences between groups of a column: in how often the desired outcome is predicted, in how often
    for those who have it, and the larger of that and in how often for those who do not. NaN where fewer than two
    groups have such rows."""

    protected: str
    learner: Classifier | Regressor
    trained_on: TrainedOn
    demographic_parity: float
    equality_of_opportunity: float
    equalized_odds: float


@dataclass(frozen=True, slots=True)
class Fairness:
    """The gaps of all learners; `groups` counts the test rows of each group."""

    target: str
    desired: str
    groups: Mapping[str, Mapping[str, int]]
    gaps: tuple[Gaps, ...]


def measure_fairness(
    trained: Sequence[Trained], test: Sample, *, target: str, protected: Sequence[str], desired: str
) -> Fairness:
    """The gaps of every learner for every protected column."""
    rows = with_target(test, target)
    columns = {column.name: column for column in rows.columns}
    outcome = columns[target]
    assert isinstance(outcome, Category)
    good = outcome.categories.index(desired)
    wanted = rows.values[target] == good
    groups: dict[str, dict[str, int]] = {}
    found: list[Gaps] = []
    for name in protected:
        column = columns[name]
        assert isinstance(column, Category)
        group = rows.values[name].astype(np.int64)
        places, counts = np.unique(group, return_counts=True)
        words = (*column.categories, "missing", "unknown")
        groups[name] = {words[place]: int(count) for place, count in zip(places, counts, strict=True)}
        found += [
            Gaps(name, t.learner, t.trained_on, *gaps(t.predicted.astype(np.int64) == good, wanted, group))
            for t in trained
        ]
    return Fairness(target, desired, groups, tuple(found))


def gaps(chosen: Bools, deserving: Bools, group: IntArray) -> tuple[float, float, float]:
    """Demographic parity, equality of opportunity and equalized odds, as distances.

    >>> yes, no = True, False
    >>> gaps(np.array([yes, no, yes, yes]), np.array([yes, no, yes, no]), np.array([0, 0, 1, 1]))
    (0.5, 0.0, 1.0)
    """
    members = (group[:, None] == np.unique(group)[None, :]) * 1.0
    parts = (chosen * 1.0, deserving * 1.0, members)
    return (
        float(demographic_parity(*parts)),
        float(equality_of_opportunity(*parts)),
        float(equalized_odds(*parts)),
    )

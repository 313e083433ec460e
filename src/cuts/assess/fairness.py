"""Fairness of classifiers on the test rows: differences between groups, 0 (equal) to 1, one per fairness measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cuts.assess.downstream import Trained, TrainedOn, with_target
from cuts.assess.learners import Classifier, Regressor
from cuts.assess.table_arrays import Sample
from cuts.data.schema import Category
from cuts.data.table import Bools, IntArray
from cuts.vocab.names import fairness_measures


@dataclass(frozen=True, slots=True)
class LearnerGaps:
    """The gaps of one learner between the groups of a column, by the name of the measure.

    A gap is NaN where fewer than two groups have the rows the measure needs.
    """

    protected: str
    learner: Classifier | Regressor
    trained_on: TrainedOn
    gaps: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Fairness:
    """The gaps of all learners; `groups` has the number of test rows per group, by protected column."""

    target: str
    desired: str
    groups: Mapping[str, Mapping[str, int]]
    learners: tuple[LearnerGaps, ...]


def measure_fairness(
    trained: Sequence[Trained], test: Sample, *, target: str, protected: Sequence[str], desired: str
) -> Fairness:
    """The gaps of every learner for every protected column."""
    rows = with_target(test, target)
    columns = {column.name: column for column in rows.columns}
    outcome = columns[target]
    assert isinstance(outcome, Category)
    desired_index = outcome.categories.index(desired)
    deserving = rows.values[target] == desired_index
    groups: dict[str, dict[str, int]] = {}
    learners: list[LearnerGaps] = []
    for name in protected:
        column = columns[name]
        assert isinstance(column, Category)
        group = rows.values[name].astype(np.int64)
        indices, counts = np.unique(group, return_counts=True)
        labels = (*column.categories, "missing", "unknown")
        groups[name] = {labels[index]: int(count) for index, count in zip(indices, counts, strict=True)}
        learners += [
            LearnerGaps(
                name, t.learner, t.trained_on, gaps(t.predicted.astype(np.int64) == desired_index, deserving, group)
            )
            for t in trained
        ]
    return Fairness(target, desired, groups, tuple(learners))


def gaps(chosen: Bools, deserving: Bools, group: IntArray) -> dict[str, float]:
    """The value of every fairness measure, by its name.

    >>> yes, no = True, False
    >>> values = gaps(np.array([yes, no, yes, yes]), np.array([yes, no, yes, no]), np.array([0, 0, 1, 1]))
    >>> values["DEMOGRAPHIC_PARITY"], values["EQUALITY_OF_OPPORTUNITY"], values["EQUALIZED_ODDS"]
    (0.5, 0.0, 1.0)
    """
    members = (group[:, None] == np.unique(group)[None, :]) * 1.0
    return {
        measure.name: float(measure.formula(chosen * 1.0, deserving * 1.0, members)) for measure in fairness_measures()
    }

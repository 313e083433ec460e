"""The measures of MODEL commands: a panel of classifiers is trained on a table and evaluated on reference rows.

The learners are in `assess/learners.py`. For fairness the first of them decides whether a command holds, for utility
the strongest; the results of all are reported. An interval is a 95 % bootstrap interval over the reference
rows. It shows how precisely these rows determine the number, not how it varies between tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan

import numpy as np

from cuts.assess.downstream import learn, with_target
from cuts.assess.features import MAX_ROWS, build_matrix
from cuts.assess.grid import Grid, build_grid
from cuts.assess.learners import CLASSIFIERS, Classifier
from cuts.assess.table_arrays import Sample, read_sample, thin
from cuts.data.schema import Category, Schema, desired_outcome
from cuts.data.table import Floats, IntArray, Table
from cuts.lang.spec import MeasureOf
from cuts.progress import Advanced
from cuts.vocab.fairness_measures import group_rates
from cuts.vocab.measures.downstream_balanced_accuracy import balanced_accuracy
from cuts.vocab.names import measures

RESAMPLES = 200  # bootstrap samples of an interval
_PERCENTILES = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class LearnerResult:
    """One learner trained on the table: the measure on the reference rows, its interval, and its accuracy there.

    NaN where the measure is undefined, for instance with a single group.
    """

    learner: Classifier
    value: float
    interval: tuple[float, float]
    accuracy: float


@dataclass(frozen=True, slots=True)
class PanelResult:
    """A measure for all learners of a panel; the bound is compared with the result of `deciding`."""

    learners: tuple[LearnerResult, ...]
    deciding: LearnerResult
    rows: int  # reference rows


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Predicted and true classes of the reference rows, as indices into the target's categories."""

    predicted: IntArray
    truth: IntArray
    rows: Sample
    probabilities: Floats | None = None  # (rows, categories), if the learner gives any

    @property
    def accuracy(self) -> float:
        """The share of rows predicted correctly."""
        return float((self.predicted == self.truth).mean())

    @property
    def skill(self) -> float:
        """Balanced accuracy on a scale from 0, a constant prediction, to 1, no error; negative if worse than that."""
        probabilities, truth = _probabilities(self, certain=True)
        classes = len(np.unique(self.truth))
        if classes == 1:
            return 1.0 if self.accuracy == 1.0 else 0.0
        return (classes * float(balanced_accuracy(probabilities, truth)) - 1.0) / (classes - 1)


class ReferenceRows:
    """Rows on which learners are evaluated."""

    def __init__(self, reference: Table, schema: Schema) -> None:
        self.schema = schema
        self.sample = read_sample(reference, schema, "train")
        self._grid: Grid = build_grid(self.sample, (), "uniform")

    def predict(self, learner: Classifier, table: Table, measure: MeasureOf) -> Predictions:
        """The predictions of a learner trained on a table, for the reference rows that have the measure's target."""
        target = self.schema[measure.target]
        assert isinstance(target, Category)
        rng = np.random.default_rng(0)
        rows = thin(with_target(read_sample(table, self.schema, "synthetic"), target.name), MAX_ROWS, rng)
        tested = with_target(self.sample, target.name)
        matrices = [build_matrix(part, self.sample, self._grid, measure.features, "raw") for part in (rows, tested)]
        labels = np.unique(rows.values[target.name].astype(np.int64))
        if len(labels) == 1:  # a constant label: nothing to learn
            predicted = np.repeat(labels, tested.rows)
            probabilities: Floats | None = np.eye(len(target.categories))[predicted]
        else:
            classes, probabilities = learn(learner, rows, target, *matrices)
            predicted = classes.astype(np.int64)
        return Predictions(predicted, tested.values[target.name].astype(np.int64), tested, probabilities)

    def rows(self, target: str) -> int:
        """The number of reference rows that have a value of the target."""
        return with_target(self.sample, target).rows


def evaluate_panel(
    measure: MeasureOf,
    table: Table,
    reference: ReferenceRows,
    panel: Sequence[Classifier] = CLASSIFIERS,
    *,
    advanced: Advanced = lambda _: None,
) -> PanelResult:
    """A measure for learners trained on a table; NaN if no row of the table, or no reference row, has the target."""
    labelled = with_target(read_sample(table, reference.schema, "synthetic"), measure.target).rows
    if labelled and reference.rows(measure.target):
        results = []
        for index, learner in enumerate(panel):
            results.append(_result(learner, reference.predict(learner, table, measure), measure, reference.schema))
            advanced((index + 1) / len(panel))
    else:
        results = [LearnerResult(learner, nan, (nan, nan), nan) for learner in panel]
    entry = measures()[measure.name]
    if entry.kind == "FAIRNESS":
        deciding = results[0]
    else:
        strongest = max if entry.direction == "higher is more useful" else min
        deciding = strongest(results, key=lambda result: result.value)
    return PanelResult(tuple(results), deciding, reference.rows(measure.target))


def desired_index(measure: MeasureOf, schema: Schema) -> int:
    """The index of the desired outcome among the target's categories."""
    target = schema[measure.target]
    assert isinstance(target, Category)
    return target.categories.index(desired_outcome(schema, target.name, measure.desired))


def value_of(measure: MeasureOf, predictions: Predictions, schema: Schema) -> float:
    """The measure of predictions; the largest value if there are several protected columns."""
    return _values(measure, predictions, schema, [np.arange(predictions.rows.rows)])[0]


def signed_gaps(measure: MeasureOf, predictions: Predictions, schema: Schema, column: str, group: str) -> list[float]:
    """One number per rate of the measure: the rate in a group minus the rate in all other rows.

    0 where the group, or all other rows, leave the rate undefined.
    """
    protected = schema[column]
    assert isinstance(protected, Category)
    inside = predictions.rows.values[column] == protected.categories.index(group)
    members = np.stack([inside, ~inside], 1) * 1.0
    chosen, deserving = _outcomes(measure, predictions, schema)
    pairs = [group_rates(rate, chosen, deserving, members) for rate in measures()[measure.name].rates]
    return [float(np.nan_to_num(pair[0] - pair[1])) for pair in pairs]


def _result(learner: Classifier, predictions: Predictions, measure: MeasureOf, schema: Schema) -> LearnerResult:
    rng = np.random.default_rng(0)
    rows = predictions.rows.rows
    resamples = [rng.integers(rows, size=rows) for _ in range(RESAMPLES)]
    value, *resampled = _values(measure, predictions, schema, [np.arange(rows), *resamples])
    defined = [other for other in resampled if not isnan(other)]
    low, high = np.percentile(defined, _PERCENTILES) if defined else (nan, nan)
    if not isnan(value):  # resampling widens the gap of equal groups, and can leave a small one below all percentiles
        low, high = min(low, value), max(high, value)
    return LearnerResult(learner, value, (float(low), float(high)), predictions.accuracy)


def _values(
    measure: MeasureOf, predictions: Predictions, schema: Schema, selections: Sequence[IntArray]
) -> list[float]:
    """The measure on each selection of the rows."""
    entry = measures()[measure.name]
    if entry.kind == "UTILITY":
        probabilities, truth = _probabilities(predictions, certain=entry.direction == "higher is more useful")
        return [float(entry.formula(probabilities[rows], truth[rows])) for rows in selections]
    chosen, deserving = _outcomes(measure, predictions, schema)
    groups = [_members(predictions.rows.values[name].astype(np.int64)) for name in measure.protected]
    gaps = [[float(entry.formula(chosen[r], deserving[r], members[r])) for members in groups] for r in selections]
    return [max((gap for gap in by_column if not isnan(gap)), default=nan) for by_column in gaps]


def _probabilities(predictions: Predictions, *, certain: bool) -> tuple[Floats, Floats]:
    """Predicted probabilities (0 and 1 if `certain`, or if there are none) and the truth, both (rows, values)."""
    if not certain and predictions.probabilities is not None:  # a loss is defined on probabilities
        return predictions.probabilities, np.eye(predictions.probabilities.shape[1])[predictions.truth]
    size = int(max(predictions.predicted.max(), predictions.truth.max())) + 1
    return np.eye(size)[predictions.predicted], np.eye(size)[predictions.truth]


def _outcomes(measure: MeasureOf, predictions: Predictions, schema: Schema) -> tuple[Floats, Floats]:
    """Two arrays: 1 where the desired outcome is predicted, and 1 where it is true."""
    desired = desired_index(measure, schema)
    return (predictions.predicted == desired) * 1.0, (predictions.truth == desired) * 1.0


def _members(group: IntArray) -> Floats:
    """1 where a row belongs to a group, else 0: shape (rows, groups)."""
    members: Floats = (group[:, None] == np.unique(group)[None, :]) * 1.0
    return members

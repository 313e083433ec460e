"""What classifiers trained on a table do on real rows: the measures of MODEL commands, learner by learner.

The learners are the panel of `assess/learners.py`. Of a gap between groups the first of them counts and the others are
told beside; of how well a column can be predicted the strongest counts. An interval is the middle 95 % of the value
over reference rows drawn again: it tells how sure these rows make the number, not what other tables would give.
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
from cuts.assess.sample import Sample, read_sample, thin
from cuts.data.schema import Category, Schema
from cuts.data.table import Floats, IntArray, Table
from cuts.lang.spec import MeasureOf
from cuts.vocab.measures.fairness import rates
from cuts.vocab.names import measures

DRAWS = 200
_ENDS = (2.5, 97.5)  # percent


@dataclass(frozen=True, slots=True)
class Tried:
    """One learner trained on the table: the measure on the reference rows, its interval, and its accuracy.

    Not a number where the rows leave it undefined, for instance with a single group.
    """

    learner: Classifier
    value: float
    interval: tuple[float, float]
    accuracy: float


@dataclass(frozen=True, slots=True)
class Effect:
    """A measure of all learners of a panel; `counted` is the one that decides."""

    panel: tuple[Tried, ...]
    counted: Tried
    rows: int  # of the reference


@dataclass(frozen=True, slots=True, eq=False)
class Predicted:
    """What a learner says of the reference rows, as places in the target's list, and what they are."""

    predicted: IntArray
    truth: IntArray
    rows: Sample
    chances: Floats | None = None  # of every value of the target, if the learner tells

    @property
    def accuracy(self) -> float:
        """The share predicted right."""
        return float((self.predicted == self.truth).mean())


class Bench:
    """Reference rows to try learners on."""

    def __init__(self, reference: Table, schema: Schema) -> None:
        self.schema = schema
        self.reference = read_sample(reference, schema, "train")
        self._grid: Grid = build_grid(self.reference, (), "uniform")

    def predict(self, learner: Classifier, table: Table, measure: MeasureOf) -> Predicted:
        """A learner trained on a table, tried on the reference rows that have the measure's target."""
        target = self.schema[measure.target]
        assert isinstance(target, Category)
        rng = np.random.default_rng(0)
        rows = thin(with_target(read_sample(table, self.schema, "synthetic"), target.name), MAX_ROWS, rng)
        tested = with_target(self.reference, target.name)
        matrices = [build_matrix(each, self.reference, self._grid, measure.features, "raw") for each in (rows, tested)]
        labels = np.unique(rows.values[target.name].astype(np.int64))
        if len(labels) == 1:  # nothing to tell apart
            predicted = np.repeat(labels, tested.rows)
            chances: Floats | None = np.eye(len(target.categories))[predicted]
        else:
            told, chances = learn(learner, rows, target, *matrices)
            predicted = told.astype(np.int64)
        return Predicted(predicted, tested.values[target.name].astype(np.int64), tested, chances)

    def rows(self, target: str) -> int:
        """How many reference rows have a value of the target."""
        return with_target(self.reference, target).rows


def measure_effect(measure: MeasureOf, table: Table, bench: Bench, panel: Sequence[Classifier] = CLASSIFIERS) -> Effect:
    """A measure of learners trained on a table; undefined where no row of it, or of the reference, has the target."""
    labelled = with_target(read_sample(table, bench.schema, "synthetic"), measure.target).rows
    if labelled and bench.rows(measure.target):
        found = [_tried(learner, bench.predict(learner, table, measure), measure, bench.schema) for learner in panel]
    else:
        found = [Tried(learner, nan, (nan, nan), nan) for learner in panel]
    entry = measures()[measure.name]
    if entry.kind == "FAIRNESS":
        counted = found[0]
    else:
        strongest = max if entry.direction == "higher is more useful" else min
        counted = strongest(found, key=lambda tried: tried.value)
    return Effect(tuple(found), counted, bench.rows(measure.target))


def desired_place(measure: MeasureOf, schema: Schema) -> int:
    """The desired value of the target as its place: the one named, or the last as in the paper."""
    target = schema[measure.target]
    assert isinstance(target, Category)
    return len(target.categories) - 1 if measure.desired is None else target.categories.index(measure.desired)


def value_of(measure: MeasureOf, found: Predicted, schema: Schema) -> float:
    """The measure of predictions; of several protected columns the largest."""
    return _values(measure, found, schema, [np.arange(found.rows.rows)])[0]


def signed_gaps(measure: MeasureOf, found: Predicted, schema: Schema, column: str, group: str) -> list[float]:
    """How much more often a group is chosen than the others: among all, or among those each rate is about.

    None more often where the group, or all others, have no such rows.
    """
    good = desired_place(measure, schema)
    known = schema[column]
    assert isinstance(known, Category)
    inside = found.rows.values[column] == known.categories.index(group)
    members = np.stack([inside, ~inside], 1) * 1.0
    chosen, deserving = (found.predicted == good) * 1.0, (found.truth == good) * 1.0
    about = {
        "DEMOGRAPHIC_PARITY": [np.ones_like(deserving)],
        "EQUALITY_OF_OPPORTUNITY": [deserving],
        "EQUALIZED_ODDS": [deserving, 1.0 - deserving],
    }[measure.name]
    pairs = [rates(chosen, among, members) for among in about]
    return [float(np.nan_to_num(pair[0] - pair[1])) for pair in pairs]


def _tried(learner: Classifier, found: Predicted, measure: MeasureOf, schema: Schema) -> Tried:
    rng = np.random.default_rng(0)
    rows = found.rows.rows
    again = [rng.integers(rows, size=rows) for _ in range(DRAWS)]
    value, *others = _values(measure, found, schema, [np.arange(rows), *again])
    known = [other for other in others if not isnan(other)]
    low, high = np.percentile(known, _ENDS) if known else (nan, nan)
    return Tried(learner, value, (float(low), float(high)), found.accuracy)


def _values(measure: MeasureOf, found: Predicted, schema: Schema, draws: Sequence[IntArray]) -> list[float]:
    """The measure on some choices of the rows."""
    entry = measures()[measure.name]
    if entry.kind == "UTILITY":
        size = int(max(found.predicted.max(), found.truth.max())) + 1
        said, truth = np.eye(size)[found.predicted], np.eye(size)[found.truth]
        if entry.direction == "lower is more useful" and found.chances is not None:  # a loss is about chances
            said, truth = found.chances, np.eye(found.chances.shape[1])[found.truth]
        return [float(entry.formula(said[rows], truth[rows])) for rows in draws]
    good = desired_place(measure, schema)
    chosen, deserving = (found.predicted == good) * 1.0, (found.truth == good) * 1.0
    groups = [_members(found.rows.values[name].astype(np.int64)) for name in measure.protected]
    gaps = [[float(entry.formula(chosen[r], deserving[r], members[r])) for members in groups] for r in draws]
    return [max((gap for gap in each if not isnan(gap)), default=nan) for each in gaps]


def _members(group: IntArray) -> Floats:
    found: Floats = (group[:, None] == np.unique(group)[None, :]) * 1.0
    return found

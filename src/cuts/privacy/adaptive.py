"""Which tables to measure: all single columns, then the label's tables, then those the model predicts worst.

What tells a label apart is spread thinly over its tables with two more columns. A selection by the largest error passes
most of them over, and a learner trained on the rows misses what they say; so they are all measured, as far as noise
permits. The other tables compete for the rest of the budget, round by round.

The loop is AIM's (McKenna, Mullins, Sheldon and Miklau, "AIM: An Adaptive and Iterative Mechanism for Differentially
Private Synthetic Data", 2022): select by the exponential mechanism, measure with Gaussian noise, refit, and anneal the
noise. The annealing rule is that of the CuTS paper, with answers in place of true tables. Everything that decides
(scores of the model, noise levels, when to stop) is a function of answers already given, so only `measure` and
`select` cost anything. The model comes from any `Learner` of measurements; its tables of any columns must be exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Generic, Protocol, TypeVar

import numpy as np

from cuts.config import Method
from cuts.count.cover import Clique
from cuts.data.codec import Codec
from cuts.data.table import Floats
from cuts.privacy.curator import GRID, Candidate, Curator
from cuts.privacy.grouping import merge_rare
from cuts.privacy.ledger import Terms
from cuts.privacy.noise_scale import gaussian_cost, gaussian_scale, gumbel_scale
from cuts.privacy.query import Owners, Query, fine
from cuts.privacy.transcript import Choice, Measurement, Transcript, count_estimate
from cuts.privacy.workload import Workload
from cuts.progress import Round

MEAN_ABSOLUTE_NOISE = math.sqrt(2 / math.pi)  # expected absolute value of a Gaussian of scale 1


@dataclass(frozen=True, slots=True)
class AdaptiveSettings:
    """How a release divides its budget. None of this changes what an answer costs or what is promised."""

    single_column_share: float = 0.08  # of the budget, for the tables of single columns
    max_single_column_repeats: int = 2  # how often single columns are measured again while their error is large:
    max_single_column_error: float = 0.05  # expected total error of such a table, as a share of the rows
    label_share: float = 0.65  # of what is left then, for the tables of the label with two more columns
    max_label_table_error: float = 1.0  # expected total error of such a table, as a share of the rows
    max_label_cell_noise: float = 0.005  # standard deviation per cell, likewise; above, all are left to the rounds
    selection_share: float = 0.1  # of a round's cost, for selecting its table
    planned_rounds: int = 100  # when rounds begin; annealing changes the number
    max_cell_noise: float = 0.01  # standard deviation per cell in the first round, as a share of the rows
    min_round_share: float = 0.004  # cost of a round, as a share of the budget
    max_round_share: float = 0.05
    max_selection_noise: float = 0.5  # on scores, as a share of the rows; above, the label's pairs are measured instead
    penalty_weight: float = 0.5  # share of a table's expected measurement error that its score loses
    min_useful_change: float = 0.5  # of the model, as a share of the measurement error; below, noise is reduced
    rare_bin_noise: float = 2.0  # bins with counts below this many standard deviations are grouped


DEFAULT_SETTINGS = AdaptiveSettings()
PAPER_ROUNDS = 16  # per column, singles included
PAPER_MIN_ROUND_SHARE = 0.0005  # of the budget: at most 2,000 rounds, however much each of them improves the model


def paper_settings(columns: int) -> AdaptiveSettings:
    """How the CuTS paper divides the budget, with as many planned measurements per column as AIM has.

    No table is measured without being selected but those of single columns, with the noise of the first rounds; scores
    lose all of a table's expected error; noise rises and falls without limits but those of a single round.
    """
    singles = 0.9 / PAPER_ROUNDS
    return AdaptiveSettings(
        single_column_share=singles,
        max_single_column_repeats=0,
        label_share=0.0,
        planned_rounds=max(1, round((1.0 - singles) * PAPER_ROUNDS * columns)),
        max_cell_noise=math.inf,
        min_round_share=PAPER_MIN_ROUND_SHARE,
        max_round_share=1.0,
        max_selection_noise=math.inf,
        penalty_weight=1.0,
        min_useful_change=1.0,
        rare_bin_noise=0.0,
    )


def settings_for(method: Method, columns: int) -> AdaptiveSettings:
    """How a release of that many columns divides its budget, unless the caller says otherwise."""
    return paper_settings(columns) if method == "penalty" else DEFAULT_SETTINGS


class Estimate(Protocol):
    """A model of the rows."""

    def shares(self, query: Query) -> Floats:
        """The share of the rows in each cell of a histogram; sums to one."""


_Model = TypeVar("_Model", bound=Estimate)


class Learner(Protocol[_Model]):
    """Fits a model to measurements, continuing from an earlier one."""

    def __call__(
        self, measurements: Sequence[Measurement], groups: Mapping[str, Owners], before: _Model | None
    ) -> _Model: ...


def release(
    curator: Curator,
    codec: Codec,
    workload: Workload,
    learner: Learner[_Model],
    *,
    settings: AdaptiveSettings = DEFAULT_SETTINGS,
    seen: Callable[[Round], None] = lambda _: None,
) -> Transcript:
    """The curator's answers, with the budget spent on the tables from which the model learns most."""
    return _Release(curator, codec, workload, learner, settings, seen).run()


class _Release(Generic[_Model]):
    """The state of a release: answers so far, and the groups of bins that follow from them."""

    def __init__(
        self,
        curator: Curator,
        codec: Codec,
        workload: Workload,
        learner: Learner[_Model],
        settings: AdaptiveSettings,
        seen: Callable[[Round], None],
    ) -> None:
        self.curator, self.codec, self.workload, self.learner = curator, codec, workload, learner
        self.settings, self.seen = settings, seen
        self.budget = float(curator.ledger.left)
        self.answers: list[Measurement | Choice] = []
        self.measured: list[Measurement] = []
        self.groups: dict[str, Owners] = {}
        self.told = 0

    def run(self) -> Transcript:
        """The transcript, once the budget is spent."""
        self._measure_singles()
        if self._is_small():
            self._find_groups()
            self._measure_star()
        else:
            self._repeat_singles()
            self._find_groups()
            self._measure_label_tables()
            self._measure_selected()
        return Transcript(self.codec, self.curator.ledger, tuple(self.answers))

    def _measure_selected(self) -> None:
        """Measure round by round the table that the model predicts worst."""
        model = self.learner(self.measured, self.groups, None)
        planned_cost = self._first_cost()
        while (cost := self._next_cost(planned_cost)) > 0:
            query = self._selected(model, cost)
            sigma = self._round_scale(cost)
            self._measure(query, sigma)
            before, model = model, self.learner(self.measured, self.groups, model)
            planned_cost = cost / _annealing(model, before, query, sigma, self._rows, self.settings) ** 2
            self._tell(query, sigma)

    def _measure_label_tables(self) -> None:
        """Measure the label with two more columns at a time, all with the same noise.

        A table whose noise would hide the rows is left to the selection, and what it would have cost makes the others
        more exact. With few rows even so many exact tables are not to be had, and all are left to the selection.
        """
        label, settings = self.workload.label, self.settings
        if not settings.label_share:
            return
        cliques = [clique for clique in self.workload.candidates if len(clique) == 3 and label in clique]
        queries = sorted(map(self._query, cliques), key=lambda query: query.cells)
        cost, max_error = settings.label_share * self._left, settings.max_label_table_error * self._rows
        scales = [gaussian_scale(cost, self._terms, count) for count in range(1, 1 + len(queries))]
        errors = [MEAN_ABSOLUTE_NOISE * scale * query.cells for scale, query in zip(scales, queries, strict=True)]
        count = sum(error <= max_error for error in errors)  # they rise: of more tables, each larger, with more noise
        if count and scales[count - 1] <= settings.max_label_cell_noise * self._rows:
            for query in queries[:count]:
                self._measure(query, scales[count - 1])
                self._tell(query, scales[count - 1])

    def _is_small(self) -> bool:
        """Whether there are too few rows to select by scores; then the label's own pairs matter most."""
        weight = max(self.workload.columns.values())
        cost = self.settings.selection_share * self._first_cost()
        scale = gumbel_scale(cost, self._terms, weight) / (GRID * weight)  # in rows
        is_noise = scale * math.log(len(self.workload.candidates)) > self.settings.max_selection_noise * self._rows
        return is_noise and self.workload.label is not None

    def _measure_star(self) -> None:
        """Measure the pairs of the label with every other column, all with the same noise."""
        label = self.workload.label
        pairs = [clique for clique in self.workload.candidates if len(clique) == 2 and label in clique]
        sigma = gaussian_scale(self._left, self._terms, max(len(pairs), 1))
        for query in map(self._query, pairs):
            self._measure(query, sigma)
            self._tell(query, sigma)

    def _tell(self, query: Query, sigma: float) -> None:
        """Report a table of several columns that was measured."""
        self.told += 1
        self.seen(Round(self.told, 1.0 - self._left / self.budget, query.clique, sigma))

    def _first_cost(self) -> float:
        return first_cost(self._left, self.budget, self._rows, self._terms, self.settings)

    def _round_scale(self, cost: float) -> float:
        """The noise of a round's table: what its selection leaves of the cost pays for it."""
        return gaussian_scale((1.0 - self.settings.selection_share) * cost, self._terms)

    @property
    def _terms(self) -> Terms:
        return self.curator.ledger.terms

    @property
    def _left(self) -> float:
        return float(self.curator.ledger.left)

    @property
    def _rows(self) -> float:
        return max(1.0, count_estimate(self.measured))

    def _measure_singles(self) -> None:
        """Measure the tables of all single columns with their share of the budget."""
        sizes = self.codec.sizes
        sigma = single_scale(self.budget, self._terms, len(sizes), self.settings)
        for name in sizes:
            self._measure(fine((name,), sizes), sigma)

    def _repeat_singles(self) -> None:
        """Measure single columns again, as long as their noise is large for the number of rows."""
        for _ in range(single_repeats(self.measured[0].sigma, self.codec, self._rows, self.settings)):
            self._measure_singles()

    def _find_groups(self) -> None:
        """Group the rare bins of every column by its own tables."""
        columns = self.codec.columns
        times = len(self.measured) // len(columns)
        for index, bins in enumerate(columns):
            tables = self.measured[index :: len(columns)]
            mean_counts = np.mean([measurement.values for measurement in tables], axis=0)
            max_groups = self.workload.groups.get(bins.column.name)
            min_count = self.settings.rare_bin_noise * self.measured[0].sigma / math.sqrt(times)
            min_count = min_count if max_groups is None else max(min_count, self._rows / max_groups)
            self.groups[bins.column.name] = merge_rare(mean_counts, bins, min_count)

    def _query(self, clique: Clique) -> Query:
        return Query(clique, tuple(self.groups[name] for name in clique))

    def _measure(self, query: Query, sigma: float) -> None:
        measurement = Measurement(query, sigma, self.curator.measure(query, sigma))
        self.answers.append(measurement)
        self.measured.append(measurement)

    def _selected(self, model: Estimate, cost: float) -> Query:
        """The table that the model predicts worst, up to the noise of the selection."""
        candidates = self._candidates(model, self._round_scale(cost))
        weight = max(candidate.weight for candidate in candidates)
        scale = gumbel_scale(self.settings.selection_share * cost, self._terms, weight)
        query = candidates[self.curator.select(candidates, scale)].query
        self.answers.append(Choice(query.clique, len(candidates), scale))
        return query

    def _candidates(self, model: Estimate, sigma: float) -> list[Candidate]:
        """All tables whose expected measurement error is below the number of rows, or else the one with the least."""
        rows = self._rows
        queries = [self._query(clique) for clique in self.workload.candidates]
        errors = [MEAN_ABSOLUTE_NOISE * sigma * query.cells for query in queries]  # in L1
        useful = [index for index, error in enumerate(errors) if error <= rows] or [int(np.argmin(errors))]
        return [
            Candidate(
                queries[index],
                np.rint(GRID * rows * model.shares(queries[index])).astype(np.int64),
                self.workload.weight(queries[index].clique),
                round(GRID * self.settings.penalty_weight * errors[index]),
            )
            for index in useful
        ]

    def _next_cost(self, planned_cost: float) -> float:
        """The cost of the next round within its limits, all that is left if two would not fit; 0 at the end."""
        left = self._left
        max_cost, min_cost = self.settings.max_round_share * self.budget, self.settings.min_round_share * self.budget
        if left < min_cost:
            return 0.0
        cost = min(max(planned_cost, min_cost), max_cost, left)
        if left >= 2 * cost:
            return cost
        return left if left <= max_cost else left / 2


def single_scale(budget: float, terms: Terms, columns: int, settings: AdaptiveSettings = DEFAULT_SETTINGS) -> float:
    """The noise on the tables of all single columns with their share of the budget."""
    return gaussian_scale(settings.single_column_share * budget, terms, columns)


def single_repeats(sigma: float, codec: Codec, rows: float, settings: AdaptiveSettings = DEFAULT_SETTINGS) -> int:
    """How often single columns are measured again: as long as their noise is large for the number of rows."""
    total = MEAN_ABSOLUTE_NOISE * sigma * mean(codec.sizes.values())
    times = range(1, 1 + settings.max_single_column_repeats)
    return sum(total / math.sqrt(time) > settings.max_single_column_error * rows for time in times)


def first_cost(
    left: float, budget: float, rows: float, terms: Terms, settings: AdaptiveSettings = DEFAULT_SETTINGS
) -> float:
    """The cost of the first round: an even share, or more where its noise would hide the rows."""
    quiet = gaussian_cost(settings.max_cell_noise * rows, terms) / (1.0 - settings.selection_share)
    return min(max(left / settings.planned_rounds, quiet), settings.max_round_share * budget)


def _annealing(
    model: Estimate, before: Estimate, query: Query, sigma: float, rows: float, settings: AdaptiveSettings
) -> float:
    """The factor by which noise changes: below 1 if a measurement changed the model by less than its error, else above.

    `rows * ||P_after - P_before||_1 / (min_useful_change * E||noise||_1)`, between 1/sqrt(2) and sqrt(2).
    """
    change = rows * float(np.abs(model.shares(query) - before.shares(query)).sum())
    error = MEAN_ABSOLUTE_NOISE * sigma * query.cells
    return min(max(change / (settings.min_useful_change * error), 1 / math.sqrt(2)), math.sqrt(2))

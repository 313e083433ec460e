"""Which tables to measure: all single columns first, then round by round the one the model is most wrong about.

After AIM, with the annealing of the CuTS paper. Whatever decides (scores of the model, noise levels, when to stop) is
a function of answers already given, so only `measure` and `select` cost anything. The model is whoever learns tables
from measurements (`Learner`); its tables of any columns must be exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import mean
from typing import Generic, Protocol, TypeVar

import numpy as np

from cuts.count.cover import Clique
from cuts.data.codec import Codec
from cuts.data.table import Floats
from cuts.privacy.accountant import dyadic_above
from cuts.privacy.curator import GRID, Candidate, Curator
from cuts.privacy.grouping import merge_rare
from cuts.privacy.ledger import Terms
from cuts.privacy.query import Owners, Query, fine
from cuts.privacy.transcript import Choice, Measurement, Transcript, count_estimate
from cuts.privacy.workload import Workload
from cuts.progress import Round

SINGLES = 0.08  # share of the budget for the tables of single columns,
MORE_SINGLES = 2  # and how often it is spent again, as long as
ROUGH = 0.05  # of the rows is what their noise comes to
SELECTION = 0.1  # share of a round's cost for choosing its table
ROUNDS = 100  # planned when they begin, but
LOUD = 0.01  # of the rows is the most noise a cell should have
DEAREST, CHEAPEST = 0.05, 0.004  # what a round may cost, as shares of the budget
GUESS = 0.5  # of the rows: noise on scores from which nothing is selected
PENALTY = 0.5  # of the error a measurement is expected to have, that its score loses
TELLING = 0.5  # of that error: what a table must move the model by to be worth its noise
RARE = 2.0  # times the noise: bins below are grouped
NOISE = math.sqrt(2 / math.pi)  # expected size of a Gaussian of scale 1


class Estimate(Protocol):
    """A model of the rows."""

    def shares(self, query: Query) -> Floats:
        """How the rows fall on the cells of a histogram; sums to one."""


_Model = TypeVar("_Model", bound=Estimate)


class Learner(Protocol[_Model]):
    """What makes a model of measurements, going on from an earlier one."""

    def __call__(
        self, measurements: Sequence[Measurement], groups: Mapping[str, Owners], before: _Model | None
    ) -> _Model: ...


def release(
    curator: Curator,
    codec: Codec,
    workload: Workload,
    learner: Learner[_Model],
    *,
    seen: Callable[[Round], None] = lambda _: None,
) -> Transcript:
    """What the curator answered, its budget spent on the tables that teach the model most."""
    return _Release(curator, codec, workload, learner, seen).run()


def gaussian_scale(cost: float, terms: Terms, tables: int = 1) -> float:
    """The noise with which so many tables together cost that much rho, rounded up."""
    moves = terms.max_rows_per_person * (math.sqrt(2.0) if terms.relation == "replace" else 1.0)
    return dyadic_above(moves * math.sqrt(tables / (2.0 * cost)))


def gaussian_cost(sigma: float, terms: Terms) -> float:
    """About what a table with that noise costs."""
    return (terms.max_rows_per_person / sigma) ** 2 * (1.0 if terms.relation == "replace" else 0.5)


def gumbel_scale(cost: float, terms: Terms, weight: int) -> float:
    """The noise on scores of at most that weight with which a selection costs that much rho, rounded up."""
    moves = terms.max_rows_per_person * (2 if terms.relation == "replace" else 1) * GRID * weight
    return dyadic_above(moves / math.sqrt(2.0 * cost))


class _Release(Generic[_Model]):
    """The state of a release: answers so far, and the model of them."""

    def __init__(
        self,
        curator: Curator,
        codec: Codec,
        workload: Workload,
        learner: Learner[_Model],
        seen: Callable[[Round], None],
    ) -> None:
        self.curator, self.codec, self.workload, self.learner, self.seen = curator, codec, workload, learner, seen
        self.budget = float(curator.ledger.left)
        self.answers: list[Measurement | Choice] = []
        self.measured: list[Measurement] = []
        self.groups: dict[str, Owners] = {}

    def run(self) -> Transcript:
        """The transcript, once the budget is spent."""
        self._measure_singles()
        if self._is_small():
            self._find_groups()
            self._measure_star()
        else:
            self._refine_singles()
            self._find_groups()
            self._measure_selected()
        return Transcript(self.codec, self.curator.ledger, tuple(self.answers))

    def _measure_selected(self) -> None:
        """Round by round the table the model is most wrong about."""
        model = self.learner(self.measured, self.groups, None)
        wanted, number = self._first_cost(), 0
        while (cost := self._next_cost(wanted)) > 0:
            number += 1
            query = self._selected(model, cost)
            sigma = gaussian_scale((1.0 - SELECTION) * cost, self._terms)
            self._measure(query, sigma)
            before, model = model, self.learner(self.measured, self.groups, model)
            wanted = cost / _annealing(model, before, query, sigma, self._rows) ** 2
            self.seen(Round(number, 1.0 - self._left / self.budget, query.clique, sigma))

    def _is_small(self) -> bool:
        """Whether there are too few rows to select by: then it is the label's own pairs that matter."""
        weight = max(self.workload.columns.values())
        scale = gumbel_scale(SELECTION * self._first_cost(), self._terms, weight) / (GRID * weight)  # in rows
        is_guess = scale * math.log(len(self.workload.candidates)) > GUESS * self._rows
        return is_guess and self.workload.label is not None

    def _measure_star(self) -> None:
        """The tables of the label with every other column, all alike."""
        label = self.workload.label
        pairs = [clique for clique in self.workload.candidates if len(clique) == 2 and label in clique]
        sigma = gaussian_scale(self._left, self._terms, max(len(pairs), 1))
        for number, clique in enumerate(pairs, start=1):
            self._measure(self._query(clique), sigma)
            self.seen(Round(number, 1.0 - self._left / self.budget, clique, sigma))

    def _first_cost(self) -> float:
        """What the first round costs: little, but its noise is not to drown the rows."""
        quiet = gaussian_cost(LOUD * self._rows, self._terms) / (1.0 - SELECTION)
        return min(max(self._left / ROUNDS, quiet), DEAREST * self.budget)

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
        """The tables of all single columns, with their share of the budget."""
        sizes = {bins.column.name: bins.size for bins in self.codec.columns}
        sigma = gaussian_scale(SINGLES * self.budget, self._terms, len(sizes))
        for name in sizes:
            self._measure(fine((name,), sizes), sigma)

    def _refine_singles(self) -> None:
        """The same again, as long as there are few rows for their noise."""
        cells = mean(bins.size for bins in self.codec.columns)
        for times in range(1, 1 + MORE_SINGLES):
            if NOISE * self.measured[0].sigma / math.sqrt(times) * cells > ROUGH * self._rows:
                self._measure_singles()

    def _find_groups(self) -> None:
        """The groups of all columns, from their own tables."""
        columns = self.codec.columns
        times = len(self.measured) // len(columns)
        for place, bins in enumerate(columns):
            mean_counts = np.mean([each.values for each in self.measured[place :: len(columns)]], axis=0)
            most = self.workload.groups.get(bins.column.name)
            least = RARE * self.measured[0].sigma / math.sqrt(times)
            least = least if most is None else max(least, self._rows / most)
            self.groups[bins.column.name] = merge_rare(mean_counts, bins, least)

    def _query(self, clique: Clique) -> Query:
        return Query(clique, tuple(self.groups[name] for name in clique))

    def _measure(self, query: Query, sigma: float) -> None:
        found = Measurement(query, sigma, self.curator.measure(query, sigma))
        self.answers.append(found)
        self.measured.append(found)

    def _selected(self, model: Estimate, cost: float) -> Query:
        """The table the model is most wrong about, as far as noise lets it be told."""
        sigma = gaussian_scale((1.0 - SELECTION) * cost, self._terms)
        offers = self._offers(model, sigma)
        scale = gumbel_scale(SELECTION * cost, self._terms, max(offer.weight for offer in offers))
        chosen = offers[self.curator.select(offers, scale)].query
        self.answers.append(Choice(chosen.clique, len(offers), scale))
        return chosen

    def _offers(self, model: Estimate, sigma: float) -> list[Candidate]:
        """All tables worth a look; one whose noise would be as large as the whole table is not."""
        rows = self._rows
        queries = [self._query(clique) for clique in self.workload.candidates]
        noise = [NOISE * sigma * query.cells for query in queries]
        useful = [place for place, off in enumerate(noise) if off <= rows] or [int(np.argmin(noise))]
        return [
            Candidate(
                queries[place],
                np.rint(GRID * rows * model.shares(queries[place])).astype(np.int64),
                self.workload.weight(queries[place].clique),
                round(GRID * PENALTY * noise[place]),
            )
            for place in useful
        ]

    def _next_cost(self, wanted: float) -> float:
        """What the next round costs: within its limits, and all that is left when less than two are; 0 at the end."""
        left, dearest, cheapest = self._left, DEAREST * self.budget, CHEAPEST * self.budget
        if left < cheapest:
            return 0.0
        cost = min(max(wanted, cheapest), dearest, left)
        if left >= 2 * cost:
            return cost
        return left if left <= dearest else left / 2


def _annealing(model: Estimate, before: Estimate, query: Query, sigma: float, rows: float) -> float:
    """How the noise should change: down where a measurement told the model little it could still learn, else up."""
    moved = rows * float(np.abs(model.shares(query) - before.shares(query)).sum())
    return min(max(moved / (TELLING * NOISE * sigma * query.cells), 1 / math.sqrt(2)), math.sqrt(2))

"""Commands whose statistics exclude each other under the row rules, found by linear programming.

A table is a number of rows in each cell (`logic/cells.py`); a mean or a share among some rows is then linear in these
numbers once multiplied by how many rows they are, and the mean of a number lies between its bounds in each cell. All
bounds are outer ones: a conflict is certain, silence is no proof.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite
from typing import TypeAlias

import numpy as np

from cuts.data.schema import Schema
from cuts.data.table import Floats
from cuts.lang.spec import Pred, Quantity, TableGoal
from cuts.lang.walks import columns_of
from cuts.logic.cells import Cells, find_cells
from cuts.logic.mean_bounds import ROUNDING, MeanBound, can_hold, find_demands, has_sum, single_targets

MAX_UNKNOWNS = 20_000  # of one linear program; beyond, a few columns at a time are looked at
MAX_SCOPES = 100  # of these
MAX_CONFLICTS = 3  # found in commands that hang together
MARGIN = 1e-6  # how far targets are moved, in their row's size: far more than the solver may be wrong by


@dataclass(frozen=True, slots=True)
class Conflict:
    """Commands that no table meets together; without any one of them, or the rules if `by_rules`, that is not known."""

    commands: tuple[TableGoal, ...]
    by_rules: bool


def find_conflicts(goals: Sequence[TableGoal], rules: Sequence[Pred], schema: Schema) -> Iterator[Conflict]:
    """Sets of commands that certainly exclude each other: pairs about one statistic first, then sets without these."""
    named: set[int] = set()
    for pair in _pairs(goals):
        named.update(pair)
        yield Conflict(tuple(goals[command] for command in sorted(set(pair))), by_rules=False)
    # Sums of columns are left out: fewer rules, wider bounds, still certain.
    simple = [rule for rule in rules if not has_sum(rule)]
    for demands, linked in _groups(find_demands(goals, schema), simple):
        for found in _cores(demands, linked, schema, named):
            named.update(found)
            core = [demand for demand in demands if demand.command in found]
            free = state_problem(core, (), schema, most=MAX_UNKNOWNS) if linked else None
            by_rules = free is not None and free.possible(found)
            yield Conflict(tuple(goals[command] for command in found), by_rules)


def _pairs(goals: Sequence[TableGoal]) -> Iterator[tuple[int, int]]:
    """Commands that want one statistic, of whatever kind, in two places; on a line, pairs are enough."""
    wanted = [(command, *target) for command, stated in enumerate(goals) for target in single_targets(stated.goal)]
    for index, (command, stat, where) in enumerate(wanted):
        for earlier, same, elsewhere in wanted[:index]:
            if stat == same and not can_hold(where, "==", elsewhere, 0.0):
                yield earlier, command


# --- what hangs together


def _groups(demands: Iterable[MeanBound], rules: Iterable[Pred]) -> list[tuple[list[MeanBound], list[Pred]]]:
    """Demands and rules, together when linked by a chain of shared columns; groups without a demand are left out."""
    found: list[tuple[frozenset[str], list[MeanBound], list[Pred]]] = []
    parts = [*((rule, columns_of(rule)) for rule in rules), *((demand, demand.columns) for demand in demands)]
    for part, columns in parts:
        touching = [group for group in found if group[0] & columns]
        found = [group for group in found if not group[0] & columns]
        held = [demand for group in touching for demand in group[1]]
        linked = [rule for group in touching for rule in group[2]]
        if isinstance(part, MeanBound):
            held.append(part)
        else:
            linked.append(part)
        found.append((columns.union(*(group[0] for group in touching)), held, linked))
    return [(held, linked) for _, held, linked in found if held]


def _cores(
    demands: Sequence[MeanBound], rules: Sequence[Pred], schema: Schema, named: Collection[int]
) -> Iterator[tuple[int, ...]]:
    """Disjoint sets of commands, none in `named`, that exclude each other while no smaller part of a set does."""
    left = [demand for demand in demands if demand.command not in named]
    if len(left) < 2 and all(len(demand.terms) < 2 for demand in left):
        return  # one mean or share alone: its range has been looked at
    problem = state_problem(left, rules, schema, most=MAX_UNKNOWNS)
    if problem is not None:
        yield from _irreducible(problem)
        return
    taken: set[int] = set()
    for columns in _small_scopes(left):
        part = [demand for demand in left if demand.columns <= columns and demand.command not in taken]
        touching = [rule for rule in rules if columns_of(rule) & columns]
        problem = state_problem(part, touching, schema, most=MAX_UNKNOWNS // 20)
        for core in _irreducible(problem) if problem is not None else ():
            taken.update(core)
            yield core


def _small_scopes(demands: Sequence[MeanBound]) -> list[frozenset[str]]:
    """The columns of any two demands: what is looked at when everything at once is too much."""
    scopes = {one.columns | other.columns for one, other in combinations(demands, 2)}
    return sorted(scopes, key=lambda columns: (len(columns), sorted(columns)))[:MAX_SCOPES]


def _irreducible(problem: Problem) -> Iterator[tuple[int, ...]]:
    """Disjoint sets of commands that cannot be met: from each set, what is not needed for that has been left out."""
    commands = sorted(set(problem.owners))
    for _ in range(MAX_CONFLICTS):
        if problem.possible(commands):
            return
        core = tuple(commands)
        for command in commands:
            fewer = tuple(other for other in core if other != command)
            core = core if problem.possible(fewer) else fewer
        yield core
        commands = [command for command in commands if command not in core]


# --- the linear program

Row: TypeAlias = tuple[Floats, float]  # coefficients of each number and cell, and what their sum is at most


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Unknown is how many rows each cell has and, for each number, how many of these stand at its upper bound.

    `rows[i] @ unknowns <= bounds[i]` is what command `owners[i]` demands.
    """

    cells: int
    rows: Floats
    bounds: Floats
    owners: tuple[int, ...]

    def possible(self, commands: Collection[int]) -> bool:
        """Whether some table may meet the demands of all these commands; no is certain."""
        from scipy.optimize import linprog  # slow to import, and most programs do not need it
        from scipy.sparse import csr_array, vstack

        chosen = [owner in commands for owner in self.owners]
        unknowns = self.rows.shape[1]
        some = np.arange(self.cells, unknowns)  # rows at an upper bound are at most all rows of their cell
        signs = np.repeat([1.0, -1.0], len(some))
        places = (np.tile(np.arange(len(some)), 2), np.concatenate([some, some % self.cells]))
        inside = csr_array((signs, places), shape=(len(some), unknowns))
        found = linprog(
            np.zeros(unknowns),
            vstack([csr_array(self.rows[chosen]), inside]),
            np.concatenate([self.bounds[chosen], np.zeros(len(some))]),
            method="highs",
            options={"primal_feasibility_tolerance": 1e-9},
        )
        return bool(found.status != 2)  # 2: infeasible


def state_problem(demands: Sequence[MeanBound], rules: Sequence[Pred], schema: Schema, *, most: int) -> Problem | None:
    """The linear program of demands under rules, or nothing when it is too large or no row is left."""
    conditions = dict.fromkeys(condition for demand in demands for condition in demand.conditions)
    numbers = dict.fromkeys(number for demand in demands for number in demand.numbers)
    columns = frozenset[str]().union(*(demand.columns for demand in demands))
    cells = find_cells(rules, list(conditions), columns, schema, most=most // (1 + len(numbers)))
    if cells is None or cells.count == 0:
        return None
    limits: dict[Quantity, tuple[Floats, Floats]] = {}
    for number in numbers:
        where = np.any([cells.holds(demand.among) for demand in demands if number in demand.numbers], axis=0)
        found = cells.limits(number, where)
        if found is not None:
            limits[number] = found
    usable = [demand for demand in demands if all(number in limits for number in demand.numbers)]
    made = [(row, bound, demand.command) for demand in usable for row, bound in _rows(demand, cells, limits)]
    if not made:
        return None
    blocks = np.stack([row for row, _, _ in made])  # (rows, 1 + numbers, cells)
    blocks = np.unique(blocks, axis=2)  # cells that nothing tells apart are one
    bounds = np.array([bound for _, bound, _ in made])
    return Problem(blocks.shape[2], blocks.reshape(len(made), -1), bounds, tuple(command for _, _, command in made))


def _rows(demand: MeanBound, cells: Cells, limits: Mapping[Quantity, tuple[Floats, Floats]]) -> Iterator[Row]:
    """What a demand says of the numbers of rows: there are some, and the sum stays within limits times their number.

    For each cell the first coefficient is that of its rows when every number stands at its lower bound; the others are
    what is added when one stands at its upper bound.
    """
    among = cells.holds(demand.among)
    coefficients = np.zeros((1 + len(limits), cells.count))
    coefficients[0, among] = -1.0
    yield coefficients, -1.0
    if not among.any():
        return
    values = np.zeros_like(coefficients)
    places = {number: place for place, number in enumerate(limits, 1)}
    for term, weight in demand.terms:
        if isinstance(term, Quantity):
            low, high = limits[term]
            values[0] += weight * low
            values[places[term]] = weight * (high - low)
        else:
            values[0] += weight * cells.holds(term)
    ends = values[0] + np.stack([np.minimum(values[1:], 0.0).sum(0), np.maximum(values[1:], 0.0).sum(0)])
    ends = ends[:, among]
    for sign, target in ((1.0, demand.limits.high), (-1.0, demand.limits.low)):
        if isfinite(target):
            far = float(np.abs(ends - target).max())
            slack = ROUNDING * max(1.0, abs(target), float(np.abs(ends).max())) + MARGIN * far
            coefficients = sign * values
            coefficients[0] -= sign * target + slack
            yield np.where(among, coefficients, 0.0) / (far + slack), 0.0

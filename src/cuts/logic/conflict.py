"""Commands whose statistics exclude each other under the row rules, detected by linear programming.

A table is a number of rows in each cell (`logic/cells.py`). A mean or a share among some rows is a ratio of two linear
functions of these numbers, so a bound on it is linear once multiplied by the denominator (Charnes and Cooper 1962); the
mean of a number lies between its bounds in each cell. If the program has no solution, some weighted sum of the bounds
contradicts itself (Farkas' lemma), so no table meets the commands. All bounds are outer ones: a conflict is certain,
the absence of one is no proof.
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
from cuts.logic.mean_bounds import ROUNDING, MeanBound, can_hold, find_mean_bounds, has_sum, single_targets

MARGIN = 1e-6  # how far targets are relaxed, relative to their row: far more than the error of the solver


@dataclass(frozen=True, slots=True)
class ConflictSettings:
    """How much is tried before a conflict goes unreported."""

    max_unknowns: int = 20_000  # of one linear program; above, small sets of columns are checked on their own
    max_unknowns_of_scope: int = 1_000  # of the linear program of one such set
    max_scopes: int = 100  # number of such sets
    max_conflicts: int = 3  # reported for each group of linked commands


DEFAULT = ConflictSettings()


@dataclass(frozen=True, slots=True)
class Conflict:
    """Commands that no table meets together; `by_rules`: without the row rules, some table might."""

    commands: tuple[TableGoal, ...]
    by_rules: bool


def find_conflicts(
    goals: Sequence[TableGoal], rules: Sequence[Pred], schema: Schema, *, settings: ConflictSettings = DEFAULT
) -> Iterator[Conflict]:
    """Sets of commands that exclude each other: pairs about one statistic first, then sets of other commands."""
    reported: set[int] = set()
    for pair in _pairs(goals):
        reported.update(pair)
        yield Conflict(tuple(goals[command] for command in sorted(set(pair))), by_rules=False)
    # Rules on sums of columns are left out: the bounds get wider and stay certain.
    simple = [rule for rule in rules if not has_sum(rule)]
    for bounds, linked in _groups(find_mean_bounds(goals, schema), simple):
        for core in _cores(bounds, linked, schema, reported, settings):
            reported.update(core)
            involved = [bound for bound in bounds if bound.command in core]
            without_rules = state_problem(involved, (), schema, max_unknowns=settings.max_unknowns) if linked else None
            by_rules = without_rules is not None and without_rules.feasible(core)
            yield Conflict(tuple(goals[command] for command in core), by_rules)


def _pairs(goals: Sequence[TableGoal]) -> Iterator[tuple[int, int]]:
    """Commands with disjoint targets for one statistic, of any kind; for intervals, checking pairs is enough."""
    targets = [(index, *target) for index, command in enumerate(goals) for target in single_targets(command.goal)]
    for position, (later, stat, limits) in enumerate(targets):
        for earlier, other_stat, other_limits in targets[:position]:
            if stat == other_stat and not can_hold(limits, "==", other_limits, 0.0):
                yield earlier, later


# --- groups of linked commands


def _groups(bounds: Iterable[MeanBound], rules: Iterable[Pred]) -> list[tuple[list[MeanBound], list[Pred]]]:
    """Bounds and rules linked by a chain of shared columns, group by group; groups without a bound are left out."""
    groups: list[tuple[frozenset[str], list[MeanBound], list[Pred]]] = []
    parts = [*((rule, columns_of(rule)) for rule in rules), *((bound, bound.columns) for bound in bounds)]
    for part, columns in parts:
        touching = [group for group in groups if group[0] & columns]
        groups = [group for group in groups if not group[0] & columns]
        members = [bound for group in touching for bound in group[1]]
        linked = [rule for group in touching for rule in group[2]]
        if isinstance(part, MeanBound):
            members.append(part)
        else:
            linked.append(part)
        groups.append((columns.union(*(group[0] for group in touching)), members, linked))
    return [(members, linked) for _, members, linked in groups if members]


def _cores(
    bounds: Sequence[MeanBound],
    rules: Sequence[Pred],
    schema: Schema,
    reported: Collection[int],
    settings: ConflictSettings,
) -> Iterator[tuple[int, ...]]:
    """Disjoint irreducible sets of commands that exclude each other, without any command in `reported`."""
    remaining = [bound for bound in bounds if bound.command not in reported]
    if len(remaining) < 2 and all(len(bound.terms) < 2 for bound in remaining):
        return  # a single mean or share: `logic/reach.py` has checked its range
    problem = state_problem(remaining, rules, schema, max_unknowns=settings.max_unknowns)
    if problem is not None:
        yield from _irreducible(problem, settings.max_conflicts)
        return
    used: set[int] = set()
    for columns in _small_scopes(remaining, settings.max_scopes):
        inside = [bound for bound in remaining if bound.columns <= columns and bound.command not in used]
        touching = [rule for rule in rules if columns_of(rule) & columns]
        problem = state_problem(inside, touching, schema, max_unknowns=settings.max_unknowns_of_scope)
        for core in _irreducible(problem, settings.max_conflicts) if problem is not None else ():
            used.update(core)
            yield core


def _small_scopes(bounds: Sequence[MeanBound], max_scopes: int) -> list[frozenset[str]]:
    """The columns of any two bounds, smallest first: what is checked when all columns at once are too many."""
    scopes = {one.columns | other.columns for one, other in combinations(bounds, 2)}
    return sorted(scopes, key=lambda columns: (len(columns), sorted(columns)))[:max_scopes]


def _irreducible(problem: Problem, max_conflicts: int) -> Iterator[tuple[int, ...]]:
    """Disjoint infeasible sets of commands, each irreducible: without any one of its commands it is feasible.

    The deletion filter of Chinneck and Dravnieks (1991): drop every command without which the rest stays infeasible.
    """
    commands = sorted(set(problem.owners))
    for _ in range(max_conflicts):
        if problem.feasible(commands):
            return
        core = tuple(commands)
        for command in commands:
            fewer = tuple(other for other in core if other != command)
            core = core if problem.feasible(fewer) else fewer
        yield core
        commands = [command for command in commands if command not in core]


# --- the linear program

Row: TypeAlias = tuple[Floats, float]  # coefficients (1 + numbers, cells), and the upper bound of their sum


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Unknowns: how many rows each cell has and, for each number, how many of them are at its upper bound there.

    `rows[i] @ unknowns <= bounds[i]` is implied by command `owners[i]`.
    """

    cells: int
    rows: Floats
    bounds: Floats
    owners: tuple[int, ...]

    def feasible(self, commands: Collection[int]) -> bool:
        """Whether some table may meet the bounds of all these commands; no is certain."""
        from scipy.optimize import linprog  # slow to import, and most programs do not need it
        from scipy.sparse import csr_array, vstack

        chosen = [owner in commands for owner in self.owners]
        unknowns = self.rows.shape[1]
        at_upper = np.arange(self.cells, unknowns)  # rows at an upper bound are at most all rows of their cell
        signs = np.repeat([1.0, -1.0], len(at_upper))
        indices = (np.tile(np.arange(len(at_upper)), 2), np.concatenate([at_upper, at_upper % self.cells]))
        part_of_cell = csr_array((signs, indices), shape=(len(at_upper), unknowns))
        solution = linprog(
            np.zeros(unknowns),
            vstack([csr_array(self.rows[chosen]), part_of_cell]),
            np.concatenate([self.bounds[chosen], np.zeros(len(at_upper))]),
            method="highs",
            options={"primal_feasibility_tolerance": 1e-9},
        )
        return bool(solution.status != 2)  # 2: infeasible


def state_problem(
    bounds: Sequence[MeanBound], rules: Sequence[Pred], schema: Schema, *, max_unknowns: int
) -> Problem | None:
    """The linear program of bounds under rules, or None if it is too large or no row is allowed."""
    conditions = dict.fromkeys(condition for bound in bounds for condition in bound.conditions)
    numbers = dict.fromkeys(number for bound in bounds for number in bound.numbers)
    columns = frozenset[str]().union(*(bound.columns for bound in bounds))
    cells = find_cells(rules, list(conditions), columns, schema, max_cells=max_unknowns // (1 + len(numbers)))
    if cells is None or cells.count == 0:
        return None
    limits: dict[Quantity, tuple[Floats, Floats]] = {}
    for number in numbers:
        where = np.any([cells.holds(bound.among) for bound in bounds if number in bound.numbers], axis=0)
        ends = cells.limits(number, where)
        if ends is not None:
            limits[number] = ends
    usable = [bound for bound in bounds if all(number in limits for number in bound.numbers)]
    rows = [(row, at_most, bound.command) for bound in usable for row, at_most in _rows(bound, cells, limits)]
    if not rows:
        return None
    coefficients = np.stack([row for row, _, _ in rows])  # (rows, 1 + numbers, cells)
    coefficients = np.unique(coefficients, axis=2)  # cells with equal coefficients are one
    return Problem(
        cells=coefficients.shape[2],
        rows=coefficients.reshape(len(rows), -1),
        bounds=np.array([at_most for _, at_most, _ in rows]),
        owners=tuple(command for _, _, command in rows),
    )


def _rows(bound: MeanBound, cells: Cells, limits: Mapping[Quantity, tuple[Floats, Floats]]) -> Iterator[Row]:
    """The inequalities of a bound: there are such rows, and their sum stays within the limits times their number.

    The first coefficient of a cell is that of its rows when every number is at its lower bound; the others are what is
    added when one number is at its upper bound.
    """
    among = cells.holds(bound.among)
    coefficients = np.zeros((1 + len(limits), cells.count))
    coefficients[0, among] = -1.0
    yield coefficients, -1.0
    if not among.any():
        return
    values = np.zeros_like(coefficients)
    index_of = {number: index for index, number in enumerate(limits, 1)}
    for term, weight in bound.terms:
        if isinstance(term, Quantity):
            low, high = limits[term]
            values[0] += weight * low
            values[index_of[term]] = weight * (high - low)
        else:
            values[0] += weight * cells.holds(term)
    ends = values[0] + np.stack([np.minimum(values[1:], 0.0).sum(0), np.maximum(values[1:], 0.0).sum(0)])
    ends = ends[:, among]
    for sign, target in ((1.0, bound.limits.high), (-1.0, bound.limits.low)):
        if isfinite(target):
            scale = float(np.abs(ends - target).max())
            slack = ROUNDING * max(1.0, abs(target), float(np.abs(ends).max())) + MARGIN * scale
            coefficients = sign * values
            coefficients[0] -= sign * target + slack
            yield np.where(among, coefficients, 0.0) / (scale + slack), 0.0

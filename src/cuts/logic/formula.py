"""Predicates over bins: negation is pushed to the leaves, leaves about the same variable are merged.

A set of bins is the bits of an integer: bit `b` is set when bin `b` is in the set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from cuts.data.codec import CategoryBins
from cuts.lang.spec import And, Implies, InSet, LinearCompare, Missing, Not, Or, Pred, Truth
from cuts.lang.syntax import CompareOp
from cuts.logic.core import Grid, Numeric, Variable, variable_of


@dataclass(frozen=True, slots=True)
class Leaf:
    """The variable's value lies in one of `bins`."""

    variable: Variable
    bins: int


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds; without parts it holds everywhere."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one part holds; without parts it holds nowhere."""

    parts: tuple[Formula, ...]


Formula: TypeAlias = Leaf | All | Some
TRUE, FALSE = All(()), Some(())


def lower(pred: Pred, grid: Grid) -> Formula:
    """The predicate as a formula over the bins of a grid that has its cuts."""
    return _lower(pred, grid, True)


def leaves(formula: Formula) -> Iterator[Leaf]:
    """The leaves of a formula, left to right."""
    match formula:
        case Leaf():
            yield formula
        case All(parts) | Some(parts):
            for part in parts:
                yield from leaves(part)
        case _:
            assert_never(formula)


def _lower(pred: Pred, grid: Grid, positive: bool) -> Formula:
    match pred:
        case Truth(value):
            return TRUE if value == positive else FALSE
        case InSet() | LinearCompare() | Missing():
            variable, bins = _bins(pred, grid)
            return _leaf(variable, bins if positive else _everything(variable, grid) ^ bins, grid)
        case Not(inner):
            return _lower(inner, grid, not positive)
        case And(parts):
            return (_all if positive else _some)([_lower(part, grid, positive) for part in parts], grid)
        case Or(parts):
            return (_some if positive else _all)([_lower(part, grid, positive) for part in parts], grid)
        case Implies(left, right):
            both = [_lower(left, grid, not positive), _lower(right, grid, positive)]
            return (_some if positive else _all)(both, grid)
        case _:
            assert_never(pred)


def _everything(variable: Variable, grid: Grid) -> int:
    return (1 << grid.size(variable)) - 1


def _bins(pred: InSet | LinearCompare | Missing, grid: Grid) -> tuple[Numeric, int]:
    match pred:
        case InSet(name, values, negated):
            column = grid.codec[name]
            # The first member decides for its bin: no rule distinguishes the members of a bin. A number is no text.
            if isinstance(column, CategoryBins):
                members = [group[0] in values for group in column.groups]
            else:
                members = [False] * column.numbers + [group[0] in values for group in column.texts]
            return name, sum(1 << i for i, member in enumerate(members) if member != negated)
        case Missing(name):
            return name, (1 << (grid.size(name) - 1)) if grid.codec[name].column.missing else 0
        case LinearCompare(_, op, bound):
            variable = variable_of(pred)
            chosen = [i for i, start in enumerate(grid.starts(variable)) if _holds(start, op, bound)]
            return variable, sum(1 << i for i in chosen)


def _holds(start: float, op: CompareOp, bound: float) -> bool:
    """Whether a bin satisfies a comparison: no bin straddles one, so its lower edge decides."""
    match op:
        case "==":
            return start == bound
        case "!=":
            return start != bound
        case "<":
            return start < bound
        case "<=":
            return start <= bound
        case ">":
            return start > bound
        case ">=":
            return start >= bound


def _leaf(variable: Variable, bins: int, grid: Grid) -> Formula:
    group = grid.group_of(variable)
    if group is not None:
        chosen = [i for i, stands_for in enumerate(grid.groups[group]) if bins >> stands_for[variable] & 1]
        return _leaf(group, sum(1 << i for i in chosen), grid)
    if bins == 0:
        return FALSE
    return TRUE if bins == _everything(variable, grid) else Leaf(variable, bins)


def _all(parts: list[Formula], grid: Grid) -> Formula:
    return _joined(parts, grid, All)


def _some(parts: list[Formula], grid: Grid) -> Formula:
    return _joined(parts, grid, Some)


def _joined(parts: list[Formula], grid: Grid, join: type[All] | type[Some]) -> Formula:
    """The parts joined: nested joins flattened, leaves about one variable merged, constants removed."""
    neutral, absorbing = (TRUE, FALSE) if join is All else (FALSE, TRUE)
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, join) else (part,))]
    merged: dict[Variable, int] = {}
    rest: list[Formula] = []
    for part in flat:
        if isinstance(part, Leaf):
            before = merged.get(part.variable, part.bins)
            merged[part.variable] = before & part.bins if join is All else before | part.bins
        elif part not in rest:
            rest.append(part)
    simplified = [_leaf(variable, bins, grid) for variable, bins in merged.items()] + rest
    if absorbing in simplified:
        return absorbing
    remaining = tuple(part for part in simplified if part != neutral)
    return remaining[0] if len(remaining) == 1 else join(remaining)

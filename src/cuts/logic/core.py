"""Predicates as sets of bins.

Constants become bin edges, negation is pushed to the leaves, leaves about the same variable are merged. A variable is a
column, or a sum of columns (`age - tenure`) that some comparison is about. A set of bins is the bits of an integer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import TypeAlias, assert_never

import numpy as np

from cuts.data.codec import CategoryBins, Codec, build_codec, encode
from cuts.data.conform import conform
from cuts.data.lattice import after, at_least
from cuts.data.schema import Integer, Real, Schema, Temporal
from cuts.data.table import IntArray, Table
from cuts.lang.spec import And, Implies, InSet, Linear, LinearCompare, Missing, Not, Or, Pred, Truth
from cuts.lang.syntax import CompareOp


@dataclass(frozen=True, slots=True)
class Group:
    """Columns that sums tie together, as one variable: a bin of it is a choice of bins for them and for the sums."""

    columns: tuple[str, ...]


Numeric: TypeAlias = str | Linear  # a column, or a sum of columns
Variable: TypeAlias = Numeric | Group


@dataclass(frozen=True, slots=True)
class Leaf:
    """The variable's value lies in one of `bins`."""

    variable: Variable
    bins: int


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds; none is true of everything."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one part holds; none of nothing."""

    parts: tuple[Formula, ...]


Formula: TypeAlias = Leaf | All | Some
TRUE, FALSE = All(()), Some(())


@dataclass(frozen=True, slots=True)
class Grid:
    """The bins of every variable of some predicates: the codec's for columns, intervals for sums of columns.

    The bins of a sum: below its first cut, from each cut to the next, and, last, missing if a column of it can be.
    """

    codec: Codec
    sums: Mapping[Linear, tuple[float, ...]]
    above: Mapping[Numeric, frozenset[float]]  # edges that mean "just above the number before"
    groups: Mapping[Group, tuple[Mapping[Variable, int], ...]] = field(default_factory=dict)  # what each bin stands for

    def size(self, variable: Variable) -> int:
        """Number of bins of a variable."""
        if isinstance(variable, Group):
            return len(self.groups[variable])
        if isinstance(variable, str):
            return self.codec[variable].size
        return len(self.sums[variable]) + 1 + self.can_miss(variable)

    def group_of(self, variable: Variable) -> Group | None:
        """The group a column or a sum belongs to, if any."""
        if isinstance(variable, Group):
            return None
        name = variable if isinstance(variable, str) else variable.columns[0]
        return next((group for group in self.groups if name in group.columns), None)

    def can_miss(self, variable: Numeric) -> bool:
        """Whether a variable can be without a value."""
        names = (variable,) if isinstance(variable, str) else variable.columns
        return any(self.codec[name].column.missing for name in names)

    def per_unit(self, variable: Numeric) -> int | None:
        """How many lattice points a unit of a numeric variable holds, if it has a lattice."""
        form = Linear(((variable, 1.0),)) if isinstance(variable, str) else variable
        return _per_unit(form, self.codec.schema)

    def starts(self, variable: Numeric) -> tuple[float, ...]:
        """The lower edge of every bin of a numeric variable, the missing one left out."""
        if isinstance(variable, str):
            bins = self.codec[variable]
            assert not isinstance(bins, CategoryBins)
            return bins.edges
        return (-inf, *self.sums[variable])


@dataclass(frozen=True, slots=True)
class Cuts:
    """What predicates tell apart: numbers of columns and of sums of columns, sets of categories."""

    columns: Mapping[str, frozenset[float]]
    sets: Mapping[str, tuple[frozenset[str], ...]]
    sums: Mapping[Linear, tuple[float, ...]]
    above: Mapping[Numeric, frozenset[float]]


def find_cuts(preds: Iterable[Pred], schema: Schema) -> Cuts:
    """Where predicates cut the values of a schema; a codec with these cuts decides them exactly."""
    cuts: dict[Numeric, set[float]] = {}
    above: dict[Numeric, set[float]] = {}
    sets: dict[str, dict[frozenset[str], None]] = {}
    for pred in preds:
        for leaf in memberships(pred):
            sets.setdefault(leaf.column, {})[leaf.values] = None
        for compared in comparisons(pred):
            variable = _variable(compared)
            per_unit = _per_unit(compared.form, schema)
            at, beyond = at_least(compared.bound, per_unit), after(compared.bound, per_unit)
            edges = {">=": {at}, "<": {at}, ">": {beyond}, "<=": {beyond}, "==": {at, beyond}, "!=": {at, beyond}}
            cuts.setdefault(variable, set()).update(edges[compared.op])
            above.setdefault(variable, set()).update(edges[compared.op] & {beyond} if per_unit is None else set())
    return Cuts(
        {variable: frozenset(edges) for variable, edges in cuts.items() if isinstance(variable, str)},
        {column: tuple(found) for column, found in sets.items()},
        {variable: tuple(sorted(edges)) for variable, edges in cuts.items() if not isinstance(variable, str)},
        {variable: frozenset(edges) for variable, edges in above.items()},
    )


def build_grid(preds: Iterable[Pred], schema: Schema, *, coarse: bool = False) -> Grid:
    """The grid on which `preds` are decided, without rows; `coarse` leaves out the schema's own bins."""
    cuts = find_cuts(preds, schema)
    return grid_on(build_codec(schema, cuts.columns, coarse=coarse), cuts)


def grid_on(codec: Codec, cuts: Cuts) -> Grid:
    """The grid of a codec that has the cuts."""
    return Grid(codec, cuts.sums, cuts.above)


def lower(pred: Pred, grid: Grid) -> Formula:
    """The predicate over bins."""
    return _lower(pred, grid, True)


def encode_variables(table: Table, grid: Grid) -> dict[Variable, IntArray]:
    """The bin of every row in every variable, sums of columns included: decided on the values as written."""
    found: dict[Variable, IntArray] = {}
    found.update(encode(table, grid.codec))
    if grid.sums:
        typed = conform(table, grid.codec.schema)
        for form, edges in grid.sums.items():
            total = np.zeros(table.rows)
            for name, coefficient in form.terms:
                total = total + coefficient * typed.numbers(name)
            places = np.searchsorted(np.array(edges), total, side="right").astype(np.int64)
            found[form] = np.where(np.isnan(total), grid.size(form) - 1, places)
    return found


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


# --- cut points


def comparisons(pred: Pred) -> Iterator[LinearCompare]:
    """The comparisons of numbers in a predicate."""
    return (leaf for leaf in tests(pred) if isinstance(leaf, LinearCompare))


def memberships(pred: Pred) -> Iterator[InSet]:
    """The tests of categories in a predicate."""
    return (leaf for leaf in tests(pred) if isinstance(leaf, InSet))


def tests(pred: Pred) -> Iterator[Pred]:
    """The leaves of a predicate, left to right."""
    match pred:
        case Not(inner):
            yield from tests(inner)
        case And(parts) | Or(parts):
            for part in parts:
                yield from tests(part)
        case Implies(left, right):
            yield from tests(left)
            yield from tests(right)
        case Truth() | InSet() | LinearCompare() | Missing():
            yield pred
        case _:
            assert_never(pred)


def _variable(leaf: LinearCompare) -> Numeric:
    """A single column is itself: the binder has divided by its coefficient."""
    return leaf.form.columns[0] if len(leaf.form.terms) == 1 else leaf.form


def _per_unit(form: Linear, schema: Schema) -> int | None:
    """The lattice of a sum: its column's own, or whole numbers when everything in it is whole."""
    columns = [schema[name] for name in form.columns]
    if len(columns) == 1:
        (column,) = columns
        return column.per_unit if isinstance(column, Integer | Real | Temporal) else None
    whole = all(isinstance(c, Integer | Temporal) and c.per_unit == 1 for c in columns)
    return 1 if whole and all(value == int(value) for _, value in form.terms) else None


# --- lowering


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
            known = grid.codec[name]
            assert isinstance(known, CategoryBins)
            # The members of a bin are alike: no rule tells them apart.
            chosen = [i for i, group in enumerate(known.groups) if (group[0] in values) != negated]
            return name, sum(1 << i for i in chosen)
        case Missing(name):
            return name, (1 << (grid.size(name) - 1)) if grid.can_miss(name) else 0
        case LinearCompare(_, op, bound):
            variable = _variable(pred)
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
        held = [i for i, stands_for in enumerate(grid.groups[group]) if bins >> stands_for[variable] & 1]
        return _leaf(group, sum(1 << i for i in held), grid)
    if bins == 0:
        return FALSE
    return TRUE if bins == _everything(variable, grid) else Leaf(variable, bins)


def _all(parts: list[Formula], grid: Grid) -> Formula:
    return _joined(parts, grid, All)


def _some(parts: list[Formula], grid: Grid) -> Formula:
    return _joined(parts, grid, Some)


def _joined(parts: list[Formula], grid: Grid, join: type[All] | type[Some]) -> Formula:
    """The parts joined: nested joins flattened, leaves about one variable merged, constants taken out."""
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
    together = [_leaf(variable, bins, grid) for variable, bins in merged.items()] + rest
    if absorbing in together:
        return absorbing
    kept = tuple(part for part in together if part != neutral)
    return kept[0] if len(kept) == 1 else join(kept)

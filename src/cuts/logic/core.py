"""The variables that predicates are about and the bins on which they are decided.

Constants of predicates become bin edges (cuts). A variable is a column, a sum of columns (`age - tenure`) that some
comparison is about, or a group of columns that sums link. Predicates over these bins are `logic/formula.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import TypeAlias, assert_never

import numpy as np

from cuts.data.codec import CategoryBins, Codec, build_codec, encode
from cuts.data.conform import conform
from cuts.data.lattice import after, at_least
from cuts.data.schema import Integer, Real, Schema, Temporal
from cuts.data.table import IntArray, Table
from cuts.data.ties import Tie, coordinates
from cuts.lang.spec import And, Implies, InSet, Linear, LinearCompare, Missing, Not, Or, Pred, Truth


@dataclass(frozen=True, slots=True)
class Group:
    """Columns that sums link, as one variable: a bin of it is a combination of bins of the columns and the sums."""

    columns: tuple[str, ...]


Numeric: TypeAlias = str | Linear  # a column, or a sum of columns
Variable: TypeAlias = Numeric | Group


@dataclass(frozen=True, slots=True)
class Grid:
    """The bins of every variable of some predicates: the codec's for columns, intervals for sums of columns.

    The bins of a sum: below its first cut, from each cut to the next, and, last, the one without a number if a column
    of it can be missing or a text.
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
        return len(self.sums[variable]) + 1 + self.can_lack_number(variable)

    def group_of(self, variable: Variable) -> Group | None:
        """The group a column or a sum belongs to, if any."""
        if isinstance(variable, Group):
            return None
        name = variable if isinstance(variable, str) else variable.columns[0]
        return next((group for group in self.groups if name in group.columns), None)

    def can_lack_number(self, variable: Numeric) -> bool:
        """Whether the value of a variable can be missing or a text."""
        names = (variable,) if isinstance(variable, str) else variable.columns
        return any(self.codec[name].size > self.codec[name].numbers for name in names)

    def per_unit(self, variable: Numeric) -> int | None:
        """Number of lattice points per unit of a numeric variable, or None if it is continuous."""
        form = Linear(((variable, 1.0),)) if isinstance(variable, str) else variable
        return _per_unit(form, self.codec.inner)

    def starts(self, variable: Numeric) -> tuple[float, ...]:
        """The lower edge of every bin of a numeric variable, those of texts and missing values left out."""
        if isinstance(variable, str):
            bins = self.codec[variable]
            assert not isinstance(bins, CategoryBins)
            return bins.edges
        return (-inf, *self.sums[variable])


@dataclass(frozen=True, slots=True)
class Cuts:
    """The values that predicates distinguish: edges of columns and of sums of columns, sets of categories."""

    columns: Mapping[str, frozenset[float]]
    sets: Mapping[str, tuple[frozenset[str], ...]]
    sums: Mapping[Linear, tuple[float, ...]]
    above: Mapping[Numeric, frozenset[float]]


def find_cuts(preds: Iterable[Pred], schema: Schema) -> Cuts:
    """The values of a schema that predicates distinguish; a codec with these cuts decides them exactly."""
    cuts: dict[Numeric, set[float]] = {}
    above: dict[Numeric, set[float]] = {}
    sets: dict[str, dict[frozenset[str], None]] = {}
    for pred in preds:
        for leaf in memberships(pred):
            sets.setdefault(leaf.column, {})[leaf.values] = None
        for compared in comparisons(pred):
            variable = variable_of(compared)
            per_unit = _per_unit(compared.form, schema)
            at, beyond = at_least(compared.bound, per_unit), after(compared.bound, per_unit)
            edges = {">=": {at}, "<": {at}, ">": {beyond}, "<=": {beyond}, "==": {at, beyond}, "!=": {at, beyond}}
            cuts.setdefault(variable, set()).update(edges[compared.op])
            above.setdefault(variable, set()).update(edges[compared.op] & {beyond} if per_unit is None else set())
    return Cuts(
        {variable: frozenset(edges) for variable, edges in cuts.items() if isinstance(variable, str)},
        {column: tuple(values) for column, values in sets.items()},
        {variable: tuple(sorted(edges)) for variable, edges in cuts.items() if not isinstance(variable, str)},
        {variable: frozenset(edges) for variable, edges in above.items()},
    )


def tied_codec(schema: Schema, ties: Sequence[Tie], cuts: Cuts) -> Codec:
    """The codec of a schema without rows, with hidden columns in the place of tied ones and with the cuts as edges."""
    return replace(build_codec(coordinates(schema, ties), cuts.columns), schema=schema, ties=tuple(ties))


def build_grid(preds: Iterable[Pred], schema: Schema, *, coarse: bool = False) -> Grid:
    """The grid on which `preds` are decided, without rows; `coarse` leaves out the schema's own bins."""
    cuts = find_cuts(preds, schema)
    return grid_on(build_codec(schema, cuts.columns, coarse=coarse), cuts)


def grid_on(codec: Codec, cuts: Cuts) -> Grid:
    """The grid of a codec that has the cuts."""
    return Grid(codec, cuts.sums, cuts.above)


def encode_variables(table: Table, grid: Grid) -> dict[Variable, IntArray]:
    """The bin of every row for every variable, sums of columns included, decided on the values as written."""
    codes: dict[Variable, IntArray] = {}
    codes.update(encode(table, grid.codec))
    if grid.sums:
        typed = conform(table, grid.codec.schema)
        for form, edges in grid.sums.items():
            total = np.zeros(table.rows)
            for name, coefficient in form.terms:
                total = total + coefficient * typed.numbers(name)
            bins = np.searchsorted(np.array(edges), total, side="right").astype(np.int64)
            codes[form] = np.where(np.isnan(total), grid.size(form) - 1, bins)
    return codes


# --- leaves of predicates


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


def variable_of(leaf: LinearCompare) -> Numeric:
    """The variable of a comparison: its only column (the binder has divided by the coefficient), or its sum."""
    return leaf.form.columns[0] if len(leaf.form.terms) == 1 else leaf.form


def _per_unit(form: Linear, schema: Schema) -> int | None:
    """The lattice of a sum: its column's own, or whole numbers when everything in it is whole."""
    columns = [schema[name] for name in form.columns]
    if len(columns) == 1:
        (column,) = columns
        return column.per_unit if isinstance(column, Integer | Real | Temporal) else None
    whole = all(isinstance(c, Integer | Temporal) and c.per_unit == 1 for c in columns)
    return 1 if whole and all(value == int(value) for _, value in form.terms) else None

"""Columns linked by sums (`start <= stop`), as combinations of concrete values.

Some values of a bin represent it; a combination of values decides every comparison of the columns exactly, on the
values that will be written. Combinations that no rule distinguishes are one bin of the group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from cuts.data.codec import Codec, NumericBins
from cuts.data.table import Bools, Floats, IntArray
from cuts.lang.spec import Linear
from cuts.logic.chances import Pick
from cuts.logic.core import Cuts, Grid, Group, Variable, grid_on
from cuts.text.diagnostic import INFEASIBLE, CutsError, Diagnostic

TARGET_COMBINATIONS = 65_536  # of values of one group, approximately
MAX_COMBINATIONS = 4_000_000  # of values of one group
RESAMPLING_SWEEPS = 3  # times that every value is drawn again from its bin, if all comparisons stay the same


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """The values that represent the bins of a group's columns, and the group's bin for every combination of them."""

    group: Group
    columns: tuple[NumericBins, ...]
    codes: tuple[IntArray, ...]  # the bin of each value
    values: tuple[Floats, ...]  # NaN: missing or a text
    shares: tuple[Floats, ...]  # of its bin that a value represents
    forms: Mapping[Linear, tuple[float, ...]]  # the sums and their edges
    kinds: IntArray  # (combinations,), the last column fastest: the bin of the group


def gather(codec: Codec, cuts: Cuts, rng: np.random.Generator) -> tuple[Grid, tuple[Atoms, ...]]:
    """The grid in which columns linked by sums are one variable, and the values that represent their bins."""
    grid = grid_on(codec, cuts)
    all_atoms: list[Atoms] = []
    groups: dict[Group, tuple[Mapping[Variable, int], ...]] = {}
    for names in _linked(cuts):
        atoms, stands_for = _atoms(names, codec, cuts, grid, rng)
        all_atoms.append(atoms)
        groups[atoms.group] = stands_for
    return replace(grid, groups=groups), tuple(all_atoms)


def group_chances(atoms: Atoms, dists: Mapping[str, Floats]) -> Floats:
    """How likely each bin of the group is in each component, (K, bins)."""
    tables = _tables(atoms, dists)
    kinds = int(atoms.kinds.max()) + 1
    return np.stack([_contracted(atoms, tables, kind)[0][0] for kind in range(kinds)], axis=1)


def draw_values(
    atoms: Atoms,
    dists: Mapping[str, Floats],
    components: IntArray,
    kinds: IntArray,
    pick: Pick,
    rng: np.random.Generator,
) -> tuple[dict[str, IntArray], dict[str, Floats]]:
    """A bin and a value of every column of the group for every row, given its component and its bin of the group."""
    tables = _tables(atoms, dists)
    chosen = [np.zeros(len(components), dtype=np.int64) for _ in tables]
    for kind in np.unique(kinds):
        rows = np.flatnonzero(kinds == kind)
        after = _contracted(atoms, tables, int(kind))[1:]
        so_far = np.zeros(len(rows), dtype=np.int64)  # the number of the combination of the columns before
        for index, (table, below) in enumerate(zip(tables, after, strict=True)):
            width = table.shape[1]
            count = len(table)
            keys, groups = np.unique(so_far * count + components[rows], return_inverse=True)
            before, component = np.divmod(keys, count)
            which = before[:, None] * width + np.arange(width)
            weights = table[component] * below[which, component[:, None] if below.shape[1] > 1 else 0]
            chosen[index][rows] = pick(groups, weights)
            so_far = so_far * width + chosen[index][rows]
    codes = [of_column[index] for of_column, index in zip(atoms.codes, chosen, strict=True)]
    values = [of_column[index] for of_column, index in zip(atoms.values, chosen, strict=True)]
    _resample(atoms, codes, values, rng)
    names = atoms.group.columns
    return dict(zip(names, codes, strict=True)), dict(zip(names, values, strict=True))


def _resample(atoms: Atoms, codes: list[IntArray], values: list[Floats], rng: np.random.Generator) -> None:
    """Draw the values again from their bins, in place, wherever all comparisons stay the same.

    Metropolis steps with independent proposals: they keep the distribution of the values given the comparisons.
    """
    before = list(values)
    for _ in range(RESAMPLING_SWEEPS):
        for index, bins in enumerate(atoms.columns):
            present = ~np.isnan(values[index])
            fresh = values[index].copy()
            fresh[present] = bins.contents.draw(codes[index][present], rng)
            trial = [*values[:index], fresh, *values[index + 1 :]]
            values[index] = np.where(same_forms(atoms, trial, before), fresh, values[index])


def same_forms(atoms: Atoms, values: list[Floats], others: list[Floats]) -> Bools:
    """The rows in which two sets of values of a group's columns decide every comparison in the same way."""
    pairs = zip(_form_bins(atoms, values), _form_bins(atoms, others), strict=True)
    same: Bools = np.logical_and.reduce([np.equal(a, b) for a, b in pairs])
    return same


def _atoms(
    names: tuple[str, ...], codec: Codec, cuts: Cuts, grid: Grid, rng: np.random.Generator
) -> tuple[Atoms, tuple[Mapping[Variable, int], ...]]:
    columns = tuple(_numeric(codec, name) for name in names)
    per_column = int(TARGET_COMBINATIONS ** (1 / len(names)))
    parts = [_representatives(bins, max(1, per_column // bins.size), rng) for bins in columns]
    codes = tuple(part[0] for part in parts)
    values = tuple(part[1] for part in parts)
    shares = tuple(part[2] for part in parts)
    if prod(map(len, codes)) > MAX_COMBINATIONS:
        raise CutsError([too_many_columns(names)])
    forms = {form: edges for form, edges in cuts.sums.items() if set(form.columns) <= set(names)}
    marks: dict[Variable, IntArray] = {
        name: _spread(_marks(bins, cuts.columns.get(name, frozenset()))[code], index, codes)
        for index, (name, bins, code) in enumerate(zip(names, columns, codes, strict=True))
    }
    raw = Atoms(Group(names), columns, codes, values, shares, forms, np.zeros(1, dtype=np.int64))
    grids: list[Floats] = [np.asarray(x.ravel(), dtype=np.float64) for x in np.meshgrid(*values, indexing="ij")]
    marks.update(zip(forms, _form_bins(raw, grids), strict=True))
    rows, kinds = np.unique(np.stack(list(marks.values()), axis=1), axis=0, return_inverse=True)
    stands_for = tuple(dict(zip(marks, map(int, row), strict=True)) for row in rows)
    return replace(raw, kinds=kinds.ravel().astype(np.int64)), stands_for


def _representatives(bins: NumericBins, count: int, rng: np.random.Generator) -> tuple[IntArray, Floats, Floats]:
    """The bin, the value and the share of its bin for every value that represents a bin; NaN for texts and missing."""
    size = bins.numbers
    drawn = bins.contents.draw(np.repeat(np.arange(size), count), rng).reshape(size, count)
    codes, values, shares = [], [], []
    for code, some in enumerate(drawn):
        distinct, times = np.unique(some, return_counts=True)
        codes.append(np.full(len(distinct), code))
        values.append(distinct)
        shares.append(times / count)
    others = np.arange(size, bins.size)
    codes.append(others)
    values.append(np.full(len(others), np.nan))
    shares.append(np.ones(len(others)))
    return np.concatenate(codes).astype(np.int64), np.concatenate(values), np.concatenate(shares)


def _marks(bins: NumericBins, cuts: frozenset[float]) -> IntArray:
    """For each bin the first bin that no comparison of the column alone distinguishes from it."""
    classes = np.searchsorted(np.array(sorted(cuts)), np.array(bins.edges), side="right")
    first = np.array([int(np.flatnonzero(classes == number)[0]) for number in classes], dtype=np.int64)
    return np.append(first, np.arange(bins.numbers, bins.size))


def _spread(marks: IntArray, index: int, codes: tuple[IntArray, ...]) -> IntArray:
    """The marks of one column's values, for every combination of values."""
    shape = [1] * len(codes)
    shape[index] = len(marks)
    return np.broadcast_to(marks.reshape(shape), list(map(len, codes))).ravel()


def _form_bins(atoms: Atoms, values: list[Floats]) -> list[IntArray]:
    """The bin of every sum for rows of values; the last bin is for rows with a missing value."""
    by_name = dict(zip(atoms.group.columns, values, strict=True))
    bins = []
    for form, edges in atoms.forms.items():
        total = np.zeros(len(values[0]))
        for name, coefficient in form.terms:
            total = total + coefficient * by_name[name]
        positions = np.searchsorted(np.array(edges), total, side="right")
        bins.append(np.where(np.isnan(total), len(edges) + 1, positions).astype(np.int64))
    return bins


def _tables(atoms: Atoms, dists: Mapping[str, Floats]) -> list[Floats]:
    """How likely each value is in each component, (K, values) for each column."""
    columns = zip(atoms.group.columns, atoms.codes, atoms.shares, strict=True)
    return [dists[name][:, codes] * shares for name, codes, shares in columns]


def _contracted(atoms: Atoms, tables: list[Floats], kind: int) -> list[Floats]:
    """The probability of a bin of the group given the values of no column, of the first, of the first two, ...

    Each is (combinations of those columns, K); given all columns it is 0 or 1 and the same in all components.
    """
    *others, last = tables
    inside = (atoms.kinds == kind).astype(np.float64)
    sums = [inside.reshape(-1, last.shape[1]) @ last.T, inside[:, None]]
    for table in reversed(others):
        below = sums[0].reshape(-1, table.shape[1], len(table))
        sums.insert(0, np.einsum("nak,ka->nk", below, table))
    return sums


def _numeric(codec: Codec, name: str) -> NumericBins:
    bins = codec[name]
    assert isinstance(bins, NumericBins)
    return bins


def _linked(cuts: Cuts) -> list[tuple[str, ...]]:
    """The columns linked by sums, group by group."""
    groups: list[set[str]] = []
    for form in cuts.sums:
        names = set(form.columns)
        touching = [group for group in groups if group & names]
        groups = [group for group in groups if not group & names]
        groups.append(names.union(*touching))
    return sorted(tuple(sorted(group)) for group in groups)


def too_many_columns(names: tuple[str, ...]) -> Diagnostic:
    """Sums that link too many columns."""
    return Diagnostic(
        "rules-too-large",
        f"sums in the row rules link too many columns: {', '.join(f'`{name}`' for name in names)}",
        help="give these columns fewer `bins` in the schema, or leave out a rule (no rule is ever dropped)",
        exit_code=INFEASIBLE,
    )

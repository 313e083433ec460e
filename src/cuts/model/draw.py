"""Rows from a mixture, as codes, chunk by chunk.

A chunk is a function of the seed and its number, so any number of workers makes the same rows. With rules, components
are weighted by the probability of the rules in them, `w_k P(rules | k)`, and the columns of the rules are drawn through
the diagram: every row satisfies them, however rare that is, and none is rejected. (CuTS, Vero et al., ICML 2024,
sec. 4.2, rejects rows instead.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cuts.config import Drawing
from cuts.data.codec import Codes
from cuts.data.table import Bools, Floats, IntArray
from cuts.logic import chances
from cuts.logic.atoms import Atoms, draw_values, group_chances
from cuts.logic.chances import Pick
from cuts.logic.core import Group, Variable
from cuts.logic.diagram import Diagram
from cuts.model.mixture import Mixture
from cuts.model.picking import picker

CHUNK = 65_536  # rows
MIN_PROBABILITY = 1e-200  # of the rules in a component; below it the component is not drawn from
MAX_POSTERIOR_CELLS = 4_000_000  # (row, component) probabilities in memory at once, for rows with given cells


@dataclass(frozen=True, slots=True, eq=False)
class Supply:
    """What rows are drawn from: a mixture, and the rules they must satisfy, if any."""

    prior: Floats  # (K,), the weights of the components
    weights: Floats  # (K,), their weights given the rules, not summing to one
    dists: Mapping[str, Floats]  # by column, (K, bins)
    rules: Diagram | None
    groups: Mapping[Group, tuple[Atoms, Floats]]  # columns tied by sums: their values, and the (K, bins) of the group

    @property
    def is_empty(self) -> bool:
        """Whether no row of the model can satisfy the rules."""
        return not self.weights.sum() > 0


def supply(mix: Mixture, rules: Diagram | None = None, atoms: Sequence[Atoms] = ()) -> Supply:
    """What rows are drawn from; `atoms` are of the columns that sums in the rules tie together."""
    dists = {name: p.detach().cpu().double().numpy() for name, p in zip(mix.columns, mix.P, strict=True)}
    prior = mix.w.detach().cpu().double().numpy()
    if rules is None or not rules.parts:
        return Supply(prior, prior, dists, None, {})
    groups = {values.group: (values, group_chances(values, dists)) for values in atoms}
    return Supply(prior, prior * _held(rules, _variables(dists, groups)), dists, rules, groups)


def chunk_count(rows: int) -> int:
    """The number of chunks of a draw."""
    return -(-rows // CHUNK)


def chunk_bounds(number: int, rows: int) -> tuple[int, int]:
    """The rows of a chunk: the position of its first row, and of the row after its last."""
    return number * CHUNK, min((number + 1) * CHUNK, rows)


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """The codes of rows, and the values of the columns whose sums a rule compares, which are drawn exactly."""

    codes: Codes
    values: Mapping[str, Floats]


def draw(source: Supply, rows: int, *, seed: int, chunk: int = 0, drawing: Drawing = "systematic") -> Drawn:
    """One chunk of rows; all satisfy the rules. At least one row must be able to."""
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, chunk])))
    pick = picker(drawing, rng)
    components = rng.permutation(pick(np.zeros(rows, dtype=np.int64), source.weights[None, :]))
    return _columns(source, components, pick, rng)


def complete(
    source: Supply,
    codes: Codes,
    given: Mapping[str, Bools],
    *,
    seed: int,
    max_cells: int = MAX_POSTERIOR_CELLS,
) -> tuple[Drawn, Bools]:
    """Rows of which some cells are given, with the rest drawn given those; and which rows can exist at all.

    The codes of a row that cannot satisfy the rules with its given cells have no meaning. No given column may be tied
    to others by a sum in the rules.
    """
    rows = len(next(iter(codes.values())))
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, rows])))
    pick = picker("independent", rng)
    completed: Codes = {name: np.zeros(rows, dtype=np.int64) for name in source.dists}
    values: dict[str, Floats] = {}
    possible = np.zeros(rows, dtype=np.bool_)
    for some, fixed in _alike(source, codes, given):
        held = _given_rules(source, fixed)
        for block in np.array_split(some, max(1, -(-len(some) * len(held) // max_cells))):
            chance = _posterior(source, held, codes, given, block)
            able = chance.sum(1) > 0
            possible[block] = able
            block, chance = block[able], chance[able]
            components = pick(np.arange(len(block)), chance)
            drawn = _columns(source, components, pick, rng, fixed)
            for name, column in drawn.codes.items():
                completed[name][block] = (
                    np.where(given[name][block], codes[name][block], column) if name in given else column
                )
            for name, numbers in drawn.values.items():
                values.setdefault(name, np.zeros(rows))[block] = numbers
    return Drawn(completed, values), possible


def _columns(
    source: Supply,
    components: IntArray,
    pick: Pick,
    rng: np.random.Generator,
    fixed: Mapping[str, IntArray] | None = None,
) -> Drawn:
    """Every column given each row's component; `fixed` columns of the rules only take the bins given."""
    codes: Codes = {}
    values: dict[str, Floats] = {}
    if source.rules is not None:
        dists = _variables(_fixed(source, fixed or {}), source.groups)
        drawn = chances.draw(source.rules, dists, components, pick)
        # A diagram does not mention a group that all values satisfy in one way.
        drawn |= {group: pick(components, table) for group, (_, table) in source.groups.items() if group not in drawn}
        for name, bins in drawn.items():
            if isinstance(name, Group):
                member_codes, member_values = draw_values(
                    source.groups[name][0], source.dists, components, bins, pick, rng
                )
                codes.update(member_codes)
                values.update(member_values)
            elif isinstance(name, str):
                codes[name] = bins
    for name, table in source.dists.items():
        if name not in codes:
            codes[name] = pick(components, table)
    return Drawn({name: codes[name] for name in source.dists}, values)


def _held(rules: Diagram, dists: Mapping[Variable, Floats]) -> Floats:
    """The probability of the rules in each component, (K,); 0 where it is too small to divide by."""
    held: Floats = chances.probability(rules, dists)
    return np.where(held < MIN_PROBABILITY, 0.0, held)


def _variables(dists: Mapping[str, Floats], groups: Mapping[Group, tuple[Atoms, Floats]]) -> dict[Variable, Floats]:
    tables: dict[Variable, Floats] = {group: table for group, (_, table) in groups.items()}
    tables.update(dists)
    return tables


# --- rows with given cells


def _alike(source: Supply, codes: Codes, given: Mapping[str, Bools]) -> Iterator[tuple[IntArray, dict[str, IntArray]]]:
    """Rows whose given cells are alike to the rules, and the bins like each such cell."""
    rows = len(next(iter(codes.values())))
    parts = source.rules.parts if source.rules is not None else ()
    asked = {
        name: classes
        for part in parts
        for name, classes in zip(part.variables, part.classes, strict=True)
        if isinstance(name, str) and name in given
    }
    marks = np.zeros((rows, len(asked)), dtype=np.int64)
    for i, (name, classes) in enumerate(asked.items()):
        marks[:, i] = np.where(given[name], classes[codes[name]], -1)
    kinds, kind_of = np.unique(marks, axis=0, return_inverse=True)
    for number, kind in enumerate(kinds):
        fixed = {
            name: np.flatnonzero(classes == mark)
            for (name, classes), mark in zip(asked.items(), kind, strict=True)
            if mark >= 0
        }
        yield np.flatnonzero(kind_of.ravel() == number), fixed


def _fixed(source: Supply, fixed: Mapping[str, IntArray]) -> dict[str, Floats]:
    """The tables with all probability of the fixed columns on the bins given, spread evenly."""
    dists = dict(source.dists)
    for name, bins in fixed.items():
        certain = np.zeros_like(dists[name])
        certain[:, bins] = 1.0 / len(bins)
        dists[name] = certain
    return dists


def _given_rules(source: Supply, fixed: Mapping[str, IntArray]) -> Floats:
    """The probability of the rules in each component with the fixed columns as given, (K,)."""
    if source.rules is None:
        return np.ones(len(source.weights))
    return _held(source.rules, _variables(_fixed(source, fixed), source.groups))


def _posterior(source: Supply, held: Floats, codes: Codes, given: Mapping[str, Bools], rows: IntArray) -> Floats:
    """The probability of each component given a row's cells and the rules, up to a factor per row: (rows, K)."""
    total = np.tile(_log(source.prior) + _log(held), (len(rows), 1))
    for name, is_given in given.items():
        here = is_given[rows]
        total[here] += _log(source.dists[name]).T[codes[name][rows[here]]]
    top = total.max(1, keepdims=True)
    chance: Floats = np.exp(total - np.where(np.isfinite(top), top, 0.0))
    return chance


def _log(p: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(p)
    return logs

"""Ties found in rows: two columns whose difference or sum varies far less than bins can resolve.

A model knows the bins of both columns, but not where in them a row lies. Shuffling the values of one column among the
rows with the same bins shows what such a model knows of their difference. Where that is far from the real differences,
the difference is learned instead. Nothing here may see private rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cuts.data.binning import SPIKE_ROWS, SPIKE_SHARE, numeric_bins
from cuts.data.codec import bin_of
from cuts.data.columns import Numeric
from cuts.data.schema import Schema
from cuts.data.table import Floats, IntArray, Table
from cuts.data.ties import Sign, Tie, can_tie, hidden_numbers, make_tie, tied_numbers, with_hidden
from cuts.data.units import unit_of

MAX_ROWS = 20_000  # rows that are used, evenly spread
MIN_ROWS = 200  # with fewer, columns may seem to move together by chance
SCREENED_ROWS = 500  # rows that rule most pairs out
MAX_PAIRS = 100  # that are looked at closely
MAX_COLUMNS = 200  # numeric columns; beyond, comparing all pairs takes too long
SCREENED_SHARE = 0.5  # of the width of a bin: a difference that varies more is known well enough from the bins
MIN_GAIN = 0.5  # distance of shuffled differences to real ones, in mean deviations of the real ones
MIN_SPIKES = 0.7  # share of rows on frequent values of the tied column that must stay on them
_SIGNS: tuple[Sign, ...] = (1, -1)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A tie, and how far differences known from bins only are from the real ones."""

    tie: Tie
    gain: float


def find_ties(typed: Table, schema: Schema, blocked: frozenset[str]) -> tuple[Tie, ...]:
    """The ties of a conformed table that make its differences or sums much closer, without the `blocked` columns.

    Every column is in one tie at most.
    """
    step = max(1, -(-typed.rows // MAX_ROWS))
    rows = Table(typed.arrow.take(np.arange(0, typed.rows, step)))
    columns = [column for column in schema.modelled if isinstance(column, Numeric) and column.name not in blocked]
    if rows.rows < MIN_ROWS or len(columns) > MAX_COLUMNS:
        return ()
    numbers = {column.name: rows.numbers(column.name) for column in columns}
    found = [_measured(tie, rows, schema) for tie in _screened(columns, numbers, schema)]
    ties: list[Tie] = []
    for candidate in sorted((each for each in found if each is not None), key=lambda each: -each.gain):
        used = {name for tie in ties for name in (tie.column, tie.anchor)}
        if not used & {candidate.tie.column, candidate.tie.anchor}:
            ties.append(candidate.tie)
    return tuple(ties)


# --- pairs worth a closer look


def _screened(columns: list[Numeric], numbers: Mapping[str, Floats], schema: Schema) -> list[Tie]:
    """The pairs whose difference or sum varies by less than a bin is wide, on a few rows; the closest of them."""
    if len(columns) < 2:
        return []
    close: list[tuple[float, Tie]] = []
    rows = len(numbers[columns[0].name])
    some = np.unique(np.linspace(0, rows - 1, SCREENED_ROWS).astype(np.int64))
    seconds = np.array([unit_of(column).seconds for column in columns])  # days beside timestamps
    values = np.stack([numbers[column.name][some] for column in columns], axis=1) * seconds  # (rows, columns)
    widths = np.array([_bin_width(numbers[column.name], column) for column in columns]) * seconds
    for index, anchor in enumerate(columns):
        if anchor.missing:
            continue
        for sign in _SIGNS:
            spreads = _middle_halves(values - sign * values[:, [index]])
            shares = spreads / np.maximum(np.maximum(widths, widths[index]), 1e-300)
            for other in np.flatnonzero(shares < SCREENED_SHARE):
                column = columns[other]
                first = schema.names.index(column.name) < schema.names.index(anchor.name)
                mutual = first and can_tie(anchor, column, schema)  # then the later one of both is tied
                if other != index and not mutual and can_tie(column, anchor, schema):
                    close.append((float(shares[other]), make_tie(column.name, anchor.name, sign, schema)))
    return [tie for _, tie in sorted(close, key=lambda pair: pair[0])[:MAX_PAIRS]]


def _bin_width(values: Floats, column: Numeric) -> float:
    """The typical width of the column's bins, those of a single value left out."""
    bins = column.bins if isinstance(column.bins, int) else len(column.bins) + 1
    present = values[~np.isnan(values)]
    widths = np.diff(np.quantile(present, np.linspace(0, 1, bins + 1))) if len(present) else np.zeros(1)
    return float(np.median(widths[widths > 0])) if widths.any() else 0.0


def _middle_halves(values: Floats) -> Floats:
    """The interquartile range of every column, missing values left out."""
    present = (~np.isnan(values)).sum(0)
    ordered = np.sort(values, axis=0)  # missing ones last
    low, high = (
        ordered[(share * (present - 1).clip(0)).astype(np.int64), range(values.shape[1])] for share in (0.25, 0.75)
    )
    return np.where(present >= SCREENED_ROWS // 4, high - low, np.inf)


# --- what a tie changes


def _measured(tie: Tie, rows: Table, schema: Schema) -> _Candidate | None:
    """The candidate of a tie, if it helps: differences get closer, and frequent values of the column stay frequent."""
    present = ~np.isnan(rows.numbers(tie.column))
    both = Table(rows.arrow.select([tie.column, tie.anchor]).filter(pa.array(present)))
    column, anchor = both.numbers(tie.column), both.numbers(tie.anchor)
    difference = hidden_numbers(column, anchor, tie)
    codes = _codes(with_hidden(both, both, [tie]), tie, schema)
    shuffled = _shuffled(column, codes[tie.anchor], codes[tie.column])
    smeared = hidden_numbers(shuffled, anchor, tie)
    distance = float(np.abs(np.sort(smeared) - np.sort(difference)).mean())
    deviation = float(np.abs(difference - np.median(difference)).mean())
    if distance <= MIN_GAIN * deviation or distance == 0:
        return None
    again = tied_numbers(difference, _shuffled(anchor, codes[tie.anchor], codes[tie.hidden.name]), tie)
    spikes = _spikes(column)
    if np.isin(again, spikes).mean() < MIN_SPIKES * np.isin(column, spikes).mean():
        return None
    return _Candidate(tie, distance / max(deviation, 1e-300))


def _codes(both: Table, tie: Tie, schema: Schema) -> dict[str, IntArray]:
    """The bins of the two columns and of the hidden one, as a model would have them."""
    columns = [schema.number(tie.column), schema.number(tie.anchor)]
    return {column.name: bin_of(both, numeric_bins(both, column)) for column in (*columns, tie.hidden)}


def _shuffled(values: Floats, *codes: IntArray) -> Floats:
    """The values in random order among the rows with the same codes."""
    rng = np.random.default_rng(0)
    cells = codes[0] * (int(codes[1].max()) + 1) + codes[1]
    result = np.empty_like(values)
    result[np.argsort(cells, kind="stable")] = values[np.lexsort((rng.random(len(cells)), cells))]
    return result


def _spikes(values: Floats) -> Floats:
    """The values that many rows have."""
    distinct, counts = np.unique(values, return_counts=True)
    return distinct[counts > max(SPIKE_SHARE * len(values), SPIKE_ROWS)]

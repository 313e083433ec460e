"""Categories and ranges found at a cost, where they are not publicly known: part of the budget, spent before the rest.

Of a schema read from private rows only the names and kinds of columns are kept; its lists and ranges are thrown away.
Categories are the texts whose noisy count is above a threshold. A range is looked for twice: among powers of two, then
in even steps of what was found. Every column found may be missing, and numbers outside their range count at its ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from cuts.data.codec import Codec, build_codec
from cuts.data.columns import DEFAULT_BINS, Category, Column, Identifier, Integer, Numeric, Real, Temporal
from cuts.data.schema import Schema
from cuts.data.table import Floats, IntArray
from cuts.privacy.adaptive import gaussian_scale
from cuts.privacy.core import Core, Record, count_rows, count_values, discover
from cuts.privacy.ledger import ReleaseLedger
from cuts.privacy.query import fine
from cuts.privacy.reading import PrivateRows
from cuts.text.diagnostic import INFEASIBLE, CutsError, Diagnostic, listed

SURE = 6.0  # times the noise, from which bins hold rows: there are thousands of stretches of bins
FEW = 0.01  # of the rows
STEPS = 16  # even steps of the second look at a range
Empty: TypeAlias = Callable[[Floats, float], int]  # how many counts at the start are of no rows
LOWEST, HIGHEST = -10, 53  # powers of two that are told apart
ALL = 2**HIGHEST  # no number is larger
LIMITS = {"date": (-719_162, 2_932_896), "timestamp": (-62_135_596_800, 253_402_300_799), "time": (0, 86_399)}


def discover_domain(
    rows: PrivateRows, schema: Schema, ledger: ReleaseLedger, *, rho: float, delta: float, record: Record
) -> tuple[Schema, ReleaseLedger]:
    """The schema with categories and ranges found for so much of the budget, and the ledger with what they cost.

    A `CutsError` when nothing was found of a column.
    """
    schema = replace(schema, columns=tuple(map(_kind_only, schema.columns)))
    texts = [column for column in schema.columns if isinstance(column, Category)]
    numbers = [column for column in schema.columns if isinstance(column, Integer | Real | Temporal)]
    scale = gaussian_scale(rho, ledger.terms, len(texts) + 2 * len(numbers))
    found: dict[str, Column] = {}
    if texts:
        person, max_rows = ledger.terms.person, ledger.terms.max_rows_per_person
        counts = count_values(rows, [column.name for column in texts], person=person, max_rows=max_rows)
        for column in texts:
            known, ledger = discover(counts[column.name], column.name, ledger, scale, delta / len(texts), record)
            if known:
                found[column.name] = replace(column, categories=known, ordered=False, missing=True)
    wide = [_spanning(column) for column in numbers]
    ranges, ledger = _ranges(rows, schema, wide, ledger, scale, record, _without_rows)
    steps = [_stepping(column) for column in ranges]
    again, ledger = _ranges(rows, schema, steps, ledger, scale, record, _with_few_rows)
    for number in (*ranges, *again):  # what the second look does not see keeps the range of the first
        found[number.name] = _as_declared(number, schema)
    lost = [column.name for column in (*texts, *numbers) if column.name not in found]
    if lost:
        raise CutsError([nothing_found(lost)])
    columns = tuple(found.get(column.name, column) for column in schema.columns)
    return replace(schema, columns=columns, derived=(), provenance="discovered"), ledger


# --- ranges


def _ranges(
    rows: PrivateRows,
    schema: Schema,
    columns: Sequence[Numeric],
    ledger: ReleaseLedger,
    scale: float,
    record: Record,
    empty: Empty,
) -> tuple[list[Numeric], ReleaseLedger]:
    """The columns without bins at either end, as many as `empty` says; a column of which none is left is left out."""
    if not columns:
        return [], ledger
    codec = build_codec(replace(schema, columns=tuple(columns), label=None, protected=(), derived=()), {})
    sizes = {bins.column.name: bins.size for bins in codec.columns}
    cliques = [(name,) for name in sizes]
    counts = count_rows(rows, codec, cliques, person=ledger.terms.person, max_rows=ledger.terms.max_rows_per_person)
    core = Core(counts, ledger, record, measured_as="discover")
    found = []
    for column in columns:
        noisy = core.measure(fine((column.name,), sizes), scale)
        narrowed = _narrowed(column, noisy, scale, codec, empty)
        if narrowed is not None:
            found.append(narrowed)
    return found, core.ledger


def _narrowed(column: Numeric, noisy: IntArray, scale: float, codec: Codec, empty: Empty) -> Numeric | None:
    """The column without the bins at either end that hold nothing; nothing if none does."""
    known = noisy[:-1].astype(np.float64)  # the last bin is of missing values
    first, after = empty(known, scale), len(known) - empty(known[::-1], scale)
    if first >= after:
        return None
    edges = [*codec[column.name].edges, float(column.high)]  # type: ignore[union-attr]
    low, high = edges[first], edges[after]
    if isinstance(column, Integer):
        return replace(column, low=math.floor(low), high=math.ceil(high), bins=1)
    return replace(column, low=low, high=high, bins=1)


def _without_rows(counts: Floats, scale: float) -> int:
    """How many counts can be left out from the start, no neighbours among which are more than noise."""
    total = np.concatenate([[0.0], np.cumsum(counts)])
    for end in range(1, len(total)):
        width = np.arange(end, 0, -1)  # of all stretches that end there
        if (total[end] - total[:end] > SURE * scale * np.sqrt(width)).any():
            return end - 1
    return len(counts)


def _with_few_rows(counts: Floats, scale: float) -> int:
    """How many counts can be left out from the start that are about nothing together; noise leaves more of them in."""
    above = np.flatnonzero(np.cumsum(counts) > FEW * max(float(counts.sum()), 0.0))
    return int(above[0]) if len(above) else len(counts)


def _spanning(column: Numeric) -> Numeric:
    """The column over all numbers there are, cut at powers of two."""
    powers = [2.0**power for power in range(LOWEST, HIGHEST)]
    whole = not (isinstance(column, Real) or column.per_unit != 1)
    powers = [power for power in powers if power >= 1.0] if whole else powers
    edges = (*(-power for power in reversed(powers)), 0.0, *powers)
    low, high = LIMITS.get(column.kind, (-ALL, ALL)) if isinstance(column, Temporal) else (-ALL, ALL)
    inner = tuple(edge for edge in edges if low < edge <= high)
    return replace(column, low=low, high=high, bins=inner, missing=True)


def _stepping(column: Numeric) -> Numeric:
    """The column over its range in even steps."""
    width = (column.high - column.low) / STEPS
    edges = sorted({column.low + place * width for place in range(1, STEPS)})
    return replace(column, bins=tuple(edge for edge in edges if column.low < edge <= column.high))


def _as_declared(column: Numeric, schema: Schema) -> Numeric:
    """The column with the range found and the bins it was to have."""
    before = schema.learned(column.name)
    assert not isinstance(before, Category)
    bins = before.bins if isinstance(before.bins, int) else DEFAULT_BINS
    return replace(column, bins=bins, binning=before.binning, missing=True)


def _kind_only(column: Column) -> Column:
    """The column without what its look in the rows told: decimals, and how identifiers are written."""
    if isinstance(column, Real):
        return replace(column, decimals=None)
    if isinstance(column, Temporal):
        return replace(column, decimals=0)
    return Identifier(column.name) if isinstance(column, Identifier) else column


def nothing_found(names: Sequence[str]) -> Diagnostic:
    """Columns of which no value is frequent enough to be told."""
    return Diagnostic(
        "nothing-found",
        f"the domain budget found no values of {listed(names)}",
        help="declare these columns in the schema, raise `domain_budget` or EPSILON, or drop the columns;\n"
        "what was spent stays spent",
        exit_code=INFEASIBLE,
    )

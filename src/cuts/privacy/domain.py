"""Discovery of categories and ranges that are not publicly known, for a share of the budget that is spent first.

Only the names and kinds of columns are kept of a schema that was read from private rows; its lists and ranges are
discarded. Categories are the texts whose noisy count is above a threshold. A range is searched twice: among powers of
two, then in even steps of the first result. Discovered columns may have missing values, and numbers outside of their
range count at its ends.
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
from cuts.privacy.accountant import below
from cuts.privacy.core import Core, Record, count_rows, count_values, discover
from cuts.privacy.ledger import ReleaseLedger
from cuts.privacy.noise_scale import gaussian_scale
from cuts.privacy.query import fine
from cuts.privacy.reading import PrivateRows
from cuts.text.diagnostic import INFEASIBLE, CutsError, Diagnostic, listed

OCCUPIED_NOISE = 6.0  # standard deviations above which bins hold rows: there are thousands of runs of bins to test
TRIMMED_SHARE = 0.01  # of the rows, cut off at each end of a range
STEPS = 16  # even steps of the second search for a range
CountEmpty: TypeAlias = Callable[[Floats, float], int]  # how many counts at the start hold no rows
MIN_EXPONENT, MAX_EXPONENT = -10, 53  # of the powers of two that the first search distinguishes
MAX_NUMBER = 2**MAX_EXPONENT
TEMPORAL_LIMITS = {"date": (-719_162, 2_932_896), "timestamp": (-62_135_596_800, 253_402_300_799), "time": (0, 86_399)}


def discover_domain(
    rows: PrivateRows, schema: Schema, ledger: ReleaseLedger, *, rho: float, record: Record
) -> tuple[Schema, ReleaseLedger]:
    """The schema with categories and ranges discovered for `rho` and the ledger's delta for that; and the new ledger.

    A `CutsError` if nothing was discovered for a column.
    """
    schema = replace(schema, columns=tuple(map(_kind_only, schema.columns)))
    texts = [column for column in schema.columns if isinstance(column, Category)]
    numbers = [column for column in schema.columns if isinstance(column, Integer | Real | Temporal)]
    scale = gaussian_scale(rho, ledger.terms, len(texts) + 2 * len(numbers))
    discovered: dict[str, Column] = {}
    if texts:
        person, max_rows = ledger.terms.person, ledger.terms.max_rows_per_person
        counts = count_values(rows, [column.name for column in texts], person=person, max_rows=max_rows)
        share = below(ledger.discovery_delta / len(texts))
        for column in texts:
            categories, ledger = discover(counts[column.name], column.name, ledger, scale, share, record)
            if categories:
                discovered[column.name] = replace(column, categories=categories, ordered=False, missing=True)
    wide = [_over_powers_of_two(column) for column in numbers]
    coarse, ledger = _ranges(rows, schema, wide, ledger, scale, record, _count_unoccupied)
    steps = [_over_even_steps(column) for column in coarse]
    refined, ledger = _ranges(rows, schema, steps, ledger, scale, record, _count_trimmed)
    for number in (*coarse, *refined):  # a column without a refined range keeps its coarse one
        discovered[number.name] = _as_declared(number, schema)
    missing = [column.name for column in (*texts, *numbers) if column.name not in discovered]
    if missing:
        raise CutsError([nothing_found(missing)])
    columns = tuple(discovered.get(column.name, column) for column in schema.columns)
    return replace(schema, columns=columns, derived=(), formulas=(), provenance="discovered"), ledger


# --- ranges


def _ranges(
    rows: PrivateRows,
    schema: Schema,
    columns: Sequence[Numeric],
    ledger: ReleaseLedger,
    scale: float,
    record: Record,
    count_empty: CountEmpty,
) -> tuple[list[Numeric], ReleaseLedger]:
    """The columns without the empty bins at either end, by `count_empty`; entirely empty columns are left out."""
    if not columns:
        return [], ledger
    codec = build_codec(replace(schema, columns=tuple(columns), label=None, protected=(), derived=(), formulas=()), {})
    sizes = {bins.column.name: bins.size for bins in codec.columns}
    cliques = [(name,) for name in sizes]
    counts = count_rows(rows, codec, cliques, person=ledger.terms.person, max_rows=ledger.terms.max_rows_per_person)
    ranges = []
    with Core(counts, ledger, record, measured_as="discover") as core:
        for column in columns:
            noisy = core.measure(fine((column.name,), sizes), scale)
            narrowed = _narrowed(column, noisy, scale, codec, count_empty)
            if narrowed is not None:
                ranges.append(narrowed)
    return ranges, core.ledger


def _narrowed(column: Numeric, noisy: IntArray, scale: float, codec: Codec, count_empty: CountEmpty) -> Numeric | None:
    """The column without the empty bins at either end; None if all are empty."""
    counts = noisy[:-1].astype(np.float64)  # the last bin holds missing values
    first, after = count_empty(counts, scale), len(counts) - count_empty(counts[::-1], scale)
    if first >= after:
        return None
    edges = [*codec[column.name].edges, float(column.high)]  # type: ignore[union-attr]
    low, high = edges[first], edges[after]
    if isinstance(column, Integer):
        return replace(column, low=math.floor(low), high=math.ceil(high), bins=1)
    return replace(column, low=low, high=high, bins=1)


def _count_unoccupied(counts: Floats, scale: float) -> int:
    """How many counts at the start contain no run of neighbours whose sum exceeds the noise."""
    total = np.concatenate([[0.0], np.cumsum(counts)])
    for end in range(1, len(total)):
        width = np.arange(end, 0, -1)  # of all runs that end there
        if (total[end] - total[:end] > OCCUPIED_NOISE * scale * np.sqrt(width)).any():
            return end - 1
    return len(counts)


def _count_trimmed(counts: Floats, scale: float) -> int:
    """How many counts at the start hold together at most `TRIMMED_SHARE` of the rows; noise keeps more of them."""
    above = np.flatnonzero(np.cumsum(counts) > TRIMMED_SHARE * max(float(counts.sum()), 0.0))
    return int(above[0]) if len(above) else len(counts)


def _over_powers_of_two(column: Numeric) -> Numeric:
    """The column over all possible numbers, with bins between powers of two."""
    powers = [2.0**exponent for exponent in range(MIN_EXPONENT, MAX_EXPONENT)]
    whole = not (isinstance(column, Real) or column.per_unit != 1)
    powers = [power for power in powers if power >= 1.0] if whole else powers
    edges = (*(-power for power in reversed(powers)), 0.0, *powers)
    limits = (-MAX_NUMBER, MAX_NUMBER)
    low, high = TEMPORAL_LIMITS.get(column.kind, limits) if isinstance(column, Temporal) else limits
    inner = tuple(edge for edge in edges if low < edge <= high)
    return replace(column, low=low, high=high, bins=inner, missing=True)


def _over_even_steps(column: Numeric) -> Numeric:
    """The column over its range, with bins of equal width."""
    width = (column.high - column.low) / STEPS
    edges = sorted({column.low + step * width for step in range(1, STEPS)})
    return replace(column, bins=tuple(edge for edge in edges if column.low < edge <= column.high))


def _as_declared(column: Numeric, schema: Schema) -> Numeric:
    """The column with its discovered range and the number of bins of the schema."""
    before = schema.learned(column.name)
    assert not isinstance(before, Category)
    bins = before.bins if isinstance(before.bins, int) else DEFAULT_BINS
    return replace(column, bins=bins, binning=before.binning, missing=True)


def _kind_only(column: Column) -> Column:
    """The column without what was inferred from the rows: decimals, and the format of identifiers."""
    if isinstance(column, Real):
        return replace(column, decimals=None)
    if isinstance(column, Temporal):
        return replace(column, decimals=0)
    return Identifier(column.name) if isinstance(column, Identifier) else column


def nothing_found(names: Sequence[str]) -> Diagnostic:
    """Columns without any value that is frequent enough to be discovered."""
    return Diagnostic(
        "nothing-found",
        f"the domain budget discovered no values of {listed(names)}",
        help="declare these columns in the schema, raise `domain_budget` or EPSILON, or remove the columns;\n"
        "the budget spent so far stays spent",
        exit_code=INFEASIBLE,
    )

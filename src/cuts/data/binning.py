"""Bins chosen from rows.

Numbers: a frequent value has a bin of its own, the others go to quantile bins; constants of the program are edges;
within a bin values are distributed as in the rows. With a fine level below (`model/fine.py`) bins are coarse: as many
as the counts of pairs allow, and in the whole table no more than one step of a fit compares; the most frequent values
of the table come first.
Categories: above a limit the rarer ones share bins with their neighbours in the alphabet and are sampled by frequency;
the rarest are never sampled unless the schema is declared.
Texts beside numbers: one bin each; the rarest share one and are written as a frequent text, as categories are.
Nothing here may see private rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow.compute as pc

from cuts.data.bin_contents import join_members, join_pieces
from cuts.data.codec import (
    CategoryBins,
    Codec,
    ColumnBins,
    Follows,
    NumericBins,
    bin_limits,
    clean_edges,
    even_edges,
    even_piece,
    single_texts,
)
from cuts.data.columns import DEFAULT_BINS, Category, Numeric
from cuts.data.conform import conform
from cuts.data.lattice import after
from cuts.data.schema import Schema
from cuts.data.table import Floats, Table

SPIKE_SHARE = 0.003  # a value with more than this share of the rows has its own bin,
COARSE_SPIKE_SHARE = 0.01  # the same where bins are coarse,
SPIKE_ROWS = 10  # if it also has more than this number of rows
COARSE_BINS_PER_ROOT = 0.12  # quantile bins where bins are coarse: this times the root of the number of rows,
MIN_COARSE_BINS = 8  # at least, unless the table has many columns
WIDE_COLUMNS = 40  # of a table with more columns a step of a fit compares some of them only, so
MIN_WIDE_BINS = 4  # its columns have this many quantile bins at least
MAX_TABLE_BINS = 600  # of all columns together where bins are coarse
MAX_POINTS = 96  # distinct values up to which a bin stores every value,
MAX_REPEATED_POINTS = 2_048  # the same for values that repeat,
MIN_REPEATS = 1.15  # which they do if they have that many rows each on average: codes such as hhmm
FEW_VALUES = 350  # in a column with fewer values, a bin only stores values
FEW_VALUES_REPEATS = 2.0  # that have this many rows each on average: others could identify a row
MAX_KNOTS = 33  # quantiles that a bin stores otherwise
SHARED_BINS = 8  # bins that the rarer categories share
MAX_ROWS = 200_000  # rows that are used, evenly spread over the table


@dataclass(frozen=True, slots=True)
class Limits:
    """The maximum number of bins of a category column, and the minimum number of rows of a category to be sampled."""

    max_categories: int
    min_count: int


def fit_codec(
    table: Table,
    schema: Schema,
    cuts: Mapping[str, Iterable[float]] | None = None,
    sets: Mapping[str, Sequence[frozenset[str]]] | None = None,
    limits: Limits | None = None,
    *,
    coarse: bool = False,
) -> Codec:
    """The codec of a table: bins fitted to its rows, with `cuts` as edges; no bin is partly inside a set.

    `coarse` is for a model with a fine level below its bins.
    """
    limits = limits or Limits(schema.max_categories, schema.min_count)
    typed = conform(_spread_rows(table), schema)
    quantiles = _coarse_quantiles(typed, schema, limits) if coarse else {}
    bins: list[ColumnBins] = []
    declared = not schema.is_inferred
    for column in schema.modelled:
        separated = list((sets or {}).get(column.name, ()))
        if isinstance(column, Category):
            bins.append(_category_bins(typed, column, separated, limits, declared=declared))
        else:
            own_cuts = tuple((cuts or {}).get(column.name, ()))
            numbers = numeric_bins(typed, column, own_cuts, quantiles.get(column.name))
            texts = numbers.texts if declared else _text_groups(typed, column, separated, limits)
            bins.append(replace(numbers, texts=texts))
    return Codec(schema, tuple(bins), _derived(typed, schema))


def _spread_rows(table: Table) -> Table:
    step = -(-table.rows // MAX_ROWS)
    return table if step <= 1 else Table(table.arrow.take(np.arange(0, table.rows, step)))


# --- numbers


@dataclass(frozen=True, slots=True, eq=False)
class Quantiles:
    """How the values of a column are binned: the number of quantile bins, and the values with bins of their own."""

    bins: int
    spikes: Floats


def numeric_bins(
    typed: Table, column: Numeric, cuts: tuple[float, ...] = (), quantiles: Quantiles | None = None
) -> NumericBins:
    """The bins of a numeric column of a conformed table."""
    values = _values(typed, column)
    by_rows = _is_by_rows(column) and len(values) > 0
    own = (
        _quantile_edges(values, column, quantiles or _fine_quantiles(values, column)) if by_rows else even_edges(column)
    )
    edges = _without_empty(values, clean_edges(column, (*own, *cuts)), clean_edges(column, cuts) if by_rows else None)
    pieces = [_pieces(values, column, low, high) for low, high in bin_limits(column, edges)]
    return NumericBins(column, edges, join_pieces(pieces, column.per_unit), single_texts(column))


def _values(typed: Table, column: Numeric) -> Floats:
    """The values of a column inside its range, in order."""
    numbers = typed.numbers(column.name)
    values = np.sort(numbers[~np.isnan(numbers)])
    return values[(values >= column.low) & (values <= column.high)]


def _is_by_rows(column: Numeric) -> bool:
    return column.binning == "quantile" and isinstance(column.bins, int)


def _fine_quantiles(values: Floats, column: Numeric) -> Quantiles:
    """Bins without a fine level below: as many as the schema says, and one for every value that is not rare."""
    assert isinstance(column.bins, int)
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= column.bins:
        return Quantiles(column.bins, distinct)  # every value its own bin
    return Quantiles(column.bins, distinct[counts > max(SPIKE_SHARE * len(values), SPIKE_ROWS)])


def _coarse_quantiles(typed: Table, schema: Schema, limits: Limits) -> dict[str, Quantiles]:
    """Bins with a fine level below: few quantile bins, and the most frequent values of the table while there is room.

    A number of `bins` that the schema states for a column is kept.
    """
    columns = {c.name: c for c in schema.modelled if not isinstance(c, Category) and _is_by_rows(c)}
    bins, room = coarse_bins(schema, limits, typed.rows)
    spikes: dict[str, list[float]] = {name: [] for name in columns}
    candidates = []
    for name, column in columns.items():
        values = _values(typed, column)
        distinct, counts = np.unique(values, return_counts=True)
        min_rows = 0 if len(distinct) <= 2 * bins[name] else max(COARSE_SPIKE_SHARE * len(values), SPIKE_ROWS)
        heavy = counts > min_rows
        candidates += list(
            zip(counts[heavy].tolist(), distinct[heavy].tolist(), [name] * int(heavy.sum()), strict=True)
        )
    for _, value, name in sorted(candidates, reverse=True)[: room // 2]:  # a value needs an edge before and after it
        spikes[name].append(value)
    return {name: Quantiles(bins[name], np.sort(spikes[name])) for name in columns}


def coarse_bins(schema: Schema, limits: Limits, rows: int) -> tuple[dict[str, int], int]:
    """With a fine level below, the quantile bins of each numeric column, and how many more frequent values may add."""
    columns = {c.name: c for c in schema.modelled if not isinstance(c, Category) and _is_by_rows(c)}
    stated = {name: c.bins for name, c in columns.items() if isinstance(c.bins, int) and c.bins != DEFAULT_BINS}
    categories = [c for c in schema.modelled if isinstance(c, Category)]
    room = MAX_TABLE_BINS - sum(min(len(c.categories), limits.max_categories) for c in categories)
    room -= sum(len(c.texts) for c in columns.values())
    wanted = max(MIN_COARSE_BINS, round(COARSE_BINS_PER_ROOT * rows**0.5))
    fewest = MIN_WIDE_BINS if len(schema.modelled) > WIDE_COLUMNS else 2
    common = max(fewest, min(wanted, DEFAULT_BINS, room // max(len(columns), 1)))
    bins = {name: stated.get(name, common) for name in columns}
    return bins, max(room - sum(bins.values()), 2 * len(columns))


def expected_sizes(schema: Schema, *, rows: int, coarse: bool) -> dict[str, int]:
    """About how many bins every column gets, missing values included, known before any row is read; rarely more.

    Frequent values get bins of their own: they are taken to double the bins of a column, where bins are coarse within
    what the whole table may have. A column with fewer distinct values has fewer bins.
    """
    limits = Limits(schema.max_categories, schema.min_count)
    bins, more = coarse_bins(schema, limits, rows)
    sizes: dict[str, int] = {}
    for column in schema.modelled:
        if isinstance(column, Category):
            size = min(len(column.categories), limits.max_categories)
        elif not _is_by_rows(column):
            size = len(even_edges(column)) + 1 + len(column.texts)
        elif coarse:
            size = bins[column.name] + min(-(-more // len(bins)), bins[column.name]) + len(column.texts)
        else:
            assert isinstance(column.bins, int)
            size = 2 * column.bins + len(column.texts)
        sizes[column.name] = size + int(column.missing)
    return sizes


def _quantile_edges(values: Floats, column: Numeric, quantiles: Quantiles) -> tuple[float, ...]:
    """Edges around the spikes, and quantiles of the other values, so that `bins` bins have equally many of them."""
    others = values[~np.isin(values, quantiles.spikes)]
    shares = np.arange(1, quantiles.bins) / quantiles.bins
    through = np.quantile(others, shares, method="inverted_cdf").tolist() if len(others) else []
    around = [edge for spike in quantiles.spikes.tolist() for edge in (spike, after(spike, column.per_unit))]
    return tuple(sorted({*around, *through}))


def _without_empty(values: Floats, edges: tuple[float, ...], fixed: tuple[float, ...] | None) -> tuple[float, ...]:
    """The edges without those at which an empty bin starts, except edges that the program needs."""
    if fixed is None:
        return edges
    counts = np.histogram(values, [*edges, np.inf])[0]
    return (edges[0], *(edge for edge, rows in zip(edges[1:], counts[1:], strict=True) if rows or edge in fixed))


def _pieces(values: Floats, column: Numeric, low: float, high: float) -> tuple[Floats, Floats, Floats]:
    """The pieces of one bin: its values if they repeat, else intervals of equal weight between some of them."""
    own = values[np.searchsorted(values, low, "left") : np.searchsorted(values, high, "right")]
    if len(own) == 0:
        return even_piece(column, low, high)
    lattice = np.rint(own * column.per_unit) if column.per_unit is not None else own
    distinct, counts = np.unique(lattice, return_counts=True)
    is_small = len(values) < FEW_VALUES
    on_lattice = column.per_unit is not None and len(distinct) <= MAX_POINTS and not is_small
    repeats = FEW_VALUES_REPEATS if is_small else MIN_REPEATS
    repeated = repeats * len(distinct) <= len(own) and len(distinct) <= MAX_REPEATED_POINTS
    if len(distinct) == 1 or on_lattice or repeated:
        return distinct, distinct, counts.astype(np.float64)
    knots = np.quantile(lattice, np.linspace(0, 1, min(MAX_KNOTS, len(lattice))), method="inverted_cdf")
    starts, ends = knots[:-1].copy(), knots[1:].copy()
    if column.per_unit is None:
        return starts, ends, np.ones(len(starts))
    step = float(np.gcd.reduce(np.diff(distinct).astype(np.int64)))
    ends[:-1] = np.maximum(ends[:-1] - step, starts[:-1])  # an interval ends before the next begins
    if step > 1 and (ends[-1] - starts[0]) / step < MAX_REPEATED_POINTS:
        return _stepped(starts, ends, step)
    return starts, ends, np.ones(len(starts))


def _stepped(starts: Floats, ends: Floats, step: float) -> tuple[Floats, Floats, Floats]:
    """Intervals of equal weight as their points at multiples of a step: full hours stay full hours."""
    parts = [np.arange(start, end + step / 2, step) for start, end in zip(starts, ends, strict=True)]
    points, which = np.unique(np.concatenate(parts), return_inverse=True)
    shares = np.concatenate([np.full(len(part), 1.0 / len(part)) for part in parts])
    weights: Floats = np.bincount(which, shares).astype(np.float64)
    return points, points, weights


def _text_groups(
    typed: Table, column: Numeric, sets: list[frozenset[str]], limits: Limits
) -> tuple[tuple[str, ...], ...]:
    """The texts of each bin: one, and rare ones behind the most frequent text that no set distinguishes from them."""
    mentioned = frozenset().union(*sets)
    counts = text_counts(typed, column.name, column.texts) if column.texts else {}
    rare = [text for text in column.texts if counts[text] < limits.min_count and text not in mentioned]
    if not rare or max(counts.values()) < limits.min_count:  # nothing is rare, or everything, and no text is preferred
        return single_texts(column)
    first = max((text for text in column.texts if text not in mentioned), key=lambda text: (counts[text], text))
    others = [(text,) for text in column.texts if text != first and text not in rare]
    return ((first, *(text for text in rare if text != first)), *others)


# --- categories


def _category_bins(
    typed: Table, column: Category, sets: list[frozenset[str]], limits: Limits, *, declared: bool
) -> CategoryBins:
    counts = category_counts(typed, column)
    drawn = _sampled(counts, 0 if declared else limits.min_count, named=frozenset().union(*sets))
    groups = _groups(column, drawn, counts, sets, limits)
    position = {category: i for i, category in enumerate(column.categories)}
    members = []
    for group in groups:
        weights = np.array([float(drawn.get(c, 0)) for c in group])
        if not weights.any():  # the program names all others: these cannot be put with any of them
            weights = np.array([float(counts[c]) for c in group])
        members.append((np.array([position[c] for c in group]), weights if weights.any() else np.ones(len(group))))
    return CategoryBins(column, groups, join_members(members))


def category_counts(typed: Table, column: Category) -> dict[str, int]:
    """The number of rows per category, also if it is 0."""
    return text_counts(typed, column.name, column.categories)


def text_counts(typed: Table, name: str, texts: tuple[str, ...]) -> dict[str, int]:
    """The number of rows per text of a column, also if it is 0."""
    counts = dict.fromkeys(texts, 0)
    for entry in pc.value_counts(typed.texts(name)).to_pylist():
        if entry["values"] in counts:
            counts[entry["values"]] = int(entry["counts"])
    return counts


def _sampled(counts: dict[str, int], min_count: int, *, named: frozenset[str]) -> dict[str, int]:
    """The rows of the categories to sample: those with `min_count` rows and those that are named.

    All of them if every value is rare: then nothing else could be sampled.
    """
    frequent = {c for c, rows in counts.items() if rows >= min_count}
    if not any(counts[c] for c in frequent):
        return dict(counts)
    return {c: rows for c, rows in counts.items() if c in frequent or c in named}


def _groups(
    column: Category, drawn: dict[str, int], counts: dict[str, int], sets: list[frozenset[str]], limits: Limits
) -> tuple[tuple[str, ...], ...]:
    """The categories of each bin: one if it is frequent, declared or separated by the program, else neighbours."""
    frequent = sorted(drawn, key=lambda c: (-drawn[c], c))
    if len(column.categories) <= limits.max_categories and len(drawn) == len(column.categories):
        return tuple((c,) for c in column.categories)
    alone = set(frequent[: limits.max_categories - SHARED_BINS] if len(drawn) > limits.max_categories else frequent)
    rest = [c for c in sorted(column.categories) if c not in alone]
    shared: dict[tuple[bool, ...], list[str]] = {}
    for category in rest:  # what the program separates stays separate
        shared.setdefault(tuple(category in s for s in sets), []).append(category)
    groups: list[tuple[str, ...]] = [(c,) for c in column.categories if c in alone]
    for members in shared.values():
        groups += _split(members, counts, SHARED_BINS)
    return _drawable(groups, drawn, sets)


def _split(members: list[str], counts: dict[str, int], max_groups: int) -> list[tuple[str, ...]]:
    """Neighbours together, in at most `max_groups` groups of about equally many rows."""
    total = sum(counts[m] for m in members) or 1
    groups: list[list[str]] = [[]]
    seen = 0
    for member in members:
        if groups[-1] and seen >= total * len(groups) / max_groups:
            groups.append([])
        groups[-1].append(member)
        seen += counts[member]
    return [tuple(group) for group in groups]


def _drawable(
    groups: list[tuple[str, ...]], drawn: dict[str, int], sets: list[frozenset[str]]
) -> tuple[tuple[str, ...], ...]:
    """The groups, where a group without a member to sample joins another that the program does not separate from it."""
    kept = [group for group in groups if any(c in drawn for c in group)]
    for group in groups:
        if any(c in drawn for c in group):
            continue
        signature = [group[0] in s for s in sets]
        like = [i for i, other in enumerate(kept) if [other[0] in s for s in sets] == signature]
        if like:
            into = min(
                like, key=lambda i: (len(kept[i]) == 1, drawn.get(kept[i][0], 0))
            )  # a shared bin, else a small one
            kept[into] = kept[into] + group
        else:
            kept.append(group)
    return tuple(kept)


# --- derived columns


def _derived(typed: Table, schema: Schema) -> tuple[Follows, ...]:
    """One mapping per derived column, from values of the column it follows from to its own values."""
    derived: list[Follows] = []
    for name, source in schema.derived:
        pairs = typed.arrow.select([source, name]).group_by([source, name]).aggregate([])
        keys = pairs.column(source).cast("string").to_pylist()
        values = pairs.column(name).to_pylist()
        derived.append((name, source, {k: v for k, v in zip(keys, values, strict=True) if k is not None}))
    return tuple(derived)

"""A codec refined without rows: additional edges, and no bin with categories inside and outside a set.

A model of the coarser bins is also a model of the finer bins: the probability of a finer bin is the probability of the
coarser bin that contains it, times its share of that bin. The shares follow from the contents of the coarser bins, so
the distribution stays the same. No rows are read, so a private codec may be refined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cuts.data.bin_contents import join_members, join_pieces
from cuts.data.codec import CategoryBins, Codec, ColumnBins, NumericBins, bin_limits, clean_edges, even_piece
from cuts.data.table import Floats, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """For every finer bin, the coarser bin it lies in, and its share of that bin's probability."""

    owner: IntArray
    share: Floats


def refine(
    codec: Codec, cuts: Mapping[str, Iterable[float]], sets: Mapping[str, Sequence[frozenset[str]]]
) -> tuple[Codec, dict[str, Split]]:
    """The codec with `cuts` as additional edges and bins split by `sets`, and the split of each changed column.

    A column without a new bin keeps its bins and has no split. A share can be 0 if no contents of the coarser bin lie
    in the finer one; all values of such a bin are then equally likely.
    """
    columns: list[ColumnBins] = []
    splits: dict[str, Split] = {}
    for bins in codec.columns:
        name = bins.column.name
        finer: tuple[ColumnBins, Split] | None
        if isinstance(bins, NumericBins):
            finer = _finer_numbers(bins, cuts.get(name, ()), sets.get(name, ()))
        else:
            finer = _finer_categories(bins, sets.get(name, ()))
        columns.append(bins if finer is None else finer[0])
        if finer is not None:
            splits[name] = finer[1]
    return replace(codec, columns=tuple(columns)), splits


# --- numbers


def _finer_numbers(
    bins: NumericBins, cuts: Iterable[float], sets: Sequence[frozenset[str]]
) -> tuple[NumericBins, Split] | None:
    edges = tuple(sorted({*bins.edges, *clean_edges(bins.column, cuts)}))
    texts, owner_of_text = _apart(bins.texts, sets)
    if edges == bins.edges and texts == bins.texts:
        return None
    owner = np.searchsorted(np.array(bins.edges), np.array(edges), side="right").astype(np.int64) - 1
    limits = [even_piece(bins.column, low, high) for low, high in bin_limits(bins.column, edges)]
    pieces, totals = [], []
    for index, (low, high, _) in enumerate(limits):
        after = limits[index + 1][0] if index + 1 < len(limits) else np.array([np.inf])
        piece = _cut(bins, int(owner[index]), low, high, after)
        totals.append(piece[2].sum())
        pieces.append(piece if totals[-1] > 0 else limits[index])
    finer = NumericBins(bins.column, edges, join_pieces(pieces, bins.column.per_unit), texts)
    # Only the first text of a bin is written, so the bin of the others has no share.
    is_first = [float(group[0] == bins.texts[coarse][0]) for group, coarse in zip(texts, owner_of_text, strict=True)]
    owner = np.concatenate([owner, bins.numbers + np.array(owner_of_text, dtype=np.int64)])
    return finer, _split(owner, np.array([*totals, *is_first]), missing=bins.column.missing)


def _cut(bins: NumericBins, coarse: int, first: Floats, last: Floats, after: Floats) -> tuple[Floats, Floats, Floats]:
    """The parts of a bin's pieces in the finer bin from `first` to `last`; the next finer bin begins with `after`."""
    mine = bins.contents.owner == coarse
    low, high, weight = bins.contents.low[mine], bins.contents.high[mine], bins.contents.weights()[mine]
    start = np.maximum(low, first)
    if bins.column.per_unit is None:  # lengths, up to the start of the next bin; a point has length 0
        length = np.minimum(high, after) - start
        part = np.where(high > low, length / np.where(high > low, high - low, 1.0), (first <= low) & (low < after))
    else:  # lattice points
        part = (np.minimum(high, after - 1.0) - start + 1.0) / (high - low + 1.0)
    is_kept = weight * part > 0
    return start[is_kept], np.minimum(high, last)[is_kept], (weight * part)[is_kept]


# --- categories


def _finer_categories(bins: CategoryBins, sets: Sequence[frozenset[str]]) -> tuple[CategoryBins, Split] | None:
    groups, owner = _apart(bins.groups, sets)
    if len(groups) == len(bins.groups):
        return None
    weights = dict.fromkeys(range(len(bins.column.categories)), 0.0)
    weights.update(zip(bins.contents.places.tolist(), bins.contents.weights().tolist(), strict=True))
    position = {category: i for i, category in enumerate(bins.column.categories)}
    members = [np.array([position[category] for category in group]) for group in groups]
    shares = [np.array([weights[index] for index in indices.tolist()]) for indices in members]
    totals = np.array([share.sum() for share in shares])
    inside = [(p, s if s.any() else np.ones(len(s))) for p, s in zip(members, shares, strict=True)]
    finer = CategoryBins(bins.column, groups, join_members(inside))
    return finer, _split(np.array(owner, dtype=np.int64), totals, missing=bins.column.missing)


def _apart(
    groups: Sequence[tuple[str, ...]], sets: Sequence[frozenset[str]]
) -> tuple[tuple[tuple[str, ...], ...], list[int]]:
    """The groups split where a set has some of their members, and for each part the group it comes from."""
    parts: list[tuple[str, ...]] = []
    owner: list[int] = []
    for index, group in enumerate(groups):
        alike: dict[tuple[bool, ...], list[str]] = {}
        for member in group:
            alike.setdefault(tuple(member in separated for separated in sets), []).append(member)
        parts += [tuple(members) for members in alike.values()]
        owner += [index] * len(alike)
    return tuple(parts), owner


def _split(owner: IntArray, totals: Floats, *, missing: bool) -> Split:
    """The split of a column; missing values keep their bin, the last."""
    share: Floats = totals / np.bincount(owner, totals)[owner]
    if not missing:
        return Split(owner, share)
    return Split(np.append(owner, owner[-1] + 1), np.append(share, 1.0))

"""Few joint tables instead of many cliques: one pass over the rows for each, the cliques' own counts summed out after.

Counting a row costs about as much for six small columns as for two, so cliques are joined while the joint table stays
small enough for the processor's cache. On Adult about 30 joint tables stand for the 78 triples with the label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from math import log2

from cuts.count.cover import Clique, cells, in_order, maximal

MAX_CELLS = 1 << 14  # of a joint table: 128 kB; measured: fewer are slower, more are not quicker
MAX_EXTRA_CELLS = 1 << 22  # cells all joint tables together may have, besides those of the cliques: 32 MB


def join_cliques(
    cliques: Iterable[Clique], sizes: Mapping[str, int], *, max_cells: int = MAX_CELLS, room: int = MAX_EXTRA_CELLS
) -> tuple[Clique, ...]:
    """Sets of columns, each clique in at least one of them; a clique of more cells than `max_cells` stands alone.

    >>> join_cliques([("a", "b"), ("a", "c"), ("b", "c")], {"a": 2, "b": 2, "c": 2})
    (('a', 'b', 'c'),)
    """
    largest_first = sorted(maximal(cliques, sizes), key=lambda clique: -cells(clique, sizes))
    completing = _completing(largest_first)
    lengths = sorted({len(clique) - 1 for clique in largest_first if clique})
    share = room / max(1, len(largest_first))
    joined: list[Clique] = []
    for clique in largest_first:
        if cells(clique, sizes) > max_cells:
            joined.append(clique)
        elif _is_open(clique, completing):
            joint = _grown(clique, completing, lengths, sizes, (max_cells, share))
            joined.append(in_order(joint, sizes))
            for part in _parts(joint, lengths):  # what it covers is done
                completing.get(part, set()).difference_update(joint)
    return tuple(joined)


def key_paths(joints: Sequence[Clique]) -> tuple[Clique, ...]:
    """The joint tables in an order, and the columns of each in one, in which neighbours begin alike.

    The key of a row in a table is then mostly that of the table before, with its last columns changed.
    """
    frequency = Counter(chain.from_iterable(joints))
    rank = {name: i for i, name in enumerate(sorted(frequency, key=lambda name: -frequency[name]))}
    paths = [tuple(sorted(joint, key=rank.__getitem__)) for joint in joints]
    return tuple(sorted(paths, key=lambda path: [rank[name] for name in path]))


_Completing = dict[frozenset[str], set[str]]  # columns that make a clique, not covered yet, of these


def _completing(cliques: Iterable[Clique]) -> _Completing:
    completing: _Completing = {}
    for clique in map(frozenset, cliques):
        for name in clique:
            completing.setdefault(clique - {name}, set()).add(name)
    return completing


def _is_open(clique: Clique, completing: _Completing) -> bool:
    return not clique or clique[-1] in completing[frozenset(clique[:-1])]


def _grown(
    clique: Clique, completing: _Completing, lengths: Sequence[int], sizes: Mapping[str, int], limits: tuple[int, float]
) -> frozenset[str]:
    """The clique with the columns that bring most further cliques for their bins, one by one within the limits.

    These are the cells of the joint table in all, and for each clique it brings.
    """
    max_cells, share = limits
    joint, size, brought = frozenset(clique), cells(clique, sizes), 1
    gains = Counter(chain.from_iterable(completing.get(part, ()) for part in _parts(joint, lengths)))
    while True:
        fitting = [
            name
            for name in sizes
            if name in gains
            and name not in joint
            and size * sizes[name] <= min(max_cells, share * (brought + gains[name]))
        ]
        if not fitting:
            return joint
        best = max(fitting, key=lambda name: gains[name] / log2(1 + sizes[name]))
        joint, size, brought = joint | {best}, size * sizes[best], brought + gains[best]
        for part in _parts(joint - {best}, [length - 1 for length in lengths if length]):
            gains.update(completing.get(part | {best}, ()))


def _parts(joint: frozenset[str], lengths: Iterable[int]) -> Iterator[frozenset[str]]:
    return (frozenset(part) for length in lengths for part in combinations(sorted(joint), length))

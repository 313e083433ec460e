"""Joint tables that replace many cliques: rows are counted once per joint table, and cliques are summed out of it.

Counting a row costs about as much for six small columns as for two, so cliques are joined as long as the joint table
fits in the processor's cache. On Adult about 30 joint tables replace the 78 triples with the label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from math import log2

from cuts.count.cover import Clique, cells, in_order, maximal

MAX_CELLS = 1 << 14  # per joint table: 128 kB; measured: fewer are slower, more are not faster
MAX_EXTRA_CELLS = 1 << 22  # of all joint tables together, besides the cells of the cliques: 32 MB


def join_cliques(
    cliques: Iterable[Clique], sizes: Mapping[str, int], *, max_cells: int = MAX_CELLS, room: int = MAX_EXTRA_CELLS
) -> tuple[Clique, ...]:
    """Sets of columns such that each clique is in at least one; one with more than `max_cells` cells is not joined.

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
            for part in _parts(joint, lengths):  # these cliques are now covered
                completing.get(part, set()).difference_update(joint)
    return tuple(joined)


def key_paths(joints: Sequence[Clique]) -> tuple[Clique, ...]:
    """The joint tables and their columns in an order in which neighbouring tables begin with the same columns.

    The key of a row in a table then mostly extends a key of the previous table.
    """
    frequency = Counter(chain.from_iterable(joints))
    rank = {name: i for i, name in enumerate(sorted(frequency, key=lambda name: -frequency[name]))}
    paths = [tuple(sorted(joint, key=rank.__getitem__)) for joint in joints]
    return tuple(sorted(paths, key=lambda path: [rank[name] for name in path]))


_Completing = dict[frozenset[str], set[str]]  # by columns, those that complete them to a clique not covered yet


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
    """The clique extended greedily by the column that covers most additional cliques relative to its number of bins.

    The limits are the cells of the joint table, in total and per clique that it covers.
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

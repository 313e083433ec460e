"""The workload: the sets of columns (cliques) to count, that is, the tables the model is fitted to.

These are all triples if they are few and their tables are small enough together. Otherwise they are chosen by measured
dependence (`count/dependence.py`), within a budget of cells and of tables: every column alone, the pairs with the
label, every column's strongest pairs, the other pairs that depend on each other, the triples with the label whose other
two columns depend on each other given the label, and then the other triples whose pairs are strongest. What is left out
is either independent, as far as the rows show, or weaker than what is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import comb

from cuts.count.cover import Clique, cells
from cuts.count.dependence import Dependence, partners_by_strength

MAX_CELLS = 20_000_000  # of all tables together: 160 MB of counts
MAX_PAIRS = 20_000  # all pairs of 200 columns
MAX_TRIPLES = 10_000  # all triples of 40 columns
MAX_CANDIDATES = 20_000  # above this, only the strongest partners of each column are combined
STRONGEST = 8  # partners of a column whose pairs come first, so that no column is left out
CANDIDATE_PARTNERS = 12  # of a column, that triples are made of
PAIR_SHARE = 0.5  # of the cells, that pairs may take if there is a label, which has triples


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many tables a workload has, and how many it does not: independent ones, and those beyond the budget."""

    pairs: int
    independent_pairs: int
    weak_pairs: int
    label_triples: int
    independent_label_triples: int
    weak_label_triples: int


def choose_workload(
    sizes: Mapping[str, int],
    label: str | None,
    dependence: Dependence | None = None,
    *,
    max_cells: int = MAX_CELLS,
    max_pairs: int = MAX_PAIRS,
    max_triples: int = MAX_TRIPLES,
) -> tuple[Clique, ...]:
    """The cliques to count; if not all triples fit, the `dependence` of pairs decides which come first.

    Without it small tables come first.

    >>> choose_workload({"age": 4, "sex": 2, "pay": 2}, "pay")
    (('age', 'sex', 'pay'),)
    """
    names = tuple(sizes)
    if fits_whole(sizes, max_cells=max_cells, max_triples=max_triples):
        return tuple(combinations(names, min(3, len(names))))
    known = dependence or Dependence({})
    room = _Room(sizes, max_cells - sum(sizes.values()))
    for_triples = 0 if label is None else int((1.0 - PAIR_SHARE) * room.cells)
    pairs = room.take(_ordered_pairs(names, label, sizes, known), max_pairs, spare=for_triples)
    label_triples = room.take(_ordered_label_triples(names, label, sizes, known), max_triples)
    others = (clique for clique in _candidates(names, dependence) if label not in clique)
    triples = room.take(_by_strength(others, label, sizes, known), max_triples - len(label_triples))
    return (*((name,) for name in names), *pairs, *label_triples, *triples)


def fits_whole(sizes: Mapping[str, int], *, max_cells: int = MAX_CELLS, max_triples: int = MAX_TRIPLES) -> bool:
    """Whether all triples can be counted, so that no choice is needed."""
    return comb(len(sizes), 3) <= max_triples and _all_cells(sizes, min(3, len(sizes))) <= max_cells


def left_out(cliques: Iterable[Clique], sizes: Mapping[str, int], label: str | None, dependence: Dependence) -> LeftOut:
    """What a chosen workload counts of the pairs and of the label's triples, and why not the others."""
    counted = set(cliques)
    pairs = [pair for pair in combinations(sizes, 2) if pair not in counted]
    triples = [triple for triple in _with_label(tuple(sizes), label) if triple not in counted]
    independent = sum(map(dependence.is_noise, pairs)), sum(map(dependence.is_noise, triples))
    return LeftOut(
        comb(len(sizes), 2) - len(pairs),
        independent[0],
        len(pairs) - independent[0],
        sum(len(clique) == 3 and label in clique for clique in counted),
        independent[1],
        len(triples) - independent[1],
    )


def describe(chosen: LeftOut) -> str:
    """In one line, what is counted and what is not.

    >>> describe(LeftOut(9_000, 10_900, 0, 0, 0, 0))
    'counting 9,000 of 19,900 pairs of columns; left out: 10,900 independent pairs'
    """
    pairs = chosen.pairs + chosen.independent_pairs + chosen.weak_pairs
    triples = chosen.label_triples + chosen.independent_label_triples + chosen.weak_label_triples
    counted = [f"{chosen.pairs:,} of {pairs:,} pairs of columns"]
    if triples:
        counted.append(f"{chosen.label_triples:,} of {triples:,} triples with the label")
    groups = {
        "independent pairs": chosen.independent_pairs,
        "weak pairs": chosen.weak_pairs,
        "triples independent given the label": chosen.independent_label_triples,
        "weak triples with the label": chosen.weak_label_triples,
    }
    missing = [f"{number:,} {what}" for what, number in groups.items() if number]
    return f"counting {' and '.join(counted)}" + (f"; left out: {', '.join(missing)}" if missing else "")


class _Room:
    """The cells that are left."""

    def __init__(self, sizes: Mapping[str, int], max_cells: int) -> None:
        self._sizes, self.cells = sizes, max_cells

    def take(self, cliques: Iterable[Clique], max_tables: int, *, spare: int = 0) -> list[Clique]:
        """The first of some cliques that there is room for, with `spare` cells left over."""
        taken: list[Clique] = []
        for clique in cliques:
            if len(taken) >= max_tables or self.cells <= spare:
                break
            size = cells(clique, self._sizes)
            if size <= self.cells - spare:
                taken.append(clique)
                self.cells -= size
        return taken


def _all_cells(sizes: Mapping[str, int], width: int) -> float:
    """The number of cells of all cliques of `width` columns: the elementary symmetric polynomial of the sizes."""
    sums = [1.0] + [0.0] * width
    for size in sizes.values():
        for k in range(width, 0, -1):
            sums[k] += sums[k - 1] * size
    return sums[width]


def _ordered_pairs(
    names: tuple[str, ...], label: str | None, sizes: Mapping[str, int], dependence: Dependence
) -> list[Clique]:
    """The pairs to count: with the label, then each column's strongest, then others; independent ones are left out."""
    near = partners_by_strength(names, dependence.pairs, STRONGEST)
    first = {pair for pair in combinations(names, 2) if pair[1] in near[pair[0]] or pair[0] in near[pair[1]]}
    wanted = [
        pair for pair in combinations(names, 2) if label in pair or pair in first or not dependence.is_noise(pair)
    ]
    if not dependence.pairs:
        wanted = list(combinations(names, 2))
    by_strength = _by_strength(wanted, label, sizes, dependence)
    return sorted(by_strength, key=lambda pair: label not in pair and pair not in first)


def _ordered_label_triples(
    names: tuple[str, ...], label: str | None, sizes: Mapping[str, int], dependence: Dependence
) -> list[Clique]:
    """The triples with the label, the strongest first, without those whose columns are independent given it."""
    given = dependence.given_label
    if not given:
        return _by_strength(_with_label(names, label), label, sizes, dependence)
    wanted = [triple for triple in _with_label(names, label) if not dependence.is_noise(triple)]
    return sorted(wanted, key=lambda triple: (-given[triple], cells(triple, sizes)))


def _with_label(names: tuple[str, ...], label: str | None) -> Iterator[Clique]:
    """All triples with the label."""
    if label is None:
        return
    before, after = names[: names.index(label)], names[names.index(label) + 1 :]
    yield from ((a, b, label) for a, b in combinations(before, 2))
    yield from ((a, label, b) for a in before for b in after)
    yield from ((label, a, b) for a, b in combinations(after, 2))


def _candidates(names: tuple[str, ...], dependence: Dependence | None) -> Iterable[Clique]:
    """The triples to consider: all if there are few, else those of each column with two of its strongest partners."""
    if dependence is None or comb(len(names), 3) <= MAX_CANDIDATES:
        return combinations(names, 3)
    position = {name: i for i, name in enumerate(names)}
    near = partners_by_strength(names, dependence.pairs, CANDIDATE_PARTNERS)
    return {
        tuple(sorted((name, *pair), key=position.__getitem__)): None
        for name in names
        for pair in combinations(near[name], 2)
    }


def _by_strength(
    cliques: Iterable[Clique], label: str | None, sizes: Mapping[str, int], dependence: Dependence
) -> list[Clique]:
    """The cliques with the label first, then those whose pairs depend on each other most, then small ones."""
    known = dependence.pairs

    def weight(clique: Clique) -> tuple[bool, float, int]:
        total = sum(known.get(pair, 0.0) for pair in combinations(clique, 2)) if known else 0.0
        return label not in clique, -total, cells(clique, sizes)

    return sorted(cliques, key=weight)

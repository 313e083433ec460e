"""Whether rules can hold together, sums of columns included, and the smallest set of rules behind an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from math import inf, nextafter

from cuts.data.lattice import before
from cuts.lang.spec import Linear
from cuts.logic.core import Grid, Numeric, Variable
from cuts.logic.diagram import NO, YES, Store
from cuts.logic.theory import Stretch, fits

MAX_PATHS = 5_000  # tried; above, rules over sums of columns are taken to be satisfiable
MAX_SUBSETS = 2_000  # tried in search of a smaller one
MAX_VISITS = 200_000  # of nodes, in one search
MAX_TOTAL_VISITS = 3_000_000  # of nodes, in all searches of a solver whose answers only lead to warnings

MISSING = None  # in place of a stretch


@dataclass(slots=True)
class Solver:
    """Decides whether nodes of a store can hold together without joining them all, which could be far larger.

    A search that takes too long is given up: then `possible` joins the nodes after all, and `excluded` returns False.
    """

    store: Store
    _visits: int = 0
    _sums: tuple[Linear, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._sums = tuple(variable for variable in self.store.variables if isinstance(variable, Linear))

    @property
    def has_sums(self) -> bool:
        """Whether some rule is about a sum of columns."""
        return bool(self._sums)

    def possible(self, roots: Sequence[int]) -> bool:
        """Whether some row satisfies all `roots`."""
        if not self._sums:
            answer = self._search(roots, MAX_VISITS)
            return self.store.conjunction(roots) != NO if answer is None else answer
        return self._possible_with_sums(roots)

    def excluded(self, roots: Sequence[int]) -> bool:
        """Whether certainly no row satisfies all `roots`; False if deciding it takes too long."""
        if self._sums:
            return not self._possible_with_sums(roots)
        return self._search(roots, min(MAX_VISITS, MAX_TOTAL_VISITS - self._visits)) is False

    def _search(self, roots: Sequence[int], max_visits: int) -> bool | None:
        """Depth-first search through all nodes at once, without joining them; None if it takes too long."""
        if NO in roots:
            return False
        start = frozenset(roots) - {YES}
        seen, stack, visits = {start}, [start], 0
        while stack:
            state = stack.pop()
            if not state:
                break
            visits += len(state)
            if visits > max_visits:
                break
            following = set(self._following(state)) - seen
            seen |= following
            stack.extend(following)
        else:
            state = start
        self._visits += visits
        return None if visits > max_visits else not state

    def _following(self, state: frozenset[int]) -> Iterator[frozenset[int]]:
        """The nodes that remain to be satisfied after each value of the first variable some node asks for."""
        nodes = [(number, self.store.node(number)) for number in state]
        level = min(node.level for _, node in nodes)
        asking = [node.children for _, node in nodes if node.level == level]
        waiting = [number for number, node in nodes if node.level != level]
        for children in set(zip(*asking, strict=True)):
            if NO not in children:
                yield frozenset((*waiting, *children)) - {YES}

    def _possible_with_sums(self, roots: Sequence[int]) -> bool:
        paths = _paths(self.store, self.store.conjunction(roots))
        return any(tried >= MAX_PATHS or _path_fits(self.store, self._sums, p) for tried, p in enumerate(paths))


def smallest(candidates: Sequence[int], holds: Callable[[Sequence[int]], bool]) -> tuple[int, ...]:
    """A smallest subset on which `holds` is true, given that it is true of all and stays true for larger sets.

    Deletion leaves an irreducible subset (Chinneck and Dravnieks 1991); then all smaller subsets are tried.

    >>> smallest([1, 2, 3, 4], lambda chosen: {2, 4} <= set(chosen))
    (2, 4)
    """
    kept = list(candidates)
    for candidate in list(kept):
        fewer = [other for other in kept if other != candidate]
        if holds(fewer):
            kept = fewer
    tried = 0
    for size in range(len(kept)):
        for chosen in combinations(candidates, size):
            tried += 1
            if tried > MAX_SUBSETS:
                return tuple(kept)
            if holds(chosen):
                return chosen
    return tuple(kept)


def alive(store: Store, root: int) -> list[set[int]]:
    """For each level the classes that lie on some path to YES.

    In a reduced diagram every node but NO leads to YES, and a variable that is skipped may have any value.
    """
    everything = [set(range(int(classes.max()) + 1)) for classes in store.classes]
    living: list[set[int]] = [set() for _ in everything]
    if root == NO:
        return living

    def skip(above: int, number: int) -> None:
        below = store.node(number).level if number != YES else len(everything)
        for level in range(above + 1, below):
            living[level] = everything[level]

    skip(-1, root)
    seen, stack = {root, YES, NO}, [root] if root != YES else []
    while stack:
        node = store.node(stack.pop())
        for number, child in enumerate(node.children):
            if child != NO:
                living[node.level] = living[node.level] | {number}
                skip(node.level, child)
                if child not in seen:
                    seen.add(child)
                    stack.append(child)
    return living


def _paths(store: Store, root: int) -> Iterator[dict[Variable, int]]:
    """Every path to YES: the classes of the variables asked on it."""
    stack: list[tuple[int, dict[Variable, int]]] = [(root, {})]
    while stack:
        number, path = stack.pop()
        if number == YES:
            yield path
        elif number != NO:
            node = store.node(number)
            variable = store.variables[node.level]
            stack.extend((child, {**path, variable: c}) for c, child in reversed(list(enumerate(node.children))))


def _path_fits(store: Store, sums: Sequence[Linear], path: dict[Variable, int]) -> bool:
    """Whether numbers exist for the classes of a path."""
    variables: list[Numeric] = [*sums, *sorted({name for form in sums for name in form.columns})]
    options = [_stretches(variable, path.get(variable), store) for variable in variables]
    combinations_of_stretches = product(*options)
    return any(
        tried >= MAX_PATHS or _consistent(dict(zip(variables, chosen, strict=True)))
        for tried, chosen in enumerate(combinations_of_stretches)
    )


def _consistent(chosen: dict[Numeric, Stretch | None]) -> bool:
    columns: dict[str, Stretch] = {}
    sums: dict[Linear, Stretch] = {}
    for variable, stretch in chosen.items():
        if isinstance(variable, str):
            if stretch is not MISSING:
                columns[variable] = stretch
        else:
            without = any(chosen[name] is MISSING for name in variable.columns)
            if without != (stretch is MISSING):
                return False
            if stretch is not MISSING:
                sums[variable] = stretch
    return fits(columns, sums)


def _stretches(variable: Numeric, number: int | None, store: Store) -> list[Stretch | None]:
    """The runs of neighbouring bins in a class (or of all bins), and missing if it or a text is in the class."""
    grid = store.grid
    size = grid.size(variable)
    if number is None or variable not in store.variables:
        inside = [True] * size
    else:
        inside = list(store.classes[store.variables.index(variable)] == number)
    stretches: list[Stretch | None] = []
    starts = grid.starts(variable)
    first: int | None = None
    for position in range(len(starts) + 1):
        if position < len(starts) and inside[position]:
            first = position if first is None else first
        elif first is not None:
            stretches.append(_stretch(variable, first, position, grid))
            first = None
    if any(inside[len(starts) :]):
        stretches.append(MISSING)
    return stretches


def _stretch(variable: Numeric, first: int, end: int, grid: Grid) -> Stretch:
    """The numbers of bins `first` to `end` (exclusive).

    An edge made for `x > c` is the float64 after `c`; between sums of columns it must mean `c` itself, left out.
    """
    starts = grid.starts(variable)
    above = grid.above.get(variable, frozenset())
    low = starts[first]
    if end == len(starts):
        high = grid.codec[variable].column.range.high if isinstance(variable, str) else inf
        return Stretch(nextafter(low, -inf) if low in above else low, high, low_open=low in above)
    high = starts[end]
    per_unit = grid.per_unit(variable)
    if per_unit is not None:
        return Stretch(low, before(high, per_unit))
    return Stretch(
        nextafter(low, -inf) if low in above else low,
        nextafter(high, -inf) if high in above else high,
        low_open=low in above,
        high_open=high not in above,
    )

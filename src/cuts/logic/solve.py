"""Whether rules can hold together, sums of columns included, and the smallest set of rules behind an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from math import inf, nextafter

from cuts.lang.spec import Linear
from cuts.logic.core import Grid, Variable
from cuts.logic.diagram import NO, YES, Store
from cuts.logic.theory import Stretch, fits

MOST_PATHS = 5_000  # beyond, rules over sums of columns are taken to be satisfiable
MOST_TRIES = 2_000  # subsets tried in search of a smaller one

MISSING = None  # in place of a stretch


def possible(store: Store, roots: Sequence[int]) -> bool:
    """Whether some row satisfies all `roots`."""
    joined = store.conjunction(roots)
    if joined == NO:
        return False
    sums = [variable for variable in store.variables if isinstance(variable, Linear)]
    if not sums:
        return True
    return any(tried >= MOST_PATHS or _path_fits(store, path) for tried, path in enumerate(_paths(store, joined)))


def smallest(candidates: Sequence[int], holds: Callable[[Sequence[int]], bool]) -> tuple[int, ...]:
    """A smallest subset on which `holds` is true, given that it is true of all and stays true for larger sets.

    >>> smallest([1, 2, 3, 4], lambda chosen: {2, 4} <= set(chosen))
    (2, 4)
    """
    kept = list(candidates)
    for candidate in list(kept):
        fewer = [other for other in kept if other != candidate]
        if holds(fewer):
            kept = fewer
    tries = 0
    for size in range(len(kept)):
        for chosen in combinations(candidates, size):
            tries += 1
            if tries > MOST_TRIES:
                return tuple(kept)
            if holds(chosen):
                return chosen
    return tuple(kept)


def _paths(store: Store, root: int) -> Iterator[dict[Variable, int]]:
    """Every way to YES: the classes of the variables asked on it."""
    if root == YES:
        yield {}
    elif root != NO:
        node = store.node(root)
        for number, child in enumerate(node.children):
            for rest in _paths(store, child):
                yield {store.variables[node.level]: number, **rest}


def _path_fits(store: Store, path: dict[Variable, int]) -> bool:
    """Whether numbers exist for the classes of a path."""
    about = [variable for variable in store.variables if isinstance(variable, Linear)]
    variables: list[Variable] = [*about, *sorted({name for form in about for name in form.columns})]
    options = [_stretches(variable, path.get(variable), store) for variable in variables]
    return any(_consistent(dict(zip(variables, chosen, strict=True))) for chosen in product(*options))


def _consistent(chosen: dict[Variable, Stretch | None]) -> bool:
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


def _stretches(variable: Variable, number: int | None, store: Store) -> list[Stretch | None]:
    """The runs of neighbouring bins in a class (or of all bins), and missing if it is in the class."""
    grid = store.grid
    size = grid.size(variable)
    if number is None or variable not in store.variables:
        inside = [True] * size
    else:
        inside = list(store.classes[store.variables.index(variable)] == number)
    found: list[Stretch | None] = []
    starts = grid.starts(variable)
    first: int | None = None
    for position in range(len(starts) + 1):
        if position < len(starts) and inside[position]:
            first = position if first is None else first
        elif first is not None:
            found.append(_stretch(variable, first, position, grid))
            first = None
    if size > len(starts) and inside[size - 1]:
        found.append(MISSING)
    return found


def _stretch(variable: Variable, first: int, end: int, grid: Grid) -> Stretch:
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
    if grid.is_whole(variable):
        return Stretch(low, high - 1.0)
    return Stretch(
        nextafter(low, -inf) if low in above else low,
        nextafter(high, -inf) if high in above else high,
        low_open=low in above,
        high_open=high not in above,
    )

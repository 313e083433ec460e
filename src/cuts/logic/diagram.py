"""Row rules compiled into one multi-valued decision diagram.

A node asks for a variable's value and has one child for each class of values no rule tells apart; equal nodes are the
same node, a node whose children are all the same is left out. Rules that share no variable become separate parts.
What can be computed from a diagram (probability, conditioning, drawing) is `logic/chances.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cuts.data.table import Bools, IntArray
from cuts.lang.spec import Pred
from cuts.logic.core import All, Formula, Grid, Leaf, Some, Variable, leaves, lower
from cuts.logic.order import order_variables
from cuts.text.diagnostic import INFEASIBLE, CutsError, Diagnostic

MAX_NODES = 500_000
NO, YES = 0, 1  # the two terminals


@dataclass(frozen=True, slots=True)
class Node:
    """Asks for the variable at `level`; `children[c]` is where class `c` leads."""

    level: int
    children: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """The diagram of rules that hang together. `classes[l][b]` is the class of bin `b` of the variable at level `l`.

    Nodes are numbered from 2 (0 and 1 are the terminals NO and YES) and a child's number is below its parent's.
    """

    variables: tuple[Variable, ...]
    classes: tuple[IntArray, ...]
    nodes: tuple[Node, ...]
    root: int


@dataclass(frozen=True, slots=True)
class Diagram:
    """All rules: a row satisfies them if it satisfies every part."""

    grid: Grid
    parts: tuple[Part, ...]

    @property
    def size(self) -> int:
        """Number of nodes."""
        return sum(len(part.nodes) for part in self.parts)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables the rules are about."""
        return tuple(variable for part in self.parts for variable in part.variables)

    @property
    def satisfiable(self) -> bool:
        """Whether some assignment of bins satisfies all rules."""
        return all(part.root != NO for part in self.parts)


def compile_rules(rules: Sequence[Pred], grid: Grid, *, most_nodes: int = MAX_NODES) -> Diagram:
    """The diagram of all rules together, on a grid that has their cuts."""
    formulas = [lower(rule, grid) for rule in rules]
    parts = tuple(
        store.part(store.conjunction()) for store in stores([f for f in formulas if f != All(())], grid, most_nodes)
    )
    return Diagram(grid, parts)


def contains(diagram: Diagram, codes: Mapping[Variable, IntArray]) -> Bools:
    """Which encoded rows satisfy the rules."""
    rows = len(next(iter(codes.values())))
    held = np.ones(rows, dtype=np.bool_)
    for part in diagram.parts:
        at = np.full(rows, part.root, dtype=np.int64)
        for level, (variable, classes) in enumerate(zip(part.variables, part.classes, strict=True)):
            step = np.arange(len(part.nodes) + 2)[:, None].repeat(int(classes.max(initial=0)) + 1, axis=1)
            for number, node in enumerate(part.nodes, 2):
                if node.level == level:
                    step[number] = node.children
            at = step[at, classes[codes[variable]]]
        held &= at == YES
    return held


def stores(formulas: Sequence[Formula], grid: Grid, most_nodes: int = MAX_NODES) -> list[Store]:
    """One store for each group of formulas that share variables, with their nodes already made."""
    return [Store([formulas[i] for i in group], grid, most_nodes) for group in groups(formulas)]


def groups(formulas: Sequence[Formula]) -> list[list[int]]:
    """The formulas' numbers, together when they are linked by a chain of shared columns."""
    found: list[tuple[set[str], list[int]]] = []
    for number, formula in enumerate(formulas):
        names = {name for leaf in leaves(formula) for name in names_of(leaf.variable)}
        touching = [group for group in found if group[0] & names]
        found = [group for group in found if not group[0] & names]
        found.append(
            (names.union(*(group[0] for group in touching)), sorted([n for g in touching for n in g[1]] + [number]))
        )
    return sorted(numbers for _, numbers in found)


def names_of(variable: Variable) -> tuple[str, ...]:
    """The columns of a variable."""
    return (variable,) if isinstance(variable, str) else variable.columns


class Store:
    """Nodes under construction: makes each node once and remembers what it has joined."""

    def __init__(
        self,
        formulas: Sequence[Formula],
        grid: Grid,
        most_nodes: int = MAX_NODES,
        *,
        also: Sequence[Formula] = (),
    ) -> None:
        """A store for `formulas`, whose nodes are made at once, and for `also`, which can be built later."""
        self.grid = grid
        self.variables = order_variables(formulas)
        # Joining recurses once a variable, two frames each.
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 1_000 + 4 * len(self.variables)))
        self._level = {variable: level for level, variable in enumerate(self.variables)}
        self.classes = [_value_classes(variable, [*formulas, *also], grid) for variable in self.variables]
        self._most = most_nodes
        self._nodes: list[Node] = []
        self._numbers: dict[Node, int] = {}
        self._joined: dict[tuple[bool, int, int], int] = {}
        self._opposites: dict[int, int] = {}
        self.formulas = tuple(formulas)
        self.roots = tuple(self.build(formula) for formula in formulas)

    def build(self, formula: Formula) -> int:
        """The node of a formula whose leaves the store knows."""
        match formula:
            case Leaf(variable, bins):
                level = self._level[variable]
                classes = self.classes[level]
                children = [NO] * (int(classes.max()) + 1)
                for position, number in enumerate(classes):
                    if bins >> position & 1:
                        children[number] = YES
                return self._node(level, tuple(children))
            case All(parts):
                return self.conjunction([self.build(part) for part in parts])
            case Some(parts):
                found = NO
                for part in sorted((self.build(part) for part in parts), key=self._depth, reverse=True):
                    found = self.join(found, part, either=True)
                return found

    def having(self, level: int, number: int) -> int:
        """The node that holds where the variable at `level` is in class `number`."""
        count = int(self.classes[level].max()) + 1
        return self._node(level, tuple(YES if c == number else NO for c in range(count)))

    def node(self, number: int) -> Node:
        """The node of that number, which is no terminal."""
        return self._nodes[number - 2]

    def conjunction(self, roots: Sequence[int] | None = None) -> int:
        """The node of all `roots` together; without any, of all the store's formulas."""
        found = YES
        # From the bottom up: what is joined first stays below what comes later.
        for root in sorted(self.roots if roots is None else roots, key=self._depth, reverse=True):
            found = self.join(found, root)
        return found

    def join(self, one: int, other: int, *, either: bool = False) -> int:
        """Where both nodes hold, or where either does."""
        absorbing, neutral = (YES, NO) if either else (NO, YES)
        if one in (other, absorbing) or other == neutral:
            return one
        if one == neutral or other == absorbing:
            return other
        key = (either, one, other) if one < other else (either, other, one)
        known = self._joined.get(key)
        if known is not None:
            return known
        a, b = self._nodes[one - 2], self._nodes[other - 2]
        if a.level < b.level:
            children = tuple(self.join(child, other, either=either) for child in a.children)
        elif b.level < a.level:
            children = tuple(self.join(one, child, either=either) for child in b.children)
        else:
            pairs = zip(a.children, b.children, strict=True)
            children = tuple(self.join(x, y, either=either) for x, y in pairs)
        found = self._node(min(a.level, b.level), children)
        self._joined[key] = found
        return found

    def opposite(self, root: int) -> int:
        """Where the node does not hold."""
        if root < 2:
            return YES - root
        known = self._opposites.get(root)
        if known is None:
            node = self._nodes[root - 2]
            known = self._node(node.level, tuple(self.opposite(child) for child in node.children))
            self._opposites[root] = known
        return known

    def part(self, root: int) -> Part:
        """The finished diagram below a node."""
        reached: set[int] = set()
        stack = [root]
        while stack:
            number = stack.pop()
            if number >= 2 and number not in reached:
                reached.add(number)
                stack.extend(self._nodes[number - 2].children)
        renumbered = {NO: NO, YES: YES, **{old: new for new, old in enumerate(sorted(reached), 2)}}
        nodes = tuple(
            Node(self._nodes[old - 2].level, tuple(renumbered[child] for child in self._nodes[old - 2].children))
            for old in sorted(reached)
        )
        return Part(self.variables, tuple(self.classes), nodes, renumbered[root])

    def _depth(self, root: int) -> int:
        return len(self.variables) if root < 2 else self._nodes[root - 2].level

    def _node(self, level: int, children: tuple[int, ...]) -> int:
        if all(child == children[0] for child in children):
            return children[0]
        node = Node(level, children)
        number = self._numbers.get(node)
        if number is None:
            if len(self._nodes) >= self._most:
                raise CutsError([rules_too_large(self._most)])
            self._nodes.append(node)
            number = len(self._nodes) + 1
            self._numbers[node] = number
        return number


def _value_classes(variable: Variable, formulas: Sequence[Formula], grid: Grid) -> IntArray:
    """The class of every bin: bins no leaf tells apart share one."""
    sets = sorted({leaf.bins for formula in formulas for leaf in leaves(formula) if leaf.variable == variable})
    numbers: dict[tuple[int, ...], int] = {}
    signatures = [tuple(bins >> position & 1 for bins in sets) for position in range(grid.size(variable))]
    return np.array([numbers.setdefault(signature, len(numbers)) for signature in signatures], dtype=np.int64)


def rules_too_large(most: int) -> Diagnostic:
    """A program whose rules entangle too many columns."""
    return Diagnostic(
        "rules-too-large",
        f"the row rules together need more than {most:,} nodes",
        help="no rule is dropped: use fewer rules that tie many columns together, or split one into simpler rules",
        exit_code=INFEASIBLE,
    )

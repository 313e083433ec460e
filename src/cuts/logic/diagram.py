"""Row rules compiled into one reduced ordered multi-valued decision diagram.

Bryant, "Graph-based algorithms for Boolean function manipulation" (IEEE Trans. Computers, 1986), for variables of more
than two values as in Srinivasan, Kam, Malik and Brayton, "Algorithms for discrete function manipulation" (ICCAD 1990).
A node asks for a variable's value and has one child for each class of values that no rule distinguishes; equal nodes
are the same node, a node whose children are all the same is left out. Rules that share no column become separate parts.
What can be computed from a diagram (probability, conditioning, drawing) is `logic/chances.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cuts.data.table import Bools, IntArray
from cuts.lang.spec import Pred
from cuts.logic.core import Grid, Variable
from cuts.logic.formula import All, Formula, Leaf, Some, leaves, lower
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
    """The diagram of linked rules. `classes[l][b]` is the class of bin `b` of the variable at level `l`.

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


def compile_rules(rules: Sequence[Pred], grid: Grid, *, max_nodes: int = MAX_NODES) -> Diagram:
    """The diagram of all rules together, on a grid that has their cuts."""
    formulas = [lower(rule, grid) for rule in rules]
    parts = tuple(
        store.part(store.conjunction()) for store in stores([f for f in formulas if f != All(())], grid, max_nodes)
    )
    return Diagram(grid, parts)


def contains(diagram: Diagram, codes: Mapping[Variable, IntArray]) -> Bools:
    """Which encoded rows satisfy the rules."""
    rows = len(next(iter(codes.values())))
    satisfied = np.ones(rows, dtype=np.bool_)
    for part in diagram.parts:
        at = np.full(rows, part.root, dtype=np.int64)
        for level, (variable, classes) in enumerate(zip(part.variables, part.classes, strict=True)):
            step = np.arange(len(part.nodes) + 2)[:, None].repeat(int(classes.max(initial=0)) + 1, axis=1)
            for number, node in enumerate(part.nodes, 2):
                if node.level == level:
                    step[number] = node.children
            at = step[at, classes[codes[variable]]]
        satisfied &= at == YES
    return satisfied


def stores(formulas: Sequence[Formula], grid: Grid, max_nodes: int = MAX_NODES) -> list[Store]:
    """One store per group of linked formulas, with their nodes already made."""
    return [Store([formulas[i] for i in group], grid, max_nodes) for group in groups(formulas)]


def groups(formulas: Sequence[Formula]) -> list[list[int]]:
    """The formulas' indices, one list per set of formulas linked by a chain of shared columns."""
    linked: list[tuple[set[str], list[int]]] = []
    for index, formula in enumerate(formulas):
        names = {name for leaf in leaves(formula) for name in names_of(leaf.variable)}
        touching = [group for group in linked if group[0] & names]
        linked = [group for group in linked if not group[0] & names]
        indices = sorted([index, *(i for _, members in touching for i in members)])
        linked.append((names.union(*(columns for columns, _ in touching)), indices))
    return sorted(indices for _, indices in linked)


def names_of(variable: Variable) -> tuple[str, ...]:
    """The columns of a variable."""
    return (variable,) if isinstance(variable, str) else variable.columns


@dataclass(slots=True)
class _Frame:
    """A join under way: the two nodes, the level they ask for, the pairs still to be joined, the joins so far."""

    key: tuple[int, int]
    level: int
    pairs: Iterator[tuple[int, int]]
    children: list[int] = field(default_factory=list)


class Store:
    """Nodes under construction: makes each node once and remembers joins.

    Nodes are numbered from 2 in the order in which they are made, so a child's number is below its parent's.
    """

    def __init__(
        self,
        formulas: Sequence[Formula],
        grid: Grid,
        max_nodes: int = MAX_NODES,
        *,
        also: Sequence[Formula] = (),
    ) -> None:
        """A store for `formulas`, whose nodes are made now, and for `also`, which can be built later."""
        self.grid = grid
        self.variables = order_variables(formulas)
        self._level = {variable: level for level, variable in enumerate(self.variables)}
        self.classes = [_value_classes(variable, [*formulas, *also], grid) for variable in self.variables]
        self._max_nodes = max_nodes
        self._nodes: list[Node] = []
        self._numbers: dict[Node, int] = {}
        self._joins: dict[tuple[bool, int, int], int] = {}
        self._opposites: dict[int, int] = {NO: YES, YES: NO}
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
                union = NO
                for part in sorted((self.build(part) for part in parts), key=self._depth, reverse=True):
                    union = self.join(union, part, either=True)
                return union

    def having(self, level: int, number: int) -> int:
        """The node that holds where the variable at `level` is in class `number`."""
        count = int(self.classes[level].max()) + 1
        return self._node(level, tuple(YES if c == number else NO for c in range(count)))

    def node(self, number: int) -> Node:
        """The node of that number, which is not a terminal."""
        return self._nodes[number - 2]

    def conjunction(self, roots: Sequence[int] | None = None) -> int:
        """The node of all `roots` together; without any, of all the store's formulas."""
        intersection = YES
        # From the bottom up: what is joined first stays below what comes later.
        for root in sorted(self.roots if roots is None else roots, key=self._depth, reverse=True):
            intersection = self.join(intersection, root)
        return intersection

    def join(self, one: int, other: int, *, either: bool = False) -> int:
        """The node that holds where both nodes hold, or where either does: the operation `apply` of Bryant (1986)."""
        number = self._join_of(one, other, either)
        frames = [] if number is not None else [self._frame(one, other)]  # no recursion: diagrams can be deep
        while frames:
            frame = frames[-1]
            for x, y in frame.pairs:
                number = self._join_of(x, y, either)
                if number is None:
                    frames.append(self._frame(x, y))
                    break
                frame.children.append(number)
            else:
                number = self._node(frame.level, tuple(frame.children))
                self._joins[either, *frame.key] = number
                frames.pop()
                if frames:
                    frames[-1].children.append(number)
        assert number is not None
        return number

    def _join_of(self, one: int, other: int, either: bool) -> int | None:
        """The join of two nodes if a terminal decides it or it was computed before."""
        absorbing, neutral = (YES, NO) if either else (NO, YES)
        if one in (other, absorbing) or other == neutral:
            return one
        if one == neutral or other == absorbing:
            return other
        return self._joins.get((either, one, other) if one < other else (either, other, one))

    def _frame(self, one: int, other: int) -> _Frame:
        """The join of two nodes, begun: its children are the joins of their children."""
        a, b = self._nodes[one - 2], self._nodes[other - 2]
        if a.level < b.level:
            pairs = [(child, other) for child in a.children]
        elif b.level < a.level:
            pairs = [(one, child) for child in b.children]
        else:
            pairs = list(zip(a.children, b.children, strict=True))
        return _Frame((min(one, other), max(one, other)), min(a.level, b.level), iter(pairs))

    def opposite(self, root: int) -> int:
        """The node that holds where this one does not."""
        for number in self.below(root):
            if number not in self._opposites:
                node = self.node(number)
                children = tuple(self._opposites[child] for child in node.children)
                self._opposites[number] = self._node(node.level, children)
        return self._opposites[root]

    def below(self, root: int) -> list[int]:
        """The numbers of all nodes reached from `root`, itself included, children before their parents."""
        reached: set[int] = set()
        stack = [root]
        while stack:
            number = stack.pop()
            if number >= 2 and number not in reached:
                reached.add(number)
                stack.extend(self.node(number).children)
        return sorted(reached)  # a node is made after its children

    def part(self, root: int) -> Part:
        """The finished diagram below a node."""
        reached = self.below(root)
        renumbered = {NO: NO, YES: YES, **{old: new for new, old in enumerate(reached, 2)}}
        nodes = tuple(
            Node(node.level, tuple(renumbered[child] for child in node.children)) for node in map(self.node, reached)
        )
        return Part(self.variables, tuple(self.classes), nodes, renumbered[root])

    def _depth(self, root: int) -> int:
        return len(self.variables) if root < 2 else self.node(root).level

    def _node(self, level: int, children: tuple[int, ...]) -> int:
        if all(child == children[0] for child in children):
            return children[0]
        node = Node(level, children)
        number = self._numbers.get(node)
        if number is None:
            if len(self._nodes) >= self._max_nodes:
                raise CutsError([rules_too_large(self._max_nodes)])
            self._nodes.append(node)
            number = len(self._nodes) + 1
            self._numbers[node] = number
        return number


def _value_classes(variable: Variable, formulas: Sequence[Formula], grid: Grid) -> IntArray:
    """The class of every bin: bins that no leaf distinguishes share one."""
    sets = sorted({leaf.bins for formula in formulas for leaf in leaves(formula) if leaf.variable == variable})
    numbers: dict[tuple[int, ...], int] = {}
    signatures = [tuple(bins >> position & 1 for bins in sets) for position in range(grid.size(variable))]
    return np.array([numbers.setdefault(signature, len(numbers)) for signature in signatures], dtype=np.int64)


def rules_too_large(max_nodes: int) -> Diagnostic:
    """A program whose rules link too many columns."""
    return Diagnostic(
        "rules-too-large",
        f"the row rules are too complex: their decision diagram needs more than {max_nodes:,} nodes",
        help="use fewer rules that link many columns, or split one into simpler rules (no rule is ever dropped)",
        exit_code=INFEASIBLE,
    )

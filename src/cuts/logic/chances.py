"""Product distributions and a diagram: the probability of the rules, distributions given the rules, rows.

Distributions are a mapping from variables to arrays (K, bins), one row for each of K components; all results are exact
and in float64, so a probability of 1e-18 is not 0. The probability is a weighted model count: one pass over the diagram
from the terminals to the root. A second pass from the root gives the conditional distributions, as in the
forward-backward algorithm (Rabiner, Proc. IEEE, 1989). The same code runs on numpy arrays and on torch tensors, where
`probability` and `condition` can be differentiated. A rule about a sum of columns needs a distribution of that sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from cuts.data.table import Floats, IntArray
from cuts.logic.core import Variable
from cuts.logic.diagram import YES, Diagram, Part
from cuts.vocab.arrays import add_rows, double, like

Distributions = Mapping[Variable, Any]  # variable -> (K, bins), numpy or torch
Pick: TypeAlias = Callable[[IntArray, Floats], IntArray]


@dataclass(frozen=True, slots=True)
class _Layer:
    """One level of a part: `children[s, c]` is the state in the next layer after class `c` in state `s`.

    Every path visits every layer: a variable that the reduced diagram skips gets a layer too, in which all its classes
    lead to the same state. So its distribution given the rules can be read off like any other.
    """

    variable: Variable
    classes: IntArray
    members: np.ndarray[tuple[int, int], np.dtype[np.float64]]  # (bins, classes), 1 where a bin is in a class
    children: IntArray  # (states, classes)


def probability(diagram: Diagram, dists: Distributions) -> Any:
    """Probability of the rules under each component, (K,)."""
    total = None
    for part in diagram.parts:
        layers, ends = _layers(part)
        of_part = _upward(layers, ends, _class_chances(layers, dists), _one(dists))[0][0]
        total = of_part if total is None else total * of_part
    return total if total is not None else _one(dists)


def condition(diagram: Diagram, dists: Distributions) -> dict[Variable, Any]:
    """Each variable's distribution given the rules, (K, bins).

    In a component where some rules cannot hold, the variables of those rules are zero. Variables that no rule is about
    are unchanged.
    """
    given: dict[Variable, Any] = {variable: double(p) for variable, p in dists.items()}
    for part in diagram.parts:
        layers, ends = _layers(part)
        chances = _class_chances(layers, dists)
        below = _upward(layers, ends, chances, _one(dists))
        total = below[0][0]
        safe = total + (total == 0) * 1.0
        above = like(np.ones((1, 1)), total) * (0.0 * total + 1.0)  # (states, K): mass that reaches a state
        for depth, layer in enumerate(layers):
            chance, after = chances[depth], below[depth + 1]
            flows = [above * chance[c] for c in range(len(chance))]
            shares = [(flow * after[layer.children[:, c]]).sum(0) / safe for c, flow in enumerate(flows)]
            p = given[layer.variable]
            ratio = [share / (chance[c] + (chance[c] == 0) * 1.0) for c, share in enumerate(shares)]
            given[layer.variable] = p * sum(
                ratio[c][:, None] * like(layer.members[:, c], p)[None, :] for c in range(len(ratio))
            )
            above = sum(add_rows(len(after), layer.children[:, c], flow) for c, flow in enumerate(flows))
    return given


def draw(diagram: Diagram, dists: Distributions, components: IntArray, pick: Pick) -> dict[Variable, IntArray]:
    """A bin for every variable of the rules and every row, exactly from the row's component given the rules.

    `pick(groups, weights)` chooses a bin for every row, by the weights of the row's group: (groups, bins).
    """
    rows: dict[Variable, IntArray] = {}
    for part in diagram.parts:
        layers, ends = _layers(part)
        below = _upward(layers, ends, _class_chances(layers, dists), _one(dists))
        if not (below[0][0][components] > 0).all():
            raise ValueError("no row of this component can satisfy the rules")
        state = np.zeros(len(components), dtype=np.int64)
        for layer, after in zip(layers, below[1:], strict=True):
            # Top down: the weight of a bin is its own probability times that of the rules below it. Rows of the same
            # component and state have the same weights.
            keys, groups = np.unique(components * len(layer.children) + state, return_inverse=True)
            component, at = np.divmod(keys, len(layer.children))
            following = layer.children[at][:, layer.classes]  # (groups, bins)
            weights = np.asarray(double(dists[layer.variable]))[component] * after[following, component[:, None]]
            rows[layer.variable] = pick(groups, weights)
            state = following[groups, rows[layer.variable]]
    return rows


def _layers(part: Part) -> tuple[list[_Layer], IntArray]:
    """The part level by level with skipped variables filled in, and the terminals its last states are."""
    states = [part.root]
    layers: list[_Layer] = []
    for level, (variable, classes) in enumerate(zip(part.variables, part.classes, strict=True)):
        count = int(classes.max()) + 1
        following: dict[int, int] = {}
        children = np.empty((len(states), count), dtype=np.int64)
        for row, number in enumerate(states):
            node = part.nodes[number - 2] if number >= 2 else None
            asked = node is not None and node.level == level
            for c in range(count):
                child = node.children[c] if asked and node is not None else number
                children[row, c] = following.setdefault(child, len(following))
        members = (classes[:, None] == np.arange(count)[None, :]).astype(np.float64)
        layers.append(_Layer(variable, classes, members, children))
        states = list(following)
    return layers, np.array(states, dtype=np.int64)


def _class_chances(layers: list[_Layer], dists: Distributions) -> list[list[Any]]:
    """The probabilities of the classes of every layer, one array (K,) per class."""
    chances = []
    for layer in layers:
        p = double(dists[layer.variable])
        by_class = p @ like(layer.members, p)  # (K, classes)
        chances.append([by_class[:, c] for c in range(layer.members.shape[1])])
    return chances


def _one(dists: Distributions) -> Any:
    """One for every component, (K,)."""
    return 1.0 + 0.0 * double(next(iter(dists.values())))[:, 0]


def _upward(layers: list[_Layer], ends: IntArray, chances: list[list[Any]], one: Any) -> list[Any]:
    """For each layer, and after the last, the probability that the rules hold from each state on, (states, K)."""
    below = [like((ends == YES)[:, None], one) * one]
    for layer, chance in zip(reversed(layers), reversed(chances), strict=True):
        after = below[-1]
        below.append(sum(after[layer.children[:, c]] * chance[c] for c in range(len(chance))))
    return below[::-1]

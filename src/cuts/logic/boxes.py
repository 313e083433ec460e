"""Boxes inside the rules: one set of bins per variable, such that every combination from the sets satisfies the rules.

A path through the diagram is a box, and a component restricted to a box is a product again. Boxes follow the paths of
rows drawn from the components; a class of bins that leads to the same node as the row's own class is included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cuts.data.table import Bools, IntArray
from cuts.logic.chances import Distributions, Pick, draw
from cuts.logic.core import Variable
from cuts.logic.diagram import Diagram


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """For each box the component it belongs to, how many rows took its path, and the bins of each variable."""

    components: IntArray  # (boxes,)
    rows: IntArray  # (boxes,)
    allowed: dict[Variable, Bools]  # (boxes, bins)


def find_boxes(diagram: Diagram, dists: Distributions, components: IntArray, pick: Pick) -> Boxes:
    """The boxes that rows of these components fall in, the most frequent first."""
    codes = draw(diagram, dists, components, pick)
    paths = components.astype(np.int64)
    masks: dict[Variable, tuple[IntArray, Bools]] = {}  # for each row: which mask of the table is its own
    for part in diagram.parts:
        at = np.full(len(components), part.root, dtype=np.int64)
        for level, (variable, classes) in enumerate(zip(part.variables, part.classes, strict=True)):
            kinds: list[Bools] = [np.ones(len(classes), dtype=np.bool_)]
            kind = np.zeros(len(components), dtype=np.int64)
            following = at.copy()
            for number in np.unique(at):
                if number < 2 or part.nodes[number - 2].level != level:
                    continue
                children = np.array(part.nodes[number - 2].children)
                here = np.flatnonzero(at == number)
                following[here] = children[classes[codes[variable][here]]]
                for child in np.unique(following[here]):
                    kind[here[following[here] == child]] = len(kinds)
                    kinds.append((children == child)[classes])
            masks[variable] = (kind, np.stack(kinds))
            paths = np.unique(paths * len(kinds) + kind, return_inverse=True)[1].astype(np.int64)
            at = following
    _, first, rows = np.unique(paths, return_index=True, return_counts=True)
    order = np.argsort(-rows, kind="stable")
    first, rows = first[order], rows[order]
    return Boxes(components[first], rows, {name: table[kind[first]] for name, (kind, table) in masks.items()})

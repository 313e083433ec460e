"""Boxes lie inside the rules, hold the rows they were found by, and do not overlap."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cuts.logic.boxes import find_boxes
from cuts.logic.chances import draw, probability
from cuts.logic.core import Variable, build_grid
from cuts.logic.diagram import Diagram, compile_rules, contains
from cuts.model.picking import picker
from strategies import predicates, schemas

K = 3


@st.composite
def cases(data: st.DrawFn) -> tuple[Diagram, dict[Variable, NDArray[np.float64]], NDArray[np.int64], int]:
    """Rules, K product distributions over their variables, rows of components that can satisfy them, and a seed."""
    schema = data(schemas(most=3, texts=True))
    rules = data(st.lists(predicates(schema, 5), min_size=1, max_size=3))
    grid = build_grid(rules, schema, coarse=True)
    diagram = compile_rules(rules, grid)
    assume(diagram.variables)
    assume(np.prod([grid.size(variable) for variable in diagram.variables]) <= 3_000)
    seed = data(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    dists: dict[Variable, NDArray[np.float64]] = {}
    for variable in diagram.variables:
        raw = rng.random((K, grid.size(variable))) * (rng.random((K, grid.size(variable))) < 0.8)
        raw[:, 0] += raw.sum(1) == 0
        dists[variable] = raw / raw.sum(1, keepdims=True)
    able = np.flatnonzero(probability(diagram, dists) > 1e-12)
    assume(len(able) > 0)
    return diagram, dists, rng.choice(able, 60), seed


@settings(max_examples=40)
@given(cases())
def test_boxes_are_inside_the_rules_and_apart(
    case: tuple[Diagram, dict[Variable, NDArray[np.float64]], NDArray[np.int64], int],
) -> None:
    diagram, dists, components, seed = case
    boxes = find_boxes(diagram, dists, components, picker("independent", np.random.default_rng(seed)))
    rows = draw(diagram, dists, components, picker("independent", np.random.default_rng(seed)))  # the same draw again
    assert set(boxes.allowed) == set(diagram.variables)
    assert boxes.rows.sum() == len(components)
    assert (np.diff(boxes.rows) <= 0).all()
    assert set(boxes.components) == set(components)
    sizes = [p.shape[1] for p in dists.values()]
    cells = np.array(list(product(*map(range, sizes))), dtype=np.int64)
    held = contains(diagram, {variable: cells[:, i] for i, variable in enumerate(dists)})
    inside = np.ones((len(boxes.rows), len(cells)), dtype=bool)  # which cells each box has
    for i, variable in enumerate(dists):
        inside &= boxes.allowed[variable][:, cells[:, i]]
    assert inside.any(1).all()
    assert held[inside.any(0)].all()
    for component in set(components.tolist()):
        mine = boxes.components == component
        assert (inside[mine].sum(0) <= 1).all()
        number = np.zeros((components == component).sum(), dtype=np.int64)
        for variable, size in zip(dists, sizes, strict=True):
            number = number * size + rows[variable][components == component]
        taken = inside[mine][:, number]  # (boxes, rows)
        assert (taken.sum(0) == 1).all()
        assert (taken.sum(1) == boxes.rows[mine]).all()

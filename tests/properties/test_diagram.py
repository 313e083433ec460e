"""Laws of the diagram: probabilities, conditional distributions and draws against plain enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cuts.config import Drawing
from cuts.data.schema import Schema
from cuts.data.table import IntArray
from cuts.lang.spec import Pred
from cuts.logic.chances import condition, draw, probability
from cuts.logic.core import Grid, Variable, build_grid
from cuts.logic.diagram import Diagram, compile_rules, contains
from cuts.model.picking import picker
from strategies import predicates, schemas

K = 3


@st.composite
def compiled(drawn: st.DrawFn) -> tuple[Diagram, Grid, dict[Variable, NDArray[np.float64]]]:
    """Rules compiled, and K product distributions with some probabilities zero."""
    schema: Schema = drawn(schemas(most=3, texts=True))
    rules: list[Pred] = drawn(st.lists(predicates(schema, 4), min_size=1, max_size=3))
    grid = build_grid(rules, schema, coarse=True)
    variables: list[Variable] = [*schema.names, *grid.sums]
    assume(np.prod([grid.size(variable) for variable in variables]) <= 20_000)
    rng = np.random.default_rng(drawn(st.integers(0, 2**32 - 1)))
    dists = {}
    for variable in variables:
        raw = rng.random((K, grid.size(variable))) * (rng.random((K, grid.size(variable))) < 0.8) + 1e-300
        dists[variable] = raw / raw.sum(1, keepdims=True)
    return compile_rules(rules, grid), grid, dists


def enumerate_cells(grid: Grid, dists: dict[Variable, NDArray[np.float64]]) -> dict[Variable, IntArray]:
    cells = np.array(list(product(*(range(grid.size(variable)) for variable in dists))))
    return {variable: cells[:, i] for i, variable in enumerate(dists)}


@settings(max_examples=80, deadline=None)
@given(compiled())
def test_probability_and_conditional_distributions_are_those_of_enumeration(
    case: tuple[Diagram, Grid, dict[Variable, NDArray[np.float64]]],
) -> None:
    diagram, grid, dists = case
    cells = enumerate_cells(grid, dists)
    held = contains(diagram, cells)
    joint = np.prod([p[:, cells[variable]] for variable, p in dists.items()], axis=0) * held  # (K, cells)
    expected = joint.sum(1)
    np.testing.assert_allclose(probability(diagram, dists), expected, rtol=1e-9, atol=1e-290)
    given_rules = condition(diagram, dists)
    for variable in dists:
        for position in range(grid.size(variable)):
            mass = (joint * (cells[variable] == position)).sum(1)
            share = np.where(expected > 1e-280, mass / np.where(expected > 1e-280, expected, 1), 0)
            found = np.where(expected > 1e-280, given_rules[variable][:, position], 0)
            np.testing.assert_allclose(found, share, rtol=1e-7, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(compiled())
def test_torch_gives_the_same_numbers_and_the_right_gradient(
    case: tuple[Diagram, Grid, dict[Variable, NDArray[np.float64]]],
) -> None:
    diagram, _, dists = case
    tensors = {variable: torch.tensor(p, requires_grad=True) for variable, p in dists.items()}
    found = probability(diagram, tensors)
    np.testing.assert_allclose(found.detach().numpy(), probability(diagram, dists), rtol=1e-12)
    for variable, p in condition(diagram, tensors).items():
        np.testing.assert_allclose(p.detach().numpy(), condition(diagram, dists)[variable], rtol=1e-12, atol=1e-300)
    found.sum().backward()
    for variable in diagram.variables:
        # The probability is linear in each variable's distribution: p . gradient is the probability itself.
        gradient = tensors[variable].grad
        assert gradient is not None
        total = (gradient * tensors[variable]).sum(1).detach().numpy()
        np.testing.assert_allclose(total, probability(diagram, dists), rtol=1e-9, atol=1e-290)


@settings(max_examples=30, deadline=None)
@given(compiled(), st.integers(0, 2**32 - 1), st.sampled_from(["independent", "systematic"]))
def test_every_drawn_row_satisfies_the_rules(
    case: tuple[Diagram, Grid, dict[Variable, NDArray[np.float64]]], seed: int, drawing: Drawing
) -> None:
    diagram, _, dists = case
    possible = np.flatnonzero(probability(diagram, dists) > 1e-280)
    assume(len(possible) > 0)
    rng = np.random.default_rng(seed)
    components = rng.choice(possible, 200)
    rows = draw(diagram, dists, components, picker(drawing, rng))
    codes = {variable: rows.get(variable, np.zeros(200, dtype=np.int64)) for variable in dists}
    assert contains(diagram, codes).all()
    for variable, drawn in rows.items():
        assert (dists[variable][components, drawn] > 0).all()

"""The algebra of the mixture against plain sums over components and over all rows."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cuts.data.codec import Codes, build_codec
from cuts.data.refine import Split, refine
from cuts.data.schema import Category, Integer, Schema
from cuts.lang.spec import Implies, InSet, Pred
from cuts.logic.core import find_cuts, grid_on
from cuts.logic.diagram import compile_rules, contains
from cuts.model import mixture as algebra
from cuts.model.mixture import Mixture
from mixtures import row_mixture
from strategies import predicates, schemas


def random_mixture(sizes: dict[str, int], components: int, seed: int, zeros: float = 0.3) -> Mixture:
    """A mixture with some probabilities zero."""
    rng = np.random.default_rng(seed)

    def simplex(*shape: int) -> torch.Tensor:
        raw = rng.random(shape) * (rng.random(shape) >= zeros)
        raw[..., 0] += raw.sum(-1) == 0
        return torch.as_tensor(raw / raw.sum(-1, keepdims=True))

    P = tuple(simplex(components, size) for size in sizes.values())
    return Mixture(tuple(sizes), simplex(1, components)[0], P)


@st.composite
def mixtures(draw: st.DrawFn) -> Mixture:
    """A mixture over up to four columns of up to four bins."""
    count = draw(st.integers(1, 4))
    sizes = {name: draw(st.integers(1, 4)) for name in "abcd"[:count]}
    return random_mixture(sizes, draw(st.integers(1, 5)), draw(st.integers(0, 2**32 - 1)))


def all_rows(mix: Mixture) -> Codes:
    cells = np.array(list(product(*(range(p.shape[1]) for p in mix.P))), dtype=np.int64)
    return {name: cells[:, i] for i, name in enumerate(mix.columns)}


def joint(mix: Mixture, rows: Codes) -> NDArray[np.float64]:
    """The probability of each row: sum_k w_k prod_i P_i[k, x_i], in plain numpy."""
    total = np.zeros(len(next(iter(rows.values()))))
    for k in range(mix.components):
        term = np.full(len(total), mix.w.numpy()[k])
        for name in mix.columns:
            term = term * mix[name].numpy()[k, rows[name]]
        total += term
    return total


@given(mixtures())
def test_marginals_are_sums_over_components_and_rows(mix: Mixture) -> None:
    rows = all_rows(mix)
    p = joint(mix, rows)
    assert p.sum() == pytest.approx(1.0)
    for width in range(len(mix.columns) + 1):
        for clique in combinations(mix.columns, width):
            shape = [mix[name].shape[1] for name in clique]
            expected = np.zeros(shape)
            np.add.at(expected, tuple(rows[name] for name in clique), p if clique else 1.0)
            np.testing.assert_allclose(algebra.marginal(mix, clique).numpy(), expected, rtol=1e-12, atol=1e-15)


@given(mixtures())
def test_the_columns_of_a_marginal_may_be_in_any_order(mix: Mixture) -> None:
    names = mix.columns
    turned = algebra.marginal(mix, names[::-1]).numpy()
    np.testing.assert_allclose(turned.T, algebra.marginal(mix, names).numpy(), rtol=1e-12, atol=1e-15)


@given(mixtures())
def test_blocks_of_the_gram_matrix_are_pairs_and_slices(mix: Mixture) -> None:
    X = torch.cat(mix.P, 1)
    ends = np.cumsum([0, *(p.shape[1] for p in mix.P)])
    pairs = algebra.gram(X, mix.w).numpy()
    np.testing.assert_allclose(pairs, pairs.T, atol=1e-15)
    for i, j in combinations(range(len(mix.P)), 2):
        block = pairs[ends[i] : ends[i + 1], ends[j] : ends[j + 1]]
        pair = algebra.marginal(mix, (mix.columns[i], mix.columns[j])).numpy()
        np.testing.assert_allclose(block, pair, rtol=1e-12, atol=1e-15)
    first = mix.columns[0]
    for value in range(mix[first].shape[1]):
        sliced = algebra.gram(X, mix.w * mix[first][:, value]).numpy()
        for i, j in combinations(range(1, len(mix.P)), 2):
            block = sliced[ends[i] : ends[i + 1], ends[j] : ends[j + 1]]
            triple = algebra.marginal(mix, (first, mix.columns[i], mix.columns[j])).numpy()
            np.testing.assert_allclose(block, triple[value], rtol=1e-12, atol=1e-15)


@settings(max_examples=20)
@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_gradient_of_the_gram_matrix_is_that_of_the_plain_formula(rows: int, bins: int, seed: int) -> None:
    random = torch.Generator().manual_seed(seed)
    X = torch.randn(rows, bins, generator=random, dtype=torch.float64, requires_grad=True)
    d = torch.randn(rows, generator=random, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(bins, bins, generator=random, dtype=torch.float64)  # not symmetric
    assert torch.autograd.gradcheck(algebra.gram, (X, d))
    found = torch.autograd.grad((weights * algebra.gram(X, d)).sum(), (X, d))
    plain = torch.autograd.grad((weights * torch.einsum("k,ka,kb->ab", d, X, X)).sum(), (X, d))
    for mine, expected in zip(found, plain, strict=True):
        torch.testing.assert_close(mine, expected)


@given(mixtures(), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_rows_as_a_mixture_have_exactly_the_counts_of_the_rows(mix: Mixture, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = {name: mix[name].shape[1] for name in mix.columns}
    codes = {name: rng.integers(0, size, rows) for name, size in sizes.items()}
    made = row_mixture(codes, sizes)
    for width in (1, 2):
        for clique in combinations(sizes, width):
            expected = np.zeros([sizes[name] for name in clique])
            np.add.at(expected, tuple(codes[name] for name in clique), 1 / rows)
            np.testing.assert_allclose(algebra.marginal(made, clique).numpy(), expected, atol=1e-12)


@given(mixtures(), st.data())
def test_split_bins_add_up_to_the_coarse_ones(mix: Mixture, data: st.DataObject) -> None:
    splits = {}
    for name in mix.columns:
        parts = data.draw(st.lists(st.integers(1, 3), min_size=mix[name].shape[1], max_size=mix[name].shape[1]))
        owner = np.repeat(np.arange(len(parts)), parts)
        raw = np.array(data.draw(st.lists(st.integers(1, 9), min_size=len(owner), max_size=len(owner))), dtype=float)
        splits[name] = Split(owner, raw / np.bincount(owner, raw)[owner])
    finer = algebra.split(mix, splits)
    for width in (1, 2):
        for clique in combinations(mix.columns, width):
            table = algebra.marginal(finer, clique).numpy()
            coarse = np.zeros([mix[name].shape[1] for name in clique])
            np.add.at(coarse, np.ix_(*(splits[name].owner for name in clique)), table)
            np.testing.assert_allclose(coarse, algebra.marginal(mix, clique).numpy(), rtol=1e-9, atol=1e-12)


def test_a_refined_codec_splits_a_mixture_without_changing_it() -> None:
    codec = build_codec(Schema("t", (Integer("age", 0, 9, 2), Category("sex", ("f", "m")))), {})
    finer, splits = refine(codec, {"age": [3.0, 4.0]}, {})
    mix = random_mixture({"age": 2, "sex": 2}, 3, 0)
    made = algebra.split(mix, splits)
    assert made["age"].shape == (3, finer["age"].size) == (3, 4)
    before, after = algebra.marginal(mix, ("age", "sex")), algebra.marginal(made, ("age", "sex"))
    torch.testing.assert_close(after[:3].sum(0), before[0])  # 0-2, 3, 4 of the five values 0-4
    torch.testing.assert_close(after[1], before[0] / 5)


@st.composite
def ruled(draw: st.DrawFn) -> tuple[Mixture, list[Pred], Schema]:
    """A small schema, rules about single columns and a mixture over its coarse bins."""
    schema = draw(schemas(most=3, texts=True))
    rules = draw(st.lists(predicates(schema, 4), min_size=1, max_size=2))
    cuts = find_cuts(rules, schema)
    assume(not cuts.sums)
    codec = build_codec(schema, cuts.columns, coarse=True)
    sizes = {bins.column.name: bins.size for bins in codec.columns}
    assume(np.prod(list(sizes.values())) <= 2_000)
    return random_mixture(sizes, draw(st.integers(1, 4)), draw(st.integers(0, 2**32 - 1))), rules, schema


@settings(max_examples=30)
@given(ruled())
def test_the_probability_of_rules_is_that_of_enumeration(case: tuple[Mixture, list[Pred], Schema]) -> None:
    mix, rules, schema = case
    cuts = find_cuts(rules, schema)
    diagram = compile_rules(rules, grid_on(build_codec(schema, cuts.columns, coarse=True), cuts))
    rows = all_rows(mix)
    held = contains(diagram, dict(rows.items()))
    p = joint(mix, rows) * held
    assert float(algebra.probability(mix, diagram)) == pytest.approx(p.sum(), rel=1e-9, abs=1e-14)


def test_probability_can_be_differentiated() -> None:
    schema = Schema("t", (Category("a", ("x", "y", "z")), Category("b", ("u", "v"))))
    rules: list[Pred] = [Implies(InSet("a", frozenset({"x"})), InSet("b", frozenset({"u"})))]
    codec = build_codec(schema, {})
    diagram = compile_rules(rules, grid_on(codec, find_cuts(rules, schema)))
    mix = random_mixture({"a": 3, "b": 2}, 4, 1, zeros=0.0)

    def held(w: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return algebra.probability(Mixture(("a", "b"), w, (a, b)), diagram)

    inputs = tuple(each.clone().requires_grad_() for each in (mix.w, *mix.P))
    assert torch.autograd.gradcheck(held, inputs)
    expected = 1 - (mix.w * mix["a"][:, 0] * mix["b"][:, 1]).sum()
    torch.testing.assert_close(held(*inputs).detach(), expected)


def test_tables_that_do_not_fit_the_columns_or_weights_are_refused() -> None:
    mix = random_mixture({"a": 2, "b": 2}, 3, 0)
    with pytest.raises(ValueError, match="one table per column"):
        Mixture(("a",), mix.w, mix.P)
    with pytest.raises(ValueError, match="one row per component"):
        Mixture(mix.columns, mix.w[:2], mix.P)

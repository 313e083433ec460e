"""Rows from a mixture: as many as asked for, by the right distribution, inside the rules, whoever draws them."""

from __future__ import annotations

from itertools import product
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cuts.config import Config, Drawing
from cuts.data.codec import Codec, Codes, build_codec
from cuts.data.schema import Category, Identifier, Integer, Schema
from cuts.data.table import Floats
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import And, Implies, InSet, Not, Or, Pred
from cuts.logic.core import find_cuts, grid_on
from cuts.logic.diagram import Diagram, compile_rules, contains
from cuts.model import draw as drawing_module
from cuts.model.draw import Supply, chunk_bounds, chunk_count, complete, draw, supply
from cuts.model.facts import Facts
from cuts.model.mixture import Mixture
from cuts.model.picking import pick_bins, picker, spaced_points
from cuts.model.sampling import plan_chunks, sample_blocks
from cuts.model.store import Model
from strategies import predicates, schemas

DRAWINGS: tuple[Drawing, ...] = get_args(Drawing)
drawings = st.sampled_from(DRAWINGS)
seeds = st.integers(0, 2**32 - 1)


def simplex(rng: np.random.Generator, shape: tuple[int, ...], zeros: float = 0.3) -> NDArray[np.float64]:
    raw = rng.random(shape) * (rng.random(shape) >= zeros)
    raw[..., 0] += raw.sum(-1) == 0
    made: NDArray[np.float64] = raw / raw.sum(-1, keepdims=True)
    return made


def random_mixture(sizes: dict[str, int], components: int, seed: int, zeros: float = 0.3) -> Mixture:
    rng = np.random.default_rng(seed)
    P = tuple(torch.as_tensor(simplex(rng, (components, size), zeros)) for size in sizes.values())
    return Mixture(tuple(sizes), torch.as_tensor(simplex(rng, (components,), zeros)), P)


def all_rows(source: Supply) -> Codes:
    cells = np.array(list(product(*(range(p.shape[1]) for p in source.dists.values()))), dtype=np.int64)
    return {name: cells[:, i] for i, name in enumerate(source.dists)}


def joint(source: Supply, rows: Codes) -> Floats:
    """The probability of each row, zero where the rules do not hold."""
    terms = [source.dists[name][:, rows[name]] for name in source.dists]
    p: Floats = (source.prior[:, None] * np.prod(terms, axis=0)).sum(0)
    return p * contains(source.rules, dict(rows.items())) if source.rules is not None else p


def numbers(codes: Codes, source: Supply) -> NDArray[np.int64]:
    """The row each is in `all_rows`."""
    found = np.zeros(len(next(iter(codes.values()))), dtype=np.int64)
    for name, table in source.dists.items():
        found = found * table.shape[1] + codes[name]
    return found


def assert_follows(counts: NDArray[np.int64], p: Floats) -> None:
    """Counts as independent draws from `p` would give them: nothing impossible, nothing five deviations off."""
    n = counts.sum()
    assert (counts[p == 0] == 0).all()
    assert (np.abs(counts - n * p) <= 5 * np.sqrt(n * p * (1 - p)) + 2).all()


# --- choosing bins

tiny = st.sampled_from([0.0, 0.0, 5e-324, 1e-300, 1e-17, 0.1, 1.0, 3.0, 1e300])


@st.composite
def weighted(data: st.DrawFn) -> tuple[NDArray[np.int64], Floats]:
    """Rows in groups, and weights of the bins of each, some zero and some tiny."""
    bins, count = data(st.integers(1, 6)), data(st.integers(1, 5))
    rows = st.lists(tiny, min_size=bins, max_size=bins).filter(any)
    weights = np.array(data(st.lists(rows, min_size=count, max_size=count)))
    groups = data(st.lists(st.integers(0, count - 1), min_size=0, max_size=40))
    return np.array(groups, dtype=np.int64), weights


@settings(max_examples=300)
@given(weighted(), drawings, seeds)
def test_a_bin_of_weight_zero_is_never_chosen(case: tuple[NDArray[np.int64], Floats], drawing: Drawing, s: int) -> None:
    groups, weights = case
    chosen = picker(drawing, np.random.default_rng(s))(groups, weights)
    assert ((chosen >= 0) & (chosen < weights.shape[1])).all()
    assert (weights[groups, chosen] > 0).all()


@given(weighted(), st.sampled_from([0.0, 1.0 - 2**-53, 0.5, 1e-300]))
def test_nor_at_the_ends_of_the_line(case: tuple[NDArray[np.int64], Floats], point: float) -> None:
    groups, weights = case
    chosen = pick_bins(groups, weights, np.full(len(groups), point))
    assert (weights[groups, chosen] > 0).all()


def test_nor_among_millions_of_groups() -> None:
    count = (1 << 21) + 3
    weights = np.tile([0.0, 1.0, 0.0], (count, 1))
    groups = np.arange(count)
    assert (pick_bins(groups, weights, np.full(count, 1.0 - 2**-53)) == 1).all()
    assert (pick_bins(groups, weights, np.zeros(count)) == 1).all()


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(1, 200), seeds), min_size=1, max_size=4), st.integers(1, 6), seeds)
def test_systematic_counts_are_within_one_of_the_shares(kinds: list[tuple[int, int]], bins: int, seed: int) -> None:
    weights = np.stack([simplex(np.random.default_rng(each), (bins,)) for _, each in kinds])
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(len(kinds)), [size for size, _ in kinds]))
    chosen = picker("systematic", rng)(groups, weights)
    for number, (size, _) in enumerate(kinds):
        counts = np.bincount(chosen[groups == number], minlength=bins)
        assert (np.abs(counts - size * weights[number]) < 1 + 1e-6).all()


@given(st.lists(st.integers(0, 4), max_size=50), seeds)
def test_points_of_a_group_are_evenly_spaced(groups: list[int], seed: int) -> None:
    places = np.array(groups, dtype=np.int64)
    points = spaced_points(places, 5, np.random.default_rng(seed))
    assert ((points >= 0) & (points <= 1)).all()
    for number in set(groups):
        mine = np.sort(points[places == number])
        np.testing.assert_allclose(np.diff(mine), 1 / len(mine), atol=1e-12)


@pytest.mark.parametrize("drawing", DRAWINGS)
def test_each_row_alone_follows_its_weights(drawing: Drawing) -> None:
    p = np.array([[0.5, 0.0, 0.3, 0.2], [0.0, 0.9, 0.0, 0.1]])
    groups = np.array([0, 1, 0, 0, 1])
    drawn = np.stack([picker(drawing, np.random.default_rng(s))(groups, p) for s in range(4_000)])
    for row, group in enumerate(groups):
        assert_follows(np.bincount(drawn[:, row], minlength=4), p[group])


def test_a_group_without_a_bin_is_refused() -> None:
    with pytest.raises(ValueError, match="no bin to choose"):
        pick_bins(np.array([0]), np.zeros((1, 3)), np.array([0.5]))


# --- drawing rows


@settings(max_examples=50)
@given(st.integers(1, 300), st.integers(1, 5), drawings, seeds)
def test_exactly_so_many_rows_of_possible_bins(rows: int, components: int, drawing: Drawing, seed: int) -> None:
    source = supply(random_mixture({"a": 3, "b": 1, "c": 4}, components, seed))
    codes = draw(source, rows, seed=seed, drawing=drawing).codes
    assert list(codes) == ["a", "b", "c"]
    assert all(len(values) == rows for values in codes.values())
    assert (joint(source, codes) > 0).all()


@pytest.mark.parametrize("drawing", DRAWINGS)
def test_rows_follow_the_mixture(drawing: Drawing) -> None:
    source = supply(random_mixture({"a": 3, "b": 2, "c": 3}, 4, 5))
    p = joint(source, all_rows(source))
    codes = draw(source, 40_000, seed=3, drawing=drawing).codes
    assert_follows(np.bincount(numbers(codes, source), minlength=len(p)), p)


def test_systematic_marginals_are_nearer_than_chance() -> None:
    source = supply(random_mixture({"a": 3, "b": 3}, 4, 8))
    share = source.prior @ source.dists["a"]
    counts = np.bincount(draw(source, 10_000, seed=1).codes["a"], minlength=3)
    assert np.abs(counts - 10_000 * share).max() <= 2 * len(source.prior)


@st.composite
def ruled(data: st.DrawFn) -> Supply:
    """A supply with rules that some row satisfies."""
    schema = data(schemas(most=3, texts=True))
    rules = data(st.lists(predicates(schema, 4), min_size=1, max_size=2))
    cuts = find_cuts(rules, schema)
    assume(not cuts.sums)
    codec = build_codec(schema, cuts.columns, coarse=True)
    sizes = {bins.column.name: bins.size for bins in codec.columns}
    assume(np.prod(list(sizes.values())) <= 2_000)
    mix = random_mixture(sizes, data(st.integers(1, 4)), data(seeds))
    source = supply(mix, compile_rules(rules, grid_on(codec, cuts)))
    assume(not source.is_empty)
    return source


@settings(max_examples=50)
@given(ruled(), drawings, seeds)
def test_every_row_satisfies_the_rules(source: Supply, drawing: Drawing, seed: int) -> None:
    codes = draw(source, 200, seed=seed, drawing=drawing).codes
    assert (joint(source, codes) > 0).all()


SCHEMA = Schema("t", (Category("a", ("x", "y", "z")), Category("b", ("u", "v")), Category("c", ("p", "q", "r"))))
CODEC = build_codec(SCHEMA, {})


def isin(column: str, *values: str) -> Pred:
    return InSet(column, frozenset(values))


RULES: tuple[Pred, ...] = (Implies(isin("a", "x"), isin("b", "v")), Or((isin("b", "u"), isin("c", "p", "q"))))


def compiled(rules: tuple[Pred, ...], codec: Codec = CODEC) -> Diagram:
    return compile_rules(list(rules), grid_on(codec, find_cuts(rules, codec.schema)))


@pytest.mark.parametrize("drawing", DRAWINGS)
def test_rows_follow_the_mixture_given_the_rules(drawing: Drawing) -> None:
    source = supply(random_mixture({"a": 3, "b": 2, "c": 3}, 4, 2, zeros=0.1), compiled(RULES))
    p = joint(source, all_rows(source))
    assert 0.05 < p.sum() < 0.9
    codes = draw(source, 40_000, seed=4, drawing=drawing).codes
    assert_follows(np.bincount(numbers(codes, source), minlength=len(p)), p / p.sum())


@pytest.mark.parametrize("drawing", DRAWINGS)
def test_however_rare_the_rules_are(drawing: Drawing) -> None:
    rare = np.array([[1e-4, 1 - 2e-4, 1e-4], [3e-4, 1 - 4e-4, 1e-4]])
    mix = Mixture(
        ("a", "b", "c"),
        torch.tensor([0.5, 0.5], dtype=torch.float64),
        (torch.as_tensor(rare), torch.tensor([[1e-4, 1 - 1e-4]] * 2, dtype=torch.float64), torch.as_tensor(rare)),
    )
    rules: tuple[Pred, ...] = (isin("a", "x"), isin("b", "u"), Not(isin("c", "q")))
    source = supply(mix, compiled(rules))
    p = joint(source, all_rows(source))
    assert p.sum() < 1e-10
    codes = draw(source, 10_000, seed=0, drawing=drawing).codes
    assert_follows(np.bincount(numbers(codes, source), minlength=len(p)), p / p.sum())


def test_rules_no_row_satisfies_leave_an_empty_supply() -> None:
    mix = Mixture(
        ("a", "b", "c"),
        torch.ones(1, dtype=torch.float64),
        tuple(torch.tensor([[1.0, *[0.0] * (n - 1)]], dtype=torch.float64) for n in (3, 2, 3)),
    )
    assert supply(mix, compiled((isin("a", "y"),))).is_empty
    assert not supply(mix, compiled((isin("a", "x"),))).is_empty


# --- chunks and workers


@given(st.integers(1, 10**7))
def test_chunks_follow_each_other_and_add_up(rows: int) -> None:
    found = [chunk_bounds(number, rows) for number in range(chunk_count(rows))]
    assert [start for start, _ in found] == [0, *(end for _, end in found[:-1])]
    assert found[-1][1] == rows
    assert all(0 < end - start <= drawing_module.CHUNK for start, end in found)


@pytest.mark.parametrize("rows", [1, 64, 65, 1_000])
def test_a_chunk_is_the_same_whatever_was_made_before(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(drawing_module, "CHUNK", 64)
    model = a_model()
    in_order = list(sample_blocks(model, rows, seed=9))
    backwards = plan_chunks(model, rows, seed=9)
    assert (backwards.rows, backwards.count) == (rows, len(in_order))
    for number in reversed(range(backwards.count)):
        start, end = backwards.bounds(number)
        made = backwards.make(number).table
        assert made.rows == end - start
        assert made.arrow.equals(in_order[number].arrow)
    with pytest.raises(IndexError):
        backwards.make(backwards.count)


def a_model(drawing: Drawing = "systematic") -> Model:
    schema = Schema("t", (Identifier("id", None, 7), *SCHEMA.columns, Integer("age", 0, 99, 4)))
    codec = build_codec(schema, {})
    mix = random_mixture({"a": 3, "b": 2, "c": 3, "age": 4}, 5, 1, zeros=0.0)
    program = "SYNTHESIZE: t; ENFORCE: a == x IMPLIES b == v; END;"
    spec = bind(parse(program), codec.schema)
    return Model(mix, codec, program, spec, Config(drawing=drawing), Facts(100, 0.1, 5, 0.0, 0, "1"))


@pytest.mark.parametrize("drawing", DRAWINGS)
@pytest.mark.parametrize("rows", [1, 63, 64, 65, 128, 1_000])
def test_chunks_together_are_a_table_of_its_own_rows(
    monkeypatch: pytest.MonkeyPatch, drawing: Drawing, rows: int
) -> None:
    monkeypatch.setattr(drawing_module, "CHUNK", 64)
    model = a_model(drawing)
    made = [row for block in sample_blocks(model, rows, seed=9) for row in block.arrow.to_pylist()]
    assert len({row["id"] for row in made}) == len(made) == rows
    assert all(row["b"] == "v" for row in made if row["a"] == "x")
    other = [row for block in sample_blocks(model, rows, seed=10) for row in block.arrow.to_pylist()]
    assert rows == 1 or other != made


# --- rows with given cells


@settings(max_examples=30)
@given(ruled(), seeds, st.data())
def test_completed_rows_keep_their_cells_and_satisfy_the_rules(source: Supply, seed: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    names = data.draw(st.lists(st.sampled_from(list(source.dists)), min_size=1, unique=True))
    codes = {name: rng.integers(0, source.dists[name].shape[1], 30) for name in names}
    masks = {name: rng.random(30) < 0.6 for name in names}
    drawn, possible = complete(source, codes, masks, seed=seed)
    found = drawn.codes
    rows = all_rows(source)
    p = joint(source, rows)
    for row in range(30):
        like = np.ones(len(p), dtype=bool)
        for name in names:
            if masks[name][row]:
                like &= rows[name] == codes[name][row]
        assert possible[row] == (p[like].sum() > 0)
    for name in names:
        kept = masks[name] & possible
        assert (found[name][kept] == codes[name][kept]).all()
    assert (joint(source, {name: values[possible] for name, values in found.items()}) > 0).all()


@pytest.mark.parametrize("rules", [(), RULES])
def test_the_rest_of_a_row_follows_the_model_given_its_cells(rules: tuple[Pred, ...]) -> None:
    source = supply(random_mixture({"a": 3, "b": 2, "c": 3}, 4, 2, zeros=0.1), compiled(rules))
    rows = all_rows(source)
    p = joint(source, rows)
    each = 8_000
    kinds = [(0, None), (None, None), (2, 1), (None, 0)]  # cells of `a` and of `c`
    codes = {
        "a": np.repeat([a or 0 for a, _ in kinds], each).astype(np.int64),
        "c": np.repeat([c or 0 for _, c in kinds], each).astype(np.int64),
    }
    masks = {
        "a": np.repeat([a is not None for a, _ in kinds], each),
        "c": np.repeat([c is not None for _, c in kinds], each),
    }
    drawn, possible = complete(source, codes, masks, seed=6)
    found = drawn.codes
    assert possible.all()
    for number, (a, c) in enumerate(kinds):
        here = {name: values[number * each : (number + 1) * each] for name, values in found.items()}
        like = (rows["a"] == a if a is not None else True) & (rows["c"] == c if c is not None else True)
        expected = p * like
        assert_follows(np.bincount(numbers(here, source), minlength=len(p)), expected / expected.sum())


def test_rows_that_cannot_be_completed_are_told() -> None:
    rules: tuple[Pred, ...] = (Implies(isin("a", "x"), And((isin("b", "v"), isin("c", "p")))),)
    source = supply(random_mixture({"a": 3, "b": 2, "c": 3}, 4, 3, zeros=0.0), compiled(rules))
    codes = {"a": np.array([0, 0, 1, 0]), "b": np.array([0, 1, 0, 0])}
    masks = {"a": np.array([True, True, True, True]), "b": np.array([True, True, True, False])}
    _, possible = complete(source, codes, masks, seed=0)
    assert possible.tolist() == [False, True, True, True]


def test_a_component_that_cannot_hold_the_rules_does_not_hide_one_that_can() -> None:
    # Given `c == p`, the second component is 1e-900 times as likely as the first, in which `a == x` is impossible.
    names = tuple(f"c{i}" for i in range(3))
    schema = Schema("t", (Category("a", ("x", "y")), *(Category(name, ("p", "q")) for name in names)))
    codec = build_codec(schema, {})
    tables = (
        torch.tensor([[0.0, 1.0], [0.5, 0.5]], dtype=torch.float64),
        *(torch.tensor([[1.0, 0.0], [1e-300, 1.0]], dtype=torch.float64) for _ in names),
    )
    mix = Mixture(("a", *names), torch.tensor([0.5, 0.5], dtype=torch.float64), tables)
    source = supply(mix, compiled((isin("a", "x"),), codec))
    given_cells = {name: np.zeros(2, dtype=np.int64) for name in names}
    masks = {name: np.ones(2, dtype=bool) for name in names}
    drawn, possible = complete(source, given_cells, masks, seed=0)
    assert possible.all()
    assert (drawn.codes["a"] == 0).all()


def test_few_rows_at_a_time_change_nothing_but_the_draw() -> None:
    source = supply(random_mixture({"a": 3, "b": 2, "c": 3}, 4, 2, zeros=0.0), compiled(RULES))
    codes = {"b": np.array([0, 1] * 50)}
    drawn, possible = complete(source, codes, {"b": np.ones(100, dtype=bool)}, seed=1, max_cells=16)
    assert possible.all()
    assert (drawn.codes["b"] == codes["b"]).all()
    assert (joint(source, drawn.codes) > 0).all()

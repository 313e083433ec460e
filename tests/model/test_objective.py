"""The loss of a fit: slices that add up to the tables, groups of bins, and a loss of zero for the rows themselves."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.config import Config
from cuts.data.binning import fit_codec
from cuts.data.codec import CategoryBins, Codec, Codes, NumericBins, encode
from cuts.data.infer import infer_schema
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.lang.binder import bind_predicate
from cuts.lang.parser import parse_expression
from cuts.logic.core import find_cuts, grid_on
from cuts.logic.diagram import compile_rules
from cuts.model.backbones.table import table_of
from cuts.model.fit import train
from cuts.model.mixture import Mixture, gram, marginal, probability
from cuts.model.objective import Objective, ObjectiveSettings
from cuts.model.shape import Refit, repair
from cuts.model.slice_groups import MAX_GROUPS, slice_groups
from mixtures import counted, row_mixture
from strategies import schemas, tables

Case = tuple[dict[str, int], Codes, dict[str, np.ndarray]]
MANY_SLICES = ObjectiveSettings(max_label_slices=10**6)


@st.composite
def rows_in_groups(draw: st.DrawFn) -> Case:
    """Rows of three to five columns, and groups of the bins of some."""
    shape = draw(st.lists(st.integers(1, 6), min_size=3, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = draw(st.integers(1, 60))
    sizes = {f"c{i}": size for i, size in enumerate(shape)}
    codes = {name: rng.integers(0, size, rows) for name, size in sizes.items()}
    groups = {}
    for name, size in sizes.items():
        if draw(st.booleans()):
            starts = np.sort(rng.random(size) < 0.4)[::-1] if draw(st.booleans()) else rng.random(size) < 0.4
            groups[name] = np.cumsum(starts) - int(starts[0])  # neighbours, numbered from 0
    return sizes, codes, groups


@settings(max_examples=40)
@given(rows_in_groups(), st.integers(0, 5), st.integers(0, 3))
def test_the_loss_of_the_rows_themselves_is_zero(case: Case, at: int, slices: int) -> None:
    sizes, codes, groups = case
    label = f"c{at}" if at < len(sizes) else None
    objective = Objective(counted(codes, sizes), label, groups=groups, slices=slices, seed=1, device="cpu")
    for _ in range(3):
        loss, error = objective.loss(row_mixture(codes, sizes))
        assert float(loss) == pytest.approx(0.0, abs=1e-6)
        assert float(error) == pytest.approx(0.0, abs=1e-6)


@settings(max_examples=40)
@given(rows_in_groups(), st.integers(0, 2**32 - 1))
def test_slices_of_all_groups_add_up_to_the_pairs(case: Case, seed: int) -> None:
    """In the rows, and in any mixture: groups are a partition of the bins."""
    sizes, codes, groups = case
    rng = np.random.default_rng(seed)
    P = tuple(torch.as_tensor(rng.dirichlet(np.ones(size), 3)) for size in sizes.values())
    for mix in (row_mixture(codes, sizes), Mixture(tuple(sizes), torch.as_tensor(rng.dirichlet(np.ones(3))), P)):
        X = torch.cat(mix.P, 1)
        whole = gram(X, mix.w)
        for name, group in groups.items():
            parts = [
                gram(X, mix.w * mix[name][:, torch.as_tensor(group == number)].sum(1))
                for number in range(group.max() + 1)
            ]
            torch.testing.assert_close(sum(parts), whole, atol=1e-10, rtol=0)


def plain_loss(mix: Mixture, codes: Codes, case_groups: dict[str, np.ndarray], label: str, offset: float) -> float:
    """The loss without random slices, table by table."""
    sizes = {name: p.shape[1] for name, p in zip(mix.columns, mix.P, strict=True)}
    real = row_mixture(codes, sizes)

    def hellinger(p: torch.Tensor, q: torch.Tensor) -> float:
        return 0.5 * float((((p + offset).sqrt() - (q + offset).sqrt()) ** 2).sum())

    pairs = [hellinger(marginal(mix, pair), marginal(real, pair)) for pair in combinations(sizes, 2)]
    group = torch.as_tensor(case_groups.get(label, np.arange(sizes[label])))
    slices = []
    for number in range(int(group.max()) + 1):
        members = group == number
        tables = [
            [marginal(each, (*pair, label))[:, :, members].sum(-1) for each in (mix, real)]
            for pair in combinations([name for name in sizes if name != label], 2)
        ]
        slices.append(float(np.mean([hellinger(p, q) for p, q in tables])))
    return float(np.mean(pairs)) + sum(slices)


@settings(max_examples=40)
@given(rows_in_groups(), st.integers(0, 4), st.integers(0, 2**32 - 1))
def test_the_loss_is_hellinger_of_the_pairs_and_of_the_triples_with_the_label(case: Case, at: int, seed: int) -> None:
    sizes, codes, groups = case
    label, rng = f"c{at % len(sizes)}", np.random.default_rng(seed)
    P = tuple(torch.as_tensor(rng.dirichlet(np.ones(size), 2)) for size in sizes.values())
    mix = Mixture(tuple(sizes), torch.as_tensor(rng.dirichlet(np.ones(2))), P)
    objective = Objective(
        counted(codes, sizes), label, groups=groups, slices=0, seed=0, device="cpu", settings=MANY_SLICES
    )
    loss, error = objective.loss(mix)
    expected = plain_loss(mix, codes, groups, label, MANY_SLICES.root_offset)
    assert float(loss) == pytest.approx(expected, abs=2e-5)
    real = row_mixture(codes, sizes)
    variation = [float((marginal(mix, p) - marginal(real, p)).abs().sum()) / 2 for p in combinations(sizes, 2)]
    assert float(error) == pytest.approx(float(np.mean(variation)), abs=1e-5)


def test_random_slices_of_a_label_are_right_on_average() -> None:
    """A label of many values: a step compares a few slices, weighted so that their mean is the loss of all."""
    rng = np.random.default_rng(0)
    sizes = {"a": 3, "b": 3, "y": 12}
    codes = {name: (size * rng.random(500) ** 2).astype(np.int64) for name, size in sizes.items()}
    assert np.bincount(codes["y"], minlength=12).min() > 0  # what never occurs is never chosen
    mix = Mixture(tuple(sizes), torch.ones(1), tuple(torch.full((1, size), 1 / size) for size in sizes.values()))
    all_slices, few = (
        Objective(counted(codes, sizes), "y", slices=0, seed=0, device="cpu", settings=chosen)
        for chosen in (MANY_SLICES, ObjectiveSettings(max_label_slices=3))
    )
    drawn = [float(few.loss(mix)[0]) for _ in range(600)]
    spread = np.std(drawn) / np.sqrt(len(drawn))
    assert spread > 0
    assert abs(np.mean(drawn) - float(all_slices.loss(mix)[0])) < 5 * spread


# --- groups of bins


@st.composite
def coded_tables(draw: st.DrawFn) -> tuple[Codec, Codes]:
    schema: Schema = draw(schemas(texts=True))
    table: Table = draw(tables(schema, most=60))
    codec = fit_codec(table, schema, coarse=draw(st.booleans()))
    return codec, encode(table, codec)


@settings(max_examples=60)
@given(coded_tables())
def test_groups_are_neighbours_in_order_and_every_bin_has_one(case: tuple[Codec, Codes]) -> None:
    codec, codes = case
    counts = counted(codes, codec.sizes, tuple((name,) for name in codec.sizes))
    groups = slice_groups(counts, codec)
    assert set(groups) == {bins.column.name for bins in codec.columns if isinstance(bins, NumericBins)}
    assert not any(isinstance(codec[name], CategoryBins) for name in groups)
    for name, group in groups.items():
        assert len(group) == codec.sizes[name]
        assert set(np.diff(group)) <= {0, 1}
        assert group[0] == 0
        assert group[-1] < MAX_GROUPS
        in_group = np.bincount(group, counts.table((name,)))
        heaviest = [counts.table((name,))[group == number].max() for number in range(len(in_group))]
        assert all(  # more than an even share only because single bins are heavy
            rows <= 1 + counts.rows / MAX_GROUPS + heavy for rows, heavy in zip(in_group, heaviest, strict=True)
        )


# --- smoothing


SIZES = {"a": 4, "b": 3, "c": 3}


def some_mixture(seed: int, components: int = 6) -> Mixture:
    """Components that are each certain of one bin per column, as those of a memorising fit are."""
    rng = np.random.default_rng(seed)
    P = tuple(torch.eye(size, dtype=torch.float64)[rng.integers(0, size, components)] for size in SIZES.values())
    mixed = tuple(0.999 * p + 0.001 / p.shape[1] for p in P)
    return Mixture(tuple(SIZES), torch.as_tensor(rng.dirichlet(np.ones(components))), mixed)


@settings(max_examples=20)
@given(st.integers(0, 999), st.sampled_from([0.05, 0.2, 0.5]), st.integers(0, 30))
def test_every_component_keeps_its_floor_however_long_it_is_trained(seed: int, smoothing: float, steps: int) -> None:
    mix = some_mixture(seed)
    allowed = torch.ones(4, dtype=torch.bool)
    allowed[seed % 4] = False
    narrow = torch.where(allowed, mix["a"], 0.0)
    mix = Mixture(mix.columns, mix.w, (narrow / narrow.sum(1, keepdim=True), *mix.P[1:]))
    backbone = table_of(mix, "cpu", smoothing=smoothing)
    codes = {name: np.full(50, seed % size) for name, size in SIZES.items()}  # far away: all rows alike
    objective = Objective(counted(codes, SIZES), None, slices=1, seed=0, device="cpu")
    train(backbone, objective.loss, steps, 0.5)
    settled = backbone.settle()
    assert not settled["a"][:, ~allowed].any()  # what is ruled out stays ruled out
    for before, after in zip(mix.P, settled.P, strict=True):
        floor = smoothing * (mix.w @ before)[None, :] * (before > 0)
        assert (after >= 0.999 * floor).all()


def test_smoothing_is_kept_by_repair() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 400)
    table = Table(pa.table({"a": a, "b": np.minimum(a, rng.integers(0, 4, 400)), "c": rng.choice(["x", "y"], 400)}))
    schema = infer_schema(table, "t")
    pred = bind_predicate(parse_expression("c == x IMPLIES a >= 2", "rule"), schema)
    cuts = find_cuts([pred], schema)
    codec = fit_codec(table, schema, cuts.columns, cuts.sets)
    codes = encode(table, codec)
    rules = compile_rules([pred], grid_on(codec, cuts))
    mix = row_mixture({name: column[:60] for name, column in codes.items()}, codec.sizes)  # it memorised rows
    assert 0.1 < float(probability(mix, rules)) < 0.9
    lowest = []
    for smoothing in (0.0, 0.2):
        refit = Refit(counted(codes, codec.sizes), None, Config(steps=60), 0, smoothing=smoothing)
        fitted = repair(mix, rules, refit).mixture
        assert float(probability(fitted, rules)) == pytest.approx(1.0, abs=1e-9)
        lowest.append(float(min(torch.where(p > 0, p, 1.0).min() for p in fitted.P)))
    assert lowest[1] > 0.005 > lowest[0]

"""Fitting: tables of every shape, and the schedule."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cuts.config import Config
from cuts.count.marginals import Clique
from cuts.model.fit import FitSettings, Fitted, Schedule, fit
from cuts.model.mixture import marginal
from cuts.progress import FitStep
from mixtures import counted

Codes = dict[str, NDArray[np.int64]]


def rows_of_a_mixture(sizes: Mapping[str, int], rows: int, seed: int, components: int = 3) -> Codes:
    rng = np.random.default_rng(seed)
    which = rng.integers(0, components, rows)
    codes = {}
    for name, size in sizes.items():
        p = rng.dirichlet(np.full(size, 0.5), components)
        codes[name] = (rng.random(rows)[:, None] > np.cumsum(p, 1)[which][:, :-1]).sum(1)
    return codes


def distance(fitted: Fitted, codes: Codes, sizes: Mapping[str, int], clique: Clique) -> float:
    """Total variation between a table of the model and that of the rows."""
    table = np.zeros([sizes[name] for name in clique])
    np.add.at(table, tuple(codes[name] for name in clique), 1 / len(next(iter(codes.values()))))
    return float(0.5 * np.abs(marginal(fitted.mixture, clique).numpy() - table).sum())


def assert_sound(fitted: Fitted, sizes: Mapping[str, int]) -> None:
    assert fitted.mixture.columns == tuple(sizes)
    assert np.isfinite(fitted.error)
    assert fitted.error >= 0
    for table in (fitted.mixture.w[None], *fitted.mixture.P):
        assert table.dtype == torch.float64
        assert (table >= 0).all()
        torch.testing.assert_close(table.sum(1), torch.ones_like(table[:, 0]), atol=1e-9, rtol=0)


SIZES = {"a": 4, "b": 3, "c": 2, "d": 5}
CODES = rows_of_a_mixture(SIZES, 5_000, 1)
SMALL = Config(components=40, steps=150)


@pytest.mark.parametrize("label", [None, "c", "d"])  # none, one of two values, one of more than are looked at in a step
def test_the_tables_of_a_small_mixture_are_recovered(label: str | None) -> None:
    told: list[FitStep] = []
    fitted = fit(counted(CODES, SIZES), label, SMALL, seed=0, seen=told.append)
    assert_sound(fitted, SIZES)
    assert told[-1].error < 0.5 * told[0].error
    assert [p.step for p in told] == sorted({p.step for p in told})
    assert told[-1].step == told[-1].steps == fitted.steps
    for width in (1, 2, 3):
        for clique in combinations(SIZES, width):
            assert distance(fitted, CODES, SIZES, clique) < 0.06


@settings(max_examples=15)
@given(st.lists(st.integers(1, 6), min_size=3, max_size=5), st.integers(0, 5), st.integers(1, 60), st.integers(0, 999))
def test_tables_of_any_shape_can_be_fitted(shape: list[int], at: int, rows: int, seed: int) -> None:
    sizes = {f"c{i}": size for i, size in enumerate(shape)}
    label = f"c{at}" if at < len(shape) else None
    fitted = fit(counted(rows_of_a_mixture(sizes, rows, seed), sizes), label, Config(components=5, steps=6), seed=seed)
    assert_sound(fitted, sizes)


@pytest.mark.parametrize(
    ("names", "label"),
    [
        ("a", None),
        ("ab", None),
        ("a", "a"),
        ("ab", "a"),
        ("ab", "b"),
    ],
)
def test_tables_of_one_or_two_columns(names: str, label: str | None) -> None:
    sizes = {name: SIZES[name] for name in names}
    codes = {name: CODES[name] for name in names}
    fitted = fit(counted(codes, sizes), label, SMALL, seed=0)
    assert_sound(fitted, sizes)
    assert distance(fitted, codes, sizes, tuple(sizes)) < 0.05


def test_bins_without_rows_stay_nearly_empty() -> None:
    sizes = {name: size + 2 for name, size in SIZES.items()}
    fitted = fit(counted(CODES, sizes), "c", SMALL, seed=0)
    assert_sound(fitted, sizes)
    for name, size in SIZES.items():
        assert float(marginal(fitted.mixture, (name,))[size:].sum()) < 0.01


def test_a_wide_table_is_looked_at_some_columns_at_a_time() -> None:
    sizes = {f"c{i}": 20 for i in range(40)}
    codes = rows_of_a_mixture(sizes, 400, 3)
    cliques = tuple(combinations(sizes, 2))
    told: list[FitStep] = []
    often = FitSettings(report_every_steps=5)
    counts, config = counted(codes, sizes, cliques), Config(components=20, steps=15)
    fitted = fit(counts, None, config, seed=0, seen=told.append, settings=often)
    assert_sound(fitted, sizes)
    assert told[-1].error < told[0].error
    labelled = {"y": 2, **sizes}
    codes = {"y": codes["c0"] % 2, **codes}
    triples = tuple(("y", *pair) for pair in combinations([*sizes][:20], 2))  # of half the columns only
    fitted = fit(counted(codes, labelled, (*triples, *cliques)), "y", Config(components=10, steps=2), seed=0)
    assert_sound(fitted, labelled)


OPTIONS: dict[str, dict[str, int]] = {"table": {}, "neural": {"batch": 50, "final_components": 100}}


@pytest.mark.parametrize("backbone", OPTIONS)
def test_the_same_seed_gives_the_same_bits(backbone: str) -> None:
    config = Config(components=30, steps=30, backbone=backbone, backbone_options=OPTIONS[backbone])
    first, again, other = (fit(counted(CODES, SIZES), "d", config, seed=seed) for seed in (7, 7, 8))
    tables = [(found.mixture.w, *found.mixture.P) for found in (first, again, other)]
    assert all(torch.equal(p, q) for p, q in zip(tables[0], tables[1], strict=True))
    assert any(not torch.equal(p, q) for p, q in zip(tables[0], tables[2], strict=True))
    assert first.error == again.error


def test_threads_are_as_before_afterwards() -> None:
    before = torch.get_num_threads()
    fit(counted(CODES, SIZES), None, Config(components=5, steps=2, threads=before + 1), seed=0)
    assert torch.get_num_threads() == before


# --- the schedule


@settings(max_examples=40)
@given(st.integers(1, 3_000), st.integers(1, 50), st.integers(0, 2**32 - 1))
def test_a_schedule_warms_up_ends_near_zero_and_keeps_to_its_steps(steps: int, warm_up: int, seed: int) -> None:
    errors = np.random.default_rng(seed).random(steps)
    schedule = Schedule(steps, FitSettings(warm_up_steps=warm_up))
    factors = []
    while schedule.has_steps_left:
        factors.append(schedule.factor)
        schedule.advance(torch.tensor(errors[schedule.step]))
    assert schedule.step == schedule.steps == len(factors) <= steps
    assert all(0 < factor <= 1 for factor in factors)
    assert all(factor <= (step + 1) / warm_up + 1e-12 for step, factor in enumerate(factors))
    if steps > 2 * max(warm_up, 20):
        assert factors[-1] < 0.1
        assert max(factors) > 0.9


def run(schedule: Schedule, errors: NDArray[np.float64]) -> int:
    while schedule.has_steps_left:
        schedule.advance(torch.tensor(errors[schedule.step]))
    return schedule.step


def test_it_stops_early_when_the_error_no_longer_falls() -> None:
    assert run(Schedule(20_000), np.full(20_000, 0.3)) < 2_000
    assert run(Schedule(20_000, FitSettings(patience_steps=100)), np.full(20_000, 0.3)) < 400
    assert run(Schedule(2_000), np.geomspace(1.0, 1e-6, 2_000)) == 2_000


def test_the_error_told_is_an_average_of_the_last_steps() -> None:
    schedule = Schedule(50)
    told = [schedule.advance(torch.tensor(error)) for error in np.linspace(1.0, 0.5, 50)]
    assert 0.5 < told[-1] < 0.7


def test_every_column_of_a_wide_model_is_distributed_as_in_the_rows() -> None:
    sizes = {f"c{i}": 2 + i % 19 for i in range(60)}
    codes = rows_of_a_mixture(sizes, 2_000, seed=1)
    cliques = (*((name,) for name in sizes), *list(combinations(sizes, 2))[::3])
    config = Config(steps=30, components=20, threads=1)
    fitted = fit(counted(codes, sizes, cliques), None, config, seed=0)
    assert sum(sizes.values()) > 512  # so a step compares some columns only
    assert_sound(fitted, sizes)
    assert max(distance(fitted, codes, sizes, (name,)) for name in sizes) < 0.002

"""Measures of classifiers as terms of fine-tuning: their values, their gradients, and that training lowers them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from cuts.config import Config
from cuts.count.marginals import Marginals
from cuts.data.codec import Codes
from cuts.effects.trained import Reference, Surrogate, effect_term, find_reference, measured
from cuts.lang.spec import MeasureOf, ModelAim, ModelGoal, Origin
from cuts.model.finetune import FinetuneSettings, finetune
from cuts.model.fit import fit
from cuts.model.mixture import Mixture
from cuts.model.shape import Refit
from cuts.text.source import Span

SIZES = {"sex": 2, "job": 3, "paid": 2}
PARITY = MeasureOf("DEMOGRAPHIC_PARITY", "paid", ("sex", "job"), ("sex",))
ORIGIN = Origin(1, 1, Span(0, 1), Span(0, 1), "", "")
CONFIG = Config(components=20, steps=150, slices=0, threads=1)


def biased_rows(rows: int = 3000) -> Codes:
    rng = np.random.default_rng(3)
    sex = rng.integers(0, 2, rows)
    job = (rng.random(rows) < 0.3 + 0.3 * sex).astype(np.int64) + (rng.random(rows) < 0.2)
    paid = (rng.random(rows) < 0.1 + 0.5 * sex + 0.15 * job).astype(np.int64)
    return {"sex": sex.astype(np.int64), "job": job.astype(np.int64), "paid": paid}


@pytest.fixture(scope="module")
def setting() -> tuple[Codes, Mixture, Refit]:
    codes = biased_rows()
    cube = np.zeros(tuple(SIZES.values()), dtype=np.int64)
    np.add.at(cube, tuple(codes[name] for name in SIZES), 1)
    counts = Marginals(SIZES, {tuple(SIZES): cube}, len(codes["sex"]), "codec")
    again = Refit(counts, "paid", CONFIG, 0)
    return codes, fit(counts, "paid", CONFIG, seed=0).mixture, again


def reference(codes: Codes, measure: MeasureOf = PARITY) -> Reference:
    return find_reference(codes, measure, SIZES, 1)


def value(mix: Mixture, codes: Codes, way: Surrogate, measure: MeasureOf = PARITY) -> float:
    found = measured(mix, measure, reference(codes, measure), way, torch.Generator().manual_seed(0))
    return float(found.detach())


@pytest.mark.parametrize("way", ["ridge", "unrolled"])
def test_a_classifier_of_biased_rows_is_biased(setting: tuple[Codes, Mixture, Refit], way: Surrogate) -> None:
    codes, mix, _ = setting
    single = Mixture(mix.columns, mix.w.float(), tuple(p.float() for p in mix.P))
    assert value(single, codes, way) > 0.2


def test_a_learner_that_does_not_learn_treats_all_alike(setting: tuple[Codes, Mixture, Refit]) -> None:
    codes, mix, _ = setting
    single = Mixture(mix.columns, mix.w.float(), tuple(p.float() for p in mix.P))
    lazy = replace(PARITY, learner=(("lr", 0.0),))
    keen = replace(PARITY, learner=(("lr", 0.5), ("n_epochs", 20.0), ("batch_size", 128.0)))
    assert value(single, codes, "unrolled", lazy) == pytest.approx(0.0, abs=1e-6)
    assert value(single, codes, "unrolled", keen) > value(single, codes, "unrolled")


@pytest.mark.parametrize("way", ["ridge", "unrolled"])
@pytest.mark.parametrize("name", ["DEMOGRAPHIC_PARITY", "EQUALIZED_ODDS", "DOWNSTREAM_CROSS_ENTROPY"])
def test_gradients_are_finite_and_there(setting: tuple[Codes, Mixture, Refit], way: Surrogate, name: str) -> None:
    codes, mix, _ = setting
    tables = tuple(p.float().clone().requires_grad_() for p in mix.P)
    weights = mix.w.float().clone().requires_grad_()
    measure = replace(PARITY, name=name)
    found = measured(
        Mixture(mix.columns, weights, tables), measure, reference(codes), way, torch.Generator().manual_seed(0)
    )
    grads = torch.autograd.grad(found, [weights, *tables], allow_unused=True)
    known = [grad for grad in grads if grad is not None]
    assert all(torch.isfinite(grad).all() for grad in known)
    assert max(float(grad.abs().max()) for grad in known) > 0


@pytest.mark.parametrize("way", ["ridge", "unrolled"])
def test_training_lowers_the_gap(setting: tuple[Codes, Mixture, Refit], way: Surrogate) -> None:
    codes, mix, again = setting
    aim = ModelAim("MINIMIZE", PARITY, ORIGIN, 0.05)
    before = value(mix, codes, "ridge")
    found = finetune(
        mix, [effect_term(aim, reference(codes), way, seed=0)], again, settings=FinetuneSettings(max_steps=60)
    )
    assert value(found.mixture, codes, "ridge") < before / 2


def test_a_bound_that_holds_pulls_at_nothing(setting: tuple[Codes, Mixture, Refit]) -> None:
    codes, mix, _ = setting
    goal = ModelGoal(PARITY, "<=", 2.5, 0.0, ORIGIN)
    assert float(effect_term(goal, reference(codes), "ridge", seed=0).violation(mix)) == 0.0


def test_a_stated_weight_is_that_of_the_paper(setting: tuple[Codes, Mixture, Refit]) -> None:
    codes, mix, _ = setting
    term = effect_term(ModelAim("MINIMIZE", PARITY, ORIGIN, 0.05, weight=0.3), reference(codes), "ridge", seed=0)
    assert term.weight == 0.3
    assert float(term.paper(mix)) == pytest.approx(value(mix, codes, "ridge") / 2)  # half, as the paper averages

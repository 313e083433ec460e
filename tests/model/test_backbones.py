"""What every backbone must do, those added by others included; new ones in the registry are tested by being there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import pytest
import torch
from msgspec import Meta

from cuts.config import Config
from cuts.count.marginals import Marginals
from cuts.model import backbone as registry
from cuts.model.backbone import Backbone, Start, backbone, backbones, find_backbone, make_backbone
from cuts.model.fit import fit
from cuts.model.mixture import Mixture, marginal
from cuts.text.diagnostic import CutsError

ONE_WAY = {
    "a": torch.tensor([0.5, 0.3, 0.2]),
    "b": torch.tensor([1.0]),
    "c": torch.tensor([0.0, 0.9, 0.1, 0.0]),  # two bins without rows
}
START = Start(ONE_WAY, 6, 0.0, 3, "cpu", Config())
QUICK = {
    "neural": {"batch": 64, "final_components": 200},
    "generator": {"batch": 512, "final_components": 200},
}  # options by backbone


def config_of(name: str, **changes: Any) -> Config:
    return Config(backbone=name, backbone_options=QUICK.get(name, {}), **changes)


def made(name: str, **changes: Any) -> Backbone:
    return make_backbone(replace(START, config=config_of(name), **changes))


@pytest.fixture(params=sorted(backbones()))
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def assert_on_the_simplex(mix: Mixture, atol: float) -> None:
    assert mix.columns == tuple(ONE_WAY)
    assert [p.shape[1] for p in mix.P] == [len(p) for p in ONE_WAY.values()]
    for table in (mix.w[None], *mix.P):
        assert torch.isfinite(table).all()
        assert (table >= 0).all()
        torch.testing.assert_close(table.sum(1), torch.ones_like(table[:, 0]), atol=atol, rtol=0)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_mixtures_are_distributions(name: str, smoothing: float) -> None:
    thing = made(name, smoothing=smoothing)
    assert_on_the_simplex(thing.mixture(), 1e-5)
    settled = thing.settle()
    assert_on_the_simplex(settled, 1e-12)
    for table in (settled.w, *settled.P):
        assert table.dtype == torch.float64
        assert table.device.type == "cpu"
        assert not table.requires_grad


def test_gradients_reach_all_parameters(name: str) -> None:
    torch.manual_seed(0)
    thing = made(name)
    assert thing.learning_rate > 0
    mix = thing.mixture()
    joint = marginal(mix, ("a", "c"))
    (joint * torch.randn(joint.shape)).sum().backward()  # type: ignore[no-untyped-call]
    for parameter in thing.parameters():
        if parameter.shape[-1] == 1:  # the column of one bin, which nothing can change
            continue
        assert parameter.grad is not None
        assert torch.isfinite(parameter.grad).all()
        assert parameter.ndim == 1 or (parameter.grad != 0).any()
    assert sum(float(p.grad.abs().sum()) for p in thing.parameters() if p.grad is not None) > 0


def test_the_same_seed_gives_the_same_and_another_seed_another(name: str) -> None:
    first, again, other = (made(name, seed=seed) for seed in (3, 3, 4))
    for make in ("mixture", "settle"):
        one, two, three = (getattr(each, make)() for each in (first, again, other))
        assert all(torch.equal(p, q) for p, q in zip(one.P, two.P, strict=True))
        assert any(not torch.equal(p, q) for p, q in zip(one.P, three.P, strict=True))


def test_random_numbers_of_others_are_left_alone(name: str) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    thing = made(name)
    thing.mixture()
    thing.settle()
    assert torch.equal(torch.rand(3), expected)


def test_every_component_keeps_its_share_of_the_population(name: str) -> None:
    settled = made(name, smoothing=0.4).settle()
    for column, share in ONE_WAY.items():
        assert (settled[column] >= 0.4 * share.double() - 1e-6).all()


def test_every_one_of_them_can_be_fitted(name: str) -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(1, 50, (3, 2, 4))
    counts = Marginals({"a": 3, "b": 2, "c": 4}, {("a", "b", "c"): table}, int(table.sum()), "")
    errors: list[float] = []
    config = config_of(name, steps=60, components=20)
    fitted = fit(counts, "b", config, seed=1, seen=lambda progress: errors.append(progress.error))
    assert 0 <= errors[-1] <= errors[0]
    assert 0 < fitted.steps <= 60
    found = marginal(fitted.mixture, ("a", "b", "c")).numpy()
    assert 0.5 * np.abs(found - table / table.sum()).sum() < 0.3


# --- the registry


def test_an_unknown_backbone_is_told_with_the_known_ones() -> None:
    with pytest.raises(CutsError) as caught:
        made("transformer")
    (found,) = caught.value.diagnostics
    assert (found.code, found.exit_code) == ("bad-config", 2)
    assert "transformer" in found.title
    assert found.help is not None
    assert all(f'"{each}"' in found.help for each in backbones())


def test_a_name_can_be_taken_once() -> None:
    with pytest.raises(ValueError, match=r"table of .* is taken by cuts\.model\.backbones\.table"):
        backbone("table")(backbones()["neural"].make)


@dataclass(frozen=True, slots=True)
class FlatOptions:
    size: Annotated[int, Meta(ge=1, description="a whole number from 1")] = 3
    shade: float = 0.5
    name: str = "flat"
    loud: bool = False


class Flat:
    """One component for each value of the first column, nothing else."""

    learning_rate = 0.1

    def __init__(self, start: Start) -> None:
        self.columns = tuple(start.one_way)
        self._logits = [torch.zeros(3, len(p), requires_grad=True) for p in start.one_way.values()]

    def parameters(self) -> list[torch.Tensor]:
        return list(self._logits)

    def mixture(self) -> Mixture:
        hints = [torch.eye(3)[:, : each.shape[1]] if i == 0 else 0.0 for i, each in enumerate(self._logits)]
        P = tuple(torch.softmax(each + hint, 1) for each, hint in zip(self._logits, hints, strict=True))
        return Mixture(self.columns, torch.full((3,), 1 / 3), P)

    def settle(self) -> Mixture:
        with torch.no_grad():
            found = self.mixture()
        P = tuple(p.double() / p.double().sum(1, keepdim=True) for p in found.P)
        return Mixture(self.columns, torch.full((3,), 1 / 3, dtype=torch.float64), P)


@pytest.fixture
def flat() -> Iterator[str]:
    backbone("flat", options=FlatOptions)(Flat)
    yield "flat"
    del registry._REGISTRY["flat"]


def test_a_further_backbone_is_used_by_name(flat: str) -> None:
    assert flat in backbones()
    table = np.array([[[40, 1], [1, 1]], [[1, 1], [40, 1]], [[1, 1], [1, 40]]])
    counts = Marginals({"a": 3, "b": 2, "c": 2}, {("a", "b", "c"): table}, int(table.sum()), "")
    fitted = fit(counts, "a", Config(backbone=flat, steps=150), seed=0)
    assert fitted.mixture.components == 3
    found = marginal(fitted.mixture, ("a", "b", "c")).numpy()
    assert 0.5 * np.abs(found - table / table.sum()).sum() < 0.2


# --- options


@pytest.mark.parametrize(
    ("options", "title", "help"),
    [
        ({"sice": 3}, "the backbone `flat` has no option `sice`", "the options of `flat` are `size`, `shade`"),
        ({"size": 0}, "the setting `size` cannot be 0", "`size` must be a whole number from 1"),
        ({"size": True}, "the setting `size` cannot be True", "`size` must be a whole number from 1"),
        ({"shade": "dark"}, "the setting `shade` cannot be 'dark'", "`shade` must be of the type `float`"),
        ({"loud": 1}, "the setting `loud` cannot be 1", "`loud` must be true or false"),
    ],
)
def test_an_option_it_cannot_have_is_a_clear_error(flat: str, options: Any, title: str, help: str) -> None:
    with pytest.raises(CutsError) as caught:
        find_backbone(Config(backbone=flat, backbone_options=options))
    (problem,) = caught.value.diagnostics
    assert (problem.code, problem.exit_code, problem.title) == ("bad-config", 2, title)
    assert (problem.help or "").startswith(help)


def test_all_wrong_options_are_reported_at_once(flat: str) -> None:
    with pytest.raises(CutsError) as caught:
        find_backbone(Config(backbone=flat, backbone_options={"sice": 3, "size": 0, "shade": 1}))
    assert [problem.title.split("`")[1] for problem in caught.value.diagnostics] == ["flat", "size"]
    with pytest.raises(CutsError) as caught:
        find_backbone(Config(backbone="table", backbone_options={"batch": 3}))
    assert [problem.help for problem in caught.value.diagnostics] == ["it has no options"]


def test_options_are_read_into_their_dataclass(flat: str) -> None:
    config = Config(backbone=flat, backbone_options={"size": 5, "shade": 1})
    assert find_backbone(config).name == flat
    assert registry.read_options(config, FlatOptions) == FlatOptions(size=5, shade=1.0)


def test_a_backbone_declares_whether_threads_may_share_it(flat: str) -> None:
    assert {name for name, kind in backbones().items() if kind.thread_safe} == {"table"}


# --- the paper's generator


def test_with_gumbel_each_component_is_one_row_in_training() -> None:
    options = {"gumbel": True, "batch": 64}
    thing = make_backbone(replace(START, config=Config(backbone="neural", backbone_options=options)))
    mix = thing.mixture()
    assert mix.components == 64
    for table in mix.P:
        torch.testing.assert_close(table.detach().max(1).values, torch.ones(64), atol=1e-5, rtol=0)
        torch.testing.assert_close(table.detach().sum(1), torch.ones(64), atol=1e-5, rtol=0)
        assert table.requires_grad
    assert (thing.settle()["a"].max(1).values < 1).any()  # the finished mixture is soft again


def test_hard_rows_follow_the_soft_ones() -> None:
    from cuts.model.backbones.neural import _hard

    p = torch.tensor([0.5, 0.0, 0.2, 0.3])
    drawn = _hard(p.repeat(20_000, 1), torch.Generator().manual_seed(0)).mean(0)
    torch.testing.assert_close(drawn, p, atol=0.02, rtol=0)

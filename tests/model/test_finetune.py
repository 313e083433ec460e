"""Training towards goals: the weights find themselves, the goals are met from counts alone, what is ruled out stays."""

from __future__ import annotations

from functools import cache
from itertools import combinations, pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cuts.config import Config
from cuts.count.marginals import Clique, Marginals
from cuts.data.codec import Codes, build_codec
from cuts.data.schema import Category, Integer, Schema
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import TableGoal
from cuts.lang.targets import AllTargets, AnyTarget, Targets, all_targets, targets_of, violation
from cuts.model.automatic_weights import WeightController, WeightControllerSettings
from cuts.model.cells import Statistics
from cuts.model.finetune import Finetuned, finetune, want_term
from cuts.model.fit import fit
from cuts.model.mixture import Mixture, marginal
from cuts.model.own_counts import OWN_ROWS, own_marginals
from cuts.model.shape import Refit

SCHEMA = Schema(
    "t",
    (
        Integer("n", 0, 9, tuple(map(float, range(1, 10)))),
        Integer("m", 0, 4, (1.0, 2.0, 3.0, 4.0), missing=True),
        Category("c", ("u", "v", "w")),
        Category("y", ("no", "yes")),
    ),
)
CODEC = build_codec(SCHEMA, {})
SIZES = {bins.column.name: bins.size for bins in CODEC.columns}
CONFIG = Config(components=25, steps=120)
ROWS = 2000


# --- the controller


@given(st.lists(st.floats(0.01, 50), min_size=1, max_size=4), st.integers(2, 30))
def test_weights_grow_while_a_goal_is_violated(violations: list[float], steps: int) -> None:
    controller = WeightController(len(violations))
    seen = [controller.weigh(violations) for _ in range(steps)]
    for before, after in pairwise(seen):
        assert all(later > sooner > 0 for sooner, later in zip(before, after, strict=True))


@given(st.floats(0.1, 50), st.integers(1, 20), st.integers(1, 100), st.floats(0.5, 0.99))
def test_weights_fade_while_a_goal_is_met(violation: float, violated: int, met: int, decay: float) -> None:
    controller = WeightController(1, WeightControllerSettings(decay=decay))
    for _ in range(violated):
        (reached,) = controller.weigh([violation])
    faded = [controller.weigh([0.0])[0] for _ in range(met)]
    assert all(0 < weight < reached for weight in faded)
    assert faded == sorted(faded, reverse=True)
    assert faded[-1] == pytest.approx(faded[0] * decay ** (met - 1))


FAR = 3.0  # tolerances


@given(st.floats(0.1, FAR), st.floats(0.1, FAR))
def test_the_further_away_the_larger_the_weight_up_to_a_limit(one: float, other: float) -> None:
    near, far = sorted([one, other])
    assert WeightController(2).weigh([near, far]) == sorted(WeightController(2).weigh([near, far]))
    limited = WeightControllerSettings(max_violation=FAR)
    assert WeightController(1, limited).weigh([FAR]) == WeightController(1, limited).weigh([100 * FAR])


def test_goals_do_not_touch_each_others_weights() -> None:
    pair, alone = WeightController(2), WeightController(1)
    for step in range(10):
        assert pair.weigh([1.5, float(step % 2)])[0] == alone.weigh([1.5])[0]
    assert WeightController(1).weigh([0.0]) == [0.0]


# --- fine-tuning


def codes() -> Codes:
    rng = np.random.default_rng(3)
    n = rng.integers(0, 10, ROWS)
    m = np.clip(n // 2 + rng.integers(-1, 2, ROWS), 0, 4)
    y = rng.random(ROWS) < 0.2 + 0.05 * n
    return {
        "n": n,
        "m": np.where(rng.random(ROWS) < 0.1, 5, m),
        "c": rng.choice(3, ROWS, p=[0.5, 0.3, 0.2]),
        "y": y.astype(np.int64),
    }


def counted(rows: Codes, cliques: tuple[Clique, ...]) -> Marginals:
    tables: dict[Clique, NDArray[np.int64]] = {}
    for clique in cliques:
        table = np.zeros([SIZES[name] for name in clique], dtype=np.int64)
        np.add.at(table, tuple(rows[name] for name in clique), 1)
        tables[clique] = table
    return Marginals(SIZES, tables, ROWS, "")


@cache
def start() -> tuple[Mixture, Refit]:
    """A mixture fitted to counts, and what fitting again needs: no row is in it."""
    counts = counted(codes(), tuple(combinations(SIZES, 2)))
    return fit(counts, None, CONFIG, seed=0).mixture, Refit(counts, None, CONFIG, 0)


def want_of(body: str) -> Targets:
    (goal,) = bind(parse(f"SYNTHESIZE: t; ENFORCE: {body}; END;"), SCHEMA).commands
    assert isinstance(goal, TableGoal)
    return targets_of(goal.goal, SCHEMA)


def tuned(*bodies: str, weight: float | None = None, mix: Mixture | None = None) -> Finetuned:
    own, again = start()
    stats = Statistics(CODEC, ROWS)
    terms = [want_term(want_of(body), stats, weight) for body in bodies]
    return finetune(mix or own, terms, again)


def is_met(want: Targets, mix: Mixture) -> bool:
    match want:
        case AllTargets(parts):
            return all(is_met(part, mix) for part in parts)
        case AnyTarget(parts):
            return any(is_met(part, mix) for part in parts)
        case _:
            return violation(want, Statistics(CODEC, ROWS).known(want.value, mix)) == 0.0


def value_of(body: str, mix: Mixture) -> float:
    (want,) = all_targets(want_of(body))
    return Statistics(CODEC, ROWS).known(want.value, mix)


def assert_sound(mix: Mixture) -> None:
    for table in (mix.w[None], *mix.P):
        assert bool((table >= 0).all())
        torch.testing.assert_close(table.sum(1), torch.ones_like(table[:, 0]), atol=1e-9, rtol=0)


@pytest.mark.parametrize(
    "bodies",
    [
        ("MI[n, m] == 0.3",),
        ("CORR[n, m] <= 0.2",),
        ("MEDIAN[n | c == u] - MEDIAN[n | c == v] == 2 WITHIN 1",),
        ("E[n] == 3", "H[m, c] >= 2.2", "P[y == yes | n > 5] == 0.5"),
    ],
)
def test_goals_are_met_from_counts_alone(bodies: tuple[str, ...]) -> None:
    mix, _ = start()
    assert not all(is_met(want_of(body), mix) for body in bodies)
    found = tuned(*bodies)
    assert found.off == (0.0,) * len(bodies)
    assert all(is_met(want_of(body), found.mixture) for body in bodies)
    assert_sound(found.mixture)
    assert found.error < 0.35  # what is not asked for stays near the counts


def test_what_is_met_already_is_fitted_on() -> None:
    mix, _ = start()
    found = tuned("E[n] >= 1")
    assert found.off == (0.0,)
    for name in SIZES:
        torch.testing.assert_close(marginal(found.mixture, (name,)), marginal(mix, (name,)), atol=0.05, rtol=0)


def test_of_two_alternatives_one_is_met() -> None:
    found = tuned("E[n] == 3 OR E[m] == 0.5")
    one, other = is_met(want_of("E[n] == 3"), found.mixture), is_met(want_of("E[m] == 0.5"), found.mixture)
    assert one != other
    assert found.off == (0.0,)


def test_goals_that_exclude_each_other_end_as_a_sound_mixture() -> None:
    found = tuned("E[n] == 1", "E[n] == 8")
    assert_sound(found.mixture)
    assert sum(found.off) > 0
    assert np.isfinite(found.off).all()


def test_an_undefined_number_has_no_direction() -> None:
    mix, _ = start()
    P = list(mix.P)
    P[2] = P[2] * torch.tensor([0.0, 1.0, 1.0])
    P[2] = P[2] / P[2].sum(1, keepdim=True)
    found = tuned("E[n | c == u] == 2", "E[n] == 3", mix=Mixture(mix.columns, mix.w, tuple(P)))
    assert_sound(found.mixture)
    assert is_met(want_of("E[n] == 3"), found.mixture)
    assert found.off == (1.0, 0.0)


def test_a_larger_stated_weight_comes_nearer() -> None:
    before = abs(value_of("E[n] == 2", start()[0]) - 2)
    away = [abs(value_of("E[n] == 2", tuned("E[n] == 2", weight=w).mixture) - 2) for w in (1e-6, 1e-3, 1e-1)]
    assert before > away[0] > away[1] > away[2]
    assert away[2] < 0.05 < 0.5 < away[0]


def test_the_same_seed_gives_the_same_mixture() -> None:
    one, other = tuned("E[n] == 3"), tuned("E[n] == 3")
    assert all(bool((a == b).all()) for a, b in zip(one.mixture.P, other.mixture.P, strict=True))


def test_what_is_ruled_out_stays_ruled_out() -> None:
    mix, _ = start()
    allowed = torch.ones_like(mix["n"])
    allowed[::2, 7:] = 0.0  # some components know no large numbers
    table = mix["n"] * allowed
    ruled = Mixture(mix.columns, mix.w, (table / table.sum(1, keepdim=True), *mix.P[1:]))
    found = tuned("E[n] == 6", "MI[n, c] == 0.1", mix=ruled)
    assert bool((found.mixture["n"][allowed == 0] == 0).all())
    assert is_met(want_of("E[n] == 6"), found.mixture)


# --- a model's own marginals


def random_mixture(columns: tuple[str, ...], seed: int = 2, components: int = 4) -> Mixture:
    rng = np.random.default_rng(seed)
    P = tuple(torch.as_tensor(rng.dirichlet(np.ones(SIZES[name]), components)) for name in columns)
    return Mixture(columns, torch.as_tensor(rng.dirichlet(np.ones(components))), P)


@pytest.mark.parametrize("columns", [("n",), ("n", "c"), ("n", "m", "c"), ("n", "m", "c", "y"), ("y", "n", "m")])
@pytest.mark.parametrize("label", [None, "y", "c"])
def test_the_own_marginals_are_those_of_the_model(columns: tuple[str, ...], label: str | None) -> None:
    if label is not None and label not in columns:
        label = None
    mix = random_mixture(columns)
    counts = Marginals({name: SIZES[name] for name in columns}, {}, ROWS, "")
    found = own_marginals(mix, counts, label)
    width = min(len(columns), 2 if label is None else 3)
    expected = [clique for clique in combinations(columns, width) if label is None or label in clique]
    assert set(found.tables) == set(expected)
    for clique, table in found.tables.items():
        assert table.sum() == OWN_ROWS == found.rows
        np.testing.assert_allclose(table / OWN_ROWS, marginal(mix, clique).numpy(), atol=1e-8)


def test_training_on_a_models_own_marginals_leaves_it_where_it_is() -> None:
    mix, again = start()
    own = own_marginals(mix, again.marginals, None)
    found = finetune(mix, [], Refit(own, None, CONFIG, 0))
    assert found.error < 0.02
    for clique in combinations(SIZES, 2):
        torch.testing.assert_close(marginal(found.mixture, clique), marginal(mix, clique), atol=0.01, rtol=0)

"""The classifier in closed form is ridge regression on the rows; utility is what it tells of reference rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.linear_model import Ridge as Known

from cuts.config import Config
from cuts.count.marginals import Marginals
from cuts.data.codec import Codes
from cuts.model.budget_utility import Reference, accuracy, find_utility
from cuts.model.mixture import Mixture
from cuts.model.shape import Refit
from cuts.model.surrogate import RIDGE_PENALTY, fit_ridge
from mixtures import row_mixture

SIZES = {"a": 4, "b": 3, "y": 3, "c": 2}
FEATURES = ["a", "b", "c"]
ROWS = 300


def rows(seed: int = 0, count: int = ROWS) -> Codes:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 4, count), rng.integers(0, 3, count)
    y = np.where(rng.random(count) < 0.7, (a + b) % 3, rng.integers(0, 3, count))
    return {"a": a, "b": b, "y": y, "c": ((a > 1) ^ (rng.random(count) < 0.2)).astype(np.int64)}


def one_hot(codes: Codes, names: list[str]) -> NDArray[np.float64]:
    return np.concatenate([np.eye(SIZES[name])[codes[name]] for name in names], 1)


def random_mixture(seed: int = 1, components: int = 5) -> Mixture:
    rng = np.random.default_rng(seed)
    P = tuple(torch.as_tensor(rng.dirichlet(np.ones(size), components)) for size in SIZES.values())
    return Mixture(tuple(SIZES), torch.as_tensor(rng.dirichlet(np.ones(components))), P)


@pytest.mark.parametrize("penalty", [RIDGE_PENALTY, 1e-2, 1.0])
@pytest.mark.parametrize("features", [["a"], ["c", "a"], FEATURES])
def test_on_rows_it_is_ridge_regression_of_the_target_on_all_bins(penalty: float, features: list[str]) -> None:
    codes = rows()
    found = fit_ridge(row_mixture(codes, SIZES), "y", features, penalty=penalty)
    X, Y = one_hot(codes, features), one_hot(codes, ["y"])
    known = Known(alpha=penalty * ROWS, fit_intercept=False, solver="cholesky").fit(X, Y)
    np.testing.assert_allclose(found.coefficients.numpy(), known.coef_.T, atol=1e-9)
    np.testing.assert_allclose(found.scores(codes).numpy(), known.predict(X), atol=1e-9)
    slope = X.T @ (X @ found.coefficients.numpy() - Y) / ROWS + penalty * found.coefficients.numpy()
    np.testing.assert_allclose(slope, 0.0, atol=1e-12)


def test_of_a_mixture_it_is_that_of_infinitely_many_of_its_rows() -> None:
    mix = random_mixture()
    cells = np.indices(tuple(SIZES.values())).reshape(len(SIZES), -1)
    codes = {name: cells[place] for place, name in enumerate(SIZES)}
    tables = [mix[name].numpy()[:, codes[name]] for name in SIZES]
    weight = mix.w.numpy() @ np.prod(tables, axis=0)
    X, Y = one_hot(codes, FEATURES), one_hot(codes, ["y"])
    known = Known(alpha=0.01, fit_intercept=False, solver="cholesky").fit(X, Y, sample_weight=weight)
    found = fit_ridge(mix, "y", FEATURES, penalty=0.01)
    np.testing.assert_allclose(found.coefficients.numpy(), known.coef_.T, atol=1e-9)


def test_the_order_of_features_does_not_matter() -> None:
    mix, codes = random_mixture(), rows()
    one, other = (fit_ridge(mix, "y", names).scores(codes) for names in (FEATURES, FEATURES[::-1]))
    torch.testing.assert_close(one, other, atol=1e-9, rtol=0)


def test_scores_of_all_values_of_the_target_sum_to_about_one() -> None:
    found = fit_ridge(random_mixture(), "y", FEATURES, penalty=1e-8).scores(rows())
    torch.testing.assert_close(found.sum(1), torch.ones(ROWS, dtype=torch.float64), atol=1e-5, rtol=0)


def test_gradients_flow_through_it_to_the_model() -> None:
    mix, codes = random_mixture(components=2), rows(count=20)

    def score(w: torch.Tensor, *P: torch.Tensor) -> torch.Tensor:
        made = Mixture(mix.columns, torch.softmax(w, 0), tuple(torch.softmax(p, 1) for p in P))
        return (fit_ridge(made, "y", FEATURES, penalty=0.01).scores(codes) ** 2).sum()

    inputs = tuple(each.log().clone().requires_grad_() for each in (mix.w, *mix.P))
    found = torch.autograd.grad(score(*inputs), inputs)
    assert all(bool(torch.isfinite(each).all()) for each in found)
    assert all(float(each.abs().max()) > 0 for each in found)
    assert torch.autograd.gradcheck(score, inputs, atol=1e-5)


def test_gradients_are_finite_where_a_bin_has_no_rows() -> None:
    codes = {**rows(), "a": np.minimum(rows()["a"], 2)}  # nobody has the last value
    mix = row_mixture(codes, SIZES)
    P = tuple(p.requires_grad_() for p in mix.P)
    fit_ridge(Mixture(mix.columns, mix.w, P), "y", FEATURES).scores(codes).sum().backward()  # type: ignore[no-untyped-call]
    assert all(p.grad is not None and bool(torch.isfinite(p.grad).all()) for p in P)


# --- utility


def test_accuracy_is_the_share_of_reference_rows_it_tells() -> None:
    codes = rows()
    mix = row_mixture(codes, SIZES)
    found = accuracy(mix, Reference(codes, "y"))
    X, Y = one_hot(codes, FEATURES), codes["y"]
    known = Known(alpha=1e-3 * ROWS, fit_intercept=False).fit(X, one_hot(codes, ["y"]))
    assert found == pytest.approx((known.predict(X).argmax(1) == Y).mean())
    assert found > 1.2 * np.bincount(Y).max() / ROWS
    shuffled = row_mixture({**codes, "y": np.random.default_rng(0).permutation(Y)}, SIZES)
    assert accuracy(shuffled, Reference(codes, "y")) < found


def test_without_a_label_utility_is_how_near_the_pairs_are_to_the_counts() -> None:
    codes = rows()
    tables = {}
    for pair in combinations(SIZES, 2):  # of a pair that was not counted, independence would be expected
        tables[pair] = np.zeros([SIZES[name] for name in pair], dtype=np.int64)
        np.add.at(tables[pair], tuple(codes[name] for name in pair), 1)
    again = Refit(Marginals(SIZES, tables, ROWS, ""), None, Config(), 0)
    utility = find_utility(None, again)
    assert utility(row_mixture(codes, SIZES)) == pytest.approx(1.0, abs=1e-6)
    off = random_mixture()
    distances = [
        0.5 * np.abs(np.einsum("k,ki,kj->ij", off.w, *(off[n].numpy() for n in pair)) - table / ROWS).sum()
        for pair, table in tables.items()
    ]
    assert utility(off) == pytest.approx(1.0 - np.mean(distances), abs=1e-6)
    assert find_utility(Reference(codes, "y"), again)(off) == accuracy(off, Reference(codes, "y"))

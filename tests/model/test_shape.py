"""A mixture moved into row rules: which values they leave, and that the rest of the population stays as it was."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest
import torch

from cuts.config import Config
from cuts.count.marginals import Marginals
from cuts.data.binning import fit_codec
from cuts.data.codec import Codec, encode
from cuts.data.infer import infer_schema
from cuts.data.table import Table
from cuts.lang.binder import bind_predicate
from cuts.lang.parser import parse_expression
from cuts.logic.core import find_cuts, grid_on
from cuts.logic.diagram import Diagram, compile_rules, contains
from cuts.model.mixture import Mixture, marginal, probability
from cuts.model.own_counts import OWN_ROWS, own_where
from cuts.model.shape import Refit, connects_columns, possible_bins, repair, restrict
from mixtures import counted, row_mixture

ROWS = 600
CONFIG = Config(steps=60)
SINGLE = ("sex == f", "age >= 30 AND age < 50", "sex == f; kind in {a, b}", "NOT (kind == c OR sex == m)")
CONNECTED = ("sex == f IMPLIES kind == a", "sex == f; kind == c IMPLIES age > 50", "age > 60 OR kind == b")


@cache
def people() -> Table:
    """Rows whose columns depend on each other."""
    rng = np.random.default_rng(4)
    sex = rng.choice(["f", "m"], ROWS, p=[0.3, 0.7])
    age = np.where(sex == "f", rng.integers(18, 50, ROWS), rng.integers(30, 80, ROWS))
    kind = np.where(rng.random(ROWS) < age / 100, "c", rng.choice(["a", "b"], ROWS))
    paid = np.where((kind == "c") ^ (rng.random(ROWS) < 0.2), "yes", "no")
    return Table(pa.table({"sex": sex, "age": age, "kind": kind, "paid": paid, "town": rng.choice(["u", "v"], ROWS)}))


def under(rules: str) -> tuple[Mixture, Marginals, Diagram, Codec]:
    """The rows as a mixture of groups of ten, their counts, the rules compiled, and the bins."""
    schema = infer_schema(people(), "people")
    preds = [bind_predicate(parse_expression(rule, "rule"), schema) for rule in rules.split(";")]
    cuts = find_cuts(preds, schema)
    codec = fit_codec(people(), schema, cuts.columns, cuts.sets)
    codes = encode(people(), codec)
    rows = row_mixture(codes, codec.sizes)
    P = tuple(p.reshape(ROWS // 10, 10, -1).mean(1) for p in rows.P)
    mix = Mixture(rows.columns, torch.full((ROWS // 10,), 10 / ROWS, dtype=torch.float64), P)
    return mix, counted(codes, codec.sizes), compile_rules(preds, grid_on(codec, cuts)), codec


def columns_of(rules: Diagram) -> list[str]:
    return [str(name) for name in rules.variables]


@pytest.mark.parametrize("rules", [*SINGLE, *CONNECTED])
def test_the_possible_bins_are_those_of_the_rows_that_satisfy_the_rules(rules: str) -> None:
    _, _, diagram, codec = under(rules)
    names = columns_of(diagram)
    rows = np.array(list(product(*(range(codec.sizes[name]) for name in names))))
    inside = rows[contains(diagram, {name: rows[:, i] for i, name in enumerate(names)})]
    possible = possible_bins(diagram)
    for i, name in enumerate(names):
        assert np.flatnonzero(possible[name]).tolist() == np.unique(inside[:, i]).tolist()
    together = np.prod([bins.sum() for bins in possible.values()])
    assert connects_columns(diagram, possible) == (len(inside) < together) == (rules in CONNECTED)


@pytest.mark.parametrize("rules", SINGLE)
def test_rules_about_single_columns_leave_all_other_columns_as_they_were(rules: str) -> None:
    mix, counts, diagram, _ = under(rules)
    fitted = repair(mix, diagram, Refit(counts, None, CONFIG, 0))
    others = tuple(name for name in mix.columns if name not in columns_of(diagram))
    assert float(probability(fitted.mixture, diagram)) == pytest.approx(1.0, abs=1e-12)
    torch.testing.assert_close(marginal(fitted.mixture, others), marginal(mix, others))
    assert fitted.steps == 0
    assert 0.0 < fitted.error < 1.0


@pytest.mark.parametrize("rules", CONNECTED)
def test_rules_that_connect_columns_hold_in_the_refitted_mixture(rules: str) -> None:
    mix, counts, diagram, _ = under(rules)
    fitted = repair(mix, diagram, Refit(counts, None, CONFIG, 0))
    assert float(probability(fitted.mixture, diagram)) == pytest.approx(1.0, abs=1e-9)
    assert fitted.steps > 0
    others = [name for name in mix.columns if name not in columns_of(diagram)]
    for pair in combinations(others, 2):
        real = torch.as_tensor(counts.table(pair) / ROWS)
        before, after = (float((marginal(each, pair) - real).abs().sum() / 2) for each in (mix, fitted.mixture))
        assert after < before + 0.02


def test_a_component_without_a_possible_value_gets_one() -> None:
    mix, _, diagram, codec = under("sex == f")
    men = Mixture(mix.columns, mix.w, tuple(p.clone() for p in mix.P))
    at = encode(people(), codec)["sex"][people().column("sex").to_pylist().index("m")]
    men["sex"][:] = torch.nn.functional.one_hot(torch.as_tensor(at), codec.sizes["sex"]).double()
    found = restrict(men, possible_bins(diagram))
    assert float(probability(found, diagram)) == pytest.approx(1.0)


def test_own_counts_stand_where_a_table_has_one_of_the_columns() -> None:
    mix, counts, _, _ = under("sex == f")
    found = own_where(["sex"], mix, counts)
    for clique, table in found.tables.items():
        expected = marginal(mix, clique).numpy() if "sex" in clique else counts.tables[clique] / ROWS
        np.testing.assert_allclose(table / OWN_ROWS, expected, atol=1e-7)

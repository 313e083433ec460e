"""Whether a fit failed: sampling noise against simulated samples, and mixtures that are known to be right or wrong."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch

from cuts.count.marginals import Marginals
from cuts.data.table import IntArray
from cuts.model.facts import Facts
from cuts.model.fit_quality import choose_tables, compare, expected_noise, failed_fit, with_quality
from cuts.model.mixture import Mixture
from mixtures import row_mixture

NO_FACTS = Facts(0, 1.0, 20, 0.0, 0, "1")
Codes = dict[str, IntArray]


def counted(codes: Codes, sizes: dict[str, int], ways: int) -> Marginals:
    """The counts of all sets of so many columns."""
    tables = {}
    for clique in combinations(sizes, ways):
        table = np.zeros([sizes[name] for name in clique], dtype=np.int64)
        np.add.at(table, tuple(codes[name] for name in clique), 1)
        tables[clique] = table
    return Marginals(sizes, tables, len(codes[next(iter(sizes))]), "codec")


def independent(counts: Marginals) -> Mixture:
    """One component with every column's own distribution."""
    P = tuple(torch.as_tensor(counts.table((name,)) / counts.rows)[None] for name in counts.sizes)
    return Mixture(tuple(counts.sizes), torch.ones(1, dtype=torch.float64), P)


def shifted(mix: Mixture, name: str) -> Mixture:
    """The mixture with the bins of one column moved by one."""
    P = tuple(p.roll(1, 1) if column == name else p for column, p in zip(mix.columns, mix.P, strict=True))
    return Mixture(mix.columns, mix.w, P)


def related(rows: int = 2_000) -> tuple[Codes, dict[str, int]]:
    """`a` determines `b`; `c` and `d` are independent of everything."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 8, rows)
    return {"a": a, "b": 7 - a, "c": rng.integers(0, 3, rows), "d": rng.integers(0, 2, rows)}, {
        "a": 8,
        "b": 8,
        "c": 3,
        "d": 2,
    }


@pytest.mark.parametrize("rows", [200, 5_000])
@pytest.mark.parametrize("cells", [2, 30, 150])
def test_the_expected_noise_is_that_of_simulated_samples(rows: int, cells: int) -> None:
    rng = np.random.default_rng(cells)
    counts = rng.multinomial(rows, rng.dirichlet(np.ones(cells)))
    samples = rng.multinomial(rows, counts / rows, 400) / rows
    simulated = np.abs(samples - counts / rows).sum(1).mean() / 2
    assert expected_noise(counts) == pytest.approx(simulated, rel=0.1)


def test_a_table_without_noise_or_rows_has_none() -> None:
    assert expected_noise(np.array([7, 0])) == 0.0
    assert expected_noise(np.zeros(3, dtype=np.int64)) == 0.0


@pytest.mark.parametrize("label", [None, "d"])
def test_the_rows_themselves_have_no_error(label: str | None) -> None:
    codes, sizes = related()
    facts = with_quality(NO_FACTS, row_mixture(codes, sizes), counted(codes, sizes, 3), label)
    assert facts.error == pytest.approx(0, abs=1e-9)
    assert (facts.failed, facts.furthest) == (False, ())


@pytest.mark.parametrize("label", [None, "d"])
def test_error_and_floor_are_means_over_the_same_tables(label: str | None) -> None:
    codes, sizes = related()
    counts = counted(codes, sizes, 3)
    mix = independent(counts)
    facts = with_quality(NO_FACTS, mix, counts, label)
    cliques = [c for c in combinations(sizes, 2 if label is None else 3) if label is None or label in c]
    errors = [compare(mix, counts, clique) for clique in cliques]
    assert facts.error == pytest.approx(np.mean([table.error for table in errors]))
    assert facts.error_floor == pytest.approx(np.mean([table.noise for table in errors]))


def test_a_model_that_misses_a_relation_has_failed_and_its_columns_are_named() -> None:
    codes, sizes = related()
    counts = counted(codes, sizes, 3)
    facts = with_quality(NO_FACTS, independent(counts), counts, None)
    assert facts.failed
    assert {*facts.furthest[:2]} == {"a", "b"}
    warning = failed_fit(facts)
    assert (warning.code, warning.severity) == ("failed-fit", "warning")
    assert "`a`" in warning.title
    assert "`steps`" in (warning.help or "")


def test_a_perfect_model_of_a_sparse_table_has_not_failed() -> None:
    """Nearly every pair of values occurs once, so the counts are far from the distribution they were sampled from."""
    rng = np.random.default_rng(0)
    sizes = {"a": 300, "b": 300, "c": 2}
    codes = {name: rng.integers(0, size, 3_000) for name, size in sizes.items()}
    counts = counted(codes, sizes, 3)
    mix = independent(counts)
    assert compare(mix, counts, ("a", "b")).error > 0.9
    assert not with_quality(NO_FACTS, mix, counts, "c").failed


def test_a_wrong_column_is_found_although_its_tables_are_sparse() -> None:
    rng = np.random.default_rng(0)
    sizes = {"a": 300, "b": 300, "c": 300}
    codes = {name: rng.integers(0, size, 3_000) for name, size in sizes.items()}
    codes["c"] //= 30  # bins 0 to 9 only
    counts = counted(codes, sizes, 2)
    mix = independent(counts)
    assert not with_quality(NO_FACTS, mix, counts, None).failed
    facts = with_quality(NO_FACTS, Mixture(mix.columns, mix.w, (*mix.P[:2], mix.P[2].flip(1))), counts, None)
    assert facts.failed
    assert facts.furthest[0] == "c"


def test_a_large_relative_error_is_no_failure_if_it_is_small() -> None:
    """With many rows there is hardly any noise, and no model is exact."""
    counts = Marginals({"a": 2, "b": 2}, {("a", "b"): np.full((2, 2), 10_000_000)}, 40_000_000, "codec")
    P = tuple(torch.tensor([[0.52, 0.48]], dtype=torch.float64) for _ in "ab")
    facts = with_quality(NO_FACTS, Mixture(("a", "b"), torch.ones(1, dtype=torch.float64), P), counts, None)
    assert facts.error_floor is not None
    assert facts.error > 100 * facts.error_floor
    assert not facts.failed


def test_one_column_alone_is_compared() -> None:
    counts = Marginals({"a": 2}, {("a",): np.array([60, 40])}, 100, "codec")
    mix = independent(counts)
    assert with_quality(NO_FACTS, mix, counts, "a").error == pytest.approx(0)
    assert with_quality(NO_FACTS, shifted(mix, "a"), counts, "a").error == pytest.approx(0.2)


def test_the_tables_are_those_with_the_label_as_far_as_they_are_counted() -> None:
    codes, sizes = related(50)
    triples, pairs = counted(codes, sizes, 3), counted(codes, sizes, 2)
    assert {*choose_tables(triples, "d", seed=0)} == {("a", "b", "d"), ("a", "c", "d"), ("b", "c", "d")}
    assert {*choose_tables(triples, None, seed=0)} == {*combinations(sizes, 2)}
    assert {*choose_tables(pairs, "d", seed=0)} == {*combinations(sizes, 2)}
    assert choose_tables(counted(codes, sizes, 1), "d", seed=0) == (("a",), ("b",), ("c",), ("d",))


def test_of_many_tables_some_are_compared() -> None:
    codes, sizes = related(50)
    pairs = counted(codes, sizes, 2)
    assert len(choose_tables(pairs, None, seed=0, max_tables=4)) == 4
    assert {*choose_tables(pairs, None, seed=0, max_cells=6)} == {("c", "d")}
    assert choose_tables(pairs, None, seed=1, max_tables=4) == choose_tables(pairs, None, seed=1, max_tables=4)

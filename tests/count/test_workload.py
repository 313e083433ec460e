"""Which tables are counted: all triples of a small table, what matters most of a wide one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cuts.count.dependence import Dependence, measure_dependence
from cuts.count.marginals import Clique
from cuts.count.workload import STRONGEST, LeftOut, choose_workload, describe, fits_whole, left_out

Codes = dict[str, NDArray[np.int64]]

many = st.dictionaries(st.sampled_from([f"c{i}" for i in range(12)]), st.integers(1, 30), min_size=1)


def cells(cliques: tuple[Clique, ...], sizes: Mapping[str, int]) -> int:
    return sum(int(np.prod([sizes[name] for name in clique])) for clique in cliques)


def pairs_only(sizes: Mapping[str, int], **strong: float) -> Dependence:
    """A dependence of zero but for some pairs, named `a_b`."""
    named = {tuple(name.split("_")): value for name, value in strong.items()}
    return Dependence(dict.fromkeys(combinations(sizes, 2), 0.0) | named)


@given(many, st.integers(0, 100_000), st.integers(0, 40), st.data())
def test_a_workload_keeps_to_its_budget(
    sizes: dict[str, int], budget: int, max_pairs: int, data: st.DataObject
) -> None:
    label = data.draw(st.none() | st.sampled_from(list(sizes)))
    strengths = data.draw(st.lists(st.floats(0, 2), min_size=66, max_size=66))
    dependence = data.draw(st.sampled_from([None, Dependence(dict(zip(combinations(sizes, 2), strengths)))]))  # noqa: B905
    found = choose_workload(sizes, label, dependence, max_cells=budget, max_pairs=max_pairs, max_triples=60)
    assert len(set(found)) == len(found)
    place = {name: i for i, name in enumerate(sizes)}
    assert all(list(clique) == sorted(clique, key=place.__getitem__) for clique in found)
    assert {name for clique in found for name in clique} == set(sizes)  # each column at least alone
    assert cells(found, sizes) <= max(budget, sum(sizes.values()))
    assert found == choose_workload(sizes, label, dependence, max_cells=budget, max_pairs=max_pairs, max_triples=60)
    if fits_whole(sizes, max_cells=budget, max_triples=60):
        assert found == tuple(combinations(sizes, min(3, len(sizes))))
    else:
        assert sum(len(clique) == 2 for clique in found) <= max_pairs
        assert sum(len(clique) == 3 for clique in found) <= 60


def test_label_triples_come_before_the_others_and_dependent_ones_before_those() -> None:
    sizes = dict.fromkeys("abcdefy", 10)
    dependence = pairs_only(sizes, c_d=2.0, d_e=1.0, a_y=3.0)
    label_triples = 15 * 1_000
    found = choose_workload(sizes, "y", dependence, max_cells=7 * 10 + 21 * 100 + label_triples + 2 * 1_000)
    triples = [clique for clique in found if len(clique) == 3]
    assert all("y" in clique for clique in triples[:15])
    assert triples[15] == ("c", "d", "e")
    assert {"c", "d"} <= set(triples[16])
    first = choose_workload(sizes, "y", dependence, max_cells=7 * 10 + 250)
    assert ("a", "y") in first


def test_label_triples_that_depend_most_come_first_when_not_all_fit() -> None:
    sizes = dict.fromkeys("abcdy", 10)
    found = choose_workload(sizes, "y", pairs_only(sizes, c_d=2.0), max_cells=5 * 10 + 10 * 100 + 1_000)
    assert [clique for clique in found if len(clique) == 3] == [("c", "d", "y")]


def test_hundreds_of_columns_are_chosen_from_in_time() -> None:
    sizes = {f"c{i}": 3 for i in range(300)}
    found = choose_workload(sizes, "c5", pairs_only(sizes), max_cells=1_000_000)
    assert cells(found, sizes) <= 1_000_000
    assert not fits_whole(sizes)
    assert fits_whole({"a": 100, "b": 100, "c": 100})


def test_without_dependence_small_tables_come_first() -> None:
    sizes = dict.fromkeys("abcdef", 10) | dict.fromkeys("xyz", 2)
    found = choose_workload(sizes, None, max_triples=1)
    assert [clique for clique in found if len(clique) == 3] == [("x", "y", "z")]
    assert set(combinations(sizes, 2)) <= set(found)


# --- wide tables


def blocks_of_columns(blocks: int, rows: int, seed: int = 0) -> tuple[Codes, dict[str, int]]:
    """Blocks of four columns that follow one hidden one; the label is the parity of two columns that it hides in."""
    rng = np.random.default_rng(seed)
    codes: Codes = {}
    for block in range(blocks):
        hidden = rng.integers(0, 4, rows)
        for number in range(4):
            codes[f"b{block}c{number}"] = np.where(rng.random(rows) < 0.7, hidden, rng.integers(0, 4, rows))
    one, other = codes["b0c0"] % 2, codes["b1c1"] % 2
    codes["label"] = np.where(rng.random(rows) < 0.9, one ^ other, rng.integers(0, 2, rows))
    return codes, {**dict.fromkeys(codes, 4), "label": 2}


def test_of_a_wide_table_dependent_pairs_and_the_labels_are_counted() -> None:
    codes, sizes = blocks_of_columns(15, 4_000)
    dependence = measure_dependence(codes, sizes, "label")
    assert not fits_whole(sizes)
    found = set(choose_workload(sizes, "label", dependence))
    assert {(name,) for name in sizes} <= found
    assert {(name, "label") for name in sizes if name != "label"} <= found
    within = {(a, b) for a, b in combinations(sizes, 2) if a[:-1] == b[:-1]}
    assert within <= found
    assert {("b3c0", "b3c1", "label"), ("b3c0", "b3c1", "b3c2")} <= found
    pairs = {clique for clique in found if len(clique) == 2 and "label" not in clique}
    forced = STRONGEST * len(sizes)  # of each column's strongest pairs, few depend on each other here
    assert len(pairs - within) <= forced + 0.02 * len(list(combinations(sizes, 2)))


def test_a_label_that_depends_on_two_columns_together_only_keeps_their_triple() -> None:
    codes, sizes = blocks_of_columns(15, 4_000)
    dependence = measure_dependence(codes, sizes, "label")
    assert dependence.is_noise(("b0c0", "label"))
    assert dependence.is_noise(("b0c0", "b1c1"))
    assert not dependence.is_noise(("b0c0", "b1c1", "label"))
    label_triples = [clique for clique in choose_workload(sizes, "label", dependence) if "label" in clique]
    assert ("b0c0", "b1c1", "label") in label_triples


def test_the_strongest_pairs_of_every_column_come_before_more_pairs_of_others() -> None:
    sizes = {f"c{i:02d}": 2 for i in range(60)}
    strong = dict.fromkeys(combinations(list(sizes)[:30], 2), 1.0)
    weak = {("c58", "c59"): 0.01}
    dependence = Dependence(dict.fromkeys(combinations(sizes, 2), 0.0) | strong | weak)
    found = choose_workload(sizes, None, dependence, max_pairs=450)
    assert ("c58", "c59") in found
    assert sum(len(clique) == 2 for clique in found) == 450


def test_what_is_left_out_is_stated() -> None:
    codes, sizes = blocks_of_columns(15, 2_000)
    dependence = measure_dependence(codes, sizes, "label")
    cliques = choose_workload(sizes, "label", dependence, max_triples=100)
    stated = left_out(cliques, sizes, "label", dependence)
    assert stated.pairs == sum(len(clique) == 2 for clique in cliques)
    assert stated.label_triples == sum(len(clique) == 3 and "label" in clique for clique in cliques)
    assert stated.pairs + stated.independent_pairs + stated.weak_pairs == 61 * 60 // 2
    assert stated.label_triples + stated.independent_label_triples + stated.weak_label_triples == 60 * 59 // 2
    assert describe(LeftOut(10, 2, 1, 5, 4, 3)) == (
        "counting 10 of 13 pairs of columns and 5 of 12 triples with the label; left out: 2 independent pairs, "
        "1 weak pairs, 4 triples independent given the label, 3 weak triples with the label"
    )


# --- dependence


def test_dependence_of_many_rows_is_that_of_some(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    codes = {"a": rng.integers(0, 3, 1_001), "b": rng.integers(0, 3, 1_001)}
    sizes = {"a": 3, "b": 3}
    thin = measure_dependence({name: values[::3] for name, values in codes.items()}, sizes)
    monkeypatch.setattr("cuts.count.dependence.MAX_ROWS", 400)
    assert measure_dependence(codes, sizes) == thin


def test_dependence_is_mutual_information() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 5_000)
    codes = {"a": a, "same": a, "half": a // 2, "other": rng.integers(0, 5, 5_000), "one": np.zeros(5_000, dtype=int)}
    sizes = {"a": 4, "same": 4, "half": 2, "other": 5, "one": 1}
    found = measure_dependence(codes, sizes).pairs
    assert found["a", "same"] == pytest.approx(np.log(4), abs=0.01)
    assert found["a", "half"] == pytest.approx(np.log(2), abs=0.01)
    assert found["a", "other"] == pytest.approx(0.0, abs=0.005)
    assert found["a", "one"] == pytest.approx(0.0, abs=1e-9)


def test_dependence_given_the_label_is_that_within_its_values() -> None:
    rng = np.random.default_rng(0)
    label, a = rng.integers(0, 2, 6_000), rng.integers(0, 2, 6_000)
    codes = {"a": a, "b": a ^ label, "c": label, "label": label}
    found = measure_dependence(codes, dict.fromkeys(codes, 2), "label")
    assert found.given_label["a", "b", "label"] == pytest.approx(np.log(2), abs=0.01)
    assert found.pairs["a", "b"] == pytest.approx(0.0, abs=0.002)
    assert found.is_noise(("a", "c", "label"))  # `c` does not vary where the label is known


def test_independent_columns_are_within_their_noise() -> None:
    rng = np.random.default_rng(2)
    codes = {f"c{i}": rng.integers(0, 2 + i % 9, 3_000) for i in range(40)}
    sizes = {f"c{i}": 2 + i % 9 for i in range(40)}
    found = measure_dependence(codes, sizes)
    assert np.mean([not found.is_noise(pair) for pair in found.pairs]) < 0.01

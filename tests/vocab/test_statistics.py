"""One conformance suite for every statistic: order of rows, numpy against torch, gradients, units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from cuts.lang.spec import ColumnValue, InSet
from cuts.lang.spec import Statistic as Bound
from cuts.vocab.interval import Interval
from cuts.vocab.names import canonical, measures, statistics
from cuts.vocab.registry import Measure, Reach, Statistic, add_measure, aggregate, statistic

ENTRIES = list(statistics().values())
RNG = np.random.default_rng(5)
CELLS = 6
P = RNG.dirichlet(np.ones(CELLS))


def inputs(entry: Statistic) -> tuple[NDArray[np.float64], list[NDArray[np.float64]], list[float]]:
    count = max(entry.min_args, 1) if entry.argument != "column" else entry.min_args
    values = [RNG.random(CELLS) * 10 for _ in range(count)]
    if entry.argument == "condition":
        values = [(RNG.random(CELLS) < 0.5) * 1.0 for _ in range(count)]
    if entry.argument == "column":
        values = [RNG.dirichlet(np.ones(3)) for _ in range(count)]
    return P.copy(), values, [0.5] * entry.levels


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_order_of_cells_does_not_matter(entry: Statistic) -> None:
    p, values, levels = inputs(entry)
    order = RNG.permutation(CELLS)
    shuffled = values if entry.argument == "column" else [v[order] for v in values]
    assert float(entry.formula(p, *values, *levels)) == pytest.approx(
        float(entry.formula(p[order], *shuffled, *levels))
    )


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_torch_agrees_and_its_gradient_is_finite(entry: Statistic) -> None:
    p, values, levels = inputs(entry)
    p[0] = 0.0  # an empty cell must not spoil the gradient
    p = p / p.sum()
    tensor = torch.tensor(p, requires_grad=True)
    found = entry.formula(tensor, *(torch.tensor(v) for v in values), *levels)
    assert float(found.detach()) == pytest.approx(float(entry.formula(p, *values, *levels)))
    found.backward()
    assert torch.isfinite(tensor.grad).all()  # type: ignore[arg-type]
    assert tensor.grad.abs().max() > 0  # type: ignore[union-attr]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_value_lies_in_its_reach(entry: Statistic) -> None:
    p, values, levels = inputs(entry)
    if entry.argument == "column":
        joint = np.outer(values[0], values[-1]).ravel() if entry.min_args == 2 else values[0]
        limits = entry.reach(Reach((), tuple(float(len(v)) for v in values)))
        found = float(entry.formula(joint, *values))
    else:
        limits = entry.reach(Reach(tuple(Interval(float(v.min()), float(v.max())) for v in values), ()))
        found = float(entry.formula(p, *values, *levels))
    assert limits.low - 1e-9 <= found <= limits.high + 1e-9


def add_statistic(name: str, unit: Any) -> None:
    statistic(name, noun="mean", unit=unit, sql=aggregate("AVG({0})"), reach=lambda r: r.ranges[0])(lambda p, v: p)


def test_a_taken_name_is_an_error_naming_its_owner() -> None:
    with pytest.raises(ValueError, match=r"cuts\.vocab\.statistics\.mean"):
        add_statistic("E", "value")
    taken = next(iter(measures().values()))
    with pytest.raises(ValueError, match="taken"):
        add_measure(Measure(taken.name, "FAIRNESS", (), (), "lower is fairer", Interval(0, 1), "mine", max, "mine"))


def test_an_entry_nobody_could_use_is_an_error() -> None:
    with pytest.raises(ValueError, match="upper-case word, not 'Midrange'"):
        add_statistic("Midrange", "value")
    with pytest.raises(ValueError, match="has the unit 'metres'; it is one of value, spread, squared"):
        add_statistic("MIDRANGE", "metres")


def test_nobody_changes_the_vocabulary_through_what_is_returned() -> None:
    for entries in (statistics(), measures()):
        with pytest.raises(TypeError):
            entries["E"] = None  # type: ignore[index]


@pytest.mark.parametrize("rows", [13, 49, 1000])
def test_what_is_constant_is_exactly_so(rows: int) -> None:
    import pyarrow as pa

    from cuts.assess.verify import verify
    from cuts.data.schema import Integer, Schema
    from cuts.data.table import Table
    from cuts.lang.binder import bind
    from cuts.lang.parser import parse

    schema = Schema("t", (Integer("x", 0, 1000), Integer("y", 0, 100)))
    table = Table(pa.table({"x": list(range(rows)), "y": [97] * rows}))
    wanted = [
        "E[y] == 97 WITHIN 0",
        "CORR[x, y] <= 0.5",
        "E[y] < 97",
        "E[y] > 97",
        "E[y] != 97",
        "CORR[x, 2 * x - 1] > 1",
    ]
    program = parse("SYNTHESIZE: t; " + " ".join(f"ENFORCE: {w};" for w in wanted) + " END;")
    assert [v.holds for v in verify(bind(program, schema), table)] == [True, False, False, False, False, False]


def test_names_are_found_in_any_case() -> None:
    assert {canonical(name.lower()) for name in statistics()} == set(statistics())


def test_statistics_of_columns_with_missing_values_take_the_present_rows() -> None:
    import pyarrow as pa

    from cuts.data.conform import conform
    from cuts.data.schema import Category, Integer, Schema
    from cuts.data.table import Table
    from cuts.read import exact

    schema = Schema("t", (Integer("n", 0, 9, missing=True), Category("c", ("a", "b"), missing=True)))
    table = conform(Table(pa.table({"n": [1, None, 3, 5], "c": ["a", "b", None, "b"]})), schema)
    assert exact.statistic(Bound("E", (ColumnValue("n"),)), table, schema) == 3.0
    assert exact.statistic(Bound("E", (ColumnValue("n"),), InSet("c", frozenset({"b"}))), table, schema) == 5.0
    assert exact.statistic(Bound("P", (InSet("c", frozenset({"b"})),)), table, schema) == 0.5
    entropy = exact.statistic(Bound("H", (ColumnValue("c"),)), table, schema)
    assert entropy == pytest.approx(-(1 / 3) * np.log(1 / 3) - (2 / 3) * np.log(2 / 3))

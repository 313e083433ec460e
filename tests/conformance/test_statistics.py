"""One conformance suite for every statistic: on rows the model's value is the table's, on bins it is the draw's."""

from __future__ import annotations

from math import isnan

import duckdb
import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cuts.data.binning import fit_codec
from cuts.data.codec import Codec, Codes, build_codec, decode, encode
from cuts.data.conform import conform
from cuts.data.schema import Category, Column, Integer, Real, Schema, Temporal
from cuts.data.table import Table
from cuts.lang.spec import (
    And,
    Apply,
    ColumnValue,
    Const,
    InSet,
    Linear,
    LinearCompare,
    Missing,
    Not,
    Pred,
    Quantity,
    Statistic,
)
from cuts.lang.walks import statistics_of
from cuts.logic.core import find_cuts
from cuts.logic.layout import conditions, lay_out
from cuts.model.cells import Statistics
from cuts.model.mixture import Mixture
from cuts.read import exact, sql
from cuts.vocab.names import statistics
from cuts.vocab.registry import Statistic as Entry
from mixtures import row_mixture
from strategies import predicates, quantities, tables

ENTRIES = list(statistics().values())
by_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)


# --- random statistics of small tables, in which every value has a bin of its own


@st.composite
def small_columns(draw: st.DrawFn, name: str) -> Column:
    missing = draw(st.booleans())
    low, width = draw(st.integers(-3, 3)), draw(st.integers(0, 4))
    match draw(st.sampled_from(["category", "integer", "decimal", "date"])):
        case "category":
            return Category(name, ("x", "y", "z")[: 1 + width % 3], draw(st.booleans()), missing)
        case "integer":
            return Integer(name, low, low + width, tuple(float(low + i) for i in range(1, width + 1)), missing)
        case "decimal":
            edges = tuple((low + i) / 10 for i in range(1, width + 1))
            return Real(name, low / 10, (low + width) / 10, edges, missing, decimals=1)
        case _:
            edges = tuple(float(low + i) for i in range(1, width + 1))
            return Temporal(name, "date", float(low), float(low + width), edges, missing)


@st.composite
def small_schemas(draw: st.DrawFn) -> Schema:
    names = ["a", "b", "c"][: draw(st.integers(1, 3))]
    return Schema("t", tuple(draw(small_columns(name)) for name in names))


@st.composite
def statistics_on(draw: st.DrawFn, schema: Schema, entry: Entry, given: st.SearchStrategy[Pred | None]) -> Statistic:
    """One statistic of some schema's columns."""
    count = draw(st.integers(entry.min_args, entry.max_args or entry.min_args + 1))
    name = st.sampled_from(schema.names)
    column = name.map(ColumnValue)
    number: st.SearchStrategy[Quantity] = st.one_of(
        column,
        st.builds(lambda f, x, y: Apply(f, (x, y)), st.sampled_from("+-*/"), column, column),
        column.map(lambda x: Apply("max", (x, Const(1.0)))),
    )
    of = {"number": number, "column": column, "condition": predicates(schema, 3)}[entry.argument]
    args = tuple(draw(of) for _ in range(count))
    levels = tuple(draw(st.sampled_from([0.1, 0.25, 0.5, 0.9])) for _ in range(entry.levels))
    return Statistic(entry.name, args, draw(given), levels)


@st.composite
def cases(draw: st.DrawFn, entry: Entry, *, conditional: bool = False) -> tuple[Schema, Table, Statistic]:
    schema = draw(small_schemas())
    given = predicates(schema, 3) if conditional else st.none() | predicates(schema, 3)
    stat = draw(statistics_on(schema, entry, given))
    return schema, draw(tables(schema)), stat


def codec_of(quantity: Quantity, schema: Schema) -> Codec:
    """The bins a statistic needs, without rows."""
    preds = [pred for stat in statistics_of(quantity) for pred in conditions(stat)]
    return build_codec(schema, find_cuts(preds, schema).columns)


def sizes_of(codec: Codec) -> dict[str, int]:
    return {bins.column.name: bins.size for bins in codec.columns}


def known(quantity: Quantity, table: Table, schema: Schema) -> float:
    """The table's own number; what a constant column leaves undefined up to rounding is not looked at."""
    typed = conform(table, schema)
    for stat in statistics_of(quantity):
        if stat.name == "CORR":
            spread = [exact.value(Statistic("STD", (arg,), _together(stat)), typed, schema) for arg in stat.args]
            assume(all(isnan(each) or each > 1e-6 for each in spread))
    return exact.value(quantity, typed, schema)


def _together(stat: Statistic) -> Pred:
    """The rows on which all arguments of a statistic are present, as far as columns tell."""
    names = {name for arg in stat.args for name in _names(arg)}
    return And((*([stat.given] if stat.given else []), *(Not(Missing(name)) for name in sorted(names))))


def _names(arg: Quantity | Pred) -> set[str]:
    if isinstance(arg, ColumnValue):
        return {arg.column}
    return {name for each in arg.args for name in _names(each)} if isinstance(arg, Apply) else set()


def assert_equal(found: float, expected: float) -> None:
    if isnan(expected):
        assert isnan(found)
    else:
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


@by_entry
def test_the_value_of_rows_as_a_mixture_is_that_of_the_table_in_any_order(entry: Entry) -> None:
    @settings(max_examples=12)
    @given(cases(entry))
    def check(case: tuple[Schema, Table, Statistic]) -> None:
        schema, table, stat = case
        codec = codec_of(stat, schema)
        codes = encode(table, codec)
        expected = known(stat, table, schema)
        stats = Statistics(codec, table.rows)
        assert_equal(float(stats.value(stat, row_mixture(codes, sizes_of(codec)))), expected)
        order = np.random.default_rng(table.rows).permutation(table.rows)
        turned = {name: found[order] for name, found in codes.items()}
        assert_equal(float(stats.value(stat, row_mixture(turned, sizes_of(codec)))), expected)

    check()


@settings(max_examples=25)
@given(st.data())
def test_so_is_that_of_arithmetic_between_statistics(data: st.DataObject) -> None:
    schema = data.draw(small_schemas())
    table = data.draw(tables(schema))
    quantity = Apply(data.draw(st.sampled_from("+-*/")), (data.draw(quantities(schema)), data.draw(quantities(schema))))
    codec = codec_of(quantity, schema)
    found = Statistics(codec, table.rows).value(quantity, row_mixture(encode(table, codec), sizes_of(codec)))
    assert_equal(float(found), known(quantity, table, schema))


@by_entry
def test_a_condition_is_the_same_in_a_database(entry: Entry, database: duckdb.DuckDBPyConnection) -> None:
    @settings(max_examples=8)
    @given(cases(entry, conditional=True))
    def check(case: tuple[Schema, Table, Statistic]) -> None:
        schema, table, stat = case
        expected = known(stat, table, schema)
        database.register("t", table.arrow)
        (found,) = database.execute(f"SELECT {sql.quantity(stat, schema, 't')}").fetchall()[0]
        assert_equal(float("nan") if found is None else float(found), expected)

    check()


# --- one table with missing values, under conditions on its own and on other columns


SMALL = Schema(
    "t",
    (
        Integer("n", 0, 4, (1.0, 2.0, 3.0, 4.0), missing=True),
        Integer("m", -1, 2, (0.0, 1.0, 2.0)),
        Category("c", ("x", "y", "z"), missing=True),
        Integer("k", 0, 2, (1.0, 2.0), missing=True),
    ),
)
CONDITIONS: dict[str, Pred | None] = {
    "all rows": None,
    "of another column": InSet("c", frozenset({"x", "y"})),
    "missing elsewhere": Missing("c"),
    "of its own column": LinearCompare(Linear((("n", 1.0),)), ">", 1.0),
    "sum of its own columns": LinearCompare(Linear((("n", 1.0), ("m", 1.0))), ">", 0.0),
    "sum with another": LinearCompare(Linear((("m", 1.0), ("k", -1.0))), ">=", 0.0),
    "sum with another negated": Not(LinearCompare(Linear((("m", 1.0), ("k", -1.0))), ">=", 0.0)),
    "sum and category": And(
        (LinearCompare(Linear((("n", 1.0), ("k", 1.0))), "<", 4.0), Not(InSet("c", frozenset({"z"}))))
    ),
    "no row": And((Missing("c"), InSet("c", frozenset({"x"})))),
}
by_condition = pytest.mark.parametrize("condition", CONDITIONS)


def small() -> Table:
    rng = np.random.default_rng(4)
    rows = 60

    def gaps() -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return rng.random(rows) < 0.2

    n = rng.integers(0, 5, rows)
    return Table(
        pa.table(
            {
                "n": pa.array(n, mask=gaps()),
                "m": np.clip(n - 1 - rng.integers(0, 3, rows), -1, 2),
                "c": pa.array(rng.choice(["x", "y", "z"], rows, p=[0.5, 0.3, 0.2]), mask=gaps()),
                "k": pa.array(rng.integers(0, 3, rows), mask=gaps()),
            }
        )
    )


def example(entry: Entry, given: Pred | None) -> Statistic:
    """A statistic of the columns `n` and `m`, or of conditions on them."""
    pred: Pred = LinearCompare(Linear((("n", 1.0),)), ">", 2.0)
    args = (ColumnValue("n"), ColumnValue("m"))[: entry.min_args] if entry.argument != "condition" else (pred,)
    return Statistic(entry.name, args, given, (0.6,) * entry.levels)


@by_condition
@by_entry
def test_under_any_condition_all_readings_have_one_value(
    entry: Entry, condition: str, database: duckdb.DuckDBPyConnection
) -> None:
    stat, table = example(entry, CONDITIONS[condition]), small()
    codec = codec_of(stat, SMALL)
    expected = exact.value(stat, conform(table, SMALL), SMALL)
    assert isnan(expected) == (condition == "no row" and entry.unit != "rows")
    found = Statistics(codec, table.rows).value(stat, row_mixture(encode(table, codec), sizes_of(codec)))
    assert_equal(float(found), expected)
    database.register("t", table.arrow)
    (there,) = database.execute(f"SELECT {sql.quantity(stat, SMALL, 't')}").fetchall()[0]
    assert_equal(float("nan") if there is None else float(there), expected)


# --- gradients


def soft(logits: torch.Tensor, codec: Codec, components: int) -> Mixture:
    """A mixture of such logits."""
    sizes = sizes_of(codec)
    w, *parts = torch.split(logits, [components, *(components * size for size in sizes.values())])
    P = [torch.softmax(part.reshape(components, -1), 1) for part in parts]
    return Mixture(tuple(sizes), torch.softmax(w, 0), tuple(P))


def random_logits(codec: Codec, components: int, seed: int) -> torch.Tensor:
    count = components * (1 + sum(sizes_of(codec).values()))
    return torch.as_tensor(np.random.default_rng(seed).normal(0, 1, count))


@pytest.mark.parametrize("condition", [name for name in CONDITIONS if name != "no row"])
@by_entry
def test_the_gradient_through_a_mixture_is_finite_and_right(entry: Entry, condition: str) -> None:
    stat = example(entry, CONDITIONS[condition])
    codec = codec_of(stat, SMALL)
    stats = Statistics(codec, 100)
    at = random_logits(codec, 3, 7).requires_grad_()
    (found,) = torch.autograd.grad(stats.value(stat, soft(at, codec, 3)), at)
    assert torch.isfinite(found).all()
    assert found.abs().max() > 0
    if entry.name in ("MEDIAN", "Q"):  # steps: their gradient is a slope over some neighbours
        return
    way = torch.as_tensor(np.random.default_rng(8).normal(0, 1, len(at)))
    with torch.no_grad():
        ahead, behind = (stats.value(stat, soft(at + step * way, codec, 3)) for step in (1e-5, -1e-5))
    assert float(found @ way) == pytest.approx(float(ahead - behind) / 2e-5, rel=1e-4, abs=1e-8)


@by_entry
def test_the_gradient_at_certain_rows_is_finite(entry: Entry) -> None:
    """Cells without any probability must not spoil it."""
    stat = example(entry, CONDITIONS["of another column"])
    codec = codec_of(stat, SMALL)
    rows = row_mixture(encode(small(), codec), sizes_of(codec))
    w, P = rows.w.requires_grad_(), tuple(p.requires_grad_() for p in rows.P)
    Statistics(codec, 60).value(stat, Mixture(rows.columns, w, P)).backward()  # type: ignore[no-untyped-call]
    assert w.grad is not None
    assert torch.isfinite(w.grad).all()
    assert all(p.grad is None or bool(torch.isfinite(p.grad).all()) for p in P)


# --- bins that hold many values


def drawn(mix: Mixture, rows: int, seed: int) -> Codes:
    """Rows of a mixture, in plain numpy."""
    rng = np.random.default_rng(seed)
    which = rng.choice(mix.components, rows, p=mix.w.numpy())
    return {
        name: (rng.random(rows)[:, None] > np.cumsum(mix[name].numpy(), 1)[which][:, :-1]).sum(1)
        for name in mix.columns
    }


def skewed(rows: int = 4000) -> Table:
    rng = np.random.default_rng(2)
    wealth = rng.lognormal(8, 1.5, rows)
    return Table(
        pa.table(
            {
                "wealth": np.round(wealth).astype(np.int64),
                "speed": pa.array(rng.gamma(2.0, 3.0, rows), mask=rng.random(rows) < 0.2),
                "price": np.round(rng.lognormal(1, 1, rows), 2),
                "kind": pa.array(rng.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1]), mask=rng.random(rows) < 0.1),
                "few": rng.integers(0, 40, rows),
            }
        )
    )


WIDE = Schema(
    "t",
    (
        Integer("wealth", 0, 2_000_000, 8),
        Real("speed", 0.0, 60.0, 8, missing=True),
        Real("price", 0.0, 200.0, 8, decimals=2),
        Category("kind", ("a", "b", "c"), missing=True),
        Integer("few", 0, 39, 8),
    ),
)
SPEED, WEALTH, PRICE, FEW = map(ColumnValue, ("speed", "wealth", "price", "few"))
FAST = LinearCompare(Linear((("speed", 1.0),)), ">=", 4.0)
NOT_A = InSet("kind", frozenset({"a"}), negated=True)
EXACT: dict[str, Quantity] = {
    "E": Statistic("E", (WEALTH,)),
    "E given": Statistic("E", (PRICE,), And((NOT_A, FAST))),
    "E of a product": Statistic("E", (Apply("*", (PRICE, SPEED)),)),
    "E of a cube": Statistic("E", (Apply("*", (PRICE, Apply("*", (PRICE, PRICE)))),)),
    "VAR": Statistic("VAR", (PRICE,)),
    "STD given": Statistic("STD", (SPEED,), FAST),
    "COV": Statistic("COV", (SPEED, PRICE)),
    "CORR given": Statistic("CORR", (SPEED, PRICE), NOT_A),
    "H": Statistic("H", (FEW, ColumnValue("kind"))),
    "MI given": Statistic("MI", (FEW, ColumnValue("kind")), FAST),
    "P": Statistic("P", (FAST,), NOT_A),
    "COUNT": Statistic("COUNT", (And((FAST, NOT_A)),)),
    "MEDIAN of few values": Statistic("MEDIAN", (FEW,), NOT_A),
}
DRAWS, ROWS = 6, 20_000


@pytest.fixture(scope="module")
def wide() -> tuple[Mixture, Codec, list[Table]]:
    """A mixture over bins chosen from rows, and draws of it."""
    cuts = find_cuts([FAST, NOT_A], WIDE)
    codec = fit_codec(skewed(), WIDE, cuts.columns, cuts.sets)
    mix = soft(random_logits(codec, 4, 3), codec, 4)
    made = [decode(drawn(mix, ROWS, seed), codec, seed=seed) for seed in range(DRAWS)]
    return mix, codec, [conform(table, WIDE) for table in made]


@pytest.mark.parametrize("name", EXACT)
def test_the_value_of_a_model_is_the_expectation_of_its_draws(
    name: str, wide: tuple[Mixture, Codec, list[Table]]
) -> None:
    mix, codec, made = wide
    found = float(Statistics(codec, ROWS).value(EXACT[name], mix))
    seen = np.array([exact.value(EXACT[name], table, WIDE) for table in made])
    noise = seen.std(ddof=1) / np.sqrt(DRAWS)
    if name.split()[0] in ("H", "MI"):  # a finite draw seems to have more: about cells / 2 rows
        seen = seen - (160 if name == "H" else 118) / (2 * ROWS) * np.array([1.0])
        noise += 1e-3
    assert abs(seen.mean() - found) <= 5 * noise + 1e-12


@pytest.mark.parametrize("level", [0.1, 0.5, 0.93])
def test_a_quantile_of_wide_bins_is_near_that_of_the_draw(
    level: float, wide: tuple[Mixture, Codec, list[Table]]
) -> None:
    """What it knows of a stretch are a few points of it."""
    mix, codec, made = wide
    for column in ("speed", "price"):
        found = float(Statistics(codec, ROWS).value(Statistic("Q", (ColumnValue(column),), None, (level,)), mix))
        present = Not(Missing(column))
        below, up_to = (
            exact.value(Statistic("P", (LinearCompare(Linear(((column, 1.0),)), op, found),), present), made[0], WIDE)
            for op in ("<", "<=")
        )
        assert below - 0.01 <= level <= up_to + 0.01


def test_moments_of_even_bins_are_those_of_all_their_values() -> None:
    """Two numbers stand for up to thousands, up to the cube."""
    schema = Schema("t", (Integer("n", 0, 5_999, 4), Integer("m", -40, 600, 3)))
    codec = build_codec(schema, {})
    mix = soft(random_logits(codec, 2, 5), codec, 2)
    assert len(lay_out(Statistic("E", (ColumnValue("n"),)), codec).axes[0].slots.owner) == 8  # two a bin, not 6,000
    n, m = np.arange(6_000.0), np.arange(-40.0, 601.0)
    of_n, of_m = (np.searchsorted(codec[name].edges, x, side="right") - 1 for name, x in (("n", n), ("m", m)))  # type: ignore[union-attr]
    per_n, per_m = (mix[name].numpy() / np.bincount(of) for name, of in (("n", of_n), ("m", of_m)))
    joint = np.einsum("k,ki,kj->ij", mix.w.numpy(), per_n[:, of_n], per_m[:, of_m])
    for name, fn in {
        "E": lambda: (joint * n[:, None]).sum(),
        "VAR": lambda: (joint.sum(1) * (n - (joint.sum(1) * n).sum()) ** 2).sum(),
        "COV": lambda: (joint * np.outer(n - joint.sum(1) @ n, m - joint.sum(0) @ m)).sum(),
    }.items():
        args = (ColumnValue("n"), ColumnValue("m"))[: 2 if name == "COV" else 1]
        found = float(Statistics(codec, 1).value(Statistic(name, args), mix))
        assert found == pytest.approx(fn(), rel=1e-10)
    cube = Apply("*", (ColumnValue("n"), Apply("*", (ColumnValue("n"), ColumnValue("n")))))
    found = float(Statistics(codec, 1).value(Statistic("E", (cube,)), mix))
    assert found == pytest.approx(joint.sum(1) @ n**3, rel=1e-10)


def test_a_statistic_of_too_many_cells_is_refused_and_unknown() -> None:
    schema = Schema("t", tuple(Integer(name, 0, 400, 4) for name in "abc"))
    codec = build_codec(schema, {})
    stat = Statistic("H", tuple(map(ColumnValue, "abc")))
    mix = soft(random_logits(codec, 2, 1), codec, 2)
    with pytest.raises(ValueError, match="too many cells"):
        lay_out(stat, codec)
    assert isnan(Statistics(codec, 1).known(stat, mix))


def test_a_column_only_a_condition_mentions_is_seen_as_far_as_that_tells_its_bins_apart() -> None:
    codec = build_codec(WIDE, find_cuts([FAST, NOT_A], WIDE).columns)
    layout = lay_out(Statistic("H", (ColumnValue("few"),), And((FAST, NOT_A))), codec)
    seen = {axis.column: (axis.classes, len(axis.slots.owner)) for axis in layout.axes}
    assert seen == {"speed": (True, 2), "kind": (True, 2), "few": (False, 40)}
    assert all(sorted(set(axis.bin_classes())) == [0, 1] for axis in layout.axes[:2])

"""Laws of the readings: the table's mask, SQL and the diagram decide every row alike."""

from __future__ import annotations

from math import isnan

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.data.codec import build_codec, decode, encode
from cuts.data.conform import check_table, conform
from cuts.data.schema import Schema
from cuts.data.table import Bools, Table
from cuts.lang.spec import Not, Pred, Quantity
from cuts.logic.core import build_grid, encode_variables
from cuts.logic.diagram import Diagram, Store, compile_rules, contains
from cuts.logic.formula import lower
from cuts.read import exact, sql
from strategies import predicates, quantities, schemas, tables


@st.composite
def cases(draw: st.DrawFn) -> tuple[Schema, Table, Pred]:
    schema = draw(schemas(texts=True))
    return schema, draw(tables(schema)), draw(predicates(schema))


@st.composite
def statistic_cases(draw: st.DrawFn) -> tuple[Schema, Table, Quantity]:
    schema = draw(schemas(texts=True))
    return schema, draw(tables(schema)), draw(quantities(schema))


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def run_predicate(database: duckdb.DuckDBPyConnection, pred: Pred, schema: Schema, table: Table) -> Bools:
    database.register("t", table.arrow)
    rows = database.execute(f"SELECT {sql.predicate(pred, schema)} FROM t").fetchall()
    return np.array([row[0] for row in rows])


def diagram_mask(pred: Pred, schema: Schema, table: Table, *, coarse: bool) -> Bools:
    grid = build_grid([pred], schema, coarse=coarse)
    diagram = compile_rules([pred], grid)
    return contains(diagram, encode_variables(table, grid))


@settings(max_examples=150, deadline=None)
@given(cases())
def test_all_readings_of_a_predicate_agree(
    database: duckdb.DuckDBPyConnection, case: tuple[Schema, Table, Pred]
) -> None:
    schema, table, pred = case
    expected = exact.mask(pred, conform(table, schema))
    assert run_predicate(database, pred, schema, table).tolist() == expected.tolist()
    assert diagram_mask(pred, schema, table, coarse=True).tolist() == expected.tolist()
    assert diagram_mask(pred, schema, table, coarse=False).tolist() == expected.tolist()


@settings(max_examples=80, deadline=None)
@given(cases())
def test_negation_is_the_complement_in_every_reading(
    database: duckdb.DuckDBPyConnection, case: tuple[Schema, Table, Pred]
) -> None:
    schema, table, pred = case
    held = exact.mask(pred, conform(table, schema))
    assert (exact.mask(Not(pred), conform(table, schema)) == ~held).all()
    assert (run_predicate(database, Not(pred), schema, table) == ~held).all()
    assert (diagram_mask(Not(pred), schema, table, coarse=True) == ~held).all()
    grid = build_grid([pred], schema, coarse=True)
    store = Store([lower(pred, grid), lower(Not(pred), grid)], grid)
    assert store.roots[1] == store.opposite(store.roots[0])
    other = Diagram(grid, (store.part(store.opposite(store.roots[0])),))
    assert (contains(other, encode_variables(table, grid)) == ~held).all()


@settings(max_examples=80, deadline=None)
@given(statistic_cases())
def test_a_statistic_has_the_same_value_in_sql(
    database: duckdb.DuckDBPyConnection, case: tuple[Schema, Table, Quantity]
) -> None:
    schema, table, quantity = case
    database.register("t", table.arrow)
    (found,) = database.execute(f"SELECT {sql.quantity(quantity, schema, 't')}").fetchall()[0]
    expected = exact.value(quantity, conform(table, schema), schema)
    if isnan(expected):
        assert found is None or isnan(found)
    else:
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-7)


@settings(max_examples=80, deadline=None)
@given(cases())
def test_decoding_stays_in_its_bin_and_in_the_schema(case: tuple[Schema, Table, Pred]) -> None:
    schema, table, pred = case
    codec = build_grid([pred], schema).codec
    codes = encode(table, codec)
    decoded = decode(codes, codec, seed=3)
    assert check_table(decoded, schema) == ()
    again = encode(decoded, codec)
    assert all((again[name] == codes[name]).all() for name in schema.names)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_a_rule_without_sums_is_decided_by_the_bins_alone(case: tuple[Schema, Table, Pred]) -> None:
    """What is drawn from a bin satisfies a predicate exactly when the bin does."""
    schema, table, pred = case
    grid = build_grid([pred], schema)
    if grid.sums:
        return
    decoded = decode(encode(table, grid.codec), grid.codec, seed=5)
    before = exact.mask(pred, conform(table, schema))
    assert (exact.mask(pred, conform(decoded, schema)) == before).all()


def test_sql_treats_undefined_numbers_as_the_table_does(database: duckdb.DuckDBPyConnection) -> None:
    import pyarrow as pa

    from cuts.data.schema import Integer
    from cuts.lang.binder import bind
    from cuts.lang.parser import parse
    from cuts.lang.spec import TableAim

    schema = Schema("t", (Integer("n", 0, 9),))
    table = Table(pa.table({"n": [1, 2, 3]}))
    database.register("t", table.arrow)
    for text, expected in (("COUNT[n > 1] / COUNT[n >= 1]", 2 / 3), ("max(E[n | n > 5], 3)", None)):
        (aim,) = bind(parse(f"SYNTHESIZE: t; MINIMIZE: {text}; END;"), schema).commands
        assert isinstance(aim, TableAim)
        (found,) = database.execute(f"SELECT {sql.quantity(aim.value, schema, 't')}").fetchall()[0]
        assert found == (None if expected is None else pytest.approx(expected))
        assert isnan(exact.value(aim.value, conform(table, schema), schema)) == (expected is None)


def test_the_codec_of_a_schema_without_a_program_has_its_own_bins() -> None:
    from cuts.data.schema import Integer, Real

    schema = Schema("t", (Integer("n", 0, 9, bins=5), Real("x", 0.0, 1.0, bins=(0.25, 0.5))))
    codec = build_codec(schema, {"n": [3.5]})
    assert codec.columns[0].edges == (0.0, 2.0, 4.0, 6.0, 8.0)  # type: ignore[union-attr]
    assert codec.columns[1].edges == (0.0, 0.25, 0.5)  # type: ignore[union-attr]

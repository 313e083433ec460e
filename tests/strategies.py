"""Random schemas, tables, predicates and programs for the property tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from cuts.data.columns import is_written_as_text
from cuts.data.number_texts import write_cells
from cuts.data.physical import as_arrow
from cuts.data.schema import Category, Column, Integer, Numeric, Real, Schema, Temporal
from cuts.data.table import Table
from cuts.lang import syntax
from cuts.lang.spec import (
    And,
    Apply,
    ColumnValue,
    Const,
    Implies,
    InSet,
    Linear,
    LinearCompare,
    Missing,
    Not,
    Or,
    Pred,
    Quantity,
    Statistic,
    Truth,
)

TEXTS = ["<1.0", ">200", "n.a.", "-", "it's", ""]
FORMATS = ["", "0.0", "0,00", "#.##0,#", "#,##0.00", "#'##0.0"]
NAMES = ["age", "sex", "marital-status", "a b", 'quo"te', "x1", "Straße"]
VALUES = ["Male", "Female", ">50K", "it's", "11th", "A-B", 'say "hi"', "1", "2.5", "true", "ü"]
OPS = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])


@st.composite
def columns(draw: st.DrawFn, name: str, *, texts: bool = False) -> Column:
    """One column of any kind; with `texts`, numbers may be written as text with texts beside them."""
    beside = st.lists(st.sampled_from(TEXTS), max_size=3, unique=True).map(tuple) if texts else st.just(())
    missing = draw(st.booleans())
    match draw(st.sampled_from(["category", "integer", "real", "decimal", "temporal"])):
        case "category":
            categories = draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=5, unique=True))
            return Category(name, tuple(categories), draw(st.booleans()), missing)
        case "integer":
            low, bins = draw(st.integers(-20, 20)), draw(st.integers(1, 8))
            return Integer(name, low, low + draw(st.integers(0, 30)), bins, missing, texts=draw(beside))
        case "decimal":
            wide = 100 if texts else 1  # numbers from 1,000 on have thousands separators
            low = draw(st.integers(-100 * wide, 100))
            low, high = low / 10, (low + draw(st.integers(0, 300 * wide))) / 10
            bins, format = draw(st.integers(1, 8)), draw(st.sampled_from(FORMATS if texts else FORMATS[:1]))
            return Real(name, low, high, bins, missing, decimals=1, texts=draw(beside), format=format)
        case "temporal":
            return draw(moments(name, missing))
        case _:
            low = draw(st.floats(-10, 10))
            return Real(name, low, low + draw(st.floats(0, 20)), draw(st.integers(1, 8)), missing)


@st.composite
def moments(draw: st.DrawFn, name: str, missing: bool) -> Column:
    """A column of dates, times, timestamps or durations."""
    kind = draw(st.sampled_from(["date", "time", "timestamp", "duration"]))
    low = draw(st.integers(0, 50_000)) + (1_600_000_000 if kind == "timestamp" else 0)
    high = low + draw(st.integers(0, 30_000))
    bins = draw(st.integers(1, 8))
    if kind == "date":
        return Temporal(name, kind, float(low), float(high), bins, missing)
    decimals = draw(st.sampled_from([0, 3, 6]))
    unit = 10**decimals
    return Temporal(name, kind, low / unit, high / unit, bins, missing, decimals=decimals)


@st.composite
def schemas(draw: st.DrawFn, most: int = 4, *, texts: bool = False) -> Schema:
    """A schema of a few columns with awkward names; with `texts`, also with numbers written as text."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=most, unique=True))
    made = tuple(draw(columns(name, texts=texts)) for name in names)
    return Schema("t", made, max_categories=draw(st.sampled_from([16, 64])), min_count=draw(st.sampled_from([0, 5])))


@st.composite
def tables(draw: st.DrawFn, schema: Schema, most: int = 12) -> Table:
    """A table that follows the schema."""
    rows = draw(st.integers(1, most))
    arrays: dict[str, pa.Array] = {}
    for column in schema:
        if is_written_as_text(column):
            arrays[column.name] = draw(text_cells(column, rows))
            continue
        match column:
            case Category():
                values: st.SearchStrategy[Any] = st.sampled_from(column.categories)
                kind = pa.string()
            case Integer():
                values, kind = st.integers(column.low, column.high), pa.int64()
            case Real(decimals=None):
                values, kind = st.floats(column.low, column.high), pa.float64()
            case Real() | Temporal():
                arrays[column.name] = draw(lattice_values(column, rows))
                continue
        cell = st.none() | values if column.missing else values
        arrays[column.name] = pa.array(draw(st.lists(cell, min_size=rows, max_size=rows)), kind)
    return Table(pa.table(arrays))


@st.composite
def lattice_values(draw: st.DrawFn, column: Numeric, rows: int) -> pa.Array:
    """Values of a column with a lattice, in its own Arrow type."""
    unit = column.per_unit or 1
    cell = st.integers(round(column.low * unit), round(column.high * unit))
    numbers = np.array(draw(st.lists(cell, min_size=rows, max_size=rows))) / unit
    missing = np.array(draw(st.lists(st.booleans(), min_size=rows, max_size=rows))) & column.missing
    return as_arrow(numbers, column, missing)


@st.composite
def text_cells(draw: st.DrawFn, column: Any, rows: int) -> pa.Array:
    """Cells of a numeric column with `texts` or a `format`: numbers as it writes them, its texts, nothing."""
    unit = column.per_unit or 1
    number = st.integers(round(column.low * unit), round(column.high * unit)).map(lambda k: k / unit)
    cells: list[st.SearchStrategy[Any]] = [number.map(lambda x: write_cells(np.array([x]), None, column)[0].as_py())]
    cells += [st.sampled_from(column.texts)] if column.texts else []
    cells += [st.none()] if column.missing else []
    return pa.array(draw(st.lists(st.one_of(cells), min_size=rows, max_size=rows)), pa.string())


def constants(column: Numeric) -> st.SearchStrategy[float]:
    """Numbers in, at the ends of and beyond a column's range."""
    inside = st.floats(column.low - 1, column.high + 1)
    return st.one_of(
        inside, st.sampled_from([float(column.low), float(column.high)]), inside.map(lambda x: float(int(x)))
    )


def leaves(schema: Schema) -> st.SearchStrategy[Pred]:
    """Predicates without connectives, sums of columns included."""
    options: list[st.SearchStrategy[Pred]] = [st.booleans().map(Truth)]
    numeric = [column for column in schema if not isinstance(column, Category)]
    for column in schema:
        options.append(st.just(Missing(column.name)))
        if isinstance(column, Category):
            values = st.frozensets(st.sampled_from(column.categories), max_size=3)
            options.append(st.builds(InSet, st.just(column.name), values, st.booleans()))
        else:
            form = Linear(((column.name, 1.0),))
            options.append(st.builds(LinearCompare, st.just(form), OPS, constants(column)))
            if column.texts:
                values = st.frozensets(st.sampled_from(column.texts), max_size=3)
                options.append(st.builds(InSet, st.just(column.name), values, st.booleans()))
    if len(numeric) > 1:
        pairs = st.sampled_from([(a, b) for i, a in enumerate(numeric) for b in numeric[i + 1 :]])
        weights = st.sampled_from([1.0, -1.0, 2.0, -0.5])
        form_of = st.builds(lambda pair, w: Linear(((pair[0].name, 1.0), (pair[1].name, w))), pairs, weights)
        options.append(st.builds(LinearCompare, form_of, OPS, st.integers(-30, 30).map(float)))
    return st.one_of(options)


def predicates(schema: Schema, most: int = 8) -> st.SearchStrategy[Pred]:
    """Predicates over the schema's columns."""

    def join(inner: st.SearchStrategy[Pred]) -> st.SearchStrategy[Pred]:
        several = st.lists(inner, min_size=1, max_size=3).map(tuple)
        return st.one_of(inner.map(Not), several.map(And), several.map(Or), st.builds(Implies, inner, inner))

    return st.recursive(leaves(schema), join, max_leaves=most)


@st.composite
def quantities(draw: st.DrawFn, schema: Schema) -> Quantity:
    """A statistic, or arithmetic of statistics, of the schema's columns."""
    given = draw(st.none() | predicates(schema, 2))
    names = [column.name for column in schema]

    def of_rows() -> Quantity:
        column: Quantity = ColumnValue(draw(st.sampled_from(names)))
        match draw(st.integers(0, 3)):
            case 0:
                return Apply(
                    draw(st.sampled_from(["+", "-", "*"])), (column, ColumnValue(draw(st.sampled_from(names))))
                )
            case 1:
                return Apply("max", (column, Const(1.0)))
            case 2:
                return Apply("/", (column, ColumnValue(draw(st.sampled_from(names)))))
            case _:
                return column

    match draw(st.sampled_from(["one", "two", "columns", "condition", "level", "sum"])):
        case "one":
            return Statistic(draw(st.sampled_from(["E", "VAR", "STD", "MEDIAN"])), (of_rows(),), given)
        case "two":
            return Statistic("COV", (of_rows(), of_rows()), given)
        case "columns":
            chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2))
            if len(chosen) == 2:
                return Statistic(draw(st.sampled_from(["H", "MI"])), tuple(map(ColumnValue, chosen)), given)
            return Statistic("H", tuple(map(ColumnValue, chosen)), given)
        case "condition":
            return Statistic(draw(st.sampled_from(["P", "COUNT"])), (draw(predicates(schema, 3)),), given)
        case "level":
            return Statistic("Q", (of_rows(),), given, (draw(st.sampled_from([0.1, 0.5, 0.75, 0.9])),))
        case _:
            return Apply("+", (Statistic("E", (of_rows(),), given), Const(2.0)))


# --- syntax trees

words = st.sampled_from(["age", "sex", "x_1", "Male", "11th", "native_country", "E", "max", "in_", "ü"])
names = st.one_of(
    words.map(syntax.Name), st.sampled_from(["marital-status", "a b", "and", "12"]).map(lambda t: syntax.Name(t, True))
)
numbers = st.one_of(
    st.integers(-(10**6), 10**6).map(lambda n: syntax.Number(float(n))),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda x: syntax.Number(x + 0.0)),
)
texts = st.sampled_from([">50K", "it's", 'say "hi"', "", "a;b", "#no comment"]).map(syntax.Text)
holes = st.sampled_from(["param1", "tol"]).map(syntax.Placeholder)
values = st.one_of(names, numbers, texts, holes)


def _grow(inner: st.SearchStrategy[syntax.Expr]) -> st.SearchStrategy[syntax.Expr]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    args = st.lists(inner, min_size=1, max_size=2).map(tuple)
    chain = st.integers(1, 2).flatmap(
        lambda n: st.builds(
            syntax.Compare,
            st.lists(inner, min_size=n + 1, max_size=n + 1).map(tuple),
            st.lists(OPS, min_size=n, max_size=n).map(tuple),
        )
    )
    minus = inner.filter(lambda e: not isinstance(e, syntax.Number) or e.percent).map(syntax.Negate)
    return st.one_of(
        minus,
        st.builds(syntax.Arith, st.sampled_from("+-*/"), inner, inner),
        chain,
        st.builds(syntax.Member, inner, st.lists(values, min_size=1, max_size=3).map(tuple), st.booleans()),
        st.builds(syntax.Between, inner, inner, inner, st.booleans()),
        st.builds(syntax.IsNull, inner, st.booleans()),
        inner.map(syntax.Not),
        several.map(syntax.And),
        several.map(syntax.Or),
        st.builds(syntax.Implies, inner, inner),
        st.builds(syntax.Stat, st.sampled_from(["E", "VAR", "foo"]), st.just(()), args, st.none() | inner),
        st.builds(syntax.Stat, st.just("Q"), st.just((syntax.Number(0.9),)), args, st.none() | inner),
        st.builds(
            syntax.Call, st.sampled_from(["max", "DEMOGRAPHIC_PARITY"]), args, st.lists(options, max_size=2).map(tuple)
        ),
    )


options = st.builds(
    syntax.Option,
    st.sampled_from(["protected", "target", "lr"]),
    st.one_of(values, st.lists(names, min_size=1, max_size=2).map(lambda items: syntax.ListOf(tuple(items)))),
)
percents = st.one_of(st.integers(0, 100).map(lambda n: n / 100), st.floats(0, 1e20)).map(
    lambda share: syntax.Number(share, percent=True)
)
shares = st.lists(st.tuples(st.none() | names | texts, percents), min_size=1, max_size=3).map(
    lambda items: syntax.Shares(tuple(items))
)
expressions = st.recursive(st.one_of(values, percents, shares), _grow, max_leaves=12)
weights = st.none() | numbers | holes
commands = st.builds(
    syntax.Command,
    st.sampled_from(["ENFORCE", "MINIMIZE", "MAXIMIZE"]),
    expressions,
    st.none() | st.sampled_from(["ROW CONSTRAINT", "IMPLICATION", "STATISTICAL", "FAIRNESS", "UTILITY"]),
    weights,
    weights | texts,
    st.lists(options, max_size=2).map(tuple),
)
privacy = st.just(
    syntax.Command(
        "ENSURE",
        syntax.Settings((syntax.Option("epsilon", syntax.Number(1.0)), syntax.Option("delta", syntax.Number(1e-9)))),
        "DIFFERENTIAL PRIVACY",
    )
)
lets = st.builds(syntax.Let, st.sampled_from(["x", "old_"]).map(syntax.Name), expressions)
programs = st.builds(
    syntax.Program,
    st.sampled_from(["adult", "END", "data/end", "let", 'a"b.csv', "data/my table.csv", "s3://bucket/t.parquet"]),
    st.lists(st.one_of(commands, privacy, lets), max_size=4).map(tuple),
)

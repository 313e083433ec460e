"""Laws of time: what a program says about dates, timestamps and durations is what pandas computes from the rows."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.data.conform import conform
from cuts.data.schema import Integer, Schema, Temporal
from cuts.data.table import Table
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import Pred, Quantity, TableAim
from cuts.logic.core import build_grid, encode_variables
from cuts.logic.diagram import compile_rules, contains
from cuts.read import exact, sql
from strategies import tables

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
FIRST_DAY = 19_000.0  # 2022-01-08
DAY = 86_400.0


def stays(decimals: int) -> Schema:
    """A few days in which many moments coincide; timestamps and durations have so many decimals."""
    start, span = FIRST_DAY * DAY, (3 * DAY if decimals == 0 else 0.004)
    return Schema(
        "stays",
        (
            Temporal("day", "date", FIRST_DAY, FIRST_DAY + 3),
            Temporal("last_day", "date", FIRST_DAY, FIRST_DAY + 4, missing=True),
            Temporal("seen", "timestamp", start, start + span, decimals=decimals),
            Temporal("gone", "timestamp", start, start + span, decimals=decimals, missing=True),
            Temporal("stay", "duration", 0.0, span, decimals=decimals, missing=True),
            Integer("nights", 0, 4),
        ),
    )


def lengths(decimals: int) -> st.SearchStrategy[pd.Timedelta]:
    """Durations, in steps that the columns have too."""
    hours = st.integers(-72, 72).map(lambda n: pd.Timedelta(hours=n))
    fine = st.integers(-4 * 10 ** max(decimals - 3, 0), 4 * 10 ** max(decimals - 3, 0))
    return hours if decimals == 0 else fine.map(lambda n: pd.Timedelta(n * 10 ** (9 - decimals), "ns"))


def written(length: pd.Timedelta) -> str:
    """A duration as a program writes it, in one of several forms."""
    if length == length.ceil("D"):
        return f'"{length.days} days"'
    if length == length.ceil("h"):
        hours = round(length.total_seconds() / 3600)
        return f'"PT{hours}H"' if hours > 0 else f'"{hours} h"'
    return f'"{length.total_seconds():.6f} s"'


Frame = Callable[[pd.DataFrame], Any]


@st.composite
def sides(draw: st.DrawFn, decimals: int) -> tuple[str, Frame, str, Frame, tuple[str, ...]]:
    """Two sides of a comparison: how each is written, what pandas makes of it, and the columns that must be present."""
    length = draw(lengths(decimals))
    moment = pd.Timestamp("2022-01-08") + abs(length)
    iso = f'"{moment.isoformat()}"'
    cases: list[tuple[str, Frame, str, Frame, tuple[str, ...]]] = [
        ("day", lambda f: f.day, "seen", lambda f: f.seen, ()),
        ("gone", lambda f: f.gone, "last_day", lambda f: f.last_day, ("gone", "last_day")),
        ("gone", lambda f: f.gone, "seen", lambda f: f.seen, ("gone",)),
        ("day", lambda f: f.day, iso, lambda f: moment, ()),
        (iso, lambda f: moment, "gone", lambda f: f.gone, ("gone",)),
        ("last_day - day", lambda f: f.last_day - f.day, written(length), lambda f: length, ("last_day",)),
        ("gone - seen", lambda f: f.gone - f.seen, written(length), lambda f: length, ("gone",)),
        ("seen - day", lambda f: f.seen - f.day, written(length), lambda f: length, ()),
        ("gone", lambda f: f.gone, f"seen + {written(length)}", lambda f: f.seen + length, ("gone",)),
        (f"day - {written(length)}", lambda f: f.day - length, "seen", lambda f: f.seen, ()),
        ("stay", lambda f: f.stay, written(length), lambda f: length, ("stay",)),
        ("gone - seen", lambda f: f.gone - f.seen, "stay", lambda f: f.stay, ("gone", "stay")),
        (
            'nights * "1 day"',
            lambda f: f.nights * pd.Timedelta(days=1),
            "last_day - day",
            lambda f: f.last_day - f.day,
            ("last_day",),
        ),
    ]
    return draw(st.sampled_from(cases))


@st.composite
def comparisons(draw: st.DrawFn) -> tuple[Schema, Table, str, Frame]:
    decimals = draw(st.sampled_from([0, 3, 6]))
    schema = stays(decimals)
    left, left_of, right, right_of, present = draw(sides(decimals))
    op = draw(st.sampled_from(sorted(OPERATORS)))

    def expected(frame: pd.DataFrame) -> Any:
        held = OPERATORS[op](left_of(frame), right_of(frame))
        return held & frame[list(present)].notna().all(axis=1)

    return schema, draw(tables(schema, most=25)), f"{left} {op} {right}", expected


def frame_of(table: Table) -> pd.DataFrame:
    return table.arrow.to_pandas(date_as_object=False)


@settings(max_examples=200, deadline=None)
@given(comparisons())
def test_every_reading_of_a_comparison_of_moments_is_what_pandas_computes(
    case: tuple[Schema, Table, str, Frame],
) -> None:
    schema, table, text, of_frame = case
    # With an alternative, a comparison that no row of the schema meets is no error.
    (rule,) = bind(parse(f"SYNTHESIZE: stays; ENFORCE: {text} OR nights < 0; END;"), schema).rules
    expected = of_frame(frame_of(table)).tolist()
    assert exact.mask(rule.pred, conform(table, schema)).tolist() == expected, text
    assert run_sql(rule.pred, schema, table) == expected, text
    for coarse in (True, False):
        assert diagram_mask(rule.pred, schema, table, coarse=coarse) == expected, text


def run_sql(pred: Pred, schema: Schema, table: Table) -> list[bool]:
    with duckdb.connect() as database:
        database.register("t", table.arrow)
        return [row[0] for row in database.execute(f"SELECT {sql.predicate(pred, schema)} FROM t").fetchall()]


def diagram_mask(pred: Pred, schema: Schema, table: Table, *, coarse: bool) -> list[bool]:
    grid = build_grid([pred], schema, coarse=coarse)
    return [bool(held) for held in contains(compile_rules([pred], grid), encode_variables(table, grid))]


# --- statistics

STATISTICS: dict[str, tuple[str, Frame]] = {
    "E[gone - seen]": ("s", lambda f: (f.gone - f.seen).dropna().mean()),
    "E[last_day - day]": ("days", lambda f: (f.last_day - f.day).dropna().mean()),
    "E[seen - day]": ("s", lambda f: (f.seen - f.day).mean()),
    "E[stay]": ("s", lambda f: f.stay.dropna().mean()),
    "MEDIAN[stay]": ("s", lambda f: f.stay.dropna().sort_values().iloc[(len(f.stay.dropna()) - 1) // 2]),
    "STD[day]": ("days", lambda f: f.day.std(ddof=0)),
    'E[(gone - seen) / "1 h"]': ("", lambda f: ((f.gone - f.seen) / pd.Timedelta(hours=1)).dropna().mean()),
    'E[nights * "1 day" - (last_day - day)]': (
        "s",
        lambda f: (f.nights * pd.Timedelta(days=1) - (f.last_day - f.day)).dropna().mean(),
    ),
}


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(sorted(STATISTICS)))
def test_a_statistic_of_differences_is_what_pandas_computes(data: st.DataObject, text: str) -> None:
    schema = stays(0)
    table = data.draw(tables(schema, most=25))
    (aim,) = bind(parse(f"SYNTHESIZE: stays; MINIMIZE: {text}; END;"), schema).commands
    assert isinstance(aim, TableAim)
    frame = frame_of(table)
    if frame.dropna().empty:
        return
    unit, of_frame = STATISTICS[text]
    expected = of_frame(frame)
    in_seconds = expected.total_seconds() if unit else expected
    factor = aim.unit.seconds if unit else 1
    value = exact.value(aim.value, conform(table, schema), schema)
    assert value * factor == pytest.approx(in_seconds, rel=1e-6, abs=1e-3)
    assert sql_value(aim.value, schema, table) * factor == pytest.approx(in_seconds, rel=1e-6, abs=1e-3)


def sql_value(value: Quantity, schema: Schema, table: Table) -> float:
    with duckdb.connect() as database:
        database.register("t", table.arrow)
        (found,) = database.execute(f"SELECT {sql.quantity(value, schema, 't')}").fetchall()[0]
        return float(found)

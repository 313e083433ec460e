"""Exact relations are found in rows, and only where they hold in every row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from cuts.data.column_facts import column_facts
from cuts.data.conform import conform
from cuts.data.exchange.tables import from_frame
from cuts.data.infer import infer_schema
from cuts.data.relations import find_relations
from cuts.data.schema_file import schema_from

ROWS = 500


def found(columns: dict[str, Any]) -> dict[str, str]:
    table = from_frame(pd.DataFrame(columns))
    schema = infer_schema(table, "t")
    return {name: formula.text for name, formula in find_relations(conform(table, schema), schema)}


def draw(seed: int, low: float, high: float, decimals: int) -> Any:
    return np.round(np.random.default_rng(seed).uniform(low, high, ROWS), decimals)


A, B = draw(1, 0, 200, 2), draw(2, 0, 200, 2)
HOUR, MINUTE = draw(3, 0, 23, 0).astype(int), draw(4, 0, 59, 0).astype(int)
WEIGHT, HEIGHT = draw(5, 40, 120, 1), draw(6, 1.4, 2.0, 2)
DAY, STAY = pd.Timestamp("2024-03-01") + pd.to_timedelta(draw(7, 0, 300, 0), unit="D"), draw(8, 0, 40, 0).astype(int)
OUT = DAY + pd.to_timedelta(STAY, unit="D")
SEEN = DAY + pd.to_timedelta(HOUR, unit="h")
GONE = SEEN + pd.to_timedelta(MINUTE + STAY, unit="min")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"a": A, "b": B, "total": np.round(A + B, 2)}, {"total": "a + b"}),
        ({"total": np.round(A + B, 2), "a": A, "b": B}, {"total": "a + b"}),
        ({"gross": np.round(A + B, 2), "tax": A, "the net": B}, {"gross": "tax + `the net`"}),
        ({"hour": HOUR, "minute": MINUTE, "hhmm": HOUR * 100 + MINUTE}, {"hhmm": "hour * 100 + minute"}),
        ({"h": HOUR, "s": HOUR * 3600 + MINUTE * 60, "m": MINUTE}, {"s": "h * 3600 + m * 60"}),
        ({"weight": WEIGHT, "height": HEIGHT, "bmi": np.round(WEIGHT / HEIGHT**2, 1)}, {"bmi": "weight / height ^ 2"}),
        ({"w": WEIGHT, "h": HEIGHT, "area": np.round(WEIGHT * HEIGHT, 3)}, {"area": "w * h"}),
        ({"a": A, "w": WEIGHT, "per": np.round(A / WEIGHT, 3)}, {"per": "a / w"}),
        ({"day": DAY.date, "stay": STAY, "out": OUT.date}, {"out": "day + stay * '1 day'"}),
        ({"came": SEEN, "left": GONE, "stay": GONE - SEEN}, {"left": "came + stay"}),
        (
            {"came": SEEN, "left": GONE, "minutes": (GONE - SEEN).total_seconds() / 60},
            {"left": "minutes * '60 s' + came"},
        ),
    ],
)
def test_a_relation_is_found(columns: dict[str, Any], expected: dict[str, str]) -> None:
    assert found(columns) == expected


def test_one_row_that_differs_ends_a_relation() -> None:
    total = np.round(A + B, 2)
    total[123] += 0.01
    assert found({"a": A, "b": B, "total": total}) == {}


def test_missing_values_must_agree() -> None:
    gone = np.arange(ROWS) % 7 == 0
    b = np.where(gone, np.nan, B)
    assert found({"a": A, "b": b, "total": np.round(A + b, 2)}) == {"total": "a + b"}
    assert found({"a": A, "b": b, "total": np.round(A + B, 2)}) == {}
    assert found({"a": A, "b": B, "total": np.where(gone, np.nan, np.round(A + B, 2))}) == {}


def test_columns_without_a_relation_have_none() -> None:
    rng = np.random.default_rng(9)
    assert found({f"x{i}": rng.integers(0, 30, ROWS) for i in range(12)}) == {}
    assert found({"a": rng.integers(0, 5, ROWS), "b": rng.integers(0, 5, ROWS)}) == {}
    few = rng.integers(0, 4, ROWS)  # too few distinct values to be sure
    assert found({"a": few, "b": few[::-1], "total": few + few[::-1]}) == {}


def test_a_column_is_not_computed_of_a_computed_one() -> None:
    total = np.round(A + B, 2)
    formulas = found({"a": A, "b": B, "total": total, "w": WEIGHT, "all": np.round(total + WEIGHT, 2)})
    assert formulas
    computed = set(formulas)
    assert all(not computed & set(text.replace("+", " ").replace("-", " ").split()) for text in formulas.values())


def test_relations_are_shown_until_the_schema_states_them() -> None:
    table = from_frame(pd.DataFrame({"a": A, "b": B, "total": np.round(A + B, 2)}))
    schema = infer_schema(table, "t")
    notes = {fact.name: fact.notes for fact in column_facts(table, schema)}
    assert notes == {"a": (), "b": (), "total": ('equals a + b in every row: keep it exactly with formula = "a + b"',)}
    columns: dict[str, Any] = {
        c.name: {"kind": "real", "range": [c.low, c.high], "decimals": 2}  # type: ignore[union-attr]
        for c in schema
    }
    columns["total"]["formula"] = "a + b"
    facts = {fact.name: fact for fact in column_facts(table, schema_from({"columns": columns}, "t.toml"))}
    assert facts["total"].notes == ("computed as a + b in every row",)
    assert facts["total"].bins == 0

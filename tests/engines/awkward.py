"""One table of everything that engines are known to change on the way, and a public schema of it.

Values lie on, just below and just above the edges of bins; every kind of column has missing values; categories have
quotes, delimiters, line breaks, blanks and several alphabets; moments lie before 1970 and have microseconds. Rows are
in the order of `id`. `person` has several rows per person, not next to each other, and sometimes none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from cuts.count.marginals import Clique
from cuts.data.codec import Codec
from cuts.data.schema import Category, Empty, Identifier, Integer, Real, Schema, Temporal
from cuts.data.table import Bools, IntArray

ROWS = 3_500
SEED = 18
DAY = 86_400

CATEGORIES = (
    "plain", "Plain", "it's", 'say "hi"', '"', '""', "a,b", "a;b", "a|b", "tab\there", "line\nbreak", "two\r\nlines",
    "", " ", " leading", "trailing ", "NULL", "null", "\\N", "\\", "back\\slash", "NaN", "None", "0", "-", "%s", "{}",
    "$1", "Zürich", "e\u0301t\u00e9", "\u00e9t\u00e9", "東京", "مرحبا", "🦆", "zero\u200bwidth", "nb\u00a0sp",
)  # fmt: skip
UNSEEN = "unseen"  # a category of the schema that no row has
GRADES = ("low", "mid", "high")

REAL_EDGES = (-1e-300, 0.0, 5e-324, 0.1, 0.1 + 0.2, 1 / 3, 1.0, 1e15)
WHOLE_EDGES = (-1_000, 0, 1, 10, 2**31, 2**52)
PRICE_EDGES = (-0.001, 0.1, 1.005, 2.675, 999.999)
DATE_EDGES = (-25_567.0, -1.0, 0.0, 11_016.0, 19_000.0)  # 1900-01-01, the days about 1970, 2000-02-29
TIME_EDGES = (0.000001, 3_600.0, 43_200.0, 86_399.0)
MOMENT_EDGES = (-2_208_988_800.0, -0.5, 0.0, 951_782_400.0, 1_700_000_000.123456)
SPAN_EDGES = (-3_600.0, 0.0, 0.25, 86_400.0)


def awkward_table(rows: int = ROWS) -> pa.Table:
    """The table, the same in every run."""
    rng = np.random.default_rng(SEED)
    row = np.arange(rows)
    people = rng.integers(0, rows // 4 + 1, rows)
    return pa.table(
        {
            "id": pa.array(1_000 + row, pa.int64()),
            "person": _texts([f"P-{number:05d}" for number in people.tolist()], _some(rng, rows, 0.03)),
            "real": _reals(rng, rows),
            "whole": _wholes(rng, rows),
            "small": pa.array(rng.integers(-3, 4, rows), pa.int32(), mask=_some(rng, rows)),
            "flag": pa.array(rng.random(rows) < 0.3, mask=_some(rng, rows)),
            "text": _texts(_spread(CATEGORIES, rng, rows), _some(rng, rows)),
            "grade": _texts(_spread(GRADES, rng, rows), _some(rng, rows)),
            "price": _decimals(rng, rows),
            "born": _moments(DATE_EDGES, 1, (-40_000, 20_000), pa.int32(), pa.date32(), rng, rows),
            "opens": _moments(TIME_EDGES, 10**6, (0, DAY * 10**6 - 1), pa.int64(), pa.time64("us"), rng, rows),
            "seen": _moments(MOMENT_EDGES, 10**6, (-3e15, 2e15), pa.int64(), pa.timestamp("us"), rng, rows),
            "sent": _moments(MOMENT_EDGES, 10**6, (-3e15, 2e15), pa.int64(), pa.timestamp("us", "UTC"), rng, rows),
            "stay": _moments(SPAN_EDGES, 10**6, (-9e10, 9e11), pa.int64(), pa.duration("us"), rng, rows),
            "nothing": pa.nulls(rows, pa.float64()),
        }
    )


def awkward_schema() -> Schema:
    """What is publicly known of the table: its bins have the edges that its values are near to."""
    return Schema(
        "awkward",
        (
            Identifier("id"),
            Real("real", -1e16, 1e16, REAL_EDGES, missing=True),
            Integer("whole", -(2**53), 2**53, WHOLE_EDGES, missing=True),
            Integer("small", -3, 3, (-1, 0, 2), missing=True),
            Category("flag", ("false", "true"), missing=True),
            Category("text", (*CATEGORIES, UNSEEN), missing=True),
            Category("grade", (*GRADES, UNSEEN), ordered=True, missing=True),
            Real("price", -10_000.0, 10_000.0, PRICE_EDGES, missing=True, decimals=3),
            Temporal("born", "date", -40_000.0, 20_000.0, DATE_EDGES, missing=True),
            Temporal("opens", "time", 0.0, DAY - 0.000001, TIME_EDGES, missing=True, decimals=6),
            Temporal("seen", "timestamp", -3e9, 2e9, MOMENT_EDGES, missing=True, decimals=6),
            Temporal("sent", "timestamp", -3e9, 2e9, MOMENT_EDGES, missing=True, decimals=6, zone="UTC"),
            Temporal("stay", "duration", -90_000.0, 900_000.0, SPAN_EDGES, missing=True, decimals=6),
            Empty("nothing"),
        ),
        label="grade",
        dropped=("person",),
    )


def without(schema: Schema, columns: Sequence[str]) -> Schema:
    """The schema without some columns, for an engine that has no type for them."""
    return replace(schema, columns=tuple(column for column in schema if column.name not in columns))


def cliques(codec: Codec) -> tuple[Clique, ...]:
    """Every column, every pair, and some triples, also in an order that is not the codec's."""
    names = list(codec.sizes)
    triples = [(last, first, middle) for first, middle, last in zip(names, names[1:], names[2:], strict=False)]
    small = [triple for triple in triples if math.prod(codec.sizes[name] for name in triple) < 10_000]
    return (*((name,) for name in names), *combinations(names, 2), *small)


# --- columns


def _some(rng: np.random.Generator, rows: int, share: float = 0.07) -> Bools:
    """Which cells are missing: a share of them."""
    chosen: Bools = rng.random(rows) < share
    return chosen


def _spread(values: Sequence[str], rng: np.random.Generator, rows: int) -> list[str]:
    return [values[index] for index in rng.integers(0, len(values), rows).tolist()]


def _texts(values: Sequence[str], missing: Bools) -> pa.Array:
    return pa.array([None if absent else value for value, absent in zip(values, missing, strict=True)], pa.string())


def _reals(rng: np.random.Generator, rows: int) -> pa.Array:
    """Each edge and its neighbours, negative zero, NaN, and ordinary numbers between them."""
    near = [
        value for edge in REAL_EDGES for value in (math.nextafter(edge, -math.inf), edge, math.nextafter(edge, 1e9))
    ]
    special = np.array([*near, -0.0, 0.3, 1e-308, -1e-320, 123456789.123456789, 1e16, -1e16, math.nan])
    values = np.where(rng.random(rows) < 0.6, special[rng.integers(0, len(special), rows)], rng.normal(0, 2, rows))
    return pa.array(values, pa.float64(), mask=_some(rng, rows), from_pandas=False)


def _wholes(rng: np.random.Generator, rows: int) -> pa.Array:
    special = np.array([edge + step for edge in WHOLE_EDGES for step in (-1, 0, 1)] + [2**53, -(2**53), 2**53 - 1])
    values = np.where(rng.random(rows) < 0.6, special[rng.integers(0, len(special), rows)], rng.integers(-50, 99, rows))
    return pa.array(values, pa.int64(), mask=_some(rng, rows))


def _decimals(rng: np.random.Generator, rows: int) -> pa.Array:
    edges = [round(1_000 * edge) for edge in PRICE_EDGES]
    special = np.array([edge + step for edge in edges for step in (-1, 0, 1)] + [10_000_000, -10_000_000, 0])
    drawn = special[rng.integers(0, len(special), rows)]
    thousandths = np.where(rng.random(rows) < 0.5, drawn, rng.integers(-5_000, 900_000, rows))
    cells = zip(thousandths.tolist(), _some(rng, rows), strict=True)
    return pa.array([None if absent else Decimal(cell).scaleb(-3) for cell, absent in cells], pa.decimal128(12, 3))


def _moments(
    edges: Sequence[float],
    per_unit: int,
    limits: tuple[float, float],
    storage: pa.DataType,
    kind: pa.DataType,
    rng: np.random.Generator,
    rows: int,
) -> pa.Array:
    """Each edge, one unit before and after it, both limits, and moments between them."""
    low, high = (int(limit) for limit in limits)
    whole = [round(edge * per_unit) for edge in edges]
    special: IntArray = np.clip([edge + step for edge in whole for step in (-1, 0, 1)] + [low, high], low, high)
    drawn: Any = special[rng.integers(0, len(special), rows)]
    units = np.where(rng.random(rows) < 0.6, drawn, rng.integers(low, high + 1, rows))
    return pa.array(units.astype(storage.to_pandas_dtype()), storage, mask=_some(rng, rows)).cast(kind)

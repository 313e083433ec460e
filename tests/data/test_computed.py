"""Formulas of computed columns: read, evaluated, checked on rows, and kept when rows are decoded."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuts.data.binning import fit_codec
from cuts.data.codec import decode, encode
from cuts.data.codec_file import codec_data, codec_from
from cuts.data.computed import parse_formula, rounded
from cuts.data.conform import check_table, conform
from cuts.data.partial_rows import encode_partial, overwrite
from cuts.data.schema import Integer, Real, Schema, as_data
from cuts.data.schema_file import read_schema, render_toml, schema_from
from cuts.data.table import Table
from cuts.text.diagnostic import CutsError

PATIENTS = Schema(
    "patients",
    (
        Real("weight", 40.0, 150.0, decimals=1),
        Real("height", 1.2, 2.2, decimals=2, missing=True),
        Real("bmi", 5.0, 120.0, decimals=1, missing=True),
        Integer("hour", 0, 23),
        Integer("minute", 0, 59),
        Integer("hhmm", 0, 2359),
    ),
    formulas=(
        ("bmi", parse_formula("weight / height ^ 2")),
        ("hhmm", parse_formula("hour * 100 + minute")),
    ),
)


def patients(rows: int = 300) -> Table:
    rng = np.random.default_rng(3)
    weight = np.round(rng.normal(75, 12, rows).clip(40, 150), 1)
    height = np.where(rng.random(rows) < 0.1, np.nan, np.round(rng.normal(1.7, 0.1, rows).clip(1.2, 2.2), 2))
    hour, minute = rng.integers(0, 24, rows), rng.integers(0, 60, rows)
    columns = {"weight": weight, "height": height, "bmi": np.round(weight / height**2, 1)}
    return Table(pa.table({**columns, "hour": hour, "minute": minute, "hhmm": hour * 100 + minute}))


NUMBERS = st.floats(-1e3, 1e3).map(lambda x: round(x, 2))
FORMULAS = {
    "a + b": lambda a, b: a + b,
    "a - b": lambda a, b: a - b,
    "-a + 2 * b": lambda a, b: -a + 2 * b,
    "a * b": lambda a, b: a * b,
    "a / b ^ 2": lambda a, b: a / b**2,
    "(a + b) * 0.5 - 3": lambda a, b: (a + b) * 0.5 - 3,
    "a - (b - 1) / 4": lambda a, b: a - (b - 1) / 4,
    "`a` * 100 + `b`": lambda a, b: a * 100 + b,
}


@pytest.mark.parametrize("text", FORMULAS)
@settings(max_examples=30, deadline=None)
@given(a=NUMBERS, b=NUMBERS.filter(bool))
def test_a_formula_is_what_arithmetic_says(text: str, a: float, b: float) -> None:
    formula = parse_formula(text)
    columns = {"a": np.array([a, np.nan]), "b": np.array([b, b])}
    made = formula.numbers(columns)
    assert made[0] == pytest.approx(FORMULAS[text](a, b), rel=1e-12, abs=1e-9)
    assert np.isnan(made[1])
    linear = formula.linear()
    if linear is not None:
        terms, constant = linear
        total = sum(factor * Fraction(columns[name][0]) for name, factor in terms.items()) + constant
        assert float(total) == pytest.approx(made[0], rel=1e-9, abs=1e-6)
    assert (linear is None) == (text in ("a * b", "a / b ^ 2"))


@pytest.mark.parametrize("text", ["", "a +", "a b", "2 + 3", "a ^ 0.5", "a ^ b", "(a", "a $ b", "a ** b"])
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"formula|power"):
        parse_formula(text)


def test_a_schema_with_formulas_survives_a_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("schema") / "patients.toml"
    path.write_text(render_toml(PATIENTS))
    assert read_schema(path) == PATIENTS
    assert [column.name for column in PATIENTS.modelled] == ["weight", "height", "hour", "minute"]


@pytest.mark.parametrize(
    ("column", "formula", "what"),
    [
        ("hhmm", "hour * 100 + minutes", "`minutes` is not a column"),
        ("hhmm", "hour * 100 +", "cannot be read"),
        ("hhmm", 5, "must be a string"),
        ("hhmm", "bmi + hour", "`bmi` cannot be part of a formula"),
    ],
)
def test_a_wrong_formula_is_a_problem_of_the_schema(column: str, formula: object, what: str) -> None:
    data = as_data(PATIENTS)
    data["columns"][column]["formula"] = formula
    with pytest.raises(CutsError, match="bad-schema") as caught:
        schema_from(data, "patients.toml")
    assert what in str(caught.value)


def test_decoded_rows_satisfy_the_formulas() -> None:
    table = patients()
    codec = fit_codec(table, PATIENTS)
    assert list(codec.sizes) == ["weight", "height", "hour", "minute"]
    made = conform(decode(encode(table, codec), codec, seed=4), PATIENTS)
    for name, formula in PATIENTS.formulas:
        expected = rounded(formula.numbers({n: made.numbers(n) for n in formula.columns}), PATIENTS.number(name))
        np.testing.assert_array_equal(made.numbers(name), expected)
    assert made.missing("bmi").sum() == table.missing("height").sum() > 0
    assert codec_from(codec_data(codec)).schema == PATIENTS


def test_a_row_that_breaks_a_formula_is_an_error() -> None:
    arrow = patients().arrow
    hhmm = arrow.column("hhmm").to_numpy().copy()
    hhmm[7] += 1
    broken = Table(arrow.set_column(5, "hhmm", pa.array(hhmm)))
    (problem,) = check_table(broken, PATIENTS)
    assert problem.code == "broken-formula"
    assert "row 8" in problem.title
    assert not check_table(patients(), PATIENTS)
    with pytest.raises(CutsError, match="broken-formula"):
        encode(broken, fit_codec(patients(), PATIENTS))


def test_a_missing_value_must_agree_with_the_formula() -> None:
    arrow = patients().arrow
    bmi = np.full(arrow.num_rows, np.nan)
    problems = check_table(Table(arrow.set_column(2, "bmi", pa.array(bmi, from_pandas=True))), PATIENTS)
    assert [problem.code for problem in problems] == ["broken-formula"]


def test_given_cells_change_what_is_computed_of_them() -> None:
    table = patients()
    codec = fit_codec(table, PATIENTS)
    partial = Table(pa.table({"hour": [23] * table.rows}))
    codes, masks = encode_partial(partial, codec)
    assert list(codes) == ["hour"]
    assert masks["hour"].all()
    made = overwrite(decode(encode(table, codec), codec, seed=1), partial, codec)
    assert (made.numbers("hhmm") == 2300 + made.numbers("minute")).all()
    with pytest.raises(CutsError, match="cannot be given"):
        encode_partial(Table(pa.table({"hhmm": [1200]})), codec)


# --- units of time

STAYS = {
    "admitted": {"kind": "date", "range": ["2024-01-01", "2024-12-31"]},
    "discharged": {"kind": "date", "range": ["2024-01-01", "2025-12-31"]},
    "seen": {"kind": "timestamp", "range": ["2024-01-01T00:00:00", "2025-12-31T00:00:00"]},
}
KINDS = {
    "date": {"range": ["2024-01-01", "2026-12-31"]},
    "timestamp": {"range": ["2024-01-01T00:00:00", "2026-12-31T00:00:00"]},
    "duration": {"range": ["-999 days", "999 days"]},
    "integer": {"range": [-999, 999]},
    "real": {"range": [-1e6, 1e6], "decimals": 3},
}


def stays(kind: str, formula: str) -> Schema:
    return schema_from({"columns": {**STAYS, "made": {"kind": kind, **KINDS[kind], "formula": formula}}}, "stays")


@pytest.mark.parametrize(
    ("kind", "formula", "expected"),
    [
        ("integer", "(discharged - admitted) / '1 day'", 3),
        ("duration", "discharged - admitted", 3 * 86_400),
        ("real", '(seen - admitted) / "1 h"', 36),
        ("date", "admitted + '2 weeks'", 14),
        ("timestamp", "seen + (discharged - admitted)", 86_400 * 4.5),
        ("duration", "'2024-01-08' - admitted", 7 * 86_400),
    ],
)
def test_a_formula_computes_with_units(kind: str, formula: str, expected: float) -> None:
    schema = stays(kind, formula)
    assert read_schema_again(schema) == schema
    start = float(schema.number("admitted").low)
    numbers = {"admitted": start, "discharged": start + 3, "seen": (start + 1.5) * 86_400}
    made = dict(schema.formulas)["made"].numbers({name: np.array([value]) for name, value in numbers.items()})
    origin = {"date": start, "timestamp": start * 86_400}.get(kind, 0.0)
    assert made.tolist() == [origin + expected]


def read_schema_again(schema: Schema) -> Schema:
    return schema_from(as_data(schema), "stays")


@pytest.mark.parametrize(
    ("kind", "formula"),
    [
        ("integer", "discharged - admitted"),
        ("duration", "(discharged - admitted) / '1 day'"),
        ("duration", "admitted"),
        ("date", "admitted + 14"),
        ("date", "admitted + discharged"),
        ("date", "admitted + 'soon'"),
    ],
)
def test_a_formula_that_mixes_units_is_refused(kind: str, formula: str) -> None:
    with pytest.raises(CutsError) as error:
        stays(kind, formula)
    (problem,) = error.value.diagnostics
    assert problem.code == "bad-schema"
    assert "1 day" in problem.title

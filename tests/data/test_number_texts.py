"""A column of numbers with a few texts among them keeps both: the numbers as numbers, the texts by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cuts.assess.discriminator import compare_with_fitted
from cuts.assess.drift import drifts
from cuts.assess.grid import build_grid, cells
from cuts.assess.table_arrays import outside, read_sample
from cuts.count.rows import rows_of
from cuts.count.survey import infer_streamed
from cuts.data.binning import Limits, fit_codec
from cuts.data.codec import NumericBins, decode, encode
from cuts.data.column_facts import column_facts
from cuts.data.conform import check_table, conform
from cuts.data.exchange.frames import from_native, to_native, with_texts
from cuts.data.infer import infer_schema
from cuts.data.rare_values import rare_values
from cuts.data.refine import refine
from cuts.data.schema import Category, Integer, Real, Schema
from cuts.data.schema_file import read_schema, render_toml, schema_from
from cuts.data.table import Table
from cuts.lang.binder import bind, bind_all, bind_predicate
from cuts.lang.comparisons import comparisons
from cuts.lang.parser import parse, parse_expression
from cuts.read import exact, sql
from cuts.text.diagnostic import CutsError

CRP = Real("crp", 1.0, 254.0, decimals=1, missing=True, texts=("<1.0", ">200", "n.a."), format="0.0")
LAB = Schema("lab", (CRP,))
CELLS = ["<1.0", "12.5", None, "n.a.", "254.0", ">200", "3.0"]


def lab(rows: int = 1_500, seed: int = 0) -> list[str | None]:
    """Cells of a laboratory value: skewed numbers, values beyond the limits of the device, and others."""
    rng = np.random.default_rng(seed)
    values = rng.lognormal(2.5, 1.3, rows)
    cells = ["<1.0" if v < 1 else ">200" if v > 254 else f"{v:.1f}" for v in values]
    kind = rng.random(rows)
    return [None if k < 0.02 else "n.a." if k < 0.08 else cell for k, cell in zip(kind, cells, strict=True)]


def table(cells: list[str | None], name: str = "crp") -> Table:
    return Table(pa.table({name: pa.array(cells, pa.string())}))


def inferred(cells: list[str | None]) -> Any:
    """The column that is inferred from cells."""
    return infer_schema(table(cells), "t").columns[0]


# --- inference


def test_numbers_with_a_few_texts_are_numbers() -> None:
    cells = lab()
    column = inferred(cells)
    numbers = [float(cell) for cell in cells if cell is not None and cell[0].isdigit()]
    assert (column.low, column.high) == (min(numbers), max(numbers))
    assert (column.decimals, column.missing) == (1, True)
    assert (column.texts, column.format) == (("<1.0", ">200", "n.a."), "0.0")


@pytest.mark.parametrize(
    ("texts", "pattern", "kind"),
    [
        ([f"{n}" for n in range(40)], "", Integer),
        ([f"{n}.{n % 7}" for n in range(40)], "0.0", Real),
        ([f"{n},50" for n in range(40)], "0,00", Real),
        ([f"{n}.{n % 3}" if n % 3 else str(n) for n in range(40)], "", Real),
        ([f"{n}.303,15" for n in range(1, 40)], "#.##0,00", Real),
        ([f"{n},303" for n in range(1, 40)] + ["17"], "#,##0", Integer),
    ],
)
def test_the_format_of_the_numbers_is_kept(texts: list[str], pattern: str, kind: type) -> None:
    column = inferred([*texts, "n.a."])
    assert isinstance(column, kind)
    assert column.format == pattern  # type: ignore[attr-defined]
    assert column.texts == ("n.a.",)  # type: ignore[attr-defined]
    schema = Schema("t", (column,))  # type: ignore[arg-type]
    cells = table([*texts, "n.a."])
    codec = fit_codec(cells, schema)
    decoded = decode(encode(cells, codec), codec, seed=0).column("crp").to_pylist()
    assert set(decoded) <= {*texts, "n.a."}, "every value has its own bin, so every cell is one of the table"


@pytest.mark.parametrize(
    "cells",
    [
        ["1", "2", "3", "n.a."] * 20,  # a scale: too few numbers
        [*[f"{n:03d}" for n in range(40)], "n.a."] * 2,  # codes with leading zeros
        [*[f"{n}" for n in range(40)], *[f"text {n}" for n in range(21)]] * 2,  # too many texts
        [f"{n}" for n in range(40)] * 2,  # plain numbers that somebody made text
        [*[f"{n}.5" for n in range(40)], "1,5", "x"] * 2,  # two formats
    ],
)
def test_other_texts_stay_categories(cells: list[str | None]) -> None:
    assert isinstance(inferred(cells), Category)


def test_numbers_that_no_program_reads_are_numbers_also_without_texts() -> None:
    column = inferred([f"{n}.303,15" for n in range(1, 40)] * 2)
    assert isinstance(column, Real)
    assert (column.texts, column.format, column.high) == ((), "#.##0,00", 39303.15)


def test_declared_categories_of_a_frame_stay_categories() -> None:
    frame = pd.DataFrame({"crp": pd.Categorical(lab())})
    assert isinstance(infer_schema(frame, "t").columns[0], Category)
    assert isinstance(infer_streamed(rows_of(Table(pa.Table.from_pandas(frame))), "t", max_rows=50)["crp"], Category)


@pytest.mark.parametrize("rows", [300, 5_000])
def test_the_same_is_inferred_from_blocks(rows: int) -> None:
    cells = table([*lab(rows), *(f"{n}.25" for n in range(3))])
    assert infer_streamed(rows_of(cells), "t", max_rows=100) == infer_schema(cells, "t")


# --- cells


def test_cells_are_encoded_and_written_back_as_they_looked() -> None:
    cells = table(CELLS)
    codec = fit_codec(cells, LAB)
    codes = encode(cells, codec)
    assert len(set(codes["crp"])) == len(CELLS), "every number, every text and missing have a bin of their own"
    assert decode(codes, codec, seed=0).column("crp").to_pylist() == CELLS


def test_a_text_outside_the_schema_is_named() -> None:
    (problem,) = check_table(table([*CELLS, "haemolytic"]), LAB)
    assert problem.code == "outside-schema"
    assert problem.title == (
        "the column `crp` has 1 value outside the schema, the first in row 8: 'haemolytic' is not from 1.0 to 254.0 "
        "or one of its texts: `<1.0`, `>200`, `n.a.`"
    )


def test_a_text_in_a_column_with_a_format_alone_is_named() -> None:
    schema = Schema("t", (Real("crp", 0.0, 9999.0, decimals=2, format="#.##0,00"),))
    assert check_table(table(["2.303,15", "1,00"]), schema) == ()
    (problem,) = check_table(table(["2.303,15", "1.5"]), schema)
    assert "the first in row 2: '1.5' is not from 0.0 to 9999.0" in problem.title


def test_a_column_without_any_text_in_it_may_be_of_numbers() -> None:
    numbers = Table(pa.table({"crp": [12.5, None, 254.0]}))
    codec = fit_codec(numbers, LAB)
    assert decode(encode(numbers, codec), codec, seed=0).column("crp").to_pylist() == ["12.5", None, "254.0"]


def test_rare_texts_are_not_sampled_unless_declared_or_named_by_the_program() -> None:
    cells = table([*lab(), "see Dr Miller"])
    schema = infer_schema(cells, "t")
    texts = schema.number("crp").texts
    assert texts == ("<1.0", ">200", "n.a.", "see Dr Miller")

    def drawn(schema: Schema, sets: dict[str, Any] | None = None) -> set[str]:
        codec = fit_codec(cells, schema, sets=sets, limits=Limits(64, 5))
        made = decode(encode(cells, codec), codec, seed=0)
        assert check_table(made, schema) == ()
        return set(made.column("crp").to_pylist()) & set(texts)

    assert "see Dr Miller" not in drawn(schema)
    assert "see Dr Miller" in drawn(schema, {"crp": [frozenset({"see Dr Miller"})]})
    assert "see Dr Miller" in drawn(Schema("t", schema.columns))
    (facts,) = column_facts(cells, schema, Limits(64, 5))
    assert facts.values.endswith(", 4 texts")
    assert facts.notes == ("written as `n.a.` (fewer than 5 rows): `see Dr Miller`",)


def test_a_condition_on_a_rare_text_splits_its_bin_without_giving_it_a_share() -> None:
    cells = table([*lab(), "typo"])
    codec = fit_codec(cells, infer_schema(cells, "t"), limits=Limits(64, 5))
    bins = codec["crp"]
    assert isinstance(bins, NumericBins)
    assert bins.texts[0] == ("n.a.", "typo")
    finer, splits = refine(codec, {}, {"crp": [frozenset({"typo"})]})
    assert finer["crp"].size == bins.size + 1
    split = splits["crp"]
    assert split.share[finer["crp"].numbers :].tolist() == [1.0, 0.0, 1.0, 1.0, 1.0]
    assert split.owner[-1] == bins.size - 1


# --- schema files


def test_a_schema_file_has_texts_and_format(tmp_path: Path) -> None:
    path = tmp_path / "lab.toml"
    path.write_text(render_toml(LAB))
    assert 'texts = ["<1.0", ">200", "n.a."]\nformat = "0.0"\n' in path.read_text()
    assert read_schema(path) == LAB


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"texts": "n.a."}, "`texts` must be a list of strings"),
        ({"texts": ["n.a.", "n.a."]}, "it lists a text twice"),
        ({"texts": ["12.5"]}, "`texts` lists `12.5`, which is a number"),
        ({"format": "%.2f"}, "`format` must be a pattern of separators and digits"),
        ({"format": "#.##0.0"}, "`format` must be a pattern of separators and digits"),
        ({"texts": ["n.a."], "formula": "b * 2"}, "a column with `texts` or a `format` cannot follow from another"),
        ({"texts": ["n.a."], "derived_from": "b"}, "a column with `texts` or a `format` cannot follow from another"),
    ],
)
def test_what_a_schema_file_cannot_say_is_named(fields: dict[str, Any], words: str) -> None:
    columns = {"a": {"kind": "real", "range": [0, 20], **fields}, "b": {"kind": "integer", "range": [0, 9]}}
    with pytest.raises(CutsError) as caught:
        schema_from({"columns": columns}, "lab.toml")
    assert words in str(caught.value)


def test_a_formula_cannot_use_a_column_with_texts() -> None:
    columns = {
        "a": {"kind": "real", "range": [0, 20], "texts": ["n.a."]},
        "b": {"kind": "integer", "range": [0, 9], "formula": "a * 2"},
    }
    with pytest.raises(CutsError, match="`a` cannot be part of a formula"):
        schema_from({"columns": columns}, "lab.toml")


# --- rules and statistics


@pytest.mark.parametrize(
    ("rule", "held"),
    [
        ('crp == "<1.0"', [0]),
        ('crp != "<1.0"', [1, 3, 4, 5, 6]),
        ('crp IN {"n.a.", 3}', [3, 6]),
        ('crp NOT IN {"n.a.", 3}', [1, 4]),  # `crp != 3` is false for texts, as it is for missing values
        ("crp > 3", [1, 4]),
        ("NOT crp > 3", [0, 2, 3, 5, 6]),
        ("crp != 3", [1, 4]),
        ("crp == crp", [1, 4, 6]),
        ("crp IS NULL", [2]),
        ("crp IS NOT NULL", [0, 1, 3, 4, 5, 6]),
    ],
)
def test_rules_see_numbers_as_numbers_and_texts_by_name(rule: str, held: list[int]) -> None:
    pred = bind_predicate(parse_expression(rule), LAB)
    assert np.flatnonzero(exact.mask(pred, conform(table(CELLS), LAB))).tolist() == held
    rows = table(CELLS).arrow.append_column("row", pa.array(range(len(CELLS))))
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        found = connection.execute(f"SELECT row FROM rows WHERE {sql.predicate(pred, LAB)} ORDER BY row").fetchall()
    assert [row for (row,) in found] == held


def test_statistics_are_over_the_numbers_alone() -> None:
    spec = bind(parse('SYNTHESIZE: lab; ENFORCE: E[crp] == 9; ENFORCE: P[crp == "n.a."] == 0.1; END;'), LAB)
    mean, share = (comparison.value for comparison in comparisons(spec))
    typed = conform(table(CELLS), LAB)
    assert exact.value(mean, typed, LAB) == pytest.approx((12.5 + 254.0 + 3.0) / 3)
    assert exact.value(share, typed, LAB) == pytest.approx(1 / 7)


def test_a_text_that_a_column_does_not_have_is_named() -> None:
    _, problems = bind_all(parse('SYNTHESIZE: lab; ENFORCE: crp == "n.a"; ENFORCE: crp < "<1.0"; END;'), LAB)
    assert [(problem.code, problem.help) for problem in problems] == [
        ("unknown-category", 'did you mean `"n.a."`?'),
        ("type-mismatch", "texts can be compared with `==`, `!=` and `IN`"),
    ]


def test_a_private_program_refuses_such_a_column() -> None:
    program = parse("SYNTHESIZE: lab; ENSURE: DIFFERENTIAL PRIVACY: EPSILON=1, DELTA=1e-9; END;")
    spec, (problem,) = bind_all(program, LAB)
    assert spec is None
    assert problem.code == "not-supported"
    assert "`crp`" in problem.title


# --- frames and evaluation


@pytest.mark.parametrize("kind", ["object", "str", "arrow", "polars"])
def test_a_frame_has_the_same_dtype_again(kind: str) -> None:
    cells = [*lab(), *CELLS]
    frames: dict[str, Any] = {
        "object": lambda: pd.DataFrame({"crp": pd.Series(cells, dtype=object)}),
        "str": lambda: pd.DataFrame({"crp": pd.Series(cells, dtype="string")}),
        "arrow": lambda: pa.table({"crp": pa.array(cells, pa.large_string())}),
        "polars": lambda: pl.DataFrame({"crp": cells}),
    }
    frame = frames[kind]()
    native, form = from_native(frame)
    codec = fit_codec(native, infer_schema(native, "t"))
    back = to_native(decode(encode(native, codec), codec, seed=0), with_texts(form, ["crp"]))
    assert back.schema == frame.schema if kind in ("arrow", "polars") else back.dtypes.equals(frame.dtypes)
    made = (back.to_pydict() if kind == "arrow" else back.to_dict(as_series=False) if kind == "polars" else back)["crp"]
    assert {cell for cell in made if isinstance(cell, str) and not cell[0].isdigit()} == {"<1.0", ">200", "n.a."}


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_a_frame_of_numbers_becomes_text_where_the_schema_has_texts(library: str) -> None:
    numbers = {"crp": [12.5, 3.0]}
    frame = pd.DataFrame(numbers) if library == "pandas" else pl.DataFrame(numbers) if library == "polars" else None
    _, form = from_native(pa.table(numbers) if frame is None else frame)
    back = to_native(table(["<1.0", "12.5"]), with_texts(form, ["crp"]))
    assert list(back["crp"].to_pylist() if library == "arrow" else back["crp"]) == ["<1.0", "12.5"]


def test_an_evaluation_tells_texts_from_each_other_and_from_missing() -> None:
    sample = read_sample(table([*CELLS, "other"]), LAB, "train")
    (found,) = cells(sample, build_grid(sample, (), "uniform"))
    assert len({int(found[i]) for i in (0, 2, 3, 5)}) == 4
    assert found[7] == found[2], "an unknown text counts as missing"
    (count,) = outside([sample])
    assert (count.beyond, count.unknown, count.missing) == (0, 1, 0)


def test_a_discriminator_sees_texts() -> None:
    real = lab(800)
    swapped: list[str | None] = [{"n.a.": ">200", ">200": "n.a."}.get(cell or "", cell) for cell in lab(800, seed=1)]
    same = compare_with_fitted(table(lab(800, seed=1)), table(real), LAB, seed=0)
    other = compare_with_fitted(table(swapped), table(real), LAB, seed=0)
    assert same is not None
    assert other is not None
    assert other.auc > same.auc + 0.01


def test_categories_that_look_like_numbers_are_reported() -> None:
    cells = table([*[f"{n}.5" for n in range(40)], "1,5", "x", "007"] * 2)
    (facts,) = column_facts(cells, infer_schema(cells, "t"))
    assert "41 of 43 values look like numbers but are categories" in facts.notes


def test_texts_that_are_all_rare_are_sampled() -> None:
    cells = table([*(f"{n}" for n in range(40)), "n.a.", "30+"])
    codec = fit_codec(cells, infer_schema(cells, "t"), limits=Limits(64, 5))
    assert decode(encode(cells, codec), codec, seed=0).column("crp").to_pylist()[-2:] == ["n.a.", "30+"]


@pytest.mark.parametrize("cells", [pa.array([18_000], pa.date32()), pa.array(["9" * 19])])
def test_cells_that_cannot_be_numbers_are_of_another_type(cells: pa.Array) -> None:
    schema = Schema("t", (Integer("crp", 0, 100, texts=("n.a.",)),))
    (problem,) = check_table(Table(pa.table({"crp": cells})), schema)
    assert problem.code == "column-type"


def test_what_differs_is_the_mean_of_the_numbers_and_the_share_of_a_text() -> None:
    before, after = ["n.a.", "10.0", "20.0", "30.0", None], ["n.a.", "n.a.", "20.0", "40.0", None]
    found = {drift.what: (drift.real, drift.synthetic) for drift in drifts(table(before), table(after), LAB)}
    assert found == {"mean": (20.0, 30.0), "share of `n.a.`": (0.25, 0.5), "missing": (0.2, 0.2)}


def test_a_run_warns_of_rare_texts() -> None:
    cells = table([*lab(), "see Dr Miller"])
    schema = infer_schema(cells, "t")
    (warning,) = rare_values(conform(cells, schema), fit_codec(cells, schema))
    assert "never sampled: `crp` (1 of 4 values, in 1 of 1,501 rows" in warning.title


def test_naming_one_of_texts_that_are_all_rare_loses_no_other() -> None:
    cells = table([*(f"{n}" for n in range(40)), "n.a.", "30+", "x"])
    sets = {"crp": [frozenset({"30+"})]}
    codec = fit_codec(cells, infer_schema(cells, "t"), sets=sets, limits=Limits(64, 5))
    assert decode(encode(cells, codec), codec, seed=0).column("crp").to_pylist()[-3:] == ["n.a.", "30+", "x"]
